"""What the replica evaluation measures with: recall against the cosine, and pairs that are found.

Recall is the paper's (section 6.4): of the documents with a cosine of 0.9 and more to a query, the share that is found,
averaged over the queries that have any. Every document is a query. Documents with equal sets of words are one.
"""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix  # type: ignore[import-untyped]
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

from samehand.base.buffers import column_buffers
from samehand.methods.replica.groups import Replicas
from samehand.methods.replica.lexicon import Lexicon, WordCounts
from samehand.methods.replica.signatures import Signed, Signer

BENCHMARK, CHECK = 0.9, 0.8
"""The cosine that makes near duplicates by the paper, and the one that samehand asks for."""

CAMPAIGN_COSINE = 0.7
Pairs = set[tuple[int, int]]
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A collection without trivial duplicates, and its pairs with a cosine of 0.9 and more, both ways."""

    name: str
    texts: list[bytes]
    pairs: NDArray[np.int64]
    campaigns: NDArray[np.int64]
    """The size of each document's campaign: the documents that hang together at CAMPAIGN_COSINE."""

    @property
    def queries(self) -> int:
        """Documents that have a neighbour."""
        return int(np.unique(self.pairs[:, 0]).size)

    def recall_of(self, pairs: set[tuple[int, int]]) -> float:
        """Recall of a set of pairs, smaller row first."""
        found = [(min(left, right), max(left, right)) in pairs for left, right in self.pairs.tolist()]
        return self._mean(np.array(found), None)

    def recall(self, signed: Signed, lexicons: int, *, chosen: NDArray[np.bool_] | None = None) -> float:
        """Recall with the original lexicon and `lexicons` randomised ones, over the chosen queries."""
        left, right = (signed.signatures[self.pairs[:, side], : lexicons + 1] for side in (0, 1))
        found = ((left == right) & (left != 0)).any(axis=1)
        return self._mean(found, chosen)

    def _mean(self, found: NDArray[np.bool_], chosen: NDArray[np.bool_] | None) -> float:
        neighbours = np.bincount(self.pairs[:, 0], minlength=len(self.texts))
        hits = np.bincount(self.pairs[:, 0], weights=found, minlength=len(self.texts))
        queries = neighbours > 0 if chosen is None else (neighbours > 0) & chosen
        return float((hits[queries] / neighbours[queries]).mean())


def arrow(texts: Sequence[bytes]) -> pa.LargeBinaryArray:
    """Texts as the stages take them."""
    return pa.array(texts, pa.large_binary())


def learn(name: str, texts: Sequence[bytes], nidf: tuple[float, float]) -> Lexicon:
    """A lexicon of the texts."""
    counts = WordCounts()
    counts.add(arrow(texts))
    return counts.lexicon(name, low=nidf[0], high=nidf[1])


def sign(lexicon: Lexicon, texts: Sequence[bytes], **settings: Any) -> Signed:
    """Signatures of the texts."""
    return Signer(lexicon, **settings).sign(*column_buffers(arrow(texts)))


def benchmark(name: str, texts: Sequence[bytes], any_lexicon: Lexicon) -> Benchmark:
    """Removes trivial duplicates and documents of few words (section 6.3), and finds the neighbours of all others."""
    digests = sign(any_lexicon, texts, lexicons=0).digests
    usable = np.flatnonzero(digests)
    kept = [texts[row] for row in np.sort(usable[np.unique(digests[usable], return_index=True)[1]])]
    sets = sign(any_lexicon, kept, lexicons=0).sets
    _, columns = np.unique(sets.words, return_inverse=True)
    matrix = csr_matrix((np.ones(columns.size, np.float32), columns, sets.starts))
    scaled = matrix.multiply(1 / np.sqrt(np.diff(sets.starts))[:, np.newaxis]).tocsr()
    found = [_above(scaled[start : start + 500] @ scaled.T, start) for start in range(0, len(kept), 500)]
    pairs = np.concatenate(found)
    loose = pairs[pairs[:, 2] >= CAMPAIGN_COSINE, :2].astype(np.int64)
    graph = coo_matrix((np.ones(len(loose)), (loose[:, 0], loose[:, 1])), shape=(len(kept), len(kept)))
    labels = connected_components(graph)[1]
    near = pairs[pairs[:, 2] >= BENCHMARK - 1e-6, :2].astype(np.int64)
    return Benchmark(name, kept, near, np.bincount(labels)[labels])


def _above(cosines: csr_matrix, first_row: int) -> NDArray[np.float64]:
    found = cosines.tocoo()
    rows = found.row + first_row
    kept = (found.data >= CAMPAIGN_COSINE) & (rows != found.col)
    return np.stack([rows[kept], found.col[kept], found.data[kept]], 1)


def agreeing(stream: Signed, known: Signed) -> tuple[int, int]:
    """Documents of the stream that agree with a known one on any signature; those of them with a cosine of CHECK."""
    bare, near = set(), set()
    words = [known.sets.words[a:b] for a, b in itertools.pairwise(known.sets.starts)]
    for column in range(known.signatures.shape[1]):
        places: dict[int, list[int]] = {}
        for place in np.flatnonzero(known.signatures[:, column]).tolist():
            places.setdefault(int(known.signatures[place, column]), []).append(place)
        for row, signature in enumerate(stream.signatures[:, column].tolist()):
            for other in places.get(signature, ()):
                own = stream.sets.words[stream.sets.starts[row] : stream.sets.starts[row + 1]]
                shared = np.intersect1d(own, words[other]).size
                bare.add(row)
                near |= {row} if shared / math.sqrt(own.size * words[other].size) >= CHECK else set()
    return len(bare), len(near)


def checked_pairs(signed: Signed) -> set[tuple[int, int]]:
    """All pairs that agree on a signature and reach the cosine."""
    pairs = set()
    for column in signed.signatures.T:
        signed_rows = np.flatnonzero(column)
        order = signed_rows[np.argsort(column[signed_rows], kind="stable")]
        for bucket in np.split(order, np.flatnonzero(column[order][1:] != column[order][:-1]) + 1):
            pairs |= set(itertools.combinations(bucket.tolist(), 2))
    found = np.array(sorted(pairs)).reshape(-1, 2)
    near = signed.sets.similarities(found[:, 0].copy(), found[:, 1].copy()) >= CHECK
    return {(int(a), int(b)) for a, b in found[near]}


def grouped_pairs(found: Replicas) -> Pairs:
    """Pairs of documents in one group."""
    groups = defaultdict(list)
    for row in found.members.select(["page_id", "replica_group_id"]).to_pylist():
        groups[row["replica_group_id"]].append(row["page_id"])
    return _inner_pairs(groups.values())


def sharing_pairs(found: Replicas) -> Pairs:
    """Pairs of documents in one group, or told to share text with the same document or with each other."""
    group = {row["page_id"]: row["replica_group_id"] for row in found.members.to_pylist()}
    stars = defaultdict(set)
    for row in found.shares.to_pylist():
        stars[row["with_page_id"]] |= {row["page_id"], row["with_page_id"]}
    for centre, star in stars.items():
        star |= {page for page, own in group.items() if own == group.get(centre)}
    return grouped_pairs(found) | _inner_pairs(stars.values())


def _inner_pairs(groups: Iterable[Iterable[int]]) -> Pairs:
    return {pair for group in groups for pair in itertools.combinations(sorted(group), 2)}


def word_grams(text: bytes, size: int) -> set[tuple[str, ...]]:
    """The runs of so many words of a text."""
    words = _WORD.findall(text.decode("utf-8", "replace").lower())
    return {tuple(words[place : place + size]) for place in range(len(words) - size + 1)}


def gram_jaccard(left: bytes, right: bytes) -> float:
    """Jaccard similarity of the word 5-grams: a measure that decides nothing in samehand."""
    one, other = word_grams(left, 5), word_grams(right, 5)
    return len(one & other) / max(1, len(one | other))


def gram_containment(left: bytes, right: bytes) -> float:
    """Share of the word 4-grams of the shorter text that the longer one has."""
    one, other = word_grams(left, 4), word_grams(right, 4)
    return len(one & other) / max(1, min(len(one), len(other)))
