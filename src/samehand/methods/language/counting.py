"""Counts of the n-grams of orders one to five, for texts of any size in bounded memory.

Windows of `order` words are packed into numbers, sorted and collapsed in memory, as many at a time as the memory
allows. Each sorted portion is a run on disk. At the end the runs are merged, one range of windows at a time, and the
counts of all orders are read off the sorted windows. A run has a done record with the digest of what it was made from.
So a count that was stopped continues: runs made from the same text in the same way are kept.
"""

import contextlib
import dataclasses
import functools
import hashlib
import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.base.files import write_whole
from samehand.kernels.ngrams import tries as kernel
from samehand.methods.language.trie import Make, Trie, TrieBuilder, field_bits
from samehand.methods.language.vocabulary import MOST_WORDS, Vocabulary, WordCounter
from samehand.store.done import DoneRecords, part_name

Text = tuple[NDArray[np.int32], NDArray[np.int64]]
"""Word ids, and the offsets of the sentences in them (one more than there are sentences)."""
Spans = tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""Bytes, starts and ends of the words in them, and the offsets of the sentences in the words."""
OnProgress = Callable[[str], None]
"""Is called with a line for the user about what was done."""
Windows = tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]
"""Sorted distinct windows, as the high and low halves of their numbers, and the count of each."""

DEFAULT_MEMORY = 1 << 30
_BYTES_PER_TOKEN = 64
"""Sorting holds a window twice, with its count, beside its word and the page cache."""
_FEWEST_TOKENS = 1 << 10


def silent(_: str) -> None:
    """Progress that nobody reads."""


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """How often each n-gram occurs: `counts` has one number for each node of the trie."""

    vocabulary: Vocabulary
    trie: Trie
    counts: NDArray[np.uint64]

    @property
    def order(self) -> int:
        """Length of the longest n-grams counted."""
        return self.trie.order

    @property
    def tokens(self) -> int:
        """Number of words and sentence ends, which are what a model predicts."""
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
    on_progress: OnProgress = silent,
) -> Counts:
    """Counts the n-grams of orders 1 to `order`. A `folder` keeps the runs, so that a stopped count can continue."""
    check_order(order)
    most = _portion_tokens(memory_bytes)
    made_with = f"{order} {vocabulary.digest()}"
    with _working_folder(folder) as working:
        done = DoneRecords(working / "done")
        paths: list[Path] = []
        for text in _portions(texts, most):
            path = working / part_name("run", len(paths))
            before = done.get(path.name)
            work = functools.partial(_make_run, path, text, order=order, words=len(vocabulary))
            done.once(path.name, _digest(made_with, text), work)
            paths.append(path)
            kept = ", kept from the stopped count" if done.get(path.name) == before else ""
            on_progress(f"counted portion {len(paths)}: {text[0].size} words{kept}")
        return merged(paths, vocabulary=vocabulary, order=order, memory_bytes=memory_bytes)


def count_spans(
    chunks: Iterable[Spans],
    *,
    order: int,
    most_words: int = MOST_WORDS,
    least: int = 1,
    folder: Path | None = None,
    memory_bytes: int = DEFAULT_MEMORY,
    on_progress: OnProgress = silent,
) -> Counts:
    """Counts the n-grams of words given as spans of bytes, and makes their vocabulary: see `WordCounter.finish`.

    The text is read once. Its word ids wait on disk until the vocabulary is known. A count that was stopped reads the
    text again, and keeps the finished runs.
    """
    with _working_folder(folder) as working, contextlib.ExitStack() as stack:
        spool = working / "words"
        stack.callback(shutil.rmtree, spool, ignore_errors=True)
        counter = WordCounter()
        files = 0
        for files, (data, starts, ends, sentences) in enumerate(chunks, 1):
            _save(spool / f"{files}.ids.npy", counter.add(data, starts, ends))
            _save(spool / f"{files}.sentences.npy", np.asarray(sentences, np.int64))
        vocabulary, numbers = counter.finish(most=most_words, least=least)
        refused = f"; {counter.refused} words came after its table was full" if counter.refused else ""
        on_progress(f"the vocabulary has {len(vocabulary)} words{refused}")
        texts = (
            (numbers[np.load(spool / f"{number}.ids.npy")], np.load(spool / f"{number}.sentences.npy"))
            for number in range(1, files + 1)
        )
        return count(
            texts,
            vocabulary=vocabulary,
            order=order,
            folder=working,
            memory_bytes=memory_bytes,
            on_progress=on_progress,
        )


@contextlib.contextmanager
def _working_folder(folder: Path | None) -> Iterator[Path]:
    """The folder given, or a temporary one."""
    if folder is not None:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="samehand-count-") as temporary:
        yield Path(temporary)


def _portion_tokens(memory_bytes: int) -> int:
    """How many windows are sorted at once."""
    return max(_FEWEST_TOKENS, memory_bytes // _BYTES_PER_TOKEN)


def check_order(order: int) -> None:
    """Refuses orders that no model has."""
    if not 1 <= order <= kernel.LARGEST_ORDER:
        raise UsageError(f"The order is {order}: choose a value from 1 to {kernel.LARGEST_ORDER}.")


def check_sentences(ids: NDArray[np.int32], sentences: NDArray[np.int64]) -> Text:
    """A text as the arrays that kernels take, if its sentences are rising offsets into its words."""
    ids, sentences = np.ascontiguousarray(ids, np.int32), np.ascontiguousarray(sentences, np.int64)
    if sentences.size == 0 or sentences[0] < 0 or sentences[-1] > ids.size or (np.diff(sentences) < 0).any():
        raise UsageError("The sentence offsets do not rise within the words. Pass the offsets that belong to them.")
    return ids, sentences


def _digest(made_with: str, text: Text) -> str:
    digest = hashlib.blake2b(made_with.encode(), digest_size=16)
    digest.update(text[0].tobytes())
    digest.update(text[1].tobytes())
    return digest.hexdigest()


def _portions(texts: Iterable[Text], most: int) -> Iterator[Text]:
    """Texts joined to portions of about `most` words and sentence marks. Longer ones are cut between sentences."""
    waiting: list[Text] = []
    held = 0
    for text in texts:
        ids, sentences = check_sentences(*text)
        for piece in _pieces((ids[sentences[0] : sentences[-1]], sentences - sentences[0]), most):
            size = piece[0].size + 2 * (piece[1].size - 1)
            if waiting and held + size > most:
                yield joined_texts(waiting)
                waiting, held = [], 0
            waiting.append(piece)
            held += size
    if waiting:
        yield joined_texts(waiting)


def _pieces(text: Text, most: int) -> Iterator[Text]:
    ids, sentences = text
    sizes = sentences + 2 * np.arange(sentences.size)
    begin = 0
    while begin < sentences.size - 1:
        end = int(np.searchsorted(sizes, sizes[begin] + most, "right")) - 1
        end = min(max(end, begin + 1), sentences.size - 1)
        yield ids[sentences[begin] : sentences[end]], sentences[begin : end + 1] - sentences[begin]
        begin = end


def joined_texts(texts: Sequence[Text]) -> Text:
    """Several texts as one."""
    shifts = np.cumsum([0, *(ids.size for ids, _ in texts)])
    offsets = [sentences[:-1] + shift for (_, sentences), shift in zip(texts, shifts, strict=False)]
    return np.concatenate([ids for ids, _ in texts]), np.concatenate([*offsets, shifts[-1:]])


def _make_run(path: Path, text: Text, *, order: int, words: int) -> dict[str, int]:
    high, low = kernel.window_keys(*text, order, field_bits(words), words)
    none = np.empty(0, np.uint64)
    if high.size:
        kernel.sort_wide(high, low, none)
    else:
        low.sort()
    high, low, counts = kernel.collapse(high, low, none)
    write_run(path, high, low, counts)
    return {"windows": low.size}


def write_run(path: Path, high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64]) -> None:
    """Writes sorted distinct windows and their counts, as three files."""
    for name, values in (("high", high), ("low", low), ("counts", counts)):
        _save(path.with_name(f"{path.name}.{name}.npy"), values)


def _save(path: Path, values: NDArray[Any]) -> None:
    with write_whole(path) as handle:
        np.save(handle, values)


def _open_run(path: Path) -> Windows:
    high, low, counts = (
        np.load(path.with_name(f"{path.name}.{name}.npy"), mmap_mode="c") for name in ("high", "low", "counts")
    )
    return high, low, counts


def merged(paths: list[Path], *, vocabulary: Vocabulary, order: int, memory_bytes: int, whole: bool = False) -> Counts:
    """The counts of all orders from runs of windows. `whole` as in `TrieBuilder`.

    Arrays that do not fit into the memory allowed lie in nameless files beside the runs. The system removes them when
    the counts are no longer used.
    """
    runs = [_open_run(path) for path in paths]
    make = _maker(paths[0].parent, memory_bytes) if paths else np.empty
    windows = sum(low.size for _, low, _ in runs)
    builder = TrieBuilder(windows, order=order, words=len(vocabulary), whole=whole, make=make)
    for begins, ends in _ranges(runs, _portion_tokens(memory_bytes)) if runs else ():
        slices = [_sliced(*run, begin, end) for run, begin, end in zip(runs, begins, ends, strict=True)]
        builder.add(*_merged_range(slices))
    return Counts(vocabulary, *builder.finish())


def _maker(folder: Path, memory_bytes: int) -> Make:
    def make(shape: tuple[int, ...], kind: type[np.generic]) -> NDArray[Any]:
        if math.prod(shape) * np.dtype(kind).itemsize * 8 <= memory_bytes:
            return np.empty(shape, kind)
        with tempfile.TemporaryFile(dir=folder) as handle:
            return np.asarray(np.memmap(handle, kind, "w+", shape=shape))

    return make


def _sliced(
    high: NDArray[np.uint64], low: NDArray[np.uint64], counts: NDArray[np.uint64], begin: int, end: int
) -> Windows:
    return high[begin:end], low[begin:end], counts[begin:end]


def _merged_range(slices: list[Windows]) -> Windows:
    if len(slices) == 1:
        high, low, sums = (np.array(part) for part in slices[0])
        return high, low, sums
    starts = np.cumsum([0, *(low.size for _, low, _ in slices)])
    high, low, counts = (np.concatenate(parts) for parts in zip(*slices, strict=True))
    found: Windows = kernel.merge_runs(high, low, counts, starts)
    return found


def _ranges(runs: list[Windows], most: int) -> Iterator[tuple[list[int], list[int]]]:
    """Cuts all runs at the same windows, so that the pieces between two cuts have about `most` windows together."""
    step = max(1, most // (4 * max(1, len(runs))))
    sample = sorted(
        (int(high[place]) if high.size else 0, int(low[place]))
        for high, low, _ in runs
        for place in range(step - 1, low.size, step)
    )
    # Each sampled window stands for `step` windows, so `most // step` samples stand for about `most` windows.
    cuts = sample[:: max(1, most // step)][1:]
    begins = [0] * len(runs)
    for upper, lower in cuts:
        ends = [kernel.lower_bound(high, low, np.uint64(upper), np.uint64(lower)) for high, low, _ in runs]
        yield begins, ends
        begins = ends
    yield begins, [low.size for _, low, _ in runs]
