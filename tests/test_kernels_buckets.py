"""Kernels that take any kind of rows: compiled once for all processes, and for contiguous arrays only."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core.errors import TypingError

from samehand.grouping.sketches import lanes_of
from samehand.kernels import buckets
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
        buckets.find_medoids(kind, rows, starts, 4)
        buckets.check_buckets(kind, np.arange(4, dtype=np.uint64), np.float32(0.5), np.float32(0.8), 2, 2)
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
