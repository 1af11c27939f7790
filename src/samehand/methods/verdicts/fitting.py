"""Fitting of weights and calibration: ridge logistic regression, isotonic regression, Wilson intervals.

Rows are weighted so that each hand counts once, however many sites it made. Weights are pulled towards those that are
known already: a few labels change a verdict a little.
"""

import numpy as np
from numpy.typing import NDArray

from samehand.methods.verdicts.model import Calibration

_STEPS = 50
_Z = 1.96
"""Standard deviations of a 95 % interval."""


def hand_weights(hands: NDArray[np.object_]) -> NDArray[np.float64]:
    """The weight of each row: one per hand."""
    _, place, counts = np.unique(hands, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / counts[place])


def fit_ridge(
    matrix: NDArray[np.float64],
    labels: NDArray[np.bool_],
    row_weights: NDArray[np.float64],
    towards: NDArray[np.float64],
    strength: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Coefficients of a logistic regression by Newton steps, pulled `towards` given ones with a `strength` each.

    The first column of the matrix is 1: its coefficient is the prior.
    """
    found = towards.copy()
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ found, -30, 30)))
        gradient = matrix.T @ (row_weights * (chance - labels)) + strength * (found - towards)
        curvature = row_weights * np.maximum(chance * (1 - chance), 1e-9)
        hessian = (matrix * curvature[:, np.newaxis]).T @ matrix + np.diag(strength)
        step = np.linalg.solve(hessian, gradient)
        found = found - np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-9:
            break
    return found


def isotonic(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest rising sequence in weighted least squares (pool adjacent violators)."""
    means: list[float] = []
    sizes: list[float] = []
    counts: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        means.append(value)
        sizes.append(weight)
        counts.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            size = sizes[-2] + sizes[-1]
            means[-2:] = [(means[-2] * sizes[-2] + means[-1] * sizes[-1]) / size]
            sizes[-2:], counts[-2:] = [size], [counts[-2] + counts[-1]]
    return np.repeat(means, counts)


def wilson(right: float, total: float) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if total <= 0:
        return 0.0, 1.0
    share, z = right / total, _Z * _Z / total
    centre, half = share + z / 2, _Z * np.sqrt(share * (1 - share) / total + z / (4 * total))
    return float(max(0.0, (centre - half) / (1 + z))), float(min(1.0, (centre + half) / (1 + z)))


def calibrate(
    log_odds: NDArray[np.float64], labels: NDArray[np.bool_], row_weights: NDArray[np.float64], bins: int = 30
) -> Calibration:
    """A monotone curve through bins of about equal weight. Each bin is smoothed by one voice for either answer."""
    order = np.argsort(log_odds, kind="stable")
    totals = np.cumsum(row_weights[order])
    place = np.minimum((totals / totals[-1] * bins).astype(int), bins - 1)
    chosen = [order[place == number] for number in np.unique(place)]
    size = np.array([row_weights[rows].sum() for rows in chosen])
    right = np.array([(row_weights * labels)[rows].sum() for rows in chosen])
    middle = np.array([np.average(log_odds[rows], weights=row_weights[rows]) for rows in chosen])
    share = isotonic((right + 1) / (size + 2), size)
    bounds = np.array([wilson(part * total, total) for part, total in zip(share, size, strict=True)])
    low, high = np.minimum(np.maximum.accumulate(bounds[:, 0]), share), np.maximum.accumulate(bounds[:, 1])
    curve = np.stack([middle, share, low, np.maximum(high, share)])
    return Calibration(*curve[:, _corners(middle, share)].round(4))


def _corners(places: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The knots of a curve at which it bends: both ends of each level stretch, and no two at nearly one place."""
    level = np.concatenate([[False], np.diff(values) == 0])
    is_inside = level & np.append(level[1:], False)
    chosen = np.flatnonzero(~is_inside)
    return np.asarray(chosen[np.concatenate([[True], np.diff(places[chosen]) > 0.01])])
