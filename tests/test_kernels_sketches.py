"""Kernels on sketches equal their readable twins, on narrow and on wide lanes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from samehand.grouping.sketches import NARROW, NARROWEST, WIDE, lanes_of, sketch_words
from samehand.kernels import buckets, sketches
from samehand.kernels.sketches import SketchRows

EMPTY = reference.EMPTY


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Rows of values that meet often, some of them EMPTY or equal in their lowest bits alone."""
    dimensions = draw(st.sampled_from([16, 32, 128, 144, 256]))
    value = st.sampled_from([0, 1, 2, 254, 255, 256, 510, 511, 0xFFFFFFFE, EMPTY])
    rows = draw(st.lists(st.lists(value, min_size=dimensions, max_size=dimensions), min_size=1, max_size=4))
    return np.array(rows, np.uint32)


@given(tables(), st.sampled_from([NARROWEST, NARROW, WIDE]), st.sampled_from([1, 4, 16]))
def test_similarities_equal_reference(values: np.ndarray, bits: int, floor: int) -> None:
    lanes = lanes_of(values.shape[1], bits=bits, floor=floor)
    table = SketchRows(sketch_words(values, bits), sketches.count_filled(values), lanes)
    rows = np.arange(len(values), dtype=np.int32)
    wanted = [[reference.similarity(a, b, floor, bits) for b in values.tolist()] for a in values.tolist()]
    for row, similarities in enumerate(wanted):
        found = buckets.similarities_of_pairs(table, np.full(len(rows), row, np.int32), rows)
        assert found.tolist() == pytest.approx(similarities, abs=1e-6)
        assert sketches.cross_similarities(table, table)[row].tolist() == found.tolist()


@given(tables())
def test_narrow_values_hashes_and_counts(values: np.ndarray) -> None:
    narrow = [[255 if value == EMPTY else value % 255 for value in row] for row in values.tolist()]
    assert sketches.narrowed(values).tolist() == narrow
    assert sketches.count_filled(values).tolist() == [sum(v != EMPTY for v in row) for row in values.tolist()]
    hashes = sketches.hash_rows(values)
    for i, j in np.ndindex(len(values), len(values)):
        assert (hashes[i] == hashes[j]) == (values[i] == values[j]).all()


@given(tables(), st.integers(1, 3))
def test_bucket_keys_part_what_differs(values: np.ndarray, size: int) -> None:
    subset = np.arange(size, dtype=np.int64)
    (keys,) = sketches.bucket_columns(values, subset.reshape(1, -1))
    for row, key in zip(values[:, :size].tolist(), keys.tolist(), strict=True):
        assert (key == EMPTY) == (EMPTY in row)
        if size == 1:
            assert key == row[0]
    for i, j in np.ndindex(len(values), len(values)):
        if (values[i, :size] == values[j, :size]).all():
            assert keys[i] == keys[j]


@given(tables(), st.integers(1, 2))
def test_one_pass_gives_what_passes_of_their_own_give(values: np.ndarray, size: int) -> None:
    subsets = np.arange(4 * size, dtype=np.int64).reshape(4, size)
    for bits, narrowed in ((NARROW, sketches.narrowed), (NARROWEST, sketches.narrowest)):
        narrow, hashes, columns = sketches.reduced(values, bits, subsets)
        assert narrow.tolist() == narrowed(values).tolist()
        assert hashes.tolist() == sketches.hash_rows(values).tolist()
        assert columns.tolist() == sketches.bucket_columns(values, subsets).tolist()


def test_narrow_estimate_is_right_on_the_average() -> None:
    """Chance matches are taken off: the mean over many pairs is the similarity of the wide values."""
    draw = np.random.Generator(np.random.PCG64(7))
    left = draw.integers(0, 1 << 31, (4000, 128)).astype(np.uint32)
    right = np.where(draw.random((4000, 128)) < 0.14, left, draw.integers(0, 1 << 31, (4000, 128))).astype(np.uint32)
    both = np.concatenate([left, right])
    rows = np.arange(4000, dtype=np.int32)
    means = {}
    for bits in (NARROW, WIDE):
        table = SketchRows(sketch_words(both, bits), sketches.count_filled(both), lanes_of(128, bits=bits))
        means[bits] = buckets.similarities_of_pairs(table, rows, rows + 4000)
    assert means[NARROW].mean() == pytest.approx(means[WIDE].mean(), abs=1e-3)
    assert np.abs(means[NARROW] - means[WIDE]).mean() < 0.006
