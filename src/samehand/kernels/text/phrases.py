"""Many phrases in many texts at once: an Aho-Corasick automaton, and the folding of the text that it reads.

Texts lie end to end: text i is data[offsets[i]:offsets[i+1]]. The time is linear in the bytes of a text, plus one step
for each phrase that ends at a byte; phrases within phrases are few.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.utf8 import put_character, wide_character

DROPPED, BLANK = 0xFFFF, 0x20
"""Entries of a folding table: a character that vanishes, and one that separates words."""
NO_PHRASE = -1

_ONE = np.uint64(1)
_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)


class Automaton(NamedTuple):
    """`moves[state * columns + column]` is the next state; state 0 is the start.

    `columns` has the column of each byte. `ends` leads from a state to itself if a phrase ends there, else to the
    longest suffix where one does, or to 0; `shorter` leads on from there. `phrases` has the phrase of a state. `begins`
    says that a phrase must begin a word. `classes` has a bit for each class of a phrase.
    """

    columns: NDArray[np.uint8]
    moves: NDArray[np.uint16]
    ends: NDArray[np.uint16]
    shorter: NDArray[np.uint16]
    phrases: NDArray[np.int32]
    lengths: NDArray[np.int32]
    begins: NDArray[np.bool_]
    classes: NDArray[np.uint64]


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
    folded, starts = np.empty(sizes + 4, np.uint8), np.zeros(offsets.size, np.int64)
    length = np.uint64(0)
    for number in range(offsets.size - 1):
        position = np.uint64(offsets[number])
        end = np.uint64(min(offsets[number + 1], offsets[number] + most))
        begin, gap = length, np.uint8(0)
        while position < end:
            code, size = np.uint32(data[position]), _ONE
            if code >= 0x80:
                code, size = wide_character(data, position, end)
            position += size
            entry = code
            if code < 0x10000:
                entry = np.uint32(table[code])
            if entry == DROPPED:
                continue
            if entry == BLANK:
                gap = _NEWLINE if code == 10 or gap == _NEWLINE else _SPACE
                continue
            if gap and length > begin:
                folded[length] = gap
                length += _ONE
            gap = np.uint8(0)
            length = put_character(np.uint64(entry), folded, length)
        starts[number + 1] = length
    return folded[:length], starts


@nb.njit(cache=True, nogil=True, inline="always")
def _is_word_byte(byte: np.uint8) -> bool:
    """Whether a byte belongs to a word. Letters of alphabets that are not ASCII count, as all bytes from 0x80 on."""
    return bool(byte >= 0x80 or 0x61 <= (byte | 0x20) <= 0x7A or 0x30 <= byte <= 0x39)


@nb.njit(cache=True, nogil=True)
def find_phrases(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    most: int,
    automaton: Automaton,
    counts: NDArray[np.uint8],
    first: NDArray[np.int32],
    longest: NDArray[np.int32],
) -> None:
    """Counts the different phrases of each class in the first `most` bytes of each text.

    `counts`, `first` (the phrase that ended first) and `longest` (bytes of the longest one) have a row for each text
    and a column for each class, and are filled with 0, NO_PHRASE and 0 before.
    """
    width = np.uint64(automaton.moves.size // automaton.phrases.size)
    seen = np.full(automaton.lengths.size, -1, np.int64)
    for number in range(offsets.size - 1):
        start, end = offsets[number], min(offsets[number + 1], offsets[number] + most)
        state = np.uint64(0)
        for position in range(start, end):
            state = np.uint64(automaton.moves[state * width + np.uint64(automaton.columns[data[position]])])
            found = np.uint64(automaton.ends[state])
            while found:
                phrase = automaton.phrases[found]
                begin = position + 1 - automaton.lengths[phrase]
                found = np.uint64(automaton.shorter[found])
                if seen[phrase] == number:
                    continue
                if automaton.begins[phrase] and begin > start and _is_word_byte(data[begin - 1]):
                    continue
                seen[phrase] = number
                for column in range(counts.shape[1]):
                    if automaton.classes[phrase] >> np.uint64(column) & _ONE:
                        if not counts[number, column]:
                            first[number, column] = phrase
                        counts[number, column] = min(counts[number, column] + 1, 255)
                        longest[number, column] = max(longest[number, column], automaton.lengths[phrase])
