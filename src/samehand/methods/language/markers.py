"""Markers: n-grams that are typical of one source and absent from a reference (section 2.2 of the paper).

The paper takes the 2-grams, 3-grams and 4-grams that occur at least twice in the source and never in the reference. We
also require several texts, so that no single page makes markers, and can allow a much lower rate in the reference.
Markers are ranked by Dunning's log-likelihood ratio: how sure is it that source and reference differ? An n-gram that
occurs nearly always within a longer marker is left out. Markers that overlap (`a b c d`, `b c d e`) and occur nearly
equally often become one: a repeated phrase is one marker.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import SettingsError, UsageError
from samehand.kernels.ngrams.tries import UNKNOWN

LEAST_COUNT = 2
_NEARLY = 0.8
"""A longer n-gram stands for a shorter one if it has at least this share of its count."""
_SPARE = 50
"""Candidates kept for each marker wanted, by score, before overlapping ones become one."""

CountsOf = Callable[[NDArray[np.int32]], NDArray[np.int64]]
"""The counts of n-grams, the rows of an array, in a reference."""


@dataclasses.dataclass(frozen=True, slots=True)
class MarkerRule:
    """What makes a marker. `rarer` is the largest ratio of its rate in the reference to its rate in the source."""

    orders: tuple[int, ...] = (2, 3, 4)
    least_texts: int = 2
    rarer: float = 0.0
    most: int = 100

    def __post_init__(self) -> None:
        if not self.orders or min(self.orders) < 1 or max(self.orders) > 5:
            raise SettingsError(f"The orders of markers are {self.orders}: choose from 1 to 5.")
        if self.least_texts < 1 or self.most < 1:
            raise SettingsError("A marker needs at least one text, and at least one marker must be wanted.")
        if not 0 <= self.rarer < 1:
            raise SettingsError(f"The largest ratio of rates (rarer) is {self.rarer}: choose 0 or more, below 1.")


@dataclasses.dataclass(frozen=True, slots=True)
class Marker:
    """An n-gram with its counts in source and reference, the log-likelihood ratio, and the number of its texts.

    A marker joined from several has their smallest count, score and texts, and their largest reference_count.
    """

    ngram: tuple[int, ...]
    count: int
    reference_count: int
    score: float
    texts: int


@dataclasses.dataclass(frozen=True, slots=True)
class Markers:
    """The markers, best first. `absent` has the share of repeated n-grams that the reference lacks, by order."""

    found: list[Marker]
    absent: dict[int, float]


def find_markers(
    ids: NDArray[np.int32],
    sentences: NDArray[np.int64],
    texts: NDArray[np.int64],
    *,
    counts_of: CountsOf,
    reference_words: int,
    rule: MarkerRule | None = None,
) -> Markers:
    """The markers of a source: sentence i is ids[sentences[i]:sentences[i+1]], text i sentences texts[i]:texts[i+1]."""
    rule = rule or MarkerRule()
    if sentences[-1] != ids.size or texts[-1] != sentences.size - 1 or reference_words < 1:
        raise UsageError(
            "The bounds of sentences and texts do not fit the words, or the reference is empty: pass matching ones."
        )
    absent: dict[int, float] = {}
    candidates: list[Marker] = []
    for order in sorted(rule.orders):
        ngrams, counts, spread = count_ngrams(ids, sentences, texts, order)
        often = counts >= LEAST_COUNT
        ngrams, counts, spread = ngrams[often], counts[often], spread[often]
        reference = np.asarray(counts_of(ngrams), np.int64) if len(ngrams) else np.zeros(0, np.int64)
        absent[order] = float(np.mean(reference == 0)) if len(ngrams) else 0.0
        rates = counts / ids.size
        kept = (spread >= rule.least_texts) & (reference / reference_words <= rule.rarer * rates)
        scores = log_likelihood(counts, reference, ids.size, reference_words)
        best = np.flatnonzero(kept)
        best = best[np.lexsort((best, -scores[best]))][: _SPARE * rule.most]
        columns = (ngrams[best], counts[best], reference[best], scores[best], spread[best])
        rows = zip(*(column.tolist() for column in columns), strict=True)
        candidates += [Marker(tuple(ngram), *rest) for ngram, *rest in rows]
    return Markers(sorted(_collapsed(candidates), key=_rank)[: rule.most], absent)


def _rank(marker: Marker) -> tuple[float, int, tuple[int, ...]]:
    return -marker.score, -marker.texts, marker.ngram


def count_ngrams(
    ids: NDArray[np.int32], sentences: NDArray[np.int64], texts: NDArray[np.int64], order: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """The n-grams within sentences, sorted, without unknown words: their words, counts, and numbers of texts."""
    sizes = np.diff(sentences)
    left = np.repeat(sentences[1:], sizes) - np.arange(ids.size)
    known = np.concatenate([[0], np.cumsum(ids != UNKNOWN)])
    starts = np.flatnonzero(left >= order)
    starts = starts[known[starts + order] - known[starts] == order]
    text_of = np.repeat(np.repeat(np.arange(texts.size - 1), np.diff(texts)), sizes)[starts]
    columns = [ids[starts + step] for step in range(order)]
    rank = np.lexsort((text_of, *reversed(columns)))
    ngrams = np.stack(columns, axis=1)[rank]
    is_new = np.ones(starts.size, np.bool_)
    is_new[1:] = (ngrams[1:] != ngrams[:-1]).any(axis=1)
    firsts = np.flatnonzero(is_new)
    text_of = text_of[rank]
    is_new_text = is_new.copy()
    is_new_text[1:] |= text_of[1:] != text_of[:-1]
    counts = np.diff(np.append(firsts, starts.size))
    spread = np.add.reduceat(is_new_text.astype(np.int64), firsts) if firsts.size else np.zeros(0, np.int64)
    return ngrams[firsts].astype(np.int32), counts.astype(np.int64), spread


def log_likelihood(
    counts: NDArray[np.int64], reference: NDArray[np.int64], words: int, reference_words: int
) -> NDArray[np.float64]:
    """Dunning's ratio for counts in source and reference, negative if the rate in the reference is higher."""
    both = counts + reference
    expected, other = both * (words / (words + reference_words)), both * (reference_words / (words + reference_words))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
        ratio += np.where(reference > 0, reference * np.log(reference / other), 0.0)
    result: NDArray[np.float64] = 2 * ratio * np.where(counts * reference_words >= reference * words, 1, -1)
    return result


def _collapsed(markers: Sequence[Marker]) -> list[Marker]:
    """Markers without those that a longer one stands for, and with overlapping ones joined."""
    by_ngram = {marker.ngram: marker for marker in markers}
    covered = {
        part
        for marker in markers
        for size in range(1, len(marker.ngram))
        for start in range(len(marker.ngram) - size + 1)
        if (part := marker.ngram[start : start + size]) in by_ngram and marker.count >= _NEARLY * by_ngram[part].count
    }
    left = [marker for marker in markers if marker.ngram not in covered]
    joined: list[Marker] = []
    for size in sorted({len(marker.ngram) for marker in left}):
        joined += _joined([marker for marker in left if len(marker.ngram) == size])
    return joined


def _joined(markers: Sequence[Marker]) -> list[Marker]:
    """Markers of one length. Two become one if each is the only one that the other overlaps on that side."""
    if len(markers[0].ngram) == 1:
        return list(markers)
    behind: dict[tuple[int, ...], list[Marker]] = {}
    before: dict[tuple[int, ...], list[Marker]] = {}
    for marker in markers:
        behind.setdefault(marker.ngram[:-1], []).append(marker)
        before.setdefault(marker.ngram[1:], []).append(marker)
    following: dict[tuple[int, ...], Marker] = {}
    for marker in markers:
        others = behind.get(marker.ngram[1:], [])
        if len(others) == 1 and len(before[marker.ngram[1:]]) == 1 and _are_near(marker, others[0]):
            following[marker.ngram] = others[0]
    entered = {marker.ngram for marker in following.values()}
    # Markers that follow each other in a ring have no first one: they stay as they are.
    chains = [_chain(marker, following) for marker in markers if marker.ngram not in entered]
    used = {marker.ngram for chain in chains for marker in chain}
    return [_one_of(chain) for chain in chains] + [marker for marker in markers if marker.ngram not in used]


def _are_near(left: Marker, right: Marker) -> bool:
    return left.ngram != right.ngram and min(left.count, right.count) >= _NEARLY * max(left.count, right.count)


def _chain(marker: Marker, following: dict[tuple[int, ...], Marker]) -> list[Marker]:
    chain = [marker]
    while chain[-1].ngram in following:
        chain.append(following[chain[-1].ngram])
    return chain


def _one_of(chain: Sequence[Marker]) -> Marker:
    ngram = chain[0].ngram + tuple(marker.ngram[-1] for marker in chain[1:])
    return Marker(
        ngram,
        min(marker.count for marker in chain),
        max(marker.reference_count for marker in chain),
        min(marker.score for marker in chain),
        min(marker.texts for marker in chain),
    )
