"""A back-off n-gram model of a language: how likely is each next word, and how much does that depend on its history?

A sentence is scored as KenLM and SRILM do it: its history starts with <s>, and its end </s> is predicted like a word.
All scores take word ids and offsets of sentences (see `vocabulary`), of any number of texts at once. They release the
interpreter lock, so threads can score portions of a corpus.
"""

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import read_only
from samehand.base.errors import UsageError
from samehand.kernels.ngrams import scores as kernel
from samehand.kernels.ngrams.index import Index
from samehand.kernels.ngrams.tries import END, START, UNKNOWN
from samehand.methods.language import container
from samehand.methods.language.counting import check_sentences
from samehand.methods.language.trie import Trie
from samehand.methods.language.vocabulary import Vocabulary

NEVER = -99.0
"""log10 probability of what is never predicted, which is <s>. ARPA files have this value too."""


@dataclasses.dataclass(frozen=True, eq=False)
class Model:
    """Probabilities and counts on the nodes of a trie.

    `logs` has log10 p(w|h) of each node, `backoffs` log10 of the back-off weight of each inner node. `node_counts` and
    `peaks` (the largest PKL among the successors of each inner node) are empty in a model without counts. `metadata`
    says what the model was made from.
    """

    vocabulary: Vocabulary
    trie: Trie
    logs: NDArray[np.float32]
    backoffs: NDArray[np.float32]
    node_counts: NDArray[np.uint32]
    peaks: NDArray[np.float32]
    metadata: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Maps a model file into memory."""
        return cls(**container.read(Path(path)))

    def save(self, path: Path | str, *, compact: bool = False) -> None:
        """Writes the model as one file. `compact` rounds logarithms to 256 steps and peaks to half precision.

        A rounded logarithm is off by at most 1/510 of the range of its order, about 0.02. Counts stay exact.
        """
        container.write(Path(path), self, compact=compact)

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return self.trie.order

    @property
    def has_counts(self) -> bool:
        """Whether counts are stored. A model from an ARPA file has none."""
        return self.node_counts.size > 0

    @functools.cached_property
    def is_lower(self) -> bool:
        """Whether all words are in lower case. The metadata say so; without metadata, as from ARPA, the words do."""
        if "case" in self.metadata:
            return bool(self.metadata["case"] == "lower")
        blob = self.vocabulary.blob
        return not bool(((blob >= ord("A")) & (blob <= ord("Z"))).any())

    @functools.cached_property
    def tokens(self) -> int:
        """Number of words and sentence ends in the training text."""
        words = self._counted()[: len(self.vocabulary)]
        return int(words.sum(dtype=np.uint64)) - int(words[START])

    def log_probabilities(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None = None
    ) -> NDArray[np.float32]:
        """log10 p(w|h) of each word and sentence end, from n-grams of up to `order` words."""
        return self._scored(ids, sentences, order, lengths=False)[0]

    def matched_lengths(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None = None
    ) -> NDArray[np.int8]:
        """The length of the longest known n-gram that ends at each word and sentence end; 1 for unknown words."""
        return self._scored(ids, sentences, order, lengths=True)[1]

    def relative_entropy(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Penalty S(h, w) = max_v PKL(h, v) - PKL(h, w) of each n-gram of `order` words, and whether h is known.

        PKL(h, w) = p(w|h) ln(p(w|h) / p(w|h')) from unsmoothed counts (formulas 4 and 5 of the paper), 0 where w never
        followed h. The n-grams are those of each sentence between one <s> and </s>; `ngram_places` says where they end.
        A history is known if the model has it with a successor and it contains no unknown word. An unknown last word
        counts as never seen. The penalty is 0 where h is unknown; the score of a text is the mean of the others.
        N-grams that were cut off or pruned count as never seen.
        """
        if not 2 <= order <= self.order:
            raise UsageError(f"Relative entropy has orders 2 to {self.order} in this model, not {order}.")
        counts = self._counted()
        ids, sentences = check_sentences(ids, sentences)
        ends = _predicted(ids, sentences)[ngram_places(sentences, order)]
        unknown_last = (ends <= UNKNOWN) | (ends >= len(self.vocabulary))
        found: tuple[NDArray[np.float32], NDArray[np.bool_]] = kernel.penalties(
            self._nodes(ids, sentences, order), self.trie.first, counts, float(self.tokens), self.peaks, unknown_last
        )
        return found

    def text_sums(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], texts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """For each text the sums of all that is measured of its words: the columns of `kernels.ngrams.scores`.

        Log probabilities, matched lengths and relative entropies of orders up to 4, by one walk through the trie.
        """
        ids, sentences = check_sentences(ids, sentences)
        worth = kernel.Scored(
            logs=read_only(self.logs),
            backoffs=read_only(self.backoffs),
            first=read_only(self.trie.first),
            counts=read_only(self.node_counts),
            peaks=read_only(self.peaks),
            inner=self.trie.inner,
            tokens=float(self.tokens if self.has_counts else 0),
        )
        found: NDArray[np.float64] = kernel.text_sums(
            ids, sentences, read_only(texts), min(4, self.order), self._index, worth
        )
        return found

    def counts(self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int) -> NDArray[np.uint32]:
        """How often each n-gram of exactly `order` words was seen: those of `relative_entropy`, or single words."""
        counts = self._counted()
        nodes = self._nodes(*check_sentences(ids, sentences), self._checked_order(order))[0]
        found = np.where(nodes >= 0, counts[nodes], 0)
        return np.minimum(found, np.iinfo(np.uint32).max).astype(np.uint32)

    def _scored(
        self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int | None, *, lengths: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.int8]]:
        order = self.order if order is None else self._checked_order(order)
        ids, sentences = check_sentences(ids, sentences)
        matched = np.empty(sentences[-1] - sentences[0] + sentences.size - 1 if lengths else 0, np.int8)
        return kernel.log_probabilities(ids, sentences, order, self._index, self.logs, self.backoffs, matched), matched

    def _nodes(self, ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
        found: NDArray[np.int64] = kernel.ngram_nodes(ids, sentences, order, self._index)
        return found

    @functools.cached_property
    def _index(self) -> Index:
        return self.trie.index()

    def _checked_order(self, order: int) -> int:
        if not 1 <= order <= self.order:
            raise UsageError(f"This model has orders 1 to {self.order}, not {order}.")
        return order

    def _counted(self) -> NDArray[np.uint32]:
        if not self.has_counts:
            raise UsageError("This model has no counts (it comes from an ARPA file): use a model trained from text.")
        return self.node_counts


def ngram_places(sentences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """For each n-gram of `order` words the place of its last word among the predicted words and sentence ends."""
    sizes = np.diff(sentences) + 1
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.flatnonzero(within >= order - 2)


def ngram_bounds(sentences: NDArray[np.int64], order: int) -> NDArray[np.int64]:
    """Offsets of the sentences in the n-grams of `order` words; for order 1, in the predicted words and ends."""
    return np.concatenate([[0], np.cumsum(np.maximum(np.diff(sentences) + 1 - max(0, order - 2), 0))])


def _predicted(ids: NDArray[np.int32], sentences: NDArray[np.int64]) -> NDArray[np.int32]:
    """The words, with </s> behind each sentence."""
    inside = ids[sentences[0] : sentences[-1]]
    return np.insert(inside, sentences[1:] - sentences[0], END)
