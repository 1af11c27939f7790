"""Why the detector says what it says: measures in plain words, and the places in the text that weighed most."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from samehand.methods.language.features import FEATURES, FIRST_WORD, Words
from samehand.methods.language.model import Model, ngram_bounds, ngram_places
from samehand.methods.language.tokens import Tokens

MOST_REASONS, MOST_PLACES = 4, 3
LONGEST_QUOTE = 160
_LEAST_WEIGHT = 0.3

MEANINGS = {
    "unknown_words": "words the model does not know",
    "function_words": "share of common words such as the, of and to",
    "content_words": "share of words of content",
    "marks": "share of punctuation",
    "numbers": "share of numbers",
    "back_within_50": "words of content come back within 50 words, against chance (log)",
    "back_within_250": "words of content come back within 250 words, against chance (log)",
    "back_ever": "words of content come back at all, against chance (log)",
    "extra_within_50": "share of words that take up one of the last 50, beyond chance",
    "extra_within_250": "share of words that take up one of the last 250, beyond chance",
    "extra_ever": "share of words that take up an earlier one, beyond chance",
    "taken_up": "what the text so far tells of its next words of content",
    "taken_up_share": "share of words whose stem was said a sentence ago and earlier, beyond chance",
    "near_pairs": "the same word in passages next to each other, against random order (log)",
    "near_pairs_z": "the same word in passages next to each other, against random order (deviations)",
    "distinct": "distinct words of content by all of them",
    "once": "share of words said only once",
    "commonest": "share of the commonest word of content",
    "five_commonest": "share of the five commonest words of content",
    "gaps": "gaps between the same word, against random order (log)",
    "topic_near": "likeness of the subjects of neighbouring passages",
    "topic_drift": "subjects of neighbours are more alike than those far apart by",
    "class_order": "surprise in the order of word classes",
    "class_gain": "what the words before tell of the class of the next",
    "class_breaks": "share of words of a class that does not fit where it stands",
    "put_in": "evidence of words put in between",
    "put_in_share": "share of words that look put in between others",
    "split_pairs": "pairs like 'of the' with a word put in between",
    "keywords": "share of words that spam is stuffed with",
    "keyword_kinds": "different words that spam is stuffed with (log)",
    "word_rarity": "rarity of the words",
    "gain_3": "what the two words before tell of the next",
    "gain_4": "what a third word before tells of the next",
    "log_p_3": "log10 probability of a word after two",
    "log_p_4": "log10 probability of a word after three",
    "hard_words": "share of words that the words before make less likely",
    "known_2": "share of known pairs of words",
    "known_3": "share of known triples, of the known pairs",
    "known_4": "share of known runs of four, of the known triples",
    "relative_entropy_3": "relative entropy of order 3",
    "relative_entropy_4": "relative entropy of order 4",
    "known_histories_3": "share of known histories of two words",
    "known_histories_4": "share of known histories of three words",
    "sentence_length": "mean length of sentences (log)",
    "sentence_spread": "spread of the lengths of sentences",
    "sentence_neighbours": "likeness of the lengths of neighbouring sentences",
    "short_sentences": "share of sentences of three words and fewer",
    "long_sentences": "share of sentences of sixty words and more",
    "repeated_phrases": "share of runs of six words said before",
}
"""What each of FEATURES but the length is called to a person."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Texts that were judged, to quote from."""

    tokens: Tokens
    words: Words


def reasons(
    features: Mapping[str, float], usual: Mapping[str, float], weights: NDArray[np.float32], *, is_fake: bool
) -> tuple[str, ...]:
    """The measures that spoke most for the verdict: what they are here, and what they are in natural text as long."""
    towards = weights if is_fake else -weights
    order = np.argsort(-towards, kind="stable")[:MOST_REASONS]
    names = [FEATURES[place + 1] for place in order.tolist() if towards[place] >= _LEAST_WEIGHT]
    return tuple(f"{MEANINGS[name]}: {features[name]:.3g} (natural text: {usual[name]:.3g})" for name in names)


def places(source: Source, model: Model, text: int) -> tuple[str, ...]:
    """The sentence that is least likely for its words, and the n-grams with the largest penalties."""
    words = source.words
    first, last = int(words.texts[text]), int(words.texts[text + 1])
    sentences = words.sentences[first : last + 1]
    gains = model.log_probabilities(words.ids, sentences, 3) - model.log_probabilities(words.ids, sentences, 1)
    sums = np.add.reduceat(gains, ngram_bounds(sentences, 1)[:-1]) if gains.size else np.zeros(0, np.float32)
    sizes = np.diff(sentences)
    found = []
    if (sizes >= 5).any():
        worst = int(np.where(sizes >= 5, sums / (sizes + 1), np.inf).argmin())
        begin, end = int(sentences[worst]), int(sentences[worst + 1]) - 1
        found.append(f"the least natural sentence: {_quoted(source.tokens, begin, end)}")
    grams = _odd_grams(source, model, sentences)
    return (*found, f"odd sequences: {'; '.join(grams)}") if grams else tuple(found)


def _odd_grams(source: Source, model: Model, sentences: NDArray[np.int64]) -> list[str]:
    """Runs of three known words that break the strongest tie of their first two."""
    penalties, known = model.relative_entropy(source.words.ids, sentences, 3)
    ends = ngram_places(sentences, 3)
    which = np.repeat(np.arange(sentences.size - 1), np.diff(sentences) + 1)
    tokens = sentences[0] + ends - which[ends]
    bounds = sentences[which[ends] + 1]
    begins = sentences[which[ends]]
    inside = known & (tokens < bounds) & (tokens - 2 >= begins)
    ids = source.words.ids
    inside &= ids[np.minimum(tokens, ids.size - 1)] >= FIRST_WORD
    order = np.argsort(-np.where(inside, penalties, -1), kind="stable")[:MOST_PLACES]
    return [
        _quoted(source.tokens, int(tokens[place]) - 2, int(tokens[place]))
        for place in order.tolist()
        if inside[place] and penalties[place] > 0
    ]


def _quoted(tokens: Tokens, first: int, last: int) -> str:
    """The words of a text from one token to another, on one line and not too long, unprintable characters left out."""
    raw = tokens.data[tokens.starts[first] : tokens.ends[last]].tobytes()[: 4 * LONGEST_QUOTE]
    text = " ".join("".join(c if c.isprintable() else " " for c in raw.decode("utf-8", "replace")).split())
    return f"“{text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + '…'}”"
