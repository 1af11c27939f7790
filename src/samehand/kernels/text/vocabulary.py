"""Words as spans of bytes, found in a hash table with linear probing.

A vocabulary is a blob of bytes and offsets into it: word i is blob[offsets[i]:offsets[i + 1]]. A slot of the table has
the upper half of a word's hash and the word's number. The number of slots is a power of two, and at most half are used.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import GOLDEN, absorb
from samehand.kernels.html.blocks import word_at
from samehand.kernels.ngrams.tries import FIRST_WORD, UNKNOWN
from samehand.kernels.pointers import pointer

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_BLOCK = 256


@helper
def _chunk(data: NDArray[np.uint8], start: int, length: int) -> np.uint64:
    """Up to eight bytes from `start` on as a number, the first one in the lowest bits."""
    if start + 8 <= data.size:
        word: np.uint64 = word_at(pointer(data), np.uint64(start))
        return word if length >= 8 else word & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
    chunk = np.uint64(0)
    for place in range(min(length, 8)):
        chunk |= np.uint64(data[start + place]) << np.uint64(8 * place)
    return chunk


@helper
def _read(data: NDArray[np.uint8], start: int, end: int) -> tuple[np.uint64, np.uint64]:
    """A hash of the bytes data[start:end], and the first eight of them as a number."""
    state = np.uint64(end - start) * GOLDEN
    first = chunk = _chunk(data, start, end - start)
    while end - start >= 8:
        state = absorb(state, chunk, GOLDEN)
        start += 8
        chunk = _chunk(data, start, end - start)
    state = absorb(state, chunk, GOLDEN) * GOLDEN
    return state ^ (state >> np.uint64(29)), first


@nb.njit(cache=True, nogil=True)
def first_bytes(blob: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The first eight bytes of each word as a number."""
    result = np.empty(offsets.size - 1, np.uint64)
    for word in range(result.size):
        result[word] = _read(blob, offsets[word], offsets[word + 1])[1]
    return result


@helper
def _slot_of(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    hashed: np.uint64,
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    slots: NDArray[np.uint64],
) -> np.uint64:
    """The slot that holds the word data[start:end], or the empty one where it would go."""
    mask = np.uint64(slots.size - 1)
    slot = hashed & mask
    length = end - start
    while slots[slot] != EMPTY:
        word = slots[slot] & _LOW
        if slots[slot] >> _HALF == hashed >> _HALF and offsets[word + np.uint64(1)] - offsets[word] == length:
            begin = offsets[word]
            same = True
            for place in range(length):
                if blob[begin + place] != data[start + place]:
                    same = False
                    break
            if same:
                break
        slot = (slot + np.uint64(1)) & mask
    return slot


@nb.njit(cache=True, nogil=True)
def fill_slots(blob: NDArray[np.uint8], offsets: NDArray[np.int64], first: int, slots: NDArray[np.uint64]) -> int:
    """Enters the words from `first` on into empty slots; returns the number of a word that occurs twice, or -1."""
    for word in range(first, offsets.size - 1):
        hashed = _read(blob, offsets[word], offsets[word + 1])[0]
        slot = _slot_of(blob, offsets[word], offsets[word + 1], hashed, blob, offsets, slots)
        if slots[slot] != EMPTY:
            return word
        slots[slot] = ((hashed >> _HALF) << _HALF) | np.uint64(word)
    return -1


@nb.njit(cache=True, nogil=True)
def find_words(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    firsts: NDArray[np.uint64],
    slots: NDArray[np.uint64],
) -> NDArray[np.int32]:
    """The number of each word data[starts[i]:ends[i]]; UNKNOWN if the vocabulary lacks it or the span is not valid.

    Each block of words takes three passes: hashes, candidates by the hash alone, comparison. So no word waits for the
    memory accesses of the word before it. `firsts` are the first eight bytes of each word, which is most words whole.
    """
    ids = np.empty(starts.size, np.int32)
    hashes, heads = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    mask = np.uint64(slots.size - 1)
    for begin in range(0, starts.size, _BLOCK):
        size = min(_BLOCK, starts.size - begin)
        for row in range(size):
            start, end = starts[begin + row], ends[begin + row]
            whole = 0 <= start < end <= data.size
            hashes[row], heads[row] = _read(data, start if whole else 0, end if whole else 0)
        for row in range(size):
            slot = hashes[row] & mask
            found = slots[slot]
            while found != EMPTY and found >> _HALF != hashes[row] >> _HALF:
                slot = (slot + np.uint64(1)) & mask
                found = slots[slot]
            ids[begin + row] = np.int32(found & _LOW) if found != EMPTY else UNKNOWN
        for row in range(size):
            word, start, end = ids[begin + row], starts[begin + row], ends[begin + row]
            if word == UNKNOWN:
                continue
            same = firsts[word] == heads[row] and offsets[word + 1] - offsets[word] == end - start
            for place in range(8, end - start if same else 0):
                same &= blob[offsets[word] + place] == data[start + place]
            if not same:  # another word has the same half of a hash: search on, byte by byte
                found = slots[_slot_of(data, start, end, hashes[row], blob, offsets, slots)]
                ids[begin + row] = np.int32(found & _LOW) if found != EMPTY else UNKNOWN
    return ids


@nb.njit(cache=True, nogil=True)
def add_words(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    begin: int,
    blob: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    slots: NDArray[np.uint64],
    words: int,
    ids: NDArray[np.int32],
) -> tuple[int, int]:
    """Counts the words from row `begin` on, and adds new ones; stops when the table or the blob has no room left.

    Returns the row it stopped at and the number of words in the vocabulary.
    """
    for row in range(begin, starts.size):
        if not 0 <= starts[row] < ends[row] <= data.size:
            ids[row] = UNKNOWN
            continue
        hashed = _read(data, starts[row], ends[row])[0]
        slot = _slot_of(data, starts[row], ends[row], hashed, blob, offsets, slots)
        if slots[slot] == EMPTY:
            length = ends[row] - starts[row]
            if 2 * (words + 1) > slots.size or words + 1 >= offsets.size or offsets[words] + length > blob.size:
                return row, words
            blob[offsets[words] : offsets[words] + length] = data[starts[row] : ends[row]]
            offsets[words + 1] = offsets[words] + length
            counts[words] = 0
            slots[slot] = ((hashed >> _HALF) << _HALF) | np.uint64(words)
            words += 1
        known = np.int64(slots[slot] & _LOW)
        ids[row] = known + FIRST_WORD
        counts[known] += 1
    return starts.size, words
