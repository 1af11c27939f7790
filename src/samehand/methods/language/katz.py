"""Katz back-off with Good-Turing discounts (Katz 1987): from counts to probabilities.

An n-gram that was seen r times keeps the share d(r) of its relative frequency. What all successors of a history lose
goes to the words that never followed it, in proportion to their probability after the shorter history. Counts above k
lose nothing. With n(r) n-grams that were seen r times:

    d(r) = (r* / r - (k + 1) n(k + 1) / n(1)) / (1 - (k + 1) n(k + 1) / n(1)),   r* = (r + 1) n(r + 1) / n(r)

Small or filtered collections can give a d(r) outside of (0, 1]. Then the next smaller k is tried, down to no discount
at all. A history that would leave nothing for other words is counted once more than it occurred, as SRILM does. What
single words lose is the probability of the unknown word.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams import scores as ngram_scores
from samehand.kernels.ngrams import tries as kernel
from samehand.kernels.segments import segment_peaks
from samehand.methods.language.counting import Counts
from samehand.methods.language.model import NEVER, Model
from samehand.methods.language.trie import Trie

LARGEST_K = 7
NOTHING = 1e-12
"""A probability mass below this is lost in rounding."""


def train(counts: Counts, cutoffs: Sequence[int] = (), *, metadata: Mapping[str, Any] | None = None) -> Model:
    """The Katz model of these counts. `cutoffs` says how often an n-gram of each order must occur to be kept.

    A longer n-gram must occur at least as often as a shorter one. Single words are all kept.
    """
    if counts.tokens < 1:
        raise UsageError("There is not one word to make a model of: give more text.")
    discounts = [discounts_of(_level_counts(counts, length)) for length in range(1, counts.order + 1)]
    least = [max(cutoffs[:length], default=1) for length in range(1, counts.order + 1)]
    trie, kept = _cut(counts, least)
    probabilities = _probabilities(counts, trie, kept, discounts)
    suffixes = trie.suffixes()
    backoffs = backoff_weights(trie, suffixes, probabilities)
    stored: NDArray[Any] = kept.astype(np.uint32 if int(kept.max(initial=0)) < 1 << 32 else np.uint64)
    made_from = {
        "tokens": counts.tokens,
        "sentences": counts.sentences,
        "cutoffs": least,
        "discounts": [[round(float(share), 6) for share in shares] for shares in discounts],
    }
    return Model(
        counts.vocabulary,
        trie,
        to_logs(probabilities),
        to_logs(backoffs),
        stored,
        peaks_of(trie, suffixes, stored, counts.tokens),
        made_from | dict(metadata or {}),
    )


def discounts_of(counts: NDArray[np.uint64]) -> NDArray[np.float64]:
    """d(1) to d(k) for the largest k up to LARGEST_K that gives valid discounts; empty if none does."""
    seen = np.bincount(counts[(counts > 0) & (counts <= LARGEST_K + 1)].astype(np.int64), minlength=LARGEST_K + 2)
    for k in range(LARGEST_K, 0, -1):
        numbers = seen[: k + 2].astype(np.float64)
        if (numbers[1:] == 0).any():
            continue
        common = (k + 1) * numbers[k + 1] / numbers[1]
        times = np.arange(1, k + 1)
        shares = ((times + 1) * numbers[2:] / numbers[1:-1] / times - common) / (1 - common) if common < 1 else times
        if common < 1 and (shares > 0).all() and (shares <= 1).all():
            return np.asarray(shares)
    return np.empty(0)


def to_logs(probabilities: NDArray[np.float64]) -> NDArray[np.float32]:
    """log10, and NEVER for 0."""
    logs = np.full(probabilities.size, NEVER, np.float32)
    np.log10(probabilities, out=logs, where=probabilities > 0, casting="same_kind")
    return np.maximum(logs, np.float32(NEVER))


def peaks_of(
    trie: Trie, suffixes: NDArray[np.int64], counts: NDArray[np.unsignedinteger[Any]], tokens: int
) -> NDArray[np.float32]:
    """max_v PKL(h, v) of each inner node, over the successors that are in the trie."""
    divergences = ngram_scores.divergences(trie.parents(), suffixes, trie.last_words(), counts, float(tokens))
    found: NDArray[np.float64] = segment_peaks(divergences, trie.first)
    return found.astype(np.float32)


def backoff_weights(trie: Trie, suffixes: NDArray[np.int64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The back-off weight of each inner node, by which probabilities after the shorter history are multiplied.

    If all possible successors of a history were seen, nothing is left to back off to: the probabilities of its
    successors are scaled to the sum one, in place.
    """
    shorter = np.zeros(len(trie))
    longer = suffixes >= 0
    shorter[longer] = probabilities[suffixes[longer]]
    weights = np.ones(trie.inner)
    for length in range(1, trie.order):
        nodes = trie.level(length)
        left = 1.0 - trie.child_sums(probabilities)[nodes]
        open_mass = 1.0 - trie.child_sums(shorter)[nodes]
        closed = (left <= NOTHING) | (open_mass <= NOTHING)
        childless = trie.first[nodes.start : nodes.stop] == trie.first[nodes.start + 1 : nodes.stop + 1]
        weights[nodes] = np.where(childless, 1.0, np.where(closed, 0.0, left / np.where(closed, 1.0, open_mass)))
        scale = np.ones(trie.inner)
        scale[nodes] = np.where(closed & ~childless, 1.0 / np.maximum(1.0 - left, NOTHING), 1.0)
        below = trie.level(length + 1)
        probabilities[below] *= np.repeat(scale, trie.child_numbers())[_children(trie, below)]
        further = suffixes[trie.levels[length + 1] :]
        shorter[trie.levels[length + 1] :] = np.where(further >= 0, probabilities[further], 0.0)
    return weights


def _children(trie: Trie, nodes: slice) -> slice:
    """Nodes as places among all nodes that have a parent."""
    return slice(nodes.start - int(trie.levels[1]), nodes.stop - int(trie.levels[1]))


def _level_counts(counts: Counts, length: int) -> NDArray[np.uint64]:
    found = counts.counts[counts.trie.level(length)]
    if length == 1:
        found = np.delete(found, [kernel.UNKNOWN, kernel.START])
    return found


def _cut(counts: Counts, least: Sequence[int]) -> tuple[Trie, NDArray[np.uint64]]:
    keep = np.ones(len(counts.trie), np.bool_)
    for length in range(2, counts.order + 1):
        nodes = counts.trie.level(length)
        keep[nodes] = counts.counts[nodes] >= max(1, least[length - 1])
    keep = counts.trie.dropped_orphans(keep)
    if keep.all():
        return counts.trie, counts.counts
    return counts.trie.kept(keep), counts.counts[keep]


def _probabilities(
    counts: Counts, trie: Trie, kept: NDArray[np.uint64], discounts: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """The discounted probability of each node. The unknown word gets what the single words leave."""
    found = np.zeros(len(trie))
    discounted = np.zeros(len(trie))
    for length, shares in enumerate(discounts, 1):
        nodes = trie.level(length)
        table = np.concatenate([[1.0], shares, [1.0]])
        discounted[nodes] = kept[nodes] * table[np.minimum(kept[nodes], np.uint64(table.size - 1)).astype(np.int64)]
    words = trie.level(1)
    discounted[[kernel.UNKNOWN, kernel.START]] = 0.0
    total = float(counts.tokens)
    rest = 1.0 - discounted[words].sum() / total
    found[words] = discounted[words] / (total if rest > NOTHING else total + 1.0)
    found[kernel.UNKNOWN] = max(1.0 - found[words].sum(), 1.0 / (total + 1.0) if rest <= NOTHING else 0.0)
    # In count files a history can have a smaller count than its successors together. Then their sum is the total.
    sums = trie.child_sums(kept.astype(np.float64))
    given = np.maximum(kept[: trie.inner].astype(np.float64), sums)
    whole = given - trie.child_sums(discounted) <= NOTHING * given
    totals = np.maximum(given + whole, 1.0)
    found[trie.levels[1] :] = discounted[trie.levels[1] :] / np.repeat(totals, trie.child_numbers())
    return found
