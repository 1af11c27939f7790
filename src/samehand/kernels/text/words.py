"""Text to sets of words, sets of words to signatures: the hot loops of I-Match with randomised lexicons.

`tests/test_kernels_words.py` holds each function equal to a readable reference. Index variables of hot loops are
unsigned because Numba adds a wrap-around check to signed ones.

Text is UTF-8. Document i is data[offsets[i]:offsets[i+1]]. A byte that is not valid UTF-8 separates words. `characters`
(uint32) has an entry for each code point: the kind of the character in the upper byte, and the lower-case code point
that is hashed for it in the other three. The entry 0 separates words. A set of words is a sorted row of hashes: set i
is words[starts[i]:starts[i+1]].
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.hashing import GOLDEN, MURMUR, absorb
from samehand.kernels.segments import longest_segment
from samehand.kernels.utf8 import put_character, wide_character

LETTER, DIGIT, MARK, HIDDEN = 1, 2, 3, 4
"""Kinds of characters. A MARK continues a word but begins none. A HIDDEN (invisible) one is ignored within a word."""

KIND_SHIFT = 24
MOST_LEXICONS = 32
"""Number of lexicons, with the original one, that fit into the mask of a word."""

_ONE = np.uint64(1)
_LOW_BYTE = np.uint64(0xFF)
_HALF = np.uint64(32)
_CODE = np.uint32((1 << KIND_SHIFT) - 1)
_SMALL, _MEDIUM = 24, 1024
"""Rows up to the first size are sorted by insertion alone, up to the second by their two upper bytes before that."""


@nb.njit(cache=True, nogil=True, inline="always")
def _mix(value: np.uint64) -> np.uint64:
    """Every bit of the result depends on every bit of the value."""
    value = (value ^ (value >> _HALF)) * MURMUR
    value = (value ^ (value >> np.uint64(29))) * GOLDEN
    return value ^ (value >> _HALF)


@nb.njit(cache=True, nogil=True)
def _gather_words(
    text: NDArray[np.uint8],
    characters: NDArray[np.uint32],
    key: NDArray[np.uint64],
    rule: NDArray[np.int64],
    words: NDArray[np.uint64],
    places: NDArray[np.int64],
) -> np.int64:
    """Writes the hash, begin and end of each word of a document, in order; returns the number of words.

    `key` is the seed and the odd multiplier of the hash. `rule` is the fewest characters and the most digits of a word.
    A run of characters is written before it is known to be a word, and counted only if it is. That saves a branch.
    """
    least, most = np.uint64(rule[0]), np.uint64(rule[1])
    position, end, count = np.uint64(0), np.uint64(text.size), np.uint64(0)
    state, length, digits, begin = key[0], np.uint64(0), np.uint64(0), position
    while position <= end:
        code, size = np.uint32(text[position]) if position < end else np.uint32(0), _ONE
        if code >= 0x80:
            code, size = wide_character(text, position, end)
        entry = characters[code]
        kind = entry >> np.uint32(KIND_SHIFT)
        if kind == 0 or (kind >= MARK and length == 0):
            words[count], places[count, 0], places[count, 1] = max(_mix(state), _ONE), begin, position
            count += np.uint64(length >= least) & np.uint64(digits <= most)
            state, length, digits, begin = key[0], np.uint64(0), np.uint64(0), position + size
        elif kind != HIDDEN:
            state = absorb(state, np.uint64(entry & _CODE), key[1])
            length += _ONE
            digits += np.uint64(kind == DIGIT)
        position += size
    return np.int64(count)


@nb.njit(cache=True, nogil=True)
def sort_hashes(row: NDArray[np.uint64], spare: NDArray[np.uint64]) -> None:
    """Sorts `row` in place. `spare` is a scratch array of at least the same length.

    Hashes are spread evenly: a radix sort by their two upper bytes nearly sorts a row, and insertion does the rest.
    Long rows are sorted by all eight bytes, so that words chosen by an adversary do not make them slow.
    """
    if row.size > _SMALL:
        counts = np.empty(256, np.int64)
        source, target = row, spare[: row.size]
        for byte in range(np.uint64(6 if row.size <= _MEDIUM else 0), np.uint64(8)):
            _sort_by_byte(source, target, byte << np.uint64(3), counts)
            source, target = target, source
    for position in range(1, row.size):
        value, place = row[position], position
        while place > 0 and row[place - 1] > value:
            row[place] = row[place - 1]
            place -= 1
        row[place] = value


@nb.njit(cache=True, nogil=True)
def _sort_by_byte(
    source: NDArray[np.uint64], target: NDArray[np.uint64], shift: np.uint64, counts: NDArray[np.int64]
) -> None:
    counts[:] = 0
    for value in source:
        counts[(value >> shift) & _LOW_BYTE] += 1
    total = 0
    for digit in range(np.uint64(256)):
        count = counts[digit]
        counts[digit] = total
        total += count
    for value in source:
        digit = (value >> shift) & _LOW_BYTE
        target[np.uint64(counts[digit])] = value
        counts[digit] += 1


@nb.njit(cache=True, nogil=True)
def document_words(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    characters: NDArray[np.uint32],
    key: NDArray[np.uint64],
    rule: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The set of words of each document: (starts, words)."""
    documents = offsets.size - 1
    room = _most_words(offsets, rule)
    row, spare, places = np.empty(room, np.uint64), np.empty(room, np.uint64), np.empty((room, 2), np.int64)
    words = np.empty((offsets[documents] - offsets[0]) // (rule[0] + 1) + documents, np.uint64)
    starts = np.zeros(documents + 1, np.int64)
    for document in range(documents):
        text = data[offsets[document] : offsets[document + 1]]
        found = row[: _gather_words(text, characters, key, rule, row, places)]
        sort_hashes(found, spare)
        starts[document + 1] = starts[document] + _copy_distinct(found, words[starts[document] :])
    return starts, words[: starts[documents]].copy()


@nb.njit(cache=True, nogil=True)
def _most_words(offsets: NDArray[np.int64], rule: NDArray[np.int64]) -> np.int64:
    """The most words a document can have, and one more: a character separates each word from the next."""
    return np.int64(longest_segment(offsets) // (rule[0] + 1) + 2)


@nb.njit(cache=True, nogil=True)
def _copy_distinct(row: NDArray[np.uint64], target: NDArray[np.uint64]) -> np.int64:
    """Copies each different value of a sorted row once; returns their number."""
    kept = np.uint64(0)
    before = np.uint64(0)
    for value in row:
        if value != before:
            target[kept] = value
            kept += _ONE
        before = value
    return np.int64(kept)


@nb.njit(cache=True, nogil=True)
def find_words(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    characters: NDArray[np.uint32],
    key: NDArray[np.uint64],
    rule: NDArray[np.int64],
    wanted: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """The first occurrence of each of the sorted hashes `wanted` in the data: rows of (begin, end), -1 for none."""
    found = np.full((wanted.size, 2), -1, np.int64)
    room = _most_words(offsets, rule)
    row, places = np.empty(room, np.uint64), np.empty((room, 2), np.int64)
    for document in range(offsets.size - 1):
        text = data[offsets[document] : offsets[document + 1]]
        for position in range(_gather_words(text, characters, key, rule, row, places)):
            rank = np.searchsorted(wanted, row[position])
            if rank < wanted.size and wanted[rank] == row[position] and found[rank, 0] < 0:
                found[rank] = places[position] + offsets[document]
    return found


@nb.njit(cache=True, nogil=True)
def lower_words(
    data: NDArray[np.uint8], places: NDArray[np.int64], characters: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The words at these places, lower-cased and without hidden characters, as they are hashed: (bytes, offsets)."""
    text = np.empty(2 * (places[:, 1] - places[:, 0]).sum(), np.uint8)  # the lower case of 2 bytes may have 3
    offsets = np.zeros(places.shape[0] + 1, np.int64)
    length = np.uint64(0)
    for word in range(places.shape[0]):
        position, end = np.uint64(places[word, 0]), np.uint64(places[word, 1])
        while position < end:
            code, size = np.uint32(data[position]), _ONE
            if code >= 0x80:
                code, size = wide_character(data, position, end)
            entry = characters[code]
            if entry >> np.uint32(KIND_SHIFT) != HIDDEN:
                length = put_character(np.uint64(entry & _CODE), text, length)
            position += size
        offsets[word + 1] = length
    return text[:length].copy(), offsets


@nb.njit(cache=True, nogil=True)
def lexicon_slots(
    words: NDArray[np.uint64], seeds: NDArray[np.uint64], limits: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """A hash table of a lexicon's words: rows of (hash, rank << 32 | mask); hash 0 is an empty slot.

    Bit 0 of the mask is the original lexicon. Bit k is set if randomised lexicon k keeps the word: with probability
    limits[k - 1] / 2 ** 32, drawn independently (section 4) from the word's hash and seeds[k - 1].
    """
    size = 16
    while size < 2 * words.size:
        size *= 2
    last = np.uint64(size - 1)
    slots = np.zeros((size, 2), np.uint64)
    for rank in range(np.uint64(words.size)):
        mask = _ONE
        for lexicon in range(np.uint64(seeds.size)):
            kept = np.uint64(_mix(words[rank] ^ seeds[lexicon]) >> _HALF < limits[lexicon])
            mask |= kept << (lexicon + _ONE)
        slot = words[rank] & last
        while slots[slot, 0] != 0:
            slot = (slot + _ONE) & last
        slots[slot, 0], slots[slot, 1] = words[rank], (np.uint64(rank) << _HALF) | mask
    return slots


@nb.njit(cache=True, nogil=True, inline="always")
def _look_up(slots: NDArray[np.uint64], word: np.uint64) -> np.uint64:
    """Rank and mask of a word; 0 if it is not in the lexicon (a mask is never 0)."""
    last = np.uint64(slots.shape[0] - 1)
    slot = word & last
    while slots[slot, 0] != 0:
        if slots[slot, 0] == word:
            return np.uint64(slots[slot, 1])
        slot = (slot + _ONE) & last
    return np.uint64(0)


@nb.njit(cache=True, nogil=True, inline="always")
def _add_word(sums: NDArray[np.uint64], counts: NDArray[np.uint64], word: np.uint64, mask: np.uint64) -> None:
    """Adds a word to the sum of each lexicon that keeps it. The sum of hashes does not depend on the order of words."""
    for lexicon in range(np.uint64(sums.size)):
        inside = (mask >> lexicon) & _ONE
        sums[lexicon] += word & (np.uint64(0) - inside)
        counts[lexicon] += inside


@nb.njit(cache=True, nogil=True)
def sign_documents(
    starts: NDArray[np.int64],
    words: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    ranks: NDArray[np.int64],
    lexicons: int,
    least: int,
    share: float,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """Signatures of each set of words under all lexicons, in one pass over its words; overlaps; words added.

    `ranks` are the first and end rank of the primary lexicon, and those of the secondary one. A set with fewer than
    max(least, share x its size) words of the primary lexicon takes words of the secondary one, by rank, until it has as
    many (section 3). A signature of fewer than `least` words is refused and becomes 0.
    """
    documents = starts.size - 1
    signatures = np.zeros((documents, lexicons), np.uint64)
    overlaps = np.zeros(documents, np.int64)
    added = np.zeros(documents, np.int64)
    sums, counts = np.empty(lexicons, np.uint64), np.empty(lexicons, np.uint64)
    longest = longest_segment(starts)
    others, spare = np.empty(longest, np.uint64), np.empty(longest, np.uint64)
    for document in range(documents):
        row = words[starts[document] : starts[document + 1]]
        sums[:], counts[:] = 0, 0
        waiting = _add_primary(row, slots, ranks, sums, counts, others)
        missing = np.int64(max(least, np.ceil(share * row.size))) - np.int64(counts[0])
        if missing > 0:
            sort_hashes(others[:waiting], spare)
            added[document] = min(missing, waiting)
            for other in others[: added[document]]:
                word = row[other & np.uint64(0xFFFFFFFF)]
                _add_word(sums, counts, word, _look_up(slots, word))
        overlaps[document] = counts[0]
        for lexicon in range(np.uint64(lexicons)):
            if counts[lexicon] >= least:
                salt = ((counts[lexicon] << np.uint64(8)) | lexicon) * GOLDEN
                signatures[document, lexicon] = max(_mix(sums[lexicon] ^ salt), _ONE)
    return signatures, overlaps, added


@nb.njit(cache=True, nogil=True)
def _add_primary(
    row: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    ranks: NDArray[np.int64],
    sums: NDArray[np.uint64],
    counts: NDArray[np.uint64],
    others: NDArray[np.uint64],
) -> np.int64:
    """Adds the words of the primary lexicon; writes those of the secondary one as rank << 32 | position in the row."""
    waiting = np.uint64(0)
    for position in range(np.uint64(row.size)):
        entry = _look_up(slots, row[position])
        rank = np.int64(entry >> _HALF)
        if entry == 0:
            continue
        if ranks[0] <= rank < ranks[1]:
            _add_word(sums, counts, row[position], entry)
        elif ranks[2] <= rank < ranks[3]:
            others[waiting] = (np.uint64(rank) << _HALF) | position
            waiting += _ONE
    return np.int64(waiting)
