"""Bytes to noise, noise to fingerprints: the hot loops of hidden style similarity.

Noise is every byte but ASCII letters, digits, and bytes from 0x80 on, which are letters of other scripts.
`tests/test_kernels_noise.py` holds each function equal to a readable reference. Index variables are unsigned because
Numba adds a wrap-around check to signed ones.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part
from samehand.kernels.bits import ones
from samehand.kernels.compaction import BLOCK, blank_bits, compact_block, noise_bits
from samehand.kernels.hashing import GOLDEN, finish
from samehand.kernels.pointers import pointer
from samehand.kernels.segments import longest_segment, readable_segment

WHITE_SPACE = b" \t\n\r\f\v"
EMPTY = 0xFFFFFFFF
"""Value of a dimension that no shingle of the page fell into."""

TOGETHER = 128
"""Shingles of each half whose hashes are finished together."""

SWAP_DISTANCES = (32, 16, 8, 4, 2, 1, 2, 4, 8, 16, 32)
"""A network of swaps at these distances reaches every order of 64 bits (Beneš)."""
_SWAP_DISTANCES = np.array(SWAP_DISTANCES, np.uint64)

_IS_NOISE = np.array([byte < 0x80 and not chr(byte).isalnum() for byte in range(256)])
_IS_BLANK = np.isin(np.arange(256), list(WHITE_SPACE))
_ZERO, _ONE, _BLOCK, _TOGETHER = np.uint64(0), np.uint64(1), np.uint64(BLOCK), np.uint64(TOGETHER)


@nb.njit(cache=True, nogil=True)
def extract_noise(page: NDArray[np.uint8], fold: bool, noise: NDArray[np.uint8]) -> np.int64:
    """Writes the noise of `page` into `noise` and returns its length. Both have BLOCK more bytes behind them.

    `fold` replaces each run of white space by one blank. A blank is kept if it is the first noise behind a byte that is
    kept: a bit behind each such byte is added to the bits of content, and the carry stops at the next noise.
    """
    source, target = pointer(page), pointer(noise)
    stop, length = np.uint64(page.size), _ZERO
    opens = _ONE  # whether a blank at the start of the block is kept
    for position in range(_ZERO, stop, _BLOCK):
        kept, blanks = noise_bits(source, position), _ZERO
        if stop - position < _BLOCK:
            kept &= (_ONE << (stop - position)) - _ONE
        if fold:
            blanks = blank_bits(source, position)
            other = kept & ~blanks
            behind = (other << _ONE) | opens
            reached = behind + ~kept
            opens = (other >> np.uint64(63)) | np.uint64(reached < behind)
            kept &= other | reached
        compact_block(source, position, kept, blanks, target, length)
        length += ones(kept)
    return np.int64(length)


def noise_positions(page: NDArray[np.uint8], fold: bool) -> NDArray[np.intp]:
    """The position in `page` of each byte of its noise."""
    positions = np.flatnonzero(_IS_NOISE[page])
    if not fold:
        return positions
    is_blank = _IS_BLANK[page[positions]]
    is_blank[1:] &= is_blank[:-1].copy()
    is_blank[:1] = False
    return positions[~is_blank]


@part
def _rotate(value: np.uint64) -> np.uint64:
    return (value << _ONE) | (value >> np.uint64(63))


@nb.njit(cache=True, nogil=True)
def hash_shingles(
    noise: NDArray[np.uint8], entering: NDArray[np.uint64], leaving: NDArray[np.uint64], width: int
) -> NDArray[np.uint64]:
    """The hash of every shingle (window of `width` bytes) in order; none if the noise is shorter than a shingle."""
    count = max(0, noise.size - width + 1)
    hashes = np.empty(count, np.uint64)
    rolling = np.uint64(0)
    for position in range(noise.size):
        rolling = _rotate(rolling) ^ entering[noise[position]]
        if position >= width:
            rolling ^= leaving[noise[position - width]]
        if position >= width - 1:
            hashes[position - width + 1] = finish(rolling)
    return hashes


@nb.njit(cache=True, nogil=True)
def fingerprint_noise(
    noise: NDArray[np.uint8],
    entering: NDArray[np.uint64],
    leaving: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    width: int,
    values: NDArray[np.uint32],
) -> None:
    """Procedure 1 of the paper: enters all shingles of `noise` into `values`, one per dimension, EMPTY before.

    Two windows roll at once, one through each half of the shingles. Each step of a rolling hash waits for the step
    before it, so the processor has time for a second hash. Some states at a time are kept and then finished together,
    because that can be done by vectors.
    """
    shingles = noise.size - width + 1
    if shingles <= 0:
        return
    half, lead = np.uint64(shingles // 2), np.uint64(width - 1)
    first = _roll_in(noise[:lead], entering)
    second = _roll_in(noise[half : half + lead], entering)
    first_out = second_out = _ZERO
    states = np.zeros(2 * TOGETHER, np.uint64)
    for start in range(_ZERO, half, _TOGETHER):
        size = min(_TOGETHER, half - start)
        for step in range(size):
            low, high = start + step, half + start + step
            first = _rotate(first) ^ entering[noise[low + lead]] ^ first_out
            second = _rotate(second) ^ entering[noise[high + lead]] ^ second_out
            first_out, second_out = leaving[noise[low]], leaving[noise[high]]
            states[step], states[_TOGETHER + step] = first, second
        for place in range(_TOGETHER + _TOGETHER):
            states[place] = finish(states[place])
        for step in range(size):
            _insert(values, states[step], masks)
            _insert(values, states[_TOGETHER + step], masks)
    if shingles % 2:
        _insert(values, finish(_rotate(second) ^ entering[noise[noise.size - 1]] ^ second_out), masks)


@nb.njit(cache=True, nogil=True)
def _roll_in(noise: NDArray[np.uint8], entering: NDArray[np.uint64]) -> np.uint64:
    rolling = np.uint64(0)
    for byte in noise:
        rolling = _rotate(rolling) ^ entering[byte]
    return rolling


@part
def _insert(values: NDArray[np.uint32], shingle: np.uint64, masks: NDArray[np.uint64]) -> None:
    """i = h mod m. For the permutation of the paper stand an XOR mask and a multiplication by an odd number."""
    dimension = shingle & np.uint64(values.size - 1)
    value = np.uint32(((shingle ^ masks[dimension]) * GOLDEN) >> np.uint64(32))
    values[dimension] = min(values[dimension], value)  # a branch here would often be mispredicted


@nb.njit(cache=True, nogil=True)
def fingerprint_shuffled(
    shingles: NDArray[np.uint64], masks: NDArray[np.uint64], swaps: NDArray[np.uint64], values: NDArray[np.uint32]
) -> None:
    """Procedure 1 with the permutations of the paper: an XOR mask and a shuffle of all bits, one of each per dimension.

    A shuffle is a network of SWAP_DISTANCES: at each distance, the bits that its mask names change places.
    """
    for shingle in shingles:
        dimension = shingle & np.uint64(values.size - 1)
        bits = shingle ^ masks[dimension]
        for step in range(swaps.shape[1]):
            distance = _SWAP_DISTANCES[step]
            swapped = ((bits >> distance) ^ bits) & swaps[dimension, step]
            bits ^= swapped ^ (swapped << distance)
        values[dimension] = min(values[dimension], np.uint32(bits >> np.uint64(32)))


@nb.njit(cache=True, nogil=True)
def fingerprint_pages(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    fold: bool,
    entering: NDArray[np.uint64],
    leaving: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    swaps: NDArray[np.uint64],
    width: int,
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Fingerprints and noise lengths of pages: page i is data[offsets[i]:offsets[i+1]].

    With `swaps`, the bits of hashes are shuffled as in the paper.
    """
    pages = offsets.size - 1
    longest = longest_segment(offsets)
    copied, scratch = np.zeros(longest + BLOCK, np.uint8), np.empty(longest + BLOCK, np.uint8)
    values = np.full((pages, masks.size), np.uint32(EMPTY), np.uint32)
    lengths = np.empty(pages, np.int64)
    for page in range(pages):
        length = extract_noise(readable_segment(data, offsets[page], offsets[page + 1], copied), fold, scratch)
        lengths[page] = length
        if swaps.size:
            shingles = hash_shingles(scratch[:length], entering, leaving, width)
            fingerprint_shuffled(shingles, masks, swaps, values[page])
        else:
            fingerprint_noise(scratch[:length], entering, leaving, masks, width, values[page])
    return values, lengths


def shared_runs(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Runs of shingles that occur in both sequences in the same order: rows of (left start, right start, length).

    Every left shingle that occurs on the right is in exactly one run. A run begins on the right at the first occurrence
    of its first shingle, and goes on while both sides agree.
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
