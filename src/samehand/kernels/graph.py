"""Buckets to edges, edges to forests and groups: the hot loops of grouping.

Pages are rows, numbered by int32; the caller keeps rows in page_id order. An edge is a pair, left < right, packed as
(left << 32) | right, and a similarity. `tests/test_grouping.py` holds each function equal to a readable reference.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.noise import EMPTY
from samehand.kernels.sketches import Lanes, row_similarity

_EMPTY = np.uint32(EMPTY)
_ROW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@nb.njit(cache=True, nogil=True)
def keys_between(column: NDArray[np.uint32], chosen: NDArray[np.bool_], first: int, end: int) -> NDArray[np.uint64]:
    """What a probe sorts: (bucket << 32) | row, for the chosen rows whose bucket is from `first` up to `end`."""
    count = 0
    for row in range(column.size):
        count += chosen[row] and column[row] != _EMPTY and first <= column[row] < end
    keys = np.empty(count, np.uint64)
    count = 0
    for row in range(column.size):
        if chosen[row] and column[row] != _EMPTY and first <= column[row] < end:
            keys[count] = (np.uint64(column[row]) << _HALF) | np.uint64(row)
            count += 1
    return keys


@nb.njit(cache=True, nogil=True)
def _packed(left: np.uint64, right: np.uint64) -> np.uint64:
    return (min(left, right) << _HALF) | max(left, right)


@nb.njit(cache=True, nogil=True)
def check_buckets(
    words: NDArray[np.uint64],
    filled: NDArray[np.int16],
    sorted_keys: NDArray[np.uint64],
    lanes: Lanes,
    loose: float,
    tight: float,
    exhaustive_bucket_size: int,
    max_leaders: int,
) -> tuple[NDArray[np.uint64], NDArray[np.float32], NDArray[np.int64]]:
    """Checks each bucket of one probe. Returns edges (packed pairs, similarities) and counts.

    A bucket of up to `exhaustive_bucket_size` rows checks all its pairs, and keeps their spanning tree. In a larger
    one each row, in row order, is compared with the bucket's leaders only, takes an edge to the most similar one if that
    reaches `loose`, and becomes a leader itself if that stays below `tight`; so a bucket costs at most
    size x max_leaders checks. The rule looks at one bucket only: edges depend neither on the other buckets nor on the
    order they are checked in.
    Counts: buckets of two rows and more, large ones among them, checks, rows refused as leaders by the cap.
    """
    # Each row brings one edge at most. Memory that is never written to costs nothing.
    pairs = np.empty(sorted_keys.size, np.uint64)
    similarities = np.empty(sorted_keys.size, np.float32)
    counts = np.zeros(4, np.int64)
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
            edges = _check_all(words, filled, sorted_keys[start:end], lanes, loose, pairs, similarities, edges)
            counts[2] += size * (size - 1) // 2
        elif size > 1:
            edges = _check_leaders(
                words,
                filled,
                sorted_keys[start:end],
                lanes,
                loose,
                tight,
                leaders,
                pairs,
                similarities,
                edges,
                counts,
            )
            counts[1] += 1
        start = end
    return pairs[:edges], similarities[:edges], counts


@nb.njit(cache=True, nogil=True)
def _check_all(
    words: NDArray[np.uint64],
    filled: NDArray[np.int16],
    bucket: NDArray[np.uint64],
    lanes: Lanes,
    loose: float,
    pairs: NDArray[np.uint64],
    similarities: NDArray[np.float32],
    edges: int,
) -> int:
    """Prim: grows the bucket's maximum spanning tree row by row, comparing each row with all that are not in it yet.

    That is every pair once. Only the tree's edges go on: the forest of all buckets' trees is the forest of all pairs.
    Equal similarities are decided by the smaller pair, so the tree is the one and only.
    """
    outside = bucket & _ROW
    nearest = np.full(bucket.size, outside[0])
    best = np.full(bucket.size, np.float32(-1.0))
    newest = outside[0]
    for left_out in range(bucket.size - 1, 0, -1):
        # outside[1:left_out + 1] are the rows not in the tree; the slot of the one chosen is filled from the end.
        chosen = 1
        for slot in range(1, left_out + 1):
            found = row_similarity(words, filled, newest, outside[slot], lanes)
            if _is_better(found, newest, outside[slot], best[slot], nearest[slot], outside[slot]):
                best[slot], nearest[slot] = found, newest
            if _is_better(best[slot], nearest[slot], outside[slot], best[chosen], nearest[chosen], outside[chosen]):
                chosen = slot
        newest = outside[chosen]
        if best[chosen] >= loose:
            pairs[edges], similarities[edges] = _packed(newest, nearest[chosen]), best[chosen]
            edges += 1
        outside[chosen], best[chosen], nearest[chosen] = outside[left_out], best[left_out], nearest[left_out]
    return edges


@nb.njit(cache=True, nogil=True)
def _is_better(
    similarity: np.float32, a: np.uint64, b: np.uint64, than: np.float32, c: np.uint64, d: np.uint64
) -> np.bool_ | bool:
    """The order of edges that every part of grouping keeps to: more similar first, then the smaller pair."""
    return similarity > than or (similarity == than and _packed(a, b) < _packed(c, d))


@nb.njit(cache=True, nogil=True)
def _check_leaders(
    words: NDArray[np.uint64],
    filled: NDArray[np.int16],
    bucket: NDArray[np.uint64],
    lanes: Lanes,
    loose: float,
    tight: float,
    leaders: NDArray[np.uint64],
    pairs: NDArray[np.uint64],
    similarities: NDArray[np.float32],
    edges: int,
    counts: NDArray[np.int64],
) -> int:
    led = 0
    for key in bucket:
        row = key & _ROW
        best, best_leader = np.float32(-1.0), np.uint64(0)
        for leader in range(led):
            found = row_similarity(words, filled, leaders[leader], row, lanes)
            if found > best:
                best, best_leader = found, leaders[leader]
        counts[2] += led
        if led > 0 and best >= loose:
            pairs[edges], similarities[edges] = _packed(best_leader, row), best
            edges += 1
        if best < tight:
            if led < leaders.size:
                leaders[led] = row
                led += 1
            else:
                counts[3] += 1
    return edges


@nb.njit(cache=True, nogil=True)
def drop_seen(pairs: NDArray[np.uint64], similarities: NDArray[np.float32], seen: NDArray[np.uint64]) -> int:
    """Moves the edges that are not in `seen` to the front and returns how many they are; notes them in `seen`.

    Similar pages meet in many probes. `seen` is a table with one place for a pair: it forgets, but it never takes
    one pair for another.
    """
    kept = 0
    mask = np.uint64(seen.size - 1)
    for edge in range(pairs.size):
        pair = pairs[edge]
        mixed = (pair ^ (pair >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
        place = (mixed >> np.uint64(24)) & mask
        if seen[place] != pair:
            seen[place] = pair
            pairs[kept], similarities[kept] = pair, similarities[edge]
            kept += 1
    return kept


@nb.njit(cache=True, nogil=True)
def best_first(pairs: NDArray[np.uint64], similarities: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The order of edges by similarity, highest first, and equal ones by pair: six passes of a radix sort.

    Similarities are above 0, so their bits are in the order of their values.
    """
    order = np.arange(pairs.size).astype(np.uint32)
    other = np.empty(pairs.size, np.uint32)
    bits = similarities.view(np.uint32)
    counts = np.empty(1 << 16, np.int64)
    for turn in range(6):
        shift = np.uint64(16 * (turn if turn < 4 else turn - 4))
        counts[:] = 0
        for edge in range(pairs.size):
            key = pairs[edge] if turn < 4 else np.uint64(~bits[edge])
            counts[(key >> shift) & np.uint64(0xFFFF)] += 1
        if counts.max() == pairs.size:
            continue
        place = np.int64(0)
        for digit in range(counts.size):
            place, counts[digit] = place + counts[digit], place
        for position in range(pairs.size):
            edge32 = order[position]
            key = pairs[edge32] if turn < 4 else np.uint64(~bits[edge32])
            digit16 = (key >> shift) & np.uint64(0xFFFF)
            other[counts[digit16]] = edge32
            counts[digit16] += 1
        order, other = other, order
    return order


@nb.njit(cache=True, nogil=True)
def _root(parents: NDArray[np.int32], node: np.int32) -> np.int32:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@nb.njit(cache=True, nogil=True)
def merge_forest(
    old: NDArray[np.uint64],
    old_similarities: NDArray[np.float32],
    new: NDArray[np.uint64],
    new_similarities: NDArray[np.float32],
    nodes: int,
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Kruskal: those of the edges that join two trees, best first. `old` is best first already, `new` is not."""
    order = best_first(new, new_similarities)
    parents = np.arange(nodes).astype(np.int32)
    most = min(old.size + new.size, max(nodes - 1, 0))
    pairs, similarities = np.empty(most, np.uint64), np.empty(most, np.float32)
    count = i = j = 0
    while i < old.size or j < new.size:
        edge = order[j] if j < new.size else np.uint32(0)
        if j == new.size or (
            i < old.size
            and (
                old_similarities[i] > new_similarities[edge]
                or (old_similarities[i] == new_similarities[edge] and old[i] <= new[edge])
            )
        ):
            pair, similarity = old[i], old_similarities[i]
            i += 1
        else:
            pair, similarity = new[edge], new_similarities[edge]
            j += 1
        left, right = _root(parents, np.int32(pair >> _HALF)), _root(parents, np.int32(pair & _ROW))
        if left != right:
            parents[max(left, right)] = min(left, right)
            pairs[count], similarities[count] = pair, similarity
            count += 1
    return pairs[:count], similarities[:count]


@nb.njit(cache=True, nogil=True)
def components(pairs: NDArray[np.uint64], nodes: int) -> NDArray[np.int32]:
    """The smallest node of each node's component."""
    parents = np.arange(nodes).astype(np.int32)
    for pair in pairs:
        left, right = _root(parents, np.int32(pair >> _HALF)), _root(parents, np.int32(pair & _ROW))
        if left != right:
            parents[max(left, right)] = min(left, right)
    for node in range(nodes):
        parents[node] = parents[parents[node]]  # parents are smaller, hence final already
    return parents
