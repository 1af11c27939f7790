"""Memory handed back to the system, because grouping needs room for sorting and for sketches by turns."""

import contextlib
import ctypes
import mmap
import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from samehand.kernels.sketches import copy_rows

_STRETCH = 1 << 16
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""glibc: mallopt's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""


def mapped_zeros(folder: Path | None, shape: tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    """An array in a file without a name, which goes with the array: `release` gives its memory back."""
    if not np.prod(shape, dtype=np.int64):
        return np.zeros(shape, kind)
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, kind, "w+", shape=shape)


def release(array: NDArray[Any], rows: slice | None = None) -> None:
    """Gives the memory of an array that is mapped from a file back, or that of some rows, until it is read again."""
    mapped = cast(mmap.mmap | None, getattr(array, "_mmap", None))
    if mapped is None:
        return
    if rows is None:
        mapped.madvise(mmap.MADV_DONTNEED)
        return
    start = array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    first, stop = ((start + row * array.strides[0]) // mmap.PAGESIZE * mmap.PAGESIZE for row in (rows.start, rows.stop))
    if stop > first:
        mapped.madvise(mmap.MADV_DONTNEED, first, stop - first)


def taken_rows(arrays: Sequence[NDArray[Any]], rows: NDArray[np.int32]) -> list[NDArray[Any]]:
    """Rows of arrays with the same rows, in memory. Threads share files, and each has few of their rows at a time."""
    found = [np.empty((rows.size, *array.shape[1:]), array.dtype) for array in arrays]
    count = len(arrays[0])

    def take(stretch: slice, places: NDArray[np.int64]) -> None:
        chosen = rows[places]
        for array, taken in zip(arrays, found, strict=True):
            if array.dtype == np.uint64 and array.ndim == 2:
                copy_rows(array, chosen, places, taken)
            else:
                taken[places] = array[chosen]
            release(array, stretch)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(take, stretches(count), in_stretches(rows, count)))
    return found


def stretches(count: int) -> list[slice]:
    """All of `count` rows, some neighbouring ones at a time."""
    return [slice(first, min(first + _STRETCH, count)) for first in range(0, count, _STRETCH)]


def in_stretches(rows: NDArray[np.int32], count: int) -> list[NDArray[np.int64]]:
    """The places of some of `count` rows, sorted by row, in parts that have neighbouring rows."""
    order = np.argsort(rows, kind="stable")
    return np.split(order, np.searchsorted(rows[order], np.arange(_STRETCH, count, _STRETCH)))


def trim_heap() -> None:
    """Gives freed memory back to the system now, and from now on large blocks as soon as they are freed.

    The C library of Linux keeps what threads freed for those threads, which is much more than grouping needs. Small
    blocks are kept: kernels take and free them by the thousand, and fresh memory is dear.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)
        ctypes.CDLL(None).mallopt(_TRIM_THRESHOLD, 1 << 23)
        ctypes.CDLL(None).malloc_trim(0)
