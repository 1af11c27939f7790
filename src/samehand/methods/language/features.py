"""What is measured of a text to tell whether a person wrote it.

Three kinds of measure, from the words in lower case (how a page writes capitals and blanks says nothing here):

* order: what the paper measures (perplexity, relative entropy, how long the known n-grams are), and the same of word
  classes, which other genres share even where they have other words;
* coherence, which no generator that forgets after a few words can have: words of content come back sooner and more
  often than chance would bring them, and neighbouring passages are about the same things;
* shape: sentences, function words, the weight of the commonest words, phrases said again.

Everything is linear in the text, many texts at once, and releases the interpreter lock.
"""

import dataclasses
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.segments import segment_sums
from samehand.kernels.text import features as kernel
from samehand.kernels.text import word_shapes as shapes
from samehand.methods.language.model import Model, ngram_bounds
from samehand.methods.language.tokens import Tokens

FEATURES = (
    "log_tokens",
    "unknown_words",
    "function_words",
    "content_words",
    "marks",
    "numbers",
    "back_within_50",
    "back_within_250",
    "back_ever",
    "extra_within_50",
    "extra_within_250",
    "extra_ever",
    "taken_up",
    "taken_up_share",
    "near_pairs",
    "near_pairs_z",
    "distinct",
    "once",
    "commonest",
    "five_commonest",
    "gaps",
    "topic_near",
    "topic_drift",
    "class_order",
    "class_gain",
    "class_breaks",
    "put_in",
    "put_in_share",
    "split_pairs",
    "keywords",
    "keyword_kinds",
    "word_rarity",
    "gain_3",
    "gain_4",
    "log_p_3",
    "log_p_4",
    "hard_words",
    "known_2",
    "known_3",
    "known_4",
    "relative_entropy_3",
    "relative_entropy_4",
    "known_histories_3",
    "known_histories_4",
    "sentence_length",
    "sentence_spread",
    "sentence_neighbours",
    "short_sentences",
    "long_sentences",
    "repeated_phrases",
)
"""Names of the columns that `measure` gives."""

FIRST_WORD = 3
FUNCTION_WORDS = 150
"""So many of the commonest words of the vocabulary say nothing of the subject of a text."""
_UNKNOWN_CHANCE = 1e-6
_LOWER = np.arange(256, dtype=np.uint8)
_LOWER[65:91] += 32


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What the measures know of a language beside its n-gram model.

    `classes` has the class of each word of the vocabulary, `endings` that of unknown words by their last two letters,
    `others` that of unknown numbers and marks. `logs3` is -log p(c|ab) in steps of `step`, `logs2` log p(b|a), `logs1`
    log p(a); classes 1 to `own` are single common words. `topics` has a vector for each of the first words of the
    vocabulary, `weights` what it counts for. `keywords` are hashes of words that spam is stuffed with. `stem_chances`
    is how likely a word of content has the stem of each word.
    """

    classes: NDArray[np.uint8]
    endings: NDArray[np.uint8]
    others: NDArray[np.uint8]
    logs3: NDArray[np.uint8]
    logs2: NDArray[np.float32]
    logs1: NDArray[np.float32]
    topics: NDArray[np.int8]
    weights: NDArray[np.float32]
    keywords: NDArray[np.uint64]
    stem_chances: NDArray[np.float32]
    step: float
    own: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The tokens of texts as a model sees them, in lower case. `bounds` are the texts in tokens."""

    ids: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    stems: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    endings: NDArray[np.int16]
    sentences: NDArray[np.int64]
    texts: NDArray[np.int64]
    bounds: NDArray[np.int64]


def words_of(tokens: Tokens, model: Model) -> Words:
    """The words of texts, looked up in a model whose words are in lower case."""
    data = lowered(tokens.data)
    hashes, stems, kinds, endings = shapes.word_shapes(data, tokens.starts, tokens.ends)
    ids = model.vocabulary.ids_of(data, tokens.starts, tokens.ends)
    return Words(ids, hashes, stems, kinds, endings, tokens.sentences, tokens.texts, tokens.sentences[tokens.texts])


def word_hashes(words: Iterable[str]) -> NDArray[np.uint64]:
    """The hashes of words, sorted: `Tables.keywords`."""
    listed = [word.lower().encode() for word in words]
    ends = np.cumsum([len(word) for word in listed], dtype=np.int64)
    starts = ends - np.array([len(word) for word in listed], np.int64)
    hashes: NDArray[np.uint64] = shapes.word_shapes(np.frombuffer(b"".join(listed), np.uint8), starts, ends)[0]
    return np.unique(hashes)


def stem_chances_of(model: Model) -> NDArray[np.float32]:
    """For each word how likely a word of content has its stem."""
    vocabulary = model.vocabulary
    stems, kinds = shapes.word_shapes(vocabulary.blob, vocabulary.offsets[:-1], vocabulary.offsets[1:])[1:3]
    chances = np.where(kinds == shapes.WORD, 10.0 ** model.logs[: len(vocabulary)], 0)
    chances[: FIRST_WORD + FUNCTION_WORDS] = 0
    groups = np.unique(stems, return_inverse=True)[1]
    sums = np.bincount(groups, chances / chances.sum())[groups]
    return np.maximum(sums, _UNKNOWN_CHANCE).astype(np.float32)


def lowered(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bytes with A to Z in lower case."""
    small: NDArray[np.uint8] = _LOWER[data]
    return small


def measure(tokens: Tokens, model: Model, tables: Tables) -> NDArray[np.float32]:
    """The FEATURES of each text, one row a text."""
    return measure_words(words_of(tokens, model), model, tables)


def measure_words(words: Words, model: Model, tables: Tables) -> NDArray[np.float32]:
    """The FEATURES of each text, one row a text."""
    columns = {
        **_shares(words, tables),
        **_coherence(words, model, tables),
        **_classes(words, tables),
        **_ngrams(words, model),
        **_sentences(words),
    }
    return np.stack([columns[name] for name in FEATURES], axis=1).astype(np.float32)


def _sums(values: NDArray[np.generic], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = segment_sums(values.astype(np.float64), bounds)
    return sums


def _shares(words: Words, tables: Tables) -> dict[str, NDArray[np.float64]]:
    tokens = np.maximum(1, np.diff(words.bounds))
    is_word = words.kinds == shapes.WORD
    spoken = np.maximum(1, _sums(is_word, words.bounds))
    keywords, kinds = shapes.among(words.hashes, tables.keywords, words.bounds)
    common = is_word & (words.ids >= FIRST_WORD) & (words.ids < FIRST_WORD + FUNCTION_WORDS)
    return {
        "log_tokens": np.log(tokens),
        "unknown_words": _sums(is_word & (words.ids < FIRST_WORD), words.bounds) / spoken,
        "function_words": _sums(common, words.bounds) / spoken,
        "marks": _sums(words.kinds == shapes.OTHER, words.bounds) / tokens,
        "numbers": _sums(words.kinds == shapes.NUMBER, words.bounds) / tokens,
        "keywords": keywords / spoken,
        "keyword_kinds": np.log1p(kinds),
        "repeated_phrases": kernel.repeated_phrases(words.hashes, words.bounds),
    }


def _coherence(words: Words, model: Model, tables: Tables) -> dict[str, NDArray[np.float64]]:
    known = words.ids >= FIRST_WORD
    content = (words.kinds == shapes.WORD) & (~known | (words.ids >= FIRST_WORD + FUNCTION_WORDS))
    chances = np.where(known, np.float32(10) ** model.logs[: len(model.vocabulary)][words.ids], _UNKNOWN_CHANCE)
    stem_chances = np.where(known, tables.stem_chances[words.ids], _UNKNOWN_CHANCE).astype(np.float32)
    taken = kernel.words_taken_up(words.stems, content, stem_chances, words.bounds)
    found = kernel.recurrences(words.hashes, content, chances.astype(np.float32), words.bounds)
    drift = kernel.topic_drift(words.ids, tables.topics, tables.weights, words.bounds)
    spoken = np.maximum(1, found[:, 0])
    names = ("within_50", "within_250", "ever")
    columns = {"content_words": found[:, 0] / np.maximum(1, np.diff(words.bounds))}
    for place, name in enumerate(names):
        seen, expected = found[:, 1 + place], found[:, 4 + place]
        columns[f"back_{name}"] = np.log((seen + 1) / (expected + 1))
        columns[f"extra_{name}"] = (seen - expected) / spoken
    return columns | {
        "taken_up": taken[:, 1] / spoken,
        "taken_up_share": (taken[:, 2] - taken[:, 3]) / spoken,
        "near_pairs": np.log((found[:, 7] + 1) / (found[:, 8] + 1)),
        "near_pairs_z": (found[:, 7] - found[:, 8]) / np.sqrt(found[:, 8] + 1),
        "distinct": found[:, 9] / spoken,
        "once": found[:, 10] / np.maximum(1, found[:, 9]),
        "commonest": found[:, 11] / spoken,
        "five_commonest": found[:, 12] / spoken,
        "gaps": found[:, 13] / np.maximum(1, found[:, 14]),
        "topic_near": drift[:, 0],
        "topic_drift": (drift[:, 0] - drift[:, 1]) * drift[:, 2],
    }


def class_ids(words: Words, tables: Tables) -> NDArray[np.uint8]:
    """The class of each token: by the word where it is known, else by its ending."""
    unknown = np.where(words.kinds == shapes.WORD, tables.endings[words.endings], tables.others[words.kinds])
    return np.where(words.ids >= FIRST_WORD, tables.classes[words.ids], unknown).astype(np.uint8)


def _classes(words: Words, tables: Tables) -> dict[str, NDArray[np.float64]]:
    found = kernel.class_scores(
        class_ids(words, tables),
        words.sentences,
        words.texts,
        tables.logs3,
        tables.logs2,
        tables.logs1,
        tables.step,
        tables.own,
    )
    triples = np.maximum(1, found[:, 2])
    return {
        "class_order": found[:, 0] / triples,
        "class_gain": (found[:, 1] - found[:, 0]) / triples,
        "class_breaks": found[:, 3] / triples,
        "put_in": found[:, 4] / triples,
        "put_in_share": found[:, 5] / triples,
        "split_pairs": found[:, 7] / (found[:, 6] + found[:, 7] + 2),
    }


def _ngrams(words: Words, model: Model) -> dict[str, NDArray[np.float64]]:
    places = ngram_bounds(words.sentences, 1)[words.texts]
    predicted = np.maximum(1, np.diff(places))
    logs = {n: model.log_probabilities(words.ids, words.sentences, n) for n in (1, 3, 4)}
    length = model.matched_lengths(words.ids, words.sentences, 4)
    known = [np.maximum(1, _sums(length >= n, places)) for n in (1, 2, 3, 4)]
    columns = {
        "word_rarity": -_sums(logs[1], places) / predicted,
        "gain_3": _sums(logs[3] - logs[1], places) / predicted,
        "gain_4": _sums(logs[4] - logs[3], places) / predicted,
        "log_p_3": _sums(logs[3], places) / predicted,
        "log_p_4": _sums(logs[4], places) / predicted,
        "hard_words": _sums(logs[3] - logs[1] < -1, places) / predicted,
        "known_2": known[1] / known[0],
        "known_3": known[2] / known[1],
        "known_4": known[3] / known[2],
    }
    for order in (3, 4):
        penalties, is_known = model.relative_entropy(words.ids, words.sentences, order)
        grams = ngram_bounds(words.sentences, order)[words.texts]
        histories = _sums(is_known, grams)
        columns[f"relative_entropy_{order}"] = _sums(penalties, grams) / np.maximum(1, histories)
        columns[f"known_histories_{order}"] = histories / np.maximum(1, np.diff(grams))
    return columns


def _sentences(words: Words) -> dict[str, NDArray[np.float64]]:
    found = kernel.sentence_lengths(words.sentences, words.texts)
    names = ("sentence_length", "sentence_spread", "sentence_neighbours", "short_sentences", "long_sentences")
    return {name: found[:, place] for place, name in enumerate(names)}
