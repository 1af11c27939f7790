"""Reads and writes ARPA files, the text format for n-gram models that every other tool reads.

A model from an ARPA file has probabilities and no counts. Other tools leave out n-grams that a longer n-gram needs.
They are added with the probability that backing off gives, which changes no score.
"""

import contextlib
import gzip
import re
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import InputError, UsageError
from samehand.base.files import write_whole
from samehand.kernels.ngrams import tries as kernel
from samehand.kernels.ngrams.tries import END, LARGEST_ORDER, START, UNKNOWN
from samehand.methods.language.model import NEVER, Model
from samehand.methods.language.trie import Trie, TrieBuilder, field_bits
from samehand.methods.language.vocabulary import MARKS, MOST_WORDS, Vocabulary

_BLOCK = 1 << 16
_LONGEST_LINE = 1 << 16
_BLANK = re.compile(rb"[\x00-\x20\x7f]")
_SIZE = re.compile(rb"ngram (\d{1,2}) ?= ?(\d{1,12})")
_MARK_IDS = {b"<unk>": UNKNOWN, b"<UNK>": UNKNOWN, b"<s>": START, b"<S>": START, b"</s>": END, b"</S>": END}


class ArpaError(InputError):
    """The file is not an ARPA file, or is damaged."""


def write_arpa(model: Model, path: Path | str) -> None:
    """Writes a model as an ARPA file, gzipped if the name ends in .gz."""
    path = Path(path)
    if any(_BLANK.search(word) for word in model.vocabulary.words):
        raise UsageError("A word of this model contains a blank or control character: ARPA files cannot hold it.")
    with contextlib.ExitStack() as stack:
        handle = stack.enter_context(write_whole(path))
        if path.suffix == ".gz":
            handle = cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", 6, handle, mtime=0)))
        handle.write(b"\\data\\\n")
        for length in range(1, model.order + 1):
            nodes = model.trie.level(length)
            handle.write(f"ngram {length}={nodes.stop - nodes.start}\n".encode())
        for length in range(1, model.order + 1):
            handle.write(f"\n\\{length}-grams:\n".encode())
            handle.writelines(_lines(model, length))
        handle.write(b"\n\\end\\\n")


def _lines(model: Model, length: int) -> Iterator[bytes]:
    texts, parents, last = model.vocabulary.words, model.trie.parents(), model.trie.last_words()
    nodes = model.trie.level(length)
    for begin in range(nodes.start, nodes.stop, _BLOCK):
        block = np.arange(begin, min(begin + _BLOCK, nodes.stop))
        logs = model.logs[block].tolist()
        backoffs = model.backoffs[block].tolist() if length < model.order else None
        for row, numbers in enumerate(_ngrams(block, length, parents, last).tolist()):
            line = b"%.7g\t%b" % (logs[row], b" ".join([texts[number] for number in numbers]))
            yield line + (b"\t%.7g\n" % backoffs[row] if backoffs is not None else b"\n")


def _ngrams(
    nodes: NDArray[np.int64], length: int, parents: NDArray[np.int64], last: NDArray[np.uint32]
) -> NDArray[np.int32]:
    """The last `length` words of the n-grams of some nodes, one n-gram in a row."""
    columns = []
    for _ in range(length):
        columns.append(last[nodes].astype(np.int32))
        nodes = parents[nodes]
    return np.stack(columns[::-1], axis=1)


def read_arpa(path: Path | str) -> Model:
    """The model of an ARPA file, plain or gzipped."""
    path = Path(path)
    try:
        with path.open("rb") as handle:
            packed = handle.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as lines:
            return _Reader(path.name, cast(IO[bytes], lines)).read()
    except (OSError, EOFError) as error:
        raise ArpaError(f"{path} cannot be read ({error}): check the file.") from error


class _Reader:
    """Reads line by line, and keeps the n-grams in flat arrays."""

    def __init__(self, name: str, handle: IO[bytes]) -> None:
        self._name = name
        self._handle = handle
        self._line = 0
        self._numbers = dict(_MARK_IDS)
        self._words: list[bytes] = []

    def read(self) -> Model:
        sizes = self._read_sizes()
        rows, logs, backoffs = [], [], []
        for length, size in enumerate(sizes, 1):
            found = self._read_level(length, size, last=length == len(sizes))
            rows.append(np.array(found[0], np.int32).reshape(-1, length))
            logs.append(np.array(found[1], np.float32))
            backoffs.append(np.array(found[2], np.float32))
        if self._next() != b"\\end\\":
            raise self._error("\\end\\ is missing")
        vocabulary = Vocabulary.from_words(self._words)
        trie, sources = _joined(rows, len(vocabulary), self._error)
        return _model(vocabulary, trie, sources, np.concatenate(logs), np.concatenate(backoffs))

    def _error(self, what: str) -> ArpaError:
        return ArpaError(f"{self._name}, line {self._line}: {what}. Export the model again.")

    def _next(self) -> bytes:
        """The next line that is not empty, or b"" at the end of the file."""
        while True:
            line = self._handle.readline(_LONGEST_LINE)
            self._line += 1
            if len(line) == _LONGEST_LINE:
                raise self._error(f"a line has more than {_LONGEST_LINE} bytes")
            if not line or line.strip(b" \t\r\n"):
                return line.strip(b" \t\r\n")

    def _read_sizes(self) -> list[int]:
        while (line := self._next()) != b"\\data\\":
            if not line or self._line > 1000:
                raise self._error("\\data\\ is missing: this is not an ARPA file")
        sizes: list[int] = []
        while (line := self._next()).startswith(b"ngram "):
            found = _SIZE.fullmatch(line)
            if found is None or int(found[1]) != len(sizes) + 1:
                raise self._error("the numbers of n-grams are not listed by order from 1 on")
            sizes.append(int(found[2]))
            if len(sizes) > LARGEST_ORDER:
                raise self._error(f"the order is above {LARGEST_ORDER}, the highest that samehand reads")
        if not sizes or line != b"\\1-grams:":
            raise self._error("\\1-grams: is missing")
        return sizes

    def _read_level(self, length: int, size: int, *, last: bool) -> tuple["array[int]", "array[float]", "array[float]"]:
        if length > 1 and self._next() != b"\\%d-grams:" % length:
            raise self._error(f"\\{length}-grams: is missing, or more n-grams stand before it than the header says")
        words, logs, backoffs = array("i"), array("f"), array("f")
        for _ in range(size):
            line = self._next()
            fields = line.split()
            if len(fields) not in ((length + 1,) if last else (length + 1, length + 2)):
                raise self._error(f"this is not a {length}-gram, or there are fewer than the header says")
            try:
                log, weight = float(fields[0]), float(fields[length + 1]) if len(fields) > length + 1 else 0.0
            except ValueError:
                raise self._error("a logarithm is not a number") from None
            if not (log <= 1e-4 and abs(weight) < 1e30):
                raise self._error("a logarithm is out of range")
            words.extend(self._number(word, add=length == 1) for word in fields[1 : length + 1])
            logs.append(max(min(log, 0.0), NEVER))
            backoffs.append(max(weight, NEVER))
        return words, logs, backoffs

    def _number(self, word: bytes, *, add: bool) -> int:
        number = self._numbers.get(word)
        if number is None:
            if not add:
                raise self._error("a word is not among the 1-grams")
            if len(self._words) >= MOST_WORDS:
                raise self._error("the model has more words than samehand reads")
            number = self._numbers[word] = len(self._words) + len(MARKS)
            self._words.append(word)
        return number


def _joined(
    rows: list[NDArray[np.int32]], words: int, error: Callable[[str], ArpaError]
) -> tuple[Trie, NDArray[np.int64]]:
    """The trie of these n-grams and all their parts, and for each node the place of its n-gram in the file, or -1."""
    order, bits = len(rows), field_bits(words)
    packed = [kernel.pack_rows(level, order, bits) for level in rows]
    high = np.concatenate([part[0] for part in packed])
    low = np.concatenate([part[1] for part in packed])
    places = np.arange(1, low.size + 1, dtype=np.uint64)
    while True:
        kernel.sort_wide(high, low, places)
        equal = low[1:] == low[:-1]
        if high.size:
            equal &= high[1:] == high[:-1]
        if (equal & (places[1:] > 0) & (places[:-1] > 0)).any():
            raise error("an n-gram is listed twice")
        high, low, places = kernel.collapse(high, low, places)
        builder = TrieBuilder(low.size, order=order, words=words, whole=True)
        builder.add(high, low, places)
        trie, sources = builder.finish()
        missing = _missing_suffixes(trie)
        if not any(level.size for level in missing):
            return trie, sources.astype(np.int64) - 1
        packed = [kernel.pack_rows(level, order, bits) for level in missing]
        high = np.concatenate([high, *(part[0] for part in packed)])
        low = np.concatenate([low, *(part[1] for part in packed)])
        places = np.concatenate([places, np.zeros(low.size - places.size, np.uint64)])


def _missing_suffixes(trie: Trie) -> list[NDArray[np.int32]]:
    """The n-grams that longer ones end with and that the trie lacks, by length from 2 on."""
    suffixes, parents, last = trie.suffixes(), trie.parents(), trie.last_words()
    found = []
    for length in range(3, trie.order + 1):
        nodes = trie.level(length)
        lacking = np.flatnonzero(suffixes[nodes] < 0) + nodes.start
        found.append(np.unique(_ngrams(lacking, length - 1, parents, last), axis=0))
    return found


def _model(
    vocabulary: Vocabulary,
    trie: Trie,
    sources: NDArray[np.int64],
    logs: NDArray[np.float32],
    backoffs: NDArray[np.float32],
) -> Model:
    known = sources >= 0
    node_logs = np.where(known, logs[sources], np.float32(NEVER))
    weights = np.where(known, backoffs[sources], np.float32(0))[: trie.inner]
    parents, suffixes = trie.parents(), trie.suffixes()
    for length in range(2, trie.order + 1):
        nodes = trie.level(length)
        by_backoff = weights[parents[nodes]] + node_logs[suffixes[nodes]]
        node_logs[nodes] = np.where(known[nodes], node_logs[nodes], by_backoff)
    nothing = np.empty(0, np.uint32)
    return Model(vocabulary, trie, node_logs, weights, nothing, np.empty(0, np.float32), {"source": "ARPA"})
