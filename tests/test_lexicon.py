"""Lexicons: what is counted, what a full table drops, what is saved, and files that are no lexicons."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents import COMMON, MIDDLE, arrow, document, learn, middle_lexicon, name, text
from samehand.base.errors import SettingsError, UsageError
from samehand.methods.replica import lexicon as lexicon_module
from samehand.methods.replica.lexicon import Lexicon, WordCounts, WordReader


@pytest.fixture
def lexicon() -> Lexicon:
    return middle_lexicon()


DOCUMENTS = st.lists(
    st.lists(st.sampled_from([*COMMON, "Straße", "жизнь", "once1"]), max_size=12).map(lambda words: text(*words)),
    min_size=1,
    max_size=12,
)


@given(DOCUMENTS)
def test_lexicon_counts_documents_of_enough_words(documents: list[bytes]) -> None:
    sets = [set(document.decode().lower().split()) for document in documents]
    counted = [words for words in sets if len(words) >= 5]
    counts = WordCounts()
    counts.add(arrow(*documents))
    if len(counted) < 2:
        with pytest.raises(UsageError, match="larger collection"):
            counts.lexicon("few")
        return
    found = counts.lexicon("some", low=0.0, high=1.0)
    assert (found.documents, counts.skipped) == (len(counted), len(sets) - len(counted))
    truth = Counter(word for words in counted for word in words)
    texts = dict(zip(found.words.tolist(), found.texts.to_pylist(), strict=True))
    assert len(texts) == len(truth)
    assert sorted(found.frequencies.tolist()) == sorted(truth.values())
    for word, frequency, nidf in zip(found.words.tolist(), found.frequencies.tolist(), found.nidf(), strict=True):
        assert nidf == pytest.approx(math.log(len(counted) / frequency) / math.log(len(counted)))
        if frequency > 1:  # words of one document have no text
            assert truth[texts[word]] == frequency


def test_learning_depends_neither_on_order_nor_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [document(seed) for seed in range(60)]
    whole = learn(*documents)
    monkeypatch.setattr(lexicon_module, "CHUNK_BYTES", 2_000)
    counts = WordCounts()
    for one in reversed(documents):
        counts.add(arrow(one))
    parts = counts.lexicon("a collection")
    assert parts.words.tolist() == whole.words.tolist()
    assert parts.frequencies.tolist() == whole.frequencies.tolist()
    assert parts.texts.to_pylist() == whole.texts.to_pylist()
    assert counts.dropped == counts.undercount == 0


def test_a_full_table_drops_the_rarest_words_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_module, "CHUNK_BYTES", 1_000)
    documents = [text(*COMMON, *(f"rare{name(10 * number + n)}" for n in range(10))) for number in range(300)]
    counts = WordCounts(max_words=200)
    for one in documents:
        counts.add(arrow(one))
        assert counts._words.size <= 200 + 1_000 // 5
    found = counts.lexicon("much", low=0.0, high=0.5)
    assert set(found.texts.drop_null().to_pylist()) == set(COMMON)
    assert set(found.frequencies.tolist()) == {300}
    assert counts.dropped > 2_000
    assert found.learning == {"skipped": 0, "dropped": counts.dropped, "undercount": counts.undercount}


def test_a_dropped_word_has_lost_no_more_than_the_undercount(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon_module, "CHUNK_BYTES", 500)
    draw = np.random.default_rng(3)
    documents = [sorted(set(draw.choice(MIDDLE, 12).tolist())) for _ in range(400)]
    truth = Counter(word for words in documents for word in words)
    counts = WordCounts(max_words=150)
    for words in documents:
        counts.add(arrow(text(*words)))
    found = counts.lexicon("much", low=0.0, high=1.0)
    assert counts.undercount > 0
    for word, frequency in zip(found.texts.to_pylist(), found.frequencies.tolist(), strict=True):
        if word is not None:
            assert 0 <= truth[word] - frequency <= counts.undercount


def test_a_lexicon_is_saved_and_read_again(lexicon: Lexicon, tmp_path: Path) -> None:
    path = tmp_path / "web.lexicon"
    lexicon.save(path)
    again = Lexicon.load(path)
    assert (again.collection, again.documents, again.low, again.high) == ("a collection", 400, 0.2, 0.8)
    assert again.words.tolist() == lexicon.words.tolist()
    assert again.frequencies.tolist() == lexicon.frequencies.tolist()
    assert again.texts.to_pylist() == lexicon.texts.to_pylist()
    assert again.typical() == lexicon.typical()
    assert len(again.typical()) == 10
    assert set(again.typical()) <= set(MIDDLE)
    assert list(tmp_path.iterdir()) == [path]
    stored = pq.read_table(path)
    assert stored.column_names == ["word", "hash", "documents", "nidf"]
    assert json.loads(stored.schema.metadata[b"samehand.lexicon"])["collection"] == "a collection"


def test_one_file_serves_any_range_and_any_key(lexicon: Lexicon, tmp_path: Path) -> None:
    lexicon.under("secret").save(tmp_path / "saved")
    assert Lexicon.load(tmp_path / "saved").words.tolist() == lexicon.words.tolist()  # no key is given away
    secret = Lexicon.load(tmp_path / "saved", key="secret")
    assert not set(secret.words.tolist()) & set(lexicon.words.tolist())
    assert sorted(secret.texts.to_pylist()) == sorted(lexicon.texts.to_pylist())
    narrow = lexicon.in_range(0.0, 0.1)
    assert narrow.primary() == (0, len(COMMON))
    assert set(narrow.typical()) == set(COMMON)
    with pytest.raises(SettingsError, match="from 0 to 1"):
        lexicon.in_range(0.5, 0.2)


def test_words_known_by_their_hash_alone_are_left_out_under_another_key() -> None:
    long_word = "x" * 200
    found = learn(*(text(*COMMON, long_word) for _ in range(4)), low=0.0, high=1.0)
    assert found.texts.null_count == 1
    assert found.words.size == 11
    assert found.under("secret").words.size == 10


def _break_file(path: Path, how: str) -> None:
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"samehand.lexicon"])
    if how == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "foreign":
        pq.write_table(pa.table({"word": ["a"]}), path)
    elif how == "no parquet":
        path.write_bytes(b"a lexicon, honestly")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "twice":
        pq.write_table(pa.concat_tables([table, table]), path)
    else:
        facts |= {"format": {"format": 99}, "counts": {"documents": 1}, "rule": {"min_characters": 0}}[how]
        pq.write_table(table.replace_schema_metadata({b"samehand.lexicon": json.dumps(facts)}), path)


@pytest.mark.parametrize(
    "how", ["truncated", "foreign", "no parquet", "empty", "twice", "format", "counts", "rule", "missing", "folder"]
)
def test_a_broken_or_foreign_file_is_named_with_the_next_step(lexicon: Lexicon, tmp_path: Path, how: str) -> None:
    path = tmp_path / "web.lexicon"
    if how == "folder":
        path.mkdir()
    elif how != "missing":
        lexicon.save(path)
        _break_file(path, how)
    with pytest.raises(UsageError, match="samehand lexicon learn"):
        Lexicon.load(path)


def test_a_place_that_cannot_be_written_is_named(lexicon: Lexicon, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="another place"):
        lexicon.save(tmp_path / "not there" / "web.lexicon")


def test_rules_that_cannot_be() -> None:
    with pytest.raises(SettingsError, match="max_digits"):
        WordReader(max_digits=-1)
    with pytest.raises(SettingsError, match="from 1 to 64"):
        WordReader(min_characters=0)
