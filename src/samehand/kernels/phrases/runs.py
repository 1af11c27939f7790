"""Runs of shared phrases within pages. `found` has the number of a phrase at its first word, and -1 elsewhere."""

import numba as nb
import numpy as np
from numpy.typing import NDArray


@nb.njit(cache=True, nogil=True)
def unbroken(found: NDArray[np.int32], bounds: NDArray[np.int64], least: int) -> NDArray[np.bool_]:
    """Where `least` phrases follow each other, each one word after the last, within a page."""
    starts = np.zeros(found.size, np.bool_)
    for page in range(bounds.size - 1):
        length = 0
        for word in range(bounds[page + 1] - 1, bounds[page] - 1, -1):
            length = length + 1 if found[word] >= 0 else 0
            starts[word] = length >= least
    return starts


@nb.njit(cache=True, nogil=True)
def without_passages(
    found: NDArray[np.int32], passages: NDArray[np.int32], bounds: NDArray[np.int64], size: int, passage_size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The phrases that touch no passage (a longer window, >= 0 where it starts), and the words that they cover."""
    kept, covered = np.full(found.size, -1, np.int32), np.zeros(bounds.size - 1, np.int32)
    is_passage = np.zeros(found.size, np.bool_)
    for page in range(bounds.size - 1):
        end = bounds[page]
        for word in range(bounds[page], bounds[page + 1]):
            if passages[word] >= 0:
                end = word + passage_size
            is_passage[word] = word < end
        end = bounds[page]
        for word in range(bounds[page], bounds[page + 1]):
            if found[word] >= 0 and not is_passage[word : word + size].any():
                kept[word] = found[word]
                covered[page] += word + size - max(end, word)
                end = word + size
    return kept, covered
