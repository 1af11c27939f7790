"""Sketches: narrow ones, their similarities, and their buckets in each probe.

A wide sketch is a row of uint32 values, EMPTY where nothing was seen. Narrow sketches are compared: the values of a row
are lanes of 4 or 8 bits (or all 32) in 64-bit words, with all bits set where the value is EMPTY. A comparison of two
words compares all their lanes at once. `tests/test_kernels_sketches.py` holds each function equal to a readable
reference.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import equal_bytes, ones
from samehand.kernels.buckets import similarity_of
from samehand.kernels.hashing import GOLDEN, MURMUR, absorb, finish
from samehand.kernels.noise import EMPTY
from samehand.kernels.pointers import lend, pointer

_EMPTY = np.uint32(EMPTY)
_NARROW_EMPTY = np.uint8(255)
_NARROW_VALUES = np.uint32(255)
_NARROWEST_EMPTY, _NARROWEST_VALUES = np.uint8(15), np.uint32(15)
_BYTES, _HALF_BYTES = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x7777777777777777)
_TILE = 16
"""Rows whose buckets are entered together: 16 buckets are a cache line."""
_BLOCK = np.uint64(8)
"""Words that `equal_bytes` compares at once."""


class Lanes(NamedTuple):
    """How words hold values: all bits of a lane but the highest, words and lanes of a row, and what the estimate needs.

    `chance` is the probability that different values share a lane's bits. For `floor` see `similarity_between`.
    """

    low: np.uint64
    words: int
    dimensions: int
    chance: float
    floor: int


class SketchRows(NamedTuple):
    """Narrow sketches: the words of each row, and how many of its dimensions are filled."""

    words: NDArray[np.uint64]
    filled: NDArray[np.int16]
    lanes: Lanes


@nb.njit(cache=True, nogil=True)
def narrowed(values: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Wide values as one byte each: the remainder modulo 255, or 255 for EMPTY."""
    narrow = np.empty(values.shape, np.uint8)
    for row in range(values.shape[0]):
        _narrow(values[row], narrow[row])
    return narrow


@helper
def _narrow(values: NDArray[np.uint32], narrow: NDArray[np.uint8]) -> None:
    for dimension in range(values.size):
        value = values[dimension]
        narrow[dimension] = _NARROW_EMPTY if value == _EMPTY else np.uint8(value % _NARROW_VALUES)


@nb.njit(cache=True, nogil=True)
def narrowest(values: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """Wide values as half a byte each, even dimensions in the low half: the remainder modulo 15, or 15 for EMPTY."""
    narrow = np.empty((values.shape[0], values.shape[1] // 2), np.uint8)
    for row in range(values.shape[0]):
        _narrow_most(values[row], narrow[row])
    return narrow


@helper
def _narrow_most(values: NDArray[np.uint32], narrow: NDArray[np.uint8]) -> None:
    for place in range(narrow.size):
        narrow[place] = _half_byte(values[2 * place]) | (_half_byte(values[2 * place + 1]) << np.uint8(4))


@helper
def _half_byte(value: np.uint32) -> np.uint8:
    return _NARROWEST_EMPTY if value == _EMPTY else np.uint8(value % _NARROWEST_VALUES)


@nb.njit(cache=True, nogil=True)
def reduced(
    values: NDArray[np.uint32], bits: int, subsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.uint32]]:
    """What grouping needs of wide sketches: `narrowed` (8 bits) or `narrowest` (4), `hash_rows` and `bucket_columns`.

    All of it in one pass, because wide sketches are large, and each pass would wait for memory.
    """
    narrow = np.empty((values.shape[0], values.shape[1] * bits // 8), np.uint8)
    hashes = np.empty(values.shape[0], np.uint64)
    columns = np.empty((subsets.shape[0], values.shape[0]), np.uint32)
    factors = _factors(values.shape[1])
    for first in range(0, values.shape[0], _TILE):
        stop = min(first + _TILE, values.shape[0])
        for row in range(first, stop):
            if bits == 8:
                _narrow(values[row], narrow[row])
            else:
                _narrow_most(values[row], narrow[row])
            hashes[row] = _hash(values[row], factors)
        _enter_buckets(values, first, stop, subsets, columns)
    return narrow, hashes, columns


@nb.njit(cache=True, nogil=True)
def count_filled(values: NDArray[np.uint32]) -> NDArray[np.int16]:
    """Filled dimensions of each wide sketch."""
    filled = np.zeros(values.shape[0], np.int16)
    for row in range(values.shape[0]):
        for dimension in range(values.shape[1]):
            filled[row] += values[row, dimension] != _EMPTY
    return filled


@nb.njit(cache=True, nogil=True)
def hash_rows(values: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """A 64-bit hash of each wide sketch, never 0, to bring equal sketches together.

    It is the sum of all values, each times a factor of its own (multilinear hashing): processors add many at once.
    """
    factors = _factors(values.shape[1])
    hashes = np.empty(values.shape[0], np.uint64)
    for row in range(values.shape[0]):
        hashes[row] = _hash(values[row], factors)
    return hashes


@helper
def _factors(dimensions: int) -> NDArray[np.uint64]:
    factors = np.empty(dimensions, np.uint64)
    for dimension in range(factors.size):
        factors[dimension] = absorb(GOLDEN, np.uint64(dimension), MURMUR) | np.uint64(1)
    return factors


@helper
def _hash(values: NDArray[np.uint32], factors: NDArray[np.uint64]) -> np.uint64:
    state = GOLDEN
    for dimension in range(factors.size):
        state += np.uint64(values[dimension]) * factors[dimension]
    return max(finish(state), np.uint64(1))


@nb.njit(cache=True, nogil=True)
def copy_rows(
    rows: NDArray[np.uint64], chosen: NDArray[np.int32], places: NDArray[np.int64], copied: NDArray[np.uint64]
) -> None:
    """Copies row chosen[i] to row places[i] of another array, for each i."""
    source, target, width = pointer(rows), pointer(copied), np.uint64(rows.shape[1])
    for number in range(chosen.size):
        start, end = np.uint64(chosen[number]) * width, np.uint64(places[number]) * width
        for word in range(width):
            target[end + word] = source[start + word]


@nb.njit(cache=True, nogil=True)
def bucket_columns(values: NDArray[np.uint32], subsets: NDArray[np.int64]) -> NDArray[np.uint32]:
    """The bucket of each wide sketch in each probe (rows); EMPTY where one of the probe's dimensions is EMPTY."""
    columns = np.empty((subsets.shape[0], values.shape[0]), np.uint32)
    for first in range(0, values.shape[0], _TILE):
        _enter_buckets(values, first, min(first + _TILE, values.shape[0]), subsets, columns)
    return columns


@helper
def _enter_buckets(
    values: NDArray[np.uint32], first: int, stop: int, subsets: NDArray[np.int64], columns: NDArray[np.uint32]
) -> None:
    """Enters the buckets of a few rows, probe by probe: columns lie far apart, and are written by cache lines."""
    for probe in range(subsets.shape[0]):
        if subsets.shape[1] == 1:
            dimension = np.uint64(subsets[probe, 0])
            for row in range(np.uint64(first), np.uint64(stop)):
                columns[np.uint64(probe), row] = values[row, dimension]
            continue
        for row in range(first, stop):
            key = np.uint64(0)
            filled = True
            for place in range(subsets.shape[1]):
                value = values[row, subsets[probe, place]]
                filled &= value != _EMPTY
                key = (key * np.uint64(0x9E3779B1) + np.uint64(value)) & np.uint64(0xFFFFFFFF)
            if key == np.uint64(_EMPTY):
                key -= np.uint64(1)  # the hash of several dimensions may be EMPTY by chance
            columns[probe, row] = np.uint32(key) if filled else _EMPTY


@nb.njit(cache=True, nogil=True, forceinline=True)
def _is_set(word: np.uint64, low: np.uint64) -> np.uint64:
    """The highest bit of each lane is set where the lane is not zero; all other bits are set."""
    return ((word & low) + low) | word | low


@nb.njit(cache=True, nogil=True, forceinline=True)
def equal_lanes(rows: SketchRows, first: np.uint64, others: SketchRows, second: np.uint64) -> np.uint64:
    """Lanes that are equal in two rows, whose words begin at `first` and `second`: 8 words at a time, then the rest."""
    width, low = np.uint64(rows.lanes.words), rows.lanes.low
    equal = place = np.uint64(0)
    if low == _BYTES:
        while place + _BLOCK <= width:
            equal += equal_bytes(rows.words, first + place, others.words, second + place, 0xFF)
            place += _BLOCK
    elif low == _HALF_BYTES:
        while place + _BLOCK <= width:
            equal += equal_bytes(rows.words, first + place, others.words, second + place, 0x0F)
            equal += equal_bytes(rows.words, first + place, others.words, second + place, 0xF0)
            place += _BLOCK
    while place < width:
        equal += ones(~_is_set(rows.words[first + place] ^ others.words[second + place], low))
        place += np.uint64(1)
    return equal


@nb.njit(cache=True, nogil=True, forceinline=True)
def matches_between(
    rows: SketchRows, row: np.uint64, others: SketchRows, other: np.uint64
) -> tuple[np.float64, np.int64]:
    """Matching dimensions of two rows, of one table or of two, and dimensions that are filled in either.

    Some lanes match by chance: k = t + chance x (b - t), where k lanes match, b are filled in both and t match truly.
    The estimate takes t. A search spends most of its time here.
    """
    lanes = rows.lanes
    width = np.uint64(lanes.words)
    first, second = row * width, other * width
    equal = equal_lanes(rows, first, others, second)
    empty_in_both = np.uint64(0)
    # Most pages fill every dimension, and then no lane can be empty in both. Those that are count as equal.
    if rows.filled[row] < lanes.dimensions and others.filled[other] < lanes.dimensions:
        for place in range(width):
            empty_in_both += ones(~_is_set(~(rows.words[first + place] & others.words[second + place]), lanes.low))
    in_either = lanes.dimensions - np.int64(empty_in_both)
    in_both = np.int64(rows.filled[row]) + np.int64(others.filled[other]) - in_either
    return true_matches(equal - empty_in_both, in_both, lanes.chance), in_either


@nb.njit(cache=True, nogil=True, forceinline=True)
def true_matches(equal: int | np.uint64, in_both: int | np.int64, chance: float) -> np.float64:
    """How many of the lanes that are equal match truly."""
    return max((np.float64(equal) - chance * in_both) / (1.0 - chance), np.float64(0.0))


@nb.njit(cache=True, nogil=True, forceinline=True)
def similarity_between(rows: SketchRows, row: np.uint64, others: SketchRows, other: np.uint64) -> np.float32:
    """Matching dimensions ÷ dimensions filled in either sketch, or ÷ `floor` where fewer are filled.

    floor = 1 is the default estimate of Jaccard; floor = m always divides by m, as the paper does.
    """
    matches, in_either = matches_between(rows, row, others, other)
    return np.float32(matches / max(in_either, np.int64(rows.lanes.floor)))


@similarity_of(SketchRows)
@nb.njit(cache=True, nogil=True)
def row_similarity(rows: SketchRows, left: int, right: int) -> np.float32:
    """Similarity of two rows of the same table."""
    return similarity_between(rows, np.uint64(left), rows, np.uint64(right))


@nb.njit(cache=True, nogil=True)
def cross_similarities(rows: SketchRows, queries: SketchRows) -> NDArray[np.float32]:
    """Similarity of every query (rows) to every row (columns)."""
    result = np.empty((queries.filled.size, rows.filled.size), np.float32)
    lent, lent_queries = lend(rows), lend(queries)
    for row in range(result.shape[1]):
        for query in range(result.shape[0]):
            result[query, row] = similarity_between(lent, np.uint64(row), lent_queries, np.uint64(query))
    return result
