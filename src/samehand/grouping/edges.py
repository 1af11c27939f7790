"""Edges between rows, their maximum spanning forest, and its connected components at a threshold."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import graph


@dataclasses.dataclass(frozen=True, slots=True)
class Edges:
    """Pairs of rows, (left << 32) | right with left < right, and their similarities."""

    packed: NDArray[np.uint64]
    similarities: NDArray[np.float32]

    @classmethod
    def of(cls, left: NDArray[np.int32], right: NDArray[np.int32], similarities: NDArray[np.float32]) -> "Edges":
        """From both ends."""
        return cls((left.astype(np.uint64) << np.uint64(32)) | right.astype(np.uint64), similarities)

    @classmethod
    def none(cls) -> "Edges":
        """No edges."""
        return cls(np.zeros(0, np.uint64), np.zeros(0, np.float32))

    @property
    def pairs(self) -> NDArray[np.int32]:
        """Left and right as columns. Nothing is copied: on little-endian machines the low half stands first."""
        return self.packed.astype("<u8", copy=False).view("<i4").reshape(-1, 2)[:, ::-1]

    def __len__(self) -> int:
        return len(self.packed)

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> "Edges":
        return Edges(self.packed[chosen], self.similarities[chosen])

    def above(self, threshold: float) -> "Edges":
        """Those that reach `threshold`."""
        return self[self.similarities >= np.float32(threshold)]


def joined_edges(parts: list[Edges]) -> Edges:
    """All edges in `parts`."""
    return Edges(np.concatenate([part.packed for part in parts]), np.concatenate([part.similarities for part in parts]))


def spanning_forest(parts: list[Edges], rows: int) -> Edges:
    """Maximum spanning forest of the edges in `parts`, best edge first.

    The forest of a forest and more edges is the forest of all edges: parts can be folded in as they are found.
    """
    return merge_forest(Edges.none(), joined_edges(parts), rows)


def merge_forest(forest: Edges, found: Edges, rows: int) -> Edges:
    """The forest of a forest, best edge first, and of edges in any order."""
    merged = graph.merge_forest(forest.packed, forest.similarities, found.packed, found.similarities, rows)
    return Edges(merged[0].copy(), merged[1].copy())


def cut(forest: Edges, rows: int, threshold: float) -> NDArray[np.int32]:
    """Each row's component at `threshold`, named by the component's smallest row. A row alone is its own component."""
    return graph.components(forest.above(threshold).packed, rows)


def in_groups(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows that are not alone in their groups."""
    return np.flatnonzero((np.bincount(labels) > 1)[labels]).astype(np.int32)
