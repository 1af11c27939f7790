"""Bytes to noise, noise to fingerprints: the hot loops of hidden style similarity.

Every function here takes arrays and returns arrays. `tests/test_kernels_noise.py` holds each one equal to a
readable reference. Index variables are unsigned on purpose: numba adds a wrap-around check to signed ones.

Byte classes (`classes`, uint8[256]): DROP is content, KEEP is noise, SPACE is white space, of which a run becomes
one blank when noise is folded.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

DROP, KEEP, SPACE = 0, 1, 2
EMPTY = 0xFFFFFFFF
"""Value of a fingerprint dimension that no part of the page fell into."""

_BLANK = np.uint8(32)
_ONE = np.uint64(1)
_MIX_A = np.uint64(0xFF51AFD7ED558CCD)
_MIX_B = np.uint64(0x9E3779B97F4A7C15)
_MIX_C = np.uint64(0xC4CEB9FE1A85EC53)


@nb.njit(cache=True, nogil=True)
def extract_noise(page: NDArray[np.uint8], classes: NDArray[np.uint8], fold: bool, noise: NDArray[np.uint8]) -> int:
    """Writes the noise of `page` into `noise` (longer by one at least) and returns its length.

    Every byte is written, only the end moves: no branch looks at the data, so no page is slow to predict. Folding is
    a second pass over what is left, a third of the page, which is faster than one pass that does both.
    """
    length = np.uint64(0)
    for position in range(np.uint64(page.size)):
        byte = page[position]
        noise[length] = byte
        length += np.uint64(classes[byte] != DROP)
    return np.int64(fold_spaces(noise[:length], classes) if fold else length)


@nb.njit(cache=True, nogil=True)
def fold_spaces(noise: NDArray[np.uint8], classes: NDArray[np.uint8]) -> int:
    """Makes each run of white space one blank, in place; returns the new length."""
    length = np.uint64(0)
    after_space = np.uint64(0)
    for position in range(np.uint64(noise.size)):
        byte = noise[position]
        is_space = np.uint64(classes[byte] == SPACE)
        noise[length] = _BLANK if is_space else byte
        length += _ONE ^ (is_space & after_space)
        after_space = is_space
    return np.int64(length)


@nb.njit(cache=True, nogil=True)
def noise_positions(page: NDArray[np.uint8], classes: NDArray[np.uint8], fold: bool) -> NDArray[np.int64]:
    """Where in `page` each byte of its noise stands: the way back from noise to source."""
    positions = np.empty(page.size, np.int64)
    length = 0
    after_space = False
    for position in range(page.size):
        kind = classes[page[position]]
        if kind == DROP:
            continue
        is_space = fold and kind == SPACE
        if not (is_space and after_space):
            positions[length] = position
            length += 1
        after_space = is_space
    return positions[:length].copy()


@nb.njit(cache=True, nogil=True, inline="always")
def _mix(rolling: np.uint64) -> np.uint64:
    """One multiply and two shifts: the rolling hash is linear in its bits, its use as an order must not be."""
    mixed = (rolling ^ (rolling >> np.uint64(32))) * _MIX_A
    return mixed ^ (mixed >> np.uint64(29))


@nb.njit(cache=True, nogil=True, inline="always")
def _rotate(value: np.uint64) -> np.uint64:
    return (value << _ONE) | (value >> np.uint64(63))


@nb.njit(cache=True, nogil=True)
def hash_parts(
    noise: NDArray[np.uint8], entering: NDArray[np.uint64], leaving: NDArray[np.uint64], width: int
) -> NDArray[np.uint64]:
    """The hash of every part (window of `width` bytes), in source order; empty when the noise is shorter than one."""
    count = max(0, noise.size - width + 1)
    hashes = np.empty(count, np.uint64)
    rolling = np.uint64(0)
    for position in range(noise.size):
        rolling = _rotate(rolling) ^ entering[noise[position]]
        if position >= width:
            rolling ^= leaving[noise[position - width]]
        if position >= width - 1:
            hashes[position - width + 1] = _mix(rolling)
    return hashes


@nb.njit(cache=True, nogil=True)
def fingerprint_noise(
    noise: NDArray[np.uint8],
    entering: NDArray[np.uint64],
    leaving: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    width: int,
    values: NDArray[np.uint32],
) -> np.uint64:
    """Procedure 1 of the paper over all parts of `noise`, into `values` (one per dimension, EMPTY before).

    h is the rolling hash, i = h mod m, and the permutation is an XOR mask per dimension followed by an odd
    multiplication, which shuffles bits as the paper asks. Returns the digest of the whole noise, which also covers
    noise too short to hold a part.
    """
    span = np.uint64(width)
    last_dimension = np.uint64(values.size - 1)
    rolling = np.uint64(0)
    digest = np.uint64(noise.size)
    warm = min(span - _ONE, np.uint64(noise.size))
    for position in range(warm):
        rolling = _rotate(rolling) ^ entering[noise[position]]
        digest = (digest ^ rolling) * _MIX_C
    outgoing = np.uint64(0)
    for position in range(warm, np.uint64(noise.size)):
        rolling = _rotate(rolling) ^ entering[noise[position]] ^ outgoing
        outgoing = leaving[noise[position + _ONE - span]]
        part = _mix(rolling)
        digest = (digest ^ part) * _MIX_C
        dimension = part & last_dimension
        value = np.uint32(((part ^ masks[dimension]) * _MIX_B) >> np.uint64(32))
        if value < values[dimension]:
            values[dimension] = value
    return digest ^ (digest >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def fingerprint_pages(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    classes: NDArray[np.uint8],
    fold: bool,
    entering: NDArray[np.uint64],
    leaving: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    width: int,
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint64]]:
    """Fingerprints, noise lengths and noise digests of pages end to end: page i is data[offsets[i]:offsets[i+1]]."""
    pages = offsets.size - 1
    longest = 0
    for page in range(pages):
        longest = max(longest, offsets[page + 1] - offsets[page])
    scratch = np.empty(longest + 1, np.uint8)
    values = np.full((pages, masks.size), np.uint32(EMPTY), np.uint32)
    lengths = np.empty(pages, np.int64)
    digests = np.empty(pages, np.uint64)
    for page in range(pages):
        length = extract_noise(data[offsets[page] : offsets[page + 1]], classes, fold, scratch)
        lengths[page] = length
        digests[page] = fingerprint_noise(scratch[:length], entering, leaving, masks, width, values[page])
    return values, lengths, digests


def shared_runs(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Stretches of parts that stand in both sequences in the same order: rows of (left start, right start, length).

    Every left part that occurs on the right is in exactly one stretch, which begins at the part's first occurrence
    on the right and goes on while both sides agree.
    """
    values, firsts = np.unique(right, return_index=True)
    if not values.size:
        return np.empty((0, 3), np.int64)
    found = np.searchsorted(values, left)
    found[found == values.size] = 0
    starts = np.where(values[found] == left, firsts[found], -1)
    return _extend_runs(left, right, starts)


@nb.njit(cache=True, nogil=True)
def _extend_runs(left: NDArray[np.uint64], right: NDArray[np.uint64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    runs = np.empty((left.size, 3), np.int64)
    count = 0
    position = 0
    while position < left.size:
        other = starts[position]
        if other < 0:
            position += 1
            continue
        length = 1
        while (
            position + length < left.size
            and other + length < right.size
            and left[position + length] == right[other + length]
        ):
            length += 1
        runs[count, 0], runs[count, 1], runs[count, 2] = position, other, length
        count += 1
        position += length
    return runs[:count].copy()
