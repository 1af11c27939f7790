"""The similarity of style: noise and canonical markup together, in one place for every check and every answer.

Noise alone is deceived twice. A comment or a script makes pages of one hand differ; a script that many sites load makes
strangers alike. Canonical markup withstands both, but knows less. So noise counts fully only where markup agrees a
little, and markup that agrees well counts alone. Of markup, the skeleton withstands most and knows least: it counts
alone where it is nearly the same. docs/style.md has the curve and the figures behind it.
`tests/test_kernels_channels.py` holds each function equal to a readable reference.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.buckets import similarity_of
from samehand.kernels.pointers import lend
from samehand.kernels.sketches import Lanes, SketchRows, equal_lanes, matches_between, similarity_between, true_matches

KNOTS = ((0.0, 0.0), (0.25, 0.14), (0.38, 0.245), (0.58, 0.60), (1.0, 1.0))
"""What a similarity of markup is worth alone, linear in between: lists of links have 0.25 in common by nature."""
AGREES, FACTOR = 0.15, 2.5
"""Noise counts fully where markup reaches the first; elsewhere at most as much as markup times the second."""
SAME_SKELETON, SAME_WORTH = 0.56, 0.60
"""A skeleton of this similarity is worth that much alone, linear from there to 1."""
NEARLY_SAME, ALIKE = 0.8, 0.5
"""Markup of a small page that is worth less than the first is worth at most the second: the part that a content system
writes is most of a small page, so strangers who use one system would be one hand."""

_MARKUP = np.array([knot[0] for knot in KNOTS])
_WORTH = np.array([knot[1] for knot in KNOTS])


class StyleRows(NamedTuple):
    """Narrow sketches of noise, and of both streams of markup: punctuation of values and skeleton, of equal size.

    Where both streams together fill fewer than twice `poor` dimensions, markup says nothing against noise, and alone
    only that pages are nearly the same; below `poor` it says nothing. Below three times `poor` a page is small.
    Most pages fill every dimension; what their similarity is made of stands in tables (`full_tables`).
    """

    words: NDArray[np.uint64]
    filled: NDArray[np.int16]
    lanes: Lanes
    values_words: NDArray[np.uint64]
    values_filled: NDArray[np.int16]
    skeleton_words: NDArray[np.uint64]
    skeleton_filled: NDArray[np.int16]
    markup_lanes: Lanes
    poor: int
    noise_table: NDArray[np.float32]
    most_table: NDArray[np.float32]
    alone_table: NDArray[np.float32]


@nb.njit(cache=True, nogil=True, forceinline=True)
def combined(
    noise: np.float32, markup: np.float32, skeleton: np.float32, poor_pages: int, is_tiny: bool, is_small: bool
) -> np.float32:
    """The similarity of two pages, of which none, one or both have little markup, one next to none, or not much."""
    trusted = min(noise, _most(markup, poor_pages))
    return max(trusted, _alone(markup, skeleton, poor_pages, is_tiny, is_small))


@nb.njit(cache=True, nogil=True, forceinline=True)
def _most(markup: np.float32, poor_pages: int) -> np.float32:
    """What noise counts for at most."""
    agrees = poor_pages == 2 or markup >= np.float32(AGREES)
    return np.float32(1.0) if agrees else np.float32(np.float32(FACTOR) * markup)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _alone(markup: np.float32, skeleton: np.float32, poor_pages: int, is_tiny: bool, is_small: bool) -> np.float32:
    """What markup is worth without noise, 0 where it says nothing."""
    if is_tiny:
        return np.float32(0.0)
    share = np.float32((skeleton - SAME_SKELETON) / (1.0 - SAME_SKELETON))
    shape = np.float32(SAME_WORTH + share * (1.0 - SAME_WORTH)) if share >= 0 else np.float32(0.0)
    alone = max(worth(markup), shape)
    if is_small and alone < np.float32(NEARLY_SAME):
        alone = min(alone, np.float32(ALIKE))
    if poor_pages and alone < np.float32(SAME_WORTH):
        return np.float32(0.0)
    return alone


@nb.njit(cache=True, nogil=True, forceinline=True)
def worth(markup: np.float32) -> np.float32:
    """What a similarity of markup is worth without noise."""
    knot = 1
    while knot < _MARKUP.size - 1 and markup > _MARKUP[knot]:
        knot += 1
    share = (markup - _MARKUP[knot - 1]) / (_MARKUP[knot] - _MARKUP[knot - 1])
    return np.float32(_WORTH[knot - 1] + share * (_WORTH[knot] - _WORTH[knot - 1]))


@nb.njit(cache=True, nogil=True)
def full_tables(
    lanes: Lanes, markup_lanes: Lanes, poor: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """The parts of a similarity of pages that fill every dimension, by the number of lanes that are equal.

    The similarity of noise; then, for lanes of values (rows) and of the skeleton, what noise counts for at most, and
    what markup is worth without it.
    """
    noise = np.empty(lanes.dimensions + 1, np.float32)
    for equal in range(noise.size):
        matches = true_matches(equal, lanes.dimensions, lanes.chance)
        noise[equal] = np.float32(matches / max(lanes.dimensions, lanes.floor))
    half = markup_lanes.dimensions
    most, alone = np.empty((half + 1, half + 1), np.float32), np.empty((half + 1, half + 1), np.float32)
    poor_pages = 2 if 2 * half < 2 * poor else 0
    for in_values in range(half + 1):
        for in_skeleton in range(half + 1):
            matches = true_matches(in_skeleton, half, markup_lanes.chance)
            both = true_matches(in_values, half, markup_lanes.chance) + matches
            markup = np.float32(both / max(2 * half, 1))
            skeleton = np.float32(matches / max(half, 1)) if 2 * half >= poor else np.float32(0.0)
            most[in_values, in_skeleton] = _most(markup, poor_pages)
            alone[in_values, in_skeleton] = _alone(markup, skeleton, poor_pages, 2 * half < poor, 2 * half < 3 * poor)
    return noise, most, alone


@nb.njit(cache=True, nogil=True, forceinline=True)
def _noise(rows: StyleRows) -> SketchRows:
    return SketchRows(rows.words, rows.filled, rows.lanes)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _values(rows: StyleRows) -> SketchRows:
    return SketchRows(rows.values_words, rows.values_filled, rows.markup_lanes)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _skeleton(rows: StyleRows) -> SketchRows:
    return SketchRows(rows.skeleton_words, rows.skeleton_filled, rows.markup_lanes)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _between(rows: StyleRows, row: np.uint64, others: StyleRows, other: np.uint64) -> np.float32:
    if not (_is_full(rows, row) and _is_full(others, other)):
        return _between_any(rows, row, others, other)
    width, markup_width = np.uint64(rows.lanes.words), np.uint64(rows.markup_lanes.words)
    equal = equal_lanes(_noise(rows), row * width, _noise(others), other * width)
    first, second = row * markup_width, other * markup_width
    in_values = equal_lanes(_values(rows), first, _values(others), second)
    in_skeleton = equal_lanes(_skeleton(rows), first, _skeleton(others), second)
    place = in_values * np.uint64(rows.markup_lanes.dimensions + 1) + in_skeleton
    return max(min(rows.noise_table[equal], rows.most_table[place]), rows.alone_table[place])


@nb.njit(cache=True, nogil=True, forceinline=True)
def _is_full(rows: StyleRows, row: np.uint64) -> bool:
    half = rows.markup_lanes.dimensions
    is_full = rows.values_filled[row] == half and rows.skeleton_filled[row] == half
    return bool(is_full and rows.filled[row] == rows.lanes.dimensions)


@nb.njit(cache=True, nogil=True)
def _between_any(rows: StyleRows, row: np.uint64, others: StyleRows, other: np.uint64) -> np.float32:
    """The same for pages that may have empty dimensions."""
    noise = similarity_between(_noise(rows), row, _noise(others), other)
    in_values = matches_between(_values(rows), row, _values(others), other)
    in_skeleton = matches_between(_skeleton(rows), row, _skeleton(others), other)
    markup = np.float32((in_values[0] + in_skeleton[0]) / max(in_values[1] + in_skeleton[1], np.int64(1)))
    skeleton = np.float32(in_skeleton[0] / max(in_skeleton[1], np.int64(1)))
    if 2 * min(rows.skeleton_filled[row], others.skeleton_filled[other]) < rows.poor:
        skeleton = np.float32(0.0)
    left, right = _filled(rows, row), _filled(others, other)
    poor_pages = int(left < 2 * rows.poor) + int(right < 2 * rows.poor)
    fewest = min(left, right)
    return combined(noise, markup, skeleton, poor_pages, fewest < rows.poor, fewest < 3 * rows.poor)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _filled(rows: StyleRows, row: np.uint64) -> int:
    return int(rows.values_filled[row]) + int(rows.skeleton_filled[row])


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
