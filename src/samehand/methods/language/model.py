"""A back-off model of a language: what comes next, how likely, and how much that depends on what came long before.

A sentence is scored as KenLM and SRILM do: <s> is the history it starts with, and its end </s> is predicted like a
word. Everything that scores takes word numbers and offsets of sentences (see `vocabulary`), any number of texts at
once, and releases the interpreter lock: threads over portions of a corpus need nothing more.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams import scores as kernel
from samehand.kernels.ngrams import tries as ngrams
from samehand.kernels.ngrams.index import Index
from samehand.methods.language import container
from samehand.methods.language.trie import Trie
from samehand.methods.language.vocabulary import Vocabulary

NEVER = -99.0
"""log10 of the probability of what is never predicted: <s>. ARPA files say it so."""


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """Probabilities and counts on the nodes of a trie.

    `logs` has log10 p(w|h) of each node, `backoffs` log10 of the back-off weight of each inner one. `node_counts`
    and `peaks` (the largest PKL among the successors of each inner node) are empty in a model without counts. `facts`
    says what the model was made of.
    """

    vocabulary: Vocabulary
    trie: Trie
    logs: NDArray[np.float32]
    backoffs: NDArray[np.float32]
    node_counts: NDArray[np.uint32]
    peaks: NDArray[np.float32]
    facts: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Maps a model file into memory."""
        stored = container.read(Path(path))
        return cls(**stored)

    def save(self, path: Path | str, *, compact: bool = False) -> None:
        """Writes the model as one file. `compact` rounds logarithms to 256 steps and peaks to half precision.

        No rounded logarithm is off by more than 1/510 of the range of its order (0.02 or so); counts stay exact.
        """
        container.write(Path(path), self, compact=compact)

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return self.trie.order

    @property
    def has_counts(self) -> bool:
        """Whether counts were stored: a model out of an ARPA file has none."""
        return self.node_counts.size > 0

    @functools.cached_property
    def tokens(self) -> int:
        """Words and sentence ends in the text the model was made of."""
        words = self._counted()[: len(self.vocabulary)]
        return int(words.sum(dtype=np.uint64)) - int(words[ngrams.START])

    def log_probabilities(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None = None
    ) -> NDArray[np.float32]:
        """log10 p(w|h) of each word and each sentence end, by n-grams of up to `order` words."""
        return self._scored(ids, sentences, order, lengths=False)[0]

    def matched_lengths(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None = None
    ) -> NDArray[np.int8]:
        """The length of the longest known n-gram that ends in each word and each sentence end; 1 for unknown words."""
        return self._scored(ids, sentences, order, lengths=True)[1]

    def perplexity(self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None = None) -> float:
        """10 to the minus mean log10 probability; nan for a text without a sentence."""
        logs = self.log_probabilities(ids, sentences, order)
        return float(10 ** -logs.mean(dtype=np.float64)) if logs.size else float("nan")

    def relative_entropy(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Penalty S(h, w) = max_v PKL(h, v) - PKL(h, w) of each n-gram of `order` words, and whether h is known.

        PKL(h, w) = p(w|h) ln(p(w|h) / p(w|h')) by the counts as they are, nothing smoothed (formulas 4 and 5 of the
        paper); 0 where w never followed h. The n-grams are those of each sentence with one <s> before it and </s>
        behind: `ngram_places` tells where they are. A history is known when the model has it with a successor; one
        with an unknown word in it is not. An unknown last word counts as never seen. The penalty is 0 where h is
        unknown; a text's score is the mean of the others. Where n-grams were cut off or pruned, these are not seen.
        """
        if not 2 <= order <= self.order:
            raise UsageError(f"Relative entropy has orders 2 to {self.order} in this model, not {order}.")
        counts = self._counted()
        ids, sentences = _checked(ids, sentences)
        nodes = self._nodes(ids, sentences, order)
        ends = _predicted(ids, sentences)[ngram_places(sentences, order)]
        strange = (ends <= ngrams.UNKNOWN) | (ends >= len(self.vocabulary))
        found: tuple[NDArray[np.float32], NDArray[np.bool_]] = kernel.penalties(
            nodes, self.trie.first, counts, float(self.tokens), self.peaks, strange
        )
        return found

    def counts(self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int) -> NDArray[np.uint32]:
        """How often each n-gram of exactly `order` words was seen: the n-grams of `relative_entropy`, or words."""
        return self._counts_at(ids, sentences, order, which=0)

    def history_counts(self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int) -> NDArray[np.uint32]:
        """How often the history of each n-gram was seen; 0 too where it holds an unknown word."""
        if order < 2:
            raise UsageError("A single word has no history: ask for order 2 and more.")
        return self._counts_at(ids, sentences, order, which=2)

    def count_of(self, words: Iterable[str | bytes]) -> int:
        """How often an n-gram was seen; "<s>" and "</s>" are taken for the marks."""
        listed = [word.encode() if isinstance(word, str) else word for word in words]
        counts = self._counted()
        marks = {b"<s>": ngrams.START, b"</s>": ngrams.END}
        node = -1
        for place, (word, number) in enumerate(zip(listed, self.vocabulary.ids_of_words(listed), strict=True)):
            number = marks.get(word, int(number))
            if number == ngrams.UNKNOWN or place >= self.order or node >= self.trie.inner:
                return 0
            shift = len(self.vocabulary)
            node = number if place == 0 else ngrams.find_child(self.trie.words, self.trie.first, shift, node, number)
            if node < 0:
                return 0
        return int(counts[node]) if listed else 0

    def _scored(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None, *, lengths: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        order = self.order if order is None else order
        if not 1 <= order <= self.order:
            raise UsageError(f"This model has orders 1 to {self.order}, not {order}.")
        ids, sentences = _checked(ids, sentences)
        matched = np.empty(sentences[-1] - sentences[0] + sentences.size - 1 if lengths else 0, np.int8)
        return kernel.log_probabilities(ids, sentences, order, self._index, self.logs, self.backoffs, matched), matched

    def _nodes(self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = kernel.ngram_nodes(ids, sentences, order, self._index)
        return found

    @functools.cached_property
    def _index(self) -> Index:
        return self.trie.index()

    def _counts_at(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int, *, which: int
    ) -> NDArray[np.uint32]:
        if not 1 <= order <= self.order:
            raise UsageError(f"This model has orders 1 to {self.order}, not {order}.")
        counts = self._counted()
        nodes = self._nodes(*_checked(ids, sentences), order)[which]
        found = np.where(nodes >= 0, counts[nodes], 0)
        return np.minimum(found, np.iinfo(np.uint32).max).astype(np.uint32)

    def _counted(self) -> NDArray[np.uint32]:
        if not self.has_counts:
            raise UsageError("This model has no counts (it came from an ARPA file): train one from text to have them.")
        return self.node_counts


def ngram_places(sentences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """For each n-gram of `order` words the place of its last word among the predicted words and sentence ends."""
    sizes = np.diff(sentences) + 1
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.flatnonzero(within >= order - 2)


def ngram_bounds(sentences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Offsets of the sentences in the n-grams of `order` words; order 1: in the predicted words and sentence ends."""
    return np.concatenate([[0], np.cumsum(np.maximum(np.diff(sentences) + 1 - max(0, order - 2), 0))])


def _predicted(ids: NDArray[np.int32], sentences: NDArray[np.int64]) -> NDArray[np.int32]:
    """The words with </s> behind each sentence."""
    inside = ids[sentences[0] : sentences[-1]]
    return np.insert(inside, sentences[1:] - sentences[0], ngrams.END)


def _checked(ids: NDArray[np.int32], sentences: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    ids, sentences = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(sentences, np.int64)
    if sentences.size == 0 or sentences[0] < 0 or sentences[-1] > ids.size or (np.diff(sentences) < 0).any():
        raise UsageError("The sentences of a text are rising offsets into its words, from its first to its last one.")
    return ids, sentences
