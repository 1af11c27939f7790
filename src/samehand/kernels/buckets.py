"""Pairs within a bucket: similarities, spanning trees, leaders and medoids, for any kind of rows.

Rows are numbered by int32; the caller keeps them in page_id order. `rows` is a named tuple of arrays. Its type selects
the `similarity(rows, left, right)` that is compiled into a kernel. To hand over a compiled function would be simpler,
but Numba never finds such a kernel in its cache again.

An edge is a pair, left < right, packed as (left << 32) | right, and a similarity. `tests/test_grouping.py` and
`tests/test_kernels_words.py` hold each function equal to a readable reference, for sketches and for sets of words.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numba import extending
from numpy.typing import NDArray

from samehand.kernels import part
from samehand.kernels.noise import EMPTY
from samehand.kernels.pointers import lend

Similarity = Callable[[Any, int, int], np.float32]

_EMPTY = np.uint32(EMPTY)
_ROW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTOR = np.uint64(0x9E3779B1)
_DIGIT, _DIGITS = 9, np.uint64(511)
_LEADERS = 2


class Known(NamedTuple):
    """What the probes so far found out about each row, so that no pair of template mates is compared in every probe.

    `bucket` is the last small bucket whose pairs were compared that had the row, as its name + 1, 0 for none: all pairs
    of rows of one bucket are known. So no two buckets may have one name. `leaders` are the last leaders that the row
    was compared with, as their row + 1, negative if the pair was an edge, 0 for none; `similarities` are those to the
    leaders.
    """

    bucket: NDArray[np.uint32]
    leaders: NDArray[np.int32]
    similarities: NDArray[np.float32]


def nothing_known(rows: int) -> Known:
    """Before the first probe."""
    leaders = np.zeros((rows, _LEADERS), np.int32)
    return Known(np.zeros(rows, np.uint32), leaders, np.zeros((rows, _LEADERS), np.float32))


def similarity(rows: Any, left: int, right: int) -> np.float32:
    """Similarity of two rows: a name that stands for one of the functions that `similarity_of` registers."""
    raise NotImplementedError


def similarity_of(kind: type) -> Callable[[Similarity], Similarity]:
    """Registers a compiled function as the similarity of rows that are a `kind` of named tuple."""

    def register(function: Similarity) -> Similarity:
        def call(rows: Any, left: Any, right: Any) -> Any:
            return function(rows, left, right)

        @extending.overload(similarity)
        def choose(rows: Any, left: Any, right: Any) -> Any:
            return call if rows.instance_class is kind else None

        return function

    return register


@nb.njit(cache=True, nogil=True)
def similarities_of_pairs(rows: Any, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
    """Similarity of row left[i] to row right[i]."""
    lent = lend(rows)
    result = np.empty(left.size, np.float32)
    for position in range(left.size):
        result[position] = similarity(lent, left[position], right[position])
    return result


@nb.njit(cache=True, nogil=True)
def keys_in_parts(
    column: NDArray[np.uint32], chosen: NDArray[np.bool_], part_bits: int, room: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """What a probe sorts, (bucket << 32) | row for each chosen row, and where each of 2 ** part_bits parts starts.

    Keys are written to `room`, which has a place for each row: fresh memory for each probe takes longer than the keys.

    Buckets are named by a mixture of their bits, of which the upper ones are the number of the part: parts have about
    as many rows each, unless a bucket is large.
    """
    starts = np.zeros((1 << part_bits) + 1, np.int64)
    shift = np.uint64(64 - part_bits) if part_bits else np.uint64(63)
    last = np.uint64(starts.size - 2)
    for row in range(column.size):
        if chosen[row] and column[row] != _EMPTY:
            starts[((_key(column[row], row) >> shift) & last) + np.uint64(1)] += 1
    starts = starts.cumsum()
    keys = room[: starts[-1]]
    ends = starts[:-1].copy()
    for row in range(column.size):
        if chosen[row] and column[row] != _EMPTY:
            key = _key(column[row], row)
            part = (key >> shift) & last
            keys[ends[part]] = key
            ends[part] += 1
    return keys, starts


@part
def _key(bucket: np.uint32, row: int) -> np.uint64:
    """An odd factor gives each bucket another name."""
    return (((np.uint64(bucket) * _FACTOR) & _ROW) << _HALF) | np.uint64(row)


@nb.njit(cache=True, nogil=True)
def sort_by_bucket(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Keys in order of rows put into order of buckets: a radix sort, without the digits that all keys share."""
    other = np.empty_like(keys)
    counts = np.empty(1 << _DIGIT, np.int64)
    for shift in range(32, 64, _DIGIT):
        counts[:] = 0
        for key in keys:
            counts[(key >> np.uint64(shift)) & _DIGITS] += 1
        if counts.max() == keys.size:
            continue
        place = np.int64(0)
        for digit in range(counts.size):
            place, counts[digit] = place + counts[digit], place
        for key in keys:
            digit = (key >> np.uint64(shift)) & _DIGITS
            other[counts[digit]] = key
            counts[digit] += 1
        keys, other = other, keys
    return keys


@nb.njit(cache=True, nogil=True)
def check_buckets(
    rows: Any,
    sorted_keys: NDArray[np.uint64],
    edge_threshold: np.float32,
    leader_threshold: np.float32,
    exhaustive_bucket_size: int,
    max_leaders: int,
    known: Known,
) -> tuple[NDArray[np.uint64], NDArray[np.float32], NDArray[np.int64]]:
    """Checks each bucket. Returns edges (packed pairs, similarities) that are not known, and counts.

    A key is (bucket << 32) | row. A bucket of up to `exhaustive_bucket_size` rows checks all its pairs and keeps their
    spanning tree. In a larger one each row, in row order, is compared with the bucket's leaders only. It takes an edge
    to the most similar leader if that reaches `edge_threshold`, and becomes a leader itself if that stays below
    `leader_threshold`; so a bucket costs at most size x max_leaders checks. The rule looks at one bucket only: edges
    depend neither on the other buckets nor on the order they are checked in. What is known is not compared again.
    Counts: buckets of two rows and more, large ones among them, checks, rows refused as leaders by the cap, checks that
    took a comparison.
    """
    lent = lend(rows)
    # Each row brings one edge at most. Memory that is never written to costs nothing.
    pairs = np.empty(sorted_keys.size, np.uint64)
    similarities = np.empty(sorted_keys.size, np.float32)
    counts = np.zeros(5, np.int64)
    leaders = np.empty(max_leaders, np.uint64)
    edges = 0
    start = 0
    while start < sorted_keys.size:
        bucket = sorted_keys[start] >> _HALF
        end = start + 1
        while end < sorted_keys.size and sorted_keys[end] >> _HALF == bucket:
            end += 1
        size = end - start
        counts[0] += size > 1
        if 1 < size <= exhaustive_bucket_size:
            counts[2] += size * (size - 1) // 2
            if not _are_known(sorted_keys[start:end], known):
                edges += _spanning_tree(
                    lent, sorted_keys[start:end], edge_threshold, pairs[edges:], similarities[edges:], known, counts
                )
                _enter(sorted_keys[start:end], known)
        elif size > 1:
            counts[1] += 1
            edges += _leader_edges(
                lent,
                sorted_keys[start:end],
                edge_threshold,
                leader_threshold,
                leaders,
                pairs[edges:],
                similarities[edges:],
                known,
                counts,
            )
        start = end
    return pairs[:edges], similarities[:edges], counts


@nb.njit(cache=True, nogil=True)
def _are_known(bucket: NDArray[np.uint64], known: Known) -> bool:
    """Whether an earlier bucket had all rows of this one, so that their pairs are known."""
    earlier = known.bucket[bucket[0] & _ROW]
    for key in bucket:
        if known.bucket[key & _ROW] != earlier:
            return False
    return bool(earlier != 0)


@nb.njit(cache=True, nogil=True)
def _enter(bucket: NDArray[np.uint64], known: Known) -> None:
    """From now on the pairs of a bucket are known."""
    for key in bucket:
        known.bucket[key & _ROW] = np.uint32((key >> _HALF) + np.uint64(1))


@nb.njit(cache=True, nogil=True)
def _spanning_tree(
    rows: Any,
    bucket: NDArray[np.uint64],
    edge_threshold: np.float32,
    pairs: NDArray[np.uint64],
    similarities: NDArray[np.float32],
    known: Known,
    counts: NDArray[np.int64],
) -> int:
    """Writes the edges of a bucket's maximum spanning tree that reach the threshold; returns how many there are.

    Prim's algorithm: the newest row of the tree is compared with all rows outside, which makes every pair once. The
    forest of all buckets' trees is the forest of all pairs. The smaller pair decides between equal similarities, so
    there is exactly one tree. Pairs that are known are no edges here: the tree of an earlier bucket stands for them.
    """
    outside = bucket & _ROW
    earlier = known.bucket[outside]
    nearest = np.full(bucket.size, outside[0])
    best = np.full(bucket.size, np.float32(-1.0))
    newest, newest_earlier = outside[0], earlier[0]
    edges = 0
    for left_out in range(bucket.size - 1, 0, -1):
        # outside[1:left_out + 1] are the rows not in the tree; the slot of the one chosen is filled from the end.
        chosen = 1
        for slot in range(1, left_out + 1):
            if earlier[slot] == 0 or earlier[slot] != newest_earlier:
                found = similarity(rows, newest, outside[slot])
                counts[4] += 1
                if _is_better(found, newest, outside[slot], best[slot], nearest[slot], outside[slot]):
                    best[slot], nearest[slot] = found, newest
            if _is_better(best[slot], nearest[slot], outside[slot], best[chosen], nearest[chosen], outside[chosen]):
                chosen = slot
        newest, newest_earlier = outside[chosen], earlier[chosen]
        if best[chosen] >= edge_threshold:
            pairs[edges], similarities[edges] = _packed(newest, nearest[chosen]), best[chosen]
            edges += 1
        outside[chosen], best[chosen], nearest[chosen] = outside[left_out], best[left_out], nearest[left_out]
        earlier[chosen] = earlier[left_out]
    return edges


@nb.njit(cache=True, nogil=True)
def _packed(left: np.uint64, right: np.uint64) -> np.uint64:
    return (min(left, right) << _HALF) | max(left, right)


@nb.njit(cache=True, nogil=True)
def _is_better(
    found: np.float32, a: np.uint64, b: np.uint64, than: np.float32, c: np.uint64, d: np.uint64
) -> np.bool_ | bool:
    """The order of edges everywhere in grouping: more similar first, then the smaller pair."""
    return found > than or (found == than and _packed(a, b) < _packed(c, d))


@nb.njit(cache=True, nogil=True)
def _leader_edges(
    rows: Any,
    bucket: NDArray[np.uint64],
    edge_threshold: np.float32,
    leader_threshold: np.float32,
    leaders: NDArray[np.uint64],
    pairs: NDArray[np.uint64],
    similarities: NDArray[np.float32],
    known: Known,
    counts: NDArray[np.int64],
) -> int:
    """Writes the edges that the leader rule finds in a bucket and that are not known; returns how many there are."""
    edges = led = 0
    for key in bucket:
        row = key & _ROW
        best, best_leader = np.float32(-1.0), np.uint64(0)
        for leader in range(led):
            place = _known_leader(known, row, np.int32(leaders[leader] + np.uint64(1)))
            if place < 0:
                found = similarity(rows, leaders[leader], row)
                counts[4] += 1
                _remember(known, row, np.int32(leaders[leader] + np.uint64(1)), found)
            else:
                found = known.similarities[row, place]
            if found > best:
                best, best_leader = found, leaders[leader]
        counts[2] += led
        if led > 0 and best >= edge_threshold:
            place = _known_leader(known, row, np.int32(best_leader + np.uint64(1)))
            if place < 0 or known.leaders[row, place] > 0:
                pairs[edges], similarities[edges] = _packed(best_leader, row), best
                edges += 1
            if place >= 0:
                known.leaders[row, place] = -np.int32(best_leader + np.uint64(1))
        if best < leader_threshold:
            if led < leaders.size:
                leaders[led] = row
                led += 1
            else:
                counts[3] += 1
    return edges


@nb.njit(cache=True, nogil=True)
def _known_leader(known: Known, row: np.uint64, leader: np.int32) -> int:
    """Where the similarity of a row to a leader is remembered, -1 if it is not."""
    for place in range(_LEADERS):
        if abs(known.leaders[row, place]) == leader:
            return place
    return -1


@nb.njit(cache=True, nogil=True)
def _remember(known: Known, row: np.uint64, leader: np.int32, found: np.float32) -> None:
    """Remembers a similarity in the place of the one that was remembered first."""
    for place in range(_LEADERS - 1, 0, -1):
        known.leaders[row, place] = known.leaders[row, place - 1]
        known.similarities[row, place] = known.similarities[row, place - 1]
    known.leaders[row, 0], known.similarities[row, 0] = leader, found


@nb.njit(cache=True, nogil=True)
def find_medoids(rows: Any, starts: NDArray[np.int64], numbers: NDArray[np.int32], sample: int) -> NDArray[np.int64]:
    """The medoid of each group: the one of its first `sample` rows with the highest sum of similarities to them.

    Group g has the rows from starts[g] to starts[g+1]; the caller shuffles them, so the first ones are a fair sample.
    Ties go to the row with the smallest number.
    """
    lent = lend(rows)
    medoids = np.empty(starts.size - 1, np.int64)
    sums = np.empty(sample, np.float64)
    for group in range(starts.size - 1):
        first = starts[group]
        size = min(starts[group + 1] - first, sample)
        sums[:size] = 0.0
        for right in range(1, size):
            for left in range(right):
                found = np.float64(similarity(lent, first + left, first + right))
                sums[left] += found
                sums[right] += found
        best = 0
        for place in range(1, size):
            is_smaller = numbers[first + place] < numbers[first + best]
            if sums[place] > sums[best] or (sums[place] == sums[best] and is_smaller):
                best = place
        medoids[group] = first + best
    return medoids
