"""Text to words and sets of words, after folding what a reader does not see.

`tests/test_kernels_words.py` holds each function equal to a readable reference. Index variables of hot loops are
unsigned because Numba adds a wrap-around check to signed ones.

Text is UTF-8. Document i is data[offsets[i]:offsets[i+1]]. A byte that is not valid UTF-8 separates words. `characters`
(uint32) has an entry for each code point (methods/replica/folding.py makes it): the kind of the character in the upper
4 bits, the place in the alphabet of the Latin letter it looks like in the next 5, and the code point that is hashed for
it in the others. A set of words is a sorted row of hashes: set i is words[starts[i]:starts[i+1]].
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.hashing import GOLDEN, MURMUR, absorb
from samehand.kernels.segments import longest_segment
from samehand.kernels.utf8 import put_character, wide_character

SEPARATOR, LATIN, ALIKE, WEAK, OTHER, UNSPACED, DIGIT, MARK, HIDDEN, ZERO_WIDTH = range(10)
"""Kinds of characters. Letters: LATIN ones; those that look like a Latin one (ALIKE) or resemble one (WEAK); those of
scripts without blanks (UNSPACED); OTHER ones. A MARK continues a word but begins none. A HIDDEN character is ignored
within a word, and so is a ZERO_WIDTH space, unless an UNSPACED letter stands before it: then it separates words."""

KIND_SHIFT, LETTER_SHIFT = 28, 23
IS_WORD, IS_LONG = 1, 2
"""Facts about a run of characters: it is a word by the rule; it has the characters that the rule asks for."""

_ONE, _TWO = np.uint64(1), np.uint64(2)
_LOW_BYTE = np.uint64(0xFF)
_HALF = np.uint64(32)
_CODE = np.uint32((1 << LETTER_SHIFT) - 1)
_FIRST_LETTER = np.uint32(1 << KIND_SHIFT)
"""From here on entries of characters are no separators."""
_LETTER = np.uint32(31)
_BEFORE_A = np.uint64(0x60)
_MAY_BE_ALIKE = np.uint32(1 << ALIKE | 1 << WEAK)
_NOT_ALIKE = np.uint32(1 << OTHER | 1 << UNSPACED | 1 << MARK)
_SMALL, _MEDIUM = 24, 1024
"""Rows up to the first size are sorted by insertion alone, up to the second by their two upper bytes before that."""


@part
def mix(value: np.uint64) -> np.uint64:
    """Every bit of the result depends on every bit of the value."""
    value = (value ^ (value >> _HALF)) * MURMUR
    value = (value ^ (value >> np.uint64(29))) * GOLDEN
    return value ^ (value >> _HALF)


@helper
def gather_words(
    text: NDArray[np.uint8],
    characters: NDArray[np.uint32],
    key: NDArray[np.uint64],
    rule: NDArray[np.int64],
    words: NDArray[np.uint64],
    facts: NDArray[np.int32],
) -> np.int64:
    """Writes the hash of each run of characters of a document, in order, and its facts; returns their number.

    The facts are begin, end and IS_WORD | IS_LONG. `key` is the seed and the odd multiplier of the hash. `rule` is the
    fewest characters and the most digits of a word. A run is written before it is known to have characters, and counted
    only if it has. That saves a branch.
    """
    least, most = np.uint64(rule[0]), np.uint64(rule[1])
    position, end, count = np.uint64(0), np.uint64(text.size), np.uint64(0)
    state, length, digits, begin = key[0], np.uint64(0), np.uint64(0), position
    seen, last = np.uint32(0), np.uint32(0)
    while position <= end:
        code, size = np.uint32(text[position]) if position < end else np.uint32(0), _ONE
        if code >= 0x80:
            code, size = wide_character(text, position, end)
        entry = characters[code]
        kind = entry >> np.uint32(KIND_SHIFT)
        if kind == SEPARATOR or (kind >= MARK and (length == 0 or (kind == ZERO_WIDTH and last == UNSPACED))):
            if seen & _MAY_BE_ALIKE and not seen & _NOT_ALIKE and _looks_latin(text, begin, position, characters):
                state = _latin_state(text, begin, position, characters, key)
            is_long = length >= least
            words[count] = max(mix(state), _ONE)
            facts[count, 0], facts[count, 1] = begin, position
            facts[count, 2] = np.uint64(is_long and digits <= most) * np.uint64(IS_WORD) + np.uint64(is_long) * _TWO
            count += np.uint64(length > 0)
            position += size
            while position < end and text[position] < 0x80 and characters[text[position]] < _FIRST_LETTER:
                position += _ONE  # half of a page's text is blanks, many in a row
            state, length, digits, begin = key[0], np.uint64(0), np.uint64(0), position
            seen, last = np.uint32(0), np.uint32(0)
            continue
        if kind < HIDDEN:
            state = absorb(state, np.uint64(entry & _CODE), key[1])
            length += _ONE
            digits += np.uint64(kind == DIGIT)
            seen |= np.uint32(1) << kind
            last = kind if kind < MARK else last
        position += size
    return np.int64(count)


@helper
def _looks_latin(
    text: NDArray[np.uint8], position: np.uint64, end: np.uint64, characters: NDArray[np.uint32]
) -> np.bool_ | bool:
    """Whether a word holds Latin letters, and every other letter looks like one.

    Where letters only resemble Latin ones, at least half of all letters have to be Latin.
    """
    latin = alike = weak = 0
    while position < end:
        code, size = np.uint32(text[position]), _ONE
        if code >= 0x80:
            code, size = wide_character(text, position, end)
        kind = characters[code] >> np.uint32(KIND_SHIFT)
        if kind in (OTHER, UNSPACED, MARK):
            return False
        latin += kind == LATIN
        alike += kind == ALIKE
        weak += kind == WEAK
        position += size
    return latin > 0 and alike + weak > 0 and (weak == 0 or latin >= alike + weak)


@helper
def _latin_state(
    text: NDArray[np.uint8],
    position: np.uint64,
    end: np.uint64,
    characters: NDArray[np.uint32],
    key: NDArray[np.uint64],
) -> np.uint64:
    """The state of the hash after a word of Latin letters and look-alikes, read as the Latin word it looks like."""
    state = key[0]
    while position < end:
        code, size = np.uint32(text[position]), _ONE
        if code >= 0x80:
            code, size = wide_character(text, position, end)
        if characters[code] >> np.uint32(KIND_SHIFT) < HIDDEN:
            state = absorb(state, _latin_code(characters[code]), key[1])
        position += size
    return np.uint64(state)


@helper
def _latin_code(entry: np.uint32) -> np.uint64:
    """The code point of the Latin letter that a character looks like, or its own where it looks like none."""
    letter = np.uint64((entry >> np.uint32(LETTER_SHIFT)) & _LETTER)
    return _BEFORE_A + letter if letter else np.uint64(entry & _CODE)


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


@helper
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
    room = most_runs(offsets)
    row, spare, facts = np.empty(room, np.uint64), np.empty(room, np.uint64), np.empty((room, 3), np.int32)
    words = np.empty((offsets[documents] - offsets[0]) // (rule[0] + 1) + documents, np.uint64)
    starts = np.zeros(documents + 1, np.int64)
    for document in range(documents):
        text = data[offsets[document] : offsets[document + 1]]
        count = gather_words(text, characters, key, rule, row, facts)
        starts[document + 1] = starts[document] + keep_words(row[:count], facts, spare, words[starts[document] :])
    return starts, words[: starts[documents]].copy()


@helper
def most_runs(offsets: NDArray[np.int64]) -> np.int64:
    """The most runs of characters that a document can have, and one more: a separator parts each from the next."""
    return np.int64(longest_segment(offsets) // 2 + 2)


@helper
def keep_words(
    row: NDArray[np.uint64], facts: NDArray[np.int32], spare: NDArray[np.uint64], target: NDArray[np.uint64]
) -> np.int64:
    """Writes the different words among the runs of a document, sorted; returns their number. Changes `row`."""
    kept = np.uint64(0)
    for run in range(np.uint64(row.size)):
        row[kept] = row[run]
        kept += np.uint64(facts[run, 2] & IS_WORD)
    found = row[:kept]
    sort_hashes(found, spare)
    return copy_distinct(found, target)


@helper
def copy_distinct(row: NDArray[np.uint64], target: NDArray[np.uint64]) -> np.int64:
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
    room = most_runs(offsets)
    row, facts = np.empty(room, np.uint64), np.empty((room, 3), np.int32)
    for document in range(offsets.size - 1):
        text = data[offsets[document] : offsets[document + 1]]
        for run in range(gather_words(text, characters, key, rule, row, facts)):
            rank = np.searchsorted(wanted, row[run])
            is_new = rank < wanted.size and wanted[rank] == row[run] and found[rank, 0] < 0
            if is_new and facts[run, 2] & IS_WORD:
                found[rank, 0], found[rank, 1] = facts[run, 0] + offsets[document], facts[run, 1] + offsets[document]
    return found


@nb.njit(cache=True, nogil=True)
def folded_words(
    data: NDArray[np.uint8], places: NDArray[np.int64], characters: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The words at these places as they are hashed, folded and without hidden characters: (bytes, offsets)."""
    text = np.empty(2 * (places[:, 1] - places[:, 0]).sum(), np.uint8)  # the lower case of 2 bytes may have 3
    offsets = np.zeros(places.shape[0] + 1, np.int64)
    length = np.uint64(0)
    for word in range(places.shape[0]):
        position, end = np.uint64(places[word, 0]), np.uint64(places[word, 1])
        is_latin = _looks_latin(data, position, end, characters)
        while position < end:
            code, size = np.uint32(data[position]), _ONE
            if code >= 0x80:
                code, size = wide_character(data, position, end)
            entry = characters[code]
            if entry >> np.uint32(KIND_SHIFT) < HIDDEN:
                length = put_character(_latin_code(entry) if is_latin else np.uint64(entry & _CODE), text, length)
            position += size
        offsets[word + 1] = length
    return text[:length].copy(), offsets


@nb.njit(cache=True, nogil=True)
def hash_folded(data: NDArray[np.uint8], offsets: NDArray[np.int64], key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hash of each word that is folded already."""
    hashes = np.empty(offsets.size - 1, np.uint64)
    for word in range(hashes.size):
        state, position, end = key[0], np.uint64(offsets[word]), np.uint64(offsets[word + 1])
        while position < end:
            code, size = np.uint32(data[position]), _ONE
            if code >= 0x80:
                code, size = wide_character(data, position, end)
            state = absorb(state, np.uint64(code), key[1])
            position += size
        hashes[word] = max(mix(state), _ONE)
    return hashes
