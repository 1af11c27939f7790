"""The similarity of style: noise and canonical markup together, in one place for every check and every answer.

Noise alone is deceived twice. A comment or a script makes pages of one hand differ; a script that many sites load makes
strangers alike. Canonical markup withstands both, but knows less. So noise counts fully only where markup agrees a
little, and markup that agrees well counts alone. docs/style.md has the curve and the figures behind it.
`tests/test_kernels_channels.py` holds each function equal to a readable reference.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.buckets import similarity_of
from samehand.kernels.pointers import lend
from samehand.kernels.sketches import Lanes, SketchRows, similarity_between

KNOTS = ((0.0, 0.0), (0.20, 0.14), (0.35, 0.245), (0.63, 0.60), (1.0, 1.0))
"""What a similarity of markup is worth alone, linear in between. Below 0.35 it is a weak link, which needs support."""
AGREES, FACTOR = 0.15, 3.0
"""Noise counts fully where markup reaches the first; elsewhere at most as much as markup times the second."""

_MARKUP = np.array([knot[0] for knot in KNOTS])
_WORTH = np.array([knot[1] for knot in KNOTS])


class StyleRows(NamedTuple):
    """Narrow sketches of noise and of markup. Markup that fills fewer than `poor` dimensions says little."""

    words: NDArray[np.uint64]
    filled: NDArray[np.int16]
    lanes: Lanes
    markup_words: NDArray[np.uint64]
    markup_filled: NDArray[np.int16]
    markup_lanes: Lanes
    poor: int


@nb.njit(cache=True, nogil=True)
def combined(noise: np.float32, markup: np.float32, poor_pages: int) -> np.float32:
    """The similarity of two pages, of which none, one or both have little markup."""
    if poor_pages == 2:
        return noise
    trusted = noise if markup >= np.float32(AGREES) else min(noise, np.float32(np.float32(FACTOR) * markup))
    return trusted if poor_pages else max(worth(markup), trusted)


@nb.njit(cache=True, nogil=True)
def worth(markup: np.float32) -> np.float32:
    """What a similarity of markup is worth without noise."""
    knot = 1
    while knot < _MARKUP.size - 1 and markup > _MARKUP[knot]:
        knot += 1
    share = (markup - _MARKUP[knot - 1]) / (_MARKUP[knot] - _MARKUP[knot - 1])
    return np.float32(_WORTH[knot - 1] + share * (_WORTH[knot] - _WORTH[knot - 1]))


@nb.njit(cache=True, nogil=True)
def _between(rows: StyleRows, row: np.uint64, others: StyleRows, other: np.uint64) -> np.float32:
    noise = similarity_between(
        SketchRows(rows.words, rows.filled, rows.lanes), row, SketchRows(others.words, others.filled, rows.lanes), other
    )
    markup = similarity_between(
        SketchRows(rows.markup_words, rows.markup_filled, rows.markup_lanes),
        row,
        SketchRows(others.markup_words, others.markup_filled, rows.markup_lanes),
        other,
    )
    poor_pages = int(rows.markup_filled[row] < rows.poor) + int(others.markup_filled[other] < rows.poor)
    return combined(noise, markup, poor_pages)


@similarity_of(StyleRows)
@nb.njit(cache=True, nogil=True)
def style_similarity(rows: StyleRows, left: int, right: int) -> np.float32:
    """Similarity of two rows of the same table."""
    return _between(rows, np.uint64(left), rows, np.uint64(right))


@nb.njit(cache=True, nogil=True)
def cross_similarities(rows: StyleRows, queries: StyleRows) -> NDArray[np.float32]:
    """Similarity of every query (rows) to every row (columns)."""
    result = np.empty((queries.filled.size, rows.filled.size), np.float32)
    lent, lent_queries = lend(rows), lend(queries)
    for row in range(result.shape[1]):
        for query in range(result.shape[0]):
            result[query, row] = _between(lent, np.uint64(row), lent_queries, np.uint64(query))
    return result
