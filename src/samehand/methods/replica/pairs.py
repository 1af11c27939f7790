"""Documents that share neighbouring words: what signatures of whole texts lose to padding and replaced words.

The sketch of a document (`kernels.text.pairs`) stands for its pairs of neighbouring words. Documents that agree on
PROBE_SLOTS slots of a probe are candidates; the share of equal slots estimates the Jaccard similarity and decides.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.comparable import shuffle_keys
from samehand.grouping.forest import CheckRule
from samehand.grouping.memory import release, stretches, taken_rows
from samehand.grouping.probes import Buckets, plan_probes
from samehand.kernels import buckets
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.text import pairs as kernel

PROBES, PROBE_SLOTS = 256, 3
"""Of two documents that share a fifth of their pairs, 256 probes of 3 slots bring 87 % together; of two that share two
fifths, all but one in ten million. Larger buckets of two slots cost more than more probes."""

_AT_ONCE = 4
"""So many probes are made in one pass over the sketches: 4 bytes each for a document."""


@dataclasses.dataclass(frozen=True, slots=True)
class PairSketches:
    """Sketches in page_id order, and the number of different pairs of each document, 0 for no sketch.

    It is negative for a page without enough prose, see `kernel.PairRows`.
    """

    sketches: NDArray[np.uint8]
    sizes: NDArray[np.int32]
    shared: float

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def rows(self) -> kernel.PairRows:
        """What the kernels compare."""
        return kernel.PairRows(self.sketches.reshape(-1).view(np.uint64), self.sizes, self.shared)

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Which documents have a sketch."""
        return np.not_equal(self.sizes, 0)

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Estimated Jaccard similarities, raised to `shared` by containment."""
        return buckets.similarities_of_pairs(self.rows, left, right)

    def estimates(
        self, left: NDArray[np.int32], right: NDArray[np.int32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Estimated Jaccard similarity of row left[i] and row right[i], and how much of the smaller one is in both."""
        return kernel.jaccards_and_containments(self.rows, left, right)

    def are_same(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the sketches are equal."""
        same = (self.sketches[left] == self.sketches[right]).all(axis=1)
        return np.asarray(same & (self.sizes[left] == self.sizes[right]))

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys that depend on the numbers of rows alone."""
        return shuffle_keys(rows.astype(np.int64))

    @property
    def width(self) -> int:
        """Bytes of a sketch."""
        return kernel.SLOTS

    def chosen(self, rows: NDArray[np.int32]) -> "PairSketches":
        """The sketches of some documents."""
        sketches, sizes = taken_rows([self.sketches, self.sizes], rows)
        return PairSketches(sketches, sizes, self.shared)

    def release(self) -> None:
        """Gives memory back, if the sketches are mapped from a file."""
        release(self.sketches)


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeColumns:
    """The bucket of each document in each probe, made a few probes at a time."""

    sketches: NDArray[np.uint8]
    sizes: NDArray[np.int32]

    def __len__(self) -> int:
        return PROBES

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        subsets = probe_slots()
        for first in range(0, PROBES, _AT_ONCE):
            columns = np.empty((_AT_ONCE, len(self.sizes)), np.uint32)
            for rows in stretches(len(self.sizes)):
                probes = subsets[first : first + _AT_ONCE]
                columns[:, rows] = kernel.bucket_columns(self.sketches[rows], self.sizes[rows], probes)
                release(self.sketches)
            yield from columns
            del columns  # before others are made


def probe_slots() -> NDArray[np.int64]:
    """The slots of each probe."""
    return plan_probes(kernel.SLOTS, 0.2, miss=0.5, probes=PROBES, probe_dimensions=PROBE_SLOTS).subsets


def pair_buckets(sketches: NDArray[np.uint8], sizes: NDArray[np.int32]) -> Buckets:
    """Documents meet where a probe agrees; those with equal sketches are the same."""
    return Buckets(ProbeColumns(sketches, sizes), sketch_identity(sketches, sizes))


def sketch_identity(sketches: NDArray[np.uint8], sizes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """A hash of each sketch; 0 for none."""
    mixed = np.zeros(len(sizes), np.uint64)
    for rows in stretches(len(sizes)):
        state = mixed[rows]
        for part in np.ascontiguousarray(sketches[rows]).view(np.uint64).T:
            state = (state ^ part) * GOLDEN
            state ^= state >> np.uint64(29)
        mixed[rows] = np.where(sizes[rows] != 0, np.maximum(state, np.uint64(1)), np.uint64(0))
        release(sketches)
    return mixed


def pair_rule(settings: Settings) -> CheckRule:
    """How pairs of sketches within a bucket are checked."""
    return CheckRule(
        edge_threshold=settings.shared_text,
        leader_threshold=settings.replica_jaccard,
        exhaustive_bucket_size=settings.exhaustive_bucket_size,
        max_leaders=settings.max_leaders,
    )
