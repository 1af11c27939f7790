"""Words and lexicons of I-Match (Kolcz, Chowdhury, Alspector: Improved Robustness of Signature-Based Near-Replica
Detection via Lexicon Randomization, KDD 2004).

A word is a run of letters and digits of any script, folded (see `folding`), of four characters and more and one digit
at most (section 6.3). A lexicon is learned from a collection: the words whose normalised inverse document frequency,
nidf = log(N / df) / log(N), lies in a range (sections 3, 6.6 and 6.7), with the commoner and the rarer words beside
them for the secondary lexicon. It is a Parquet file that any tool opens, and serves on other collections than its own.

Memory of learning is bounded: one chunk of text, and a table of at most `max_words` words. When the table is full,
the rarest words are dropped, those of one document first; they are counted, and so is the most documents that any word
can have lost by it. While nothing was dropped, counts are exact and depend neither on order nor on chunks.
"""

import dataclasses
import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers, distinct
from samehand.base.errors import SettingsError, UsageError
from samehand.base.settings import PUBLIC_KEY
from samehand.html import Markup
from samehand.kernels.text import pairs
from samehand.kernels.text import words as kernel
from samehand.kernels.text.main_text import in_main_text
from samehand.methods.replica.folding import characters

FORMAT = 2
"""Version of the file; a lexicon of another format is refused."""

WEB_RANGE, MAIL_RANGE = (0.2, 0.8), (0.2, 0.3)
"""The paper's ranges of nidf (sections 6.6 and 6.7)."""

RAREST = 0.9
"""Words of a higher nidf are not stored: one-offs and misspellings, most of any vocabulary."""

CHUNK_BYTES = 64_000_000
LONGEST_TEXT = 128
"""Words of more bytes are known by their hash alone."""

_METADATA = b"samehand.lexicon"
_SCHEMA = pa.schema([("word", pa.string()), ("hash", pa.uint64()), ("documents", pa.int64()), ("nidf", pa.float64())])


@dataclasses.dataclass(frozen=True, slots=True)
class Blocks:
    """The ends of the blocks in texts, from the start of each, and which are text and no menus.

    Text i has ends[offsets[i]:offsets[i+1]].
    """

    ends: NDArray[np.int64]
    is_text: NDArray[np.bool_]
    offsets: NDArray[np.int64]

    @classmethod
    def none(cls, texts: int) -> Self:
        """Each text is one block."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.bool_), np.zeros(texts + 1, np.int64))

    @classmethod
    def lines(cls, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Self:
        """Each line is a block of text."""
        ends = np.flatnonzero(data[: offsets[-1]] == ord("\n"))
        bounds = np.searchsorted(ends, offsets)
        return cls(ends - np.repeat(offsets[:-1], np.diff(bounds)), np.ones(ends.size, np.bool_), bounds)

    @classmethod
    def of_pages(cls, found: Markup) -> Self:
        """The blocks of pages. A block that is half links is a menu; text outside of the main text counts as one."""
        is_first = np.zeros(found.block_ends.size, np.bool_)
        is_first[found.block_offsets[:-1][np.diff(found.block_offsets) > 0]] = True
        sizes = np.diff(found.block_ends, prepend=0)
        sizes[is_first] = found.block_ends[is_first]
        is_text = in_main_text(found.block_ends, 2 * found.block_links < sizes, found.block_offsets)
        return cls(found.block_ends, is_text, found.block_offsets)


@dataclasses.dataclass(frozen=True, slots=True)
class WordReader:
    """Cuts text into words and hashes them to 64 bits under a key."""

    key: str = PUBLIC_KEY
    min_characters: int = 4
    max_digits: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.min_characters <= 64:
            raise SettingsError(f"min_characters is {self.min_characters}: choose a value from 1 to 64.")
        if self.max_digits < 0:
            raise SettingsError(f"max_digits is {self.max_digits}: choose 0 or more.")

    def word_sets(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The distinct words of each document, sorted: document i has words[starts[i]:starts[i+1]]."""
        return kernel.document_words(data, offsets, characters(), self._numbers(), self._rule())

    def read_documents(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], blocks: Blocks, sketched: tuple[int, int, int]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int32]]:
        """Words as `word_sets` gives them, and the sketch and number of each document's pairs of neighbouring words.

        `sketched` are the fewest words of a block that counts, of all such blocks, and the fewest pairs of a sketch.
        """
        rule = np.concatenate([self._rule(), np.array(sketched)])
        return pairs.read_documents(
            data, offsets, blocks.ends, blocks.is_text, blocks.offsets, characters(), self._numbers(), rule
        )

    def texts_of(
        self, wanted: NDArray[np.uint64], data: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> pa.LargeStringArray:
        """The text of each of the sorted hashes `wanted`; null where it is not in the data or is too long."""
        places = kernel.find_words(data, offsets, characters(), self._numbers(), self._rule(), wanted)
        known = (places[:, 0] >= 0) & (places[:, 1] - places[:, 0] <= LONGEST_TEXT)
        text, bounds = kernel.folded_words(data, places[known], characters())
        found = pa.LargeStringArray.from_buffers(int(known.sum()), pa.py_buffer(bounds), pa.py_buffer(text))
        return found.take(pa.array(np.cumsum(known) - 1, mask=~known))

    def hashes_of(self, folded: pa.LargeStringArray) -> NDArray[np.uint64]:
        """The hashes of words that are folded already, such as those of `texts_of`."""
        return kernel.hash_folded(*column_buffers(folded.cast(pa.large_binary())), self._numbers())

    def _numbers(self) -> NDArray[np.uint64]:
        """Seed and odd multiplier of the hash."""
        drawn = hashlib.shake_256(b"samehand words 1\0" + self.key.encode()).digest(16)
        return np.frombuffer(drawn, "<u8").astype(np.uint64) | np.array([0, 1], np.uint64)

    def _rule(self) -> NDArray[np.int64]:
        return np.array([self.min_characters, self.max_digits])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """The words of a collection by increasing nidf; the primary lexicon is the range [low, high] of it."""

    collection: str
    documents: int
    low: float
    high: float
    reader: WordReader
    words: NDArray[np.uint64]
    frequencies: NDArray[np.int64]
    texts: pa.LargeStringArray
    learning: dict[str, int]

    def nidf(self) -> NDArray[np.float64]:
        """Normalised inverse document frequency of each word: 0 is in every document, 1 in one alone."""
        return np.asarray(1.0 - np.log(self.frequencies) / math.log(self.documents))

    def primary(self) -> tuple[int, int]:
        """First and end of the primary lexicon among the words."""
        nidf = self.nidf()
        return int(np.searchsorted(nidf, self.low)), int(np.searchsorted(nidf, self.high, "right"))

    def typical(self, count: int = 10) -> list[str]:
        """The commonest words of the primary lexicon, for people."""
        first, end = self.primary()
        return [str(text) for text in self.texts.slice(first, end - first).drop_null().slice(0, count).to_pylist()]

    def in_range(self, low: float, high: float) -> Self:
        """The same words with another primary range: one file serves pages and mail."""
        if not 0 <= low <= high <= 1:
            raise SettingsError(f"The range of nidf is {low} to {high}: choose two values from 0 to 1, in order.")
        return dataclasses.replace(self, low=low, high=high)

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """The lexicon of some of its words."""
        chosen = np.flatnonzero(kept)
        return dataclasses.replace(
            self,
            words=self.words[chosen],
            frequencies=self.frequencies[chosen],
            texts=self.texts.take(pa.array(chosen)),
        )

    def under(self, key: str) -> Self:
        """The same words hashed under another key; those known by their hash alone are left out."""
        if key == self.reader.key:
            return self
        reader = dataclasses.replace(self.reader, key=key)
        known = np.flatnonzero(self.texts.is_valid().to_numpy(zero_copy_only=False))
        words = reader.hashes_of(self.texts.take(pa.array(known)))
        order = np.lexsort((words, -self.frequencies[known]))
        return dataclasses.replace(
            self,
            reader=reader,
            words=words[order],
            frequencies=self.frequencies[known][order],
            texts=self.texts.take(pa.array(known[order])),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file whole or not at all. Its hashes are public, whatever the key: the file gives no key away."""
        public = self.under(PUBLIC_KEY)
        facts = {
            "format": FORMAT,
            "collection": self.collection,
            "documents": self.documents,
            "low": self.low,
            "high": self.high,
            "min_characters": self.reader.min_characters,
            "max_digits": self.reader.max_digits,
            "learning": self.learning,
        }
        columns = [public.texts.cast(pa.string()), public.words, public.frequencies, public.nidf()]
        facts["digest"] = _digest(facts, pa.table(columns, schema=_SCHEMA))
        metadata = {_METADATA: json.dumps(facts, sort_keys=True).encode()}
        temporary = Path(f"{os.fspath(path)}.writing")
        try:
            pq.write_table(pa.table(columns, schema=_SCHEMA.with_metadata(metadata)), temporary, compression="zstd")
            temporary.replace(path)
        except OSError as error:
            raise UsageError(f"The lexicon cannot be written to {path} ({error}). Choose another place.") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: str = PUBLIC_KEY) -> Self:
        """Reads a lexicon, for use under `key`."""
        try:
            return cls._from_table(pq.ParquetFile(os.fspath(path)).read(use_threads=False)).under(key)
        except FileNotFoundError as error:
            raise UsageError(f"There is no lexicon {path}. Learn one with: samehand lexicon learn") from error
        except MemoryError:
            raise
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise UsageError(
                f"{path} is not a whole lexicon of this version ({reason}). Learn it anew with: samehand lexicon learn"
            ) from error

    @classmethod
    def _from_table(cls, table: pa.Table) -> Self:
        facts: dict[str, Any] = json.loads((table.schema.metadata or {})[_METADATA])
        if facts["format"] != FORMAT:
            raise ValueError(f"its format is {facts['format']}, not {FORMAT}")
        table = table.select(_SCHEMA.names).cast(_SCHEMA)
        if "digest" in facts and facts.pop("digest") != _digest(facts, table):
            raise ValueError("it is damaged")
        words, frequencies = table.column("hash").to_numpy(), table.column("documents").to_numpy()
        documents = int(facts["documents"])
        if documents < 2 or distinct(words).size < words.size or not np.all((frequencies > 0) & (words > 0)):
            raise ValueError("its counts or hashes cannot be")
        order = np.lexsort((words, -frequencies))
        lexicon = cls(
            collection=str(facts["collection"]),
            documents=documents,
            low=0.0,
            high=1.0,
            reader=WordReader(PUBLIC_KEY, int(facts["min_characters"]), int(facts["max_digits"])),
            words=words[order],
            frequencies=frequencies[order],
            texts=_joined(table.column("word").cast(pa.large_string()).chunks, pa.large_string()).take(pa.array(order)),
            learning=dict(facts["learning"]),
        )
        return lexicon.in_range(float(facts["low"]), float(facts["high"]))


def _digest(facts: dict[str, Any], table: pa.Table) -> str:
    """Digest of what a lexicon file says."""
    found = hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16)
    found.update("\n".join(word or "" for word in table.column("word").to_pylist()).encode())
    for name in ("hash", "documents"):
        found.update(table.column(name).to_numpy().tobytes())
    return found.hexdigest()


def _joined(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], kind)


class WordCounts:
    """In how many documents each word of a collection stands, in bounded memory."""

    def __init__(self, reader: WordReader | None = None, *, min_words: int = 5, max_words: int = 4_000_000) -> None:
        self.documents = 0
        self.skipped = 0
        """Documents of fewer than `min_words` distinct words: they are not counted (section 6.3)."""
        self.dropped = 0
        """Words dropped from a full table; a word may be dropped, come back and be dropped again."""
        self.undercount = 0
        """The most documents that a word in the table can have lost by having been dropped before."""
        self._reader = reader or WordReader()
        self._min_words = min_words
        self._max_words = max_words
        self._words = np.zeros(0, np.uint64)
        self._frequencies = np.zeros(0, np.int64)
        self._texts = pa.array([], pa.large_string())
        self._waiting: list[pa.LargeBinaryArray] = []
        self._waiting_bytes = 0

    def add(self, texts: pa.LargeBinaryArray) -> None:
        """Counts the words of documents."""
        self._waiting.append(texts)
        self._waiting_bytes += texts.nbytes
        if self._waiting_bytes >= CHUNK_BYTES:
            self._count_waiting()

    def lexicon(self, collection: str, *, low: float = WEB_RANGE[0], high: float = WEB_RANGE[1]) -> Lexicon:
        """The lexicon of everything counted so far."""
        self._count_waiting()
        if self.documents < 2:
            raise UsageError(
                f"A lexicon needs documents of {self._min_words} words and more: {collection} has {self.documents}, "
                f"and {self.skipped} shorter ones. Give a larger collection."
            )
        nidf = 1.0 - np.log(self._frequencies) / math.log(self.documents)
        kept = np.flatnonzero(nidf <= max(RAREST, high))
        order = kept[np.lexsort((self._words[kept], -self._frequencies[kept]))]
        return Lexicon(
            collection=collection,
            documents=self.documents,
            low=low,
            high=high,
            reader=self._reader,
            words=self._words[order],
            frequencies=self._frequencies[order],
            texts=self._texts.take(pa.array(order)),
            learning={"skipped": self.skipped, "dropped": self.dropped, "undercount": self.undercount},
        ).in_range(low, high)

    def _count_waiting(self) -> None:
        data, offsets = column_buffers(_joined(self._waiting, pa.large_binary()))
        self._waiting, self._waiting_bytes = [], 0
        starts, words = self._reader.word_sets(data, offsets)
        sizes = np.diff(starts)
        long_enough = sizes >= self._min_words
        self.documents += int(np.count_nonzero(long_enough))
        self.skipped += int(np.count_nonzero(~long_enough))
        self._merge(*np.unique(words[np.repeat(long_enough, sizes)], return_counts=True))
        self._name_words(data, offsets)
        self._drop_rarest()

    def _merge(self, words: NDArray[np.uint64], frequencies: NDArray[np.int64]) -> None:
        """Adds counts of distinct words to the table, which stays sorted by hash."""
        known = self._words.size
        merged, firsts, places = np.unique(np.concatenate([self._words, words]), return_index=True, return_inverse=True)
        sums = np.zeros(merged.size, np.int64)
        sums[places[:known]] += self._frequencies
        sums[places[known:]] += frequencies
        unnamed = pa.nulls(words.size, pa.large_string())
        self._texts = pa.concat_arrays([self._texts, unnamed]).take(pa.array(firsts))
        self._words, self._frequencies = merged, sums

    def _name_words(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        """Keeps the text of words once they stand in a second document: most words never do."""
        unnamed = np.flatnonzero((self._frequencies > 1) & np.asarray(self._texts.is_null()))
        texts = self._reader.texts_of(self._words[unnamed], data, offsets)
        places = np.arange(self._words.size)
        places[unnamed] = self._words.size + np.arange(unnamed.size)
        self._texts = pa.concat_arrays([self._texts, texts]).take(pa.array(places))

    def _drop_rarest(self) -> None:
        """Makes room in a full table: drops words of one document, of two, and so on, until a quarter is free."""
        if self._words.size <= self._max_words:
            return
        most = 0
        while np.count_nonzero(self._frequencies > most) > self._max_words * 3 // 4:
            most += 1
        kept = np.flatnonzero(self._frequencies > most)
        self.dropped += self._words.size - kept.size
        self.undercount += most
        self._words, self._frequencies = self._words[kept], self._frequencies[kept]
        self._texts = self._texts.take(pa.array(kept))
