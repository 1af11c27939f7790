"""Sketches to edges, edges to forests and groups: the hot loops of grouping.

A sketch is a row of uint32 values, EMPTY where nothing was seen. Pages are rows, numbered by int64; the caller keeps
rows in page_id order. Edges are three arrays of equal length: left < right, and the similarity between them.
`tests/test_kernels_graph.py` holds each function equal to a readable reference.
"""

from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.noise import EMPTY

_EMPTY = np.uint32(EMPTY)


@nb.njit(cache=True, nogil=True)
def similarity(left: NDArray[np.uint32], right: NDArray[np.uint32], floor: int) -> np.float32:
    """Matching dimensions ÷ dimensions filled in either sketch, or ÷ `floor` where fewer are filled.

    floor = 1 is the default estimate of Jaccard; floor = m divides by m always, as the paper does.
    """
    equal = np.int32(0)
    both_empty = np.int32(0)
    for dimension in range(np.uint32(left.size)):
        equal += np.int32(left[dimension] == right[dimension])
        both_empty += np.int32((left[dimension] & right[dimension]) == _EMPTY)
    filled = left.size - both_empty
    return np.float32(equal - both_empty) / np.float32(filled if filled > floor else floor)


@nb.njit(cache=True, nogil=True)
def row_similarity(values: NDArray[np.uint32], left: np.int64 | int, right: np.int64 | int, floor: int) -> np.float32:
    """`similarity` of two rows. Indexing the table is a third faster than taking its rows as arrays first."""
    first, second = np.uint64(left), np.uint64(right)
    equal = np.int32(0)
    both_empty = np.int32(0)
    for dimension in range(np.uint64(values.shape[1])):
        a, b = values[first, dimension], values[second, dimension]
        equal += np.int32(a == b)
        both_empty += np.int32((a & b) == _EMPTY)
    filled = values.shape[1] - both_empty
    return np.float32(equal - both_empty) / np.float32(filled if filled > floor else floor)


@nb.njit(cache=True, nogil=True)
def similarities_to(
    values: NDArray[np.uint32], rows: NDArray[np.int64], sketch: NDArray[np.uint32], floor: int
) -> NDArray[np.float32]:
    """Similarity of each of `rows` to one sketch."""
    result = np.empty(rows.size, np.float32)
    for position in range(rows.size):
        result[position] = similarity(values[rows[position]], sketch, floor)
    return result


@nb.njit(cache=True, nogil=True)
def count_filled(values: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Filled dimensions of each sketch."""
    filled = np.zeros(values.shape[0], np.int64)
    for row in range(values.shape[0]):
        for dimension in range(values.shape[1]):
            filled[row] += values[row, dimension] != _EMPTY
    return filled


@nb.njit(cache=True, nogil=True)
def hash_rows(values: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A 64-bit hash of each sketch, to bring equal ones together; equality itself is always checked."""
    hashes = np.empty(values.shape[0], np.uint64)
    for row in range(values.shape[0]):
        state = np.uint64(0x9E3779B97F4A7C15)
        for dimension in range(values.shape[1]):
            state = (state ^ np.uint64(values[row, dimension])) * np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        hashes[row] = state
    return hashes


@nb.njit(cache=True, nogil=True)
def first_equal(values: NDArray[np.uint32], hashes: NDArray[np.uint64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row the smallest row with an equal sketch. `order` sorts rows by (hash, row)."""
    firsts = np.arange(values.shape[0])
    leader = 0
    for position in range(1, order.size):
        row, first = order[position], order[leader]
        if hashes[row] != hashes[first]:
            leader = position
        elif np.array_equal(values[row], values[first]):
            firsts[row] = first
    return firsts


@nb.njit(cache=True, nogil=True)
def probe_keys(
    values: NDArray[np.uint32], rows: NDArray[np.int64], dimensions: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """What one probe sorts: (bucket key << 32) | position in `rows`, for rows filled in all of `dimensions`."""
    keys = np.empty(rows.size, np.uint64)
    count = 0
    for position in range(rows.size):
        bucket = np.uint64(0)
        filled = True
        for dimension in dimensions:
            value = values[rows[position], dimension]
            filled &= value != _EMPTY
            bucket = (bucket * np.uint64(0x9E3779B1) + np.uint64(value)) & np.uint64(0xFFFFFFFF)
        if filled:
            keys[count] = (bucket << np.uint64(32)) | np.uint64(position)
            count += 1
    return keys[:count]


@nb.njit(cache=True, nogil=True)
def _grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    if needed <= array.shape[0]:
        return array
    larger = np.empty((max(needed, 2 * array.shape[0]), array.shape[1]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@nb.njit(cache=True, nogil=True)
def check_buckets(
    values: NDArray[np.uint32],
    rows: NDArray[np.int64],
    sorted_keys: NDArray[np.uint64],
    floor: int,
    loose: float,
    tight: float,
    full_check: int,
    max_leaders: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Checks each bucket of one probe. Returns edges (pairs, similarities) and counts.

    A bucket of up to `full_check` rows checks all its pairs, and keeps their spanning tree. In a larger one each
    row, in row order, is compared with the bucket's leaders only, takes an edge to the most similar one if that
    reaches `loose`, and becomes a leader itself if that stays below `tight`; so a bucket costs at most
    size x max_leaders checks. The rule looks at one bucket only: edges depend neither on the other buckets nor on the
    order they are checked in.
    Counts: buckets of two rows and more, large ones among them, checks, rows refused as leaders by the cap.
    """
    pairs = np.empty((1024, 2), np.int64)
    similarities = np.empty((1024, 1), np.float32)
    counts = np.zeros(4, np.int64)
    leaders = np.empty(max_leaders, np.int64)
    edges = 0
    start = 0
    while start < sorted_keys.size:
        bucket = sorted_keys[start] >> np.uint64(32)
        end = start + 1
        while end < sorted_keys.size and sorted_keys[end] >> np.uint64(32) == bucket:
            end += 1
        size = end - start
        counts[0] += size > 1
        if 1 < size <= full_check:
            pairs = _grown(pairs, edges + size)
            similarities = _grown(similarities, edges + size)
            edges = _check_all(values, rows, sorted_keys[start:end], floor, loose, pairs, similarities, edges)
            counts[2] += size * (size - 1) // 2
        elif size > 1:
            pairs = _grown(pairs, edges + size)
            similarities = _grown(similarities, edges + size)
            edges = _check_leaders(
                values, rows, sorted_keys[start:end], floor, loose, tight, leaders, pairs, similarities, edges, counts
            )
            counts[1] += 1
        start = end
    return pairs[:edges].copy(), similarities[:edges, 0].copy(), counts


@nb.njit(cache=True, nogil=True)
def _row_at(rows: NDArray[np.int64], key: np.uint64) -> np.int64:
    row: np.int64 = rows[key & np.uint64(0xFFFFFFFF)]
    return row


@nb.njit(cache=True, nogil=True)
def _check_all(
    values: NDArray[np.uint32],
    rows: NDArray[np.int64],
    bucket: NDArray[np.uint64],
    floor: int,
    loose: float,
    pairs: NDArray[np.int64],
    similarities: NDArray[np.float32],
    edges: int,
) -> int:
    """Prim: grows the bucket's maximum spanning tree row by row, comparing each row with all that are not in it yet.

    That is every pair once. Only the tree's edges go on: the forest of all buckets' trees is the forest of all pairs.
    """
    outside = np.empty(bucket.size, np.int64)
    for position in range(bucket.size):
        outside[position] = _row_at(rows, bucket[position])
    nearest = np.full(bucket.size, outside[0])
    best = np.full(bucket.size, np.float32(-1.0))
    newest = outside[0]
    for left_out in range(bucket.size - 1, 0, -1):
        # outside[1:left_out + 1] are the rows not in the tree; the slot of the one chosen is filled from the end.
        chosen = 1
        for slot in range(1, left_out + 1):
            found = row_similarity(values, newest, outside[slot], floor)
            if found > best[slot]:
                best[slot], nearest[slot] = found, newest
            if best[slot] > best[chosen]:
                chosen = slot
        newest = outside[chosen]
        if best[chosen] >= loose:
            pairs[edges, 0], pairs[edges, 1] = min(newest, nearest[chosen]), max(newest, nearest[chosen])
            similarities[edges, 0] = best[chosen]
            edges += 1
        outside[chosen], best[chosen], nearest[chosen] = outside[left_out], best[left_out], nearest[left_out]
    return edges


@nb.njit(cache=True, nogil=True)
def _check_leaders(
    values: NDArray[np.uint32],
    rows: NDArray[np.int64],
    bucket: NDArray[np.uint64],
    floor: int,
    loose: float,
    tight: float,
    leaders: NDArray[np.int64],
    pairs: NDArray[np.int64],
    similarities: NDArray[np.float32],
    edges: int,
    counts: NDArray[np.int64],
) -> int:
    led = 0
    for position in range(bucket.size):
        row = _row_at(rows, bucket[position])
        best, best_leader = np.float32(-1.0), np.int64(-1)
        for leader in range(led):
            found = row_similarity(values, leaders[leader], row, floor)
            if found > best:
                best, best_leader = found, leaders[leader]
        counts[2] += led
        if best_leader >= 0 and best >= loose:
            pairs[edges, 0], pairs[edges, 1], similarities[edges, 0] = best_leader, row, best
            edges += 1
        if best < tight:
            if led < leaders.size:
                leaders[led] = row
                led += 1
            else:
                counts[3] += 1
    return edges


@nb.njit(cache=True, nogil=True)
def _root(parents: NDArray[np.int64], node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@nb.njit(cache=True, nogil=True)
def forest_edges(pairs: NDArray[np.int64], nodes: int) -> NDArray[np.bool_]:
    """Kruskal: which of the edges, given best first, join two trees."""
    parents = np.arange(nodes)
    chosen = np.zeros(pairs.shape[0], np.bool_)
    for edge in range(pairs.shape[0]):
        left, right = _root(parents, pairs[edge, 0]), _root(parents, pairs[edge, 1])
        if left != right:
            parents[max(left, right)] = min(left, right)
            chosen[edge] = True
    return chosen


@nb.njit(cache=True, nogil=True)
def components(pairs: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
    """The smallest node of each node's component."""
    parents = np.arange(nodes)
    for edge in range(pairs.shape[0]):
        left, right = _root(parents, pairs[edge, 0]), _root(parents, pairs[edge, 1])
        if left != right:
            parents[max(left, right)] = min(left, right)
    for node in range(nodes):
        parents[node] = parents[parents[node]]  # parents are smaller, hence final already
    return parents


@nb.njit(cache=True, nogil=True)
def find_centres(
    values: NDArray[np.uint32], members: NDArray[np.int64], starts: NDArray[np.int64], sample: int, floor: int
) -> NDArray[np.int64]:
    """The centre of each group: of its first `sample` members, the one nearest to all of them.

    Group g is members[starts[g]:starts[g+1]]; the caller shuffles members, so the first ones are a fair sample.
    Ties go to the smallest row.
    """
    centres = np.empty(starts.size - 1, np.int64)
    sums = np.empty(sample, np.float64)
    for group in range(starts.size - 1):
        chosen = members[starts[group] : min(starts[group + 1], starts[group] + sample)]
        sums[: chosen.size] = 0.0
        for right in range(1, chosen.size):
            for left in range(right):
                found = np.float64(row_similarity(values, chosen[left], chosen[right], floor))
                sums[left] += found
                sums[right] += found
        best = 0
        for position in range(1, chosen.size):
            nearer = sums[position] > sums[best]
            if nearer or (sums[position] == sums[best] and chosen[position] < chosen[best]):
                best = position
        centres[group] = chosen[best]
    return centres


@nb.njit(cache=True, nogil=True)
def similarities_of_pairs(
    values: NDArray[np.uint32], left: NDArray[np.int64], right: NDArray[np.int64], floor: int
) -> NDArray[np.float32]:
    """Similarity of row left[i] to row right[i]."""
    result = np.empty(left.size, np.float32)
    for position in range(left.size):
        result[position] = row_similarity(values, left[position], right[position], floor)
    return result
