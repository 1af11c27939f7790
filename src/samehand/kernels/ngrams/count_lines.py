"""Lines of n-grams and counts to spans of words: the hot loop of reading count files."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.ngrams.tries import END, START

_LINE, _TAB, _RETURN, _BLANK = 10, 9, 13, 32
_LONGEST_NUMBER = 18


@helper
def _mark(data: NDArray[np.uint8], start: int, end: int) -> int:
    """START for <s>, END for </s>, in upper or lower case; 0 for any other word."""
    size = end - start
    if size < 3 or size > 4 or data[start] != 60 or data[end - 1] != 62 or (data[end - 2] | 32) != 115:
        return 0
    if size == 3:
        return START
    return END if data[start + 1] == 47 else 0


@helper
def _number(data: NDArray[np.uint8], start: int, end: int) -> int:
    """The value of the digits data[start:end]; -1 if it is no number."""
    if start >= end or end - start > _LONGEST_NUMBER:
        return -1
    value = 0
    for place in range(start, end):
        if data[place] < 48 or data[place] > 57:
            return -1
        value = value * 10 + int(data[place]) - 48
    return value


@nb.njit(cache=True, nogil=True)
def split_lines(
    data: NDArray[np.uint8], length: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int8], NDArray[np.uint64], int]:
    """Splits lines "w1 ... wn <tab> count": starts, ends and marks of all words, counts, number of bad lines."""
    lines = 1
    for byte in data:
        lines += byte == _LINE
    starts, ends = np.empty(lines * length, np.int64), np.empty(lines * length, np.int64)
    marks, counts = np.zeros(lines * length, np.int8), np.empty(lines, np.uint64)
    out, bad, begin = 0, 0, 0
    while begin < data.size:
        stop = begin
        tab = -1
        while stop < data.size and data[stop] != _LINE:
            if data[stop] == _TAB:
                tab = stop
            stop += 1
        end = stop - 1 if stop > begin and data[stop - 1] == _RETURN else stop
        number = _number(data, tab + 1, end) if tab >= 0 else -1
        words, start = 0, begin
        for place in range(begin, tab + 1):
            if place == tab or data[place] == _BLANK:
                if words < length and place > start:
                    starts[out * length + words], ends[out * length + words] = start, place
                    marks[out * length + words] = _mark(data, start, place)
                words = words + 1 if place > start else length + 1
                start = place + 1
        if number >= 0 and words == length:
            counts[out] = number
            out += 1
        else:
            bad += end > begin
        begin = stop + 1
    return starts[: out * length], ends[: out * length], marks[: out * length], counts[:out], bad
