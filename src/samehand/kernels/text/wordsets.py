"""Sets of words compared: digests, cosines, matches with prototypes.

A set is a sorted row of hashes, and sets lie end to end. `tests/test_kernels_words.py` holds each function equal to a
readable reference.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import common_words
from samehand.kernels.buckets import similarity_of
from samehand.kernels.hashing import GOLDEN, MURMUR, absorb
from samehand.kernels.pointers import lend

_ONE = np.uint64(1)
_BLOCK = np.uint64(16)
"""Words of each set that `common_words` compares."""


class SetRows(NamedTuple):
    """Sets of words end to end: set i is words[starts[i]:starts[i+1]]."""

    starts: NDArray[np.int64]
    words: NDArray[np.uint32]


@nb.njit(cache=True, nogil=True)
def digest_sets(starts: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit hash of each whole set, never 0."""
    digests = np.empty(starts.size - 1, np.uint64)
    for row in range(digests.size):
        state = np.uint64(starts[row + 1] - starts[row])
        for word in words[starts[row] : starts[row + 1]]:
            state = absorb(state, np.uint64(word), MURMUR) * GOLDEN
        digests[row] = max(state ^ (state >> np.uint64(29)), _ONE)
    return digests


@nb.njit(cache=True, nogil=True)
def copy_sets(
    starts: NDArray[np.int64],
    words: NDArray[np.uint32],
    rows: NDArray[np.int32],
    places: NDArray[np.int64],
    copied: NDArray[np.uint32],
) -> None:
    """Copies set rows[i] to copied[places[i]:], for each i."""
    for number in range(rows.size):
        start = starts[rows[number]]
        for word in range(starts[rows[number] + 1] - start):
            copied[places[number] + word] = words[start + word]


@helper
def _cosine(left: SetRows, left_row: np.uint64, right: SetRows, right_row: np.uint64) -> np.float32:
    """Words in both sets ÷ the geometric mean of their sizes (section 6.4); 0 when a set is empty.

    Blocks of both sets are compared, and the one that ends first gives way to the next. What is left is merged.
    """
    i, left_end = np.uint64(left.starts[left_row]), np.uint64(left.starts[left_row + _ONE])
    j, right_end = np.uint64(right.starts[right_row]), np.uint64(right.starts[right_row + _ONE])
    product = np.float64(left_end - i) * np.float64(right_end - j)
    shared = np.int64(0)
    while i + _BLOCK <= left_end and j + _BLOCK <= right_end:
        shared += common_words(left.words, i, right.words, j)
        a, b = left.words[i + _BLOCK - _ONE], right.words[j + _BLOCK - _ONE]
        i += _BLOCK * np.uint64(a <= b)
        j += _BLOCK * np.uint64(b <= a)
    while i < left_end and j < right_end:
        a, b = left.words[i], right.words[j]
        shared += np.int64(a == b)
        i += np.uint64(a <= b)
        j += np.uint64(b <= a)
    return np.float32(shared / np.sqrt(product)) if shared else np.float32(0.0)


@similarity_of(SetRows)
@helper
def row_cosine(rows: SetRows, left: int, right: int) -> np.float32:
    """Cosine of two sets of the same table."""
    return _cosine(rows, np.uint64(left), rows, np.uint64(right))


@nb.njit(cache=True, nogil=True)
def match_prototypes(
    signatures: NDArray[np.uint64],
    documents: SetRows,
    index_keys: NDArray[np.uint64],
    index_rows: NDArray[np.int64],
    prototypes: SetRows,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """The nearest prototype by cosine among those that share a signature with each document: row, column, cosine.

    Row -1 is none. The column is the first whose signature agrees with that prototype's. `index_keys` is sorted;
    signatures of different columns never agree (they are salted), so one index serves all columns.
    """
    rows = np.full(signatures.shape[0], -1, np.int64)
    columns = np.full(signatures.shape[0], -1, np.int64)
    cosines = np.zeros(signatures.shape[0], np.float32)
    sets, known = lend(documents), lend(prototypes)
    for document in range(signatures.shape[0]):
        for column in range(signatures.shape[1]):
            signature = signatures[document, column]
            place = np.searchsorted(index_keys, signature) if signature != 0 else index_keys.size
            while place < index_keys.size and index_keys[place] == signature:
                row = index_rows[place]
                found = _cosine(sets, np.uint64(document), known, np.uint64(row))
                if rows[document] < 0 or found > cosines[document]:
                    rows[document], columns[document], cosines[document] = row, column, found
                place += 1
    return rows, columns, cosines


@nb.njit(cache=True, nogil=True)
def cosines_across(documents: SetRows, prototypes: SetRows, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Cosine of each document and the prototype rows[i]; 0 where that is -1."""
    found = np.zeros(rows.size, np.float32)
    sets, known = lend(documents), lend(prototypes)
    for document in range(rows.size):
        if rows[document] >= 0:
            found[document] = _cosine(sets, np.uint64(document), known, np.uint64(rows[document]))
    return found
