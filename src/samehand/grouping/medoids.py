"""Medoids: the most typical member of each group, and the similarity of all members to it."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.comparable import Comparable
from samehand.kernels import buckets

MEDOID_SAMPLE = 64
_BLOCK, _BLOCKS = 1 << 17, 4
"""Members are gathered in blocks of at least so many, in about so many blocks."""


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
    medoids, similarities = np.empty(len(starts) - 1, np.int32), np.empty(members.size, np.float32)
    block = max(_BLOCK, members.size // _BLOCKS)
    for first in range(0, members.size, block):
        _judge(things, members, starts, slice(first, min(first + block, members.size)), medoids, similarities)
    return Groups(names[is_first], starts, members, medoids, similarities)


def _judge(
    things: Comparable,
    members: NDArray[np.int32],
    starts: NDArray[np.int64],
    block: slice,
    medoids: NDArray[np.int32],
    similarities: NDArray[np.float32],
) -> None:
    """Enters the medoids of the groups that begin in a block of members, and the similarities of its members.

    The samples of these groups may go on behind the block. The medoid of a group that began before it is known.
    """
    sampled = members[block.start : block.stop + MEDOID_SAMPLE]
    begun, end = np.searchsorted(starts, [block.start, block.stop])
    gathered = things.chosen(np.append(sampled, medoids[max(begun - 1, 0)]) if begun else sampled)
    bounds = np.minimum(starts[begun : end + 1] - block.start, sampled.size)
    found = buckets.find_medoids(gathered.rows, bounds, sampled, MEDOID_SAMPLE)
    medoids[begun:end] = sampled[found]
    places = np.arange(block.stop - block.start)
    groups = np.searchsorted(starts, places + block.start, side="right") - 1
    nearest = np.append(found, sampled.size)[groups - begun]  # the last one, at -1, is that of the group begun before
    is_own = medoids[groups] == members[block]
    nearest[is_own] = places[is_own]
    similarities[block] = gathered.similarities(nearest.astype(np.int32), places.astype(np.int32))


def by_group(things: Comparable, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """The order of `rows` by label, shuffled within each label."""
    things.release()
    keys = (labels.astype(np.uint64) << np.uint64(32)) | (things.shuffle_keys(rows) >> np.uint64(32))
    return np.argsort(keys, kind="stable")
