"""The search for similar pairs: buckets are checked, and the maximum spanning forest of the edges is kept."""

import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from samehand.grouping.blocks import Blocks, Piece, Shelf
from samehand.grouping.comparable import Searchable, at_once, gathered_pairs
from samehand.grouping.edges import Edges, joined_edges, merge_forest, spanning_forest
from samehand.grouping.memory import release, trim_heap
from samehand.grouping.probes import Buckets, Columns
from samehand.kernels import blocks, sorting
from samehand.kernels import buckets as kernel

_PART_ROWS = 1 << 16
"""Keys are sorted in parts of about so many: half a megabyte, which stays in a core's cache."""


COUNTED = 5
"""Numbers that `check_buckets` counts."""


@dataclasses.dataclass(slots=True)
class CheckCounts:
    """What the search for edges did, for the report: no cap is hit silently.

    `checks` are the pairs that the rule asks for, and `compared` those that were not known from an earlier probe.
    """

    rows: int = 0
    too_small: int = 0
    equal: int = 0
    probes: int = 0
    buckets: int = 0
    large_buckets: int = 0
    checks: int = 0
    leader_cap_hits: int = 0
    compared: int = 0

    def add(self, found: NDArray[np.int64]) -> None:
        """Adds what a kernel counted: buckets, large ones, checks, refused leaders, comparisons."""
        self.buckets += int(found[0])
        self.large_buckets += int(found[1])
        self.checks += int(found[2])
        self.leader_cap_hits += int(found[3])
        self.compared += int(found[4])

    def stored(self) -> dict[str, int]:
        """What a run keeps: what is the same on every engine."""
        return {name: number for name, number in dataclasses.asdict(self).items() if name != "compared"}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckRule:
    """How the pairs within a bucket are checked; see `kernels.buckets.check_buckets`."""

    edge_threshold: float
    leader_threshold: float
    exhaustive_bucket_size: int
    max_leaders: int


def find_forest(
    things: Searchable,
    buckets: Buckets,
    *,
    rule: CheckRule,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Edges, CheckCounts]:
    """The maximum spanning forest of all checked edges, and what it took to find them."""
    trim_heap()
    counts = CheckCounts(rows=len(things), too_small=int(np.count_nonzero(~things.comparable)))
    joined, is_alone = join_equal(things, buckets.identity, rule.edge_threshold)
    release(buckets.identity)
    counts.equal = len(joined)
    searched = is_alone & things.comparable
    with buckets.spool() as spool, ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        divided, total = Blocks(len(things), spool), 2 * len(buckets.columns)
        for parts in _keys_ahead(buckets.columns, searched, pool):
            for entries, starts in pool.map(divided.route, parts):
                divided.add(entries, starts)
            counts.probes += 1
            if progress:
                progress(counts.probes, total)
        found = [joined, *_check_blocks(things, divided, rule, pool, threads or os.cpu_count() or 1, counts)]
        if progress:
            progress(total, total)
        things.release()
        trim_heap()
        return spanning_forest(found, len(things)), counts


def join_equal(
    things: Searchable, identity: NDArray[np.uint64], edge_threshold: float
) -> tuple[Edges, NDArray[np.bool_]]:
    """Edges from each row to the smallest row that is the same, and which rows are not the same as a smaller one."""
    left, right = sorting.twins(identity, sorting.stable_order(identity))
    is_alone, found = np.ones(identity.size, np.bool_), [Edges.none()]
    for chosen, gathered, one, other in gathered_pairs(things, left, right):
        same = gathered.are_same(one, other)  # so far only a hash says so
        ends, similarities = (left[chosen][same], right[chosen][same]), gathered.similarities(one[same], other[same])
        is_alone[ends[1]] = False
        found.append(Edges.of(*ends, similarities).above(edge_threshold))
    return spanning_forest(found, identity.size), is_alone


def _keys_ahead(
    columns: Columns, searched: NDArray[np.bool_], pool: ThreadPoolExecutor
) -> Iterator[list[NDArray[np.uint64]]]:
    """The keys of each probe in parts of whole buckets. Those of the next probe are made while one is checked."""
    part_bits = (searched.size // _PART_ROWS).bit_length()
    coming: deque[Future[tuple[NDArray[np.uint64], NDArray[np.int64]]]] = deque()
    rooms = itertools.cycle([np.empty(searched.size, np.uint64) for _ in range(2)])
    for column in columns:
        coming.append(pool.submit(kernel.keys_in_parts, column, searched, part_bits, next(rooms)))
        if len(coming) > 1:
            yield _split(*coming.popleft().result())
    while coming:
        yield _split(*coming.popleft().result())


def _split(keys: NDArray[np.uint64], starts: NDArray[np.int64]) -> list[NDArray[np.uint64]]:
    return [keys[start:end] for start, end in itertools.pairwise(starts.tolist()) if end > start]


def _check_blocks(
    things: Searchable, divided: Blocks, rule: CheckRule, pool: ThreadPoolExecutor, threads: int, counts: CheckCounts
) -> list[Edges]:
    """The forests of all blocks. Threads share the memory for gathered rows, and each has a shelf of its own.

    One thread goes from the largest shelf to smaller ones, the others come from the smallest. So a block with much of
    all rows keeps nobody waiting, and no two such blocks are in memory at once.
    """
    shelves = deque(divided.shelves(at_once(things.width, len(things)) // min(threads, 2)))
    found: list[Edges] = []

    def search(take: Callable[[], range]) -> NDArray[np.int64]:
        counted = np.zeros(COUNTED, np.int64)
        while True:
            try:
                blocks = take()
            except IndexError:  # no shelf is left
                return counted
            forests, here = _check_shelf(things, divided.shelf(blocks), rule)
            found.extend(forests)
            counted += here

    for counted in pool.map(search, [shelves.popleft, *[shelves.pop] * (threads - 1)]):
        counts.add(counted)
    return found


def _check_shelf(things: Searchable, shelf: Shelf, rule: CheckRule) -> tuple[list[Edges], NDArray[np.int64]]:
    """The forests of some blocks, and the counts of `CheckCounts.add`."""
    gathered = things.chosen(shelf.rows)
    known = kernel.nothing_known(len(shelf.rows))
    searches = [_BlockSearch(gathered, known, rule, shelf, block) for block in range(len(shelf))]
    counts = np.zeros(COUNTED, np.int64)
    for piece in shelf.pieces():
        for search in searches:
            counts += search.check(piece)
    return [search.forest() for search in searches], counts


class _BlockSearch:
    """The search in one block: its rows are rows of `gathered`."""

    def __init__(self, gathered: Searchable, known: kernel.Known, rule: CheckRule, shelf: Shelf, block: int) -> None:
        self._gathered, self._known, self._rule = gathered, known, rule
        self._shelf, self._block = shelf, block
        self._ranked = shelf.ranked(block)
        self._buckets = 0
        self._forest, self._found = Edges.none(), [Edges.none()]

    def check(self, piece: Piece) -> NDArray[np.int64]:
        """Finds the edges within some of the block's buckets; returns the counts of `CheckCounts.add`."""
        starts, ends = piece.starts[:, self._block], piece.starts[:, self._block + 1]
        first = int(self._shelf.starts[self._block])
        keys = blocks.keys_of_block(piece.entries, starts, ends, *self._ranked, first, self._buckets)
        edges, counts = check_buckets(self._gathered, keys, self._rule, self._known)
        self._buckets = int(keys[-1] >> np.uint64(32)) + 1 if keys.size else self._buckets
        self._found.append(edges)
        if sum(map(len, self._found)) > len(self._forest):  # seldom, because to fold is to go through the whole forest
            self._fold()
        return counts

    def _fold(self) -> None:
        """Takes what was found into the forest, whose rows are numbered within the block: trees need room for those."""
        start, stop = self._shelf.starts[self._block : self._block + 2].tolist()
        found = joined_edges(self._found)
        within = Edges(found.packed - np.uint64((start << 32) + start), found.similarities)
        self._forest = merge_forest(self._forest, within, stop - start)
        self._found = [Edges.none()]

    def forest(self) -> Edges:
        """The block's forest in terms of all rows, which stand in the same order."""
        self._fold()
        start, stop = self._shelf.starts[self._block : self._block + 2].tolist()
        left, right = self._forest.pairs.T
        rows = self._shelf.rows[start:stop]
        return Edges.of(rows[left], rows[right], self._forest.similarities)


def check_buckets(
    things: Searchable, sorted_keys: NDArray[np.uint64], rule: CheckRule, known: kernel.Known
) -> tuple[Edges, NDArray[np.int64]]:
    """The edges within buckets, and the counts of `CheckCounts.add`. A key is (bucket << 32) | row."""
    pairs, similarities, counts = kernel.check_buckets(
        things.rows,
        sorted_keys,
        np.float32(rule.edge_threshold),
        np.float32(rule.leader_threshold),
        rule.exhaustive_bucket_size,
        rule.max_leaders,
        known,
    )
    return Edges(pairs, similarities), counts
