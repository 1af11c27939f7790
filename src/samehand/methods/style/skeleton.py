"""The canonical markup of two pages compared in full, and their skeletons as markup that one can read."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.base.settings import Settings
from samehand.kernels import noise as kernel
from samehand.kernels.canonical import names
from samehand.kernels.canonical.fingerprints import SHINGLE_BYTES, page_streams
from samehand.kernels.html.tagnames import NAMES
from samehand.methods.style.markup import canon_tables
from samehand.methods.style.noise import hash_tables

_ATTRIBUTES = {symbol: name for name, symbol in names.SYMBOL_OF.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class SharedMarkup:
    """A stretch of the skeleton that both pages have.

    Attributes:
        markup: The stretch as markup. Of values only the punctuation is there.
        shingles: How many shingles long it is.
    """

    markup: str
    shingles: int


@dataclasses.dataclass(frozen=True, slots=True)
class MarkupComparison:
    """The canonical markup of two pages compared in full.

    Attributes:
        jaccard: Exact Jaccard similarity of the sets of shingles.
        left_shingles: Distinct shingles of the left page.
        right_shingles: Distinct shingles of the right page.
        shared_shingles: Distinct shingles of both.
        runs: The stretches of the skeleton that both share, longest first.
    """

    jaccard: float
    left_shingles: int
    right_shingles: int
    shared_shingles: int
    runs: tuple[SharedMarkup, ...]


def compare_markup(left: bytes, right: bytes, settings: Settings) -> MarkupComparison:
    """Compares the canonical markup of two pages shingle by shingle."""
    sides = _Side.of(left, settings), _Side.of(right, settings)
    sets = distinct(sides[0].shingles()), distinct(sides[1].shingles())
    shared = np.intersect1d(sets[0], sets[1], assume_unique=True).size
    either = sets[0].size + sets[1].size - shared
    return MarkupComparison(
        shared / either if either else 0.0, sets[0].size, sets[1].size, shared, _shared_runs(*sides)
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    skeleton: bytes
    of_values: NDArray[np.uint64]
    of_skeleton: NDArray[np.uint64]

    @classmethod
    def of(cls, content: bytes, settings: Settings) -> "_Side":
        hashed = hash_tables(settings.key, SHINGLE_BYTES, settings.markup_dimensions)
        streams = page_streams(np.frombuffer(content, np.uint8), canon_tables())
        hashes = (kernel.hash_shingles(each, hashed.entering, hashed.leaving, SHINGLE_BYTES) for each in streams)
        return cls(streams[1].tobytes(), *hashes)

    def shingles(self) -> NDArray[np.uint64]:
        """The shingles of both streams; those of the skeleton are never those of the values."""
        return np.concatenate([self.of_values | np.uint64(1), self.of_skeleton & ~np.uint64(1)])


def _shared_runs(left: _Side, right: _Side) -> tuple[SharedMarkup, ...]:
    found = []
    for start, _, shingles in kernel.shared_runs(left.of_skeleton, right.of_skeleton):
        text = readable(left.skeleton[start : start + int(shingles) + SHINGLE_BYTES - 1])
        found.append(SharedMarkup(text, int(shingles)))
    return tuple(sorted(found, key=lambda run: (-run.shingles, run.markup)))


def readable(skeleton: bytes) -> str:
    """A stretch of a skeleton as markup. Tags that it begins or ends in the middle of are left out."""
    elements = _elements()
    text, tag = "", ""
    for byte in skeleton:
        if byte in (names.START, names.END):
            tag = "<" if byte == names.START else "</"
        elif tag == "</":
            text, tag = f"{text}</{elements[byte]}>", ""
        elif tag == "<":
            tag = f"<{elements[byte]}"
        elif byte == names.CLOSE:
            text, tag = text + (f"{_quoted(tag)}>" if tag else ""), ""
        elif tag:
            tag = f'{_quoted(tag)} {_ATTRIBUTES[byte]}="' if byte in _ATTRIBUTES else tag + chr(byte)
    return text


def _quoted(tag: str) -> str:
    """A tag whose last value is closed; one that has no punctuation is not shown."""
    if tag.endswith('="'):
        return tag[:-2]
    return f'{tag}"' if '="' in tag else tag


def _elements() -> dict[int, str]:
    symbols = canon_tables().canon.symbols
    return {int(symbols[number]): NAMES[number] for number in reversed(range(len(NAMES))) if symbols[number]}
