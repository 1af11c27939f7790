"""Signatures and prototypes: what is signed, what is refused, what outlives changes, what a stream is matched with."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from documents import COMMON, MIDDLE, batch, document, middle_lexicon, name, others, sign, text
from samehand.base.errors import SettingsError
from samehand.kernels.text.signing import MOST_LEXICONS
from samehand.methods.replica.lexicon import Lexicon
from samehand.methods.replica.signatures import (
    ALL_WORDS,
    FEW_WORDS,
    PAIRS,
    PAPER,
    SIGNED,
    SMALL_OVERLAP,
    Prototypes,
    Signed,
    Signer,
    compare_words,
    kept_shares,
    replica_batch,
    replica_schema,
)


@pytest.fixture
def lexicon() -> Lexicon:
    return middle_lexicon()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lexicons": -1}, "0 to 31"),
        ({"lexicons": MOST_LEXICONS}, "0 to 31"),
        ({"keep": 1.0}, "below 1"),
        ({"keep_least": 0.0}, "above 0"),
        ({"keep": 0.1, "keep_least": 0.5}, "in order"),
        ({"secondary": "other"}, "rarer or commoner"),
    ],
)
def test_settings_that_cannot_be(lexicon: Lexicon, settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Signer(lexicon, **settings)


def test_signatures_ignore_order_case_repeats_and_words_outside_the_lexicon(lexicon: Lexicon) -> None:
    words = document(1).decode().split()
    same = [text(*words), text(*reversed(words)), text(*words, *words).upper(), text(*words, "unheard", "unseen")]
    found = sign(Signer(lexicon), *same, document(2)).signatures
    assert (found[:4] == found[0]).all()
    assert not (found[0] == found[4])[found[4] != 0].any()


def test_more_lexicons_only_add_to_fewer_and_seeds_and_keys_change_them(lexicon: Lexicon) -> None:
    texts = [document(seed) for seed in range(20)]
    few, many = (sign(Signer(lexicon, lexicons=count), *texts).signatures for count in (3, 31))
    assert (few == many[:, :4]).all()
    other = sign(Signer(lexicon, seed=2), *texts).signatures
    assert (other[:, 0] == many[:, 0]).all()
    assert not (other[:, 1:] == many[:, 1:11])[other[:, 1:] != 0].any()
    secret = sign(Signer(lexicon.under("secret")), *texts).signatures
    assert not (secret[:, 0] == many[:, 0]).any()


def test_kept_shares_are_the_papers_or_a_ladder() -> None:
    assert kept_shares(10, 2 / 3, PAPER["keep_least"]) == pytest.approx([2 / 3] * 10)
    ladder = kept_shares(31, 2 / 3, 1 / 32)
    assert ladder[:3] == pytest.approx([(2 / 3 / 32) ** 0.5, (2 / 3) ** 0.75 / 32**0.25, (2 / 3) ** 0.25 / 32**0.75])
    assert np.ptp(np.diff(np.log(np.sort(ladder)))) == pytest.approx(0)
    assert kept_shares(0, 2 / 3, 1 / 32).size == 0


def test_stability_is_the_papers_formula(lexicon: Lexicon) -> None:
    """Equation 1, 1 - (1 - p ** n) ** K with p = 1/3, over 600 documents and many seeds."""
    draw = np.random.default_rng(5)
    before = [document(seed, 60).decode().split() for seed in range(600)]
    for changes in (1, 2, 3):
        after = [[*words[changes // 2 :], *others(words, changes - changes // 2, draw)] for words in before]
        kept = []
        for seed in range(6):
            signer = Signer(lexicon, seed=seed, min_share=0.0, **PAPER)
            left, right = (sign(signer, *(text(*words) for words in side)).signatures for side in (before, after))
            assert not (left[:, 0] == right[:, 0]).any()
            kept.append((left == right)[:, 1:])
        for count in (1, 5, 10):
            expected = 1 - (1 - (1 / 3) ** changes) ** count
            assert np.concatenate(kept)[:, :count].any(axis=1).mean() == pytest.approx(expected, abs=0.04)


def test_batches_tell_how_each_document_ended(lexicon: Lexicon) -> None:
    signer = Signer(lexicon, lexicons=3, min_overlap=5)
    strange = text(*(f"unknown{name(n)}" for n in range(30)))
    found = replica_batch(batch(document(1), text("four", "words", "only", "here"), strange, b"", first=7), signer)
    assert found.schema == replica_schema(3)
    assert found.column("page_id").to_pylist() == [7, 8, 9, 10]
    assert found.column("status").to_pylist() == [SIGNED, FEW_WORDS, SMALL_OVERLAP, FEW_WORDS]
    assert found.column("distinct_words").to_pylist() == [50, 4, 30, 0]
    assert found.column("overlap").to_pylist() == [50, 0, 0, 0]
    assert [any(row) for row in found.column("signatures").to_pylist()] == [True, False, False, False]
    assert [digest != 0 for digest in found.column("words_digest").to_pylist()] == [True, False, True, False]


def test_a_small_overlap_takes_words_of_the_secondary_lexicon(lexicon: Lexicon) -> None:
    words = [*COMMON[:6], *MIDDLE[:2], *(f"unknown{name(n)}" for n in range(12))]
    settings = {"min_overlap": 4, "min_share": 0.25, "lexicons": 0}
    commoner = sign(Signer(lexicon, secondary="commoner", **settings), text(*words))
    assert (commoner.overlaps[0], commoner.added[0]) == (5, 3)  # 0.25 of 20 words
    rarer = sign(Signer(lexicon.in_range(0.0, 0.1), secondary="rarer", min_share=0.4, lexicons=0), text(*words))
    assert (rarer.overlaps[0], rarer.added[0]) == (8, 2)  # six common words, and the two rarer ones there are
    refused = sign(Signer(lexicon, secondary="rarer", **settings), text(*words))
    assert (refused.overlaps[0], refused.signatures[0, 0]) == (2, 0)


def test_slices_and_stored_rows_are_the_same_documents(lexicon: Lexicon, tmp_path: Path) -> None:
    signer = Signer(lexicon)
    texts = [document(seed, extra=seed) for seed in range(30)]
    whole = replica_batch(batch(*texts), signer)
    parts = [replica_batch(batch(*texts).slice(start, 7), signer) for start in range(0, 30, 7)]
    assert pa.Table.from_batches(parts).combine_chunks().to_batches()[0].equals(whole)
    pq.write_table(pa.Table.from_batches(parts), tmp_path / "part.parquet")
    stored = Signed.of(pq.read_table(tmp_path / "part.parquet").slice(3))
    alone = sign(signer, *texts[3:])
    assert (stored.keys() == alone.keys()).all()
    assert stored.sets.words.tolist() == alone.sets.words.tolist()
    assert stored.sets.starts.tolist() == alone.sets.starts.tolist()


@pytest.mark.parametrize(
    "content",
    [
        b"x" * 3_000_000,
        b"\0" * 1_000_000,
        b"\xff\xfe\x80" * 300_000,
        "\u0301\u200d\u00ad".encode() * 200_000,
        b"abcd " * 400_000,
        b"".join(b"%x " % (number * 2654435761) for number in range(200_000)),
        "㍿".encode() * 300_000,
    ],
    ids=["one word", "zeros", "no text", "invisible", "one word often", "numbers", "no blanks"],
)
def test_hostile_texts_end_as_a_status(lexicon: Lexicon, content: bytes) -> None:
    found = replica_batch(batch(content, document(1)), Signer(lexicon))
    assert found.column("status").to_pylist()[0] in (FEW_WORDS, SMALL_OVERLAP)
    assert found.column("status").to_pylist()[1] == SIGNED


def prototypes(signer: Signer, *texts: bytes, **settings: float) -> Prototypes:
    stored = pa.Table.from_batches([replica_batch(batch(*texts, first=500), signer)])
    return Prototypes(stored, signer, **settings)


def test_a_stream_is_matched_with_prototypes(lexicon: Lexicon) -> None:
    signer = Signer(lexicon)
    words = document(1).decode().split()
    strange = text(*(f"unknown{name(n)}" for n in range(9)))
    known = prototypes(signer, document(2), text(*words), text(*words[:-1]), strange, document(2))
    stream = [text(*reversed(words)), document(9), b"too few", strange, text(*words[:-1], "another"), document(2)]
    found = known.match(batch(*stream))
    assert found.column("page_id").to_pylist() == [0, 1, 2, 3, 4, 5]
    assert found.column("prototype_id").to_pylist() == [501, None, None, 503, 502, 500]
    assert found.column("status").to_pylist() == [SIGNED, SIGNED, FEW_WORDS, SMALL_OVERLAP, SIGNED, SIGNED]
    assert found.column("lexicon").to_pylist() == [0, None, None, ALL_WORDS, 0, 0]
    assert found.column("cosine").to_pylist() == [1.0, None, None, 1.0, pytest.approx(49 / math.sqrt(49 * 50)), 1.0]
    alone = [known.match(batch(one, first=place)).to_pylist()[0] for place, one in enumerate(stream)]
    assert alone == found.to_pylist()


def test_a_match_says_which_lexicon_and_needs_the_cosine(lexicon: Lexicon) -> None:
    signer = Signer(lexicon)
    words = document(1).decode().split()
    changed = text(*words[3:], *others(words, 3, np.random.default_rng(1)))
    found = prototypes(signer, text(*words)).match(batch(changed)).to_pylist()[0]
    assert found["lexicon"] in range(1, 11)
    assert found["cosine"] == pytest.approx(47 / 50)
    strict = prototypes(signer, text(*words), min_cosine=0.95, min_jaccard=1.0).match(batch(changed)).to_pylist()[0]
    assert (strict["prototype_id"], strict["lexicon"], strict["cosine"]) == (None, None, None)
    by_pairs = prototypes(signer, text(*words), min_cosine=0.95).match(batch(changed)).to_pylist()[0]
    assert (by_pairs["prototype_id"], by_pairs["lexicon"]) == (500, PAIRS)
    assert by_pairs["jaccard"] > 0.7


def test_prototypes_that_share_a_signature_are_capped_and_counted(lexicon: Lexicon) -> None:
    shared = document(1, 40).decode().split()
    signer = Signer(lexicon, lexicons=0)
    many = [text(*shared, f"own{name(number)}") for number in range(10)]
    assert prototypes(signer, *many).capped == 0
    known = prototypes(signer, *many, max_per_signature=4)
    assert known.capped == 6
    assert known.match(batch(many[9])).column("prototype_id").to_pylist() == [509]  # by its whole set of words
    assert prototypes(signer).match(batch(many[0])).column("prototype_id").to_pylist() == [None]


def test_words_that_two_texts_share_are_told() -> None:
    found = compare_words(b"Near replicas share WORDS", "words which néar doubles share".encode())
    assert found.shared == ("near", "share", "words")
    assert (found.left_only, found.right_only) == (("replicas",), ("doubles", "which"))
    assert found.cosine == pytest.approx(3 / math.sqrt(20))
    assert compare_words(b"", b"").cosine == 0.0
