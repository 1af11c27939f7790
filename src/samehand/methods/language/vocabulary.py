"""The words of a model and their ids.

Ids 0, 1 and 2 are <unk>, <s> and </s>. Words have the ids from 3 on, the most frequent first. A word is bytes (UTF-8
where it comes from text); case is kept. Text never matches the three marks: a page that contains "</s>" ends no
sentence.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end, read_only
from samehand.base.errors import UsageError
from samehand.kernels.ngrams.tries import FIRST_WORD
from samehand.kernels.text import vocabulary as kernel

MARKS = (b"<unk>", b"<s>", b"</s>")
MOST_WORDS = (1 << 25) - 8
"""A window of five words has 128 bits, 25 for each."""


@dataclasses.dataclass(frozen=True, eq=False)
class Vocabulary:
    """Word i is blob[offsets[i]:offsets[i + 1]]."""

    blob: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def from_words(cls, words: Iterable[bytes]) -> Self:
        """The vocabulary of these distinct words. They get the ids from 3 on, in this order."""
        listed = [*MARKS, *words]
        if any(not word for word in listed) or set(listed[FIRST_WORD:]) & set(MARKS):
            raise UsageError("A vocabulary holds words only: leave out empty ones and <unk>, <s>, </s>.")
        offsets = np.zeros(len(listed) + 1, np.int64)
        np.cumsum([len(word) for word in listed], out=offsets[1:])
        made = cls(np.frombuffer(bytearray(b"".join(listed)), np.uint8), offsets)
        made._slots  # noqa: B018  raises if a word is listed twice
        return made

    def __len__(self) -> int:
        return self.offsets.size - 1

    @functools.cached_property
    def words(self) -> list[bytes]:
        """All words by id, the marks included."""
        return _words(self.blob, self.offsets, len(self))

    def word(self, number: int) -> str:
        """A word as text. Bytes that are not UTF-8 become U+FFFD."""
        return self.blob[self.offsets[number] : self.offsets[number + 1]].tobytes().decode("utf-8", "replace")

    def ids_of(self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int32]:
        """The id of each word data[starts[i]:ends[i]], 0 for an unknown one."""
        found: NDArray[np.int32] = kernel.find_words(
            read_only(np.asarray(data, np.uint8)),
            read_only(np.asarray(starts, np.int64)),
            read_only(np.asarray(ends, np.int64)),
            self.blob,
            self.offsets,
            self._firsts,
            self._slots,
        )
        return found

    def ids_of_words(self, words: Iterable[bytes]) -> NDArray[np.int32]:
        """The ids of words given one by one."""
        data, offsets = end_to_end(words)
        return self.ids_of(data, offsets[:-1], offsets[1:])

    def digest(self) -> str:
        """Equal for equal words with equal ids."""
        hashed = hashlib.blake2b(self.offsets.tobytes(), digest_size=16)
        hashed.update(self.blob.tobytes())
        return hashed.hexdigest()

    @functools.cached_property
    def _firsts(self) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = kernel.first_bytes(self.blob, self.offsets)
        return found

    @functools.cached_property
    def _slots(self) -> NDArray[np.uint64]:
        slots = np.full(1 << max(4, (2 * len(self) + 2).bit_length()), kernel.EMPTY, np.uint64)
        twice = kernel.fill_slots(self.blob, self.offsets, FIRST_WORD, slots)
        if twice >= 0:
            raise UsageError(f"The word {self.word(twice)!r} is in the vocabulary twice: list each word once.")
        return slots


def _words(blob: NDArray[np.uint8], offsets: NDArray[np.int64], number: int) -> list[bytes]:
    whole, bounds = blob.tobytes(), offsets.tolist()
    return [whole[bounds[i] : bounds[i + 1]] for i in range(number)]


class WordCounter:
    """Counts words while they are read, and gives them provisional ids until the vocabulary is known.

    After `most` distinct words, new ones are unknown. `refused` counts their occurrences.
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
        """Counts these words and returns the provisional id of each."""
        data, starts, ends = read_only(data), read_only(starts), read_only(ends)
        ids = np.empty(starts.size, np.int32)
        row = 0
        while True:
            row, self._words = kernel.add_words(
                data, starts, ends, row, self._blob, self._offsets, self._counts, self._slots, self._words, ids
            )
            if row == starts.size:
                return ids
            if self._words >= self._most:
                ids[row:] = Vocabulary.from_words(self._listed()).ids_of(data, starts[row:], ends[row:])
                known = ids[row:] >= FIRST_WORD
                self.refused += int((~known).sum())
                np.add.at(self._counts, ids[row:][known] - FIRST_WORD, 1)
                return ids
            self._grow(int(ends[row] - starts[row]))

    def finish(self, *, most: int = MOST_WORDS, least: int = 1) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The vocabulary of the `most` most frequent words that occur `least` times, and the id of each provisional id.

        Words are sorted by falling count, then by bytes: the order in which the text came does not matter.
        """
        counts, words = self._counts[: self._words], self._listed()
        wanted = [i for i in range(self._words) if counts[i] >= least and words[i] not in MARKS]
        wanted.sort(key=lambda i: (-counts[i], words[i]))
        del wanted[most:]
        numbers = np.zeros(self._words + FIRST_WORD, np.int32)
        numbers[np.array(wanted, np.int64) + FIRST_WORD] = np.arange(len(wanted)) + FIRST_WORD
        return Vocabulary.from_words(words[i] for i in wanted), numbers

    def _listed(self) -> list[bytes]:
        return _words(self._blob, self._offsets, self._words)

    def _grow(self, longest: int) -> None:
        self._blob = np.resize(self._blob, 2 * self._blob.size + longest)
        if self._words + 1 >= self._offsets.size or 2 * (self._words + 1) > self._slots.size:
            size = 2 * self._counts.size
            self._offsets = np.resize(self._offsets, size + 1)
            self._counts = np.resize(self._counts, size)
            self._slots = np.full(2 * size, kernel.EMPTY, np.uint64)
            kernel.fill_slots(self._blob, self._offsets[: self._words + 1], 0, self._slots)
