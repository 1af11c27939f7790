"""Segments that lie end to end: segment i is values[bounds[i]:bounds[i+1]]."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME, GOLDEN, finish


@helper
def longest_segment(bounds: NDArray[np.int64]) -> np.int64:
    """The length of the longest segment, 0 where there is none."""
    longest = np.int64(0)
    for segment in range(bounds.size - 1):
        longest = max(longest, bounds[segment + 1] - bounds[segment])
    return longest


@helper
def readable_segment(
    data: NDArray[np.uint8], start: np.int64, stop: np.int64, copied: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """data[start:stop] for kernels that look at whole blocks: where too little lies behind it, a copy of it.

    `copied` is longer than the longest segment by the size of a block.
    """
    size = stop - start
    if stop + copied.size - size <= data.size:
        return data[start:stop]
    copied[:size] = data[start:stop]
    return copied[:size]


@nb.njit(cache=True, nogil=True)
def segment_sums(values: NDArray[np.float64], bounds: NDArray[np.integer]) -> NDArray[np.float64]:
    """The sum of each segment."""
    sums = np.zeros(bounds.size - 1)
    for segment in range(bounds.size - 1):
        for place in range(bounds[segment], bounds[segment + 1]):
            sums[segment] += values[place]
    return sums


@nb.njit(cache=True, nogil=True)
def segment_peaks(values: NDArray[np.float64], bounds: NDArray[np.integer]) -> NDArray[np.float64]:
    """The largest value of each segment, 0 where none is larger."""
    peaks = np.zeros(bounds.size - 1)
    for segment in range(bounds.size - 1):
        for place in range(bounds[segment], bounds[segment + 1]):
            peaks[segment] = max(peaks[segment], values[place])
    return peaks


@nb.njit(cache=True, nogil=True)
def distinct_values(
    values: NDArray[np.uint64], places: NDArray[np.int32], bounds: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many different values each segment of places has, values[places[bounds[i]:bounds[i+1]]].

    A hash table, at most half full, serves all segments: each segment writes its own number beside its values.
    """
    bits = 1
    while (1 << bits) < 2 * longest_segment(bounds):
        bits += 1
    table, owner = np.empty(1 << bits, np.uint64), np.full(1 << bits, -1, np.int32)
    counts = np.zeros(bounds.size - 1, np.int64)
    for segment in range(bounds.size - 1):
        used = 1  # a small segment needs a small part of the table, which stays in the cache
        while (1 << used) < 2 * (bounds[segment + 1] - bounds[segment]):
            used += 1
        for place in range(bounds[segment], bounds[segment + 1]):
            value = values[places[place]]
            slot = (value * GOLDEN) >> np.uint64(64 - used)
            while owner[slot] == segment and table[slot] != value:
                slot = (slot + np.uint64(1)) & np.uint64((1 << used) - 1)
            if owner[slot] != segment:
                table[slot], owner[slot] = value, segment
                counts[segment] += 1
    return counts


@nb.njit(cache=True, nogil=True)
def segment_hashes(data: NDArray[np.uint8], bounds: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each segment of bytes, never 0 (FNV-1a)."""
    hashes = np.empty(bounds.size - 1, np.uint64)
    for segment in range(bounds.size - 1):
        state = FNV_BASIS
        for place in range(bounds[segment], bounds[segment + 1]):
            state = (state ^ np.uint64(data[place])) * FNV_PRIME
        hashes[segment] = max(finish(state), np.uint64(1))
    return hashes
