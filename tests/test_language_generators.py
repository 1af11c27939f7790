"""Generators: each does what the paper says, the same for the same seed, and its text reads back as its tokens."""

import collections
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from language_corpus import words_of
from samehand.base.errors import UsageError
from samehand.kernels.ngrams.tries import END, START
from samehand.methods.language.generators import (
    KINDS,
    SPAM_KEYWORDS,
    Generator,
    WordText,
    detokenize,
    ngram_groups,
    sample,
)
from samehand.methods.language.tokens import tokenize

KEYWORDS = np.arange(1000, 1010, dtype=np.int32)


def corpus(seed: int = 1, sentences: int = 400, words: int = 30) -> WordText:
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = random.integers(1, 12, sentences)
    ids = (3 + random.zipf(1.5, int(sizes.sum())) % words).astype(np.int32)
    return WordText(ids, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


def generate(
    kind: str, source: WordText, *, words: int, seed: int, keywords: NDArray[np.int32] | None = None
) -> WordText:
    return Generator(kind, source, keywords=keywords).generate(words, seed)


def padded_ngrams(text: WordText, order: int) -> set[tuple[int, ...]]:
    """Every n-gram of the sentences with their begins and ends."""
    found = set()
    bounds = text.sentences.tolist()
    for first, last in itertools.pairwise(bounds):
        padded = [START] * (order - 1) + text.ids[first:last].tolist() + [END]
        found |= {tuple(padded[i : i + order]) for i in range(len(padded) - order + 1)}
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_has_the_words_asked_for_and_hangs_on_its_seed_alone(kind: str) -> None:
    source = corpus()
    one, same, other = (generate(kind, source, words=500, seed=seed, keywords=KEYWORDS) for seed in (5, 5, 6))
    assert one.ids.size == 500
    assert one.ids.dtype == np.int32
    assert np.array_equal(one.ids, same.ids)
    assert np.array_equal(one.sentences, same.sentences)
    assert not np.array_equal(one.ids, other.ids)
    assert one.sentences[0] == 0
    assert one.sentences[-1] == 500
    assert (np.diff(one.sentences) > 0).all()


@pytest.mark.parametrize("length", [5, 10])
def test_patchworks_are_runs_of_the_source(length: int) -> None:
    source = corpus(words=5000)
    runs = {tuple(source.ids[i : i + length].tolist()) for i in range(source.ids.size - length + 1)}
    made = generate(f"pw{length}", source, words=length * 50 + 3, seed=2)
    pieces = [tuple(made.ids[i : i + length].tolist()) for i in range(0, length * 50, length)]
    assert set(pieces) <= runs
    assert len(set(pieces)) > 40


@pytest.mark.parametrize("share", [10, 25, 50])
def test_stuffing_puts_keywords_into_natural_text(share: int) -> None:
    source = corpus()
    made = generate(f"ws{share}", source, words=1000, seed=3, keywords=KEYWORDS)
    is_keyword = np.isin(made.ids, KEYWORDS)
    assert is_keyword.sum() == 10 * share
    natural = made.ids[~is_keyword]
    begins = [
        begin
        for begin in source.sentences[:-1].tolist()
        if np.array_equal(np.take(source.ids, range(begin, begin + natural.size), mode="wrap"), natural)
    ]
    assert begins


@pytest.mark.parametrize("order", [2, 3, 4])
def test_markov_text_has_the_ngrams_of_its_source_and_no_others(order: int) -> None:
    source = corpus()
    made = generate(f"lm{order}", source, words=3000, seed=4)
    finished = WordText(made.ids[: made.sentences[-2]], made.sentences[:-1])
    assert padded_ngrams(finished, order) <= padded_ngrams(source, order)
    assert not padded_ngrams(finished, order + 1) <= padded_ngrams(source, order + 1)


def test_markov_words_are_drawn_as_often_as_they_follow() -> None:
    ids = np.array([3, 4, 3, 4, 3, 4, 3, 5], np.int32)
    source = WordText(ids, np.arange(0, 9, 2))
    made = generate("lm2", source, words=40_000, seed=7)
    behind = collections.Counter(made.ids[1::2].tolist())
    assert behind[4] / 20_000 == pytest.approx(0.75, abs=0.02)
    assert behind[5] / 20_000 == pytest.approx(0.25, abs=0.02)


def test_a_generator_keeps_no_state_between_texts() -> None:
    generator = Generator("lm3", corpus())
    first = generator.generate(100, 9).ids
    generator.generate(100, 10)
    assert np.array_equal(generator.generate(100, 9).ids, first)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 4))
def test_equal_ngrams_have_equal_numbers(words: list[int], length: int) -> None:
    groups = ngram_groups(np.array(words, np.int32), length).tolist()
    ngrams = [tuple(words[max(0, i - length + 1) : i + 1]) for i in range(len(words))]
    assert len(set(zip(groups, ngrams, strict=True))) == len(set(groups)) == len(set(ngrams))


def test_a_model_is_sampled_by_its_probabilities() -> None:
    def successors(history: object) -> tuple[np.ndarray, np.ndarray]:
        return np.array([END, 3, 4], np.int32), np.array([0.25, 0.5, 0.25])

    made = sample(successors, order=3, words=20_000, seed=1)
    assert made.ids.size == 20_000
    assert np.mean(made.ids == 3) == pytest.approx(2 / 3, abs=0.02)
    assert np.diff(made.sentences).mean() == pytest.approx(4, abs=0.2)


def test_a_model_without_an_end_makes_sentences_all_the_same() -> None:
    made = sample(lambda _: (np.array([3], np.int32), np.array([1.0])), order=1, words=2500, seed=1)
    assert np.diff(made.sentences).max() == 1000


@pytest.mark.parametrize(
    ("kind", "words", "message"), [("lm9", 5, "no generator"), ("ws10", 5, "keywords"), ("pw5", 0, "0 words")]
)
def test_what_cannot_be_made_is_refused(kind: str, words: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        generate(kind, corpus(), words=words, seed=1)


def test_a_source_without_words_is_refused() -> None:
    with pytest.raises(UsageError, match="no text"):
        WordText(np.zeros(0, np.int32), np.zeros(1, np.int64))


def test_keywords_are_single_tokens() -> None:
    data = np.frombuffer(" ".join(SPAM_KEYWORDS).encode(), np.uint8)
    assert words_of(tokenize(data, np.array([0, data.size])), 0) == list(SPAM_KEYWORDS)


SENTENCES = (
    "Mr. Smith can't come (he's ill), but we'll go.",
    'He said: "It is 5% of $1,000.50!" and left.',
    "The dogs' dinner, the U.S.-based firm... and O'Neill's cat.",
    "\u201cWhat?\u201d cried the boy; nobody answered.",
    "Up to 30% off [today only] at 10:30 p.m. on Jan. 5.",
)


@pytest.mark.parametrize("text", SENTENCES)
def test_tokens_become_the_text_they_came_from(text: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    assert detokenize(words_of(tokenize(data, np.array([0, data.size])), 0)) == text


def test_most_tokens_of_a_word_salad_are_found_again() -> None:
    data = np.frombuffer(" ".join(SENTENCES).encode(), np.uint8)
    found = tokenize(data, np.array([0, data.size]))
    words = [word for number in range(found.sentences.size - 1) for word in words_of(found, number)]
    random = np.random.Generator(np.random.PCG64(3))
    salad = [words[place] for place in random.integers(0, len(words), 2000)]
    again = np.frombuffer(detokenize(salad).encode(), np.uint8)
    tokens = tokenize(again, np.array([0, again.size]))
    read = [word for number in range(tokens.sentences.size - 1) for word in words_of(tokens, number)]
    kept = collections.Counter(read) & collections.Counter(salad)
    assert sum(kept.values()) >= 0.95 * len(salad)
