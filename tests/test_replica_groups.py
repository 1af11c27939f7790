"""Groups of near replicas: evidence, agreement without likeness, chains, threads, and buckets of an adversary."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents import MIDDLE, document, learn, middle_lexicon, name, sign, text
from samehand.base.settings import Settings
from samehand.grouping.forest import find_forest
from samehand.methods.replica.groups import (
    Replicas,
    agreeing_lexicon,
    candidates,
    check_rule,
    find_replicas,
    signature_buckets,
)
from samehand.methods.replica.lexicon import Lexicon
from samehand.methods.replica.signatures import ALL_WORDS, PAIRS, Signer


@pytest.fixture
def lexicon() -> Lexicon:
    return middle_lexicon()


def group(signer: Signer, *texts: bytes, threads: int = 1, **settings: float) -> Replicas:
    ids = np.arange(100, 100 + len(texts))
    return find_replicas(ids, sign(signer, *texts), Settings(**settings), threads=threads)


def labels(found: Replicas) -> list[list[int]]:
    members = zip(*(found.members.column(name).to_pylist() for name in ("replica_group_id", "page_id")), strict=True)
    return [[page for _, page in own] for _, own in itertools.groupby(members, key=lambda member: member[0])]


def test_near_replicas_are_grouped_with_their_evidence(lexicon: Lexicon) -> None:
    words = document(1).decode().split()
    strange = text(*(f"unknown{name(n)}" for n in range(9)))
    texts = [text(*words), document(2), text(*words[1:]), strange, text(*words[:-2], "another"), strange, document(3)]
    found = group(Signer(lexicon), *texts)
    assert labels(found) == [[100, 102, 104], [103, 105]]
    assert found.groups.column("replica_group_id").to_pylist() == [100, 103]
    assert found.groups.column("documents").to_pylist() == [3, 2]
    assert found.groups.column("weakest_cosine").to_pylist() == pytest.approx([48 / 49**0.5 / 50**0.5, 1.0], abs=0.02)
    evidence = found.members.select(["linked_page_id", "lexicon"]).to_pylist()
    assert [row["lexicon"] for row in evidence[3:]] == [ALL_WORDS, ALL_WORDS]
    assert all(0 <= row["lexicon"] <= 10 and row["linked_page_id"] in (100, 102, 104) for row in evidence[:3])
    assert (found.counts.rows, found.counts.equal, found.counts.probes) == (7, 1, 11)


def test_agreement_without_likeness_makes_no_group(lexicon: Lexicon) -> None:
    """Same words of the lexicon, other words for the rest: the signatures agree, the cosine does not."""
    shared = document(1, 10).decode().split()
    texts = [text(*shared, *(f"own{name(100 * seed + n)}" for n in range(30))) for seed in range(3)]
    signer = Signer(lexicon)
    assert (sign(signer, *texts).signatures[:, 0] == sign(signer, texts[0]).signatures[0, 0]).all()
    found = group(signer, *texts)
    assert found.members.num_rows == found.groups.num_rows == 0
    assert found.counts.checks > 0


@given(st.lists(st.sets(st.integers(0, 11), min_size=5), min_size=1, max_size=12), st.sampled_from([0.6, 0.8]))
def test_groups_are_the_components_of_all_agreeing_pairs(sets: list[set[int]], threshold: float) -> None:
    vocabulary = [f"middle{letter}" for letter in "abcdefghijkl"]
    small = learn(*(text(*vocabulary[n:], *vocabulary[: n - 3]) for n in range(3, 12)), low=0.0, high=1.0)
    signer = Signer(small, keep_least=0.3, lexicons=4)
    texts = [text(*(vocabulary[n] for n in words)) for words in sets]
    signed = sign(signer, *texts)
    settings = Settings(replica_cosine=threshold, replica_min_centre_cosine=0.0)
    forest, _ = find_forest(signed.sets, signature_buckets(signed), rule=check_rule(settings))
    found = find_replicas(np.arange(len(sets)), signed, settings)
    keys = signed.keys()
    edges = [
        (a, b)
        for a, b in itertools.combinations(range(len(sets)), 2)
        if ((keys[a] == keys[b]) & (keys[a] != 0)).any()
        and np.float32(len(sets[a] & sets[b]) / math.sqrt(len(sets[a]) * len(sets[b]))) >= np.float32(threshold)
    ]
    expected = {frozenset(own) for own in _components(edges, len(sets)) if len(own) > 1}
    assert {frozenset(own) for own in labels(found)} == expected
    touched = {row for edge in edges for row in edge}
    assert touched <= set(np.flatnonzero(candidates(keys)).tolist())
    agreed = agreeing_lexicon(keys, forest.pairs, forest.similarities, threshold)
    for (a, b), number in zip(forest.pairs.tolist(), agreed.tolist(), strict=True):
        assert keys[a][number] == keys[b][number] != 0


def _components(edges: list[tuple[int, int]], count: int) -> list[set[int]]:
    groups = [{row} for row in range(count)]
    for a, b in edges:
        left, right = (next(own for own in groups if row in own) for row in (a, b))
        if left is not right:
            left |= right
            groups.remove(right)
    return groups


def test_chains_are_parted_and_the_weakest_cosine_is_told(lexicon: Lexicon) -> None:
    """Each document is near the next, the first and the last share nothing."""
    texts = [text(*MIDDLE[start : start + 60]) for start in range(120)]
    signer = Signer(lexicon, pairs=False)
    chained, parted = (group(signer, *texts, replica_min_centre_cosine=weakest) for weakest in (0.0, 0.7))
    assert max(chained.groups.column("documents").to_pylist()) > 60
    assert min(chained.groups.column("weakest_cosine").to_pylist()) < 0.5
    assert min(parted.groups.column("weakest_cosine").to_pylist()) >= np.float32(0.7)
    assert max(parted.groups.column("documents").to_pylist()) > 5
    assert parted.members.num_rows > 0.9 * chained.members.num_rows


def test_any_number_of_threads_gives_the_same_answer(lexicon: Lexicon) -> None:
    words = [document(seed).decode().split() for seed in range(12)]
    texts = [text(*own[turn:], f"extra{name(turn)}") for own in words for turn in range(5)]
    one, four = (group(Signer(lexicon), *texts, threads=threads) for threads in (1, 4))
    assert one.members.equals(four.members)
    assert one.groups.equals(four.groups)
    assert one.groups.num_rows == 12


def test_a_bucket_of_thousands_costs_no_more_than_its_leaders(lexicon: Lexicon) -> None:
    """One signature, 2,000 documents that are not alike: an adversary's bucket."""
    shared = document(1, 12).decode().split()
    texts = [text(*shared, *(f"own{name(40 * seed + n)}" for n in range(40))) for seed in range(2_000)]
    signer = Signer(lexicon, lexicons=2, min_share=0.0, pairs=False)
    found = group(signer, *texts, exhaustive_bucket_size=16, max_leaders=8)
    assert found.counts.large_buckets == found.counts.buckets >= 1
    assert 0 < found.counts.checks <= 3 * 2_000 * 8
    assert found.counts.leader_cap_hits > 1_000
    assert found.members.num_rows == 0


def test_documents_that_are_never_alike_and_none_at_all(lexicon: Lexicon) -> None:
    signer = Signer(lexicon)
    for texts in ([], [b""], [document(seed) for seed in range(5)]):
        found = group(signer, *texts)
        assert found.members.num_rows == found.groups.num_rows == 0
        assert found.counts.rows == len(texts)


def sentence(seed: int, words: int = 300) -> list[str]:
    """Words with short ones between them, as sentences have."""
    draw = np.random.default_rng(seed)
    return [str(word) for word in draw.choice([*MIDDLE, "of", "the", "and", "to"] * 3, words)]


def changed(words: list[str], seed: int, *, replaced: float = 0.0, added: float = 0.0) -> bytes:
    """A copy with words replaced, and others behind it."""
    draw = np.random.default_rng(seed)
    copy = [f"other{name(int(draw.integers(1 << 19)))}" if draw.random() < replaced else word for word in words]
    more = [f"salad{name(int(draw.integers(1 << 19)))}" for _ in range(round(added * len(words)))]
    return text(*copy, *more)


def test_neighbouring_words_find_what_signatures_lose(lexicon: Lexicon) -> None:
    words = [sentence(seed) for seed in range(6)]
    replaced = [changed(own, 10 * n + copy, replaced=0.08) for n, own in enumerate(words) for copy in range(3)]
    found = group(Signer(lexicon, lexicons=0), *replaced, *(text(*sentence(seed)) for seed in range(50, 80)))
    assert labels(found) == [[100 + 3 * n, 101 + 3 * n, 102 + 3 * n] for n in range(6)]
    assert set(found.members.column("found_by").to_pylist()) == {"pairs"}
    assert set(found.members.column("lexicon").to_pylist()) == {PAIRS}
    assert min(found.members.column("jaccard").to_pylist()) >= 0.4
    assert found.shares.num_rows == 0
    without = group(Signer(lexicon, lexicons=0, pairs=False), *replaced)
    assert without.members.num_rows == without.shares.num_rows == 0


def test_shared_text_is_told_and_not_merged(lexicon: Lexicon) -> None:
    words = sentence(1)
    texts = [changed(words, copy, added=1.0) for copy in range(3)] + [text(*sentence(seed)) for seed in range(50, 60)]
    found = group(Signer(lexicon), *texts)
    assert found.members.num_rows == 0
    told = found.shares.to_pylist()
    assert len(told) == 2
    assert {row["page_id"] for row in told} | {row["with_page_id"] for row in told} == {100, 101, 102}
    assert all(0.25 < row["jaccard"] < 0.4 < row["containment"] < 0.6 for row in told)


def test_a_text_inside_a_longer_one_is_told(lexicon: Lexicon) -> None:
    words = sentence(1)
    found = group(Signer(lexicon), text(*words), changed(words, 5, added=3.0))
    assert found.members.num_rows == 0
    (told,) = found.shares.to_pylist()
    assert told["jaccard"] < 0.35
    assert told["containment"] > 0.7


def test_the_papers_rule_asks_for_agreement_alone(lexicon: Lexicon) -> None:
    shared = document(1, 10).decode().split()
    texts = [text(*shared, *(f"own{name(100 * seed + n)}" for n in range(30))) for seed in range(3)]
    paper = Settings.preset("paper")
    signed = sign(Signer(lexicon, pairs=False), *texts)
    found = find_replicas(np.arange(3), signed, paper)
    assert labels(found) == [[0, 1, 2]]
    assert max(found.members.column("cosine").to_pylist()[1:]) < 0.5
