"""Kernels that take any kind of rows: compiled once for all processes, and for contiguous arrays only."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from samehand.grouping.sketches import lanes_of
from samehand.kernels import buckets
from samehand.kernels.noise import EMPTY
from samehand.kernels.segments import distinct_values
from samehand.kernels.sketches import SketchRows
from samehand.kernels.text.wordsets import SetRows

LANES = lanes_of(16)
SKETCHES = SketchRows(np.arange(8, dtype=np.uint64).reshape(4, 2), np.full(4, 16, np.int16), LANES)
SETS = SetRows(np.arange(5), np.array([1, 1, 2, 2], np.uint32))


def misses() -> int:
    """Calls each kernel for each kind of rows; returns how many of them had to be compiled for that."""
    rows, starts = np.arange(4, dtype=np.int32), np.array([0, 4])
    for kind in (SKETCHES, SETS):
        buckets.similarities_of_pairs(kind, rows, rows[::-1].copy())
        buckets.find_medoids(kind, starts, rows, 4)
        limits = np.float32(0.5), np.float32(0.8), 2, 2
        buckets.check_buckets(kind, np.arange(4, dtype=np.uint64), *limits, buckets.nothing_known(4))
    kernels = (buckets.similarities_of_pairs, buckets.find_medoids, buckets.check_buckets)
    return sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels)


def test_another_process_compiles_nothing_again() -> None:
    misses()
    ended = subprocess.run(
        [sys.executable, "-c", "import test_kernels_buckets as tests; print(tests.misses())"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(ended.stdout) == 0


def test_rows_that_are_not_contiguous_are_refused() -> None:
    rows = np.arange(4, dtype=np.int32)
    with pytest.raises(TypingError):
        buckets.similarities_of_pairs(SETS._replace(words=np.arange(8, dtype=np.uint32)[::2]), rows, rows)


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, 2, 1 << 9, 1 << 31, EMPTY - 1, EMPTY]), st.booleans())), st.integers(0, 7)
)
def test_keys_bring_the_rows_of_a_bucket_together(rows: list[tuple[int, bool]], part_bits: int) -> None:
    column = np.array([bucket for bucket, _ in rows], np.uint32)
    is_chosen, room = np.array([chosen for _, chosen in rows], np.bool_), np.empty(len(rows), np.uint64)
    keys, starts = buckets.keys_in_parts(column, is_chosen, part_bits, room)
    found: list[list[int]] = []
    for part in range(1 << part_bits):
        last = -1
        for key in buckets.sort_by_bucket(keys[starts[part] : starts[part + 1]]).tolist():
            if key >> 32 != last:
                found.append([])
                last = key >> 32
            found[-1].append(key & 0xFFFFFFFF)
    wanted: dict[int, list[int]] = {}
    for row, (bucket, chosen) in enumerate(rows):
        if chosen and bucket != EMPTY:
            wanted.setdefault(bucket, []).append(row)
    assert sorted(found) == sorted(wanted.values())


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=8))
def test_distinct_values_of_segments(segments: list[list[int]]) -> None:
    values = np.arange(41, dtype=np.uint64) // 3 * np.uint64(0x9E3779B97F4A7C15)
    places = np.array([place for segment in segments for place in segment], np.int32)
    bounds = np.cumsum([0, *map(len, segments)])
    wanted = [len({place // 3 for place in segment}) for segment in segments]
    assert distinct_values(values, places, bounds).tolist() == wanted
