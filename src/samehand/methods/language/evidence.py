"""Why a text got its verdict: sentences about what was found, beside what is usual, and quotes from the text."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.methods.language.features import Words
from samehand.methods.language.measures import MEASURES, percent, reason
from samehand.methods.language.model import Model, ngram_bounds, ngram_places
from samehand.methods.language.tokens import Tokens

MOST_REASONS, MOST_SEQUENCES = 4, 3
LONGEST_QUOTE = 160
_LEAST_WEIGHT = 0.3
"""A measure gives a reason if it moves the log-odds of the verdict by this much."""


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
        if MEASURES[name][0] not in found:
            found[MEASURES[name][0]] = reason(name, here[name], usual[name])
    return tuple(found.values())


def too_short(words: int, needed: int) -> str:
    """Why a text of few words gets no verdict."""
    return f"The text has {words} words of prose; a verdict needs {needed}."


def unknown_words(known: float, needed: float) -> str:
    """Why a text in another language gets no verdict."""
    return f"The language model knows {percent(known)} of its words; a verdict needs {percent(needed)}."


def short_words(share: float, most: float) -> str:
    """Why a text in a spelling of its own gets no probability."""
    return f"{MEASURES['unknown_short'][2].format(percent(share))}; for a verdict at most {percent(most)} may be."


def few_common_words(common: float, needed: float) -> str:
    """Why a text that is not running text gets no verdict."""
    said = MEASURES["function_words"][2].format(percent(common))
    return f"{said}; a verdict needs {percent(needed)}."


def word_salad(common: float) -> str:
    """Why sentences without common words are fake."""
    said = MEASURES["function_words"][2].format(percent(common))
    return f"{said}, in the form of sentences: word salad. In running text they are 30 % or more."


def shuffled_words(gain: float) -> str:
    """Why a text whose words stand in no order is fake."""
    _, told, sentence = MEASURES["gain_3"]
    return f"{sentence.format(told(gain))} as chance does: word salad."


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
