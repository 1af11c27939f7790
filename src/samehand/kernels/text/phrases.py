"""Many phrases in many texts at once.

Texts lie end to end: text i is data[offsets[i]:offsets[i+1]]. Every phrase has an anchor: four of its bytes, and the
four bytes one further on. One of the two begins at an even distance from the start of the text, so only every second
place is looked at. Three sieves follow each other, so that hardly any branch is mispredicted: the hash of four bytes is
that of an anchor; the two bytes behind may stand there; eight bytes of the phrase are equal. What is left is compared
in full. An adversary who fills a page with anchors makes it slower by a bounded factor, since one anchor belongs to few
phrases.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html.blocks import word_at
from samehand.kernels.pointers import lend, pointer

NO_PHRASE = -1
ANCHOR_BYTES, SAMPLE_BYTES = 4, 8
BUCKET_BITS, CONTEXT_BITS, CONTEXT_FACTOR = 13, 14, 37

_ONE, _THREE = np.uint64(1), np.uint64(3)
_STEP, _WORD, _BLOCK = np.uint64(6), np.uint64(8), np.uint64(6 * 512)
_CASE, _WINDOW = np.uint64(0x2020202020202020), np.uint64(0xFFFFFFFF)
_LAST, _LONGER = np.int64((1 << 63) - 1), np.int64(1 << 16)
_TO_BUCKET, _TO_CONTEXT = np.uint64(64 - BUCKET_BITS), np.uint64(64 - CONTEXT_BITS)


Places = NDArray[np.uint64]


class Anchors(NamedTuple):
    """What phrases are found by. `spelled` are the phrases end to end, as columns; phrase i begins at starts[i].

    `columns` has the column of each byte: bytes of one column are equal. `marks` has a bit for the hash of each anchor,
    which is the hash shifted by `to_mark`. `contexts` has a bit for each `_context_bit` of the two bytes that may stand
    behind an anchor. The anchors whose hash begins with b are those from buckets[b] to buckets[b + 1]: their four
    bytes, their phrase, and their distance from its start. `samples` has the eight bytes of each phrase from the
    distance `sampled` on, as far as `masks` says that they count. `begins` says that a phrase must begin a word.
    `classes` has a bit for each class of a phrase.
    """

    columns: NDArray[np.uint8]
    marks: NDArray[np.uint8]
    to_mark: np.uint64
    contexts: NDArray[np.uint64]
    buckets: NDArray[np.int32]
    windows: NDArray[np.uint32]
    owners: NDArray[np.int32]
    distances: NDArray[np.int32]
    sampled: NDArray[np.int32]
    samples: NDArray[np.uint64]
    masks: NDArray[np.uint64]
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
    """A text, its start and end, the last place where eight bytes can be read, and the columns of what is found."""

    text: int
    start: int
    end: int
    last_word: int
    width: int


@part
def _is_word_byte(byte: np.uint8) -> bool:
    """Whether a byte belongs to a word. Letters of alphabets that are not ASCII count, as all bytes from 0x80 on."""
    return bool(byte >= 0x80 or 0x61 <= (byte | 0x20) <= 0x7A or 0x30 <= byte <= 0x39)


@helper
def _mark(anchors: Anchors, window: np.uint64) -> np.uint8:
    """A number whose lowest bit says whether a window may be an anchor."""
    place = ((window & _WINDOW) * GOLDEN) >> anchors.to_mark
    mark: np.uint8 = anchors.marks[place >> _THREE] >> (place & np.uint64(7))
    return mark


@helper
def _word(source: NDArray[np.uint8], place: np.uint64, size: np.uint64) -> np.uint64:
    """The eight bytes at `place`, zeros behind the end of the data, each with the bit 0x20 set."""
    if place + _WORD <= size:
        whole: np.uint64 = word_at(source, place)
        return whole | _CASE
    word = np.uint64(0)
    for at in range(place, size):
        word |= np.uint64(source[at]) << (_WORD * (at - place))
    return word | _CASE


@helper
def _marked_steps(
    source: NDArray[np.uint8], place: np.uint64, end: np.uint64, size: np.uint64, anchors: Anchors, steps: Places
) -> np.uint64:
    """Writes the steps from `place` to `end` that may hold an anchor; returns how many. Those at the end of the data
    are always among them.
    """
    count = np.uint64(0)
    while place < end:
        steps[count] = place
        if place + _WORD <= size:
            word = word_at(source, place) | _CASE
            marks = _mark(anchors, word) | _mark(anchors, word >> np.uint64(16)) | _mark(anchors, word >> np.uint64(32))
            count += np.uint64(marks & np.uint8(1))
        else:
            count += _ONE
        place += _STEP
    return count


@helper
def _context_bit(behind: np.uint64) -> np.uint64:
    """Which of 64 bits stands for the two lowest bytes: three bits of each."""
    first, second = behind & np.uint64(0xFF), behind >> np.uint64(8) & np.uint64(0xFF)
    factor, seven = np.uint64(CONTEXT_FACTOR), np.uint64(7)
    return (first * factor >> _THREE & seven) << _THREE | (second * factor >> _THREE & seven)


@helper
def _anchored(
    source: NDArray[np.uint8], size: np.uint64, steps: Places, count: np.uint64, anchors: Anchors, hits: Places
) -> np.uint64:
    """Writes the places in these steps where an anchor may stand with what may follow it; returns how many."""
    found = np.uint64(0)
    for step in range(count):
        place = steps[step]
        word, later = _word(source, place, size), _word(source, place + np.uint64(4), size)
        for turn in range(3):
            window = word >> np.uint64(16 * turn) & _WINDOW
            behind = later >> np.uint64(16 * turn)
            context = anchors.contexts[(window * GOLDEN) >> _TO_CONTEXT] >> _context_bit(behind)
            hits[found] = place + np.uint64(2 * turn)
            found += np.uint64(_mark(anchors, window)) & context & _ONE
    return found


@nb.njit(cache=True, nogil=True)
def find_phrases(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], most: int, anchors: Anchors, found: Found
) -> None:
    """Counts the different phrases of each class in the first `most` bytes of each text."""
    source, size, width = pointer(data), np.uint64(data.size), found.counts.shape[1]
    seen, keys = np.full(anchors.begins.size, -1, np.int64), np.empty(width, np.int64)
    steps, hits = np.empty(_BLOCK // _STEP, np.uint64), np.empty(3 * (_BLOCK // _STEP), np.uint64)
    lent, shown = lend(anchors), lend(found)
    for text in range(offsets.size - 1):
        start, end = offsets[text], min(offsets[text + 1], offsets[text] + most)
        span = _Span(text, start, end, data.size - SAMPLE_BYTES, width)
        keys[:] = _LAST
        for place in range(np.uint64(start), np.uint64(end), _BLOCK):
            stop = min(place + _BLOCK, np.uint64(end))
            count = _marked_steps(source, np.uint64(place), stop, size, lent, pointer(steps))
            count = _anchored(source, size, pointer(steps), count, lent, pointer(hits))
            for hit in range(count):
                window = np.uint32(_word(source, hits[hit], size) & _WINDOW)
                _compare(source, int(np.int64(hits[hit])), window, span, lent, pointer(seen), pointer(keys), shown)


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
        phrase, begin = anchors.owners[anchor], place - anchors.distances[anchor]
        if begin < span.start:
            continue
        sampled = begin + anchors.sampled[phrase]
        if sampled <= span.last_word:
            word = word_at(data, np.uint64(sampled)) | _CASE
            if (word ^ anchors.samples[phrase]) & anchors.masks[phrase]:
                continue
        first, size = anchors.starts[phrase], anchors.starts[phrase + 1] - anchors.starts[phrase]
        if begin + size > span.end:
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
