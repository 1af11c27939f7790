"""How the detector learns from measured texts: what natural text shows, the trees of each kind of fake, and the bars.

All that decides is set on votes of detectors that had not learned from the genre of a text.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from evaluation.detector_samples import FAKE_KINDS, SIZES, Samples
from samehand.kernels.text.forest import Forests
from samehand.methods.language.curves import FURTHEST, MANNER, MANNER_COLUMNS, Curves, hats
from samehand.methods.language.detector import LEAST_COMMON, LEAST_KNOWN, MOST_SHORT, Detector
from samehand.methods.language.features import FEATURES, Tables
from samehand.methods.language.model import Model

_LONG = 2000
"""Longer texts are judged by the bar of this length: there are too few of them for one of their own."""
_ENOUGH = 500
"""Longer texts are too few to show how far natural text goes: no bar is lower than that of this length."""
KNOTS = np.log(np.array(list(SIZES)))
NO_TREES = Forests(*(np.zeros(0, kind) for kind in ("i4", "i4", "u1", "f4", "i4", "f4")))
_TREES, _DEPTH, _RATE, _LEAF, _TRIED, _RIDGE = 120, 4, 0.08, 50, 0.3, 5.0
_BINS = 48
_NATURAL = 4.0
"""How much more all natural texts weigh than all fakes: bars stand where natural text ends."""
_LEANING_RIDGE, _LEANING_NATURAL, _LEANING = 1e-3, 16.0, 2.0
"""How reluctantly a measure is believed by itself, how much more natural texts weigh for that, and how much it counts
beside the trees: it holds better than they do in genres that were left out."""
_MANNER_RIDGE = 0.05
"""How reluctantly the manner of a text is believed to explain other measures."""
_PRIOR = 0.1
"""Share of fakes that probabilities suppose."""
_SHORT = {"patchwork": (0.9992, 0.9985), "stuffing": (0.9985, 0.997), "chain": (0.9985, 0.9965)}
_MIDDLE = {"patchwork": (0.9997, 0.9992), "stuffing": (0.9987, 0.9968), "chain": (0.9987, 0.9965)}
_LONGER = _MIDDLE | {"stuffing": (1.0, 1.0)}
"""Shares of natural texts, of all and of any genre, to stay below one half: below _ENOUGH words, with so many, and with
more. Pages of several writers, such as customers' reviews, look most like patchworks: their share is the smallest. Long
texts that are stuffed are found whatever the bar, and a long list of goods is no fake."""
_LEAST_TEXTS = 40
"""Genres with fewer natural texts of a length set no bar for it."""
KIN = {
    "newswire": "news",
    "manuals": "documentation",
    "descriptions": "glossary",
    "stories": "novels",
    "licences": "parliament",
}
"""Genres that are left out together: because one tells much about the other, or to learn fewer times."""


def learn(model: Model, tables: Tables, samples: Samples) -> tuple[Detector, NDArray[np.float64]]:
    """A detector from natural texts and fakes of several genres, calibrated on genres left out in turn.

    Also the votes with the genre left out, of all samples that are trusted.
    """
    samples = trusted(samples)
    votes = left_out_votes(samples)
    curves = _calibrated(samples, votes, _learned(samples))
    metadata = {"genres": np.unique(samples.genres).tolist(), "texts": int(samples.kinds.size), "prior": _PRIOR}
    return Detector(model, tables, curves, metadata), votes


def left_out_votes(samples: Samples) -> NDArray[np.float64]:
    """What detectors say of each text that learned nothing from its genre."""
    votes = np.zeros((samples.kinds.size, len(FAKE_KINDS)))
    for left_out in left_out_rows(samples):
        votes[left_out] = _learned(_only(samples, ~left_out)).votes(samples.features[left_out])[0]
    return votes


def left_out_probabilities(samples: Samples, votes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The fake probability of each text by a detector that neither learned from its genre nor was calibrated on it."""
    found = np.zeros(samples.kinds.size)
    for left_out in left_out_rows(samples):
        others = _only(samples, ~left_out)
        curves = _calibrated(others, votes[~left_out], _usual_of(others))
        found[left_out] = curves.probabilities(samples.features[left_out], votes[left_out]).max(1)
    return found


def left_out_rows(samples: Samples) -> list[NDArray[np.bool_]]:
    """The texts of each genre, those of kin together."""
    kin = np.array([KIN.get(genre, genre) for genre in samples.genres.tolist()])
    return [kin == genre for genre in np.unique(kin)]


def trusted(samples: Samples) -> Samples:
    """The texts that get an answer: others teach nothing and set no bar."""
    return _only(samples, is_trusted(samples))


def is_trusted(samples: Samples) -> NDArray[np.bool_]:
    """Whether the language of each text is known well enough."""
    names = ("unknown_words", "function_words", "unknown_short")
    unknown, common, short = (samples.features[:, FEATURES.index(name)] for name in names)
    return np.asarray((unknown <= 1 - LEAST_KNOWN) & (common >= LEAST_COMMON) & (short <= MOST_SHORT))


def _only(samples: Samples, which: NDArray[np.bool_]) -> Samples:
    return Samples(*(column[which] for column in samples))


def _usual_of(samples: Samples) -> Curves:
    """What natural text shows at each length and in each manner; nothing of fakes yet."""
    natural = samples.kinds == "natural"
    features, weights = samples.features[natural], _even_weights(samples)[natural]
    manner = features[:, MANNER_COLUMNS]
    centres = np.average(manner, axis=0, weights=weights)
    widths = np.sqrt(np.average((manner - centres) ** 2, axis=0, weights=weights))
    empty = np.zeros((len(FAKE_KINDS), KNOTS.size))
    flat = np.zeros((KNOTS.size, features.shape[1]))
    slopes = np.zeros((2 * len(MANNER), flat.shape[1]))
    leanings = np.zeros((len(FAKE_KINDS), 3, flat.shape[1]))
    curves = Curves(KNOTS, flat, flat, centres, widths, slopes, leanings, empty, empty, NO_TREES)
    means, slopes = _regressed(features, weights, curves.manners(features))
    curves = dataclasses.replace(curves, means=means, slopes=slopes)
    at = hats(features[:, 0], KNOTS)
    matrix = (at * weights[:, None]).T @ at + 1e-3 * np.eye(KNOTS.size)
    spreads = np.linalg.solve(matrix, (at * weights[:, None]).T @ np.abs(features - curves.usual(features)))
    # A normal deviate is 1/1.25 spreads from its mean on average.
    return dataclasses.replace(curves, spreads=np.maximum(1.25 * spreads, 1e-3))


def _regressed(
    features: NDArray[np.float32], weights: NDArray[np.float64], manners: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each feature at each knot, and how it goes with the manner. Manner itself goes by length alone."""
    at = hats(features[:, 0], KNOTS)
    columns = np.concatenate([at, manners], axis=1)
    ridge = np.diag(np.where(np.arange(columns.shape[1]) < KNOTS.size, 1e-3, _MANNER_RIDGE * len(features)))
    found = np.linalg.solve((columns * weights[:, None]).T @ columns + ridge, (columns * weights[:, None]).T @ features)
    matrix = (at * weights[:, None]).T @ at + 1e-3 * np.eye(KNOTS.size)
    by_length = np.linalg.solve(matrix, (at * weights[:, None]).T @ features)
    means, slopes = found[: KNOTS.size], found[KNOTS.size :]
    own = [0, *MANNER_COLUMNS]
    means[:, own], slopes[:, own] = by_length[:, own], 0.0
    return means, slopes


def _learned(samples: Samples) -> Curves:
    """What natural text shows, and what finds each family of fakes; not yet calibrated."""
    weights = _even_weights(samples)
    natural = samples.kinds == "natural"
    curves = _usual_of(samples)
    away = curves.deviations(samples.features)
    forests, leanings = [], []
    for kinds in FAKE_KINDS.values():
        fake = np.isin(samples.kinds, kinds)
        used = natural | fake
        share = np.where(fake, weights[natural].sum() / weights[fake].sum(), _NATURAL)
        forests.append(_forest(away[used], fake[used], (weights * share)[used]))
        share = np.where(fake, share, _LEANING_NATURAL)
        leanings.append(_leanings(away[used], fake[used], (weights * share)[used]))
    return dataclasses.replace(curves, forests=_joined(forests), leanings=np.stack(leanings))


def _leanings(
    rows: NDArray[np.float32], is_fake: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What each deviation counts for by itself: constants, multiples of the deviation and multiples of the length."""
    away = rows.astype(np.float64)
    columns = np.concatenate([away, away**2 / FURTHEST, away * away[:, :1], np.ones((len(away), 1))], axis=1)
    with threadpool_limits(1):  # sums in another order would round otherwise
        found = _logistic(columns, is_fake, weights / weights.sum(), _LEANING_RIDGE)[:-1].reshape(3, -1)
    return _LEANING * found / np.array([[1.0], [FURTHEST], [1.0]])


def _forest(rows: NDArray[np.float32], is_fake: NDArray[np.bool_], weights: NDArray[np.float64]) -> Forests:
    """Gradient-boosted trees, shallow and with large leaves, so that they say the same of other genres."""
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_depth=_DEPTH,
        learning_rate=_RATE,
        min_samples_leaf=_LEAF,
        max_features=_TRIED,
        l2_regularization=_RIDGE,
        max_bins=_BINS,
        early_stopping=False,
        random_state=1,
    )
    with threadpool_limits(1):  # more threads wait for each other longer than they work
        trees.fit(rows, is_fake, sample_weight=weights)
    first = float(np.ravel(trees._baseline_prediction)[0])
    made = [_tree(stage[0].nodes, 0.0 if place else first) for place, stage in enumerate(trees._predictors)]
    return _joined([Forests(np.array([0, 1], np.int32), np.zeros(1, np.int32), *tree) for tree in made], together=True)


def _tree(nodes: NDArray[np.void], first: float) -> tuple[NDArray[np.generic], ...]:
    """The arrays of one tree, children side by side behind their parents. `first` is added to all it says."""
    order, left = [0], []
    for node in order:  # grows while it is read
        left.append(0 if nodes["is_leaf"][node] else len(order))
        if not nodes["is_leaf"][node]:
            order += [int(nodes["left"][node]), int(nodes["right"][node])]
    kept = nodes[order]
    return (
        np.where(kept["is_leaf"], 0, kept["feature_idx"]).astype(np.uint8),
        np.where(kept["is_leaf"], 0, kept["num_threshold"]).astype(np.float32),
        np.array(left, np.int32),
        (kept["value"] + first).astype(np.float32),
    )


def _joined(parts: Sequence[Forests], *, together: bool = False) -> Forests:
    """Forests one after the other, or their trees as one forest."""
    nodes = np.cumsum([0, *(part.left.size for part in parts)])
    trees = np.cumsum([0, *(part.roots.size for part in parts)]).astype(np.int32)
    left = [np.where(part.left > 0, part.left + first, 0) for part, first in zip(parts, nodes[:-1], strict=True)]
    return Forests(
        trees[[0, -1]] if together else trees,
        np.concatenate([part.roots + first for part, first in zip(parts, nodes[:-1], strict=True)]).astype(np.int32),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.thresholds for part in parts]),
        np.concatenate(left).astype(np.int32),
        np.concatenate([part.values for part in parts]),
    )


def _even_weights(samples: Samples) -> NDArray[np.float64]:
    """Every genre, kind and size weighs the same, and all fakes as much as all natural text; 1 on average."""
    labels = list(zip(samples.genres.tolist(), samples.kinds.tolist(), samples.sizes.tolist(), strict=True))
    numbers = Counter(labels)
    kinds = sum(len(family) for family in FAKE_KINDS.values())
    weights = np.array([1 / numbers[label] / (1 if label[1] == "natural" else kinds) for label in labels])
    return weights / weights.mean()


def _logistic(
    columns: NDArray[np.float64], is_fake: NDArray[np.bool_], weights: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Weights of columns by logistic regression (Newton's method)."""
    found = np.zeros(columns.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-np.clip(columns @ found, -30, 30)))
        slope = columns.T @ (weights * (chance - is_fake)) + ridge * found
        bend = (columns * (weights * chance * (1 - chance))[:, None]).T @ columns + ridge * np.eye(found.size)
        step = np.linalg.solve(bend, slope)
        found = found - step
        if np.abs(step).max() < 1e-6:
            break
    return found


def _calibrated(samples: Samples, votes: NDArray[np.float64], curves: Curves) -> Curves:
    """Curves whose scale and shift make votes odds. One half is the bar that few natural texts pass.

    `votes` are those of detectors that had not learned from the genre of a text.
    """
    natural = samples.kinds == "natural"
    together = list(SIZES).index(_LONG)
    nearest = np.minimum(np.abs(samples.features[:, :1] - KNOTS[None]).argmin(1), together)
    scale, shift = np.zeros((2, len(FAKE_KINDS), KNOTS.size))
    bars = np.full(len(FAKE_KINDS), -np.inf)
    for knot, size in enumerate(list(SIZES)[: together + 1]):
        genres = [natural & (nearest == knot) & (samples.genres == g) for g in np.unique(samples.genres)]
        passed = _bars(votes, genres, _SHORT if size < _ENOUGH else _MIDDLE if size == _ENOUGH else _LONGER)
        bars = np.maximum(bars, passed) if size > _ENOUGH else passed
        for family, kinds in enumerate(FAKE_KINDS.values()):
            fake = np.isin(samples.kinds, kinds)
            here = (natural | fake) & (nearest == knot)
            weights = np.where(fake, _PRIOR / (fake & here).sum(), (1 - _PRIOR) / (natural & here).sum())[here]
            columns = np.stack([votes[here, family], np.ones(here.sum())], axis=1)
            scale[family, knot] = _logistic(columns, fake[here], 1000 * weights, 1.0)[0]
            shift[family, knot] = -bars[family] * scale[family, knot]
    scale[:, together:], shift[:, together:] = scale[:, [together]], shift[:, [together]]
    return dataclasses.replace(curves, scale=scale, shift=shift)


def _bars(
    votes: NDArray[np.float64], genres: Sequence[NDArray[np.bool_]], shares: Mapping[str, tuple[float, float]]
) -> NDArray[np.float64]:
    """For each family the vote that counts as fake: the shares of all texts and of any genre stay below it.

    Each family has its own bar: genres that resemble one of them would make all bars too high.
    """
    found = [votes[genre] for genre in genres if genre.sum() >= _LEAST_TEXTS]
    most = max(map(len, found))
    bars = []
    for family, (pooled, worst) in enumerate(shares[name] for name in FAKE_KINDS):
        evenly = np.concatenate([np.resize(np.sort(genre[:, family]), most) for genre in found])
        tails = [float(np.quantile(genre[:, family], worst)) for genre in found]
        bars.append(max(float(np.quantile(evenly, pooled)), *tails))
    return np.array(bars)
