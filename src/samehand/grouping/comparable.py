"""What grouping needs to know of the rows it groups."""

from collections.abc import Iterator
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

GATHERED_LEAST, GATHERED_BYTES = 1 << 23, 32
"""Bytes of rows that are gathered at once: so many, or so many for each of all rows."""


class Comparable(Protocol):
    """Rows with a similarity: all that cuts and medoids need."""

    @property
    def rows(self) -> Any:
        """The named tuple of arrays that `kernels.buckets.similarity` takes."""

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Similarity of row left[i] to row right[i]."""

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys that put rows into an order unrelated to anything."""

    def chosen(self, rows: NDArray[np.int32]) -> Self:
        """Some of the rows in memory, as rows of their own."""

    @property
    def width(self) -> int:
        """Bytes of a row, about."""

    def release(self) -> None:
        """Gives memory back that sorting can use, until the rows are needed again."""


class Searchable(Comparable, Protocol):
    """Rows whose similar pairs can be searched for."""

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Which rows take part in the search. Others are joined only to rows that are the same."""

    def __len__(self) -> int: ...

    def are_same(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether row left[i] is the same as row right[i], given that a hash says so."""


_Things = TypeVar("_Things", bound=Comparable)


def at_once(width: int, rows: int) -> int:
    """How many of `rows` of so many bytes are gathered at once."""
    return max(GATHERED_LEAST, GATHERED_BYTES * rows) // max(width, 1) + 1


def gathered_pairs(
    things: _Things, left: NDArray[np.int32], right: NDArray[np.int32]
) -> Iterator[tuple[slice, _Things, NDArray[np.int32], NDArray[np.int32]]]:
    """Pairs of rows, some at a time: which ones, and the rows of both ends gathered with the place of each end."""
    block = at_once(things.width, len(left))
    for first in range(0, len(left), block):
        chosen = slice(first, min(first + block, len(left)))
        rows, places = np.unique(np.concatenate([left[chosen], right[chosen]]), return_inverse=True)
        one, other = np.split(places.astype(np.int32), 2)
        yield chosen, things.chosen(rows), one, other


def shuffle_keys(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sort keys that put numbers into an order unrelated to their values."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
