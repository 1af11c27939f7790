"""What features need of each token: hashes, kind and ending."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.hashing import FNV_BASIS, GOLDEN, absorb

OTHER, NUMBER, WORD = 0, 1, 2
ENDINGS = 27 * 27
"""Endings of words: the last two letters, each a to z or another byte."""
_FIRST_BITS, _REST = 12, np.uint64(52)
STEM = 5
"""Words that share so many first bytes count as related: fish, fishing, fisheries."""


@nb.njit(cache=True, nogil=True)
def word_shapes(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int16]]:
    """Hash, hash of the first five bytes, kind (OTHER, NUMBER, WORD) and ending of each token.

    The ending is 27 x the last letter but one + the last letter, where a to z are 1 to 26 and any other byte is 0.
    """
    hashes, stems = np.empty(starts.size, np.uint64), np.empty(starts.size, np.uint64)
    kinds = np.empty(starts.size, np.uint8)
    endings = np.empty(starts.size, np.int16)
    for i in range(starts.size):
        value = FNV_BASIS
        first, second = 0, 0
        for place in range(starts[i], ends[i]):
            byte = data[place]
            value = absorb(value, np.uint64(byte), GOLDEN)
            if place == starts[i] + STEM - 1:
                stems[i] = value
            second = first
            first = int(byte) - 96 if 97 <= byte <= 122 else 0
        hashes[i] = value
        if ends[i] - starts[i] < STEM:
            stems[i] = value
        begin = data[starts[i]] if ends[i] > starts[i] else np.uint8(0)
        if 48 <= begin <= 57:
            kinds[i] = NUMBER
        elif 97 <= begin <= 122 or begin >= 128:
            kinds[i] = WORD
        else:
            kinds[i] = OTHER
        endings[i] = second * 27 + first
    return hashes, stems, kinds, endings


@nb.njit(cache=True, nogil=True)
def among(
    hashes: NDArray[np.uint64], wanted: NDArray[np.uint64], bounds: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many tokens of each text are in the sorted `wanted`, and how many different ones."""
    found, distinct = np.zeros(bounds.size - 1, np.int64), np.zeros(bounds.size - 1, np.int64)
    last = np.full(wanted.size, -1, np.int64)
    begins = np.zeros(1 << _FIRST_BITS, np.bool_)
    for place in range(wanted.size):
        begins[wanted[place] >> _REST] = True
    for text in range(bounds.size - 1 if wanted.size else 0):
        for i in range(bounds[text], bounds[text + 1]):
            if not begins[hashes[i] >> _REST]:  # most tokens share their first bits with no wanted one
                continue
            low, high = 0, wanted.size - 1
            while low < high:
                middle = (low + high) // 2
                if wanted[middle] < hashes[i]:
                    low = middle + 1
                else:
                    high = middle
            if wanted[low] == hashes[i]:
                found[text] += 1
                distinct[text] += last[low] != text
                last[low] = text
    return found, distinct
