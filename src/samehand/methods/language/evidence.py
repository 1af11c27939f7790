"""Why a text got its verdict: sentences about what was found, beside what is usual, and quotes from the text."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.methods.language.features import Words
from samehand.methods.language.model import Model, ngram_bounds, ngram_places
from samehand.methods.language.tokens import Tokens

MOST_REASONS, MOST_SEQUENCES = 4, 3
LONGEST_QUOTE = 160
_LEAST_WEIGHT = 0.3
"""A measure gives a reason if it moves the log-odds of the verdict by this much."""


def percent(share: float) -> str:
    """A share for people. Shares beyond chance can be negative: those are 0 %."""
    value = 100 * max(0.0, share)
    return f"{value:.0f} %" if value >= 10 or value < 0.05 else f"{value:.1f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2f}"


def _raised(base: float, exponent: float) -> float:
    return float(base ** min(exponent, 30.0))


def _rest(share: float) -> str:
    return percent(1 - share)


def _times(log: float) -> str:
    return f"{_number(_raised(math.e, log))} times"


def _times10(log: float) -> str:
    return f"{_number(_raised(10, log))} times"


def _one_of(log: float) -> str:
    return f"one of {_number(_raised(math.e, log))}"


def _one_of10(log: float) -> str:
    return f"one of {_number(_raised(10, -log))}"


def _degree(value: float) -> str:
    return f"{value:.2f}"


class _Sentence(NamedTuple):
    """How a measure is told. Of the measures about one subject, only the one that weighs most gives a reason."""

    subject: str
    text: str
    show: Callable[[float], str] = percent


SENTENCES = {
    "unknown_words": _Sentence("words", "{} of its words are unknown to the language model"),
    "word_rarity": _Sentence(
        "words",
        "A typical word of it occurs {} words of ordinary text",
        lambda log: f"once in {_number(_raised(10, log))}",
    ),
    "function_words": _Sentence("composition", "{} of its words are common ones such as “the”, “of” and “to”"),
    "content_words": _Sentence("composition", "Content words make up {} of the text"),
    "marks": _Sentence("punctuation", "Punctuation makes up {} of the text"),
    "numbers": _Sentence("numbers", "Numbers make up {} of the text"),
    "back_within_50": _Sentence(
        "repetition", "Content words come back within 50 words {} as often as by chance", _times
    ),
    "back_within_250": _Sentence(
        "repetition", "Content words come back within 250 words {} as often as by chance", _times
    ),
    "back_ever": _Sentence("repetition", "Content words come back {} as often as by chance", _times),
    "extra_within_50": _Sentence("repetition", "Chance apart, {} of its content words repeat one of the last 50 words"),
    "extra_within_250": _Sentence(
        "repetition", "Chance apart, {} of its content words repeat one of the last 250 words"
    ),
    "extra_ever": _Sentence("repetition", "Chance apart, {} of its content words repeat an earlier one"),
    "distinct": _Sentence("repetition", "{} of its content words were not used before in the text"),
    "once": _Sentence("repetition", "{} of its different content words occur only once"),
    "commonest": _Sentence("frequent words", "One word makes up {} of its content words"),
    "five_commonest": _Sentence("frequent words", "Five words make up {} of its content words"),
    "taken_up": _Sentence("coherence", "What the text said before makes its content words {} as likely", _times),
    "taken_up_share": _Sentence(
        "coherence", "Chance apart, {} of its content words take up a word said a sentence ago or earlier"
    ),
    "near_pairs": _Sentence(
        "passages", "Neighbouring passages share words {} as often as if the words were shuffled", _times
    ),
    "near_pairs_z": _Sentence(
        "passages",
        "Neighbouring passages share words {} more often than if the words were shuffled",
        lambda value: f"{value:.1f} standard deviations",
    ),
    "gaps": _Sentence("passages", "Repeated words stand {} as far apart as if the words were shuffled", _times),
    "topic_near": _Sentence("subject", "Neighbouring passages agree in subject by {}"),
    "topic_drift": _Sentence("subject", "Neighbouring passages agree in subject by {} more than distant ones"),
    "class_order": _Sentence("grammar", "The kind of the next word (noun, verb, …) is as hard to guess as {}", _one_of),
    "class_gain": _Sentence(
        "grammar", "The two words before make the kind of the next word (noun, verb, …) {} as likely", _times
    ),
    "class_breaks": _Sentence(
        "grammar", "{} of its words are of a kind that does not fit there, such as a verb after “the”"
    ),
    "put_in": _Sentence(
        "insertions", "Its words fit between their neighbours {} as well as random words", lambda log: _times(-log)
    ),
    "put_in_share": _Sentence("insertions", "{} of its words look inserted between words that belong together"),
    "split_pairs": _Sentence("insertions", "{} of its fixed pairs such as “of the” are split by another word"),
    "keywords": _Sentence("keywords", "{} of its words are spam keywords"),
    "keyword_kinds": _Sentence(
        "keywords", "It uses {} different spam keywords", lambda log: f"{_raised(math.e, log) - 1:.0f}"
    ),
    "gain_3": _Sentence("prediction", "The two words before make the next word {} as likely", _times10),
    "gain_4": _Sentence(
        "prediction", "With a third word before it, the next word is {} as likely as with two", _times10
    ),
    "log_p_3": _Sentence("prediction", "After two words, the next word is as hard to guess as {}", _one_of10),
    "log_p_4": _Sentence("prediction", "After three words, the next word is as hard to guess as {}", _one_of10),
    "hard_words": _Sentence("prediction", "{} of its words hardly ever follow the words before them"),
    "known_2": _Sentence("sequences", "{} of its word pairs occur nowhere in ordinary text", _rest),
    "known_3": _Sentence(
        "sequences", "{} of its ordinary word pairs go on with a word that never follows them in ordinary text", _rest
    ),
    "known_4": _Sentence(
        "sequences", "{} of its ordinary three-word sequences go on with a word that never follows them", _rest
    ),
    "known_histories_3": _Sentence("sequences", "{} of its two-word sequences occur nowhere in ordinary text", _rest),
    "known_histories_4": _Sentence("sequences", "{} of its three-word sequences occur nowhere in ordinary text", _rest),
    "relative_entropy_3": _Sentence(
        "phrases", "It departs from the usual third word of phrases by {} (relative entropy)", _degree
    ),
    "relative_entropy_4": _Sentence(
        "phrases", "It departs from the usual fourth word of phrases by {} (relative entropy)", _degree
    ),
    "sentence_length": _Sentence(
        "sentences", "A typical sentence has {}", lambda log: f"{_number(_raised(math.e, log))} words"
    ),
    "sentence_spread": _Sentence(
        "sentences", "Sentences vary in length by {}", lambda log: f"a factor of {_number(_raised(math.e, log))}"
    ),
    "sentence_neighbours": _Sentence(
        "sentences", "The lengths of neighbouring sentences have a correlation of {}", _degree
    ),
    "short_sentences": _Sentence("sentences", "{} of its sentences have at most three words"),
    "long_sentences": _Sentence("sentences", "{} of its sentences have sixty words or more"),
    "repeated_phrases": _Sentence("repeated phrases", "{} of its six-word sequences repeat an earlier one"),
}
"""One sentence for each of FEATURES but the length."""


def reason(name: str, here: float, usual: float) -> str:
    """A measure of a text, beside what is usual, as one sentence."""
    said = SENTENCES[name]
    return f"{said.text.format(said.show(here))}; usual is {said.show(usual)}."


def reasons(
    names: Sequence[str],
    here: Mapping[str, float],
    usual: Mapping[str, float],
    weights: NDArray[np.floating],
    *,
    is_fake: bool,
) -> tuple[str, ...]:
    """The measures that weighed most for the verdict, and at least one. `weights` are their log-odds for a fake."""
    towards = weights if is_fake else -weights
    found: dict[str, str] = {}
    for place in np.argsort(-towards, kind="stable").tolist():
        if len(found) == MOST_REASONS or (found and towards[place] < _LEAST_WEIGHT):
            break
        name = names[place]
        found.setdefault(SENTENCES[name].subject, reason(name, here[name], usual[name]))
    return tuple(found.values())


def too_short(words: int, needed: int) -> str:
    """Why a text of few words gets no verdict."""
    return f"The text has {words} words; a verdict needs {needed}."


def unknown_words(known: float, needed: float) -> str:
    """Why a text in another language gets no verdict."""
    return f"The language model knows {percent(known)} of its words; a verdict needs {percent(needed)}."


def few_common_words(common: float, needed: float) -> str:
    """Why a text that is not running text gets no verdict."""
    said = SENTENCES["function_words"].text.format(percent(common))
    return f"{said}; a verdict needs {percent(needed)}."


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Texts that were judged, to quote from."""

    tokens: Tokens
    words: Words


def quotes(source: Source, model: Model, text: int) -> tuple[str, ...]:
    """The sentence whose words predict each other least, and the n-grams with the largest penalties."""
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
        found.append(f"Its least natural sentence: {_quoted(source.tokens, begin, end)}")
    if sequences := _odd_sequences(source, model, sentences):
        found.append(f"Its least natural word sequences: {', '.join(sequences)}")
    return tuple(found)


def _odd_sequences(source: Source, model: Model, sentences: NDArray[np.int64]) -> list[str]:
    """The sequences of three known words that break the strongest ties of their first two words."""
    penalties, known = model.relative_entropy(source.words.ids, sentences, 3)
    ends = ngram_places(sentences, 3)
    which = np.repeat(np.arange(sentences.size - 1), np.diff(sentences) + 1)
    tokens = sentences[0] + ends - which[ends]
    bounds = sentences[which[ends] + 1]
    begins = sentences[which[ends]]
    inside = known & (tokens < bounds) & (tokens - 2 >= begins)
    ids = source.words.ids
    inside &= ids[np.minimum(tokens, ids.size - 1)] >= FIRST_WORD
    order = np.argsort(-np.where(inside, penalties, -1), kind="stable")[:MOST_SEQUENCES]
    return [
        _quoted(source.tokens, int(tokens[place]) - 2, int(tokens[place]))
        for place in order.tolist()
        if inside[place] and penalties[place] > 0
    ]


def _quoted(tokens: Tokens, first: int, last: int) -> str:
    """The text from one token to another, shortened and on one line, without unprintable characters."""
    raw = tokens.data[tokens.starts[first] : tokens.ends[last]].tobytes()[: 4 * LONGEST_QUOTE]
    text = " ".join("".join(c if c.isprintable() else " " for c in raw.decode("utf-8", "replace")).split())
    return f"“{text if len(text) <= LONGEST_QUOTE else text[:LONGEST_QUOTE] + '…'}”"
