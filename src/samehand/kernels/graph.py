"""Edges to maximum spanning forests and connected components.

Rows are nodes, numbered by int32. An edge is a pair, left < right, packed as (left << 32) | right, and a similarity.
`tests/test_grouping.py` holds each function equal to a readable reference.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

_ROW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@nb.njit(cache=True, nogil=True)
def best_first(pairs: NDArray[np.uint64], similarities: NDArray[np.float32]) -> NDArray[np.uint32]:
    """The order of edges by similarity, highest first, then by pair: a radix sort of six passes.

    Similarities are not negative, so their bits sort as their values do.
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
    """Kruskal's algorithm: the edges that join two trees, best first. `old` is sorted best first, `new` is not."""
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
    """The smallest node of each node's connected component."""
    parents = np.arange(nodes).astype(np.int32)
    for pair in pairs:
        left, right = _root(parents, np.int32(pair >> _HALF)), _root(parents, np.int32(pair & _ROW))
        if left != right:
            parents[max(left, right)] = min(left, right)
    for node in range(nodes):
        parents[node] = parents[parents[node]]  # parents are smaller, so they are final
    return parents
