"""Text of a small made-up language for the tests of models, a model trained on it, and what tests read off models."""

import functools
import random
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from tools.demo_crawl.text import topic_writer

from samehand.methods.language.model import Model
from samehand.methods.language.tokens import Tokens
from samehand.methods.language.training import TrainingRule, train_model


class BigramChain:
    """A word-bigram Markov chain: each next word follows the one before it somewhere in the text it was trained on.

    Words keep their punctuation, so that the output has sentences which look right two words at a time, no more.
    """

    def __init__(self, paragraphs: Sequence[str]) -> None:
        self._followers: dict[str, list[str]] = {}
        self._starts = [paragraph.split()[0] for paragraph in paragraphs]
        for word, follower in pairwise(" ".join(paragraphs).split()):
            self._followers.setdefault(word, []).append(follower)

    def babble(self, rng: random.Random, length: int) -> str:
        """`length` words of chained text; starts again where the training text ends."""
        chained = [rng.choice(self._starts)]
        while len(chained) < length:
            chained.append(rng.choice(self._followers.get(chained[-1], self._starts)))
        return " ".join(chained)


def article(seed: int, paragraphs: int = 20) -> str:
    """A text of one of the demo's writers."""
    return "\n\n".join(topic_writer(random.Random(seed)).paragraphs(paragraphs))


def chained(seed: int, words: int = 400) -> str:
    """A text out of a chain of word pairs."""
    chain = BigramChain([article(1000 + seed + number) for number in range(3)])
    return chain.babble(random.Random(seed), words)


def write_articles(folder: Path, count: int, *, first: int = 0) -> Path:
    """A folder of articles as text files."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        (folder / f"{number:04}.txt").write_text(article(number))
    return folder


@functools.cache
def trained() -> bytes:
    """A model that knows what natural text of this language looks like, as the bytes of its file; made once."""
    with tempfile.TemporaryDirectory() as folder:
        articles = write_articles(Path(folder) / "articles", 240)
        train_model(
            [str(articles)], Path(folder) / "made.lm", rule=TrainingRule(is_lower=True), on_progress=lambda _: None
        )
        return (Path(folder) / "made.lm").read_bytes()


def words_of(tokens: Tokens, sentence: int) -> list[str]:
    """The tokens of a sentence as text."""
    first, last = tokens.sentences[sentence], tokens.sentences[sentence + 1]
    spans = zip(tokens.starts[first:last].tolist(), tokens.ends[first:last].tolist(), strict=True)
    return [tokens.data[start:end].tobytes().decode("utf-8", "replace") for start, end in spans]


def count_of(model: Model, *words: str) -> int:
    """How often an n-gram was seen in the training text of a model."""
    ids = model.vocabulary.ids_of_words(word.encode() for word in words)
    found = model.counts(ids, np.array([0, ids.size]), ids.size)
    return int(found[min(1, ids.size - 1)])  # of a longer n-gram, the one between <s> and </s>
