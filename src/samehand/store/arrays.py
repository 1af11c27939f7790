"""Arrays in files that are mapped into memory, not read. They are filled in any order, a stretch at a time."""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from samehand.base.errors import RunError
from samehand.base.files import publish, temporary_name, writing

Shapes = Mapping[str, tuple[tuple[int, ...], DTypeLike]]
"""The shape and type of each array, by name."""


class ArrayFiles:
    """Writes arrays, of which no more than a stretch is in memory. At the end they take the place of older ones."""

    def __init__(self, place: Path, shapes: Shapes) -> None:
        self._place = place
        self._shapes = shapes
        self._open: dict[str, tuple[int, int, Path]] = {}

    def __enter__(self) -> Self:
        with writing(self._place):
            self._place.mkdir(parents=True, exist_ok=True)
            for name, (shape, kind) in self._shapes.items():
                self._create(name, shape, np.dtype(kind))
        return self

    def _create(self, name: str, shape: tuple[int, ...], kind: "np.dtype[Any]") -> None:
        head = _head(shape, kind)
        temporary = temporary_name(self._place / f"{name}.npy")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._open[name] = handle, len(head), temporary
        os.pwrite(handle, head, 0)
        os.truncate(handle, len(head) + _size(shape, kind))

    def put(self, name: str, first: int, rows: NDArray[Any]) -> None:
        """Writes rows from row `first` on."""
        handle, start, _ = self._open[name]
        at = start + first * rows.dtype.itemsize * (rows.shape[1] if rows.ndim > 1 else 1)
        data = np.ascontiguousarray(rows).view(np.uint8).reshape(-1).data
        with writing(self._place):
            while data:
                written = os.pwrite(handle, data, at)
                data, at = data[written:], at + written

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for name, (handle, _start, temporary) in self._open.items():
            os.close(handle)
            with writing(self._place):
                if kind is None:
                    publish(temporary, self._place / f"{name}.npy")
                else:
                    temporary.unlink(missing_ok=True)


def map_array(path: Path, shape: tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    """The array that `ArrayFiles` wrote, with this shape and type. RunError for any other file: kernels check nothing.

    It is mapped copy-on-write, because kernels are compiled for arrays that may be written to.
    """
    head, wanted = _head(shape, np.dtype(kind)), np.dtype(kind).newbyteorder("<")
    if not path.is_file():
        raise RunError(f"{path} is not there.")
    try:
        with path.open("rb") as file:
            fits = file.read(len(head)) == head and os.fstat(file.fileno()).st_size == len(head) + _size(shape, wanted)
            if fits and not _size(shape, wanted):
                return np.empty(shape, wanted)
            if fits:
                return np.memmap(file, wanted, "c", len(head), shape)
    except OSError as error:
        raise RunError(f"{path} cannot be read ({error.strerror}).") from error
    raise RunError(f"{path} does not hold what belongs there.")


def _head(shape: tuple[int, ...], kind: "np.dtype[Any]") -> bytes:
    """The first bytes of a .npy file."""
    head = io.BytesIO()
    described = {"descr": kind.newbyteorder("<").str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, described)
    return head.getvalue()


def _size(shape: tuple[int, ...], kind: "np.dtype[Any]") -> int:
    return int(np.prod(shape, dtype=np.int64)) * kind.itemsize
