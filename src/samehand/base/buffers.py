"""Arrow columns as the arrays that kernels take, and back. Nothing is copied where the layout allows it."""

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.generic)


def column_buffers(column: pa.LargeBinaryArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The bytes of a binary column, which lie end to end, and the offset where each value begins."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(column) + 1, 8 * column.offset)
    return np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8), bounds


def text_buffers(column: pa.StringArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The same for a column of text. A null is empty."""
    return column_buffers(column.fill_null("").cast(pa.large_binary()))


def as_binary(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pa.LargeBinaryArray:
    """A binary column over bytes that lie end to end."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), offsets.size - 1, buffers)


def end_to_end(texts: Iterable[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts laid end to end, and the offset where each begins."""
    return column_buffers(pa.array(list(texts), pa.large_binary()))


def chosen_lists(
    starts: NDArray[np.int64], values: NDArray[_Number], rows: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[_Number]]:
    """Some of the lists that lie end to end, list i from starts[i] to starts[i + 1], end to end again."""
    sizes = starts[rows + 1] - starts[rows]
    begins = np.append(0, np.cumsum(sizes))
    return begins, values[np.repeat(starts[rows] - begins[:-1], sizes) + np.arange(begins[-1])]


def fixed_rows(column: pa.FixedSizeBinaryArray, kind: type[_Number]) -> NDArray[_Number]:
    """A column of fixed-size binaries, each little-endian numbers of `kind`, as the rows of a matrix."""
    values = np.frombuffer(column.buffers()[1], np.dtype(kind).newbyteorder("<"))
    width = column.type.byte_width // values.dtype.itemsize
    return values.reshape(-1, width)[column.offset : column.offset + len(column)]


def read_only(array: NDArray[_Number]) -> NDArray[_Number]:
    """The same numbers, read-only and contiguous: numba compiles a kernel anew for each kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def distinct(values: NDArray[_Number]) -> NDArray[_Number]:
    """The different values, sorted. `np.unique` hashes numbers, which takes ten times as long where there are many."""
    ordered = np.sort(values, axis=None)
    is_new = np.ones(ordered.size, np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_new]


def is_among(values: NDArray[_Number], ordered: NDArray[_Number]) -> NDArray[np.bool_]:
    """Which values are among others, which are sorted. `np.isin` would sort both each time."""
    if not ordered.size:
        return np.zeros(values.shape, np.bool_)
    found: NDArray[np.bool_] = ordered[np.minimum(np.searchsorted(ordered, values), ordered.size - 1)] == values
    return found


def byte_chunks(offsets: NDArray[np.int64], most: int) -> list[tuple[int, int]]:
    """Ranges of values of at most `most` bytes together, or of one longer value: first, and one after the last."""
    chunks = []
    first = 0
    while first < offsets.size - 1:
        fitting = int(np.searchsorted(offsets, offsets[first] + most, side="right")) - 1
        chunks.append((first, max(first + 1, fitting)))
        first = chunks[-1][1]
    return chunks
