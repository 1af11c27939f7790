"""Medoids: the most typical member of each group, and the similarity of all members to it."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.comparable import Comparable

MEDOID_SAMPLE = 64
_BLOCK = 1 << 18


@dataclasses.dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows. Group g is members[starts[g]:starts[g+1]], named labels[g], with medoid medoids[g]."""

    labels: NDArray[np.int32]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    medoids: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over each group's members of `values`, which stand in member order."""
        return np.add.reduceat(values, self.starts[:-1]) if self.labels.size else np.zeros(0)

    def sizes(self) -> NDArray[np.int64]:
        """Members in each group."""
        return np.diff(self.starts)


def find_medoids(things: Comparable, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> Groups:
    """Groups `rows` by their `labels`; finds each group's medoid and each member's similarity to it.

    The medoid is judged by a sample of MEDOID_SAMPLE members that depends on the group alone.
    """
    order = by_group(things, rows, labels)
    members, names = rows[order], labels[order]
    del order
    is_first = np.ones(names.size, np.bool_)
    is_first[1:] = names[1:] != names[:-1]
    starts = np.append(np.flatnonzero(is_first), names.size)
    names = names[is_first]
    medoids = things.medoids(members, starts, MEDOID_SAMPLE)
    similarities = np.empty(members.size, np.float32)
    for first in range(0, members.size, _BLOCK):
        chosen = slice(first, min(first + _BLOCK, members.size))
        groups = np.searchsorted(starts, np.arange(chosen.start, chosen.stop), side="right") - 1
        similarities[chosen] = things.similarities(medoids[groups], members[chosen])
    return Groups(names, starts, members, medoids, similarities)


def by_group(things: Comparable, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """The order of `rows` by label, shuffled within each label."""
    things.release()
    keys = (labels.astype(np.uint64) << np.uint64(32)) | (things.shuffle_keys(rows) >> np.uint64(32))
    return np.argsort(keys, kind="stable")
