"""Runs of blanks: more than half of the visible text of home pages, since pages indent their source."""

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import first_bit
from samehand.kernels.html.blocks import BLOCK, at_most_bits, equal_bits

_BLANK, _NEWLINE = np.uint8(0x20), np.uint8(10)
"""All bytes up to the blank are blanks here: what else there is, browsers do not show."""

_BLOCK, _WHOLE = np.uint64(BLOCK), np.uint64((1 << BLOCK) - 1)
_ONE = np.uint64(1)


@helper
def behind_blanks(source: NDArray[np.uint8], place: np.uint64, end: np.uint64, size: np.uint64) -> np.uint64:
    """The first place, from `place` on, that is no blank; `end` if all are. The data has `size` bytes."""
    while place < end and place + _BLOCK <= size:
        others = at_most_bits(source, place, _BLANK) ^ _WHOLE
        if others:
            return np.uint64(min(place + first_bit(others), end))
        place += _BLOCK
    while place < end and source[place] <= _BLANK:
        place += _ONE
    return min(place, end)


@helper
def has_newline(source: NDArray[np.uint8], place: np.uint64, end: np.uint64, size: np.uint64) -> bool:
    """Whether a line ends from `place` on, before `end`. The data has `size` bytes."""
    while place < end and place + _BLOCK <= size:
        inside = _WHOLE >> (_BLOCK - min(_BLOCK, end - place))
        if equal_bits(source, place, _NEWLINE) & inside:
            return True
        place += _BLOCK
    while place < end and source[place] != _NEWLINE:
        place += _ONE
    return bool(place < end)
