"""Patterns of word classes, weighted: what a text says for or against each kind of fake, one table lookup a pattern.

A pattern is two to five classes at fixed distances. Its hash is the row of the table where its weights stand, one for
each kind of fake. Classes come in two grains: the commonest words as themselves, or as few classes. A sentence begins
with class 0, and patterns run across sentences: grammar ends there, but what follows a short sentence is not random.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.segments import longest_segment

KINDS = 4
"""Weights of a pattern: chains of one word of context, longer chains, patchworks, stuffing."""
REACH = 8
"""Classes that a pattern may look back."""
PATTERNS = 16
WINDOW = 30
"""Classes of the windows of a text that are compared with each other."""
_MASK = REACH - 1


@part
def _mixed(pattern: int, value: np.uint64, shift: np.uint64) -> np.int64:
    """The row of a pattern: the upper bits of a hash of its number and its classes."""
    key = (value + np.uint64(pattern + 1) * np.uint64(0xD6E8FEB86659FD93)) * GOLDEN
    key ^= key >> np.uint64(29)
    return np.int64((key * np.uint64(0xBF58476D1CE4E5B9)) >> shift)


@nb.njit(cache=True, nogil=True)
def find_rows(
    fine: NDArray[np.uint64], coarse: NDArray[np.uint64], place: int, shift: np.uint64, rows: NDArray[np.int64]
) -> None:
    """The rows of all patterns that end at `place`. `fine` and `coarse` are rings of the last REACH classes."""
    a, c = fine[place & _MASK], coarse[place & _MASK]
    for d in range(1, 7):
        rows[d - 1] = _mixed(d, a << np.uint64(20) | fine[(place - d) & _MASK], shift)
    c1, c2, c3 = coarse[(place - 1) & _MASK], coarse[(place - 2) & _MASK], coarse[(place - 3) & _MASK]
    c4, c5 = coarse[(place - 4) & _MASK], coarse[(place - 5) & _MASK]
    a1, a2, a3 = fine[(place - 1) & _MASK], fine[(place - 2) & _MASK], fine[(place - 3) & _MASK]
    two, three, four = np.uint64(10), np.uint64(20), np.uint64(30)
    rows[6] = _mixed(7, a | a1 << two | a2 << three, shift)
    rows[7] = _mixed(8, a | a1 << two | a3 << three, shift)
    rows[8] = _mixed(9, a | a2 << two | a3 << three, shift)
    rows[9] = _mixed(10, c | c1 << two | c2 << three, shift)
    rows[10] = _mixed(11, c | c1 << two | c2 << three | c3 << four, shift)
    rows[11] = _mixed(12, c | c1 << two | c4 << three, shift)
    rows[12] = _mixed(13, c | c3 << two | c4 << three, shift)
    rows[13] = _mixed(14, c | c1 << two | c3 << three | c4 << four, shift)
    rows[14] = _mixed(15, c | c2 << two | c5 << three, shift)
    rows[15] = _mixed(16, c | c1 << two | c2 << three | c3 << four | c4 << np.uint64(40), shift)


@nb.njit(cache=True, nogil=True)
def pattern_sums(
    fine: NDArray[np.uint16],
    coarse: NDArray[np.uint8],
    sentences: NDArray[np.int64],
    texts: NDArray[np.int64],
    table: NDArray[np.int8],
) -> NDArray[np.int64]:
    """The sums of the weights of all patterns of each text, a column for each kind, and how many classes it has.

    The next columns are the sums of the lower half of its windows of WINDOW classes, and the last one the classes of
    those: a quote or a list is one part of a text, but a fake is one everywhere. A rest behind the last window counts
    for no window, unless it is all there is. The table has a power of two of rows.
    """
    out = np.zeros((texts.size - 1, 2 * KINDS + 2), np.int64)
    windows = np.zeros((longest_segment(sentences[texts] + texts) // WINDOW + 1, KINDS), np.int64)
    for text in range(texts.size - 1):
        row = out[text]
        number = _add_windows(fine, coarse, sentences[texts[text] : texts[text + 1] + 1], table, windows)
        row[KINDS] = sentences[texts[text + 1]] - sentences[texts[text]] + texts[text + 1] - texts[text]
        full = max(1, row[KINDS] // WINDOW)
        low = (full + 1) // 2
        for kind in range(KINDS):
            row[kind] = windows[:number, kind].sum()
            row[KINDS + 1 + kind] = np.sort(windows[:full, kind])[:low].sum()
        row[2 * KINDS + 1] = min(row[KINDS], low * WINDOW)
    return out


@nb.njit(cache=True, nogil=True)
def _add_windows(
    fine: NDArray[np.uint16],
    coarse: NDArray[np.uint8],
    sentences: NDArray[np.int64],
    table: NDArray[np.int8],
    windows: NDArray[np.int64],
) -> int:
    """Fills in the sums of each window of a text; returns how many there are."""
    shift = shift_of(table.shape[0])
    rows = np.zeros(PATTERNS, np.int64)
    ring, ring2 = np.zeros(REACH, np.uint64), np.zeros(REACH, np.uint64)
    place = 0
    windows[0] = 0
    for sentence in range(sentences.size - 1):
        for i in range(sentences[sentence] - 1, sentences[sentence + 1]):
            is_word = i >= sentences[sentence]
            ring[place & _MASK] = np.uint64(fine[i]) if is_word else np.uint64(0)
            ring2[place & _MASK] = np.uint64(coarse[i]) if is_word else np.uint64(0)
            find_rows(ring, ring2, place + REACH, shift, rows)
            window = windows[place // WINDOW]
            if place % WINDOW == 0:
                window[:] = 0
            chain, long_chain, patchwork, stuffing = 0, 0, 0, 0
            for pattern in range(PATTERNS):
                weights = table[rows[pattern]]
                chain += weights[0]
                long_chain += weights[1]
                patchwork += weights[2]
                stuffing += weights[3]
            window[0] += chain  # sums in the array itself would be written to memory for each pattern
            window[1] += long_chain
            window[2] += patchwork
            window[3] += stuffing
            place += 1
    return (place + WINDOW - 1) // WINDOW


@nb.njit(cache=True, nogil=True)
def shift_of(rows: int) -> np.uint64:
    """How far to shift a hash so that it is the number of one of `rows` rows."""
    bits = 0
    while 1 << bits < rows:
        bits += 1
    return np.uint64(64 - bits)
