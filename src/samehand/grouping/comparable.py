"""What grouping needs to know of the rows it groups."""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray


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


def shuffle_keys(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sort keys that put numbers into an order unrelated to their values."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
