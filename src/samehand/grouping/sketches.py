"""Narrow sketches: what is compared of fingerprints.

A fingerprint has 32 bits in each dimension. Probes need all of them to bring pages together. To check a pair 8 bits, or
4 of twice as many dimensions, are enough, because the number of chance matches is known and subtracted
(`kernels.sketches.row_similarity`). So a narrow sketch, a quarter of the size or less, is kept in memory; the wide
values are only needed one probe at a time. Arrays may be in memory or mapped from files.
"""

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.comparable import shuffle_keys
from samehand.grouping.memory import release, taken_rows
from samehand.kernels import buckets
from samehand.kernels import sketches as kernel
from samehand.kernels.sketches import Lanes, SketchRows

NARROWEST, NARROW, WIDE = 4, 8, 32
_BLOCK_ROWS = 1 << 15
_LOW = {
    NARROWEST: np.uint64(0x7777777777777777),
    NARROW: np.uint64(0x7F7F7F7F7F7F7F7F),
    WIDE: np.uint64(0x7FFFFFFF7FFFFFFF),
}
_CHANCE = {NARROWEST: 1 / 15, NARROW: 1 / 255, WIDE: 0.0}


@dataclasses.dataclass(frozen=True, slots=True)
class Sketches:
    """Sketches in page_id order. Rows that are not comparable are similar only to rows with the same fingerprint."""

    words: NDArray[np.uint64]
    filled: NDArray[np.int16]
    lanes: Lanes
    page_ids: NDArray[np.int64]
    comparable: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def rows(self) -> Any:
        """What the kernels compare."""
        return self.block(slice(None))

    def block(self, block: slice) -> Any:
        """The same of some rows."""
        return SketchRows(self.words[block], self.filled[block], self.lanes)

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Estimated similarities; 1 for a row and itself, and for rows that only equality can have joined."""
        found = buckets.similarities_of_pairs(self.rows, left, right)
        found[~self.comparable[right] | (left == right)] = 1.0
        return found

    def are_same(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the sketches are equal. Where they are not comparable, the hash that says so decides alone."""
        return rows_are_equal(self.words, left, right) | ~self.comparable[right]

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys that depend on the page_ids of rows alone."""
        return shuffle_keys(self.page_ids[rows])

    @property
    def width(self) -> int:
        """Bytes of a sketch, without its page_id and the like."""
        return int(self.words.itemsize * self.words.shape[1])

    def chosen(self, rows: NDArray[np.int32]) -> Self:
        """The sketches of some rows."""
        names = [field.name for field in dataclasses.fields(self) if isinstance(getattr(self, field.name), np.ndarray)]
        taken: dict[str, Any] = dict(zip(names, taken_rows([getattr(self, name) for name in names], rows), strict=True))
        return dataclasses.replace(self, **taken)

    def release(self) -> None:
        """Gives mapped memory back."""
        release(self.words)

    def cross(self, block: slice, queries: Any) -> NDArray[np.float32]:
        """Similarities of queries, which are `rows` of another table, to a block of rows."""
        return kernel.cross_similarities(self.block(block), queries)

    def nearest(
        self, queries: Any, *, least: float, top: int | None = None
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """For each of the queries, which are `rows` of another table: the rows with at least this similarity, most
        similar first, at most `top`. All queries are compared in one pass over the rows.
        """

        def compare(first: int) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
            found = self.cross(slice(first, first + _BLOCK_ROWS), queries)
            return [_best(first + np.arange(len(row)), row, least, top) for row in found]

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            blocks = list(pool.map(compare, range(0, max(1, len(self)), _BLOCK_ROWS)))
        joined = [tuple(map(np.concatenate, zip(*parts, strict=True))) for parts in zip(*blocks, strict=True)]
        return [_best(rows, similarities, least, top) for rows, similarities in joined]


def rows_are_equal(words: NDArray[np.uint64], left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether row left[i] has the same words as row right[i]."""
    same = np.empty(left.size, np.bool_)
    for first in range(0, left.size, _BLOCK_ROWS):
        chosen = slice(first, first + _BLOCK_ROWS)
        same[chosen] = (words[left[chosen]] == words[right[chosen]]).all(axis=1)
    return same


def _best(
    rows: NDArray[np.int64], similarities: NDArray[np.float32], least: float, top: int | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows with at least this similarity, most similar first, equal ones by row."""
    near = np.flatnonzero(similarities >= np.float32(least))
    near = near[np.argsort(-similarities[near], kind="stable")[:top]]
    return rows[near], similarities[near]


def lanes_of(dimensions: int, *, bits: int = NARROW, floor: int = 1) -> Lanes:
    """How words hold sketches of so many dimensions."""
    return Lanes(_LOW[bits], dimensions * bits // 64, dimensions, _CHANCE[bits], floor)


def sketch_words(values: NDArray[np.uint32], bits: int = NARROW) -> NDArray[np.uint64]:
    """Fingerprints as words, a row each."""
    narrow: NDArray[np.uint8] | NDArray[np.uint32]
    if bits == NARROWEST:
        narrow = kernel.narrowest(values)
    else:
        narrow = kernel.narrowed(values) if bits == NARROW else np.ascontiguousarray(values)
    return narrow.view(np.uint64)
