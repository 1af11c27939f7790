"""Seeded generators of fake text, as in the detection game of section 3.3 of the paper.

A text is word ids and the offsets of its sentences. Ids 0, 1 and 2 are the unknown word and the begin and end of a
sentence; the last two never stand in a text itself. Every generator works on the text that a spammer has, and knows
nothing about the detector's model.

* `pw5`, `pw10`, "patchworks of sequences of 5 or 10 words": sequences of so many words, which begin anywhere in the
  source, joined. Punctuation marks are words, as they are to the models. Sentences end where they end in the source.
* `ws10`, `ws25`, `ws50`, "natural text stuffed with 10%, 25% or 50% of common spam keywords": a passage of the source
  from the begin of a sentence on, with keywords inserted at random places. The share is of the words of the result;
  all keywords are equally likely.
* `lm2`, `lm3`, `lm4`, "Markovian texts, using 2, 3 and 4-gram language models": every word is drawn with the frequency
  with which it follows the n - 1 words before it in the source. The paper's generator was a smoothed model, which also
  makes n-grams that nobody wrote. Ours makes only n-grams of the source, and so is harder to detect. `sample` draws
  from any model, a smoothed one too.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams.tries import END, START
from samehand.methods.language import KINDS

LONGEST_SENTENCE = 1000
"""A sampled sentence ends after so many words: some models would never end it."""

_KEYWORDS = """viagra cialis levitra pharmacy pills prescription tramadol xanax valium ambien phentermine hydrocodone
soma casino poker blackjack roulette slots jackpot betting lottery bonus gambling bingo mortgage refinance loan loans
credit debt insurance payday cash rates quote quotes forex stocks investment free cheap discount buy sale order online
price prices shipping guarantee offer offers deal deals replica watches rolex handbags ringtones downloads download
software antivirus dvd mp3 dating singles webcam adult porn sex nude xxx escort weight diet fat loss enlargement
enhancement herbal supplements hair removal acne hosting domain seo backlinks traffic marketing affiliate earn income
work home degree diploma essay thesis travel hotel hotels flights vacation lawyer attorney mesothelioma asbestos"""
SPAM_KEYWORDS = tuple(_KEYWORDS.split())
"""Words that spam is stuffed with."""

_NO_SPACE_BEFORE = frozenset(",.;:!?)]}%…”»。，！？、") | {"...", ".."}
_NO_SPACE_AFTER = frozenset("([{$£€#“‘«„¿¡")
_CLITICS = frozenset(("'s", "'m", "'d", "'ll", "'re", "'ve", "n't"))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class WordText:
    """Word ids of a text. Sentence i has ids[sentences[i]:sentences[i+1]]."""

    ids: NDArray[np.int32]
    sentences: NDArray[np.int64]

    def __post_init__(self) -> None:
        if (
            self.sentences.size < 2
            or self.sentences[0] != 0
            or self.sentences[-1] != self.ids.size
            or not self.ids.size
        ):
            raise UsageError("There is no text to generate from: give a text with at least one word.")


def number_of(kind: str) -> int:
    """The number in the name of one of KINDS: words, percent or order."""
    if kind not in KINDS:
        raise UsageError(f"There is no generator {kind!r}: choose one of {', '.join(KINDS)}.")
    return int(kind[2:])


class Generator:
    """Makes texts of one of KINDS from a source. Stuffing needs the ids of keywords."""

    def __init__(self, kind: str, source: WordText, *, keywords: NDArray[np.int32] | None = None) -> None:
        number = number_of(kind)
        if kind.startswith("ws"):
            if keywords is None or not keywords.size:
                raise UsageError(f"{kind} inserts keywords into text: give their ids.")
            self._draw = functools.partial(_stuffed, source, number / 100, keywords)
        elif kind.startswith("pw"):
            self._draw = functools.partial(_patchwork, source, number)
        else:
            self._draw = functools.partial(_markov, _Places.of(source, number - 1))

    def generate(self, words: int, seed: int) -> WordText:
        """A text of `words` words. The same seed gives the same text."""
        if words < 1:
            raise UsageError(f"A text cannot have {words} words: ask for one or more.")
        ids, ends = self._draw(words, np.random.Generator(np.random.PCG64(seed)))
        bounds = np.flatnonzero(ends[:words]) + 1
        return WordText(
            ids[:words].astype(np.int32), np.unique(np.concatenate([[0], bounds, [words]])).astype(np.int64)
        )


def _sentence_ends(source: WordText) -> NDArray[np.bool_]:
    """Whether a sentence ends after each word."""
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
    """A passage with keywords inserted. A source that is too short is repeated."""
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
    """Where each history of a source occurs.

    Sentences lie end to end, each with as many begins before it as a history has words, and an end after it. `groups`
    numbers the history that ends at each place; order[bounds[g]:bounds[g+1]] are the places of history g. Choosing one
    of these places at random, and taking the word after it, draws a word with its frequency after the history.
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
        words = np.full(source.ids.size + sizes.size * (length + 1), START, np.int32)
        words[np.arange(source.ids.size) + sentence_of * (length + 1) + length] = source.ids
        words[np.cumsum(sizes + length + 1) - 1] = END
        groups = ngram_groups(words, length)
        order = np.argsort(groups, kind="stable")
        return cls(words, groups, order, np.searchsorted(groups[order], np.arange(int(groups.max()) + 2)), length)


def ngram_groups(words: NDArray[np.int32], length: int) -> NDArray[np.int64]:
    """Numbers the n-grams of `length` words by the place where they end. Equal n-grams have equal numbers.

    The first places, where a whole n-gram does not fit, have numbers of their own.
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


Successors = Callable[[Sequence[int]], tuple[NDArray[np.int32], NDArray[np.float64]]]
"""The words that can follow a history, and their probabilities."""


def sample(successors: Successors, *, order: int, words: int, seed: int) -> WordText:
    """A text drawn from a model of this order."""
    random = np.random.Generator(np.random.PCG64(seed))
    ids: list[int] = []
    bounds = [0]
    while len(ids) < words:
        history = [START, *ids[bounds[-1] :]][-(order - 1) :] if order > 1 else []
        following, probabilities = successors(history)
        sums = np.cumsum(probabilities)
        word = int(following[min(int(np.searchsorted(sums, random.random() * sums[-1], "right")), sums.size - 1)])
        if word == END or len(ids) - bounds[-1] >= LONGEST_SENTENCE:
            bounds += [len(ids)] * (len(ids) > bounds[-1])
        else:
            ids.append(word)
    return WordText(np.array(ids, np.int32), np.unique([*bounds, words]).astype(np.int64))


def detokenize(words: Sequence[str]) -> str:
    """Tokens as a person would write them. `tokenize` finds most of them again."""
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
