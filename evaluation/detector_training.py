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
from sklearn.ensemble import HistGradientBoostingClassifier

from evaluation.language_corpora import Corpus, Document, corpus_of, end_to_end, parted, tokens_of, written
from samehand.kernels.text.forest import Forests
from samehand.methods.language.detector import Curves, Detector, hats
from samehand.methods.language.features import FEATURES, Tables, measure_words, words_of
from samehand.methods.language.generators import SPAM_KEYWORDS, Generator, WordText, detokenize
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import tokenize

SIZES = {150: 90, 200: 120, 300: 90, 500: 120, 1000: 60, 2000: 40, 5000: 8}
"""Words of a text, and how many texts of each kind of fake have so many; there are five times as many natural ones."""
NATURAL_TIMES = 5
FAKE_KINDS = {
    "patchwork": ("pw5", "pw10"),
    "stuffing": ("ws10", "ws25", "ws50"),
    "chain": ("lm2", "lm3", "lm4"),
}
"""What the fakes have in common that one set of weights finds."""
_SMALL_SOURCE = 60_000
_LONG = 2000
"""Longer texts are judged by the bar of this length: there are too few of them for one of their own."""
_LISTS, _SEED = 12, 0


KNOTS = np.log(np.array(list(SIZES)))
NO_TREES = Forests(*(np.zeros(0, kind) for kind in ("i4", "i4", "u1", "f4", "i4", "f4")))
_TREES, _DEPTH, _RATE, _LEAF, _TRIED, _RIDGE = 80, 4, 0.1, 50, 0.3, 5.0
_TRUST = 0.45
"""Texts with a larger share of unknown words teach nothing: they get no answer."""
_PRIOR, _POOLED, _WORST = 0.1, 0.996, 0.991
"""Share of fakes that probabilities suppose; shares of natural texts to stay below one half: of all, of any genre."""
_LEAST_TEXTS = 40
"""Genres with fewer natural texts of a length set no bar for it."""
KIN = {"newswire": "news"}
"""Genres that are left out together, because one tells much about the other."""


class Samples(NamedTuple):
    """Measured texts: features, genre, kind ("natural" or a generator's) and words of each."""

    features: NDArray[np.float32]
    genres: NDArray[np.str_]
    kinds: NDArray[np.str_]
    sizes: NDArray[np.int64]


def samples_of(model: Model, tables: Tables, genres: Mapping[str, Sequence[Document]]) -> Samples:
    """Natural texts of genres and fakes made of them, measured."""
    rows, labels = [], []
    for genre, documents in genres.items():
        source, natural = parted(_pieces(documents), 2, seed=_SEED)
        for kind, size, texts in itertools.chain(_natural(natural, _SEED), _fakes(source, _SEED)):
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


def learn(model: Model, tables: Tables, samples: Samples) -> Detector:
    """A detector from natural texts and fakes of several genres, calibrated on genres left out in turn."""
    samples = trusted(samples)
    scale, shift = _calibrated(samples, left_out_votes(samples))
    curves = dataclasses.replace(_learned(samples), scale=scale, shift=shift)
    metadata = {"genres": np.unique(samples.genres).tolist(), "texts": int(samples.kinds.size), "prior": _PRIOR}
    return Detector(model, tables, curves, metadata)


def left_out_votes(samples: Samples) -> NDArray[np.float64]:
    """What detectors say of each text that learned nothing from its genre."""
    votes = np.zeros((samples.kinds.size, len(FAKE_KINDS)))
    for left_out in left_out_rows(samples):
        votes[left_out] = _learned(_only(samples, ~left_out)).votes(samples.features[left_out])[0]
    return votes


def left_out_probabilities(samples: Samples) -> NDArray[np.float64]:
    """The fake probability of each text by a detector that neither learned from its genre nor was calibrated on it."""
    votes = left_out_votes(samples)
    found = np.zeros(samples.kinds.size)
    for left_out in left_out_rows(samples):
        scale, shift = _calibrated(_only(samples, ~left_out), votes[~left_out])
        empty = np.zeros((0, 0))
        curves = Curves(KNOTS, empty, empty, scale, shift, NO_TREES)
        found[left_out] = curves.probabilities(samples.features[left_out], votes[left_out]).max(1)
    return found


def left_out_rows(samples: Samples) -> list[NDArray[np.bool_]]:
    """The texts of each genre, those of kin together."""
    kin = np.array([KIN.get(genre, genre) for genre in samples.genres.tolist()])
    return [kin == genre for genre in np.unique(kin)]


def trusted(samples: Samples) -> Samples:
    """The texts whose words the model knows well enough."""
    return _only(samples, samples.features[:, FEATURES.index("unknown_words")] < _TRUST)


def _only(samples: Samples, which: NDArray[np.bool_]) -> Samples:
    return Samples(*(column[which] for column in samples))


def _learned(samples: Samples) -> Curves:
    """What natural text shows at each length, and the trees that find each family of fakes; not yet calibrated."""
    weights = _even_weights(samples)
    natural = samples.kinds == "natural"
    means, spreads = _usual(samples.features[natural], weights[natural])
    empty = np.zeros((len(FAKE_KINDS), KNOTS.size))
    curves = Curves(KNOTS, means, spreads, empty, empty, NO_TREES)
    away = curves.deviations(samples.features)
    forests = []
    for kinds in FAKE_KINDS.values():
        fake = np.isin(samples.kinds, kinds)
        used = natural | fake
        share = np.where(fake, weights[natural].sum() / weights[fake].sum(), 1.0)
        forests.append(_forest(away[used], fake[used], (weights * share)[used]))
    return dataclasses.replace(curves, forests=_joined(forests))


def _forest(rows: NDArray[np.float32], is_fake: NDArray[np.bool_], weights: NDArray[np.float64]) -> Forests:
    """Gradient-boosted trees, shallow and with large leaves, so that they say the same of other genres."""
    trees = HistGradientBoostingClassifier(
        max_iter=_TREES,
        max_depth=_DEPTH,
        learning_rate=_RATE,
        min_samples_leaf=_LEAF,
        max_features=_TRIED,
        l2_regularization=_RIDGE,
        early_stopping=False,
        random_state=1,
    )
    trees.fit(rows, is_fake, sample_weight=weights)
    first = float(np.ravel(trees._baseline_prediction)[0])
    made = [_tree(stage[0].nodes, 0.0 if place else first) for place, stage in enumerate(trees._predictors)]
    return _joined([Forests(np.array([0, 1], np.int32), np.zeros(1, np.int32), *tree) for tree in made], together=True)


def _tree(nodes: NDArray[np.void], first: float) -> tuple[NDArray[np.generic], ...]:
    """The arrays of one tree, children side by side behind their parents. `first` is added to all it says."""
    order, left = [0], []
    for node in order:  # grows while it is read
        left.append(0 if nodes["is_leaf"][node] else len(order))
        if not nodes["is_leaf"][node]:
            order += [int(nodes["left"][node]), int(nodes["right"][node])]
    kept = nodes[order]
    return (
        np.where(kept["is_leaf"], 0, kept["feature_idx"]).astype(np.uint8),
        np.where(kept["is_leaf"], 0, kept["num_threshold"]).astype(np.float32),
        np.array(left, np.int32),
        (kept["value"] + first).astype(np.float32),
    )


def _joined(parts: Sequence[Forests], *, together: bool = False) -> Forests:
    """Forests one after the other, or their trees as one forest."""
    nodes = np.cumsum([0, *(part.left.size for part in parts)])
    trees = np.cumsum([0, *(part.roots.size for part in parts)]).astype(np.int32)
    left = [np.where(part.left > 0, part.left + first, 0) for part, first in zip(parts, nodes[:-1], strict=True)]
    return Forests(
        trees[[0, -1]] if together else trees,
        np.concatenate([part.roots + first for part, first in zip(parts, nodes[:-1], strict=True)]).astype(np.int32),
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.thresholds for part in parts]),
        np.concatenate(left).astype(np.int32),
        np.concatenate([part.values for part in parts]),
    )


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
    """Scale and shift that make votes odds, at each knot. One half is the bar that few natural texts pass."""
    natural = samples.kinds == "natural"
    together = list(SIZES).index(_LONG)
    nearest = np.minimum(np.abs(samples.features[:, :1] - KNOTS[None]).argmin(1), together)
    scale, shift = np.zeros((2, len(FAKE_KINDS), KNOTS.size))
    for knot in range(together + 1):
        bars = _bars(votes, [natural & (nearest == knot) & (samples.genres == g) for g in np.unique(samples.genres)])
        for family, kinds in enumerate(FAKE_KINDS.values()):
            fake = np.isin(samples.kinds, kinds)
            here = (natural | fake) & (nearest == knot)
            weights = np.where(fake, _PRIOR / (fake & here).sum(), (1 - _PRIOR) / (natural & here).sum())[here]
            columns = np.stack([votes[here, family], np.ones(here.sum())], axis=1)
            scale[family, knot] = _logistic(columns, fake[here], 1000 * weights, 1.0)[0]
            shift[family, knot] = -bars[family] * scale[family, knot]
    scale[:, together:], shift[:, together:] = scale[:, [together]], shift[:, [together]]
    return scale, shift


def _bars(votes: NDArray[np.float64], genres: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """For each family the votes that count as fake: only the allowed share of natural texts reaches any of them.

    The votes of a family are measured by the tail of the worst genre, so that families can be compared.
    """
    genres = [genre for genre in genres if genre.sum() >= _LEAST_TEXTS]
    tails = np.array([np.quantile(votes[genre], (0.9, 0.99), axis=0) for genre in genres]).max(0)
    worst = [((votes[genre] - tails[1]) / (tails[1] - tails[0])).max(1) for genre in genres]
    most = max(map(len, worst))
    evenly = np.concatenate([np.resize(np.sort(genre), most) for genre in worst])
    passed = max(float(np.quantile(evenly, _POOLED)), *(float(np.quantile(genre, _WORST)) for genre in worst))
    return np.asarray(tails[1] + passed * (tails[1] - tails[0]))
