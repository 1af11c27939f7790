"""Ids of accounts that the source of a page shows: of web analytics (UA-1234567), ads (pub-1234567890123456) and tag
managers (GTM-ABC123). One account belongs to one owner, so sites with one id are likely to have one owner.

The lowest bits of an id hold its kind and, for analytics, the number of the property: an account gives each site that
it counts a number of its own (UA-1234567-1, UA-1234567-2)."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import first_bit
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME
from samehand.kernels.html.blocks import BLOCK, equal_bits
from samehand.kernels.pointers import pointer

MAX_IDS = 8
"""Different ids of a page that are kept: the first ones."""

_DASH = np.uint8(0x2D)
_A, _B, _M, _TO_CAPITAL = np.uint8(0x61), np.uint8(0x62), np.uint8(0x6D), np.uint8(0x20)
ANALYTICS, ADS, TAGS = 1, 2, 3
"""Kinds of ids."""
KIND_BITS, NUMBER_BITS = 2, 14
_MOST_NUMBER = (1 << NUMBER_BITS) - 1
_LEAST = (0, 5, 12, 4)
"""Characters that an id of each kind has at least."""


@nb.njit(cache=True, nogil=True)
def owner_ids(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], most: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The ids in the first `most` bytes of each page, end to end, and where those of each page begin."""
    found, starts = np.empty((offsets.size - 1) * MAX_IDS, np.uint64), np.zeros(offsets.size, np.int64)
    source, count = pointer(data), 0
    for page in range(offsets.size - 1):
        first, start = count, offsets[page]
        stop = min(offsets[page + 1], start + most)
        for block in range(start + 3, stop, BLOCK):
            bits = _prefixed_dashes(source, block, min(stop, block + BLOCK), data.size)
            while bits and count - first < MAX_IDS:
                dash = block + int(np.int64(first_bit(bits)))
                bits &= bits - np.uint64(1)
                kind = _kind(source, dash)
                value = _id(source, dash + 1, offsets[page + 1], kind) if kind else np.uint64(0)
                if value and not np.any(found[first:count] == value):
                    found[count] = value
                    count += 1
        starts[page + 1] = count
    return found[:count], starts


@helper
def _prefixed_dashes(source: NDArray[np.uint8], block: int, stop: int, size: int) -> np.uint64:
    """Bit i is set where source[block + i] is a dash, before `stop`, behind the last letter of UA, pub or GTM.

    Hardly any block has one, so that the branch on it is foreseen. Nothing from `size` on is read.
    """
    if block + BLOCK <= size:
        last, inside = np.uint64(block - 1), (np.uint64(1) << np.uint64(stop - block)) - np.uint64(1)
        letters = _either_case(source, last, _A) | _either_case(source, last, _B) | _either_case(source, last, _M)
        found: np.uint64 = letters & equal_bits(source, np.uint64(block), _DASH) & inside
        return found
    bits = np.uint64(0)
    for place in range(block, stop):
        bits |= np.uint64(source[place] == _DASH) << np.uint64(place - block)
    return bits


@helper
def _either_case(source: NDArray[np.uint8], position: np.uint64, letter: np.uint8) -> np.uint64:
    """Bit i is set where byte i of the block at `position` is a letter, small or capital."""
    small: np.uint64 = equal_bits(source, position, letter)
    capital: np.uint64 = equal_bits(source, position, letter - _TO_CAPITAL)
    return small | capital


@helper
def _kind(data: NDArray[np.uint8], dash: int) -> int:
    """The kind of id whose prefix stands before a dash; 0 for none."""
    a, b, c = data[dash - 3], data[dash - 2] | 0x20, data[dash - 1] | 0x20
    if b == 0x75 and c == 0x61 and not (0x61 <= (a | 0x20) <= 0x7A or 0x30 <= a <= 0x39):
        return ANALYTICS
    if (a | 0x20) == 0x70 and b == 0x75 and c == 0x62:
        return ADS
    return TAGS if (a | 0x20) == 0x67 and b == 0x74 and c == 0x6D else 0


@helper
def _id(data: NDArray[np.uint8], start: int, end: int, kind: int) -> np.uint64:
    """Hash of the account (digits, or letters and digits for tag managers), number and kind; 0 for no account."""
    state, position = (FNV_BASIS ^ np.uint64(kind)) * FNV_PRIME, start
    zeros = True
    while position < end and position - start < 20:
        byte = data[position]
        is_digit = 0x30 <= byte <= 0x39
        if not (is_digit or (kind == TAGS and 0x41 <= byte <= 0x5A)):
            break
        zeros = zeros and byte in (0x30, 0x58)  # UA-000000 and UA-XXXXX stand in examples
        state = (state ^ np.uint64(byte)) * FNV_PRIME
        position += 1
    if zeros or position - start < _LEAST[kind]:
        return np.uint64(0)
    number = _number(data, position, end) if kind == ANALYTICS else 0
    low = np.uint64(KIND_BITS + NUMBER_BITS)
    return ((state >> low) << low) | np.uint64(number << KIND_BITS | kind)


@helper
def _number(data: NDArray[np.uint8], position: int, end: int) -> int:
    """The number of a property, which follows a dash; that of the first one if none does."""
    number, last = 0, min(end, position + 6)
    if position < last and data[position] == _DASH:
        position += 1
        while position < last and 0x30 <= data[position] <= 0x39:
            number = number * 10 + int(data[position]) - 0x30
            position += 1
    return min(max(number, 1), _MOST_NUMBER)
