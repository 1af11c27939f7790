"""What natural text of a length and manner measures, how far a text is from it, and what that says for a fake."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.text.forest import Forests, walk
from samehand.methods.language.features import FEATURES

FAKE_KINDS = ("patchwork", "stuffing", "chain")
MANNER = (
    *("unknown_words", "function_words", "content_words", "marks", "numbers", "word_rarity"),
    *("sentence_length", "sentence_spread", "short_sentences", "long_sentences"),
)
"""Measures of single words and of sentences. Chains and patchworks have them from their source: they say what kind of
writing it is, and so what the other measures would be if it was natural."""
MANNER_COLUMNS = [FEATURES.index(name) for name in MANNER]
MOST_MANNER = 2.5
"""Texts in a manner further away are treated as if they were as far: nothing like them was learned from."""
FURTHEST = 6.0
"""No measure counts for more spreads than this: one strange number is not a proof."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """What natural text of a length (`knots`: logarithms of tokens) and manner shows, and what deviations mean.

    `means` and `spreads` have a row for each knot and a column for each feature. The manner of a text is its MANNER
    measures, less `centres`, in units of `widths`; `slopes` says how the other features go with it. `forests` has one
    for each of FAKE_KINDS. `leanings` says what each deviation counts for by itself, for each kind: a constant, a
    multiple of the deviation and a multiple of the length, all times the deviation. `scale` and `shift` calibrate the
    sums of both to log-odds, for each kind and each knot.
    """

    knots: NDArray[np.float64]
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    centres: NDArray[np.float64]
    widths: NDArray[np.float64]
    slopes: NDArray[np.float64]
    leanings: NDArray[np.float64]
    scale: NDArray[np.float64]
    shift: NDArray[np.float64]
    forests: Forests

    def manners(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """The manner of each text, and its squares: what its kind of writing is, whoever wrote it."""
        away = (features[:, MANNER_COLUMNS].astype(np.float64) - self.centres) / np.maximum(self.widths, 1e-6)
        away = np.clip(np.nan_to_num(away), -MOST_MANNER, MOST_MANNER)
        return np.concatenate([away, away**2 - 1], axis=1)

    def usual(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """What the features of each text would be on average if it was natural."""
        return hats(features[:, 0], self.knots) @ self.means + self.manners(features) @ self.slopes

    def deviations(
        self, features: NDArray[np.float32], usual: NDArray[np.float64] | None = None
    ) -> NDArray[np.float32]:
        """How many spreads above or below natural text of that length and manner the features are; first the length.

        `usual` may be given if it is known already.
        """
        spreads = hats(features[:, 0], self.knots) @ self.spreads
        away = (features - (self.usual(features) if usual is None else usual)) / np.maximum(spreads, 1e-3)
        away = np.clip(np.nan_to_num(away), -FURTHEST, FURTHEST)
        away[:, 0] = relative_length(features[:, 0])
        return away.astype(np.float32)

    def votes(
        self, features: NDArray[np.float32], usual: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """The uncalibrated log-odds for each kind of fake, and what each feature adds to them."""
        away = self.deviations(features, usual)
        constant, by_itself, by_length = self.leanings.astype(np.float32).transpose(1, 0, 2)
        rows, length = away[:, None], away[:, None, :1]
        parts: NDArray[np.float32] = rows * (constant + by_itself * rows + by_length * length)
        leaned: NDArray[np.float64] = parts.sum(axis=2, dtype=np.float64)
        return leaned + walk(away, self.forests, parts), parts

    def probabilities(self, features: NDArray[np.float32], votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The calibrated probability that a text is a fake of each kind."""
        at = hats(features[:, 0], self.knots)
        odds = (at @ self.scale.T) * votes + at @ self.shift.T
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(odds, -40, 40)))
        return chances


def relative_length(logs: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Logarithms of lengths, scaled to -1 to 1 for 250 to 5,000 tokens, and clipped to the lengths learned from."""
    within: NDArray[np.float64] = np.clip(logs.astype(np.float64), np.log(100), np.log(14_000))
    return (within - 7) / 1.5


def hats(logs: NDArray[np.floating[Any]], knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the knots for linear interpolation at each of `logs`, constant beyond the ends."""
    place = np.clip(logs.astype(np.float64), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, place) - 1, 0, knots.size - 2)
    share = (place - knots[left]) / (knots[left + 1] - knots[left])
    weights = np.zeros((place.size, knots.size))
    rows = np.arange(place.size)
    weights[rows, left], weights[rows, left + 1] = 1 - share, share
    return weights
