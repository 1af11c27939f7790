"""The words of a model and their numbers.

Numbers 0, 1 and 2 are <unk>, <s> and </s>; words follow from 3, the commonest first. Words are bytes (UTF-8 where they
come from text), case is kept. The three marks are never found in a text: who writes "</s>" on a page ends no sentence.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.kernels.text import vocabulary as kernel

MARKS = (b"<unk>", b"<s>", b"</s>")
MOST_WORDS = 1 << 25
"""A window of five words has 128 bits, 25 for each."""


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary:
    """Word i is blob[offsets[i]:offsets[i + 1]]."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def from_words(cls, words: Iterable[bytes]) -> Self:
        """The vocabulary of these distinct words, which get the numbers from 3 in their order."""
        listed = [*MARKS, *words]
        if any(not word for word in listed) or set(listed[FIRST_WORD:]) & set(MARKS):
            raise UsageError("A vocabulary holds words only: leave out empty ones and <unk>, <s>, </s>.")
        offsets = np.zeros(len(listed) + 1, np.int64)
        np.cumsum([len(word) for word in listed], out=offsets[1:])
        made = cls(np.frombuffer(b"".join(listed), np.uint8), offsets)
        made._slots  # noqa: B018  finds words that occur twice
        return made

    def __len__(self) -> int:
        return self.offsets.size - 1

    @functools.cached_property
    def words(self) -> list[bytes]:
        """All words by their numbers, the marks included."""
        whole, bounds = self.blob.tobytes(), self.offsets.tolist()
        return [whole[bounds[i] : bounds[i + 1]] for i in range(len(self))]

    def word(self, number: int) -> str:
        """A word as text; bytes that are no UTF-8 are shown as U+FFFD."""
        if not 0 <= number < len(self):
            raise UsageError(f"There is no word {number}: the vocabulary has {len(self)}.")
        return self.blob[self.offsets[number] : self.offsets[number + 1]].tobytes().decode("utf-8", "replace")

    def ids_of(self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """The number of each word data[starts[i]:ends[i]]; 0 where it is unknown."""
        found: NDArray[np.int32] = kernel.find_words(
            np.ascontiguousarray(data, np.uint8),
            np.ascontiguousarray(starts, np.int64),
            np.ascontiguousarray(ends, np.int64),
            self.blob,
            self.offsets,
            self._firsts,
            self._slots,
        )
        return found

    def ids_of_words(self, words: Iterable[str | bytes]) -> NDArray[np.int32]:
        """The numbers of words given one by one."""
        listed = [word.encode("utf-8", "surrogatepass") if isinstance(word, str) else word for word in words]
        ends = np.cumsum([len(word) for word in listed], dtype=np.int64)
        starts = ends - np.array([len(word) for word in listed], np.int64)
        return self.ids_of(np.frombuffer(b"".join(listed), np.uint8), starts, ends)

    def digest(self) -> str:
        """The same for the same words under the same numbers."""
        hashed = hashlib.blake2b(self.offsets.tobytes(), digest_size=16)
        hashed.update(self.blob.tobytes())
        return hashed.hexdigest()

    @functools.cached_property
    def _firsts(self) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = kernel.first_bytes(self.blob, self.offsets)
        return found

    @functools.cached_property
    def _slots(self) -> NDArray[np.uint64]:
        slots = np.full(_table_size(len(self)), kernel.EMPTY, np.uint64)
        twice = kernel.fill_slots(self.blob, self.offsets, FIRST_WORD, slots)
        if twice >= 0:
            raise UsageError(f"The word {self.word(twice)!r} is twice in the vocabulary: name each word once.")
        return slots


def _table_size(words: int) -> int:
    return 1 << max(4, (2 * words + 2).bit_length())


class WordCounter:
    """Counts words as they come, and gives them passing numbers until the vocabulary is made.

    Of more than `most` distinct words the later ones are unknown; `refused` counts how often that happened.
    """

    def __init__(self, most: int = MOST_WORDS // 2) -> None:
        self.refused = 0
        self._most = most
        self._words = 0
        self._blob = np.empty(1 << 20, np.uint8)
        self._offsets = np.zeros((1 << 15) + 1, np.int64)
        self._counts = np.zeros(1 << 15, np.int64)
        self._slots = np.full(1 << 16, kernel.EMPTY, np.uint64)

    def add(self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """Counts these words; returns the passing number of each."""
        ids = np.empty(starts.size, np.int32)
        row = 0
        while True:
            row, self._words = kernel.add_words(
                data, starts, ends, row, self._blob, self._offsets, self._counts, self._slots, self._words, ids
            )
            if row == starts.size:
                return ids
            if self._words >= self._most:
                ids[row:] = self._vocabulary().ids_of(data, starts[row:], ends[row:])
                known = ids[row:] >= FIRST_WORD
                self.refused += int((~known).sum())
                np.add.at(self._counts, ids[row:][known] - FIRST_WORD, 1)
                return ids
            self._grow(int(ends[row] - starts[row]))

    def finish(self, *, most: int = MOST_WORDS - 8, least: int = 1) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The vocabulary of the `most` commonest words that occur `least` times, and the number of each passing one.

        By falling count, equal counts by bytes: the same text gives the same numbers in whatever order it came.
        """
        counts = self._counts[: self._words]
        whole, bounds = self._blob.tobytes(), self._offsets.tolist()
        words = [whole[bounds[i] : bounds[i + 1]] for i in range(self._words)]
        wanted = [i for i in range(self._words) if counts[i] >= least and words[i] not in MARKS]
        wanted.sort(key=lambda i: (-counts[i], words[i]))
        del wanted[most:]
        numbers = np.zeros(self._words + FIRST_WORD, np.int32)
        numbers[np.array(wanted, np.int64) + FIRST_WORD] = np.arange(len(wanted)) + FIRST_WORD
        return Vocabulary.from_words(words[i] for i in wanted), numbers

    def _vocabulary(self) -> Vocabulary:
        whole, bounds = self._blob.tobytes(), self._offsets.tolist()
        return Vocabulary.from_words(whole[bounds[i] : bounds[i + 1]] for i in range(self._words))

    def _grow(self, longest: int) -> None:
        self._blob = np.resize(self._blob, 2 * self._blob.size + longest)
        if self._words + 1 >= self._offsets.size or 2 * (self._words + 1) > self._slots.size:
            size = 2 * self._counts.size
            self._offsets = np.resize(self._offsets, size + 1)
            self._counts = np.resize(self._counts, size)
            self._slots = np.full(2 * size, kernel.EMPTY, np.uint64)
            kernel.fill_slots(self._blob, self._offsets[: self._words + 1], 0, self._slots)
