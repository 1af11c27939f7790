"""The n-grams of all orders as one sorted trie in flat arrays.

Nodes are numbered level by level: nodes 0 to V - 1 are the words of the vocabulary by id, then come all bigrams, and so
on. The n-grams of length n are the nodes levels[n - 1]:levels[n]. Within a level nodes are sorted by their words, so
the children of a node are the nodes first[node]:first[node + 1], sorted by their last word. words[node - V] is the last
word of a node; for node < V it is the node itself.
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
    """Which n-grams exist. `words` has no entries for level one; `first` covers all levels but the last."""

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
        """The node of each n-gram without its last word, -1 for single words."""
        found: NDArray[np.int64] = kernel.parent_nodes(self.first, len(self))
        return found

    def suffixes(self) -> NDArray[np.int64]:
        """The node of each n-gram without its first word, -1 for single words and where the trie lacks it."""
        found: NDArray[np.int64] = kernel.suffix_nodes(self.words, self.first, self.levels)
        return found

    def child(self, node: int, word: int) -> int:
        """The child of an inner node by its last word, or -1."""
        return int(kernel.find_child(self.words, self.first, int(self.levels[1]), node, word))

    def index(self) -> ngram_index.Index:
        """The table that finds children in one step."""
        word, pair, smallest = ngram_index.index_bits(int(self.levels[1]), self.inner, len(self))
        for slot in range(smallest, min(pair, smallest + _MOST_DOUBLINGS) + 1):
            bits = np.array([word, pair, slot], np.uint64)
            slots = np.zeros((1 << slot) + ngram_index.FARTHEST, np.uint64)
            if ngram_index.fill(self.words, self.first, int(self.levels[1]), bits, slots):
                return ngram_index.Index(slots, bits, int(self.levels[1]), self.inner, len(self))
        raise InputError("The model contains an n-gram twice: make the model anew.")

    def sane(self) -> bool:
        """Whether the children of all nodes follow each other level by level, and all words have valid ids."""
        first, levels = self.first, self.levels
        rising = bool((first[1:] >= first[:-1]).all()) and int(first[-1]) == int(levels[-1])
        fitting = all(int(first[levels[level]]) == int(levels[level + 1]) for level in range(self.order - 1))
        return rising and fitting and int(self.words.max(initial=0)) < int(levels[1])

    def child_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each inner node the sum of `values` (one per node) over its children."""
        sums: NDArray[np.float64] = segment_sums(values, self.first)
        return sums

    def kept(self, keep: NDArray[np.bool_]) -> "Trie":
        """The trie of the nodes to keep, which include all words. The caller keeps the parent of every kept node."""
        vocabulary = int(self.levels[1])
        before = np.concatenate([[0], np.cumsum(keep)])
        levels = before[self.levels]
        first = before[self.first[: self.inner][keep[: self.inner]]]
        return Trie(levels, self.words[keep[vocabulary:]], np.append(first, levels[-1]).astype(np.uint32))

    def dropped_orphans(self, keep: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`keep` without the nodes whose parent or suffix is not kept, so that all parts of an n-gram are n-grams."""
        keep = keep.copy()
        keep[: self.levels[1]] = True
        parents, suffixes = self.parents(), self.suffixes()
        for length in range(2, self.order + 1):
            nodes = self.level(length)
            keep[nodes] &= keep[parents[nodes]] & (suffixes[nodes] >= 0) & keep[suffixes[nodes]]
        return keep


Make = Callable[[tuple[int, ...], type[np.generic]], NDArray[Any]]
"""Makes an array of this shape and number type: `np.empty`, or an array in a file."""


def field_bits(words: int) -> int:
    """Bits of a word in a window, for so many words. It is stored as its id + 1; 0 means that the sentence is over."""
    return (words + 1).bit_length()


class TrieBuilder:
    """Makes a trie and the counts of its nodes from sorted distinct windows (see `kernels.ngrams.tries`).

    `windows` is how many there will be at most. With `whole`, a window counts for its own n-gram alone, otherwise also
    for each n-gram that begins it.
    """

    def __init__(self, windows: int, *, order: int, words: int, whole: bool, make: Make = np.empty) -> None:
        self._order, self._vocabulary, self._whole, self._make = order, words, whole, make
        room = (order, max(1, windows))  # a window adds at most one n-gram of each order
        self._words, self._counts = make(room, np.uint32), make(room, np.uint64)
        self._first = make(room, np.int64)
        self._sizes = np.zeros(order, np.int64)
        self._last = np.zeros(order, np.uint64)

    def add(self, high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
        """Adds windows with their counts. All of them sort after those added before."""
        kernel.grow_levels(
            high,
            low,
            counts,
            self._order,
            field_bits(self._vocabulary),
            self._whole,
            self._last,
            self._sizes,
            self._words,
            self._counts,
            self._first,
        )

    def finish(self) -> tuple[Trie, NDArray[np.uint64]]:
        """The trie, with all words of the vocabulary, and the count of each node."""
        vocabulary, sizes, seen = self._vocabulary, self._sizes, self._words[0, : self._sizes[0]]
        levels = np.concatenate([[0], np.cumsum([vocabulary, *sizes[1:]])])
        total = int(levels[-1])
        if total >= 1 << 32:
            raise UsageError(f"{total} different n-grams are too many for one model: lower the order.")
        counts = self._make((total,), np.uint64)
        words = self._make((total - vocabulary,), np.uint32)
        links = self._make((int(levels[-2]) + 1,), np.uint32)
        counts[:vocabulary] = 0
        counts[seen] = self._counts[0, : sizes[0]]
        links[-1] = total
        if self._order > 1:
            # A word that did not occur has an empty range of children, at the start of the next word's children.
            starts = np.append(self._first[0, : sizes[0]], sizes[1])
            links[:vocabulary] = starts[np.searchsorted(seen, np.arange(vocabulary))] + vocabulary
        for level in range(1, self._order):
            begin, end = int(levels[level]), int(levels[level + 1])
            counts[begin:end] = self._counts[level, : sizes[level]]
            words[begin - vocabulary : end - vocabulary] = self._words[level, : sizes[level]]
            if level + 1 < self._order:
                links[begin:end] = self._first[level, : sizes[level]] + end
        return Trie(levels, words, links), counts
