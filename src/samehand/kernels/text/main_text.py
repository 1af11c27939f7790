"""The main text of a page: the stretch of blocks that holds most text and few menus.

Each block of text counts its bytes, each short block and each menu costs some. The stretch with the largest sum is the
main text (maximum subsequence segmentation; Pasternack and Roth, WWW 2009). What stands apart from it is boilerplate:
teasers, notices, comments.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

LEAST_BYTES, COST = 60, 250
"""A block of fewer bytes is short. A short block costs as much as this many bytes of text are worth."""


@nb.njit(cache=True, nogil=True)
def in_main_text(ends: NDArray[np.int64], is_text: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which blocks are text of their page's main text. Page i has the blocks offsets[i]:offsets[i+1]."""
    found = np.zeros(is_text.size, np.bool_)
    for page in range(offsets.size - 1):
        first = last = start = offsets[page]
        best = total = before = np.int64(0)
        for block in range(offsets[page], offsets[page + 1]):
            size = ends[block] - before
            before = ends[block]
            total += size if is_text[block] and size >= LEAST_BYTES else -COST
            if total <= 0:
                total, start = np.int64(0), block + 1
            elif total > best:
                best, first, last = total, start, block + 1
        found[first:last] = is_text[first:last]
    return found
