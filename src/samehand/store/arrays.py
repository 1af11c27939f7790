"""Arrays in files that are mapped into memory, not read. They are filled in any order, a stretch at a time."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from samehand.base.errors import RunError
from samehand.base.files import writing


class ArrayFiles:
    """Writes arrays: `shapes` names each with its shape and type. No more than a stretch is in memory."""

    def __init__(self, place: Path, shapes: Mapping[str, tuple[tuple[int, ...], DTypeLike]]) -> None:
        self._place = place
        self._shapes = shapes
        self._open: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> Self:
        with writing(self._place):
            self._place.mkdir(parents=True, exist_ok=True)
            for name, (shape, kind) in self._shapes.items():
                self._create(name, shape, np.dtype(kind))
        return self

    def _create(self, name: str, shape: tuple[int, ...], kind: "np.dtype[Any]") -> None:
        path = self._place / f"{name}.npy"
        head = {"descr": kind.newbyteorder("<").str, "fortran_order": False, "shape": shape}
        with path.open("wb") as handle:
            np.lib.format.write_array_header_1_0(handle, head)
            start = handle.tell()
            handle.truncate(start + int(np.prod(shape)) * kind.itemsize)
        self._open[name] = os.open(path, os.O_WRONLY), start

    def put(self, name: str, first: int, rows: NDArray[Any]) -> None:
        """Writes rows from row `first` on."""
        handle, start = self._open[name]
        at = start + first * rows.dtype.itemsize * (rows.shape[1] if rows.ndim > 1 else 1)
        data = memoryview(np.ascontiguousarray(rows).tobytes())
        with writing(self._place):
            while data:
                written = os.pwrite(handle, data, at)
                data, at = data[written:], at + written

    def __exit__(self, *_: object) -> None:
        for handle, _start in self._open.values():
            os.close(handle)


def map_array(path: Path, shape: tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    """An array in a file, which must have this shape and type. RunError otherwise: kernels check nothing.

    It is mapped copy-on-write, because kernels are compiled for arrays that may be written to.
    """
    try:
        mapped: NDArray[Any] = np.load(path, mmap_mode="c", allow_pickle=False)
        fits = mapped.shape == shape and mapped.dtype == np.dtype(kind) and mapped.flags.c_contiguous
    except (OSError, ValueError, EOFError, SyntaxError, TypeError) as error:
        raise RunError(f"{path} cannot be read ({type(error).__name__}). Remove it: it is made anew.") from error
    if not fits:
        raise RunError(f"{path} does not hold what belongs there. Remove it: it is made anew.")
    return mapped
