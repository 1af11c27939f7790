"""What is measured of a text to tell whether a person wrote it.

The measures work on words in lower case: capitals and blanks say nothing about the author. There are three kinds:

* order: what the paper measures (perplexity, relative entropy, the length of known n-grams), and the same for word
  classes, which other genres share even if their words differ;
* coherence, which a generator that forgets after a few words cannot have: content words come back sooner and more often
  than by chance, and neighbouring passages have the same subject;
* shape: sentence lengths, function words, the share of the most frequent words, repeated phrases.

All measures take time linear in the text, work on many texts at once, and release the interpreter lock.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import distinct, end_to_end
from samehand.kernels.ngrams import scores
from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.kernels.segments import segment_sums
from samehand.kernels.text import balance, coherence, function_words, habits, insertions, patterns
from samehand.kernels.text import features as kernel
from samehand.kernels.text import word_shapes as shapes
from samehand.methods.language.measures import MEASURES
from samehand.methods.language.model import Model, ngram_bounds
from samehand.methods.language.tokens import Tokens, only_bounds
from samehand.methods.language.word_tables import FUNCTION_WORDS, PERSONS, TENSES, UNKNOWN_CHANCE

FEATURES = ("log_tokens", *MEASURES)
"""Names of the columns of `measure_words`."""
FINE_WORDS = 400
"""So many of the most frequent words are classes of their own in the finer grain of patterns."""
_FEW = 5
"""Words are supposed to fit as random ones do until there are more than a few of them."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What the measures know about a language beside its n-gram model.

    * `classes`: the class of each word of the vocabulary; `endings`: of unknown words, by their last two letters;
      `others`: of unknown numbers and punctuation. Classes 1 to `own` are single frequent words.
    * `logs3`: -log p(c|ab) in units of `step`; `logs2`: log p(b|a); `logs1`: log p(a), for classes a, b, c.
    * `topics`: a vector for each of the first words of the vocabulary; `weights`: how much it counts.
    * `keywords`: hashes of spam keywords.
    * `patterns`: weights of the hashed patterns of word classes, in units of `pattern_steps`, for each kind of fake.
    * `stem_chances`: for each word the probability that a content word has its stem.
    * `heavy_topics`: the vectors of `topics` times `weights`, the largest weight being 1.
    * `roles`: for each word its role as a bracket or quote (`balance`).
    * `persons`, `tenses`: for each word who or which time it speaks of, from 1 on; 0 if it does not say.
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
    patterns: NDArray[np.int8]
    pattern_steps: NDArray[np.float32]
    stem_chances: NDArray[np.float32]
    heavy_topics: NDArray[np.int8]
    roles: NDArray[np.uint8]
    persons: NDArray[np.uint8]
    tenses: NDArray[np.uint8]
    step: float
    own: int


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The tokens of texts, in lower case, as the measures see them. `bounds` are the offsets of the texts in tokens."""

    ids: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    stems: NDArray[np.uint64]
    kinds: NDArray[np.uint8]
    endings: NDArray[np.int16]
    sentences: NDArray[np.int64]
    texts: NDArray[np.int64]
    bounds: NDArray[np.int64]


def words_of(tokens: Tokens, model: Model) -> Words:
    """The words of texts, with their ids in a model."""
    data = lowered(tokens.data)
    hashes, stems, kinds, endings = shapes.word_shapes(data, tokens.starts, tokens.ends)
    ids = model.vocabulary.ids_of(data if model.is_lower else tokens.data, tokens.starts, tokens.ends)
    return Words(ids, hashes, stems, kinds, endings, tokens.sentences, tokens.texts, tokens.sentences[tokens.texts])


class Shares(NamedTuple):
    """Of each text: its words, without punctuation and numbers, and the shares that the model knows, that are among the
    most frequent words, and that are short and unknown."""

    words: NDArray[np.int64]
    known: NDArray[np.float64]
    common: NDArray[np.float64]
    short: NDArray[np.float64]


def known_shares(words: Words) -> Shares:
    """What is known of texts before they are measured."""
    is_word = words.kinds == shapes.WORD
    number = sums(is_word, words.bounds)
    known = sums(is_word & (words.ids >= FIRST_WORD), words.bounds)
    common = sums(_is_common(words), words.bounds)
    short = sums(_is_short_unknown(words), words.bounds)
    spoken = np.maximum(1, number)
    return Shares(number.astype(np.int64), known / spoken, common / spoken, short / spoken)


def _is_short_unknown(words: Words) -> NDArray[np.bool_]:
    """Words of up to five bytes that the model does not know: the hash of their first five bytes is that of all."""
    return np.asarray((words.kinds == shapes.WORD) & (words.ids < FIRST_WORD) & (words.hashes == words.stems))


def _is_common(words: Words) -> NDArray[np.bool_]:
    is_known = (words.kinds == shapes.WORD) & (words.ids >= FIRST_WORD)
    return np.asarray(is_known & (words.ids < FIRST_WORD + FUNCTION_WORDS))


def _is_content(words: Words) -> NDArray[np.bool_]:
    is_known = words.ids >= FIRST_WORD
    return np.asarray((words.kinds == shapes.WORD) & (~is_known | (words.ids >= FIRST_WORD + FUNCTION_WORDS)))


def five_commonest(words: Words, text: int) -> float:
    """The share of the five most frequent words in all words of a text."""
    first, last = words.bounds[text], words.bounds[text + 1]
    spoken = words.hashes[first:last][words.kinds[first:last] == shapes.WORD]
    numbers = np.sort(np.unique(spoken, return_counts=True)[1])[-5:]
    return float(numbers.sum() / max(1, spoken.size))


def function_share(words: Words, text: int) -> float:
    """The share of function words of any of about thirty languages in all words of a text."""
    bounds = words.bounds[text : text + 2]
    spoken = np.count_nonzero(words.kinds[bounds[0] : bounds[1]] == shapes.WORD)
    return float(shapes.among(words.hashes, _function_words(), bounds)[0][0] / max(1, spoken))


@functools.cache
def _function_words() -> NDArray[np.uint64]:
    """Hashes of the function words, sorted."""
    data, offsets = end_to_end([word.encode() for word in function_words.WORDS.split()])
    return distinct(shapes.word_shapes(data, offsets[:-1], offsets[1:])[0])


def only_words(words: Words, chosen: NDArray[np.int64]) -> Words:
    """The words of some of the texts."""
    which = np.isin(np.arange(words.texts.size - 1), chosen)
    inside = np.repeat(which, np.diff(words.bounds))
    sentences, texts = only_bounds(words.sentences, words.texts, which)
    return Words(
        words.ids[inside],
        words.hashes[inside],
        words.stems[inside],
        words.kinds[inside],
        words.endings[inside],
        sentences,
        texts,
        sentences[texts],
    )


def lowered(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bytes with A to Z in lower case."""
    is_capital = data - np.uint8(65) < np.uint8(26)  # numbers below 65 wrap round
    small: NDArray[np.uint8] = data | is_capital.view(np.uint8) << np.uint8(5)
    return small


def measure_words(words: Words, model: Model, tables: Tables) -> NDArray[np.float32]:
    """The FEATURES of each text, one row per text."""
    columns = {
        **_shares(words, tables),
        **_coherence(words, model, tables),
        **_classes(words, tables),
        **ngram_columns(model, words.ids, words.sentences, words.texts),
        **_sentences(words),
        **_balance(words, tables),
    }
    return np.stack([columns[name] for name in FEATURES], axis=1).astype(np.float32)


def sums(values: NDArray[np.generic], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of the values of each text. It does not depend on the other texts, not even by rounding."""
    found: NDArray[np.float64] = segment_sums(values.astype(np.float64), bounds)
    return found


def _shares(words: Words, tables: Tables) -> dict[str, NDArray[np.float64]]:
    tokens = np.maximum(1, np.diff(words.bounds))
    is_word = words.kinds == shapes.WORD
    spoken = np.maximum(1, sums(is_word, words.bounds))
    keywords, kinds = shapes.among(words.hashes, tables.keywords, words.bounds)
    return {
        "log_tokens": np.log(tokens),
        "unknown_words": sums(is_word & (words.ids < FIRST_WORD), words.bounds) / spoken,
        "unknown_short": sums(_is_short_unknown(words), words.bounds) / spoken,
        "function_words": sums(_is_common(words), words.bounds) / spoken,
        "marks": sums(words.kinds == shapes.OTHER, words.bounds) / tokens,
        "numbers": sums(words.kinds == shapes.NUMBER, words.bounds) / tokens,
        "keywords": keywords / spoken,
        "keyword_kinds": np.log1p(kinds),
        "repeated_phrases": kernel.repeated_phrases(words.hashes, words.bounds),
    }


def _coherence(words: Words, model: Model, tables: Tables) -> dict[str, NDArray[np.float64]]:
    known, content = words.ids >= FIRST_WORD, _is_content(words)
    chances = np.where(known, np.float32(10) ** model.logs[: len(model.vocabulary)][words.ids], UNKNOWN_CHANCE)
    stem_chances = np.where(known, tables.stem_chances[words.ids], UNKNOWN_CHANCE).astype(np.float32)
    taken = kernel.words_taken_up(words.stems, content, stem_chances, words.bounds)
    found = kernel.recurrences(words.hashes, content, chances.astype(np.float32), words.bounds)
    drift = kernel.topic_drift(words.ids, tables.topics, tables.weights, words.bounds)
    fit = coherence.topic_fit(words.ids, tables.heavy_topics, tables.weights, words.bounds)
    fit = fit[:, :2] / np.maximum(1e-9, fit[:, 2:])
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
        "fits_near": fit[:, 0],
        "fits_far": fit[:, 1],
        "fits_nearer": fit[:, 0] - fit[:, 1],
        "topic_near": drift[:, 0],
        "topic_drift": (drift[:, 0] - drift[:, 1]) * drift[:, 2],
    }


def class_ids(words: Words, tables: Tables) -> NDArray[np.uint8]:
    """The class of each token: of the word if it is known, else by its ending."""
    unknown = np.where(words.kinds == shapes.WORD, tables.endings[words.endings], tables.others[words.kinds])
    return np.where(words.ids >= FIRST_WORD, tables.classes[words.ids], unknown).astype(np.uint8)


def fine_classes(words: Words, coarse: NDArray[np.uint8]) -> NDArray[np.uint16]:
    """The frequent words as classes of their own, the others by their class, whose numbers stand behind."""
    rank = words.ids - FIRST_WORD
    is_own = (rank >= 0) & (rank < FINE_WORDS)
    return np.where(is_own, rank + 1, FINE_WORDS + coarse.astype(np.int32)).astype(np.uint16)


def _patterns(words: Words, coarse: NDArray[np.uint8], tables: Tables) -> dict[str, NDArray[np.float64]]:
    fine = fine_classes(words, coarse)
    found = patterns.pattern_sums(fine, coarse, words.sentences, words.texts, tables.patterns)
    names = ("chain", "long_chain", "patchwork", "stuffing")
    columns: dict[str, NDArray[np.float64]] = {}
    for head, part in (("like", found[:, : patterns.KINDS + 1]), ("throughout", found[:, patterns.KINDS + 1 :])):
        means = part[:, :-1] * tables.pattern_steps / np.maximum(1, part[:, -1:])
        columns |= {f"{head}_{name}": means[:, place] for place, name in enumerate(names)}
    return columns


def _insertions(words: Words, coarse: NDArray[np.uint8], tables: Tables) -> dict[str, NDArray[np.float64]]:
    content = _is_content(words).astype(np.uint8)
    content <<= (words.ids >= FIRST_WORD).view(np.uint8)  # UNKNOWN_CONTENT becomes KNOWN_CONTENT
    logs = insertions.ClassLogs(tables.logs3, tables.logs2, tables.logs1, tables.step)
    found = insertions.insertions(coarse, words.hashes, content, words.sentences, words.texts, logs)
    number = np.maximum(1, found[:, 0] + found[:, 2])
    return {
        "put_in_again": found[:, 1] / np.maximum(1, found[:, 0]),
        "put_in_rather_again": found[:, 1] / (found[:, 0] + _FEW) - found[:, 3] / (found[:, 2] + _FEW),
        "put_in_everywhere": found[:, 4] / number,
        "put_in_in_all": found[:, 5] / number,
        "put_in_known": found[:, 7] / np.maximum(1, found[:, 6]),
    }


def _habits(words: Words, coarse: NDArray[np.uint8], tables: Tables) -> dict[str, NDArray[np.float64]]:
    common = np.clip(words.ids - (FIRST_WORD - 1), 0, FUNCTION_WORDS + 1) % (FUNCTION_WORDS + 1)
    labels = {
        "persons": tables.persons[words.ids],
        "tenses": tables.tenses[words.ids],
        "common": common.astype(np.uint8),
        "classes": np.maximum(coarse, np.uint8(tables.own)) - np.uint8(tables.own),
    }
    kinds = (len(PERSONS), len(TENSES), FUNCTION_WORDS, tables.logs1.size - 1 - tables.own)
    columns: dict[str, NDArray[np.float64]] = {}
    for (name, all_labels), number in zip(labels.items(), kinds, strict=True):
        places = np.flatnonzero(all_labels)
        bounds = np.searchsorted(places, words.bounds)
        found = habits.label_gains(all_labels[places] - np.uint8(1), places, number, bounds)
        means = found[:, 1:3] / np.maximum(1, found[:, :1])
        columns |= {f"{name}_kept": means[:, 0], f"{name}_kept_longer": means[:, 1], f"{name}_mixed": found[:, 3]}
    return columns


def _classes(words: Words, tables: Tables) -> dict[str, NDArray[np.float64]]:
    coarse = class_ids(words, tables)
    found = kernel.class_scores(
        coarse,
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
        **_insertions(words, coarse, tables),
        **_patterns(words, coarse, tables),
        **_habits(words, coarse, tables),
    }


def ngram_columns(
    model: Model, ids: NDArray[np.int32], sentences: NDArray[np.int64], texts: NDArray[np.int64]
) -> dict[str, NDArray[np.float64]]:
    """The measures of order. What a model of a low order or without counts cannot measure is 0."""
    found = model.text_sums(ids, sentences, texts)
    predicted = np.maximum(1, np.diff(ngram_bounds(sentences, 1)[texts]))
    known = np.maximum(1, found[:, scores.MATCHED : scores.MATCHED + 4])
    columns = {
        "word_rarity": -found[:, scores.LOG_1] / predicted,
        "gain_3": found[:, scores.GAIN_3] / predicted,
        "gain_4": found[:, scores.GAIN_4] / predicted,
        "log_p_3": found[:, scores.LOG_3] / predicted,
        "log_p_4": found[:, scores.LOG_4] / predicted,
        "hard_words": found[:, scores.HARD] / predicted,
        **{f"known_{n}": known[:, n - 1] / known[:, n - 2] * (n <= model.order) for n in (2, 3, 4)},
    }
    for order in (3, 4):
        histories = found[:, scores.KNOWN + order - 3]
        grams = np.maximum(1, np.diff(ngram_bounds(sentences, order)[texts]))
        columns[f"relative_entropy_{order}"] = found[:, scores.PENALTY + order - 3] / np.maximum(1, histories)
        columns[f"known_histories_{order}"] = histories / grams
    return columns


def _sentences(words: Words) -> dict[str, NDArray[np.float64]]:
    found = kernel.sentence_lengths(words.sentences, words.texts)
    names = ("sentence_length", "sentence_spread", "sentence_neighbours", "short_sentences", "long_sentences")
    return {name: found[:, place] for place, name in enumerate(names)}


def _balance(words: Words, tables: Tables) -> dict[str, NDArray[np.float64]]:
    brackets, alone, quotes, odd = balance.unpaired_marks(tables.roles[words.ids], words.sentences, words.texts).T
    return {
        "unpaired_brackets": alone / np.maximum(1, brackets),
        "unpaired_quotes": odd / np.maximum(1, quotes),
        "unpaired": np.log1p(alone + odd),
    }
