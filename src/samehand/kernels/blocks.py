"""Rows that meet brought together: each bucket goes to the block where most of its rows are at home.

A search compares rows that share a bucket, in many probes. Rows in order of pages are all over memory, and a processor
waits for each. So rows are divided into blocks, such that most of those that meet are in the same one, and the search
goes through one block after the other. How rows are divided changes no answer: a bucket stays whole, and rows keep
their order. `tests/test_blocks.py` holds each function equal to a readable reference.

`homes` are the blocks of rows, HOMELESS for a row that has met no other. `guests` has a bit for each other block that
a row is needed in. An entry is a row of a bucket, with the bit FIRST if it is the bucket's first.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import first_bit, ones
from samehand.kernels.hashing import GOLDEN

MOST = 64
HOMELESS = np.uint8(255)
FIRST = np.uint32(1 << 31)

_ROW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_WORD, _BIT = np.uint64(6), np.uint64(63)
_ONE = np.uint64(1)


@nb.njit(cache=True, nogil=True)
def route(
    sorted_keys: NDArray[np.uint64], homes: NDArray[np.uint8], guests: NDArray[np.uint64], blocks: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The entries of all buckets of two rows and more, block by block, and where each of so many blocks starts.

    A key is (bucket << 32) | row. Threads that share a probe never meet here, because a row is in one of its buckets.
    """
    owners = np.empty(sorted_keys.size // 2 + 1, np.uint8)
    starts = np.zeros(blocks + 1, np.int64)
    found = start = 0
    while start < sorted_keys.size:
        end = _bucket_end(sorted_keys, start)
        if end - start > 1:
            owners[found] = _settle(sorted_keys, start, end, homes, guests, blocks)
            starts[owners[found] + 1] += end - start
            found += 1
        start = end
    starts = starts.cumsum()
    ends = starts[:-1].copy()
    entries = np.empty(starts[-1], np.uint32)
    found = start = 0
    while start < sorted_keys.size:
        end = _bucket_end(sorted_keys, start)
        if end - start > 1:
            place = ends[owners[found]]
            for key in range(start, end):
                entries[place + key - start] = np.uint32(sorted_keys[key] & _ROW)
            entries[place] |= FIRST
            ends[owners[found]] += end - start
            found += 1
        start = end
    return entries, starts


@helper
def _bucket_end(sorted_keys: NDArray[np.uint64], start: int) -> int:
    end = start + 1
    while end < sorted_keys.size and sorted_keys[end] >> _HALF == sorted_keys[start] >> _HALF:
        end += 1
    return end


@helper
def _settle(
    sorted_keys: NDArray[np.uint64],
    start: int,
    end: int,
    homes: NDArray[np.uint8],
    guests: NDArray[np.uint64],
    blocks: int,
) -> np.uint8:
    """The block that a bucket goes to: the home of most of its rows, by Boyer and Moore's vote.

    Rows without a home settle there, the others are guests. If none has a home, the bucket's name decides.
    """
    home, votes = HOMELESS, 0
    for place in range(start, end):
        own = homes[sorted_keys[place] & _ROW]
        if own != HOMELESS:
            if votes == 0:
                home = own
            votes += 1 if own == home else -1
    if home == HOMELESS:
        home = np.uint8((((sorted_keys[start] >> _HALF) * GOLDEN) >> _HALF) % np.uint64(blocks))
    for place in range(start, end):
        row = sorted_keys[place] & _ROW
        if homes[row] == HOMELESS:
            homes[row] = home
        elif homes[row] != home:
            guests[row] |= _ONE << np.uint64(home)
    return home


@nb.njit(cache=True, nogil=True)
def block_sizes(homes: NDArray[np.uint8], guests: NDArray[np.uint64], blocks: int) -> NDArray[np.int64]:
    """How many rows each block needs, guests included."""
    sizes = np.zeros(blocks, np.int64)
    for row in range(homes.size):
        if homes[row] != HOMELESS:
            sizes[homes[row]] += 1
        left = guests[row]
        while left:
            sizes[first_bit(left)] += 1
            left &= left - _ONE
    return sizes


@nb.njit(cache=True, nogil=True)
def rows_of_blocks(
    homes: NDArray[np.uint8], guests: NDArray[np.uint64], first: int, stop: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The rows that each block from `first` to `stop` needs, block by block and in order, and where each starts."""
    starts = np.zeros(stop - first + 1, np.int64)
    for row in range(homes.size):
        if first <= homes[row] < stop:
            starts[homes[row] - first + 1] += 1
        if guests[row]:
            for block in range(first, stop):
                starts[block - first + 1] += (guests[row] >> np.uint64(block)) & _ONE
    starts = starts.cumsum()
    ends = starts[:-1].copy()
    rows = np.empty(starts[-1], np.int32)
    for row in range(homes.size):
        if first <= homes[row] < stop:
            rows[ends[homes[row] - first]] = row
            ends[homes[row] - first] += 1
        if guests[row]:
            for block in range(first, stop):
                if (guests[row] >> np.uint64(block)) & _ONE:
                    rows[ends[block - first]] = row
                    ends[block - first] += 1
    return rows, starts


@nb.njit(cache=True, nogil=True)
def ranked(rows: NDArray[np.int32], count: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """A bit for each of `count` rows that is one of `rows`, and how many bits are set before each word."""
    bits = np.zeros(count // 64 + 1, np.uint64)
    for row in rows:
        bits[np.uint64(row) >> _WORD] |= _ONE << (np.uint64(row) & _BIT)
    before = np.zeros(bits.size, np.int32)
    for word in range(1, bits.size):
        before[word] = before[word - 1] + np.int32(ones(bits[word - 1]))
    return bits, before


@nb.njit(cache=True, nogil=True)
def keys_of_block(
    entries: NDArray[np.uint32],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    bits: NDArray[np.uint64],
    before: NDArray[np.int32],
    first: int,
    buckets: int,
) -> NDArray[np.uint64]:
    """The keys of a block's entries, entries[starts[i]:ends[i]] for each i: (bucket << 32) | place of the row.

    The place of a row is its rank among the block's rows (`ranked`), counted from `first`. Buckets are numbered from
    `buckets` on.
    """
    keys = np.empty((ends - starts).sum(), np.uint64)
    count = 0
    bucket = np.uint64(buckets) - _ONE
    for part in range(starts.size):
        for entry in entries[starts[part] : ends[part]]:
            if entry & FIRST:
                bucket += _ONE
            row = np.uint64(entry & ~FIRST)
            word = row >> _WORD
            rank = np.uint64(before[word]) + ones(bits[word] & ((_ONE << (row & _BIT)) - _ONE))
            keys[count] = (bucket << _HALF) | (np.uint64(first) + rank)
            count += 1
    return keys
