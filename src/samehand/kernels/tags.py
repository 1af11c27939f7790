"""Tag sequences: equal ones, tag counts, and the longest common subsequence (LCS) by bit vectors.

A page is a sequence of uint16 tag numbers (kernels/html/tagnames.py). One page, the centre, is compared with many
others. A row of bits for each tag marks the places of the centre that hold it, and one addition handles 255 places
(Hyyro's algorithm). A 0 in the vector means that the LCS grows by one at that place; a carry out of it means that it
grows by one with that tag of the page. So tiles of 255 places are handled one after the other. Three
kinds of work are left out: equal tags at the start and at the end, tags that the centre lacks, and places too far off
the diagonal to belong to an LCS that is long enough. `tests/test_kernels_tags.py` holds each function equal to a
readable reference.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import add_matches, ones
from samehand.kernels.hashing import GOLDEN, absorb
from samehand.kernels.pointers import pointer

ALL_TAGS = 1 << 16
LENGTH_CLASSES = 11
"""Names of 1 to 10 letters, and longer ones (section 3.1.1)."""
R, F, B, D = range(4)
"""Positions in the counts of `move_nearer`: the bound (R, F, B) or distance (D) that decided about a page."""
ESCAPE = 0x7F
"""In packed sequences: the tag is in the two bytes that follow."""

_TILE_WORDS = 4
_TILE = 64 * _TILE_WORDS - 1
"""Places of a tile. Place i has the bit i + 1, because the lowest one is for the carry (`bits.add_matches`)."""
_ZERO, _ONE, _ALL = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
_LAST_BIT, _WORD_SHIFT = np.uint64(63), np.uint64(6)


class Pages(NamedTuple):
    """Pages to be compared: page i is tags[starts[i]:starts[i] + lengths[i]].

    It has classes[i, j] names of length class j, and tag names[n] counts[n] times for n from bounds[i] to bounds[i+1].
    """

    tags: NDArray[np.uint16]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    classes: NDArray[np.int32]
    bounds: NDArray[np.int64]
    names: NDArray[np.uint16]
    counts: NDArray[np.int32]


class Centre(NamedTuple):
    """A page prepared for comparisons: a number for each tag that it has, else 0; by number places and counts."""

    page: int
    numbers: NDArray[np.uint16]
    places: NDArray[np.uint64]
    counts: NDArray[np.int32]


@nb.njit(cache=True, nogil=True)
def hash_sequences(
    tags: NDArray[np.uint16], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """A 64-bit hash of each sequence. It brings equal sequences together; equality itself is checked."""
    hashes = np.empty(starts.size, np.uint64)
    for page in range(starts.size):
        value = np.uint64(lengths[page])
        for place in range(np.uint64(starts[page]), np.uint64(starts[page] + lengths[page])):
            value = absorb(value, np.uint64(tags[place]), GOLDEN)
        hashes[page] = value
    return hashes


@nb.njit(cache=True, nogil=True)
def first_equals(
    tags: NDArray[np.uint16],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    order: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The first sequence that is equal to each sequence. `order` sorts the sequences by hash, stably.

    Only neighbours are compared. Equal sequences may be missed if hashes were made to collide: that costs time only.
    """
    firsts = np.arange(starts.size)
    for position in range(1, order.size):
        page, before = order[position], firsts[order[position - 1]]
        if hashes[page] == hashes[before] and lengths[page] == lengths[before]:
            place = 0
            while place < lengths[page] and tags[starts[page] + place] == tags[starts[before] + place]:
                place += 1
            if place == lengths[page]:
                firsts[page] = before
    return firsts


@nb.njit(cache=True, nogil=True)
def count_tags(
    tags: NDArray[np.uint16], starts: NDArray[np.int64], lengths: NDArray[np.int64], name_classes: NDArray[np.uint8]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint16], NDArray[np.int32]]:
    """The classes, bounds, names and counts of `Pages`, which the bounds F and B need."""
    classes = np.zeros((starts.size, LENGTH_CLASSES), np.int32)
    bounds = np.zeros(starts.size + 1, np.int64)
    seen = np.zeros(ALL_TAGS, np.int32)
    names, counts = np.empty(1024, np.uint16), np.empty(1024, np.int32)
    found = 0
    for page in range(starts.size):
        if found + min(lengths[page], ALL_TAGS) > names.size:
            room = 2 * names.size + lengths[page]
            names = np.concatenate((names[:found], np.empty(room - found, np.uint16)))
            counts = np.concatenate((counts[:found], np.empty(room - found, np.int32)))
        for place in range(np.uint64(starts[page]), np.uint64(starts[page] + lengths[page])):
            tag = tags[place]
            if seen[tag] == 0:
                names[found] = tag
                found += 1
            seen[tag] += 1
        for entry in range(bounds[page], found):
            tag = names[entry]
            counts[entry] = seen[tag]
            classes[page, name_classes[tag]] += seen[tag]
            seen[tag] = 0
        bounds[page + 1] = found
    return classes, bounds, names[:found].copy(), counts[:found].copy()


@nb.njit(cache=True, nogil=True)
def count_columns(
    tags: NDArray[np.uint16], offsets: NDArray[np.int64], columns: NDArray[np.uint8], width: int
) -> NDArray[np.int64]:
    """How often each page (row) has the tags of each column. `columns` has the column of each tag."""
    counts = np.zeros((offsets.size - 1, width), np.int64)
    for page in range(offsets.size - 1):
        for place in range(np.uint64(offsets[page]), np.uint64(offsets[page + 1])):
            counts[page, columns[tags[place]]] += 1
    return counts


@nb.njit(cache=True, nogil=True)
def make_centre(pages: Pages, page: int) -> Centre:
    """Prepares a page to be compared with others."""
    numbers = np.zeros(ALL_TAGS, np.uint16)
    first, end = pages.bounds[page], pages.bounds[page + 1]
    counts = np.zeros(end - first + 1, np.int32)
    for entry in range(first, end):
        numbers[pages.names[entry]] = entry - first + 1
        counts[entry - first + 1] = pages.counts[entry]
    tiles = (pages.lengths[page] + _TILE - 1) // _TILE
    places = np.zeros((tiles, counts.size, _TILE_WORDS), np.uint64)
    for place in range(pages.lengths[page]):
        number = numbers[pages.tags[pages.starts[page] + place]]
        bit = place % _TILE + 1
        places[place // _TILE, number, bit // 64] |= _ONE << np.uint64(bit % 64)
    return Centre(page, numbers, places, counts)


@nb.njit(cache=True, nogil=True)
def shared_classes(pages: Pages, left: int, right: int) -> int:
    """The most tags that two pages can share, by the lengths of their names (bound F)."""
    shared = 0
    for place in range(LENGTH_CLASSES):
        shared += min(pages.classes[left, place], pages.classes[right, place])
    return shared


@nb.njit(cache=True, nogil=True)
def shared_names(pages: Pages, centre: Centre, page: int) -> int:
    """The most tags that a page and the centre can share, by their names (bound B)."""
    shared = 0
    for entry in range(np.uint64(pages.bounds[page]), np.uint64(pages.bounds[page + 1])):
        shared += min(pages.counts[entry], centre.counts[centre.numbers[pages.names[entry]]])
    return shared


@helper
def _from(place: int) -> np.uint64:
    """A word whose bits from `place` on are 1: all bits if `place` is before the word, none if it is behind."""
    if place <= 0:
        return _ALL
    return _ZERO if place >= 64 else _ALL << np.uint64(place)


@helper
def _step(vector: np.uint64, places: np.uint64, carry: np.uint64) -> tuple[np.uint64, np.uint64]:
    """One tag at 64 places: the vector after it, and the carry into the next word."""
    matching = vector & places
    added = vector + matching
    total = added + carry
    return total | (vector & ~places), np.uint64(added < matching) | np.uint64(total < carry)


@helper
def _pass_tile(
    places: NDArray[np.uint64],
    rows: NDArray[np.uint32],
    carries: NDArray[np.uint8],
    first: int,
    last: int,
    begin: int,
    end: int,
) -> np.int64:
    """Handles rows[first:last] in one tile. Returns how much the LCS grew from place `begin` to `end`."""
    v0, v1, v2, v3 = _from(begin + 1) | _ONE, _from(begin - 63), _from(begin - 127), _from(begin - 191)
    for row in range(np.uint64(first), np.uint64(last)):
        v0, v1, v2, v3, carry = add_matches(v0, v1, v2, v3, places, np.uint64(rows[row]), np.uint64(carries[row]))
        carries[row] = carry
    stayed = ones(v0 | _from(end + 1)) + ones(v1 | _from(end - 63))
    stayed += ones(v2 | _from(end - 127)) + ones(v3 | _from(end - 191))
    return np.int64(_TILE + 1) - np.int64(stayed)


@nb.njit(cache=True, nogil=True)
def shared_sequence(
    pages: Pages, centre: Centre, page: int, needed: int, rows: NDArray[np.uint32], carries: NDArray[np.uint8]
) -> np.int64:
    """Length of the LCS of a page and the centre; -1 if it is below `needed`.

    `rows` and `carries` are scratch arrays with room for all tags of the page.
    """
    left, right = np.uint64(pages.starts[centre.page]), np.uint64(pages.starts[page])
    centre_end, page_end = pages.lengths[centre.page], pages.lengths[page]
    begin, shorter = 0, min(centre_end, page_end)
    while begin < shorter and pages.tags[left + np.uint64(begin)] == pages.tags[right + np.uint64(begin)]:
        begin += 1
    after = 0
    while (
        after < shorter - begin
        and pages.tags[left + np.uint64(centre_end - after - 1)] == pages.tags[right + np.uint64(page_end - after - 1)]
    ):
        after += 1
    centre_end -= after
    filled = 0
    for place in range(right + np.uint64(begin), right + np.uint64(page_end - after)):
        number = centre.numbers[pages.tags[place]]
        rows[np.uint64(filled)] = number
        carries[np.uint64(filled)] = 0
        filled += number != 0
    spare_columns = centre_end - (needed - after)  # places of the centre that may stay without a partner
    spare_rows = begin + filled - (needed - after)
    if spare_columns < 0 or spare_rows < 0:
        return np.int64(-1)
    shared = np.int64(begin // _TILE * _TILE + after)
    for tile in range(begin // _TILE, (centre_end + _TILE - 1) // _TILE):
        start = tile * _TILE
        # An LCS that passes this tile outside these rows leaves out too much. Carries there stay 0.
        first = max(0, start - begin - spare_columns)
        last = max(first, min(filled, start + _TILE - begin + spare_rows))
        places = pointer(centre.places[tile])
        shared += _pass_tile(places, pointer(rows), pointer(carries), first, last, begin - start, centre_end - start)
        if shared + max(0, centre_end - start - _TILE) < needed:
            return np.int64(-1)
    return shared


@helper
def _needed(distance: float, longer: int) -> int:
    """The shortest LCS that makes a page nearer than `distance`; 0 if any length does."""
    if distance > 1.0:
        return 0
    needed = max(0, int((1.0 - distance) * longer) - 1)
    while 1.0 - needed / longer >= distance:
        needed += 1
    return needed


@nb.njit(cache=True, nogil=True)
def move_nearer(
    pages: Pages,
    centre: Centre,
    chunk: NDArray[np.int64],
    number: int,
    nearest: NDArray[np.int32],
    distances: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Assigns pages of the chunk to centre `number` where it is nearer to them than distances[page].

    The cascade of section 3.1.1: a bound is computed only if the one before it does not decide. Returns how many pages
    R, F, B and D decided.
    """
    decided = np.zeros(D + 1, np.int64)
    longest = np.int64(0)
    for page in chunk:
        longest = max(longest, pages.lengths[page])
    rows, carries = np.empty(longest + 1, np.uint32), np.empty(longest + 1, np.uint8)
    own = pages.lengths[centre.page]
    for page in chunk:
        length = pages.lengths[page]
        longer = max(own, length, 1)
        needed = _needed(distances[page], longer) if own + length else 0
        if min(own, length) < needed:
            decided[R] += 1
        elif needed and shared_classes(pages, centre.page, page) < needed:
            decided[F] += 1
        elif needed and shared_names(pages, centre, page) < needed:
            decided[B] += 1
        else:
            decided[D] += 1
            shared = shared_sequence(pages, centre, page, needed, rows, carries)
            if shared >= 0:
                distances[page] = 1.0 - shared / longer if own + length else 0.0
                nearest[page] = number
    return decided


@nb.njit(cache=True, nogil=True)
def align(left: NDArray[np.uint16], right: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Aligns two sequences along an LCS: rows of (left place, right place), -1 for none.

    The vector after each tag of `right` is kept, one bit for each pair of places, and the LCS is traced back from them.
    """
    vectors = _all_vectors(left, right)
    pairs = np.full((left.size + right.size, 2), -1, np.int64)
    first = left.size + right.size
    column, row = left.size, right.size
    while column or row:
        first -= 1
        place = np.uint64(max(column - 1, 0))
        word, bit = place >> _WORD_SHIFT, _ONE << (place & _LAST_BIT)
        if column and vectors[row, word] & bit:  # this tag of the left adds nothing
            column -= 1
            pairs[first, 0] = column
        elif column == 0 or not vectors[row - 1, word] & bit:  # it did already without this tag of the right
            row -= 1
            pairs[first, 1] = row
        else:
            column, row = column - 1, row - 1
            pairs[first, 0], pairs[first, 1] = column, row
    return pairs[first:].copy()


@helper
def _all_vectors(left: NDArray[np.uint16], right: NDArray[np.uint16]) -> NDArray[np.uint64]:
    """The vector over the places of `left` after each tag of `right`. Before the first tag it is all ones."""
    words = (left.size + 63) // 64
    numbers = np.zeros(ALL_TAGS, np.int64)
    known = 1
    for tag in left:
        if numbers[tag] == 0:
            numbers[tag] = known
            known += 1
    places = np.zeros((known, words), np.uint64)
    for place in range(left.size):
        places[numbers[left[place]], place // 64] |= _ONE << np.uint64(place % 64)
    vectors = np.full((right.size + 1, max(words, 1)), _ALL, np.uint64)
    for row in range(right.size):
        number, carry = numbers[right[row]], np.uint64(0)
        for word in range(words):
            vectors[row + 1, word], carry = _step(vectors[row, word], places[number, word], carry)
    return vectors


@nb.njit(cache=True, nogil=True)
def pack(tags: NDArray[np.uint16], offsets: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Packs sequences: one byte for a start or end tag of the first 126 names, ESCAPE and two bytes for any other."""
    packed = np.empty(3 * (offsets[-1] - offsets[0]), np.uint8)
    bounds = np.zeros(offsets.size, np.int64)
    filled = 0
    for page in range(offsets.size - 1):
        for place in range(offsets[page], offsets[page + 1]):
            tag = tags[place]
            name = tag & np.uint16(0x7FFF)
            if name < ESCAPE:
                packed[filled] = name | tag >> np.uint16(8)
                filled += 1
            else:
                packed[filled], packed[filled + 1], packed[filled + 2] = (
                    ESCAPE,
                    tag & np.uint16(0xFF),
                    tag >> np.uint16(8),
                )
                filled += 3
        bounds[page + 1] = filled
    return packed[:filled].copy(), bounds


@nb.njit(cache=True, nogil=True)
def unpack(packed: NDArray[np.uint8], bounds: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Undoes `pack`. An incomplete tag at the end of a page is dropped."""
    tags = np.empty(bounds[-1] - bounds[0], np.uint16)
    offsets = np.zeros(bounds.size, np.int64)
    filled = 0
    for page in range(bounds.size - 1):
        place = bounds[page]
        while place < bounds[page + 1]:
            code = packed[place]
            if code != ESCAPE:
                tags[filled] = np.uint16(code & 0x7F) | np.uint16(code & 0x80) << np.uint16(8)
                place += 1
            elif place + 2 < bounds[page + 1]:
                tags[filled] = np.uint16(packed[place + 1]) | np.uint16(packed[place + 2]) << np.uint16(8)
                place += 3
            else:
                break
            filled += 1
        offsets[page + 1] = filled
    return tags[:filled].copy(), offsets
