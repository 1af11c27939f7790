"""Counts of n-grams against a plain counter, in memory, on disk, and after a stop."""

import collections
import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.base.errors import InputError, UsageError
from samehand.methods.language import counting
from samehand.methods.language.counting import Counts, count, count_spans
from samehand.methods.language.counts_files import read_counts
from samehand.methods.language.vocabulary import Vocabulary, WordCounter

VOCABULARY = Vocabulary.from_words([b"a", b"b", b"c", b"d"])
LARGE = Vocabulary.from_words([b"%d" % number for number in range(10_000)])
"""Five words of this vocabulary take more than 64 bits."""


def text_of(sentences: list[list[int]]) -> counting.Text:
    ids = np.array([word for sentence in sentences for word in sentence], np.int32)
    return ids, np.cumsum([0, *map(len, sentences)])


def plain_counts(sentences: list[list[int]], order: int) -> dict[tuple[int, ...], int]:
    found: collections.Counter[tuple[int, ...]] = collections.Counter()
    for sentence in sentences:
        padded = (1, *sentence, 2)
        for length in range(1, order + 1):
            for place in range(len(padded) - length + 1):
                found[padded[place : place + length]] += 1
    return dict(found)


def as_dict(counts: Counts) -> dict[tuple[int, ...], int]:
    parents, last = counts.trie.parents(), counts.trie.last_words()
    found: dict[tuple[int, ...], int] = {}
    for node in range(len(counts.trie)):
        ngram, above = [], node
        while above >= 0:
            ngram.append(int(last[above]))
            above = int(parents[above])
        if counts.counts[node]:
            found[tuple(reversed(ngram))] = int(counts.counts[node])
    return found


def random_sentences(seed: int, words: int, number: int = 300) -> list[list[int]]:
    draw = np.random.Generator(np.random.PCG64(seed))
    return [(draw.integers(0, words, draw.integers(0, 12)) + 3).tolist() for _ in range(number)]


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(3, 6), max_size=8), max_size=6), st.integers(1, 5), st.sampled_from([4, 9_999]))
def test_counts_are_those_of_a_plain_counter(sentences, order, words):
    vocabulary = VOCABULARY if words == 4 else LARGE
    spread = [[word if words == 4 else word * 997 for word in sentence] for sentence in sentences]
    counts = count([text_of(spread)], vocabulary=vocabulary, order=order)
    assert as_dict(counts) == plain_counts(spread, order)
    assert counts.sentences == len(sentences)
    assert counts.tokens == sum(map(len, sentences)) + len(sentences)


@pytest.mark.parametrize(("order", "vocabulary"), [(4, VOCABULARY), (5, LARGE)])
def test_little_memory_gives_the_same_counts(order, vocabulary, tmp_path):
    sentences = random_sentences(1, len(vocabulary) - 3, 1500)
    told: list[str] = []
    texts = [text_of(sentences[:700]), text_of([]), text_of(sentences[700:])]
    little = count(texts, vocabulary=vocabulary, order=order, folder=tmp_path, memory_bytes=0, on_progress=told.append)
    assert len(told) > 5
    assert as_dict(little) == plain_counts(sentences, order)
    whole = count(texts, vocabulary=vocabulary, order=order)
    assert np.array_equal(whole.counts, little.counts)
    assert np.array_equal(whole.trie.first, little.trie.first)


def test_a_count_that_was_stopped_goes_on(tmp_path, monkeypatch):
    sentences = random_sentences(2, 4, 1500)
    made: list[str] = []
    original = counting.write_run

    def stopping(path, *arrays):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(path.name)
        original(path, *arrays)

    monkeypatch.setattr(counting, "write_run", stopping)
    rules = {"vocabulary": VOCABULARY, "order": 3, "folder": tmp_path, "memory_bytes": 0}
    with pytest.raises(KeyboardInterrupt):
        count([text_of(sentences)], **rules)
    monkeypatch.setattr(counting, "write_run", original)
    told: list[str] = []
    counts = count([text_of(sentences)], **rules, on_progress=told.append)
    assert sum("kept" in line for line in told) == 3
    assert as_dict(counts) == plain_counts(sentences, 3)
    changed = [[4], *sentences[1:]]
    assert as_dict(count([text_of(changed)], **rules)) == plain_counts(changed, 3)
    told.clear()
    other = count([text_of(changed)], **(rules | {"order": 4}), on_progress=told.append)
    assert not any("kept" in line for line in told)
    assert as_dict(other) == plain_counts(changed, 4)


def test_words_are_numbered_by_falling_count_then_bytes(tmp_path):
    words = b"the cat the dog a the dog <s>".split()
    ends = np.cumsum([len(word) for word in words])
    starts = ends - np.array([len(word) for word in words])
    chunk = (np.frombuffer(b"".join(words), np.uint8), starts, ends, np.array([0, 3, 8]))
    counts = count_spans([chunk], order=2)
    assert counts.vocabulary.words[3:] == [b"the", b"dog", b"a", b"cat"]
    assert as_dict(counts) == plain_counts([[3, 6, 3], [4, 5, 3, 4, 0]], 2)
    again = count_spans([chunk], order=2, folder=tmp_path / "new")
    assert np.array_equal(again.counts, counts.counts)
    assert not (tmp_path / "new" / "words").exists()
    few = count_spans([chunk], order=1, most_words=3, least=2)
    assert few.vocabulary.words[3:] == [b"the", b"dog"]
    assert few.counts[0] == 3


def test_the_counter_grows_and_says_what_it_refuses():
    words = [b"w%d" % (number % 60_000) for number in range(90_000)]
    ends = np.cumsum([len(word) for word in words])
    starts = ends - np.array([len(word) for word in words])
    data = np.frombuffer(b"".join(words), np.uint8)
    counter = WordCounter()
    counter.add(data, starts, ends)
    vocabulary, numbers = counter.finish()
    assert len(vocabulary) == 60_003
    assert numbers.size == 60_003
    small = WordCounter(most=1 << 15)
    small.add(data, starts, ends)
    assert small.refused == 90_000 - (1 << 15) - min(30_000, 1 << 15)


def test_sentences_must_be_offsets():
    with pytest.raises(UsageError, match="offsets"):
        count([(np.array([3, 4], np.int32), np.array([0, 3]))], vocabulary=VOCABULARY, order=2)
    with pytest.raises(UsageError, match="order"):
        count([], vocabulary=VOCABULARY, order=6)


def test_no_text_gives_no_counts():
    counts = count([], vocabulary=VOCABULARY, order=3)
    assert counts.tokens == 0
    assert as_dict(counts) == {}


def test_a_vocabulary_refuses_what_is_no_word():
    with pytest.raises(UsageError, match="twice"):
        Vocabulary.from_words([b"a", b"a"])
    with pytest.raises(UsageError, match="words only"):
        Vocabulary.from_words([b"<s>"])
    assert VOCABULARY.ids_of_words([b"a", b"d", b"x", b"<s>", b""]).tolist() == [3, 6, 0, 0, 0]
    assert VOCABULARY.word(3) == "a"


@pytest.mark.parametrize("packed", [False, True])
def test_web_1t_files(packed, tmp_path):
    def put(name: str, text: str) -> None:
        path = tmp_path / (name + (".gz" if packed else ""))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())

    put("vocab", "<S>\t50\n</S>\t50\nbed\t90\nand\t120\nbreakfast\t5000000000\nnonsense\nrare\t1\n")
    put("2gms/2gm-0000", "bed and\t60\nand breakfast\t40\n")
    put("2gms/2gm-0001", "<S> bed\t45\nbreakfast </S>\t41\nrare bed\t2\nodd bed\t3\n")
    put("3gms/3gm-0000", "bed and breakfast\t38\nbed and\t9\n")
    told: list[str] = []
    counts = read_counts(tmp_path, order=3, most_words=3, on_progress=told.append)
    assert counts.vocabulary.words[3:] == [b"breakfast", b"and", b"bed"]
    assert as_dict(counts) == {
        (0,): 1, (1,): 50, (2,): 50, (3,): 5_000_000_000, (4,): 120, (5,): 90,
        (5, 4): 60, (4, 3): 40, (1, 5): 45, (3, 2): 41, (0, 5): 5, (5, 4, 3): 38,
    }  # fmt: skip
    assert told[-1].startswith("skipped 2 lines")
    with pytest.raises(InputError, match="no counts of 4-grams"):
        read_counts(tmp_path, order=4)


def test_a_folder_without_counts_is_said(tmp_path):
    with pytest.raises(InputError, match="no vocab"):
        read_counts(tmp_path, order=2)
    (tmp_path / "vocab.gz").write_bytes(b"\x1f\x8bbroken")
    with pytest.raises(InputError, match="cannot be read"):
        read_counts(tmp_path, order=2)
