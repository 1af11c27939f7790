"""Models from the user's own text: texts are read, cut into words, counted in bounded memory, smoothed and pruned.

Counting keeps its sorted runs in a folder beside the model until the model is written. A training that was stopped, and
is started again, reads the text again, which is quick, and sorts only what is not sorted yet. Of every ten windows of
500 words one is kept out of the counts, up to 600 of them: `reference.py` learns from them what unseen natural text
looks like. A small text is counted as a whole.
"""

import contextlib
import dataclasses
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.base.errors import InputError, UsageError
from samehand.base.files import locked
from samehand.base.settings import Settings
from samehand.html import prose_text
from samehand.methods.language import katz
from samehand.methods.language.counting import (
    DEFAULT_MEMORY,
    Counts,
    OnProgress,
    Spans,
    check_order,
    count,
    count_spans,
)
from samehand.methods.language.counts_files import is_count_folder, read_counts
from samehand.methods.language.features import lowered
from samehand.methods.language.model import Model
from samehand.methods.language.pruning import prune
from samehand.methods.language.reference import EVERY, LEAST_WINDOWS, MOST_WINDOWS, WINDOW, learn_reference
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.vocabulary import MARKS, MOST_WORDS, Vocabulary
from samehand.sources.texts import TextReader, batched

_PROGRESS_SECONDS = 5.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRule:
    """What model to make. Its vocabulary is in the file `words`, or has the `most_words` most frequent words."""

    order: int = 4
    cutoffs: tuple[int, ...] = (1,)
    prune: float = 0.0
    most_words: int = MOST_WORDS
    words: str = ""
    is_lower: bool = False
    is_compact: bool = False
    memory_bytes: int = DEFAULT_MEMORY

    def __post_init__(self) -> None:
        check_order(self.order)
        if not self.cutoffs or min(self.cutoffs) < 1:
            raise UsageError(f"The cut-offs are {self.cutoffs}: give a number from 1 for each order, such as 1,1,2,2.")
        if not 0 <= self.prune < 1:
            raise UsageError(f"The pruning threshold is {self.prune}: choose a value from 0 to below 1, such as 1e-8.")
        if not 1 <= self.most_words <= MOST_WORDS:
            raise UsageError(f"The vocabulary has {self.most_words} words: choose a number from 1 to {MOST_WORDS}.")


def train_model(
    inputs: Sequence[str],
    out: Path | str,
    *,
    rule: TrainingRule,
    settings: Settings | None = None,
    on_progress: OnProgress,
) -> Model:
    """Trains a model on texts, or on a folder of Web 1T count files, and writes it to `out`."""
    out = Path(out)
    if any(os.path.abspath(given) == os.path.abspath(out) for given in inputs):
        raise UsageError(f"{out} is an input: choose another name with -o.")
    with _scratch(out) as scratch:
        held = HeldOut()
        counts = _counts(inputs, rule, settings or Settings(), held, scratch, on_progress)
        on_progress(f"{counts.tokens} words and sentence ends, {len(counts.trie)} n-grams; making the model")
        model = katz.train(counts, rule.cutoffs, metadata={"case": "lower" if rule.is_lower else "kept"})
        if rule.prune:
            model = prune(model, rule.prune)
            on_progress(f"{len(model.trie)} n-grams are left after pruning")
        if held.windows:
            reference = learn_reference(model, held.windows)
            model = dataclasses.replace(model, metadata={**model.metadata, "natural": reference.as_dict()})
            on_progress(f"tested on {len(held.windows)} held-out windows of text: {reference.described()}")
        model.save(out, compact=rule.is_compact)
    return model


def _counts(
    inputs: Sequence[str],
    rule: TrainingRule,
    settings: Settings,
    held: "HeldOut",
    scratch: Path,
    on_progress: OnProgress,
) -> Counts:
    order, memory, most = rule.order, rule.memory_bytes, rule.most_words
    counted = next((given for given in inputs if is_count_folder(Path(given))), None)
    if counted is not None:
        if len(inputs) > 1 or rule.words or rule.is_lower:
            raise UsageError(f"{counted} holds counts: give no other input, vocabulary file or --lower with it.")
        return read_counts(Path(counted), order=order, most_words=most, memory_bytes=memory, on_progress=on_progress)
    chunks = held.kept(_spans(TextReader(inputs, settings, text_of_html=prose_text), rule.is_lower, on_progress))
    if not rule.words:
        return count_spans(
            chunks, order=order, most_words=most, folder=scratch, memory_bytes=memory, on_progress=on_progress
        )
    vocabulary = _vocabulary(rule)
    texts = ((vocabulary.ids_of(data, starts, ends), bounds) for data, starts, ends, bounds in chunks)
    return count(
        texts, vocabulary=vocabulary, order=order, folder=scratch, memory_bytes=memory, on_progress=on_progress
    )


def _vocabulary(rule: TrainingRule) -> Vocabulary:
    try:
        lines = Path(rule.words).read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"The words in {rule.words} cannot be read ({error.strerror}): check its name.") from error
    words = dict.fromkeys(line.split(b"\t")[0].strip() for line in lines)
    listed = [word for word in words if word and word not in MARKS][: rule.most_words]
    if not listed:
        raise UsageError(f"There is no word in {rule.words}: name a file with one word per line.")
    return Vocabulary.from_words(dict.fromkeys(word.lower() for word in listed) if rule.is_lower else listed)


def _spans(reader: TextReader, is_lower: bool, on_progress: OnProgress) -> Iterator[Spans]:
    """The words of all texts, some megabytes of text at a time."""
    texts = size = words = 0
    told = time.monotonic()
    for batch in batched(reader):
        tokens = tokenize(*end_to_end(text for _, text in batch))
        texts, size, words = texts + len(batch), size + tokens.data.size, words + tokens.starts.size
        yield (lowered(tokens.data) if is_lower else tokens.data), tokens.starts, tokens.ends, tokens.sentences
        if time.monotonic() - told >= _PROGRESS_SECONDS:
            told = time.monotonic()
            on_progress(f"read {texts} texts, {size / 1e6:.0f} MB, {words} words")
    rejected = ", ".join(f"{number} {reason}" for reason, number in sorted(reader.rejects.items()))
    if not words:
        raise InputError(
            f"The inputs contain no words ({rejected or 'they are empty'}). "
            "Give text files (.txt), JSONL, WARC files or a folder of Web 1T counts."
        )
    skipped = f"; skipped: {rejected}" if rejected else ""
    on_progress(f"read {texts} texts, {size / 1e6:.1f} MB, {words} words{skipped}")


class HeldOut:
    """Takes windows out of the text that is going to be counted."""

    def __init__(self) -> None:
        self.windows: list[Spans] = []
        self._words = 0

    def kept(self, chunks: Iterable[Spans]) -> Iterator[Spans]:
        """The text to count. If there are too few windows to learn from, they are counted too, at the end."""
        for spans in chunks:
            is_out = self._taken(spans)
            self._words += spans[1].size
            yield _part(spans, ~is_out) if is_out.any() else spans
        if len(self.windows) < LEAST_WINDOWS:
            yield from self.windows
            self.windows = []

    def _taken(self, spans: Spans) -> NDArray[np.bool_]:
        """Whether each sentence is held out."""
        sentences = spans[3]
        windows = (self._words + sentences[:-1]) // WINDOW
        is_out = np.zeros(windows.size, np.bool_)
        for window in np.unique(windows[windows % EVERY == EVERY // 2]).tolist():
            if len(self.windows) >= MOST_WINDOWS:
                break
            chosen = windows == window
            if np.diff(sentences)[chosen].sum() >= 0.8 * WINDOW:
                self.windows.append(_part(spans, chosen, copied=True))
                is_out |= chosen
        return is_out


def _part(spans: Spans, chosen: NDArray[np.bool_], *, copied: bool = False) -> Spans:
    """Some sentences of a text. If `copied`, the bytes before and after them are left out."""
    data, starts, ends, sentences = spans
    sizes = np.diff(sentences)
    words = np.repeat(chosen, sizes)
    starts, ends = starts[words], ends[words]
    if copied:
        first, last = int(starts[0]), int(ends[-1])
        data, starts, ends = data[first:last].copy(), starts - first, ends - first
    return data, starts, ends, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[chosen])])


@contextlib.contextmanager
def _scratch(out: Path) -> Iterator[Path]:
    """The folder that counting works in. It stays if the counting is stopped, and goes when the model is written."""
    folder = out.with_name(out.name + ".counting")
    with locked(folder / "lock", f"Another process is making {out}: wait for it, or stop it."):
        is_done = False
        try:
            yield folder
            is_done = True
        finally:
            if is_done or not any(folder.glob("run_*")):
                shutil.rmtree(folder, ignore_errors=True)
