"""Counts of n-grams of orders one to five, from texts of any size in bounded memory.

Windows of `order` words are packed into numbers, sorted and collapsed in memory, as many at a time as the memory
allows. Each such run is a file; at the end the runs are merged, one range of windows at a time, and the counts of all
orders are read off the sorted windows. A run is written together with a marker that holds a digest of its text, so a
count that was stopped goes on where it was: runs whose text has not changed are not made again.
"""

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.kernels.ngrams import tries as kernel
from samehand.methods.language.trie import Make, Trie, in_memory, trie_of_levels
from samehand.methods.language.vocabulary import MOST_WORDS, Vocabulary, WordCounter

Text = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Word numbers, and offsets of the sentences in them (one more than there are sentences)."""
Spans = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Bytes, starts and ends of the words in them, and offsets of the sentences in the words."""
Tell = Callable[[str], None]

DEFAULT_MEMORY = 1 << 30
_BYTES_PER_TOKEN = 64
"""Sorting a window holds it twice, with its count, beside its word and the page cache."""
_FEWEST_TOKENS = 1 << 10
_RUN = "run-{:06}"


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """How often each n-gram occurs. `counts` has one number for each node of the trie, 0 for words not seen."""

    vocabulary: Vocabulary
    trie: Trie
    counts: NDArray[np.uint64]

    @property
    def order(self) -> int:
        """Length of the longest n-grams counted."""
        return self.trie.order

    @property
    def tokens(self) -> int:
        """Words and sentence ends: everything that a model predicts."""
        return int(self.counts[: self.trie.levels[1]].sum()) - int(self.counts[kernel.START])

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return int(self.counts[kernel.START])


def count(
    texts: Iterable[Text],
    *,
    vocabulary: Vocabulary,
    order: int,
    folder: Path | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    tell: Tell | None = None,
) -> Counts:
    """Counts the n-grams of orders 1 to `order`. `folder` keeps the runs, so that a count that was stopped goes on."""
    check_order(order)
    bits = field_bits(vocabulary)
    most = portion_tokens(memory_bytes)
    plan = {"format": 1, "order": order, "tokens": most, "vocabulary": vocabulary.digest()}
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="samehand-count-")))
        _claim(folder, plan)
        runs = 0
        for runs, text in enumerate(_portions(texts, most), 1):
            reused = _make_run(folder / _RUN.format(runs - 1), text, order=order, bits=bits, words=len(vocabulary))
            if tell is not None:
                tell(f"counted run {runs}: {text[0].size} words{', kept from before' if reused else ''}")
        paths = [folder / _RUN.format(number) for number in range(runs)]
        return merged(paths, vocabulary=vocabulary, order=order, memory_bytes=memory_bytes)


def count_spans(
    chunks: Iterable[Spans],
    *,
    order: int,
    most_words: int = MOST_WORDS - 8,
    least: int = 1,
    folder: Path | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    tell: Tell | None = None,
) -> Counts:
    """Counts the n-grams of words given as spans of bytes, and makes the vocabulary: see `WordCounter.finish`.

    The text is read once; its numbers wait on disk until the vocabulary is known. Started again in the same folder,
    the reading starts over and the runs are kept.
    """
    with contextlib.ExitStack() as stack:
        if folder is None:
            spool = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="samehand-words-")))
        else:
            spool = folder / "words"  # the next start writes over what a stopped one left here
            spool.mkdir(parents=True, exist_ok=True)
            stack.callback(shutil.rmtree, spool, ignore_errors=True)
        counter = WordCounter()
        files = 0
        for files, (data, starts, ends, sentences) in enumerate(chunks, 1):
            np.save(spool / f"{files}.ids.npy", counter.add(data, starts, ends))
            np.save(spool / f"{files}.sentences.npy", np.asarray(sentences, np.int64))
        vocabulary, numbers = counter.finish(most=most_words, least=least)
        if tell is not None:
            tell(f"{len(vocabulary)} words in the vocabulary; {counter.refused} came when its table was full")

        def texts() -> Iterator[Text]:
            for number in range(1, files + 1):
                yield numbers[np.load(spool / f"{number}.ids.npy")], np.load(spool / f"{number}.sentences.npy")

        return count(texts(), vocabulary=vocabulary, order=order, folder=folder, memory_bytes=memory_bytes, tell=tell)


def field_bits(vocabulary: Vocabulary) -> int:
    """Bits of a word in a window: its number + 1, and 0 behind the end."""
    return (len(vocabulary) + 1).bit_length()


def portion_tokens(memory_bytes: int) -> int:
    """How many windows are sorted at once."""
    return max(_FEWEST_TOKENS, memory_bytes // _BYTES_PER_TOKEN)


def check_order(order: int) -> None:
    """Refuses orders that no model has."""
    if not 1 <= order <= kernel.LARGEST_ORDER:
        raise UsageError(f"The order is {order}: choose a value from 1 to {kernel.LARGEST_ORDER}.")


def _claim(folder: Path, plan: dict[str, object]) -> None:
    """Makes the folder, or finds that it holds a part of the same count."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "count.json"
    if path.exists():
        if path.read_text() != json.dumps(plan):
            raise UsageError(f"{folder} holds the runs of another count: remove it, or name another folder.")
    else:
        _write(path, json.dumps(plan).encode())


def _write(path: Path, content: bytes) -> None:
    """Writes a file as a whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)


def _portions(texts: Iterable[Text], most: int) -> Iterator[Text]:
    """Texts put together to about `most` words and sentence marks, and cut between sentences where they are longer."""
    waiting: list[Text] = []
    held = 0
    for ids, sentences in texts:
        checked = _checked(ids, sentences)
        for piece in _pieces(checked, most):
            size = piece[0].size + 2 * (piece[1].size - 1)
            if waiting and held + size > most:
                yield _joined(waiting)
                waiting, held = [], 0
            waiting.append(piece)
            held += size
    if waiting:
        yield _joined(waiting)


def _checked(ids: NDArray[np.int32], sentences: NDArray[np.int64]) -> Text:
    ids, sentences = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(sentences, np.int64)
    if sentences.size == 0 or sentences[0] < 0 or sentences[-1] > ids.size or (np.diff(sentences) < 0).any():
        raise UsageError("The sentences of a text are rising offsets into its words, from its first to its last one.")
    return ids[sentences[0] : sentences[-1]], sentences - sentences[0]


def _pieces(text: Text, most: int) -> Iterator[Text]:
    ids, sentences = text
    sizes = sentences + 2 * np.arange(sentences.size)
    begin = 0
    while begin < sentences.size - 1:
        end = int(np.searchsorted(sizes, sizes[begin] + most, "right")) - 1
        end = min(max(end, begin + 1), sentences.size - 1)
        yield ids[sentences[begin] : sentences[end]], sentences[begin : end + 1] - sentences[begin]
        begin = end


def _joined(texts: list[Text]) -> Text:
    shifts = np.cumsum([0, *(ids.size for ids, _ in texts)])
    offsets = [sentences[:-1] + shift for (_, sentences), shift in zip(texts, shifts, strict=False)]
    return np.concatenate([ids for ids, _ in texts]), np.concatenate([*offsets, shifts[-1:]])


def _make_run(path: Path, text: Text, *, order: int, bits: int, words: int) -> bool:
    """Writes the run of a text; True where it is there already."""
    digest = hashlib.blake2b(text[0].tobytes(), digest_size=16)
    digest.update(text[1].tobytes())
    marker = path.with_suffix(".json")
    wanted = json.dumps({"digest": digest.hexdigest()})
    if marker.exists() and marker.read_text() == wanted:
        return True
    marker.unlink(missing_ok=True)
    high, low = kernel.window_keys(*text, order, bits, words)
    none = np.empty(0, np.uint64)
    if high.size:
        kernel.sort_wide(high, low, none)
    else:
        low.sort()
    write_run(path, *kernel.collapse(high, low, none))
    _write(marker, wanted.encode())
    return False


def write_run(path: Path, high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
    """Writes sorted distinct windows and their counts, as three files."""
    for name, values in (("high", high), ("low", low), ("counts", counts)):
        np.save(path.with_name(f"{path.name}.{name}.npy"), values)


def merged(paths: list[Path], *, vocabulary: Vocabulary, order: int, memory_bytes: int, whole: bool = False) -> Counts:
    """The counts of all orders from runs of windows; `whole` as in `kernels.ngrams.grow_levels`.

    What does not fit into the memory allowed lies in files beside the runs, which are gone from the folder at once
    and from the disk when the counts are no longer used.
    """
    runs = [
        tuple(np.load(path.with_name(f"{path.name}.{name}.npy"), mmap_mode="r") for name in ("high", "low", "counts"))
        for path in paths
    ]
    most = portion_tokens(memory_bytes)
    bits = field_bits(vocabulary)
    room = max(1, sum(run[1].size for run in runs))  # a window adds at most one n-gram of each order
    make = _maker(paths[0].parent, memory_bytes) if paths else in_memory
    words = make("level-words", (order, room), np.uint32)
    counts = make("level-counts", (order, room), np.uint64)
    first = make("level-first", (order, room), np.int64)
    sizes = np.zeros(order, np.int64)
    last = np.zeros(order, np.uint64)
    for begins, ends in _ranges(runs, most) if runs else ():
        slices = [tuple(part[begin:end] for part in run) for run, begin, end in zip(runs, begins, ends, strict=True)]
        high, low, sums = _merged_range(slices)
        kernel.grow_levels(high, low, sums, order, bits, whole, last, sizes, words, counts, first)
    return Counts(vocabulary, *trie_of_levels(words, counts, first, sizes, len(vocabulary), make))


def _maker(folder: Path, memory_bytes: int) -> Make:
    def make(name: str, shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
        if math.prod(shape) * np.dtype(kind).itemsize * 8 <= memory_bytes:
            return np.empty(shape, kind)
        path = folder / f"{name}.part"
        made = np.memmap(path, kind, "w+", shape=shape)
        path.unlink()
        return np.asarray(made)

    return make


Run = tuple[NDArray[np.uint64], ...]


def _merged_range(slices: list[Run]) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    if len(slices) == 1:
        high, low, sums = (np.array(part) for part in slices[0])
        return high, low, sums
    starts = np.cumsum([0, *(part[1].size for part in slices)])
    joined = [np.concatenate([run[part] for run in slices]) for part in range(3)]
    found: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]] = kernel.merge_runs(
        joined[0], joined[1], joined[2], starts
    )
    return found


def _ranges(runs: list[Run], most: int) -> Iterator[tuple[list[int], list[int]]]:
    """Cuts all runs at the same windows, so that the pieces between two cuts have about `most` windows together."""
    step = max(1, most // (4 * max(1, len(runs))))
    sample = sorted(
        (int(high[place]) if high.size else 0, int(low[place]))
        for high, low, _ in runs
        for place in range(step - 1, low.size, step)
    )
    # Each sampled window stands for `step` windows; between cuts of `most // step` samples there are about `most`.
    cuts = sample[:: max(1, most // step)][1:]
    begins = [0] * len(runs)
    for upper, lower in cuts:
        ends = [kernel.lower_bound(run[0], run[1], np.uint64(upper), np.uint64(lower)) for run in runs]
        yield begins, ends
        begins = ends
    yield begins, [run[1].size for run in runs]
