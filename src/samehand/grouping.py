"""From sketches to ranked groups: probe, check, forest, cut, chains, centre, rank.

This part knows nothing of HTML. A sketch is a row of uint32 values (EMPTY where nothing was seen), a row is one
page, rows stand in page_id order. Steps, each a function below:

1. `plan_probes`     how many probes keep the probability to miss a similar pair below what was asked for
2. `find_forest`     equal sketches are collapsed; each probe sorts the rest into buckets by a few of their values;
                     pairs within a bucket are checked; of the edges that reach the loose threshold only the maximum
                     spanning forest is kept, which has the same components at every cut
3. `cut`             components of the forest at any threshold, without comparing anything again; `supported` takes
                     low links away first that may be the luck of sampling
4. `split_chains`    members that hang together only through others, not with their centre, are parted
5. `find_centres`    the most typical member of each group, and every member's similarity to it

After Procedure 2 of the hidden style similarity paper, section 3.4; the leader rule within large buckets and the
forest are ours. Memory grows with the number of rows, never with the number of pairs.
"""

import dataclasses
import itertools
import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import graph

CENTRE_SAMPLE = 64
SUPPORT_SAMPLE = 8
_FOLD_EDGES = 4
_FOLD_LEAST = 1 << 20
"""Edges are folded into the forest when there are this many times more of them than rows, and at least so many."""


class Comparable(Protocol):
    """Rows that can be compared: all that chains and centres need to know of what is grouped."""

    def similarities(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Similarity of row left[i] to row right[i]."""

    def centres(self, members: NDArray[np.int64], starts: NDArray[np.int64], sample: int) -> NDArray[np.int64]:
        """Of the first `sample` members of each group, members[starts[g]:starts[g+1]], the one nearest to them all."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sketches:
    """What is grouped. `equality` joins rows that are too small to compare (0: never); `floor` see `similarity`."""

    values: NDArray[np.uint32]
    comparable: NDArray[np.bool_]
    equality: NDArray[np.uint64]
    floor: int = 1

    def similarities(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float32]:
        """Estimated similarities. Rows joined by equality alone are as similar as can be, whatever their few values."""
        found = graph.similarities_of_pairs(self.values, left, right, self.floor)
        found[~self.comparable[right] | (left == right)] = 1.0
        return found

    def centres(self, members: NDArray[np.int64], starts: NDArray[np.int64], sample: int) -> NDArray[np.int64]:
        """Centres by the estimate."""
        return graph.find_centres(self.values, members, starts, sample, self.floor)


@dataclasses.dataclass(frozen=True, slots=True)
class Edges:
    """Pairs of rows (left < right) and their similarities."""

    pairs: NDArray[np.int64]
    similarities: NDArray[np.float32]

    def above(self, threshold: float) -> NDArray[np.int64]:
        """The pairs that reach `threshold`."""
        return self.pairs[self.similarities >= np.float32(threshold)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """Which dimensions each probe looks at (p x k), and the probability to miss a pair at a similarity."""

    dimensions: int
    subsets: NDArray[np.int64]

    def miss(self, similarity: float) -> float:
        """Probability that no probe brings together a pair of full sketches of this similarity."""
        return miss_probability(self.dimensions, math.ceil(similarity * self.dimensions), *self.subsets.shape)


@dataclasses.dataclass(slots=True)
class CheckCounts:
    """What the search for edges did, for the report: no cap is hit silently."""

    rows: int = 0
    too_small: int = 0
    equal: int = 0
    probes: int = 0
    buckets: int = 0
    large_buckets: int = 0
    checks: int = 0
    leader_cap_hits: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckRule:
    """How pairs within a bucket are checked: the settings of `check_buckets`."""

    loose: float
    tight: float
    full_check: int
    max_leaders: int


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


def find_forest(
    sketches: Sketches,
    plan: ProbePlan,
    *,
    rule: CheckRule,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Edges, CheckCounts]:
    """The maximum spanning forest of all checked edges, and what it took to find them."""
    counts = CheckCounts(rows=len(sketches.values))
    joined, representatives = _join_equal(sketches, rule.loose)
    counts.too_small = int(np.count_nonzero(~sketches.comparable))
    counts.equal = len(joined.pairs)
    forest: Edges = joined
    pending: list[Edges] = []
    for done, (edges, found) in enumerate(_checked_probes(sketches, representatives, plan, rule, threads), start=1):
        counts.probes += 1
        counts.buckets += int(found[0])
        counts.large_buckets += int(found[1])
        counts.checks += int(found[2])
        counts.leader_cap_hits += int(found[3])
        pending.append(edges)
        if sum(len(edges.pairs) for edges in pending) > max(_FOLD_LEAST, _FOLD_EDGES * counts.rows):
            forest, pending = spanning_forest([forest, *pending], counts.rows), []
        if progress:
            progress(done, len(plan.subsets))
    return spanning_forest([forest, *pending], counts.rows), counts


def _join_equal(sketches: Sketches, loose: float) -> tuple[Edges, NDArray[np.int64]]:
    """Edges from each row to the smallest row equal to it, and the rows that stand for all others in the probes."""
    hashes = graph.hash_rows(sketches.values)
    firsts = graph.first_equal(sketches.values, hashes, np.argsort(hashes, kind="stable"))
    representatives = np.flatnonzero(sketches.comparable & (firsts == np.arange(firsts.size)))
    twins = np.flatnonzero(sketches.comparable & (firsts != np.arange(firsts.size)))
    alike = sketches.similarities(firsts[twins], twins)
    small = np.flatnonzero(~sketches.comparable & (sketches.equality != 0))
    _, position, inverse = np.unique(sketches.equality[small], return_index=True, return_inverse=True)
    first_small = small[position[inverse]]
    repeated = first_small != small
    pairs = np.concatenate([np.stack([firsts[twins], twins], 1), np.stack([first_small[repeated], small[repeated]], 1)])
    similarities = np.concatenate([alike, np.ones(np.count_nonzero(repeated), np.float32)])
    reached = similarities >= np.float32(loose)
    return Edges(pairs[reached], similarities[reached]), representatives


def _checked_probes(
    sketches: Sketches, rows: NDArray[np.int64], plan: ProbePlan, rule: CheckRule, threads: int | None
) -> Iterator[tuple[Edges, NDArray[np.int64]]]:
    """Each probe's edges and counts, in the order of the plan whatever the number of threads."""

    def check(subset: NDArray[np.int64]) -> tuple[Edges, NDArray[np.int64]]:
        keys = np.sort(graph.probe_keys(sketches.values, rows, subset))
        pairs, similarities, counts = graph.check_buckets(
            sketches.values,
            rows,
            keys,
            sketches.floor,
            rule.loose,
            rule.tight,
            rule.full_check,
            rule.max_leaders,
        )
        return Edges(pairs, similarities), counts

    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        yield from pool.map(check, plan.subsets)


def spanning_forest(parts: list[Edges], rows: int) -> Edges:
    """Maximum spanning forest of the edges in `parts`. Ties are broken by row, so parts may come in any order.

    The forest of a forest and more edges is the forest of all edges: parts can be folded in as they are found.
    """
    pairs = np.concatenate([part.pairs for part in parts])
    similarities = np.concatenate([part.similarities for part in parts])
    # Sorting packed pairs is several times faster than sorting by three keys, and brings what several probes found
    # together, so that each pair goes on once.
    packed = (pairs[:, 0].astype(np.uint64) << np.uint64(32)) | pairs[:, 1].astype(np.uint64)
    by_pair = np.argsort(packed)
    by_pair = by_pair[np.diff(packed[by_pair], prepend=~packed[by_pair[:1]]) != 0]
    best_first = by_pair[np.argsort(-similarities[by_pair], kind="stable")]
    pairs, similarities = pairs[best_first], similarities[best_first]
    chosen = graph.forest_edges(pairs, rows)
    return Edges(pairs[chosen], similarities[chosen])


def cut(forest: Edges, rows: int, threshold: float) -> NDArray[np.int64]:
    """Each row's group at `threshold`, named by the group's smallest row. A row alone is its own group."""
    return graph.components(forest.above(threshold), rows)


def supported(things: Comparable, forest: Edges, labels: NDArray[np.int64], *, firm: float, support: float) -> Edges:
    """The forest without its links below `firm` that nothing else speaks for.

    A low similarity may be the luck of sampling, and the more pages there are the more of such luck; one lucky link
    joins two families. A link stands when the groups at its ends (`labels`) are alike on the average, too: the mean
    similarity between samples of both, the link itself aside, reaches `support`.
    """
    weak = np.flatnonzero(forest.similarities < np.float32(firm))
    order = np.lexsort((_shuffled(np.arange(labels.size)), labels))
    ends = labels[forest.pairs[weak]]
    first = np.searchsorted(labels[order], ends, side="left")
    sizes = np.minimum(np.searchsorted(labels[order], ends, side="right") - first, SUPPORT_SAMPLE)
    sums, counts = np.zeros(weak.size), np.zeros(weak.size)
    for i, j in itertools.product(range(SUPPORT_SAMPLE), repeat=2):
        there = np.flatnonzero((i < sizes[:, 0]) & (j < sizes[:, 1]))
        pairs = np.stack([order[first[there, 0] + i], order[first[there, 1] + j]], axis=1)
        other = (pairs != forest.pairs[weak[there]]).any(axis=1)
        sums[there[other]] += things.similarities(pairs[other, 0].copy(), pairs[other, 1].copy())
        counts[there[other]] += 1
    fallen = weak[sums < support * np.maximum(counts, 1)]
    kept = np.ones(forest.similarities.size, np.bool_)
    kept[fallen] = False
    return Edges(forest.pairs[kept], forest.similarities[kept])


def split_chains(
    things: Comparable, forest: Edges, labels: NDArray[np.int64], *, threshold: float, least: float
) -> NDArray[np.int64]:
    """Parts what is only chained: the paper's "worms" (figure 3).

    A member stays with its group when its similarity to the group's centre reaches `least`. Those that do not are
    grouped anew among themselves, by the same forest edges, until every group holds together.
    """
    labels = labels.copy()
    links = forest.above(threshold)
    active = in_groups(labels)
    while least > 0 and active.size:
        groups = find_centres(things, active, labels[active])
        away = groups.members[groups.similarities < np.float32(least)]
        if not away.size:
            break
        stays = groups.members[groups.similarities >= np.float32(least)]
        _name_by_smallest(labels, stays)
        is_away = np.zeros(labels.size, np.bool_)
        is_away[away] = True
        # Rows that left two different groups never meet again: their old labels part them.
        inner = links[is_away[links[:, 0]] & is_away[links[:, 1]]]
        inner = inner[labels[inner[:, 0]] == labels[inner[:, 1]]]
        labels[away] = graph.components(inner, labels.size)[away]
        active = away[in_groups(labels[away])]
    return labels


def in_groups(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows that are not alone in their groups."""
    _, inverse, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return np.flatnonzero(sizes[inverse] > 1)


def _name_by_smallest(labels: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """Renames the groups of `rows` after their smallest row among `rows`, in place."""
    _, inverse = np.unique(labels[rows], return_inverse=True)
    smallest = np.full(inverse.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(smallest, inverse, rows)
    labels[rows] = smallest[inverse]


@dataclasses.dataclass(frozen=True, slots=True)
class Groups:
    """Members in group order: group g is members[starts[g]:starts[g+1]], named labels[g], with centre centres[g]."""

    labels: NDArray[np.int64]
    starts: NDArray[np.int64]
    members: NDArray[np.int64]
    centres: NDArray[np.int64]
    similarities: NDArray[np.float32]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over each group's members of `values`, which stand in member order."""
        return np.add.reduceat(values, self.starts[:-1]) if self.labels.size else np.zeros(0)

    def sizes(self) -> NDArray[np.int64]:
        """Members in each group."""
        return np.diff(self.starts)


def find_centres(things: Comparable, rows: NDArray[np.int64], labels: NDArray[np.int64]) -> Groups:
    """Groups `rows` by their `labels`; finds each group's centre and each member's similarity to it.

    The centre is the member nearest to all others, judged on a sample of CENTRE_SAMPLE members that depends on the
    group alone.
    """
    order = np.lexsort((_shuffled(rows), labels))
    members = rows[order]
    names, starts = np.unique(labels[order], return_index=True)
    bounds = np.append(starts, rows.size).astype(np.int64)
    centres = things.centres(members, bounds, CENTRE_SAMPLE)
    return Groups(names, bounds, members, centres, things.similarities(np.repeat(centres, np.diff(bounds)), members))


def _shuffled(rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sort keys that put rows into an order unrelated to their numbers."""
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xFF51AFD7ED558CCD)
