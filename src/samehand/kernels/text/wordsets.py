"""Sets of words compared: cosines, the edges within buckets of equal signatures, centres, matches with prototypes.

A set is a sorted row of hashes, sets lie end to end: set i is words[starts[i]:starts[i+1]]. Rows are numbered by
int64 and stand in page_id order. `tests/test_kernels_words.py` holds each function equal to a readable reference.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

_ONE = np.uint64(1)
_MIX_A = np.uint64(0xFF51AFD7ED558CCD)
_MIX_B = np.uint64(0x9E3779B97F4A7C15)


@nb.njit(cache=True, nogil=True)
def digest_sets(starts: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each whole set, never 0."""
    digests = np.empty(starts.size - 1, np.uint64)
    for row in range(digests.size):
        state = np.uint64(starts[row + 1] - starts[row])
        for word in words[starts[row] : starts[row + 1]]:
            state = (state ^ np.uint64(word)) * _MIX_A
            state = (state ^ (state >> np.uint64(32))) * _MIX_B
        digests[row] = max(state ^ (state >> np.uint64(29)), _ONE)
    return digests


@nb.njit(cache=True, nogil=True)
def cosine(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> np.float32:
    """Words in both ÷ the geometric mean of the sizes (section 6.4); 0 when a set is empty."""
    i, j, shared = np.uint64(0), np.uint64(0), np.int64(0)
    left_end, right_end = np.uint64(left.size), np.uint64(right.size)
    while i < left_end and j < right_end:
        a, b = left[i], right[j]
        shared += np.int64(a == b)
        i += np.uint64(a <= b)
        j += np.uint64(b <= a)
    if shared == 0:
        return np.float32(0.0)
    return np.float32(shared / np.sqrt(np.float64(left.size) * np.float64(right.size)))


@nb.njit(cache=True, nogil=True, inline="always")
def _cosine_of(starts: NDArray[np.int64], words: NDArray[np.uint32], left: int, right: int) -> np.float32:
    return cosine(words[starts[left] : starts[left + 1]], words[starts[right] : starts[right + 1]])


@nb.njit(cache=True, nogil=True)
def cosines_of_pairs(
    starts: NDArray[np.int64], words: NDArray[np.uint32], left: NDArray[np.int32], right: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Cosine of row left[i] with row right[i]."""
    result = np.empty(left.size, np.float32)
    for position in range(left.size):
        result[position] = _cosine_of(starts, words, left[position], right[position])
    return result


@nb.njit(cache=True, nogil=True)
def check_buckets(
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    order: NDArray[np.int32],
    tight: float,
    exhaustive_bucket_size: int,
    max_leaders: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int64]]:
    """Checks the rows of each bucket, which are those with one value in `keys`. Returns edges and counts.

    `order` sorts the rows by (key, row). A bucket of up to `exhaustive_bucket_size` rows gives the maximum spanning tree of
    all its pairs; in a larger one each row takes an edge to the most similar of the bucket's leaders, and becomes a leader
    itself if that stays below `tight`. So a row has one edge in a bucket at most, a bucket costs at most size x
    max(exhaustive_bucket_size, max_leaders) checks, and edges depend neither on the other buckets nor on their order.
    Counts: buckets of two rows and more, large ones among them, checks, rows refused as leaders by the cap.
    """
    pairs = np.empty((order.size, 2), np.int32)
    cosines = np.empty(order.size, np.float32)
    counts = np.zeros(4, np.int64)
    edges = first = 0
    while first < order.size:
        last = first + 1
        while last < order.size and keys[order[last]] == keys[order[first]]:
            last += 1
        bucket, size = order[first:last], last - first
        room = slice(edges, edges + size)
        if 1 < size <= exhaustive_bucket_size:
            edges += _spanning_tree(starts, words, bucket, pairs[room], cosines[room])
            counts[2] += size * (size - 1) // 2
        elif size > 1:
            edges += _leader_edges(starts, words, bucket, tight, max_leaders, pairs[room], cosines[room], counts)
            counts[1] += 1
        counts[0] += size > 1
        first = last
    return pairs[:edges].copy(), cosines[:edges].copy(), counts


@nb.njit(cache=True, nogil=True)
def _spanning_tree(
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    bucket: NDArray[np.int32],
    pairs: NDArray[np.int32],
    cosines: NDArray[np.float32],
) -> int:
    """Prim: the tree of the best pairs has the same components at every cut as all pairs have."""
    nearest = np.zeros(bucket.size, np.int64)
    best = np.full(bucket.size, np.float32(-1.0))
    outside = np.ones(bucket.size, np.bool_)
    newest = 0
    for edge in range(bucket.size - 1):
        outside[newest] = False
        chosen = -1
        for other in range(bucket.size):
            if outside[other]:
                found = _cosine_of(starts, words, bucket[newest], bucket[other])
                if found > best[other]:
                    best[other], nearest[other] = found, newest
                if chosen < 0 or best[other] > best[chosen]:
                    chosen = other
        left, right = bucket[nearest[chosen]], bucket[chosen]
        pairs[edge, 0], pairs[edge, 1], cosines[edge] = min(left, right), max(left, right), best[chosen]
        newest = chosen
    return bucket.size - 1


@nb.njit(cache=True, nogil=True)
def _leader_edges(
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    bucket: NDArray[np.int32],
    tight: float,
    max_leaders: int,
    pairs: NDArray[np.int32],
    cosines: NDArray[np.float32],
    counts: NDArray[np.int64],
) -> int:
    leaders = np.empty(max_leaders, np.int64)
    edges = led = 0
    for row in bucket:
        best, best_leader = np.float32(-1.0), np.int64(-1)
        for leader in leaders[:led]:
            found = _cosine_of(starts, words, leader, row)
            if found > best:
                best, best_leader = found, leader
        counts[2] += led
        if best_leader >= 0:
            pairs[edges, 0], pairs[edges, 1], cosines[edges] = best_leader, row, best
            edges += 1
        if best < tight:
            counts[3] += led == max_leaders
            if led < max_leaders:
                leaders[led] = row
                led += 1
    return edges


@nb.njit(cache=True, nogil=True)
def find_centres(
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    members: NDArray[np.int32],
    bounds: NDArray[np.int64],
    sample: int,
) -> NDArray[np.int32]:
    """The centre of each group: of its first `sample` members, the one nearest to all of them, the smallest of equals.

    Group g is members[bounds[g]:bounds[g+1]]; the caller shuffles members, so the first ones are a fair sample.
    """
    centres = np.empty(bounds.size - 1, np.int32)
    sums = np.empty(sample, np.float64)
    for group in range(centres.size):
        chosen = members[bounds[group] : min(bounds[group + 1], bounds[group] + sample)]
        sums[: chosen.size] = 0.0
        for right in range(1, chosen.size):
            for left in range(right):
                found = np.float64(_cosine_of(starts, words, chosen[left], chosen[right]))
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
def match_prototypes(
    signatures: NDArray[np.uint64],
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    index_keys: NDArray[np.uint64],
    index_rows: NDArray[np.int64],
    prototype_starts: NDArray[np.int64],
    prototype_words: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Of the prototypes that share a signature with each document, the one nearest by cosine: row, column, cosine.

    Row -1 is none. The column is the first whose signature agrees with that prototype's. `index_keys` is sorted;
    signatures of different columns never agree (they are salted), so that one index serves all columns.
    """
    rows = np.full(signatures.shape[0], -1, np.int64)
    columns = np.full(signatures.shape[0], -1, np.int64)
    cosines = np.zeros(signatures.shape[0], np.float32)
    for document in range(signatures.shape[0]):
        own = words[starts[document] : starts[document + 1]]
        for column in range(signatures.shape[1]):
            signature = signatures[document, column]
            place = np.searchsorted(index_keys, signature) if signature != 0 else index_keys.size
            while place < index_keys.size and index_keys[place] == signature:
                row = index_rows[place]
                found = cosine(own, prototype_words[prototype_starts[row] : prototype_starts[row + 1]])
                if rows[document] < 0 or found > cosines[document]:
                    rows[document], columns[document], cosines[document] = row, column, found
                place += 1
    return rows, columns, cosines
