"""Fingerprints made ready for grouping: narrow ones to compare, and the buckets of each probe.

A fingerprint has 32 bits in each dimension. That many are needed to bring pages together; to check a pair 8 of them are
enough, because what they match by chance is known and taken off (`kernels.sketches.row_similarity`). So what is kept
in memory is a quarter, and the wide values are only needed one probe at a time. Both may be arrays in memory or
mapped from files; grouping does not notice.
"""

import contextlib
import ctypes
import dataclasses
import math
import mmap
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import sketches as kernel
from samehand.kernels.sketches import Lanes

NARROW, WIDE = 8, 32
_BLOCK_ROWS = 1 << 15
_LOW = {NARROW: np.uint64(0x7F7F7F7F7F7F7F7F), WIDE: np.uint64(0x7FFFFFFF7FFFFFFF)}
_MMAP_THRESHOLD = -3
"""glibc: mallopt's M_MMAP_THRESHOLD."""
_CHANCE = {NARROW: 1 / 255, WIDE: 0.0}


@dataclasses.dataclass(frozen=True, slots=True)
class Sketches:
    """What is compared, rows in page_id order. Rows that are not comparable are alike only where they are equal."""

    words: NDArray[np.uint64]
    filled: NDArray[np.int16]
    lanes: Lanes
    page_ids: NDArray[np.int64]
    comparable: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Estimated similarities. Rows joined by equality alone are as similar as can be, whatever their few values."""
        found = kernel.similarities_of_pairs(self.words, self.filled, left, right, self.lanes)
        found[~self.comparable[right] | (left == right)] = 1.0
        return found

    def nearest(
        self, queries: NDArray[np.uint64], filled: NDArray[np.int16], *, least: float, top: int | None = None
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """For each query, a row of words, the rows that are at least so similar, most similar first, `top` at most.

        All queries are compared in one pass over the rows.
        """

        def compare(first: int) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
            block = slice(first, first + _BLOCK_ROWS)
            found = kernel.cross_similarities(self.words[block], self.filled[block], queries, filled, self.lanes)
            return [_best(first + np.arange(len(row)), row, least, top) for row in found]

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            blocks = list(pool.map(compare, range(0, len(self), _BLOCK_ROWS)))
        joined = [tuple(map(np.concatenate, zip(*parts, strict=True))) for parts in zip(*blocks, strict=True)]
        return [_best(rows, similarities, least, top) for rows, similarities in joined]

    def centres(self, members: NDArray[np.int32], starts: NDArray[np.int64], sample: int) -> NDArray[np.int32]:
        """Centres by the estimate."""
        return kernel.find_centres(self.words, self.filled, members, starts, sample, self.lanes)

    def draw(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Numbers that put rows into an order that depends on their page_ids alone, and looks like none."""
        return shuffled(self.page_ids[rows])

    def let_go(self) -> None:
        """Hands mapped memory back until it is needed again: sorting needs room, and no sketches."""
        let_go(self.words)


def _best(
    rows: NDArray[np.int64], similarities: NDArray[np.float32], least: float, top: int | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The rows at least so similar, most similar first, equal ones by row."""
    near = np.flatnonzero(similarities >= np.float32(least))
    near = near[np.argsort(-similarities[near], kind="stable")[:top]]
    return rows[near], similarities[near]


def let_go(array: NDArray[Any]) -> None:
    """Hands the memory of an array that is mapped from a file back until it is needed again."""
    mapped = getattr(array, "_mmap", None)
    if mapped is not None:
        cast(mmap.mmap, mapped).madvise(mmap.MADV_DONTNEED)


def return_memory() -> None:
    """Hands freed memory back to the system, now and, for large blocks, whenever they are freed from now on.

    The C library of Linux keeps what threads freed for them; grouping frees and asks for much more than it needs.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)
        ctypes.CDLL(None).malloc_trim(0)


class Columns(Protocol):
    """The bucket of each row in one probe after the other."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[NDArray[np.uint32]]: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
    """What brings rows together: the bucket of each row in each probe, and the rows that are equal altogether.

    Rows of equal `identity` are the same (0: the same as nothing). Columns are looked at one after the other.
    """

    columns: Columns
    identity: NDArray[np.uint64]
    folder: Path | None = None

    def spool(self) -> IO[bytes]:
        """A file for what is found, which goes when it is closed; beside the columns, because /tmp may be memory."""
        return tempfile.TemporaryFile(dir=self.folder)


def shuffled(numbers: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sort keys that put numbers into an order unrelated to their values."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)


def lanes_of(dimensions: int, *, bits: int = NARROW, floor: int = 1) -> Lanes:
    """How words hold sketches of so many dimensions."""
    return Lanes(_LOW[bits], dimensions, _CHANCE[bits], floor)


def sketch_words(values: NDArray[np.uint32], bits: int = NARROW) -> NDArray[np.uint64]:
    """Fingerprints as words, a row each."""
    narrow = kernel.narrowed(values) if bits == NARROW else np.ascontiguousarray(values)
    return narrow.view(np.uint64)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """Which dimensions each probe looks at (p x k), and the probability to miss a pair at a similarity."""

    dimensions: int
    subsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.subsets)

    def columns(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The bucket of each fingerprint in each probe, a row for each probe."""
        return kernel.bucket_columns(values, self.subsets)

    def miss(self, similarity: float) -> float:
        """Probability that no probe brings together a pair of full sketches of this similarity."""
        return miss_probability(self.dimensions, math.ceil(similarity * self.dimensions), *self.subsets.shape)


def miss_probability(dimensions: int, matches: int, probes: int, probe_dimensions: int = 1) -> float:
    """Probability that `probes` probes all miss a pair with `matches` of `dimensions` values in common.

    With single dimensions, drawn without repetition, C(m - t, p) / C(m, p) exactly (section 3.4.2, whose expansion
    is off by one); for larger subsets, drawn independently, (1 - C(t, k) / C(m, k)) ** p.
    """
    if probe_dimensions == 1:
        return math.comb(dimensions - matches, probes) / math.comb(dimensions, probes)
    return (1 - math.comb(matches, probe_dimensions) / math.comb(dimensions, probe_dimensions)) ** probes


def plan_probes(
    dimensions: int, similarity: float, *, miss: float, probes: int = 0, probe_dimensions: int = 1
) -> ProbePlan:
    """The fewest probes that miss a pair of this similarity with probability `miss` at most, or `probes` of them."""
    matches = max(probe_dimensions, math.ceil(similarity * dimensions))
    most = dimensions if probe_dimensions == 1 else dimensions * probe_dimensions
    wanted = probes or next(
        (p for p in range(1, most) if miss_probability(dimensions, matches, p, probe_dimensions) <= miss), most
    )
    draw = np.random.Generator(np.random.PCG64(dimensions * 1000 + probe_dimensions))
    if probe_dimensions == 1:
        subsets = draw.permutation(dimensions)[:wanted, np.newaxis]
    else:
        subsets = np.stack([draw.choice(dimensions, probe_dimensions, replace=False) for _ in range(wanted)])
    return ProbePlan(dimensions=dimensions, subsets=np.sort(subsets, axis=1).astype(np.int64))
