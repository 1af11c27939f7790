"""Each kernel of text features against a short readable reference, and the measures of whole texts."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import features as kernel
from samehand.kernels.text import word_shapes as shapes
from samehand.methods.language.features import lowered

few = settings(max_examples=60, deadline=None)
texts_of_words = st.lists(st.lists(st.integers(0, 12), max_size=150), max_size=4)


def end_to_end(texts):
    bounds = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.array([word for text in texts for word in text], np.int64), bounds


def arrays(texts):
    """Hashes, content (words from 3 on), chances and bounds."""
    words, bounds = end_to_end(texts)
    chances = (1 / (words + 5.0)).astype(np.float32)
    return (words + 1).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15), words >= 3, chances, bounds


def returns(text):
    """Columns of `recurrences` for one text, written down as they are defined."""
    row = np.zeros(kernel.RECURRENCE_COLUMNS)
    places = {}
    for i, word in enumerate(text):
        if word < 3:
            continue
        row[0] += 1
        chance = float(np.float32(1 / (word + 5.0)))
        for column, window in ((4, 50), (5, 250), (6, 10**9)):
            row[column] += 1 - math.exp(-chance * min(window, i))
        earlier = places.setdefault(word, [])
        if earlier and i - earlier[-1] > 3:
            row[1] += i - earlier[-1] <= 50
            row[2] += i - earlier[-1] <= 250
            row[3] += 1
        row[7] += sum(15 <= i - place <= 100 for place in earlier[-12:])
        earlier.append(i)
    near = sum(2 * (len(text) - d) / (len(text) * (len(text) - 1)) for d in range(15, min(100, len(text) - 1) + 1))
    counts = sorted((len(found) for found in places.values()), reverse=True)
    row[8] = near * sum(n * (n - 1) / 2 for n in counts)
    row[9], row[10] = len(counts), counts.count(1)
    row[11], row[12] = sum(counts[:1]), sum(counts[:5])
    for found in places.values():
        if len(found) <= 20:
            for a, b in itertools.pairwise(found):
                if b - a > 3:
                    row[13] += math.log((b - a) / len(text)) + sum(1 / n for n in range(1, len(found) + 1))
                    row[14] += 1
    return row


@few
@given(texts_of_words)
def test_recurrences_are_those_of_the_definition(texts):
    found = kernel.recurrences(*arrays(texts))
    np.testing.assert_allclose(found, [returns(text) for text in texts] or np.zeros((0, 15)), rtol=1e-6, atol=1e-9)


def taken_up(text):
    row = np.zeros(4)
    for i, word in enumerate(text):
        said = [earlier for earlier in text[: max(0, i - 19)] if earlier >= 3]
        if word >= 3:
            chance = float(np.float32(1 / (word + 5.0)))
            share = said.count(word) / max(1, len(said))
            row += [1, math.log(0.7 + 0.3 * share / chance), word in said, 1 - math.exp(-chance * len(said))]
    return row


@few
@given(texts_of_words)
def test_words_taken_up_are_those_of_the_definition(texts):
    found = kernel.words_taken_up(*arrays(texts))
    np.testing.assert_allclose(found, [taken_up(text) for text in texts] or np.zeros((0, 4)), rtol=1e-5, atol=1e-6)


@few
@given(st.lists(st.lists(st.integers(0, 2), max_size=60), max_size=4))
def test_phrases_of_six_are_counted_when_they_come_again(texts):
    words, bounds = end_to_end(texts)
    found = kernel.repeated_phrases((words + 1).astype(np.uint64), bounds)
    for text, share in zip(texts, found, strict=True):
        runs = [tuple(text[i : i + 6]) for i in range(len(text) - 5)]
        again = len(runs) - len(set(runs))
        assert share == pytest.approx(again / max(1, len(runs)))


@few
@given(texts_of_words)
def test_topics_near_and_far(texts):
    words, bounds = end_to_end(texts)
    draw = np.random.default_rng(1)
    topics, weights = draw.integers(-127, 127, (8, 4)).astype(np.int8), draw.random(8).astype(np.float32)
    found = kernel.topic_drift(words.astype(np.int32), topics, weights, bounds)
    for text, row in zip(texts, found, strict=True):
        blocks = [text[i * 25 : i * 25 + 25] for i in range(len(text) // 25)]
        sums = [sum((weights[w] * topics[w].astype(float) for w in block if w < 8), np.zeros(4)) for block in blocks]
        near = [
            float(sums[a] @ sums[b] / (np.linalg.norm(sums[a]) * np.linalg.norm(sums[b])))
            for a in range(len(sums))
            for b in range(a + 1, min(a + 4, len(sums)))
            if sums[a].any() and sums[b].any()
        ]
        assert row[0] == pytest.approx(np.mean(near) if near else 0, abs=1e-4)
        assert row[2] == 0  # no text here has blocks that are far apart


@few
@given(st.lists(st.lists(st.integers(1, 4), max_size=12), max_size=5))
def test_orders_of_classes(sentences):
    draw = np.random.default_rng(2)
    logs3 = draw.integers(0, 80, (5, 5, 5)).astype(np.uint8)
    logs2, logs1 = np.log(draw.random((5, 5))).astype(np.float32), np.log(draw.random(5)).astype(np.float32)
    classes, bounds = end_to_end(sentences)
    texts = np.array([0, len(sentences)], np.int64)
    found = kernel.class_scores(classes.astype(np.uint8), bounds, texts, logs3, logs2, logs1, 0.1, 2)[0]
    wanted = np.zeros(kernel.CLASS_COLUMNS)
    for sentence in sentences:
        line = [0, 0, *sentence, 0]
        for i in range(2, len(line)):
            a, b, c = line[i - 2 : i + 1]
            surprise = logs3[a, b, c] * 0.1
            wanted[:4] += [surprise, -logs1[c], 1, surprise + logs1[c] > 2]
            ties = logs2[a, c] - logs1[c] > 1
            if i > 2:
                evidence = float(logs2[a, c] - logs2[a, b] + surprise + logs1[b])
                wanted[4:6] += [min(max(evidence, -6), 6), evidence > 2]
                wanted[7] += 0 < a <= 2 and 0 < c <= 2 and b > 2 and ties and evidence > 2
            wanted[6] += 0 < b <= 2 and 0 < c <= 2 and logs2[b, c] - logs1[c] > 1
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@few
@given(st.lists(st.integers(0, 90), max_size=30))
def test_lengths_of_sentences(lengths):
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    found = kernel.sentence_lengths(bounds, np.array([0, len(lengths)], np.int64))[0]
    logs = np.log(np.maximum(1, lengths)) if lengths else np.zeros(0)
    assert found[0] == pytest.approx(logs.mean() if lengths else 0)
    assert found[1] == pytest.approx(logs.std() if lengths else 0, abs=1e-6)
    assert found[3] == pytest.approx(np.mean(np.array(lengths) <= 3) if lengths else 0)
    assert found[4] == pytest.approx(np.mean(np.array(lengths) >= 60) if lengths else 0)


@few
@given(st.lists(st.text("abcz1é.", min_size=1, max_size=9), max_size=20))
def test_shapes_of_words(words):
    raw = [word.encode() for word in words]
    ends = np.cumsum([len(word) for word in raw], dtype=np.int64)
    starts = ends - np.array([len(word) for word in raw], np.int64)
    data = np.frombuffer(bytearray(b"".join(raw)), np.uint8)
    hashes, stems, kinds, endings = shapes.word_shapes(data, starts, ends)
    assert (hashes[:, None] == hashes[None]).tolist() == [[a == b for b in raw] for a in raw]
    assert (stems[:, None] == stems[None]).tolist() == [[a[:5] == b[:5] for b in raw] for a in raw]
    for word, kind, ending in zip(raw, kinds.tolist(), endings.tolist(), strict=True):
        wanted = shapes.NUMBER if word[:1].isdigit() else shapes.WORD if word[0] >= 97 else shapes.OTHER
        assert kind == wanted
        letters = [byte - 96 if 97 <= byte <= 122 else 0 for byte in (b"\0" + word)[-2:]]
        assert ending == letters[0] * 27 + letters[1]


@few
@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=4), st.sets(st.integers(0, 40), max_size=10))
def test_among_counts_what_is_wanted(texts, wanted):
    words, bounds = end_to_end(texts)
    found, distinct = shapes.among(words.astype(np.uint64), np.array(sorted(wanted), np.uint64), bounds)
    assert found.tolist() == [sum(word in wanted for word in text) for text in texts]
    assert distinct.tolist() == [len(wanted & set(text)) for text in texts]


def test_lower_case_is_of_ascii_letters_alone():
    assert lowered(np.frombuffer("AZaz@[É".encode(), np.uint8)).tobytes() == "azaz@[É".encode()


def test_one_word_for_ever_is_linear_work():
    """The table is probed a bounded number of times, and near pairs are counted a bounded number of steps back."""
    words = np.full(300_000, 7, np.uint64)
    bounds = np.array([0, words.size], np.int64)
    found = kernel.recurrences(words, np.ones(words.size, np.bool_), np.full(words.size, 0.5, np.float32), bounds)
    assert found[0, 9] == 1
    assert found[0, 11] == words.size
    assert found[0, 7] <= 12 * words.size
