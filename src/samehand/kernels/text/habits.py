"""Whether a text keeps for a while to what it does: who is spoken of, in which tense, with which common words.

Some tokens have a label: label i stands at token places[i], and text i has the labels bounds[i]:bounds[i+1]. A person
writes about "she" in one passage and about "we" in another. Who forgets after a few words what he wrote mixes them
evenly. A text is compared with nothing but itself, with its own shares of the labels, so that no genre has to be known.
"""

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part

NEAR, WIDE = (6, 30), (12, 60)
"""Distances in tokens, the last one excluded: nearer ones are grammar."""
COLUMNS = 4

_PRIOR = 2.0
"""So many labels as the whole text has them are added to those of a window."""
_HALF = 0.5
"""What is added to the count of each label."""
_FACTORS = 16
"""So many factors are multiplied before a logarithm is taken: it costs more than all else, and no product overflows."""


@nb.njit(cache=True, nogil=True)
def label_gains(
    labels: NDArray[np.uint8], places: NDArray[np.int64], kinds: int, bounds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of each text: labels; the sums of log(q/p) over them for the NEAR and the WIDE window; the entropy of its labels.

    p is the share of a label in the rest of the text, q its share in the window before it, mixed with p. A window
    without labels says nothing. Labels are numbers below `kinds`.
    """
    out = np.zeros((bounds.size - 1, COLUMNS))
    near, wide, rarity = np.zeros(kinds), np.zeros(kinds), np.zeros(kinds)
    parts = 1 / (np.arange(WIDE[1] - WIDE[0] + 1) + _PRIOR)
    for text in range(bounds.size - 1):
        begin, row = bounds[text], out[text]
        near[:], wide[:] = 0, 0
        _rarities(labels[begin : bounds[text + 1]], rarity, row)
        near_in, near_out, wide_in, wide_out = begin, begin, begin, begin
        factors, nearer, wider = 0, 1.0, 1.0
        for i in range(begin, bounds[text + 1]):
            near_in = _move(near, 1, labels, places, near_in, places[i] - NEAR[0])
            near_out = _move(near, -1, labels, places, near_out, places[i] - NEAR[1])
            wide_in = _move(wide, 1, labels, places, wide_in, places[i] - WIDE[0])
            wide_out = _move(wide, -1, labels, places, wide_out, places[i] - WIDE[1])
            label = labels[i]
            nearer *= (near[label] * rarity[label] + _PRIOR) * parts[near_in - near_out]
            wider *= (wide[label] * rarity[label] + _PRIOR) * parts[wide_in - wide_out]
            factors += 1
            if factors == _FACTORS:
                row[1] += math.log(nearer)
                row[2] += math.log(wider)
                factors, nearer, wider = 0, 1.0, 1.0
        row[1] += math.log(nearer)
        row[2] += math.log(wider)
    return out


@part
def _move(
    counts: NDArray[np.float64],
    step: int,
    labels: NDArray[np.uint8],
    places: NDArray[np.int64],
    first: int,
    last: int,
) -> int:
    """Counts the labels from `first` on that stand at `last` or before; returns the next one."""
    while places[first] <= last:
        counts[labels[first]] += step
        first += 1
    return first


@part
def _rarities(labels: NDArray[np.uint8], rarity: NDArray[np.float64], row: NDArray[np.float64]) -> None:
    """Fills in 1/p of each label, and the number and entropy of the labels of a text."""
    rarity[:] = 0
    for i in range(labels.size):
        rarity[labels[i]] += 1
    kinds, number = rarity.size, np.float64(labels.size)
    row[0] = number
    for label in range(kinds):
        share = rarity[label] / max(number, 1.0)
        row[3] -= share * math.log(share) if share > 0 else 0.0
        rarity[label] = (number - 1 + _HALF * kinds) / (rarity[label] - 1 + _HALF) if share > 0 else 0.0
