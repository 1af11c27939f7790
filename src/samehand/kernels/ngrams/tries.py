"""Windows of words to sorted counts, counts to a trie: the hot loops of language training.

A text is `ids`, an array of word numbers, and `sentences`, the offsets of its sentences in it. Each position of a
sentence, with <s> and </s>, starts a window of `order` words, cut off at </s>. A window is a number of up to 128 bits,
(high, low). It has a field of `bits` bits for each word, the first word in the highest bits: the word's number + 1, or
0 after the end of the sentence. `high` is empty if 64 bits are enough. An n-gram is the beginning of a window, so
sorted windows hold the sorted n-grams of every order. `tests/test_kernels_ngrams.py` holds each function equal to a
readable reference.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper

UNKNOWN, START, END, FIRST_WORD = 0, 1, 2, 3
LARGEST_ORDER = 5
_DIGIT_BITS = 11
_DIGITS = 6
"""Digits of 11 bits in a number of 64 bits."""


@helper
def _pushed(high: np.uint64, low: np.uint64, field: np.uint64, bits: int) -> tuple[np.uint64, np.uint64]:
    """The number with one more field at its end."""
    return (high << np.uint64(bits)) | (low >> np.uint64(64 - bits)), (low << np.uint64(bits)) | field


@nb.njit(cache=True, nogil=True)
def field_of(high: np.uint64, low: np.uint64, place: int, order: int, bits: int) -> np.uint64:
    """Field `place` of a window: word number + 1, or 0."""
    shift = bits * (order - 1 - place)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    if shift >= 64:
        return (high >> np.uint64(shift - 64)) & mask
    if shift == 0:
        return low & mask
    return ((low >> np.uint64(shift)) | (high << np.uint64(64 - shift))) & mask


@nb.njit(cache=True, nogil=True)
def window_keys(
    ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int, bits: int, words: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The windows of a text, in its order. Numbers from `words` on, and negative ones, count as unknown."""
    total = ids.size + 2 * (sentences.size - 1)
    wide = order * bits > 64
    high = np.empty(total if wide else 0, np.uint64)
    low = np.empty(total, np.uint64)
    out = 0
    for sentence in range(sentences.size - 1):
        first, end = sentences[sentence], sentences[sentence + 1]
        for place in range(first - 1, end + 1):
            upper, lower = np.uint64(0), np.uint64(0)
            for ahead in range(place, place + order):
                field = np.uint64(0)
                if ahead < first:
                    field = np.uint64(START + 1)
                elif ahead < end:
                    word = ids[ahead]
                    field = np.uint64(word + 1) if 0 <= word < words else np.uint64(UNKNOWN + 1)
                elif ahead == end:
                    field = np.uint64(END + 1)
                upper, lower = _pushed(upper, lower, field, bits)
            low[out] = lower
            if wide:
                high[out] = upper
            out += 1
    return high, low


@nb.njit(cache=True, nogil=True)
def sort_wide(high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
    """Sorts windows by (high, low), and their counts with them: a radix sort that skips digits all have in common."""
    size = low.size
    other_high, other_low = np.empty_like(high), np.empty_like(low)
    other_counts = np.empty_like(counts)
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    swapped = False
    for digit in range(2 * _DIGITS):
        shift = np.uint64(_DIGIT_BITS * (digit % _DIGITS))
        upper = digit >= _DIGITS
        if upper and high.size == 0:
            break
        places = np.zeros((1 << _DIGIT_BITS) + 1, np.int64)
        source = (other_high if swapped else high) if upper else (other_low if swapped else low)
        for row in range(size):
            places[((source[row] >> shift) & mask) + np.uint64(1)] += 1
        if places.max() == size:
            continue
        places = np.cumsum(places)
        if swapped:
            _deal(other_high, other_low, other_counts, source, shift, places, high, low, counts)
        else:
            _deal(high, low, counts, source, shift, places, other_high, other_low, other_counts)
        swapped = not swapped
    if swapped:
        high[:], low[:], counts[:] = other_high, other_low, other_counts


@helper
def _deal(
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    counts: NDArray[np.uint64],
    source: NDArray[np.uint64],
    shift: np.uint64,
    places: NDArray[np.int64],
    to_high: NDArray[np.uint64],
    to_low: NDArray[np.uint64],
    to_counts: NDArray[np.uint64],
) -> None:
    mask = np.uint64((1 << _DIGIT_BITS) - 1)
    for row in range(low.size):
        digit = (source[row] >> shift) & mask
        place = places[digit]
        places[digit] = place + 1
        to_low[place] = low[row]
        if high.size:
            to_high[place] = high[row]
        if counts.size:
            to_counts[place] = counts[row]


@nb.njit(cache=True, nogil=True)
def collapse(
    high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Merges equal windows of a sorted list, and sums up their counts. Without counts each window counts one."""
    sums = np.empty(low.size, np.uint64)
    out = -1
    for row in range(low.size):
        new = out < 0 or low[row] != low[out] or (high.size > 0 and high[row] != high[out])
        count = counts[row] if counts.size else np.uint64(1)
        if new:
            out += 1
            low[out] = low[row]
            if high.size:
                high[out] = high[row]
            sums[out] = count
        else:
            sums[out] += count
    return high[: out + 1 if high.size else 0].copy(), low[: out + 1].copy(), sums[: out + 1].copy()


@nb.njit(cache=True, nogil=True)
def lower_bound(high: NDArray[np.uint64], low: NDArray[np.uint64], key_high: np.uint64, key_low: np.uint64) -> int:
    """The number of sorted windows that are smaller than a key."""
    begin, end = 0, low.size
    while begin < end:
        middle = (begin + end) // 2
        upper = high[middle] if high.size else np.uint64(0)
        if upper < key_high or (upper == key_high and low[middle] < key_low):
            begin = middle + 1
        else:
            end = middle
    return begin


@helper
def _before(high: NDArray[np.uint64], low: NDArray[np.uint64], left: int, right: int) -> bool:
    if high.size and high[left] != high[right]:
        return bool(high[left] < high[right])
    return bool(low[left] < low[right] or (low[left] == low[right] and left < right))


@nb.njit(cache=True, nogil=True)
def merge_runs(
    high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64], starts: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Merges sorted runs, which begin at `starts`, into one sorted list of distinct windows with their counts."""
    out_high, out_low = np.empty_like(high), np.empty_like(low)
    sums = np.empty_like(counts)
    heads = starts[:-1].copy()
    heap = np.empty(heads.size, np.int64)
    size = 0
    for run in range(heads.size):
        if heads[run] < starts[run + 1]:
            heap[size] = run
            size += 1
    for root in range(size // 2 - 1, -1, -1):
        _sift(high, low, heads, heap, size, root)
    out = -1
    while size:
        run = heap[0]
        row = heads[run]
        if out >= 0 and low[row] == out_low[out] and (high.size == 0 or high[row] == out_high[out]):
            sums[out] += counts[row]
        else:
            out += 1
            out_low[out] = low[row]
            if high.size:
                out_high[out] = high[row]
            sums[out] = counts[row]
        heads[run] = row + 1
        if heads[run] == starts[run + 1]:
            size -= 1
            heap[0] = heap[size]
        _sift(high, low, heads, heap, size, 0)
    return out_high[: out + 1 if high.size else 0], out_low[: out + 1], sums[: out + 1]


@helper
def _sift(
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    heads: NDArray[np.int64],
    heap: NDArray[np.int64],
    size: int,
    root: int,
) -> None:
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _before(high, low, heads[heap[child + 1]], heads[heap[child]]):
            child += 1
        if not _before(high, low, heads[heap[child]], heads[heap[root]]):
            return
        heap[root], heap[child] = heap[child], heap[root]
        root = child


@nb.njit(cache=True, nogil=True)
def grow_levels(
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    sums: NDArray[np.uint64],
    order: int,
    bits: int,
    whole: bool,
    last: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    words: NDArray[np.uint32],
    counts: NDArray[np.uint64],
    first: NDArray[np.int64],
) -> None:
    """Appends sorted distinct windows to the levels of a trie. Each call continues where the last one ended.

    Row n - 1 of `words`, `counts` and `first` is the level of n-grams: last word, count, first child in the next row.
    `sizes` is how far each row is filled. `last` has the fields of the window before. With `whole` a window counts for
    its n-gram alone; without, also for each beginning of it.
    """
    for row in range(low.size):
        upper = high[row] if high.size else np.uint64(0)
        differs = False
        for place in range(order):
            field = field_of(upper, low[row], place, order, bits)
            differs |= field != last[place]
            last[place] = field
            if field == 0:
                for rest in range(place + 1, order):
                    last[rest] = 0
                break
            if differs:
                slot = sizes[place]
                words[place, slot] = field - np.uint64(1)
                counts[place, slot] = 0
                first[place, slot] = sizes[place + 1] if place + 1 < order else 0
                sizes[place] = slot + 1
            ends = place + 1 == order or field_of(upper, low[row], place + 1, order, bits) == 0
            if ends or not whole:
                counts[place, sizes[place] - 1] += sums[row]


@nb.njit(cache=True, nogil=True)
def find_child(words: NDArray[np.uint32], first: NDArray[np.uint32], shift: int, node: int, word: int) -> int:
    """The child of an inner node by its word, or -1. No index leaves the arrays, whatever they hold."""
    begin, size = int(first[node]) - shift, int(first[node + 1]) - shift
    if begin < 0 or size > words.size:
        return -1
    end = size
    while begin < end:
        middle = (begin + end) >> 1
        if words[middle] < word:
            begin = middle + 1
        else:
            end = middle
    return begin + shift if begin < size and words[begin] == word else -1


@nb.njit(cache=True, nogil=True)
def suffix_nodes(words: NDArray[np.uint32], first: NDArray[np.uint32], levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The node of the suffix (without the first word) of each n-gram; -1 for single words and missing nodes."""
    suffixes = np.full(levels[-1], -1, np.int64)
    shift = levels[1]
    for node in range(first.size - 1):
        for child in range(first[node], first[node + 1]):
            word = words[child - shift]
            if node < shift:
                suffixes[child] = word
            elif suffixes[node] >= 0:
                suffixes[child] = find_child(words, first, shift, suffixes[node], word)
    return suffixes


@nb.njit(cache=True, nogil=True)
def parent_nodes(first: NDArray[np.uint32], total: int) -> NDArray[np.int64]:
    """The node of the history (without the last word) of each n-gram; -1 for single words."""
    parents = np.full(total, -1, np.int64)
    for node in range(first.size - 1):
        for child in range(first[node], first[node + 1]):
            parents[child] = node
    return parents


@nb.njit(cache=True, nogil=True)
def pack_rows(rows: NDArray[np.int32], order: int, bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """N-grams, one in a row, as windows of `order` words."""
    high = np.zeros(rows.shape[0] if order * bits > 64 else 0, np.uint64)
    low = np.zeros(rows.shape[0], np.uint64)
    for row in range(rows.shape[0]):
        upper, lower = np.uint64(0), np.uint64(0)
        for place in range(order):
            field = np.uint64(rows[row, place] + 1) if place < rows.shape[1] else np.uint64(0)
            upper, lower = _pushed(upper, lower, field, bits)
        low[row] = lower
        if high.size:
            high[row] = upper
    return high, low
