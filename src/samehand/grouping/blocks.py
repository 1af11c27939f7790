"""Blocks of rows that meet each other, so that a search has only a few rows in memory at a time.

Every probe sends its buckets to blocks (`kernels.blocks`), in a file. Then the rows of some blocks are gathered, and
their buckets are checked, until all blocks had their turn.
"""

import dataclasses
import os
from collections.abc import Iterator
from typing import IO

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import blocks as kernel
from samehand.kernels.buckets import sort_by_bucket

BLOCK_ROWS = 1 << 14
"""There is a block for about so many rows: sketches of so many stay in a processor's cache."""
_PIECE = 1 << 20
"""Entries that are in memory at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class Piece:
    """Buckets of a shelf: block i has entries[starts[p, i]:starts[p, i + 1]] for each p."""

    entries: NDArray[np.uint32]
    starts: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True)
class Shelf:
    """Blocks whose rows are gathered at once. Those of block i are rows[starts[i]:starts[i + 1]], in order."""

    blocks: "Blocks"
    first: int
    rows: NDArray[np.int32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def pieces(self) -> Iterator[Piece]:
        """All buckets of these blocks, some at a time."""
        return self.blocks.pieces(self.first, self.first + len(self))

    def ranked(self, block: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """What `kernel.keys_of_block` needs of one of these blocks."""
        return kernel.ranked(self.rows[self.starts[block] : self.starts[block + 1]], self.blocks.rows)


class Blocks:
    """Where rows are at home, and the buckets of all blocks in a file."""

    def __init__(self, rows: int, file: IO[bytes]) -> None:
        self.rows = rows
        self._count = min(kernel.MOST, 1 + rows // BLOCK_ROWS)
        self._homes = np.full(rows, kernel.HOMELESS, np.uint8)
        self._guests = np.zeros(rows, np.uint64)
        self._file = file
        self._starts = [np.zeros((0, self._count + 1), np.int64)]
        self._written = 0

    def route(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Sends buckets to blocks: to be called for parts of one probe after those of another."""
        return kernel.route(sort_by_bucket(keys), self._homes, self._guests, self._count)

    def add(self, entries: NDArray[np.uint32], starts: NDArray[np.int64]) -> None:
        """Puts what `route` found into the file."""
        self._file.write(entries.data)
        self._starts.append(self._written + starts[np.newaxis])
        self._written += entries.size

    def shelves(self, limit: int) -> list[range]:
        """All blocks, at most so many rows at a time if that is enough for one block: the largest shelf first."""
        self._file.flush()
        sizes = kernel.block_sizes(self._homes, self._guests, self._count)
        first, found = 0, []
        while first < self._count:
            fitting = int(np.searchsorted(np.cumsum(sizes[first:]), limit, side="right"))
            found.append(range(first, min(first + max(fitting, 1), self._count)))
            first = found[-1].stop
        return sorted(found, key=lambda blocks: -int(sizes[blocks.start : blocks.stop].sum()))

    def shelf(self, blocks: range) -> Shelf:
        """Some of the blocks, after all buckets were sent."""
        return Shelf(self, blocks.start, *kernel.rows_of_blocks(self._homes, self._guests, blocks.start, blocks.stop))

    def pieces(self, first: int, stop: int) -> Iterator[Piece]:
        """The buckets of the blocks from `first` to `stop`, some at a time."""
        starts = np.concatenate(self._starts)[:, first : stop + 1]
        sizes = starts[:, -1] - starts[:, 0]
        numbers = np.cumsum(sizes) // _PIECE
        for parts in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(numbers)) + 1):
            yield self._read(starts[parts], sizes[parts])

    def _read(self, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Piece:
        entries = np.empty(int(sizes.sum()), np.uint32)
        begins = np.cumsum(sizes) - sizes
        for start, begin, size in zip(starts[:, 0].tolist(), begins.tolist(), sizes.tolist(), strict=True):
            if size:
                os.preadv(self._file.fileno(), [entries[begin : begin + size].data], 4 * start)
        return Piece(entries, starts - starts[:, :1] + begins[:, np.newaxis])
