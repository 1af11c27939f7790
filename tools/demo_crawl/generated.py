"""Text that programs make, of the kinds that `samehand fake` is documented to find.

Each generator makes a paragraph of so many words. Nothing here looks at what the detector says.

* A chain of words: every word is drawn by how likely it follows the word before it, in the shipped model of English.
  That is the paper's lm2, drawn from a smoothed model as in the paper.
* A stuffed patchwork: runs of eight words out of `articles.txt`, and a quarter of the words are keywords of lenders.
* A word salad: words of `articles.txt`, drawn as often as they stand there.

`articles.txt` was written for this demo. A chain of so small a source repeats its subjects as a person does, and the
detector takes it for natural: hence the model.
"""

import functools
import random
from collections.abc import Callable
from pathlib import Path

from samehand.methods.language.detector import SHIPPED_MODEL
from samehand.methods.language.model import Model
from samehand.methods.language.texts import generate_from_model
from tools.demo_crawl.text import LOAN_WORDS, SALE_WORDS

_ARTICLES = Path(__file__).with_name("articles.txt")
_RUN = 8
"""Words of a patch."""
_STUFFING = 0.25
"""Share of keywords."""


@functools.cache
def _model() -> Model:
    return Model.open(SHIPPED_MODEL)


@functools.cache
def _source() -> list[str]:
    return _ARTICLES.read_text(encoding="utf-8").split()


def _chain(rng: random.Random, length: int) -> str:
    return " ".join(generate_from_model("lm2", _model(), words=length, seed=rng.getrandbits(32)).split())


def _stuffed_patchwork(rng: random.Random, length: int) -> str:
    source, keywords = _source(), LOAN_WORDS + SALE_WORDS
    patches = [source[begin : begin + _RUN] for begin in rng.sample(range(len(source) - _RUN), length // _RUN + 1)]
    pieces = iter([word for patch in patches for word in patch])
    return " ".join(rng.choice(keywords) if rng.random() < _STUFFING else next(pieces) for _ in range(length))


def _word_salad(rng: random.Random, length: int) -> str:
    return " ".join(rng.choices(_source(), k=length))


GENERATORS: dict[str, Callable[[random.Random, int], str]] = {
    "chain of words": _chain,
    "keyword-stuffed patchwork": _stuffed_patchwork,
    "word salad": _word_salad,
}
