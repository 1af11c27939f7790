"""The n-grams of all orders as one sorted trie of flat arrays.

Nodes are numbered level by level: 0 to V - 1 are the words of the vocabulary by number, then all bigrams, and so on;
levels[n - 1]:levels[n] are the n-grams. Within a level nodes are sorted by their words, so the children of a node are
the nodes first[node]:first[node + 1], sorted by their last word. words[node - V] is that word; for node < V it is the
node itself.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import InputError, UsageError
from samehand.kernels.ngrams import index as ngram_index
from samehand.kernels.ngrams import tries as kernel
from samehand.kernels.segments import segment_sums

_MOST_DOUBLINGS = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Trie:
    """Which n-grams there are. `words` has no entry for level one, `first` none for the last level but its end."""

    levels: NDArray[np.int64]
    words: NDArray[np.uint32]
    first: NDArray[np.uint32]

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return self.levels.size - 1

    def __len__(self) -> int:
        return int(self.levels[-1])

    def level(self, length: int) -> slice:
        """The nodes of n-grams of this length."""
        return slice(int(self.levels[length - 1]), int(self.levels[length]))

    @property
    def inner(self) -> int:
        """Number of nodes that can have children."""
        return self.first.size - 1

    def child_numbers(self) -> NDArray[np.int64]:
        """How many children each inner node has."""
        return self.first[1:].astype(np.int64) - self.first[:-1].astype(np.int64)

    def last_words(self) -> NDArray[np.uint32]:
        """The last word of each node."""
        return np.concatenate([np.arange(self.levels[1], dtype=self.words.dtype), self.words])

    def parents(self) -> NDArray[np.int64]:
        """Each n-gram without its last word; -1 for words."""
        found: NDArray[np.int64] = kernel.parent_nodes(self.first, len(self))
        return found

    def suffixes(self) -> NDArray[np.int64]:
        """Each n-gram without its first word; -1 for words, and where that is not in the trie."""
        found: NDArray[np.int64] = kernel.suffix_nodes(self.words, self.first, self.levels)
        return found

    def index(self) -> ngram_index.Index:
        """The table that finds children at once."""
        word, pair, smallest = ngram_index.index_bits(int(self.levels[1]), self.inner, len(self))
        for slot in range(smallest, min(pair, smallest + _MOST_DOUBLINGS) + 1):
            bits = np.array([word, pair, slot], np.uint64)
            slots = np.zeros((1 << slot) + ngram_index.FARTHEST, np.uint64)
            if ngram_index.fill(self.words, self.first, int(self.levels[1]), bits, slots):
                return ngram_index.Index(slots, bits, int(self.levels[1]), self.inner, len(self))
        raise InputError("The n-grams of this model are not all different: make the model anew.")

    def sane(self) -> bool:
        """Whether children follow on one another, level by level, and all words are words."""
        first, levels = self.first, self.levels
        rising = bool((first[1:] >= first[:-1]).all()) and int(first[-1]) == int(levels[-1])
        fitting = all(int(first[levels[level]]) == int(levels[level + 1]) for level in range(self.order - 1))
        return rising and fitting and int(self.words.max(initial=0)) < int(levels[1])

    def child_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum over the children of each inner node of what they have in `values` (one for each node)."""
        sums: NDArray[np.float64] = segment_sums(values, self.first)
        return sums

    def kept(self, keep: NDArray[np.bool_]) -> "Trie":
        """The trie of some of the nodes; all words stay. A node stays only where its parent does: the caller's duty."""
        vocabulary = int(self.levels[1])
        before = np.concatenate([[0], np.cumsum(keep)])
        levels = before[self.levels]
        first = before[self.first[: self.inner][keep[: self.inner]]]
        return Trie(levels, self.words[keep[vocabulary:]], np.append(first, levels[-1]).astype(np.uint32))

    def dropped_orphans(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`keep` without nodes whose parent or suffix is not kept, so that every n-gram's parts are n-grams too."""
        keep = keep.copy()
        keep[: self.levels[1]] = True
        parents, suffixes = self.parents(), self.suffixes()
        for length in range(2, self.order + 1):
            nodes = self.level(length)
            keep[nodes] &= keep[parents[nodes]] & (suffixes[nodes] >= 0) & keep[suffixes[nodes]]
        return keep


Make = Callable[[str, tuple[int, ...], type[np.generic]], NDArray[Any]]
"""Makes an array: name, shape, kind of number."""


def in_memory(_: str, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
    """An array as numpy makes it."""
    return np.empty(shape, kind)


def trie_of_levels(
    words: NDArray[np.uint32],
    counts: NDArray[np.uint64],
    first: NDArray[np.int64],
    sizes: NDArray[np.int64],
    vocabulary: int,
    make: Make = in_memory,
) -> tuple[Trie, NDArray[np.uint64]]:
    """Joins levels as `kernels.ngrams.grow_levels` fills them, and puts in the words of the vocabulary not seen."""
    order = sizes.size
    levels = np.concatenate([[0], np.cumsum([vocabulary, *sizes[1:]])])
    total = int(levels[-1])
    if total >= 1 << 32:
        raise UsageError(f"{total} different n-grams are too many for one model: lower the order.")
    all_counts = make("counts", (total,), np.uint64)
    all_words = make("words", (total - vocabulary,), np.uint32)
    links = make("first", (int(levels[-2]) + 1,), np.uint32)
    seen = words[0, : sizes[0]]
    all_counts[:vocabulary] = 0
    all_counts[seen] = counts[0, : sizes[0]]
    links[-1] = total
    if order > 1:
        # A word that was not seen has its children, none, where those of the next word that was seen begin.
        starts = np.append(first[0, : sizes[0]], sizes[1])
        links[:vocabulary] = starts[np.searchsorted(seen, np.arange(vocabulary))] + vocabulary
    for level in range(1, order):
        begin, end = int(levels[level]), int(levels[level + 1])
        all_counts[begin:end] = counts[level, : sizes[level]]
        all_words[begin - vocabulary : end - vocabulary] = words[level, : sizes[level]]
        if level + 1 < order:
            links[begin:end] = first[level, : sizes[level]] + end
    return Trie(levels, all_words, links), all_counts
