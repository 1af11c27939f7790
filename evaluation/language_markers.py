"""Markers of a source (section 2.2 of the paper): how many of its repeated n-grams another collection does not have.

The paper's source is the English Wikipedia, and its collection a trillion words of the web. Ours are newswire, and the
debates and novels at hand: twenty million words. So shares are larger here, and the order of the shares is what can be
compared.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation import language_corpora as corpora
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.text.word_shapes import word_shapes
from samehand.methods.language.features import lowered
from samehand.methods.language.markers import MarkerRule, find_markers
from samehand.methods.language.tokens import Tokens

PAPER = {2: 0.26, 3: 0.29, 4: 0.44}
_FIRST_ID = 3
_SHOWN = 8


def report(data: Path) -> None:
    """Prints the shares by order, and the best markers."""
    source = corpora.tokens_of(corpora.newswire(data))
    other = corpora.tokens_of([*corpora.parliament(data), *corpora.novels(data)])
    ids, reference, words = _numbered(source, other)
    kept = {order: _known(reference, other.sentences, order) for order in PAPER}
    found = find_markers(
        ids,
        source.sentences,
        source.texts,
        counts_of=lambda ngrams: _counts(ngrams, *kept[ngrams.shape[1]]),
        reference_words=reference.size,
        rule=MarkerRule(orders=tuple(PAPER), most=_SHOWN),
    )
    print(
        "\nmarkers: share of repeated n-grams of newswire that debates and novels lack (paper: Wikipedia and the web)"
    )
    for order, printed in PAPER.items():
        print(f"  {order}-grams  {found.absent[order]:.2f} ({printed:.2f})")
    print("  best: " + "; ".join(" ".join(words[word] for word in marker.ngram) for marker in found.found), flush=True)


def _numbered(source: Tokens, other: Tokens) -> tuple[NDArray[np.int32], NDArray[np.int32], dict[int, str]]:
    """The words of two collections by the same numbers, and the words of the numbers of the first."""
    hashes = [word_shapes(lowered(tokens.data), tokens.starts, tokens.ends)[0] for tokens in (source, other)]
    numbers = np.unique(np.concatenate(hashes), return_inverse=True)[1].astype(np.int32) + _FIRST_ID
    ids, reference = np.split(numbers, [source.starts.size])
    whole = lowered(source.data).tobytes()
    places = np.unique(ids, return_index=True)
    spans = zip(places[0].tolist(), source.starts[places[1]].tolist(), source.ends[places[1]].tolist(), strict=True)
    return ids, reference, {number: whole[a:b].decode("utf-8", "replace") for number, a, b in spans}


def _keys(columns: Iterable[NDArray[np.int32]]) -> NDArray[np.uint64]:
    """A number of 64 bits for each n-gram, from the words at its places."""
    keys = np.zeros(1, np.uint64)
    for words in columns:
        keys = (keys ^ words.astype(np.uint64)) * GOLDEN
        keys ^= keys >> np.uint64(31)
    return keys


def _known(ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """The n-grams of a collection, sorted by their keys, and their counts."""
    left = np.repeat(sentences[1:], np.diff(sentences)) - np.arange(ids.size)
    starts = np.flatnonzero(left >= order)
    return np.unique(_keys(ids[starts + step] for step in range(order)), return_counts=True)


def _counts(ngrams: NDArray[np.int32], known: NDArray[np.uint64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often the collection has each n-gram."""
    keys = _keys(ngrams.T)
    places = np.minimum(np.searchsorted(known, keys), known.size - 1)
    return np.where(known[places] == keys, counts[places], 0)
