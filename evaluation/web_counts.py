"""Models from counts of a large collection, as in section 6 of the paper: nothing of the judged corpus is in them.

The paper's counts (Web 1T, a trillion words) cannot be had freely. Here are the counts of single words and pairs of the
same collection that the package `wordsegment` carries (333,000 words and 286,000 pairs), and the counts of the shipped
model, which are of debates, novels and documentation (order 4, 13 million words, rare n-grams cut off).
"""

import gzip
import importlib.util
import tempfile
from pathlib import Path

from samehand.methods.language import katz
from samehand.methods.language.counts_files import read_counts
from samehand.methods.language.model import Model

_SCALE = 1000
"""Counts are divided by this: those of the web do not fit into 32 bits."""


def web_pairs() -> Model | None:
    """The model of order 2 from the counts of `wordsegment`; None if the package is not installed."""
    found = importlib.util.find_spec("wordsegment")
    if found is None or found.origin is None:
        return None
    place = Path(found.origin).parent
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "2gms").mkdir()
        for name, target in (("unigrams.txt", root / "vocab.gz"), ("bigrams.txt", root / "2gms" / "all.gz")):
            with gzip.open(target, "wt") as file:
                file.writelines(_scaled(line) for line in (place / name).read_text().splitlines())
        return katz.train(read_counts(root, order=2), metadata={"case": "lower"})


def _scaled(line: str) -> str:
    words, _, number = line.rpartition("\t")
    return f"{words}\t{max(1, int(float(number)) // _SCALE)}\n"
