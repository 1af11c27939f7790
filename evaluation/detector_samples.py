"""The texts that the detector learns from: natural text of several genres, and fakes made from other text of them.

Half of the documents of each genre are natural text, the other half is what generators have; then the halves change
places. Texts of every length, written in several ways (blanks before marks, lines, capitals): none of that may tell.
Fakes come from large and from small sources, and are stuffed with the usual keywords or with any words at all.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.language_corpora import Corpus, Document, corpus_of, end_to_end, parted, pieces, tokens_of, written
from samehand.kernels.text import function_words
from samehand.methods.language.features import Tables, measure_words, words_of
from samehand.methods.language.generators import SPAM_KEYWORDS, Generator, WordText, detokenize
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import tokenize

SIZES = {150: 40, 200: 120, 300: 40, 500: 120, 1000: 32, 2000: 28, 5000: 5}
"""Words of a text, and how many texts of each kind of fake have so many; there are six times as many natural ones."""
NATURAL_TIMES = 6
FAKE_KINDS = {
    "patchwork": ("pw5", "pw10"),
    "stuffing": ("ws10", "ws25", "ws50"),
    "chain": ("lm2", "lm3", "lm4"),
}
"""What the fakes have in common that one set of weights finds."""
_SMALL_SOURCE = 60_000
_LISTS, _SEED = 12, 0
_FUNCTION_WORDS = frozenset(function_words.WORDS.split())


class Samples(NamedTuple):
    """Measured texts: features, genre, kind ("natural" or a generator's) and words of each."""

    features: NDArray[np.float32]
    genres: NDArray[np.str_]
    kinds: NDArray[np.str_]
    sizes: NDArray[np.int64]


def samples_of(model: Model, tables: Mapping[str, Tables], genres: Mapping[str, Sequence[Document]]) -> Samples:
    """Natural texts of genres and fakes made of them, measured by the tables of each genre."""
    rows, labels = [], []
    for genre, documents in genres.items():
        halves = parted(pieces(documents), 2, seed=_SEED)
        for seed, (source, natural) in enumerate((halves, halves[::-1])):
            for kind, size, texts in itertools.chain(natural_of(natural, seed), fakes_of(source, seed)):
                rows.append(measure_words(words_of(tokenize(*end_to_end(texts)), model), model, tables[genre]))
                labels += [(genre, kind, size)] * len(texts)
    columns = [np.array(column) for column in zip(*labels, strict=True)]
    return Samples(np.concatenate(rows), *columns)


def natural_of(
    documents: Sequence[Document], seed: int, sizes: Mapping[int, int] = SIZES
) -> Iterator[tuple[str, int, list[bytes]]]:
    """Passages cut out of documents, and whole documents."""
    tokens = tokens_of(documents)
    corpus = corpus_of(tokens)
    random = np.random.Generator(np.random.PCG64(seed))
    bounds = tokens.sentences[tokens.texts]
    for size, number in sizes.items():
        inside = [np.arange(first, last - size + 1, size) for first, last in itertools.pairwise(bounds.tolist())]
        begins = random.permutation(np.concatenate(inside))[: number * NATURAL_TIMES]
        yield "natural", size, [written_somehow(corpus, begin, begin + size, random) for begin in begins.tolist()]
    whole = [document.text for document in documents if 800 <= len(document.text) <= 60_000]
    if whole:
        yield "natural", 0, [whole[place] for place in random.permutation(len(whole))[:400].tolist()]


def fakes_of(
    documents: Sequence[Document],
    seed: int,
    kinds: Sequence[str] = tuple(itertools.chain(*FAKE_KINDS.values())),
    sizes: Mapping[int, int] = SIZES,
) -> Iterator[tuple[str, int, list[bytes]]]:
    """Fakes of each kind, most from a large source and some from a small one."""
    corpus = with_words(corpus_of(tokens_of(documents)), SPAM_KEYWORDS)
    small = Corpus(_first(corpus.text, _SMALL_SOURCE), corpus.words)
    random = np.random.Generator(np.random.PCG64(100 + seed))
    for kind in kinds:
        for share, source in ((0.7, corpus), (0.3, small)):
            if kind == "lm4" and source is small:
                continue  # of a small source this is whole passages: plagiarism, which other signals find
            generators = _generators(source, kind, random)
            for size, number in sizes.items():
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
    """Every other text has words no model knows, as a genre has that was never seen: some content words, renamed."""
    share = random.random() * 0.5 - 0.25
    if share <= 0:
        return corpus
    start = int(random.integers(1 << 16))
    words = dict.fromkeys(corpus.text.ids[first:last].tolist(), "")
    for number in words:
        word = corpus.words[number]
        is_content = len(word) > 3 and word.lower() not in _FUNCTION_WORDS
        is_renamed = is_content and (number + start) * 2654435761 % (1 << 16) < share * (1 << 16)
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
