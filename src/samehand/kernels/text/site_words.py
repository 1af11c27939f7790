"""Words of the folded texts of sites: how many, how much of it is prose, and a sketch of their pairs.

Texts lie end to end and are folded (phrases.py): lower case, lines apart. A site's own names are no words: parked pages
print them where other pages print something of their own. The names of text i are the names from name_offsets[2 i] to
name_offsets[2 i + 2]; those before name_offsets[2 i + 1] spell out its domain. No name begins with a longer one.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME, GOLDEN, MURMUR

SKETCH_SIZE = 64
NO_PAIR = np.uint32(0xFFFFFFFF)
"""Fills the sketches of texts with fewer pairs of words."""
PROSE_WORDS = 12
"""Words of a line that is prose: menus, prices and the keywords of links are shorter."""
START_BYTES = 200
"""The start of a text: a page that has nothing to say prints its domain there."""

WORDS, PROSE, NAMED, STARTS_NAMED, LONGEST_LINE, LINES, COLUMNS = range(7)
"""Columns of what is counted: words; words in lines of prose; how often the domain is spelled out; whether that is so
at the start; words of the longest line; lines with words."""

_WIDE, _THAI = 2, 4
"""Characters that count as a word in scripts without blanks: finding words there needs a dictionary."""


class SiteWords(NamedTuple):
    """What was counted; the smallest hashes of pairs of neighbouring words; the sum of the hashes of all pairs."""

    counts: NDArray[np.int32]
    sketches: NDArray[np.uint32]
    sums: NDArray[np.uint64]


@nb.njit(cache=True, nogil=True)
def site_words(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    names: NDArray[np.uint8],
    name_starts: NDArray[np.int64],
    name_offsets: NDArray[np.int64],
) -> SiteWords:
    """The words of each text. Names lie end to end and are folded, too; name i begins at name_starts[i]."""
    texts = offsets.size - 1
    found = SiteWords(
        np.zeros((texts, COLUMNS), np.int32), np.full((texts, SKETCH_SIZE), NO_PAIR), np.zeros(texts, np.uint64)
    )
    for text in range(texts):
        _read_text(data, offsets[text], offsets[text + 1], text, names, name_starts, name_offsets, found)
    return found


@nb.njit(cache=True, nogil=True)
def call_it_domain(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    names: NDArray[np.uint8],
    name_starts: NDArray[np.int64],
    name_offsets: NDArray[np.int64],
    word: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The texts with `word` in place of the domain of the site, so that one phrase fits the offers of all domains."""
    room = data.size + (data.size // 2 + 1) * word.size
    written, starts, length = np.empty(room, np.uint8), np.zeros(offsets.size, np.int64), 0
    for text in range(offsets.size - 1):
        position, end = offsets[text], offsets[text + 1]
        while position < end:
            name = _name_at(data, position, end, data[position], text, names, name_starts, name_offsets)
            if 0 <= name < name_offsets[2 * text + 1]:
                written[length : length + word.size] = word
                length += word.size
                position += name_starts[name + 1] - name_starts[name]
            else:
                written[length] = data[position]
                length += 1
                position += 1
        starts[text + 1] = length
    return written[:length], starts


@nb.njit(cache=True, nogil=True)
def _read_text(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    text: int,
    names: NDArray[np.uint8],
    name_starts: NDArray[np.int64],
    name_offsets: NDArray[np.int64],
    found: SiteWords,
) -> None:
    counts, position = found.counts[text], start
    state, length, line, before = FNV_BASIS, 0, 0, np.uint64(0)
    script, held = 0, 0  # the script of the current word, and the pairs in the sketch
    while position <= end:
        byte = data[position] if position < end else np.uint8(10)
        name = _name_at(data, position, end, byte, text, names, name_starts, name_offsets)
        kind, size = _character(byte)
        is_end = name >= 0 or kind != script or (kind > 1 and length == kind)
        if is_end and length != 0:
            before, held = _put_word(found, text, state, before, held)
            line += 1
            state, length = FNV_BASIS, 0
        if name >= 0:
            is_domain = name < name_offsets[2 * text + 1]
            counts[NAMED] += is_domain
            counts[STARTS_NAMED] |= is_domain and position - start < START_BYTES
            position += name_starts[name + 1] - name_starts[name]
            continue
        if byte == 10:
            _end_line(counts, line)
            line = 0
        if kind != 0:
            for place in range(position, min(position + size, end)):
                state = (state ^ np.uint64(data[place])) * FNV_PRIME
            length += 1
        script = kind
        position += size


@nb.njit(cache=True, nogil=True, inline="always")
def _end_line(counts: NDArray[np.int32], line: int) -> None:
    counts[WORDS] += line
    counts[LINES] += line > 0
    counts[LONGEST_LINE] = max(counts[LONGEST_LINE], line)
    if line >= PROSE_WORDS:
        counts[PROSE] += line


@nb.njit(cache=True, nogil=True, inline="always")
def _character(byte: np.uint8) -> tuple[int, int]:
    """What the character that begins with a byte is, and its bytes.

    0 for one between words, 1 for a letter, or the characters of a word in a script without blanks.
    """
    if byte < 0x80:
        return int(0x61 <= byte <= 0x7A), 1
    if byte < 0xE0:
        return 1, 1 + int(byte >= 0xC0)
    if 0xE3 <= byte <= 0xED:
        return _WIDE, 3
    if byte == 0xE0:
        return _THAI, 3
    return 1, 3 + int(byte >= 0xF0)


@nb.njit(cache=True, nogil=True, inline="always")
def _name_at(
    data: NDArray[np.uint8],
    position: int,
    end: int,
    byte: np.uint8,
    text: int,
    names: NDArray[np.uint8],
    name_starts: NDArray[np.int64],
    name_offsets: NDArray[np.int64],
) -> int:
    """The name of the site that stands at a position, or -1."""
    for name in range(name_offsets[2 * text], name_offsets[2 * text + 2]):
        first, size = name_starts[name], name_starts[name + 1] - name_starts[name]
        if names[first] != byte or position + size > end:
            continue
        place = 1
        while place < size and names[first + place] == data[position + place]:
            place += 1
        if place == size:
            return name
    return -1


@nb.njit(cache=True, nogil=True)
def _put_word(found: SiteWords, text: int, state: np.uint64, before: np.uint64, held: int) -> tuple[np.uint64, int]:
    """Adds a word's pair with the word before it; returns the word, and how many pairs the sketch holds now."""
    mixed = ((state + before * GOLDEN) * MURMUR) >> np.uint64(32)
    found.sums[text] += mixed
    pair, sketch = np.uint32(mixed), found.sketches[text]
    if pair >= sketch[SKETCH_SIZE - 1] or pair == NO_PAIR:
        return state, held
    place = np.searchsorted(sketch[:held], pair)
    if place < held and sketch[place] == pair:
        return state, held
    held = min(held + 1, SKETCH_SIZE)
    for later in range(held - 1, place, -1):
        sketch[later] = sketch[later - 1]
    sketch[place] = pair
    return state, held
