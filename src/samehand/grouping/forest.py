"""From sketches to groups: check, forest, cut, chains, centres.

This part knows nothing of HTML. A row is one page, rows stand in page_id order and are numbered by int32. Steps, each
a function below:

1. `find_forest`     equal sketches are collapsed; each probe sorts the rest into buckets by a few of their values;
                     pairs within a bucket are checked; of the edges that reach the loose threshold only the maximum
                     spanning forest is kept, which has the same components at every cut
2. `cut`             components of the forest at any threshold, without comparing anything again; `supported` takes
                     low links away first that may be the luck of sampling
3. `split_chains`    members that hang together only through others, not with their centre, are parted
4. `find_centres`    the most typical member of each group, and every member's similarity to it

After Procedure 2 of the hidden style similarity paper, section 3.4; the leader rule within large buckets and the
forest are ours. Memory grows with the number of rows, never with the number of pairs. Edges have one order everywhere,
by similarity and then by pair, so the forest is the one and only, however it was put together.
"""

import dataclasses
import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.sketches import Buckets, Sketches, let_go, return_memory
from samehand.kernels import graph

CENTRE_SAMPLE = 64
SUPPORT_SAMPLE = 8
_FOLD_EDGES = 1
_FOLD_LEAST = 1 << 20
"""Edges are folded into the forest when there are so many times more of them than rows, and at least so many."""
_SPLIT_SAMPLE = 4096
_RANGES_PER_THREAD = 3
_STRETCH = 1 << 18


class Comparable(Protocol):
    """Rows that can be compared: all that chains and centres need to know of what is grouped."""

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Similarity of row left[i] to row right[i]."""

    def centres(self, members: NDArray[np.int32], starts: NDArray[np.int64], sample: int) -> NDArray[np.int32]:
        """Of the first `sample` members of each group, members[starts[g]:starts[g+1]], the one nearest to them all."""

    def draw(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys that put rows into an order unrelated to anything."""

    def let_go(self) -> None:
        """Hands memory back that sorting has better use for."""


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

    @classmethod
    def read(cls, file: IO[bytes], counts: list[int]) -> "Edges":
        """From a file of stretches of edges: the pairs of a stretch, then its similarities."""
        edges = cls(np.empty(sum(counts), np.uint64), np.empty(sum(counts), np.float32))
        for count, end in zip(counts, itertools.accumulate(counts), strict=True):
            edges.packed[end - count : end] = np.frombuffer(file.read(8 * count), np.uint64)
            edges.similarities[end - count : end] = np.frombuffer(file.read(4 * count), np.float32)
        return edges

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

    def add(self, found: NDArray[np.int64]) -> None:
        """Counts what a kernel counted: buckets, large ones, checks, refused leaders."""
        self.buckets += int(found[0])
        self.large_buckets += int(found[1])
        self.checks += int(found[2])
        self.leader_cap_hits += int(found[3])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckRule:
    """How pairs within a bucket are checked: the settings of `check_buckets`."""

    edge_threshold: float
    leader_threshold: float
    exhaustive_bucket_size: int
    max_leaders: int


def find_forest(
    sketches: Sketches,
    buckets: Buckets,
    *,
    rule: CheckRule,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Edges, CheckCounts]:
    """The maximum spanning forest of all checked edges, and what it took to find them."""
    return_memory()
    counts = CheckCounts(rows=len(sketches), too_small=int(np.count_nonzero(~sketches.comparable)))
    joined, is_alone = join_equal(sketches, buckets.identity, rule.edge_threshold)
    let_go(buckets.identity)
    counts.equal = len(joined)
    searched = is_alone & sketches.comparable
    with buckets.spool() as spool, ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        gathering = _Gathering(joined, sketches, spool)
        for done, column in enumerate(buckets.columns, start=1):
            ranges = _key_ranges(column, _RANGES_PER_THREAD * (threads or os.cpu_count() or 1))
            check = functools.partial(_check_range, sketches, column, searched, rule)
            for edges, found in pool.map(check, ranges):
                gathering.add(edges)
                counts.add(found)
            gathering.fold_when_many()
            counts.probes += 1
            if progress:
                progress(done, len(buckets.columns))
        return gathering.forest(), counts


def join_equal(sketches: Sketches, identity: NDArray[np.uint64], loose: float) -> tuple[Edges, NDArray[np.bool_]]:
    """Edges from each row to the smallest row that is the same, and which rows are not the same as a smaller one."""
    order = np.argsort(identity, kind="stable").astype(np.int32)
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = identity[order[1:]] != identity[order[:-1]]
    firsts = order[np.flatnonzero(is_first)[np.cumsum(is_first) - 1]] if order.size else order
    is_twin = ~is_first & (identity[order] != 0)
    left, right = firsts[is_twin], order[is_twin]
    # A hash brought them together. Where sketches can be compared, they have to be the same.
    same = ~sketches.comparable[right] | _equal_rows(sketches.words, left, right)
    left, right = left[same], right[same]
    is_alone = np.ones(order.size, np.bool_)
    is_alone[right] = False
    similarities = sketches.similarities(left, right)
    return Edges.of(left, right, similarities).above(loose), is_alone


def _equal_rows(words: NDArray[np.uint64], left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether row left[i] is row right[i], a stretch at a time."""
    equal = np.empty(left.size, np.bool_)
    for start in range(0, left.size, 1 << 16):
        chosen = slice(start, start + (1 << 16))
        equal[chosen] = (words[left[chosen]] == words[right[chosen]]).all(axis=1)
    return equal


def _key_ranges(column: NDArray[np.uint32], parts: int) -> list[tuple[int, int]]:
    """Ranges of buckets of about as many rows each: a probe is shared between threads by its buckets."""
    sample = np.sort(column[:: max(1, column.size // _SPLIT_SAMPLE)])
    inner = {int(sample[sample.size * part // parts]) for part in range(1, parts)} if sample.size else set()
    bounds = [0, *sorted(inner - {0}), 1 << 32]
    return list(itertools.pairwise(bounds))


def _check_range(
    sketches: Sketches,
    column: NDArray[np.uint32],
    searched: NDArray[np.bool_],
    rule: CheckRule,
    bounds: tuple[int, int],
) -> tuple[Edges, NDArray[np.int64]]:
    keys = graph.keys_between(column, searched, *bounds)
    keys.sort()
    pairs, similarities, counts = graph.check_buckets(
        sketches.words,
        sketches.filled,
        keys,
        sketches.lanes,
        rule.edge_threshold,
        rule.leader_threshold,
        rule.exhaustive_bucket_size,
        rule.max_leaders,
    )
    return Edges(pairs, similarities), counts


class _Gathering:
    """Edges as they come in: put aside in a file, and folded into the forest whenever there are many of them."""

    def __init__(self, joined: Edges, sketches: Sketches, spool: IO[bytes]) -> None:
        self._sketches = sketches
        self._forest = spanning_forest([joined], len(sketches))
        self._spool = spool
        self._counts: list[int] = []
        self._limit = max(_FOLD_LEAST, _FOLD_EDGES * len(sketches))
        self._seen = np.zeros(1 << max(len(sketches) // 4, 1).bit_length(), np.uint64)

    def add(self, edges: Edges) -> None:
        kept = graph.drop_seen(edges.packed, edges.similarities, self._seen)
        self._counts.append(kept)
        self._spool.write(edges.packed[:kept].tobytes())
        self._spool.write(edges.similarities[:kept].tobytes())

    def fold_when_many(self) -> None:
        """To be called between probes, when nobody looks at sketches: there is no room for both."""
        if sum(self._counts) > self._limit:
            self._fold()

    def forest(self) -> Edges:
        self._fold()
        return self._forest

    def _fold(self) -> None:
        self._sketches.let_go()
        self._spool.seek(0)
        found = Edges.read(self._spool, self._counts)
        self._spool.seek(0)
        self._spool.truncate()
        self._forest = _merged(self._forest, found, len(self._sketches))
        self._counts = []
        return_memory()


def spanning_forest(parts: list[Edges], rows: int) -> Edges:
    """Maximum spanning forest of the edges in `parts`, best edge first.

    The forest of a forest and more edges is the forest of all edges: parts can be folded in as they are found.
    """
    packed = np.concatenate([part.packed for part in parts])
    return _merged(Edges.none(), Edges(packed, np.concatenate([part.similarities for part in parts])), rows)


def _merged(forest: Edges, found: Edges, rows: int) -> Edges:
    merged = graph.merge_forest(forest.packed, forest.similarities, found.packed, found.similarities, rows)
    return Edges(merged[0].copy(), merged[1].copy())


def cut(forest: Edges, rows: int, threshold: float) -> NDArray[np.int32]:
    """Each row's group at `threshold`, named by the group's smallest row. A row alone is its own group."""
    return graph.components(forest.above(threshold).packed, rows)


def supported(
    things: Comparable, forest: Edges, labels: NDArray[np.int32], *, weak_below: float, min_support: float
) -> Edges:
    """The forest without its links below `weak_below` that nothing else speaks for.

    A low similarity may be the luck of sampling, and the more pages there are the more of such luck; one lucky link
    joins two families. A link stands when the groups at its ends (`labels`) are alike on the average, too: the mean
    similarity between samples of both, the link itself aside, reaches `min_support`.
    """
    weak = np.flatnonzero(forest.similarities < np.float32(weak_below))
    rows = np.unique(labels[forest.pairs[weak]])
    members = np.flatnonzero(np.isin(labels, rows)).astype(np.int32)
    members = members[_by_group(things, members, labels[members])]
    names = labels[members]
    kept = np.ones(forest.similarities.size, np.bool_)
    for start in range(0, weak.size, _STRETCH):
        stretch = weak[start : start + _STRETCH]
        kept[stretch] = _mean_likeness(things, forest.pairs[stretch], labels, members, names) >= min_support
    return forest[kept]


def _mean_likeness(
    things: Comparable,
    links: NDArray[np.int32],
    labels: NDArray[np.int32],
    members: NDArray[np.int32],
    names: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Mean similarity between samples of the groups at the ends of each link, which are `members` sorted by `names`."""
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
    """Parts what is only chained: the paper's "worms" (figure 3).

    A member stays with its group when its similarity to the group's centre reaches `least`. Those that do not are
    grouped anew among themselves, by the same forest edges, until every group holds together.
    """
    things.let_go()
    labels = labels.copy()
    links = forest.above(threshold)
    active = in_groups(labels)
    while least > 0 and active.size:
        groups = find_centres(things, active, labels[active])
        is_near = groups.similarities >= np.float32(least)
        away = groups.members[~is_near]
        if not away.size:
            break
        _name_by_smallest(labels, groups.members[is_near])
        is_away = np.zeros(labels.size, np.bool_)
        is_away[away] = True
        # Rows that left two different groups never meet again: their old labels part them.
        left, right = links.pairs[:, 0], links.pairs[:, 1]
        links = links[is_away[left] & is_away[right] & (labels[left] == labels[right])]
        labels[away] = graph.components(links.packed, labels.size)[away]
        active = away[in_groups(labels[away])]
    return labels


def in_groups(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows that are not alone in their groups."""
    return np.flatnonzero((np.bincount(labels) > 1)[labels]).astype(np.int32)


def _name_by_smallest(labels: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    """Renames the groups of `rows` after their smallest row among `rows`, in place."""
    smallest = np.full(labels.size, np.iinfo(np.int32).max, np.int32)
    np.minimum.at(smallest, labels[rows], rows)
    labels[rows] = smallest[labels[rows]]


@dataclasses.dataclass(frozen=True, slots=True)
class Groups:
    """Members in group order: group g is members[starts[g]:starts[g+1]], named labels[g], with centre centres[g]."""

    labels: NDArray[np.int32]
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    centres: NDArray[np.int32]
    similarities: NDArray[np.float32]

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum over each group's members of `values`, which stand in member order."""
        return np.add.reduceat(values, self.starts[:-1]) if self.labels.size else np.zeros(0)

    def sizes(self) -> NDArray[np.int64]:
        """Members in each group."""
        return np.diff(self.starts)


def find_centres(things: Comparable, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> Groups:
    """Groups `rows` by their `labels`; finds each group's centre and each member's similarity to it.

    The centre is the member nearest to all others, judged on a sample of CENTRE_SAMPLE members that depends on the
    group alone.
    """
    order = _by_group(things, rows, labels)
    members, names = rows[order], labels[order]
    del order
    is_first = np.ones(names.size, np.bool_)
    is_first[1:] = names[1:] != names[:-1]
    starts = np.append(np.flatnonzero(is_first), names.size)
    names = names[is_first]
    centres = things.centres(members, starts, CENTRE_SAMPLE)
    similarities = np.empty(members.size, np.float32)
    for first in range(0, members.size, _STRETCH):
        chosen = slice(first, min(first + _STRETCH, members.size))
        groups = np.searchsorted(starts, np.arange(chosen.start, chosen.stop), side="right") - 1
        similarities[chosen] = things.similarities(centres[groups], members[chosen])
    return Groups(names, starts, members, centres, similarities)


def _by_group(things: Comparable, rows: NDArray[np.int32], labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """The order of `rows` by label, and within a label in an order that looks like none."""
    things.let_go()
    keys = (labels.astype(np.uint64) << np.uint64(32)) | (things.draw(rows) >> np.uint64(32))
    return np.argsort(keys, kind="stable")
