"""Entropy pruning (Stolcke 1998): n-grams that the shorter ones foretell nearly as well are left out.

For each n-gram (h, w) the relative change of the model's perplexity is computed that leaving it out alone would make;
those below the threshold go, from the longest down, and the back-off weights are computed anew. An n-gram stays while a
longer one that stays begins or ends with it. Probabilities of what stays do not change.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams.tries import END, START
from samehand.methods.language.katz import backoff_weights, peaks_of, to_logs
from samehand.methods.language.model import Model

_NOTHING = 1e-12


def prune(model: Model, threshold: float) -> Model:
    """The model without n-grams whose loss changes its perplexity by a share less than `threshold` (1e-8 is usual)."""
    if not 0 <= threshold < 1:
        raise UsageError(f"The pruning threshold is {threshold}: choose a value from 0 to below 1.")
    trie = model.trie
    parents, suffixes = trie.parents(), trie.suffixes()
    changes = _perplexity_changes(model, parents, suffixes)
    keep = np.ones(len(trie), np.bool_)
    needed = np.zeros(len(trie), np.bool_)
    for length in range(model.order, 1, -1):
        nodes = trie.level(length)
        keep[nodes] = (changes[nodes] >= threshold) | needed[nodes]
        staying = np.flatnonzero(keep[nodes]) + nodes.start
        needed[parents[staying]] = True
        needed[suffixes[staying]] = True
    smaller = trie.kept(keep)
    probabilities = _probabilities(model)[keep]
    suffixes = smaller.suffixes()
    backoffs = backoff_weights(smaller, suffixes, probabilities)
    counts = model.node_counts[keep] if model.has_counts else model.node_counts
    return dataclasses.replace(
        model,
        trie=smaller,
        logs=to_logs(probabilities),
        backoffs=to_logs(backoffs),
        node_counts=counts,
        peaks=peaks_of(smaller, suffixes, counts, model.tokens) if model.has_counts else model.peaks,
        facts={**model.facts, "pruned": threshold},
    )


def _probabilities(model: Model) -> NDArray[np.float64]:
    probabilities = 10.0 ** model.logs.astype(np.float64)
    probabilities[START] = 0.0
    return probabilities


def _perplexity_changes(model: Model, parents: NDArray[np.int64], suffixes: NDArray[np.int64]) -> NDArray[np.float64]:
    """exp(D) - 1 for each n-gram of two words and more, by the formulas of section 3 of the paper."""
    trie = model.trie
    probabilities = _probabilities(model)
    shorter = np.zeros(len(trie))
    shorter[suffixes >= 0] = probabilities[suffixes[suffixes >= 0]]
    left = 1.0 - trie.child_sums(probabilities)
    open_mass = 1.0 - trie.child_sums(shorter)
    joint = _joint(model, probabilities, parents)
    begin = int(trie.levels[1])
    history, own, below = parents[begin:], probabilities[begin:], shorter[begin:]
    before = np.log(10.0) * np.asarray(model.backoffs, np.float64)[history]
    tiny = np.maximum  # a history that leaves nothing still has a logarithm
    after = np.log(tiny(left[history] + own, _NOTHING)) - np.log(tiny(open_mass[history] + below, _NOTHING))
    lost = own * (np.log(tiny(below, 1e-300)) + after - np.log(tiny(own, 1e-300)))
    moved = (after - before) * np.maximum(left[history], 0.0)
    changes = np.zeros(len(trie))
    changes[begin:] = np.expm1(np.minimum(-joint[history] * (lost + moved), 700.0))
    return changes


def _joint(model: Model, probabilities: NDArray[np.float64], parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probability of each n-gram from its first word on; a sentence starts as often as one ends."""
    joint = probabilities.copy()
    joint[START] = probabilities[END]
    for length in range(2, model.order + 1):
        nodes = model.trie.level(length)
        joint[nodes] *= joint[parents[nodes]]
    return joint
