"""Groups from a forest, corrected: weak links without support and bridges are dropped, and chains are split."""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.grouping.comparable import Comparable
from samehand.grouping.edges import Edges, in_groups
from samehand.grouping.medoids import Groups, by_group, find_medoids
from samehand.kernels import graph

SUPPORT_SAMPLE = 8
LINK_SHARE, BRIDGE_SHARE = np.float32(0.2), np.float32(0.1)
LINK_PAIRS, BRIDGE_PAIRS = 0.5, 0.25
"""The share of pairs between two groups that must reach the share of a link."""
BRIDGE_SIZE = 3
"""A group whose sample has more than so many times the rows of the sample of a group that it links to is no bridge."""

_BLOCK = 1 << 18


def supported(
    things: Comparable, forest: Edges, labels: NDArray[np.int32], *, weak_below: float, min_support: float
) -> Edges:
    """The forest without its links below `weak_below` that lack support.

    A low similarity may be a sampling error. The more rows there are, the more such errors, and a single one joins two
    groups. So a weak link is kept only if the groups at its ends (`labels`) are similar on average: the mean similarity
    between samples of both, without the link itself, must reach `min_support`.
    """
    weak = np.flatnonzero(forest.similarities < np.float32(weak_below))
    samples = _Samples.of(things, labels, labels[forest.pairs[weak]])
    kept = np.ones(forest.similarities.size, np.bool_)
    for start in range(0, weak.size, _BLOCK):
        block = weak[start : start + _BLOCK]
        links = forest.pairs[block]
        kept[block] = samples.mean_similarity(things, labels[links], links) >= min_support
    return forest[kept]


def without_bridges(things: Comparable, forest: Edges, labels: NDArray[np.int32]) -> Edges:
    """The forest without the links between groups (`labels`) that only a few pages speak for.

    A page that holds two templates is similar to the pages of both, and would join two groups that have nothing in
    common. If such a page is in one of the groups, the link stands for nobody else: it is kept only if half of the
    pairs between samples of both groups reach LINK_SHARE of it. If it is in neither, its group links to both: of the
    links of a group to groups of several rows, one is cut unless a quarter of the pairs between the group at its other
    end and the group that the best of them leads to reach BRIDGE_SHARE of it. A group much larger than one of these two
    is no bridge: it is what they are parts of.
    """
    between = np.flatnonzero(labels[forest.pairs[:, 0]] != labels[forest.pairs[:, 1]])
    samples = _Samples.of(things, labels, labels[forest.pairs[between]])
    kept = np.ones(len(forest), np.bool_)
    kept[between] = samples.enough_reach(
        things, labels[forest.pairs[between]], LINK_SHARE * forest.similarities[between], LINK_PAIRS
    )
    between = between[kept[between]]
    ends = labels[forest.pairs[between]]
    sizes = np.minimum(np.bincount(labels, minlength=labels.size), SUPPORT_SAMPLE)  # as far as every engine knows them
    best, goal = _best_links(ends, sizes)
    for near, far in ((0, 1), (1, 0)):
        several = np.flatnonzero(sizes[ends[:, far]] > 1)
        other = several[best[ends[several, near]] != several]
        asked = np.stack([ends[other, far], goal[ends[other, near]]], axis=1)
        is_small = sizes[ends[other, near]] <= BRIDGE_SIZE * sizes[asked].min(axis=1)
        other, asked = other[is_small], asked[is_small]
        least = BRIDGE_SHARE * forest.similarities[between[other]]
        kept[between[other]] &= samples.enough_reach(things, asked, least, BRIDGE_PAIRS)
    return forest[kept]


def _best_links(ends: NDArray[np.int32], sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The best link of each group to a group of several rows, and where it leads. Links stand best first."""
    best, goal = np.full(sizes.size, len(ends), np.int64), np.full(sizes.size, -1, np.int32)
    for near, far in ((0, 1), (1, 0)):
        several = np.flatnonzero(sizes[ends[:, far]] > 1)
        nears, first = np.unique(ends[several, near], return_index=True)
        is_better = several[first] < best[nears]
        best[nears[is_better]] = several[first[is_better]]
        goal[nears[is_better]] = ends[several[first[is_better]], far]
    return best, goal


@dataclasses.dataclass(frozen=True, slots=True)
class _Samples:
    """Members of groups, sorted by the names of their groups and shuffled within each: the first are a sample."""

    members: NDArray[np.int32]
    names: NDArray[np.int32]

    @classmethod
    def of(cls, things: Comparable, labels: NDArray[np.int32], wanted: NDArray[np.int32]) -> "_Samples":
        """Of the groups that are wanted."""
        members = np.flatnonzero(np.isin(labels, distinct(wanted))).astype(np.int32)
        members = members[by_group(things, members, labels[members])]
        return cls(members, labels[members])

    def sizes(self, names: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many members the samples of groups have."""
        found = np.searchsorted(self.names, names, side="right") - np.searchsorted(self.names, names, side="left")
        return np.asarray(np.minimum(found, SUPPORT_SAMPLE))

    def mean_similarity(
        self, things: Comparable, ends: NDArray[np.int32], links: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        """Mean similarity between samples of two groups each, without the pair that is a link itself."""
        sums, counts = np.zeros(len(ends)), np.zeros(len(ends))
        for there, pairs in self._pairs(ends):
            other = (pairs != links[there]).any(axis=1)
            sums[there[other]] += things.similarities(pairs[other, 0].copy(), pairs[other, 1].copy())
            counts[there[other]] += 1
        return np.asarray(sums / np.maximum(counts, 1))

    def enough_reach(
        self, things: Comparable, ends: NDArray[np.int32], least: NDArray[np.float32], share: float
    ) -> NDArray[np.bool_]:
        """Whether at least a share of the pairs between samples of two groups each reach a similarity."""
        found = np.empty(len(ends), np.bool_)
        for start in range(0, len(ends), _BLOCK):
            block = slice(start, start + _BLOCK)
            reach, counts = np.zeros(len(ends[block])), np.zeros(len(ends[block]))
            for there, pairs in self._pairs(ends[block]):
                similarities = things.similarities(pairs[:, 0].copy(), pairs[:, 1].copy())
                reach[there] += similarities >= least[block][there]
                counts[there] += 1
            found[block] = reach >= share * counts
        return found

    def _pairs(self, ends: NDArray[np.int32]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """The pairs between samples of two groups each, one of each at a time, and which of `ends` have one."""
        first, sizes = np.searchsorted(self.names, ends, side="left"), self.sizes(ends)
        for i, j in itertools.product(range(SUPPORT_SAMPLE), repeat=2):
            there = np.flatnonzero((i < sizes[:, 0]) & (j < sizes[:, 1]))
            yield there, np.stack([self.members[first[there, 0] + i], self.members[first[there, 1] + j]], axis=1)


def split_chains(
    things: Comparable, forest: Edges, labels: NDArray[np.int32], *, threshold: float, least: float
) -> tuple[NDArray[np.int32], Groups]:
    """Splits groups that are chains: the paper's "worms" (figure 3). Returns labels, and the groups before the split.

    A member stays in its group when its similarity to the group's medoid reaches `least`. The others are grouped anew
    among themselves, by the same forest edges, until every member of every group is near its medoid.
    """
    things.release()
    labels, before = labels.copy(), Groups.none()
    links = forest.above(threshold)
    active = in_groups(labels)
    while least > 0 and active.size:
        groups = find_medoids(things, active, labels[active])
        before = before if before.labels.size else groups
        is_near = groups.similarities >= np.float32(least)
        away = groups.members[~is_near]
        if not away.size:
            break
        _name_by_smallest(labels, groups.members[is_near])
        is_away = np.zeros(labels.size, np.bool_)
        is_away[away] = True
        # Rows that left two different groups are never joined again: their old labels keep them apart.
        left, right = links.pairs[:, 0], links.pairs[:, 1]
        links = links[is_away[left] & is_away[right] & (labels[left] == labels[right])]
        labels[away] = graph.components(links.packed, labels.size)[away]
        active = away[in_groups(labels[away])]
    return labels, before


def join_twins(forest: Edges, labels: NDArray[np.int32], *, least: float) -> NDArray[np.int32]:
    """Lets rows that a split left alone join the group of a row that is nearly the same (`least`), the best first.

    A group may hold versions of which the outer ones are far from the medoid. Nobody joins a row that joined itself, so
    no chain grows.
    """
    labels = labels.copy()
    is_alone = (np.bincount(labels, minlength=labels.size) == 1)[labels]
    links = forest.above(least).pairs
    links = links[is_alone[links[:, 0]] != is_alone[links[:, 1]]]
    alone = np.where(is_alone[links[:, 0]], links[:, 0], links[:, 1])
    twins = np.where(is_alone[links[:, 0]], links[:, 1], links[:, 0])
    joined, best = np.unique(alone, return_index=True)  # links stand best first
    labels[joined] = labels[twins[best]]
    _name_by_smallest(labels, np.flatnonzero(np.isin(labels, labels[joined])).astype(np.int32))
    return labels


def _name_by_smallest(labels: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    """Renames the groups of `rows` after their smallest row among `rows`, in place."""
    smallest = np.full(labels.size, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(smallest, labels[rows], rows)
    labels[rows] = smallest[labels[rows]]
