"""Groups from a forest, corrected: weak links without support are dropped, and chains are split."""

import itertools

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.comparable import Comparable
from samehand.grouping.edges import Edges, in_groups
from samehand.grouping.medoids import by_group, find_medoids
from samehand.kernels import graph

SUPPORT_SAMPLE = 8
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
    rows = np.unique(labels[forest.pairs[weak]])
    members = np.flatnonzero(np.isin(labels, rows)).astype(np.int32)
    members = members[by_group(things, members, labels[members])]
    names = labels[members]
    kept = np.ones(forest.similarities.size, np.bool_)
    for start in range(0, weak.size, _BLOCK):
        block = weak[start : start + _BLOCK]
        kept[block] = _mean_similarity(things, forest.pairs[block], labels, members, names) >= min_support
    return forest[kept]


def _mean_similarity(
    things: Comparable,
    links: NDArray[np.int32],
    labels: NDArray[np.int32],
    members: NDArray[np.int32],
    names: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Mean similarity between samples of the groups at the ends of each link.

    `members` are sorted by the `names` of their groups.
    """
    ends = labels[links]
    first = np.searchsorted(names, ends, side="left")
    sizes = np.minimum(np.searchsorted(names, ends, side="right") - first, SUPPORT_SAMPLE)
    sums, counts = np.zeros(len(links)), np.zeros(len(links))
    for i, j in itertools.product(range(SUPPORT_SAMPLE), repeat=2):
        there = np.flatnonzero((i < sizes[:, 0]) & (j < sizes[:, 1]))
        pairs = np.stack([members[first[there, 0] + i], members[first[there, 1] + j]], axis=1)
        other = (pairs != links[there]).any(axis=1)
        sums[there[other]] += things.similarities(pairs[other, 0].copy(), pairs[other, 1].copy())
        counts[there[other]] += 1
    return np.asarray(sums / np.maximum(counts, 1))


def split_chains(
    things: Comparable, forest: Edges, labels: NDArray[np.int32], *, threshold: float, least: float
) -> NDArray[np.int32]:
    """Splits groups that are chains: the paper's "worms" (figure 3).

    A member stays in its group when its similarity to the group's medoid reaches `least`. The others are grouped anew
    among themselves, by the same forest edges, until every member of every group is near its medoid.
    """
    things.release()
    labels = labels.copy()
    links = forest.above(threshold)
    active = in_groups(labels)
    while least > 0 and active.size:
        groups = find_medoids(things, active, labels[active])
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
    return labels


def _name_by_smallest(labels: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    """Renames the groups of `rows` after their smallest row among `rows`, in place."""
    smallest = np.full(labels.size, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(smallest, labels[rows], rows)
    labels[rows] = smallest[labels[rows]]
