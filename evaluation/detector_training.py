"""How the detector learns: natural text of several genres, fakes made from other text of the same genres.

Texts of every length, written in several ways (blanks before marks, lines, capitals): none of that may tell a fake.
Fakes come from large and from small sources, and are stuffed with the usual keywords or with any words at all.
"""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.language_corpora import Corpus, Document, corpus_of, end_to_end, parted, tokens_of, written
from samehand.methods.language.detector import Curves, Detector, hats, relative_length
from samehand.methods.language.features import FEATURES, Tables, measure_words, words_of
from samehand.methods.language.generators import SPAM_KEYWORDS, Generator, WordText, detokenize
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import tokenize

SIZES = {150: 160, 300: 140, 500: 140, 1000: 70, 2000: 45, 5000: 16, 10000: 8}
"""Words of a text, and how many texts of each kind of fake have so many; there are six times as many natural ones."""
NATURAL_TIMES = 6
FAKE_KINDS = {
    "patchwork": ("pw5", "pw10"),
    "stuffing": ("ws10", "ws25", "ws50"),
    "chain": ("lm2", "lm3", "lm4"),
}
"""What the fakes have in common that one set of weights finds."""
_SMALL_SOURCE = 60_000
_LONG, _GROWTH = 2000, (0.9, 0.0, 0.9)
"""Longer texts are judged by the bar of this length, raised by so much with the logarithm of their length: what is said
of patchworks and chains grows with it."""
_LISTS = 12


KNOTS = np.log(np.array(list(SIZES)))
_RIDGE = 50.0
_TRUST = 0.45
"""Texts with a larger share of unknown words teach nothing: they get no answer."""
_PRIOR, _POOLED, _WORST = 0.1, 0.996, 0.985
"""Share of fakes that probabilities suppose; shares of natural texts to stay below one half: of all, of any genre.

With 0.99 for any genre, novels of 500 words fall from 1.2 % taken for fake to 0.8 %, but far fewer fakes of 500 words
are found (chains of order 4 from newswire: F 0.41 instead of 0.56).
"""


class Samples(NamedTuple):
    """Measured texts: features, genre, kind ("natural" or a generator's) and words of each."""

    features: NDArray[np.float32]
    genres: NDArray[np.str_]
    kinds: NDArray[np.str_]
    sizes: NDArray[np.int64]


def samples_of(model: Model, tables: Tables, genres: Mapping[str, Sequence[Document]]) -> Samples:
    """Natural texts of genres and fakes made of them, measured."""
    rows, labels = [], []
    for number, (genre, documents) in enumerate(genres.items()):
        source, natural = parted(_pieces(documents), 2, seed=number)
        for kind, size, texts in itertools.chain(_natural(natural, number), _fakes(source, number)):
            rows.append(measure_words(words_of(tokenize(*end_to_end(texts)), model), model, tables))
            labels += [(genre, kind, size)] * len(texts)
    columns = [np.array(column) for column in zip(*labels, strict=True)]
    return Samples(np.concatenate(rows), *columns)


def _pieces(documents: Sequence[Document]) -> list[Document]:
    """Documents of one owner as documents of several, or a genre of few owners could not be parted evenly."""
    owners = {document.owner for document in documents}
    if len(owners) >= 8:
        return list(documents)
    return [Document(f"{document.owner} {place // 50}", document.text) for place, document in enumerate(documents)]


def _natural(documents: Sequence[Document], seed: int) -> Iterator[tuple[str, int, list[bytes]]]:
    """Passages cut out of documents, and whole documents."""
    tokens = tokens_of(documents)
    corpus = corpus_of(tokens)
    random = np.random.Generator(np.random.PCG64(seed))
    bounds = tokens.sentences[tokens.texts]
    for size, number in SIZES.items():
        inside = [np.arange(first, last - size + 1, size) for first, last in itertools.pairwise(bounds.tolist())]
        begins = random.permutation(np.concatenate(inside))[: number * NATURAL_TIMES]
        yield "natural", size, [written_somehow(corpus, begin, begin + size, random) for begin in begins.tolist()]
    whole = [document.text for document in documents if 800 <= len(document.text) <= 60_000]
    if whole:
        yield "natural", 0, [whole[place] for place in random.permutation(len(whole))[:400].tolist()]


def _fakes(documents: Sequence[Document], seed: int) -> Iterator[tuple[str, int, list[bytes]]]:
    corpus = with_words(corpus_of(tokens_of(documents)), SPAM_KEYWORDS)
    small = Corpus(_first(corpus.text, _SMALL_SOURCE), corpus.words)
    random = np.random.Generator(np.random.PCG64(100 + seed))
    for kind in itertools.chain(*FAKE_KINDS.values()):
        for share, source in ((0.7, corpus), (0.3, small)):
            if kind == "lm4" and source is small:
                continue  # of a small source this is whole passages: plagiarism, which other signals find
            generators = _generators(source, kind, random)
            for size, number in SIZES.items():
                texts = []
                for place in range(max(1, round(number * share))):
                    text = generators[place % len(generators)](size, int(random.integers(1 << 40)))
                    texts.append(written_somehow(Corpus(text, source.words), 0, size, random))
                yield kind, size, texts


def _generators(source: Corpus, kind: str, random: np.random.Generator) -> list[Callable[[int, int], WordText]]:
    lists = keyword_lists(source, kind, random)
    return [Generator(kind, source.text, keywords=keywords).generate for keywords in lists]


def _first(text: WordText, most: int) -> WordText:
    bounds = text.sentences[text.sentences <= most]
    return WordText(text.ids[: bounds[-1]], bounds)


def with_words(corpus: Corpus, words: Sequence[str]) -> Corpus:
    """A corpus whose vocabulary has these words at its end too."""
    return Corpus(corpus.text, [*corpus.words, *words])


def keyword_lists(corpus: Corpus, kind: str, random: np.random.Generator) -> Sequence[NDArray[np.int32] | None]:
    """What to stuff with: the usual keywords, some of them, or long words of the text itself."""
    if not kind.startswith("ws"):
        return [None]
    spam = np.arange(len(corpus.words) - len(SPAM_KEYWORDS), len(corpus.words), dtype=np.int32)
    own = np.array(
        [i for i, word in enumerate(corpus.words[: -spam.size]) if len(word) > 4 and word.isalpha()], np.int32
    )
    lists: list[NDArray[np.int32] | None] = []
    for place in range(_LISTS):
        length = int(random.choice([10, 20, 40, 100]))
        pool = spam if place % 3 else own
        lists.append(random.choice(pool, min(length, pool.size), replace=False).astype(np.int32))
    return lists


def with_strange_words(corpus: Corpus, first: int, last: int, random: np.random.Generator) -> Corpus:
    """Every other text has words no model knows, as a genre has that was never seen: some of its words, renamed."""
    share = random.random() * 0.7 - 0.35
    if share <= 0:
        return corpus
    start = int(random.integers(1 << 16))
    words = dict.fromkeys(corpus.text.ids[first:last].tolist(), "")
    for number in words:
        word = corpus.words[number]
        is_renamed = len(word) > 3 and (number + start) * 2654435761 % (1 << 16) < share * (1 << 16)
        words[number] = "zx" + word if is_renamed else word
    return Corpus(corpus.text, words)


def written_somehow(corpus: Corpus, first: int, last: int, random: np.random.Generator) -> bytes:
    """A passage as somebody may write it: tokens or running text, sentences as lines or not, capitals or not."""
    corpus = with_strange_words(corpus, first, last, random)
    joins: tuple[Callable[[list[str]], str], ...] = (" ".join, detokenize)
    text = written(corpus, first, last, joins[int(random.random() < 0.7)])
    if random.random() < 0.7:
        text = text.replace("\n", " ")
    return (text.lower() if random.random() < 0.15 else text).encode()


def learn(model: Model, tables: Tables, genres: Mapping[str, Sequence[Document]]) -> Detector:
    """A detector from natural text of genres and the fakes made of it, calibrated on genres left out in turn."""
    samples = samples_of(model, tables, genres)
    trusted = samples.features[:, FEATURES.index("unknown_words")] < _TRUST
    samples = _only(samples, trusted)
    curves = _weighed(samples)
    votes = np.zeros((samples.kinds.size, len(FAKE_KINDS)))
    for genre in genres:
        left_out = samples.genres == genre
        others = _weighed(_only(samples, ~left_out))
        votes[left_out] = others.votes(samples.features[left_out], others.parts(samples.features[left_out]))
    scale, shift = _calibrated(samples, votes)
    metadata = {"genres": list(genres), "texts": int(samples.kinds.size), "prior": _PRIOR}
    return Detector(model, tables, dataclasses.replace(curves, scale=scale, shift=shift), metadata)


def _only(samples: Samples, which: NDArray[np.bool_]) -> Samples:
    return Samples(*(column[which] for column in samples))


def _weighed(samples: Samples) -> Curves:
    """What natural text shows at each length, and the weights of each family's features; not yet calibrated."""
    weights = _even_weights(samples)
    natural = samples.kinds == "natural"
    means, spreads = _usual(samples.features[natural], weights[natural])
    number = 2 + 2 * (len(FEATURES) - 1)
    empty = np.zeros((len(FAKE_KINDS), KNOTS.size))
    curves = Curves(KNOTS, means, spreads, np.zeros((len(FAKE_KINDS), number)), empty, empty)
    away = curves.deviations(samples.features)
    long = relative_length(samples.features[:, 0])[:, None]
    columns = np.concatenate([np.ones((long.size, 1)), long, away, away * long], axis=1)
    rows = []
    for kinds in FAKE_KINDS.values():
        fake = np.isin(samples.kinds, kinds)
        used = natural | fake
        share = np.where(fake, weights[natural].sum() / weights[fake].sum(), 1.0)
        rows.append(_logistic(columns[used], fake[used], (weights * share)[used], _RIDGE))
    return dataclasses.replace(curves, coefficients=np.array(rows))


def _even_weights(samples: Samples) -> NDArray[np.float64]:
    """Every genre, kind and size weighs the same, and all fakes as much as all natural text; 1 on average."""
    labels = list(zip(samples.genres.tolist(), samples.kinds.tolist(), samples.sizes.tolist(), strict=True))
    numbers = Counter(labels)
    kinds = sum(len(family) for family in FAKE_KINDS.values())
    weights = np.array([1 / numbers[label] / (1 if label[1] == "natural" else kinds) for label in labels])
    return weights / weights.mean()


def _usual(features: NDArray[np.float32], weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Mean and spread of each feature at each knot, by least squares."""
    at = hats(features[:, 0], KNOTS)
    matrix = (at * weights[:, None]).T @ at + 1e-3 * np.eye(KNOTS.size)
    means = np.linalg.solve(matrix, (at * weights[:, None]).T @ features)
    spreads = np.linalg.solve(matrix, (at * weights[:, None]).T @ np.abs(features - at @ means))
    return means, np.maximum(1.25 * spreads, 1e-3)  # a normal deviate is 1/1.25 spreads from its mean on average


def _logistic(
    columns: NDArray[np.float64], is_fake: NDArray[np.bool_], weights: NDArray[np.float64], ridge: float
) -> NDArray[np.float64]:
    """Weights of columns by logistic regression (Newton's method)."""
    found = np.zeros(columns.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-np.clip(columns @ found, -30, 30)))
        slope = columns.T @ (weights * (chance - is_fake)) + ridge * found
        bend = (columns * (weights * chance * (1 - chance))[:, None]).T @ columns + ridge * np.eye(found.size)
        step = np.linalg.solve(bend, slope)
        found = found - step
        if np.abs(step).max() < 1e-6:
            break
    return found


def _calibrated(samples: Samples, votes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scale and shift that make votes odds, at each knot: fitted, then moved until few enough natural texts pass."""
    natural = samples.kinds == "natural"
    together = list(SIZES).index(_LONG)  # of longer texts there are too few to calibrate by
    nearest = np.abs(samples.features[:, :1] - KNOTS[None]).argmin(1)
    scale, shift = np.zeros((2, len(FAKE_KINDS), KNOTS.size))
    for family, kinds in enumerate(FAKE_KINDS.values()):
        fake = np.isin(samples.kinds, kinds)
        for knot in range(together + 1):
            here = (natural | fake) & (nearest == knot)
            weights = np.where(fake, _PRIOR / (fake & here).sum(), (1 - _PRIOR) / (natural & here).sum())[here]
            columns = np.stack([votes[here, family], np.ones(here.sum())], axis=1)
            scale[family, knot], shift[family, knot] = _logistic(columns, fake[here], 1000 * weights, 1.0)
            bar = _bar(samples, votes[:, family], natural & (nearest == knot))
            shift[family, knot] = min(shift[family, knot], -bar * scale[family, knot])
        scale[family, together:] = scale[family, together]
        higher = _GROWTH[family] * (KNOTS[together:] - KNOTS[together])
        shift[family, together:] = shift[family, together] - scale[family, together] * higher
    return scale, shift


def _bar(samples: Samples, votes: NDArray[np.float64], which: NDArray[np.bool_]) -> float:
    """The votes that only the allowed share of natural texts reach."""
    genres = [votes[which & (samples.genres == genre)] for genre in np.unique(samples.genres)]
    most = max(len(genre) for genre in genres)
    evenly = np.concatenate([np.resize(np.sort(genre), most) for genre in genres if genre.size])
    return max(float(np.quantile(evenly, _POOLED)), *(float(np.quantile(g, _WORST)) for g in genres if g.size))
