"""Makes the model and detector of English that ship with the package: python -m evaluation.english_model --data FOLDER.

The model is made from 133 sessions of the European Parliament (acknowledged as their source), 99 novels of 1840 to
1920 (public domain) and 1,627 documentation pages (free licences), two fifths of each kept apart. The detector learns
from one of these fifths, and from mail, newswire, news, blogs, film reviews, pages, home pages, licences, manuals,
glossaries, descriptions and stories (`debian_texts`). No text of them is kept: counts of n-grams, classes of words,
subjects of words, weights of patterns, and the trees of the detector. The same data give the same files.
The measured texts are kept in build/, where the evaluation finds them.
"""

import argparse
import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from evaluation import debian_texts
from evaluation import language_corpora as corpora
from evaluation.corpora import debian_pages
from evaluation.detector_samples import Samples, samples_of
from evaluation.detector_training import learn
from evaluation.pattern_training import Stream, learn_patterns, streams_of
from samehand.html import visible_text
from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.kernels.text.patterns import KINDS
from samehand.kernels.text.word_shapes import ENDINGS, WORD, word_shapes
from samehand.methods.language import katz
from samehand.methods.language.counting import Counts, count_spans
from samehand.methods.language.detector import LEAST_KNOWN, SHIPPED_DETECTOR, SHIPPED_MODEL
from samehand.methods.language.features import (
    Tables,
    known_shares,
    lowered,
    words_of,
)
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import Tokens
from samehand.methods.language.word_tables import FUNCTION_WORDS, derived

PARTS, MODEL_PARTS, TRAINING_PART, HELD_OUT_PART = 5, (0, 1, 2), 3, 4
SPLIT_SEED = 20
MOST_WORDS, CUTOFFS = 40_000, (1, 3, 4, 4)
OWN_CLASSES, LEARNED_CLASSES = 62, 64
TOPIC_WORDS, TOPIC_SIZE, TOPIC_BLOCK = 16_000, 64, 60
TOPIC_GRAIN = 4
"""Numbers of topics are multiples of this: they say the same and pack into half the room."""
STEP = 1 / 16
SAMPLES = Path("build") / "detector_samples.npz"
REPORTED_ONLY = ("essays", "campaigns", "quotes")
"""Genres that nothing is learned from and no bar is set on."""
FOLDS = (
    ("blogs", "news", "newswire", "documentation", "manuals", "web pages"),
    ("reviews", "home pages", "parliament", "licences"),
    ("mail", "novels", "stories", "glossary", "descriptions"),
)
"""Genres by which no pattern is learned for each other. Kin are together, and what people write at home is apart."""
_LONGEST_GENRE = 14_000_000
_CONTEXTS = 300
_FEWEST_WORDS = 60


class Language(NamedTuple):
    """What is known of a language before anything is known of fakes."""

    model: Model
    tables: Tables


def main() -> None:
    """Writes both files into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--model", type=Path, default=SHIPPED_MODEL)
    parser.add_argument("--detector", type=Path, default=SHIPPED_DETECTOR)
    parser.add_argument(
        "--debian", type=Path, default=Path("build/debian"), help="what evaluation.debian_texts fetched"
    )
    options = parser.parse_args()
    tokens = _tokens_of_parts(options.data)
    model = katz.train(_counts(tokens), CUTOFFS, metadata={"case": "lower"})
    model.save(options.model, compact=True)
    model = Model.open(options.model)
    language = Language(model, learn_tables(model, tokens, corpora.spam_words(options.data)))
    language, measured = measured_genres(options.data, options.debian, language)
    detector, votes = learn(*language, measured)
    detector.save(options.detector)
    keep_samples(measured, votes, options.detector)
    for path in (options.model, options.detector):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def _tokens_of_parts(data: Path) -> list[Tokens]:
    """The text that the model is made from. Of pages it is all the visible text, with menus and code."""
    visible = [corpora.Document(page.package, visible_text(page.content).encode()) for page in debian_pages(data)]
    texts = (corpora.parliament(data), corpora.novels(data), visible)
    parts = [corpora.parted(documents, PARTS, SPLIT_SEED) for documents in texts]
    return [corpora.tokens_of(split[part]) for split in parts for part in MODEL_PARTS]


def _parts(documents: Sequence[corpora.Document], which: Sequence[int]) -> list[corpora.Document]:
    """Some fifths of a genre."""
    parts = corpora.parted(documents, PARTS, SPLIT_SEED)
    return [document for part in which for document in parts[part]]


def _own_genres(data: Path, debian: Path) -> dict[str, list[corpora.Document]]:
    """The genres of which some fifths teach the language, and others what fakes are."""
    old = {"parliament": corpora.parliament, "novels": corpora.novels, "documentation": corpora.pages}
    new = {name: read for name, read in debian_texts.GENRES.items() if name not in REPORTED_ONLY}
    return {name: read(data) for name, read in old.items()} | {name: read(debian) for name, read in new.items()}


def _reference(
    own: Mapping[str, Sequence[corpora.Document]], learned_from: Mapping[str, Sequence[corpora.Document]]
) -> dict[str, list[corpora.Document]]:
    """The prose that patterns are learned from: of long genres the begin of each document."""
    found = {name: _parts(own[name], MODEL_PARTS) if name in own else some for name, some in learned_from.items()}
    return {name: [_cut(document, _LONGEST_GENRE // len(some)) for document in some] for name, some in found.items()}


def _cut(document: corpora.Document, most: int) -> corpora.Document:
    return document._replace(text=document.text[:most])


def genres(data: Path, debian: Path, model: Model) -> dict[str, list[corpora.Document]]:
    """The natural text that the detector learns from, by genre: prose in the model's language."""
    return _in_genres(data, debian, model, _own_genres(data, debian))


def _in_genres(
    data: Path, debian: Path, model: Model, own: Mapping[str, Sequence[corpora.Document]]
) -> dict[str, list[corpora.Document]]:
    found = {name: _parts(documents, (TRAINING_PART,)) for name, documents in own.items()}
    for name in ("documentation", *debian_texts.GENRES):  # there is too little of their prose to keep some
        if name in found:
            found[name] += _parts(own[name], (HELD_OUT_PART,))
    found |= {
        "mail": corpora.ham(data),
        "newswire": corpora.newswire(data),
        "news": corpora.news_of_people_and_machines(data)["human"],
        "blogs": corpora.blogs(data),
        "reviews": corpora.reviews(data),
        "web pages": corpora.web_pages(data),
        "home pages": corpora.home_pages(data),
        "licences": debian_texts.licences(debian),
    }
    return {name: in_language(documents, model) for name, documents in found.items() if documents}


def in_language(documents: Sequence[corpora.Document], model: Model) -> list[corpora.Document]:
    """Documents with enough words that the model knows."""
    shares = known_shares(words_of(corpora.tokens_of(documents), model))
    rows = zip(documents, shares.words.tolist(), shares.known.tolist(), strict=True)
    return [document for document, words, known in rows if words >= _FEWEST_WORDS and known >= LEAST_KNOWN]


def measured_genres(data: Path, debian: Path, language: Language) -> tuple[Language, Samples]:
    """The language with patterns, and natural texts and fakes of all genres.

    The patterns that a text is measured by were learned without its genre and without others of its fold. What ships
    was learned from all genres.
    """
    own = _own_genres(data, debian)
    found = _in_genres(data, debian, language.model, own)
    streams = streams_of(*language, _reference(own, found))
    tables = {}
    for fold in FOLDS:
        learned = _with_patterns(
            language.tables, [part for genre in streams if genre not in fold for part in streams[genre]]
        )
        tables |= dict.fromkeys(fold, learned)
    measured = samples_of(language.model, tables, found)
    everything = _with_patterns(language.tables, list(itertools.chain(*streams.values())))
    return language._replace(tables=everything), measured


def keep_samples(measured: Samples, votes: NDArray[np.float64], detector: Path) -> None:
    """Keeps what a detector was made from, under the digest of its file."""
    SAMPLES.parent.mkdir(exist_ok=True)
    np.savez(SAMPLES, *measured, votes, np.array(digest_of(detector)))


def kept_samples(detector: Path) -> tuple[Samples, NDArray[np.float64]] | None:
    """The measured texts that this detector was made from, and what was voted on them with their genre left out."""
    if not SAMPLES.is_file():
        return None
    with np.load(SAMPLES, allow_pickle=False) as stored:
        *measured, votes, digest = (stored[name] for name in stored.files)
    return (Samples(*measured), votes) if str(digest) == digest_of(detector) else None


def digest_of(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def learn_tables(model: Model, tokens: Sequence[Tokens], spam_words: Sequence[str]) -> Tables:
    """Classes and subjects of the words of a model, from its text. Patterns have no weight yet."""
    ids = [model.vocabulary.ids_of(lowered(part.data), part.starts, part.ends) for part in tokens]
    classes, endings, others = _classes(model, tokens, ids)
    logs3, logs2, logs1 = _class_logs(model, tokens, classes, endings, others)
    topics, weights = _topics(ids)
    nothing = np.zeros((2, KINDS), np.int8), np.ones(KINDS, np.float32)
    known = (classes, endings, others, logs3, logs2, logs1, topics, weights, _hashes(spam_words), *nothing)
    return Tables(*known, **derived(model, topics, weights), step=STEP, own=OWN_CLASSES)


def _with_patterns(tables: Tables, streams: Sequence[Stream]) -> Tables:
    """The same tables with weights of patterns."""
    patterns, steps = learn_patterns(streams)
    return dataclasses.replace(tables, patterns=patterns, pattern_steps=steps)


def _hashes(words: Sequence[str]) -> NDArray[np.uint64]:
    """The sorted hashes of words in lower case."""
    data, offsets = corpora.end_to_end(word.lower().encode() for word in words)
    return np.unique(word_shapes(data, offsets[:-1], offsets[1:])[0])


def _counts(tokens: Sequence[Tokens]) -> Counts:
    spans = ((lowered(part.data), part.starts, part.ends, part.sentences) for part in tokens)
    return count_spans(spans, order=4, most_words=MOST_WORDS, least=3)


def _classes(
    model: Model, tokens: Sequence[Tokens], ids: Sequence[NDArray[np.int32]]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.uint8]]:
    """Classes of words by their neighbours. The commonest words are their own class, 0 is the edge of a sentence."""
    size = len(model.vocabulary)
    near = np.zeros((size, 2 * _CONTEXTS), np.float32)
    for part, numbers in zip(tokens, ids, strict=True):
        _count_contexts(numbers, part.sentences, near)
    kept = np.sqrt(near / np.maximum(1, near.sum(1, keepdims=True)))
    learned = np.arange(FIRST_WORD + OWN_CLASSES, size)
    groups = _k_means(kept[learned], near[learned].sum(1), LEARNED_CLASSES)
    classes = np.zeros(size, np.uint8)
    classes[FIRST_WORD : FIRST_WORD + OWN_CLASSES] = np.arange(1, OWN_CLASSES + 1)
    classes[learned] = groups + OWN_CLASSES + 1
    words = model.vocabulary.words
    votes = np.zeros((ENDINGS, LEARNED_CLASSES), np.int64)
    numbers_votes, marks_votes = np.zeros(LEARNED_CLASSES, np.int64), np.zeros(LEARNED_CLASSES, np.int64)
    for word in learned[learned.size // 4 :].tolist():  # unknown words are like rare ones
        text = words[word]
        group = int(groups[word - learned[0]])
        if text[:1].isdigit():
            numbers_votes[group] += 1
        elif text[:1].isalpha() or text[0] >= 128:
            votes[_ending(text), group] += 1
        else:
            marks_votes[group] += 1
    best = np.where(votes.sum(1) > 0, votes.argmax(1), votes.sum(0).argmax()) + OWN_CLASSES + 1
    others = np.array([marks_votes.argmax(), numbers_votes.argmax(), 0]) + OWN_CLASSES + 1
    return classes, best.astype(np.uint8), others.astype(np.uint8)


def _ending(word: bytes) -> int:
    first, second = [byte - 96 if 97 <= byte <= 122 else 0 for byte in (b"\0" + word)[-2:]]
    return first * 27 + second


@nb.njit(cache=True)
def _count_contexts(ids, sentences, near):  # type: ignore[no-untyped-def]
    half = near.shape[1] // 2
    for sentence in range(sentences.size - 1):
        for i in range(sentences[sentence], sentences[sentence + 1]):
            word = ids[i]
            before = ids[i - 1] if i > sentences[sentence] else 1
            behind = ids[i + 1] if i + 1 < sentences[sentence + 1] else 2
            if before < half:
                near[word, before] += 1
            if behind < half:
                near[word, half + behind] += 1


def _k_means(points: NDArray[np.float32], sizes: NDArray[np.float32], groups: int) -> NDArray[np.int64]:
    """Groups of points, each weighing the root of its size."""
    middle = points.mean(0)
    values, axes = np.linalg.eigh(np.cov((points[:8000] - middle).T))
    flat = (points - middle) @ axes[:, values.argsort()[::-1][:40]]
    random = np.random.Generator(np.random.PCG64(1))
    weights = np.sqrt(sizes) + 1
    centres = flat[np.sort(random.permutation(min(4000, len(flat)))[:groups])]
    nearest = np.zeros(len(flat), np.int64)
    for _ in range(25):
        distances = (centres**2).sum(1)[None] - 2 * flat @ centres.T
        nearest = distances.argmin(1)
        totals = np.bincount(nearest, weights, groups)
        for axis in range(flat.shape[1]):
            sums = np.bincount(nearest, weights * flat[:, axis], groups)
            centres[:, axis] = np.where(totals > 0, sums / np.maximum(totals, 1e-9), centres[:, axis])
    return nearest


def _class_logs(
    model: Model,
    tokens: Sequence[Tokens],
    classes: NDArray[np.uint8],
    endings: NDArray[np.uint8],
    others: NDArray[np.uint8],
) -> tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]:
    """Probabilities of classes after two, one and no class, each mixed with the shorter one (Witten-Bell)."""
    number = OWN_CLASSES + LEARNED_CLASSES + 1
    triples = np.zeros((number, number, number), np.float32)
    for part in tokens:
        words = words_of(part, model)
        unknown = np.where(words.kinds == WORD, endings[words.endings], others[words.kinds])
        _count_triples(np.where(words.ids >= FIRST_WORD, classes[words.ids], unknown), words.sentences, triples)
    single = triples.sum((0, 1)) + 0.5
    p1 = single / single.sum()
    p2 = _mixed(triples.sum(0), p1[None])
    p3 = _mixed(triples, p2[None])
    steps = np.minimum(255, np.round(-np.log(p3) / STEP)).astype(np.uint8)
    return steps, np.log(p2).astype(np.float32), np.log(p1).astype(np.float32)


def _mixed(counts: NDArray[np.float32], shorter: NDArray[np.float32]) -> NDArray[np.float32]:
    total = counts.sum(-1, keepdims=True)
    kinds = (counts > 0).sum(-1, keepdims=True) + 1
    return (counts + kinds * shorter) / (total + kinds)


@nb.njit(cache=True)
def _count_triples(classes, sentences, triples):  # type: ignore[no-untyped-def]
    for sentence in range(sentences.size - 1):
        a, b = 0, 0
        for i in range(sentences[sentence], sentences[sentence + 1] + 1):
            c = np.int64(classes[i]) if i < sentences[sentence + 1] else 0
            triples[a, b, c] += 1
            a, b = b, c


def _topics(ids: Sequence[NDArray[np.int32]]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Subjects of words: the first axes of the matrix of passages and words, by power iteration."""
    rows, passages = [], 0
    for part in ids:
        rows.append(_blocks(part) + np.array([passages, 0]))
        passages += -(-part.size // TOPIC_BLOCK)
    rows = np.concatenate(rows)
    found = np.bincount(rows[:, 1], minlength=TOPIC_WORDS)
    weights = np.log(passages / (found + 1.0)).astype(np.float32)
    weights[: FIRST_WORD + FUNCTION_WORDS] = 0
    values = weights[rows[:, 1]]
    norms = np.sqrt(np.bincount(rows[:, 0], values**2, passages))[rows[:, 0]]
    values = (values / np.maximum(norms, 1e-9)).astype(np.float32)
    random = np.random.Generator(np.random.PCG64(2))
    axes = random.standard_normal((TOPIC_WORDS, TOPIC_SIZE + 8)).astype(np.float32)
    for _ in range(5):
        axes = np.linalg.qr(_turned(rows, values, axes, passages))[0].astype(np.float32)
    inner = axes.T @ _turned(rows, values, axes, passages)
    vectors = axes @ np.linalg.eigh(inner)[1][:, ::-1][:, :TOPIC_SIZE]
    vectors /= np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True))
    most = 127 // TOPIC_GRAIN
    return (np.clip(np.round(vectors * 128 / TOPIC_GRAIN), -most, most) * TOPIC_GRAIN).astype(np.int8), weights


def _blocks(ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Passage and word, once each, of the words of content."""
    place = np.arange(ids.size) // TOPIC_BLOCK
    good = (ids >= FIRST_WORD + FUNCTION_WORDS) & (ids < TOPIC_WORDS)
    unique = np.unique(place[good] * TOPIC_WORDS + ids[good])
    return np.stack([unique // TOPIC_WORDS, unique % TOPIC_WORDS], axis=1)


@nb.njit(cache=True)
def _turned(rows, values, axes, passages):  # type: ignore[no-untyped-def]
    """A' A Q for the sparse matrix A of passages and words."""
    size = axes.shape[1]
    middle = np.zeros((passages, size), np.float32)
    for i in range(rows.shape[0]):
        for d in range(size):
            middle[rows[i, 0], d] += values[i] * axes[rows[i, 1], d]
    out = np.zeros(axes.shape, np.float32)
    for i in range(rows.shape[0]):
        for d in range(size):
            out[rows[i, 1], d] += values[i] * middle[rows[i, 0], d]
    return out


if __name__ == "__main__":
    main()
