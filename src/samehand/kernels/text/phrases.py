"""Many phrases in many texts at once, and the folding of the text that they are looked for in.

Texts lie end to end: text i is data[offsets[i]:offsets[i+1]]. Every phrase has an anchor: four of its bytes, and the
four bytes one further on. One of the two begins at an even distance from the start of the text, so only every second
place is looked at. Few places hold the anchor of a phrase, and only there the phrase itself is compared. An adversary
who fills a page with anchors makes it slower by a bounded factor, since one anchor belongs to few phrases.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html.blocks import word_at
from samehand.kernels.pointers import lend, pointer
from samehand.kernels.utf8 import put_character, wide_character

DROPPED, BLANK = 0xFFFF, 0x20
"""Entries of a folding table: a character that vanishes, and one that separates words."""
NO_PHRASE = -1
ANCHOR_BYTES = 4
MARK_BITS, BUCKET_BITS = 17, 13

_ONE, _THREE = np.uint64(1), np.uint64(3)
_NEWLINE, _SPACE = np.uint8(10), np.uint8(32)
_STEP, _WORD = np.uint64(6), np.uint64(8)
_CASE, _WINDOW = np.uint64(0x2020202020202020), np.uint64(0xFFFFFFFF)
_LAST, _LONGER = np.int64((1 << 63) - 1), np.int64(1 << 16)
_TO_MARK, _TO_BUCKET = np.uint64(64 - MARK_BITS), np.uint64(64 - BUCKET_BITS)


class Anchors(NamedTuple):
    """What phrases are found by. `spelled` are the phrases end to end, as columns; phrase i begins at starts[i].

    `columns` has the column of each byte: bytes of one column are equal. `marks` has a bit for the hash of each anchor.
    The anchors whose hash begins with b are those from buckets[b] to buckets[b + 1]: their four bytes, their phrase,
    and their distance from its start. `begins` says that a phrase must begin a word. `classes` has a bit for each class
    of a phrase.
    """

    columns: NDArray[np.uint8]
    marks: NDArray[np.uint8]
    buckets: NDArray[np.int32]
    windows: NDArray[np.uint32]
    owners: NDArray[np.int32]
    distances: NDArray[np.int32]
    spelled: NDArray[np.uint8]
    starts: NDArray[np.int32]
    begins: NDArray[np.uint8]
    classes: NDArray[np.uint64]


class Found(NamedTuple):
    """Different phrases by text (row) and class (column): how many, the first one, and the bytes of the longest.

    They are filled with 0, NO_PHRASE and 0 before.
    """

    counts: NDArray[np.uint8]
    first: NDArray[np.int32]
    longest: NDArray[np.int32]


class _Span(NamedTuple):
    """A text, its start and end, and the columns of what is found."""

    text: int
    start: int
    end: int
    width: int


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


@nb.njit(cache=True, nogil=True, inline="always")
def _mark(marks: NDArray[np.uint8], window: np.uint64) -> np.uint8:
    """A number whose lowest bit says whether a window may be an anchor."""
    place = ((window & _WINDOW) * GOLDEN) >> _TO_MARK
    mark: np.uint8 = marks[place >> _THREE] >> (place & np.uint64(7))
    return mark


@nb.njit(cache=True, nogil=True)
def find_phrases(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], most: int, anchors: Anchors, found: Found
) -> None:
    """Counts the different phrases of each class in the first `most` bytes of each text."""
    marks, source, size = pointer(anchors.marks), pointer(data), np.uint64(data.size)
    width = found.counts.shape[1]
    seen, keys = np.full(anchors.begins.size, -1, np.int64), np.empty(width, np.int64)
    lent, shown, rest = lend(anchors), lend(found), np.empty(8, np.uint8)
    for text in range(offsets.size - 1):
        start, end = offsets[text], min(offsets[text + 1], offsets[text] + most)
        span = _Span(text, start, end, width)
        keys[:] = _LAST
        for place in range(np.uint64(start), np.uint64(end), _STEP):
            if place + _WORD <= size:
                word = word_at(source, place) | _CASE
            else:
                rest[:] = 0
                rest[: data.size - np.int64(place)] = data[np.int64(place) :]
                word = word_at(pointer(rest), np.uint64(0)) | _CASE
            later, last = word >> np.uint64(16), word >> np.uint64(32)
            if not (_mark(marks, word) | _mark(marks, later) | _mark(marks, last)) & np.uint8(1):
                continue
            for step in range(3):
                window = word >> np.uint64(16 * step)
                if _mark(marks, window) & np.uint8(1):
                    at = int(np.int64(place)) + 2 * step
                    _compare(source, at, np.uint32(window), span, lent, pointer(seen), pointer(keys), shown)


@helper
def _compare(
    data: NDArray[np.uint8],
    place: int,
    window: np.uint32,
    span: _Span,
    anchors: Anchors,
    seen: NDArray[np.int64],
    keys: NDArray[np.int64],
    found: Found,
) -> None:
    """Counts the phrases of a text that have their anchor, the bytes of `window`, at `place`."""
    bucket = (np.uint64(window) * GOLDEN) >> _TO_BUCKET
    for anchor in range(anchors.buckets[bucket], anchors.buckets[bucket + _ONE]):
        if anchors.windows[anchor] != window:
            continue
        phrase = anchors.owners[anchor]
        first, size = anchors.starts[phrase], anchors.starts[phrase + 1] - anchors.starts[phrase]
        begin = place - anchors.distances[anchor]
        if begin < span.start or begin + size > span.end:
            continue
        if anchors.begins[phrase] and begin > span.start and _is_word_byte(data[begin - 1]):
            continue
        same = 0
        while same < size and anchors.columns[data[begin + same]] == anchors.spelled[first + same]:
            same += 1
        if same < size:
            continue
        key = (begin + size) * _LONGER - size  # the phrase that ends first comes first, and of those the longest
        for column in range(span.width):
            if anchors.classes[phrase] >> np.uint64(column) & _ONE:
                cell = span.text * span.width + column
                if key < keys[column]:
                    keys[column], found.first[cell] = key, phrase
                if seen[phrase] != span.text:
                    found.counts[cell] = min(found.counts[cell] + 1, 255)
                    found.longest[cell] = max(found.longest[cell], size)
        seen[phrase] = span.text
