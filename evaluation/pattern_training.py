"""How patterns of word classes get their weights: natural windows of 150 words against windows of each kind of fake.

Logistic regression on the counts of hashed patterns, by stochastic gradient descent (AdaGrad). Half of the documents of
each genre are natural text, the other half is what generators have; then the halves change places. The weights of a
kind are learned from natural text and that kind alone. Every window is seen once: a second pass would learn them by
heart.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from evaluation.language_corpora import Document, parted, pieces, tokens_of
from samehand.base.buffers import end_to_end
from samehand.kernels.text.patterns import KINDS, PATTERNS, REACH, find_rows, shift_of
from samehand.methods.language.features import Tables, class_ids, fine_classes, words_of
from samehand.methods.language.generators import SPAM_KEYWORDS, Generator, WordText
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import tokenize

BITS, WINDOW = 19, 150
RATE, RIDGE = 0.02, 1e-6
KIND_OF = {"lm2": 0, "lm3": 1, "lm4": 1, "pw5": 2, "pw10": 2, "ws10": 3, "ws25": 3}
"""The column of a generator."""
NATURAL = -1
_MOST_WORDS, _SMALL_SOURCE = 400_000, 80_000
_FIRST_ID = 3
_STEPS = 8
_SEED, _SPLIT_SEED = 5, 3


class Stream(NamedTuple):
    """A long text as classes of both grains, with a 0 before each sentence; `kind` is a column or NATURAL."""

    kind: int
    fine: NDArray[np.uint16]
    coarse: NDArray[np.uint8]


def streams_of(model: Model, tables: Tables, genres: Mapping[str, Sequence[Document]]) -> dict[str, list[Stream]]:
    """Natural text and fakes of each genre."""
    found: dict[str, list[Stream]] = {}
    for number, (genre, documents) in enumerate(genres.items()):
        random = np.random.Generator(np.random.PCG64([_SEED, number]))
        halves = parted(pieces(documents), 2, seed=_SPLIT_SEED)
        found[genre] = [
            stream
            for natural, source in (halves, halves[::-1])
            for stream in _streams(model, tables, natural, source, random)
        ]
    return found


def learn_patterns(streams: Sequence[Stream]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The table of weights, and the units of its columns."""
    fine, coarse = (np.concatenate([stream[grain] for stream in streams]) for grain in (1, 2))
    ends = np.cumsum([0, *(stream.fine.size for stream in streams)]).tolist()
    begins = [np.arange(first, last - WINDOW, WINDOW) for first, last in itertools.pairwise(ends)]
    kinds = np.repeat([stream.kind for stream in streams], [part.size for part in begins])
    places = np.concatenate(begins)
    numbers = np.array([(kinds == kind).sum() for kind in range(NATURAL, KINDS)])
    weights = np.stack([np.full(KINDS, 1 / numbers[0]), 1 / numbers[1:]], axis=1)
    found = np.zeros((1 << BITS, KINDS), np.float32)
    squares, bias = np.zeros_like(found), np.zeros((2, KINDS))
    order = np.random.Generator(np.random.PCG64(_SEED)).permutation(kinds.size)
    _descend(fine, coarse, kinds[order], places[order], found, squares, bias, weights / weights.mean())
    return _rounded(found)


def _rounded(found: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights in 17 steps, which take less room and hardly say less; the few largest ones are cut."""
    steps = np.array([np.quantile(np.abs(column[column != 0]), 0.9995) / _STEPS for column in found.T], np.float32)
    return np.clip(np.round(found / steps), -_STEPS, _STEPS).astype(np.int8), steps


def _streams(
    model: Model,
    tables: Tables,
    natural: Sequence[Document],
    given: Sequence[Document],
    random: np.random.Generator,
) -> Iterator[Stream]:
    """Natural text, and fakes of each kind from other text of the genre, once from all of it and once from little."""
    words = words_of(tokens_of(natural), model)
    coarse = class_ids(words, tables)
    yield _stream(NATURAL, fine_classes(words, coarse), coarse, words.sentences)
    most = min(words.ids.size, _MOST_WORDS)
    source, fine, coarse, spam = _source(model, tables, given)
    small = source.sentences[source.sentences <= _SMALL_SOURCE]
    sources = ((0.75, source), (0.25, WordText(source.ids[: small[-1]], small)))
    for kind, column in KIND_OF.items():
        for share, text in sources[: 1 if kind == "lm4" else 2]:
            amount = most * share / list(KIND_OF.values()).count(column)
            for keywords in _keywords(kind, spam, random):
                made = Generator(kind, text, keywords=keywords)
                fake = made.generate(int(amount) // (1 if keywords is None else 4), int(random.integers(1 << 40)))
                ids = fake.ids - _FIRST_ID
                yield _stream(column, fine[ids], coarse[ids], fake.sentences)


def _source(
    model: Model, tables: Tables, documents: Sequence[Document]
) -> tuple[WordText, NDArray[np.uint16], NDArray[np.uint8], NDArray[np.int32]]:
    """What generators have: words by number, the classes of each number, and the numbers of spam keywords."""
    tokens = tokens_of(documents)
    both = tokenize(*end_to_end([tokens.data.tobytes(), " ".join(SPAM_KEYWORDS).encode()]))
    words = words_of(both, model)
    last = int(words.bounds[1])
    numbers, inverse = np.unique(words.hashes, return_inverse=True)
    example = np.zeros(numbers.size, np.int64)
    example[inverse] = np.arange(inverse.size)
    coarse = class_ids(words, tables)
    fine = fine_classes(words, coarse)
    sentences = words.sentences[words.sentences <= last]
    text = WordText((inverse[:last] + _FIRST_ID).astype(np.int32), sentences)
    return text, fine[example], coarse[example], (np.unique(inverse[last:]) + _FIRST_ID).astype(np.int32)


def _keywords(kind: str, spam: NDArray[np.int32], random: np.random.Generator) -> list[NDArray[np.int32]] | list[None]:
    """Lists to stuff with: spam keywords, and any words of the source."""
    if not kind.startswith("ws"):
        return [None]
    own = random.permutation(int(spam.max()))[:300].astype(np.int32) + _FIRST_ID
    own = np.minimum(own, spam.max())
    return [random.choice(pool, number, replace=False) for pool in (spam, own) for number in (20, 100)]


def _stream(kind: int, fine: NDArray[np.uint16], coarse: NDArray[np.uint8], sentences: NDArray[np.int64]) -> Stream:
    return Stream(kind, np.insert(fine, sentences[:-1], 0), np.insert(coarse, sentences[:-1], 0))


@nb.njit(cache=True)
def _descend(fine, coarse, kinds, places, found, squares, bias, weights):  # type: ignore[no-untyped-def]
    """One pass over all windows, in smaller and smaller steps."""
    rows = np.zeros((WINDOW, PATTERNS), np.int64)
    ring, ring2 = np.zeros(REACH, np.uint64), np.zeros(REACH, np.uint64)
    shift = shift_of(found.shape[0])
    for number in range(kinds.size):
        begin, kind = places[number], kinds[number]
        rate = RATE * (1 - 0.8 * number / kinds.size)
        sums = bias[0].copy()
        ring[:], ring2[:] = 0, 0
        for i in range(WINDOW):
            ring[i % REACH], ring2[i % REACH] = np.uint64(fine[begin + i]), np.uint64(coarse[begin + i])
            find_rows(ring, ring2, i + REACH, shift, rows[i])
            for pattern in range(PATTERNS):
                for column in range(KINDS):
                    sums[column] += found[rows[i, pattern], column]
        for column in range(KINDS):
            if kind not in (NATURAL, column):
                continue
            is_fake = int(kind == column)
            error = (1 / (1 + np.exp(-min(max(sums[column], -30.0), 30.0))) - is_fake) * weights[column, is_fake]
            bias[1, column] += error**2
            bias[0, column] -= 10 * rate * error / np.sqrt(bias[1, column] + 1)
            if abs(error) > 1e-4:
                _step(found, squares, rows, column, error, rate)


@nb.njit(cache=True)
def _step(found, squares, rows, column, error, rate):  # type: ignore[no-untyped-def]
    """Moves the weights of one column for all patterns of a window."""
    for i in range(WINDOW):
        for pattern in range(PATTERNS):
            row = rows[i, pattern]
            slope = error + RIDGE * found[row, column]
            squares[row, column] += slope**2
            found[row, column] -= rate * slope / np.sqrt(squares[row, column] + 1e-2)
