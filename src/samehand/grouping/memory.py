"""Memory handed back to the system, because grouping needs room for sorting and for sketches by turns."""

import contextlib
import ctypes
import mmap
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

_MMAP_THRESHOLD = -3
"""glibc: mallopt's M_MMAP_THRESHOLD."""


def mapped_zeros(folder: Path | None, shape: tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    """An array in a file without a name, which goes with the array: `release` gives its memory back."""
    if not np.prod(shape, dtype=np.int64):
        return np.zeros(shape, kind)
    with tempfile.TemporaryFile(dir=folder) as file:
        return np.memmap(file, kind, "w+", shape=shape)


def release(array: NDArray[Any]) -> None:
    """Gives the memory of an array that is mapped from a file back, until the array is read again."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None:
        cast(mmap.mmap, mapped).madvise(mmap.MADV_DONTNEED)


def trim_heap() -> None:
    """Gives freed memory back to the system now, and from now on large blocks as soon as they are freed.

    The C library of Linux keeps what threads freed for those threads, which is much more than grouping needs.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)
        ctypes.CDLL(None).malloc_trim(0)
