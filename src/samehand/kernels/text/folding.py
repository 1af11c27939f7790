"""The folding of text that phrases are looked for in: letters alike, and one blank or line feed between words.

Blocks of ASCII are folded 64 bytes at a time, without a branch for each word: white space is more than half of the
visible text of home pages, and where it stands cannot be foreseen.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import first_bit, ones
from samehand.kernels.compaction import BLOCK, blank_bits, byte_bits, compact_block
from samehand.kernels.html.blocks import at_most_bits
from samehand.kernels.pointers import pointer
from samehand.kernels.text.blanks import behind_blanks, has_newline
from samehand.kernels.utf8 import put_character, wide_character

DROPPED, BLANK = 0xFFFF, 0x20
"""Entries of a folding table: a character that vanishes, and one that separates words."""

_NEWLINE, _SPACE, _LAST_PLAIN = np.uint8(10), np.uint8(0x20), np.uint8(0x7E)
_ZERO, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_SIZE, _HALF = np.uint64(BLOCK), np.uint64(BLOCK // 2)


@nb.njit(cache=True, nogil=True)
def fold_texts(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], table: NDArray[np.uint16], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The first `most` bytes of each text, folded by a table of 65,536 characters, which makes no character longer.

    Runs of blanks become one blank, or one line feed if there was one among them. Bytes that are no UTF-8 vanish.
    """
    sizes = 0
    for number in range(offsets.size - 1):
        sizes += min(offsets[number + 1] - offsets[number], most)
    folded, starts = np.empty(sizes + BLOCK, np.uint8), np.zeros(offsets.size, np.int64)
    plain = table[:128].astype(np.uint8)
    plain[10] = _NEWLINE
    source, size, target, length = pointer(data), np.uint64(data.size), pointer(folded), _ZERO
    for number in range(offsets.size - 1):
        position, begin, gap = np.uint64(offsets[number]), length, np.uint8(0)
        end = np.uint64(min(offsets[number + 1], offsets[number] + most))
        while position < end:
            if _SPACE < source[position] <= _LAST_PLAIN and position + _SIZE <= size:
                length = _put_gap(target, begin, length, gap)
                gap = np.uint8(0)
                position, length = _fold_block(source, position, end, pointer(plain), target, length)
            else:
                position, length, gap = _fold_character(
                    source, position, end, size, pointer(table), target, begin, length, gap
                )
        starts[number + 1] = length
    return folded[:length], starts


@helper
def _put_gap(folded: NDArray[np.uint8], begin: np.uint64, length: np.uint64, gap: np.uint8) -> np.uint64:
    """Writes what separates a word from the one before, if any; returns the new length."""
    folded[length] = gap
    return length + np.uint64(gap != 0 and length > begin)


@helper
def _fold_character(
    source: NDArray[np.uint8],
    position: np.uint64,
    end: np.uint64,
    room: np.uint64,
    table: NDArray[np.uint16],
    folded: NDArray[np.uint8],
    begin: np.uint64,
    length: np.uint64,
    gap: np.uint8,
) -> tuple[np.uint64, np.uint64, np.uint8]:
    """Folds the character at a position, and the blanks behind it if it is one. Returns the next position, the length
    of what is folded, and what separates it from the next word: 0 for nothing. The source has `room` bytes in all.
    """
    code, size = np.uint32(source[position]), _ONE
    if code >= 0x80:
        code, size = wide_character(source, position, end)
    position += size
    entry = np.uint32(table[code]) if code < 0x10000 else code
    if entry == DROPPED:
        return position, length, gap
    if entry == BLANK:
        stop = behind_blanks(source, position, end, room)
        is_line = gap == _NEWLINE or code == 10 or has_newline(source, position, stop, room)
        return stop, length, _NEWLINE if is_line else _SPACE
    length = _put_gap(folded, begin, length, gap)
    return position, put_character(np.uint64(entry), folded, length), np.uint8(0)


@helper
def _fold_block(
    source: NDArray[np.uint8],
    position: np.uint64,
    end: np.uint64,
    plain: NDArray[np.uint8],
    folded: NDArray[np.uint8],
    length: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Folds words of ASCII, from the one at `position` to the last that ends within the block. Returns the position
    behind them, and the length of what is folded.

    Of each run of white space one byte stays: its first line feed, or else its last byte, as a blank. Carries of an
    addition find both: they pass all white space that is no line feed.
    """
    blanks = blank_bits(source, position)
    others = (_below(source, position, _SPACE) & ~blanks) | ~_below(source, position, _LAST_PLAIN)
    size = min(first_bit(others), end - position)
    words = _up_to_last(~blanks & (_ALL >> (_SIZE - size)))
    blanks &= words
    lines = byte_bits(source, position, _NEWLINE) & blanks
    carried = (blanks & ~(blanks << _ONE)) + (blanks & ~lines)
    single = (carried & ~blanks & (blanks << _ONE)) >> _ONE
    kept = (words & ~blanks) | (carried & lines) | single
    compact_block(source, position, kept, single, folded, length)
    stop = length + ones(kept)
    for place in range(length, stop):
        folded[place] = plain[folded[place]]
    return position + ones(words), stop


@helper
def _below(source: NDArray[np.uint8], position: np.uint64, byte: np.uint8) -> np.uint64:
    """Bit i is set where byte i of the block at `position` is `byte` or less."""
    low: np.uint64 = at_most_bits(source, position, byte)
    high: np.uint64 = at_most_bits(source, position + _HALF, byte)
    return low | high << _HALF


@helper
def _up_to_last(bits: np.uint64) -> np.uint64:
    """All bits up to the highest one that is set."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits |= bits >> np.uint64(shift)
    return bits
