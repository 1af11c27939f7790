"""Entropy pruning (Stolcke 1998): leaves out the n-grams that shorter ones predict nearly as well.

For each n-gram (h, w) the relative change of the model's perplexity is computed that leaving out this n-gram alone
would cause. N-grams whose change is below the threshold go, from the longest order down, and the back-off weights are
computed again. An n-gram stays if a longer n-gram that stays begins or ends with it. Probabilities of the remaining
n-grams do not change.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams.tries import END, START
from samehand.methods.language.katz import NOTHING, backoff_weights, peaks_of, to_logs
from samehand.methods.language.model import Model


def prune(model: Model, threshold: float) -> Model:
    """The model without the n-grams that change its perplexity by a share below `threshold` (1e-8 is usual)."""
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
        metadata={**model.metadata, "pruned": threshold},
    )


def _probabilities(model: Model) -> NDArray[np.float64]:
    probabilities = 10.0 ** model.logs.astype(np.float64)
    probabilities[START] = 0.0
    return probabilities


def _perplexity_changes(model: Model, parents: NDArray[np.int64], suffixes: NDArray[np.int64]) -> NDArray[np.float64]:
    """exp(D) - 1 for each n-gram of two or more words, by the formulas of section 3 of the paper."""
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
    tiny = np.maximum  # keeps logarithms finite where a history leaves nothing
    after = np.log(tiny(left[history] + own, NOTHING)) - np.log(tiny(open_mass[history] + below, NOTHING))
    lost = own * (np.log(tiny(below, 1e-300)) + after - np.log(tiny(own, 1e-300)))
    moved = (after - before) * np.maximum(left[history], 0.0)
    changes = np.zeros(len(trie))
    changes[begin:] = np.expm1(np.minimum(-joint[history] * (lost + moved), 700.0))
    return changes


def _joint(model: Model, probabilities: NDArray[np.float64], parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """The joint probability of the words of each n-gram. A sentence starts as often as one ends."""
    joint = probabilities.copy()
    joint[START] = probabilities[END]
    for length in range(2, model.order + 1):
        nodes = model.trie.level(length)
        joint[nodes] *= joint[parents[nodes]]
    return joint
