"""Text to the hashes of its words in order, which phrases are found by. Text i is data[offsets[i]:offsets[i+1]], UTF-8.

A word is a run of letters and digits, in lower case and without accents. What a reader does not see within a word is
left out: apostrophes, soft hyphens, combining marks, characters without width. A byte that is no UTF-8 ends a word.
"""

import unicodedata

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import GOLDEN, absorb, finish
from samehand.kernels.utf8 import wide_character

NARROW = 0x600
"""Characters below this are looked up in the table `LETTERS`: Latin, Greek, Cyrillic, Armenian, Hebrew."""
_HIDDEN = np.uint32(0xFFFFFFFF)
_END = np.uint32(0)
_ONE = np.uint64(1)


def _letters() -> NDArray[np.uint32]:
    """What each character below NARROW is hashed as; _END where it ends a word, _HIDDEN where it counts as nothing."""
    table = np.zeros(NARROW, np.uint32)
    for code in range(NARROW):
        base = unicodedata.normalize("NFKD", chr(code))[0].lower()[0]
        if unicodedata.category(chr(code)) == "Mn" or chr(code) in "'\u00ad\u02bc":
            table[code] = _HIDDEN
        elif base.isalnum():
            table[code] = ord(base)
    return table


LETTERS = _letters()


@helper
def _wide_letter(code: np.uint32) -> np.uint32:
    """The same for the other characters: punctuation and symbols end a word, whatever else is a letter."""
    if 0x200B <= code <= 0x200F or 0x2060 <= code <= 0x2064 or code == 0x2019 or code == 0xFEFF:
        return _HIDDEN
    is_sign = 0x2000 <= code < 0x2C00 or 0x2E00 <= code < 0x2E80 or 0x3000 <= code < 0x3040
    return _END if is_sign or 0xFF00 <= code < 0xFF10 or 0xFFF0 <= code < 0x10000 or 0x1F000 <= code < 0x20000 else code


@nb.njit(cache=True, nogil=True)
def page_words(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], letters: NDArray[np.uint32], seed: np.uint64, most: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The hashes and places (begin, end) of the first `most` words of each text; where those of a text begin; how many
    words it has in all.
    """
    room = 0
    for text in range(offsets.size - 1):
        room += min(most, (offsets[text + 1] - offsets[text] + 1) // 2)
    hashes, places = np.empty(room, np.uint32), np.empty((room, 2), np.int64)
    bounds, totals = np.zeros(offsets.size, np.int64), np.zeros(offsets.size - 1, np.int32)
    count = np.uint64(0)
    for text in range(offsets.size - 1):
        position, end, total = np.uint64(offsets[text]), np.uint64(offsets[text + 1]), 0
        state, begin, is_open = seed, position, False
        while position <= end:
            code, size = np.uint32(data[position]) if position < end else np.uint32(32), _ONE
            if code >= 0x80:
                code, size = wide_character(data, position, end)
            letter = letters[code] if code < NARROW else _wide_letter(code)
            if letter == _END:
                if is_open and total < most:
                    hashes[count] = np.uint32(finish(state) >> np.uint64(32))
                    places[count, 0], places[count, 1] = begin, position
                    count += _ONE
                total += is_open
                is_open = False
            elif letter != _HIDDEN:
                if not is_open:
                    state, begin, is_open = seed, position, True
                state = absorb(state, np.uint64(letter), GOLDEN)
            position += size
        bounds[text + 1], totals[text] = count, total
    return hashes[:count].copy(), places[:count].copy(), bounds, totals
