"""Markers: counts and choice are those of a brute force, phrases come out whole."""

import collections
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samehand.base.errors import SettingsError, UsageError
from samehand.methods.language.markers import MarkerRule, count_ngrams, find_markers, log_likelihood

TEXTS = st.lists(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=8), max_size=4), min_size=1, max_size=4)
Arrays = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]


def arrays_of(texts: list[list[list[int]]]) -> Arrays:
    sentences = [sentence for text in texts for sentence in text]
    ids = np.array([word for sentence in sentences for word in sentence], np.int32)
    return ids, np.cumsum([0, *map(len, sentences)]), np.cumsum([0, *map(len, texts)])


def counted(texts: list[list[list[int]]], order: int) -> tuple[collections.Counter[tuple[int, ...]], dict]:
    counts: collections.Counter[tuple[int, ...]] = collections.Counter()
    spread: dict[tuple[int, ...], set[int]] = collections.defaultdict(set)
    for number, text in enumerate(texts):
        for sentence in text:
            for start in range(len(sentence) - order + 1):
                ngram = tuple(sentence[start : start + order])
                if 0 not in ngram:
                    counts[ngram] += 1
                    spread[ngram].add(number)
    return counts, {ngram: len(found) for ngram, found in spread.items()}


class Lookup:
    """Counts of n-grams in a reference, held in a Counter."""

    def __init__(self, texts: list[list[list[int]]]) -> None:
        self._counts = {order: counted(texts, order)[0] for order in range(1, 6)}

    def __call__(self, ngrams: NDArray[np.int32]) -> NDArray[np.int64]:
        return np.array([self._counts[ngrams.shape[1]][tuple(row)] for row in ngrams.tolist()], np.int64)


@given(TEXTS, st.integers(1, 4))
def test_counts_are_those_of_a_brute_force(texts: list[list[list[int]]], order: int) -> None:
    ngrams, counts, spread = count_ngrams(*arrays_of(texts), order)
    wanted, texts_of = counted(texts, order)
    rows = [tuple(row) for row in ngrams.tolist()]
    assert rows == sorted(wanted)
    assert counts.tolist() == [wanted[row] for row in rows]
    assert spread.tolist() == [texts_of[row] for row in rows]


@given(TEXTS, TEXTS, st.sampled_from([0.0, 0.3, 0.9]))
def test_markers_are_what_the_rule_says(
    texts: list[list[list[int]]], reference: list[list[list[int]]], rarer: float
) -> None:
    arrays = arrays_of(texts)
    words = max(1, sum(len(sentence) for text in reference for sentence in text))
    rule = MarkerRule(orders=(2,), least_texts=2, rarer=rarer)
    found = find_markers(*arrays, counts_of=Lookup(reference), reference_words=words, rule=rule)
    counts, spread = counted(texts, 2)
    known = counted(reference, 2)[0]
    often = [ngram for ngram in counts if counts[ngram] >= 2]
    wanted = {
        ngram
        for ngram in often
        if spread[ngram] >= 2 and known[ngram] / words <= rarer * (counts[ngram] / arrays[0].size)
    }
    # Joined markers hold all their parts.
    parts = {marker.ngram[i : i + 2] for marker in found.found for i in range(len(marker.ngram) - 1)}
    assert parts == wanted
    assert found.absent[2] == (pytest.approx(sum(not known[n] for n in often) / len(often)) if often else 0.0)
    scores = [marker.score for marker in found.found]
    assert scores == sorted(scores, reverse=True)


def test_a_repeated_phrase_is_one_marker() -> None:
    phrase = [10, 11, 12, 13, 14, 15, 16]
    texts = [[[3, 4, *phrase, 5 + number]] for number in range(4)]
    reference = [[[3, 4, 5, 6], [4, 3]]]
    found = find_markers(*arrays_of(texts), counts_of=Lookup(reference), reference_words=6)
    assert [(marker.ngram, marker.count, marker.texts) for marker in found.found] == [((3, 4, *phrase), 4, 4)]


def test_a_short_marker_that_stands_alone_too_is_kept() -> None:
    texts = [[[10, 11, 12, 13]], [[10, 11, 12, 13]], *[[[10, 11]] for _ in range(6)]]
    found = find_markers(*arrays_of(texts), counts_of=Lookup([[[3]]]), reference_words=100)
    assert {marker.ngram: marker.count for marker in found.found} == {(10, 11, 12, 13): 2, (10, 11): 8}


def test_one_text_alone_makes_no_marker() -> None:
    found = find_markers(*arrays_of([[[10, 11]] * 50]), counts_of=Lookup([[[3]]]), reference_words=100)
    assert found.found == []
    assert found.absent == {2: 1.0, 3: 0.0, 4: 0.0}


def test_the_ratio_is_dunnings() -> None:
    a, b, c, d = 30, 10, 1000, 5000
    expected = 2 * (a * math.log(a / (c * (a + b) / (c + d))) + b * math.log(b / (d * (a + b) / (c + d))))
    assert log_likelihood(np.array([a]), np.array([b]), c, d)[0] == pytest.approx(expected)
    assert log_likelihood(np.array([1]), np.array([500]), c, d)[0] < 0
    assert log_likelihood(np.array([2]), np.array([10]), c, d)[0] == pytest.approx(0)


def test_rings_of_markers_stay_apart() -> None:
    texts = [[[10, 11, 12, 10, 11, 12, 10, 11, 12]]] * 3
    found = find_markers(*arrays_of(texts), counts_of=Lookup([[[3]]]), reference_words=9, rule=MarkerRule(orders=(2,)))
    parts = {marker.ngram[i : i + 2] for marker in found.found for i in range(len(marker.ngram) - 1)}
    assert parts == {(10, 11), (11, 12), (12, 10)}


def test_the_best_are_given() -> None:
    texts = [[[10 + word, 50 + word] for word in range(20) for _ in range(word + 1)]] * 2
    rule = MarkerRule(orders=(2,), most=3)
    found = find_markers(*arrays_of(texts), counts_of=Lookup([[[3]]]), reference_words=9, rule=rule)
    assert [marker.ngram for marker in found.found] == [(29, 69), (28, 68), (27, 67)]


def test_bad_rules_and_bounds_are_refused() -> None:
    with pytest.raises(SettingsError, match="orders"):
        MarkerRule(orders=(6,))
    with pytest.raises(SettingsError, match="rarer"):
        MarkerRule(rarer=1.0)
    ids, sentences, texts = arrays_of([[[3, 4]]])
    with pytest.raises(UsageError, match="bounds"):
        find_markers(ids[:1], sentences, texts, counts_of=Lookup([]), reference_words=1)
