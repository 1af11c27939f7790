"""Gradient-boosted trees as plain arrays: what each forest says of a row of numbers, and which numbers made it say so.

Node i asks whether number `features[i]` of the row is at most `thresholds[i]`. If so, the next node is `left[i]`, else
the one behind that. A leaf has `left[i]` 0. Children stand behind their parents, so each walk ends. `values[i]` is what
a tree would say if it ended at the node: the change from node to node is what the number asked for there contributes.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray


class Forests(NamedTuple):
    """Trees of several forests: forest f has the trees bounds[f]:bounds[f+1], tree t begins at node roots[t]."""

    bounds: NDArray[np.int32]
    roots: NDArray[np.int32]
    features: NDArray[np.uint8]
    thresholds: NDArray[np.float32]
    left: NDArray[np.int32]
    values: NDArray[np.float32]


def are_sane(forests: Forests, features: int) -> bool:
    """Whether every walk through the trees ends, within the arrays. They may come from a stranger."""
    bounds, roots, asked, thresholds, left, values = forests
    nodes = np.arange(left.size)
    inner = left != 0
    return bool(
        asked.size == thresholds.size == left.size == values.size
        and bounds.size > 1
        and bounds[0] == 0
        and bounds[-1] == roots.size
        and (np.diff(bounds) >= 0).all()
        and (roots >= 0).all()
        and (roots < left.size).all()
        and (left[inner] > nodes[inner]).all()
        and (left[inner] + 1 < left.size).all()
        and (asked[inner] < features).all()
        and np.isfinite(thresholds).all()
        and np.isfinite(values).all()
    )


@nb.njit(cache=True, nogil=True)
def walk(rows: NDArray[np.float32], forests: Forests, parts: NDArray[np.float32]) -> NDArray[np.float64]:
    """The sums of what the trees of each forest say, one row of sums for each of `rows`.

    Adds to parts[row, forest, number] what each number contributes. What the roots say is left out of that.
    """
    number = forests.bounds.size - 1
    said = np.zeros((rows.shape[0], number))
    for row in range(rows.shape[0]):
        for forest in range(number):
            for tree in range(forests.bounds[forest], forests.bounds[forest + 1]):
                node = forests.roots[tree]
                while forests.left[node] != 0:
                    feature = forests.features[node]
                    is_right = rows[row, feature] > forests.thresholds[node]
                    child = forests.left[node] + np.int32(is_right)
                    parts[row, forest, feature] += forests.values[child] - forests.values[node]
                    node = child
                said[row, forest] += forests.values[node]
    return said
