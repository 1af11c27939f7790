"""The next centre of a clustering by tag sequences, and the pages that have to be compared with it (see tags.py)."""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.tags import Centre, D, Pages, make_centre, shared_sequence

SKIPPED = D + 1
"""Place of the pages that were not compared, behind those of the bounds and of the distance."""


@nb.njit(cache=True, nogil=True)
def next_centre(
    pages: Pages,
    page: int,
    centres: NDArray[np.int64],
    nearest: NDArray[np.int32],
    distances: NDArray[np.float64],
    decided: NDArray[np.int64],
) -> tuple[Centre, NDArray[np.int64]]:
    """A page prepared as the next centre, and the pages that may be nearer to it than to their own (equation 2).

    A page keeps its centre, without a comparison, if it is at most half as far from it as the new centre is. Only the
    centres that may spare a page its comparison are compared with the new one. `decided` counts both.
    """
    centre = make_centre(pages, page)
    sparing = _sparing(centres.size, nearest, distances)
    if not sparing.any():
        decided[SKIPPED] += centres.size
        return centre, np.arange(nearest.size)
    apart = np.zeros(centres.size)
    for number in range(centres.size):
        if sparing[number]:
            apart[number] = _distance(pages, centre, centres[number])
            decided[D] += 1
        else:
            decided[SKIPPED] += 1
    candidates = np.flatnonzero(distances > apart[nearest] / 2)
    decided[SKIPPED] += nearest.size - candidates.size
    return centre, candidates


@helper
def _sparing(centres: int, nearest: NDArray[np.int32], distances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The centres that may spare a page the comparison: those with a page at most half of the largest distance, 1,
    away. A centre that has no other page is not among them.
    """
    near = np.zeros(centres, np.int64)
    if centres:
        for page in range(nearest.size):
            near[nearest[page]] += distances[page] <= 0.5
    return near > 1


@helper
def _distance(pages: Pages, centre: Centre, page: int) -> float:
    """D between the centre and a page."""
    length, longer = pages.lengths[page], max(pages.lengths[centre.page], pages.lengths[page])
    rows, carries = np.empty(length + 1, np.uint32), np.empty(length + 1, np.uint8)
    return 1.0 - shared_sequence(pages, centre, page, 0, rows, carries) / longer if longer else 0.0
