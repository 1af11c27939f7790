"""Sets of words to signatures under many lexicons: the hot loop of I-Match with randomised lexicons.

`tests/test_kernels_words.py` holds each function equal to a readable reference. A set of words is a sorted row of
hashes: set i is words[starts[i]:starts[i+1]].
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.segments import longest_segment
from samehand.kernels.text.words import mix, sort_hashes

MOST_LEXICONS = 32
"""Number of lexicons, with the original one, that fit into the mask of a word."""

_ONE = np.uint64(1)
_HALF = np.uint64(32)


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
            kept = np.uint64(mix(words[rank] ^ seeds[lexicon]) >> _HALF < limits[lexicon])
            mask |= kept << (lexicon + _ONE)
        slot = words[rank] & last
        while slots[slot, 0] != 0:
            slot = (slot + _ONE) & last
        slots[slot, 0], slots[slot, 1] = words[rank], (np.uint64(rank) << _HALF) | mask
    return slots


@part
def _look_up(slots: NDArray[np.uint64], word: np.uint64) -> np.uint64:
    """Rank and mask of a word; 0 if it is not in the lexicon (a mask is never 0)."""
    last = np.uint64(slots.shape[0] - 1)
    slot = word & last
    while slots[slot, 0] != 0:
        if slots[slot, 0] == word:
            return np.uint64(slots[slot, 1])
        slot = (slot + _ONE) & last
    return np.uint64(0)


@part
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
                signatures[document, lexicon] = max(mix(sums[lexicon] ^ salt), _ONE)
    return signatures, overlaps, added


@helper
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
