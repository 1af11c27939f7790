"""What the words of a model are, beside what was learned: their roles, persons, tenses, and how likely their stems are.

All of it follows from the vocabulary, so detectors do not store it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.kernels.text import balance
from samehand.kernels.text import word_shapes as shapes
from samehand.methods.language.model import Model

FUNCTION_WORDS = 150
"""So many of the most frequent words of the vocabulary say nothing about the subject of a text."""
UNKNOWN_CHANCE = 1e-6
"""The probability of a word that the model does not know."""
_ROLES = {
    balance.OPENS: "( [",
    balance.CLOSES: ") ]",
    balance.QUOTE: '"',
    balance.QUOTE_OPENS: "“ „ «",
    balance.QUOTE_CLOSES: "” »",
    balance.BESIDE: ": ; = - ^ 1 2 3 4 5 6 7 8 9 0 a b c d e f g i ii iii iv v x p o",
}
PERSONS = (
    *("i my me myself mine am", "we our us ourselves ours", "you your yourself yours ye thou thy"),
    *("he his him himself", "she her herself hers", "they their them themselves theirs"),
)
TENSES = (
    "was were had did said came went thought looked took saw knew told felt seemed found turned stood gave sat began "
    "cried made asked got heard",
    "is are has have do does am says comes goes think need want know",
    "will shall would could should might may can must 'll 'd",
)
"""Words that say who is spoken of, and of which time. Rarer words that end in "ed" speak of the past, too."""


def derived(model: Model, topics: NDArray[np.int8], weights: NDArray[np.float32]) -> dict[str, Any]:
    """The tables of a language that follow from its model and from the subjects of its words."""
    return {
        "stem_chances": _stem_chances(model),
        "heavy_topics": _heavy_topics(topics, weights),
        "roles": _roles(model),
        "persons": _listed(model, PERSONS),
        "tenses": _tenses(model),
    }


def _stem_chances(model: Model) -> NDArray[np.float32]:
    """For each word the probability that a content word has its stem."""
    vocabulary = model.vocabulary
    stems, kinds = shapes.word_shapes(vocabulary.blob, vocabulary.offsets[:-1], vocabulary.offsets[1:])[1:3]
    chances = np.where(kinds == shapes.WORD, 10.0 ** model.logs[: len(vocabulary)], 0)
    chances[: FIRST_WORD + FUNCTION_WORDS] = 0
    groups = np.unique(stems, return_inverse=True)[1]
    per_stem = np.bincount(groups, chances / chances.sum())[groups]
    return np.maximum(per_stem, UNKNOWN_CHANCE).astype(np.float32)


def _roles(model: Model) -> NDArray[np.uint8]:
    """For each word its role as a bracket or quote."""
    roles = {word: role for role, words in _ROLES.items() for word in words.split()}
    return np.array([roles.get(word.decode("utf-8", "replace"), balance.NONE) for word in model.vocabulary.words], "u1")


def _tenses(model: Model) -> NDArray[np.uint8]:
    """For each word the time it speaks of."""
    found = _listed(model, TENSES)
    rare = slice(FIRST_WORD + FUNCTION_WORDS, None)
    is_past = np.array([len(word) > 4 and word.endswith(b"ed") for word in model.vocabulary.words[rare]], np.bool_)
    found[rare][is_past & (found[rare] == 0)] = 1
    return found


def _listed(model: Model, lists: Sequence[str]) -> NDArray[np.uint8]:
    """For each word the number of the list that it stands in, from 1 on."""
    numbers = {word.encode(): number for number, words in enumerate(lists, 1) for word in words.split()}
    return np.array([numbers.get(word, 0) for word in model.vocabulary.words], np.uint8)


def _heavy_topics(topics: NDArray[np.int8], weights: NDArray[np.float32]) -> NDArray[np.int8]:
    """The vectors of words, longer for words that say more."""
    return np.round(topics * (weights / max(1e-9, float(weights.max(initial=0))))[:, None]).astype(np.int8)
