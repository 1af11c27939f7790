"""Fake text for the detection game (section 3.3 of the paper): the other player, seeded.

A text is word ids, 0 the unknown word, 1 and 2 the begin and end of a sentence (never in a text itself), and where its
sentences end. Every generator works on the text that the spammer has, and knows nothing of the detector's model.

* `pw5`, `pw10`, "patchworks of sequences of 5 or 10 words": runs of so many words, begun anywhere in the source, one
  behind the other. Punctuation is words, as it is to the models. A sentence ends where it ended in the source.
* `ws10`, `ws25`, `ws50`, "natural text stuffed with 10%, 25% or 50% of common spam keywords": a passage of the source,
  begun with a sentence, with keywords put in between its words at random places. The share is of the words of the
  result; keywords are drawn evenly.
* `lm2`, `lm3`, `lm4`, "Markovian texts, using 2, 3 and 4-gram language models": every word is drawn as often as it
  follows the n - 1 words before it in the source, sentences having a begin and an end. The paper's generator was a
  smoothed model, which also makes n-grams that no one wrote; ours makes none but natural n-grams and so is the harder
  one to find. `sample` draws from any model, a smoothed one too.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.methods.language import KINDS

UNKNOWN, BEGIN, END = 0, 1, 2
LONGEST_SENTENCE = 1000
"""A sampled sentence of so many words ends: a model may have no way out."""

_KEYWORDS = """viagra cialis levitra pharmacy pills prescription tramadol xanax valium ambien phentermine hydrocodone
soma casino poker blackjack roulette slots jackpot betting lottery bonus gambling bingo mortgage refinance loan loans
credit debt insurance payday cash rates quote quotes forex stocks investment free cheap discount buy sale order online
price prices shipping guarantee offer offers deal deals replica watches rolex handbags ringtones downloads download
software antivirus dvd mp3 dating singles webcam adult porn sex nude xxx escort weight diet fat loss enlargement
enhancement herbal supplements hair removal acne hosting domain seo backlinks traffic marketing affiliate earn income
work home degree diploma essay thesis travel hotel hotels flights vacation lawyer attorney mesothelioma asbestos"""
SPAM_KEYWORDS = tuple(_KEYWORDS.split())
"""Words that spam is stuffed with; a vocabulary must know them for their ids to be had."""

_NO_SPACE_BEFORE = frozenset(",.;:!?)]}%…”»。，！？、") | {"...", ".."}
_NO_SPACE_AFTER = frozenset("([{$£€#“‘«„¿¡")
_CLITICS = frozenset(("'s", "'m", "'d", "'ll", "'re", "'ve", "n't"))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class WordText:
    """Word ids of a text; sentence i has ids[sentences[i]:sentences[i+1]]."""

    ids: NDArray[np.int32]
    sentences: NDArray[np.int64]

    def __post_init__(self) -> None:
        if (
            self.sentences.size < 2
            or self.sentences[0] != 0
            or self.sentences[-1] != self.ids.size
            or not self.ids.size
        ):
            raise UsageError("There is no text to generate from: give ids, and the bounds of their sentences.")


def generate(
    kind: str, source: WordText, *, words: int, seed: int, keywords: NDArray[np.int32] | None = None
) -> WordText:
    """A text of one of KINDS, `words` long; `keywords` are needed for stuffing. For many texts keep a `Generator`."""
    return Generator(kind, source, keywords=keywords).generate(words, seed)


class Generator:
    """One of KINDS over a source, prepared once."""

    def __init__(self, kind: str, source: WordText, *, keywords: NDArray[np.int32] | None = None) -> None:
        if kind not in KINDS:
            raise UsageError(f"There is no generator {kind!r}: choose one of {', '.join(KINDS)}.")
        number = int(kind[2:])
        if kind.startswith("ws"):
            if keywords is None or not keywords.size:
                raise UsageError(f"{kind} stuffs text with keywords: give their ids.")
            self._draw = functools.partial(_stuffed, source, number / 100, keywords)
        elif kind.startswith("pw"):
            self._draw = functools.partial(_patchwork, source, number)
        else:
            self._draw = functools.partial(_markov, _Places.of(source, number - 1))

    def generate(self, words: int, seed: int) -> WordText:
        """A text of `words` words; the same for the same seed."""
        if words < 1:
            raise UsageError(f"{words} words are no text: ask for one and more.")
        ids, ends = self._draw(words, np.random.Generator(np.random.PCG64(seed)))
        bounds = np.flatnonzero(ends[:words]) + 1
        return WordText(
            ids[:words].astype(np.int32), np.unique(np.concatenate([[0], bounds, [words]])).astype(np.int64)
        )


def _sentence_ends(source: WordText) -> NDArray[np.bool_]:
    """For each word whether a sentence ends behind it."""
    ends = np.zeros(source.ids.size, np.bool_)
    bounds = source.sentences[1:]
    ends[bounds[bounds > 0] - 1] = True
    return ends


def _patchwork(
    source: WordText, length: int, words: int, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    length = min(length, source.ids.size)
    starts = random.integers(0, source.ids.size - length + 1, -(-words // length))
    places = (starts[:, None] + np.arange(length)).ravel()
    return source.ids[places], _sentence_ends(source)[places]


def _stuffed(
    source: WordText, share: float, keywords: NDArray[np.int32], words: int, random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """A passage with keywords in it; a source that ends before the passage does begins anew."""
    stuffed = round(words * share)
    begin = source.sentences[random.integers(0, source.sentences.size - 1)]
    places = (begin + np.arange(words - stuffed)) % source.ids.size
    is_keyword = np.zeros(words, np.bool_)
    is_keyword[random.permutation(words)[:stuffed]] = True
    ids, ends = np.empty(words, np.int32), np.zeros(words, np.bool_)
    ids[is_keyword] = random.choice(keywords, stuffed)
    ids[~is_keyword], ends[~is_keyword] = source.ids[places], _sentence_ends(source)[places]
    return ids, ends


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where each history of a source stands.

    Sentences lie end to end, each with as many begins before it as a history has words, and an end behind it. `groups`
    numbers the history that ends at each place; order[bounds[g]:bounds[g+1]] are the places of history g. To draw a
    word as often as it follows a history is to choose one of its places, and look behind.
    """

    words: NDArray[np.int32]
    groups: NDArray[np.int64]
    order: NDArray[np.int64]
    bounds: NDArray[np.int64]
    length: int

    @classmethod
    def of(cls, source: WordText, length: int) -> "_Places":
        sizes = np.diff(source.sentences)
        sentence_of = np.repeat(np.arange(sizes.size), sizes)
        words = np.full(source.ids.size + sizes.size * (length + 1), BEGIN, np.int32)
        words[np.arange(source.ids.size) + sentence_of * (length + 1) + length] = source.ids
        words[np.cumsum(sizes + length + 1) - 1] = END
        groups = ngram_groups(words, length)
        order = np.argsort(groups, kind="stable")
        return cls(words, groups, order, np.searchsorted(groups[order], np.arange(int(groups.max()) + 2)), length)


def ngram_groups(words: NDArray[np.int32], length: int) -> NDArray[np.int64]:
    """For each place the number of the n-gram of `length` words that ends there; equal n-grams have equal numbers.

    The n-grams at the first places, which are shorter, count as n-grams of their own.
    """
    groups = np.unique(words, return_inverse=True)[1].astype(np.int64)
    single, several = groups, int(groups.max(initial=0)) + 1
    for _ in range(length - 1):
        before = np.concatenate([[np.int64(-1)], groups[:-1]]) + 1
        groups = np.unique(before * several + single, return_inverse=True)[1].astype(np.int64)
    return groups


def _markov(places: _Places, words: int, random: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    ids, ends = np.empty(words, np.int32), np.zeros(words, np.bool_)
    begin = places.length - 1
    place, count = begin, 0
    while count < words:
        for chance in random.random(words).tolist():
            group = places.groups[place]
            first, last = places.bounds[group], places.bounds[group + 1]
            place = int(places.order[first + int(chance * (last - first))]) + 1
            word = places.words[place]
            if word == END:
                ends[max(count - 1, 0)] = count > 0
                place = begin
                continue
            ids[count] = word
            count += 1
            if count == words:
                break
    return ids, ends


def sample(
    successors: Callable[[Sequence[int]], tuple[NDArray[np.int32], NDArray[np.float64]]],
    *,
    order: int,
    words: int,
    seed: int,
) -> WordText:
    """A text drawn from a model: `successors` gives the words that may follow a history and their probabilities."""
    random = np.random.Generator(np.random.PCG64(seed))
    ids: list[int] = []
    bounds = [0]
    while len(ids) < words:
        history = [BEGIN, *ids[bounds[-1] :]][-(order - 1) :] if order > 1 else []
        following, probabilities = successors(history)
        sums = np.cumsum(probabilities)
        word = int(following[min(int(np.searchsorted(sums, random.random() * sums[-1], "right")), sums.size - 1)])
        if word == END or len(ids) - bounds[-1] >= LONGEST_SENTENCE:
            bounds += [len(ids)] * (len(ids) > bounds[-1])
        else:
            ids.append(word)
    return WordText(np.array(ids, np.int32), np.unique([*bounds, words]).astype(np.int64))


def detokenize(words: Sequence[str]) -> str:
    """Tokens as a person would write them; `tokenize` finds most of them again."""
    parts: list[str] = []
    is_quoted = False
    glue = True
    for word in words:
        before = parts[-1][-1:] if parts else ""
        joins = glue or word in _NO_SPACE_BEFORE or (word.lower().replace("’", "'") in _CLITICS and before.isalnum())
        glue = word in _NO_SPACE_AFTER
        if word in ('"', "''", "``"):
            joins, glue = joins or is_quoted, not is_quoted
            is_quoted = not is_quoted
        elif word in ("'", "’"):
            joins = joins or before in ("s", "S")
        if word.startswith((".", "…")) and before in (".", "…"):
            joins = not parts
        parts.append(word if joins else " " + word)
    return "".join(parts)
