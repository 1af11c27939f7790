"""Words of the folded texts of sites: how many, how much of it is prose, and a sketch of their pairs.

Texts lie end to end and are folded (phrases.py): lower case, lines apart. A site's own names are no words: parked pages
print them where other pages print something of their own. No name begins with a longer one.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME, GOLDEN, MURMUR
from samehand.kernels.pointers import lend, pointer

SKETCH_SIZE = 64
NO_PAIR = np.uint32(0xFFFFFFFF)
"""Fills the sketches of texts with fewer pairs of words."""
PROSE_WORDS = 12
"""Words of a line that is prose: menus, prices and the keywords of links are shorter."""
START_BYTES = 200
"""The start of a text: a page that has nothing to say prints its domain there."""

WORDS, PROSE, NAMED, STARTS_NAMED, LONGEST_LINE, LINES, ANY_NAME, COLUMNS = range(8)
"""Columns of what is counted: words; words in lines of prose; how often the domain is spelled out; whether that is so
at the start; words of the longest line; lines with words; names of any kind."""

_MARK, _NO_MARK = np.uint8(1), np.uint8(0)
_WIDE, _THAI = 2, 4
"""Characters that count as a word in scripts without blanks: finding words there needs a dictionary."""


class SiteWords(NamedTuple):
    """What was counted; the smallest hashes of pairs of neighbouring words; the sum of the hashes of all pairs."""

    counts: NDArray[np.int32]
    sketches: NDArray[np.uint32]
    sums: NDArray[np.uint64]


class Names(NamedTuple):
    """What sites call themselves. Names are folded and lie end to end; name i begins at starts[i].

    Text i has the names from bounds[2 i] to bounds[2 i + 2]; those before bounds[2 i + 1] spell out its domain.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    bounds: NDArray[np.int64]


@nb.njit(cache=True, nogil=True)
def site_words(data: NDArray[np.uint8], offsets: NDArray[np.int64], names: Names) -> SiteWords:
    """The words of each text."""
    texts = offsets.size - 1
    found = SiteWords(
        np.zeros((texts, COLUMNS), np.int32), np.full((texts, SKETCH_SIZE), NO_PAIR), np.zeros(texts, np.uint64)
    )
    begins, lent = np.zeros(256, np.uint8), lend(names)
    for text in range(texts):
        _mark_begins(lent, text, pointer(begins), _MARK)
        counts, sketch = pointer(found.counts[text]), pointer(found.sketches[text])
        found.sums[text] = _read_text(
            pointer(data), offsets[text], offsets[text + 1], text, lent, pointer(begins), counts, sketch
        )
        _mark_begins(lent, text, pointer(begins), _NO_MARK)
    return found


@nb.njit(cache=True, nogil=True)
def call_it_domain(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    names: Names,
    word: NDArray[np.uint8],
    counts: NDArray[np.int32],
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The texts with `word` in place of the domain of the site, so that one phrase fits the offers of all domains.

    `counts` are those of `site_words`.
    """
    room = data.size + (data.size // 2 + 1) * word.size
    written, starts, length = np.empty(room, np.uint8), np.zeros(offsets.size, np.int64), 0
    begins, lent, source, target = np.zeros(256, np.uint8), lend(names), pointer(data), pointer(written)
    for text in range(offsets.size - 1):
        position, end = offsets[text], offsets[text + 1]
        if counts[text, ANY_NAME] == 0:
            written[length : length + end - position] = data[position:end]
            length += end - position
            starts[text + 1] = length
            continue
        _mark_begins(lent, text, pointer(begins), _MARK)
        while position < end:
            byte = source[position]
            name = _name_at(source, position, end, text, lent) if begins[byte] else -1
            if 0 <= name < names.bounds[2 * text + 1]:
                written[length : length + word.size] = word
                length += word.size
                position += names.starts[name + 1] - names.starts[name]
            else:
                target[length] = byte
                length += 1
                position += 1
        starts[text + 1] = length
        _mark_begins(lent, text, pointer(begins), _NO_MARK)
    return written[:length], starts


@helper
def _mark_begins(names: Names, text: int, begins: NDArray[np.uint8], mark: np.uint8) -> None:
    """Marks the bytes that names of a text begin with: at most bytes of a text there is none to look for."""
    for name in range(names.bounds[2 * text], names.bounds[2 * text + 2]):
        if names.starts[name] < names.starts[name + 1]:
            begins[names.data[names.starts[name]]] = mark


@helper
def _read_text(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    text: int,
    names: Names,
    begins: NDArray[np.uint8],
    counts: NDArray[np.int32],
    sketch: NDArray[np.uint32],
) -> np.uint64:
    """Counts the words of a text and sketches their pairs; returns the sum of the hashes of all pairs."""
    position, total = start, np.uint64(0)
    state, length, line, before = FNV_BASIS, 0, 0, np.uint64(0)
    script, held = 0, int(np.int64(0))  # the script of the current word, and the pairs in the sketch
    while position <= end:
        if script == 1:  # most bytes are letters of ASCII in a word that goes on
            while position < end and begins[data[position]] == 0 and 0x61 <= data[position] <= 0x7A:
                state = (state ^ np.uint64(data[position])) * FNV_PRIME
                length += 1
                position += 1
        byte = data[position] if position < end else np.uint8(10)
        name = _name_at(data, position, end, text, names) if begins[byte] and position < end else -1
        kind, size = _character(byte)
        is_end = name >= 0 or kind != script or (kind > 1 and length == kind)
        if is_end and length != 0:
            mixed = ((state + before * GOLDEN) * MURMUR) >> np.uint64(32)
            total += mixed
            if np.uint32(mixed) < sketch[SKETCH_SIZE - 1]:
                held = _put_pair(sketch, held, np.uint32(mixed))
            before = state
            line += 1
            state, length = FNV_BASIS, 0
        if name >= 0:
            is_domain = name < names.bounds[2 * text + 1]
            counts[ANY_NAME] += 1
            counts[NAMED] += is_domain
            counts[STARTS_NAMED] |= is_domain and position - start < START_BYTES
            position += names.starts[name + 1] - names.starts[name]
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
    return total


@part
def _end_line(counts: NDArray[np.int32], line: int) -> None:
    counts[WORDS] += line
    counts[LINES] += line > 0
    counts[LONGEST_LINE] = max(counts[LONGEST_LINE], line)
    if line >= PROSE_WORDS:
        counts[PROSE] += line


@part
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


@helper
def _name_at(data: NDArray[np.uint8], position: int, end: int, text: int, names: Names) -> int:
    """The name of the site that stands at a position, or -1."""
    for name in range(names.bounds[2 * text], names.bounds[2 * text + 2]):
        first, size = names.starts[name], names.starts[name + 1] - names.starts[name]
        if size == 0 or position + size > end:
            continue
        place = 0
        while place < size and names.data[first + place] == data[position + place]:
            place += 1
        if place == size:
            return name
    return -1


@helper
def _put_pair(sketch: NDArray[np.uint32], held: int, pair: np.uint32) -> int:
    """Puts a pair into a sketch, which is sorted; returns how many pairs it holds now."""
    place = held
    while place > 0 and sketch[place - 1] > pair:
        place -= 1
    if place > 0 and sketch[place - 1] == pair:
        return held
    held = min(held + 1, SKETCH_SIZE)
    for later in range(held - 1, place, -1):
        sketch[later] = sketch[later - 1]
    sketch[place] = pair
    return held
