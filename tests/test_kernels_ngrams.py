"""The kernels of n-grams against plain Python."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.base.buffers import read_only
from samehand.kernels.ngrams import count_lines
from samehand.kernels.ngrams import index as ngram_index
from samehand.kernels.ngrams import tries as ngrams
from samehand.kernels.text import vocabulary as words_kernel

NOTHING = np.empty(0, np.uint64)
sentence_lists = st.lists(st.lists(st.integers(-1, 12), max_size=6), max_size=5)
orders = st.integers(1, 5)
widths = st.sampled_from([4, 13, 16, 17, 25])


def flat(sentences: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    ids = np.array([word for sentence in sentences for word in sentence], np.int32)
    return ids, np.cumsum([0, *map(len, sentences)])


def windows_of(sentences: list[list[int]], order: int, words: int) -> list[tuple[int, ...]]:
    found = []
    for sentence in sentences:
        padded = [1, *(word if 0 <= word < words else 0 for word in sentence), 2]
        for place in range(len(padded)):
            window = [word + 1 for word in padded[place : place + order]]
            found.append(tuple(window + [0] * (order - len(window))))
    return found


def as_number(window: tuple[int, ...], bits: int) -> int:
    number = 0
    for field in window:
        number = number << bits | field
    return number


def numbers(high: np.ndarray, low: np.ndarray) -> list[int]:
    uppers = high.tolist() if high.size else [0] * low.size
    return [upper << 64 | lower for upper, lower in zip(uppers, low.tolist(), strict=True)]


def parts(values: list[int], wide: bool) -> tuple[np.ndarray, np.ndarray]:
    high = np.array([value >> 64 for value in values] if wide else [], np.uint64)
    return high, np.array([value & (1 << 64) - 1 for value in values], np.uint64)


@given(sentence_lists, orders, widths)
def test_windows_are_packed_and_unpacked(sentences, order, bits):
    high, low = ngrams.window_keys(*flat(sentences), order, bits, 11)
    wanted = windows_of(sentences, order, 11)
    assert numbers(high, low) == [as_number(window, bits) for window in wanted]
    for row, window in enumerate(wanted):
        upper = high[row] if high.size else np.uint64(0)
        fields = [int(ngrams.field_of(upper, low[row], place, order, bits)) for place in range(order)]
        assert tuple(fields) == window


@given(st.lists(st.tuples(st.integers(0, (1 << 128) - 1), st.integers(0, 9))), st.booleans())
def test_sorting_and_collapsing(entries, wide):
    values = [value if wide else value & (1 << 64) - 1 for value, _ in entries] * 2
    counts = np.array([count for _, count in entries] * 2, np.uint64)
    high, low = parts(values, wide)
    ngrams.sort_wide(high, low, counts)
    assert numbers(high, low) == sorted(values)
    wanted = collections.Counter()
    for value, (_, count) in zip(values, entries * 2, strict=True):
        wanted[value] += count
    high, low, sums = ngrams.collapse(high, low, counts)
    assert dict(zip(numbers(high, low), sums.tolist(), strict=True)) == dict(wanted)


@given(st.lists(st.lists(st.integers(0, 1 << 70), max_size=8), max_size=6), st.booleans())
def test_runs_are_merged(runs, wide):
    runs = [sorted({value if wide else value >> 8 for value in run}) for run in runs]
    values = [value for run in runs for value in run]
    high, low = parts(values, wide)
    counts = np.arange(1, len(values) + 1, dtype=np.uint64)
    wanted = collections.Counter()
    for value, count in zip(values, counts.tolist(), strict=True):
        wanted[value] += count
    starts = np.cumsum([0, *map(len, runs)])
    high, low, sums = ngrams.merge_runs(high, low, counts, starts)
    assert list(zip(numbers(high, low), sums.tolist(), strict=True)) == sorted(wanted.items())
    for value in values:
        place = ngrams.lower_bound(high, low, np.uint64(value >> 64), np.uint64(value & (1 << 64) - 1))
        assert numbers(high, low)[place] == value


@given(st.dictionaries(st.integers(0, 30), st.sets(st.integers(0, 40), max_size=20), max_size=20))
def test_the_index_finds_every_child_and_no_other(children):
    inner, vocabulary = 31, 41
    words, first = [], [inner]
    for node in range(inner):
        words += sorted(children.get(node, ()))
        first.append(inner + len(words))
    words, first = np.array(words, np.uint32), np.array(first, np.uint32)
    total = inner + words.size
    bits = np.array(ngram_index.index_bits(vocabulary, inner, total), np.uint64)
    slots = np.zeros((1 << int(bits[2])) + ngram_index.FARTHEST, np.uint64)
    assert ngram_index.fill(words, first, inner, bits, slots)
    pairs = [(node, word) for node in range(-1, inner) for word in range(vocabulary)]
    found = np.empty(len(pairs), np.int64)
    nodes, asked = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    index = ngram_index.Index(slots, bits, vocabulary, inner, total)
    ngram_index.find_children(index, nodes, asked, found, np.empty((3, len(pairs)), np.uint64))
    wanted = {(node, int(words[child - inner])): child for node in range(inner) for child in range(*first[node:][:2])}
    assert found.tolist() == [wanted.get(pair, -1) for pair in pairs]
    for node, word in pairs[vocabulary:]:
        assert ngrams.find_child(words, first, inner, node, word) == wanted.get((node, word), -1)


def test_the_index_refuses_what_is_too_far_from_home():
    words, first = np.zeros(200, np.uint32), np.array([10, *[210] * 10], np.uint32)
    bits = np.array(ngram_index.index_bits(10, 10, 210), np.uint64)
    slots = np.zeros((1 << int(bits[2])) + ngram_index.FARTHEST, np.uint64)
    assert not ngram_index.fill(words, first, 10, bits, slots)


@settings(max_examples=60)
@given(st.lists(st.binary(min_size=1, max_size=20), unique=True, max_size=30), st.lists(st.binary(max_size=20)))
def test_words_are_found(known, asked):
    blob = np.frombuffer(bytearray(b"".join([b"?", b"?", b"?", *known])), np.uint8)
    offsets = np.cumsum([0, 1, 1, 1, *map(len, known)])
    slots = np.full(128, words_kernel.EMPTY, np.uint64)
    assert words_kernel.fill_slots(blob, offsets, 3, slots) == -1
    asked = asked + known
    data = np.frombuffer(b"".join(asked), np.uint8)
    ends = np.cumsum([0, *map(len, asked)])[1:]
    starts = ends - np.array([*map(len, asked)], np.int64)
    firsts = words_kernel.first_bytes(blob, offsets)
    found = words_kernel.find_words(data, read_only(starts), read_only(ends), blob, offsets, firsts, slots)
    numbered = {word: number for number, word in enumerate(known, 3)}
    assert found.tolist() == [numbered.get(word, 0) for word in asked]


def test_spans_outside_of_the_data_are_unknown_words():
    slots = np.full(16, words_kernel.EMPTY, np.uint64)
    blob, offsets = np.frombuffer(bytearray(b"???a"), np.uint8), np.arange(5)
    words_kernel.fill_slots(blob, offsets, 3, slots)
    starts, ends = read_only(np.array([-1, 0, 0, 5, 0])), read_only(np.array([1, 1, 9, 6, 0]))
    firsts = words_kernel.first_bytes(blob, offsets)
    found = words_kernel.find_words(read_only(blob[3:]), starts, ends, blob, offsets, firsts, slots)
    assert found.tolist() == [0, 3, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "rows", "bad"),
    [
        (b"a b\t3\nc d\t4\n", [([b"a", b"b"], 3), ([b"c", b"d"], 4)], 0),
        (b"a b\t3\r\n\nc\t4\nx y z\t1\na  b\t2\na b 7\nq r\t1x\nq r\t\n", [([b"a", b"b"], 3)], 6),
        (b"<S> a\t9\na </s>\t8", [([b"<S>", b"a"], 9), ([b"a", b"</s>"], 8)], 0),
        (b"a b\t1234567890123456789", [], 1),
        (b"", [], 0),
    ],
)
def test_lines_of_counts(text, rows, bad):
    starts, ends, marks, counts, refused = count_lines.split_lines(np.frombuffer(text, np.uint8), 2)
    words = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    assert [(words[2 * i : 2 * i + 2], int(count)) for i, count in enumerate(counts)] == rows
    assert refused == bad
    wanted = {b"<s>": ngrams.START, b"</s>": ngrams.END}
    assert marks.tolist() == [wanted.get(word.lower(), 0) for word in words]
