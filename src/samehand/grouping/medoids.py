"""Medoids: the most typical member of each group, and the similarity of all members to it."""

import dataclasses
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.comparable import Comparable, at_once
from samehand.grouping.edges import in_groups
from samehand.kernels import buckets
from samehand.kernels.sorting import stable_order

MEDOID_SAMPLE = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows. Group g is members[starts[g]:starts[g+1]], named labels[g], with medoid medoids[g]."""

    labels: NDArray[np.int32]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    medoids: NDArray[np.int32]
    similarities: NDArray[np.float32]

    @classmethod
    def none(cls) -> "Groups":
        """No groups."""
        rows, values = np.zeros(0, np.int32), np.zeros(0, np.float32)
        return cls(rows, np.zeros(1, np.int64), rows, rows, values)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over each group's members of `values`, which stand in member order."""
        return np.add.reduceat(values, self.starts[:-1]) if self.labels.size else np.zeros(0)

    def sizes(self) -> NDArray[np.int64]:
        """Members in each group."""
        return np.diff(self.starts)

    def chosen(self, groups: NDArray[np.int64]) -> "Groups":
        """Some of the groups."""
        sizes = self.sizes()[groups]
        starts = np.append(0, np.cumsum(sizes))
        places = np.repeat(self.starts[groups] - starts[:-1], sizes) + np.arange(starts[-1])
        return Groups(
            self.labels[groups], starts, self.members[places], self.medoids[groups], self.similarities[places]
        )

    def joined(self, other: "Groups") -> "Groups":
        """These groups and others, by label."""
        if not self.labels.size or not other.labels.size:
            return self if self.labels.size else other
        names = ("labels", "members", "medoids", "similarities")
        labels, members, medoids, similarities = (
            np.concatenate([getattr(self, name), getattr(other, name)]) for name in names
        )
        starts = np.concatenate([self.starts, self.starts[-1] + other.starts[1:]])
        return Groups(labels, starts, members, medoids, similarities).chosen(np.argsort(labels, kind="stable"))


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
    block = 2 * at_once(things.width, members.size)  # nothing else is in memory here
    for first in range(0, members.size, block):
        _judge(things, members, starts, slice(first, min(first + block, members.size)), medoids, similarities)
    return Groups(names[is_first], starts, members, medoids, similarities)


def regrouped(things: Comparable, labels: NDArray[np.int32], before: Groups) -> Groups:
    """The groups of two rows and more. Those that are as they were `before` are not judged again."""
    rows = in_groups(labels)
    sizes = before.sizes()
    stays = np.bincount(labels, minlength=1)[before.labels] == sizes
    same = labels[before.members] == np.repeat(before.labels, sizes)
    stays &= np.add.reduceat(same, before.starts[:-1], dtype=np.int64) == sizes if sizes.size else True
    known = before.chosen(np.flatnonzero(stays))
    is_known = np.zeros(labels.size, np.bool_)
    is_known[known.members] = True
    rows = rows[~is_known[rows]]
    return known.joined(find_medoids(things, rows, labels[rows]))


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
    rows = gathered.rows
    found = _in_threads(
        lambda part: buckets.find_medoids(rows, bounds[part.start : part.stop + 1], sampled, MEDOID_SAMPLE),
        len(bounds) - 1,
    )
    medoids[begun:end] = sampled[found]
    places = np.arange(block.stop - block.start)
    groups = np.searchsorted(starts, places + block.start, side="right") - 1
    nearest = np.append(found, sampled.size)[groups - begun]  # the last one, at -1, is that of the group begun before
    is_own = medoids[groups] == members[block]
    nearest[is_own] = places[is_own]
    one, other = nearest.astype(np.int32), places.astype(np.int32)
    similarities[block] = _in_threads(lambda part: gathered.similarities(one[part], other[part]), places.size)


def _in_threads(work: Callable[[slice], NDArray[Any]], count: int) -> NDArray[Any]:
    """What work finds for each of `count` numbers: each thread has a part of them."""
    threads = os.cpu_count() or 1
    parts = [slice(count * part // threads, count * (part + 1) // threads) for part in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate([*pool.map(work, parts)])


def by_group(things: Comparable, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The order of `rows` by label, shuffled within each label."""
    things.release()
    keys = (labels.astype(np.uint64) << np.uint64(32)) | (things.shuffle_keys(rows) >> np.uint64(32))
    return stable_order(keys)
