"""Patterns of word classes: the sums against a readable count, text by text."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import patterns as kernel

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
PAIRS = range(1, 7)
FINE = ((0, 1, 2), (0, 1, 3), (0, 2, 3))
COARSE = ((0, 1, 2), (0, 1, 2, 3), (0, 1, 4), (0, 3, 4), (0, 1, 3, 4), (0, 2, 5), (0, 1, 2, 3, 4))
"""How far back the classes of a pattern stand."""


def row_of(number, value, bits):
    key = (value + (number + 1) * 0xD6E8FEB86659FD93) * GOLDEN & MASK
    key ^= key >> 29
    return (key * 0xBF58476D1CE4E5B9 & MASK) >> (64 - bits)


def packed(classes):
    return sum(value << 10 * place for place, value in enumerate(classes))


def rows_at(fine, coarse, place, bits):
    """The rows of all patterns that end at a place; before the text there are zeros."""

    def back(classes, distance):
        return classes[place - distance] if place >= distance else 0

    found = [row_of(d, fine[place] << 20 | back(fine, d), bits) for d in PAIRS]
    grains = [(fine, shape) for shape in FINE] + [(coarse, shape) for shape in COARSE]
    for number, (classes, shape) in enumerate(grains, 7):
        found.append(row_of(number, packed([back(classes, distance) for distance in shape]), bits))
    return found


def sums_of(text, table, bits):
    """The sums of one text, a list of sentences of pairs of classes, and of the lower half of its windows."""
    marked = [pair for sentence in text for pair in ((0, 0), *sentence)]
    fine, coarse = ([pair[grain] for pair in marked] for grain in (0, 1))
    each = np.zeros((len(marked), kernel.KINDS), np.int64)
    for place in range(len(marked)):
        each[place] = sum(table[row].astype(np.int64) for row in rows_at(fine, coarse, place, bits))
    full = max(1, len(marked) // kernel.WINDOW)
    windows = np.array([each[kernel.WINDOW * n : kernel.WINDOW * (n + 1)].sum(0) for n in range(full)])
    low = (full + 1) // 2
    half = np.sort(windows, axis=0)[:low].sum(0)
    classes = min(len(marked), low * kernel.WINDOW)
    return [*each.sum(0).tolist(), len(marked), *half.tolist(), classes]


sentences_of = st.lists(
    st.lists(st.tuples(st.integers(1, 526), st.integers(1, 126)), min_size=1, max_size=40), max_size=4
)


@given(st.lists(sentences_of, max_size=4), st.integers(0, 1 << 30), st.sampled_from([4, 10]))
@settings(max_examples=60, deadline=None)
def test_sums_equal_a_readable_count(texts, seed, bits):
    table = np.random.Generator(np.random.PCG64(seed)).integers(-127, 128, (1 << bits, kernel.KINDS)).astype(np.int8)
    sentences = [sentence for text in texts for sentence in text]
    pairs = np.array([pair for sentence in sentences for pair in sentence], np.int64).reshape(-1, 2)
    bounds = np.cumsum([0, *map(len, sentences)])
    found = kernel.pattern_sums(
        pairs[:, 0].astype(np.uint16),
        pairs[:, 1].astype(np.uint8),
        bounds,
        np.cumsum([0, *map(len, texts)]),
        table,
    )
    assert found.tolist() == [sums_of(text, table, bits) for text in texts]
