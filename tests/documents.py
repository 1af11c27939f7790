"""Small documents of known words, and a lexicon of them: what the tests of lexicon, signatures and groups share."""

import functools
import itertools

import numpy as np
import pyarrow as pa

from samehand.base.buffers import column_buffers
from samehand.methods.replica.lexicon import Lexicon, WordCounts
from samehand.methods.replica.signatures import Signed, Signer

COMMON = [f"common{letter}" for letter in "abcdefghij"]
MIDDLE = [f"middle{a}{b}" for a, b in itertools.product("abcdefghijklmnopqrst", repeat=2)]


def name(number: int) -> str:
    """A word that stands for a number, without digits."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:06d}")


def text(*words: str) -> bytes:
    return " ".join(words).encode()


def arrow(*texts: bytes) -> pa.LargeBinaryArray:
    return pa.array(texts, pa.large_binary())


def batch(*texts: bytes, first: int = 0) -> pa.RecordBatch:
    return pa.record_batch({"page_id": pa.array(range(first, first + len(texts)), pa.int64()), "text": arrow(*texts)})


def learn(*texts: bytes, **settings: float) -> Lexicon:
    counts = WordCounts()
    counts.add(arrow(*texts))
    return counts.lexicon("a collection", **settings)


@functools.cache
def middle_lexicon() -> Lexicon:
    """Learned from 400 documents of 60 words: ten common words, 400 words of the middle range, others once."""
    draw = np.random.default_rng(1)
    documents = [text(*COMMON, *draw.choice(MIDDLE, 50, replace=False), f"once{name(number)}") for number in range(400)]
    return learn(*documents, low=0.2, high=0.8)


def document(seed: int, words: int = 50, *, extra: int = 0) -> bytes:
    """A document of the middle range; `extra` more words are in no lexicon."""
    draw = np.random.default_rng(seed)
    return text(*draw.choice(MIDDLE, words, replace=False), *(f"extra{name(seed)}{name(n)}" for n in range(extra)))


def sign(signer: Signer, *texts: bytes) -> Signed:
    return signer.sign(*column_buffers(arrow(*texts)))


def others(words: list[str], count: int, draw: np.random.Generator) -> list[str]:
    return [str(word) for word in draw.choice(sorted(set(MIDDLE) - set(words)), count, replace=False)]
