"""Models from the user's own text: texts are read, cut into words, counted in bounded memory, smoothed and pruned.

Counting keeps its sorted runs in a folder beside the model until the model is written. Killed and started again with
the same inputs and options it reads the text again, which is quick, and sorts only what is not sorted yet. Every tenth
window of 500 words, up to 600 of them, is kept out of the counts: `reference.py` learns from these what
text the model has not seen looks like. Of a small text nothing is kept out.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.base.errors import InputError, RunBusyError, UsageError
from samehand.base.settings import Settings
from samehand.methods.language import katz
from samehand.methods.language.counting import DEFAULT_MEMORY, Counts, Spans, check_order, count, count_spans
from samehand.methods.language.counts_files import read_counts
from samehand.methods.language.features import lowered
from samehand.methods.language.model import Model
from samehand.methods.language.pruning import prune
from samehand.methods.language.reference import EVERY, LEAST_WINDOWS, MOST_WINDOWS, WINDOW, learn_reference
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.vocabulary import MARKS, MOST_WORDS, Vocabulary
from samehand.sources.texts import TextReader, batched

Tell = Callable[[str], None]

_TELL_SECONDS = 5.0
_COUNT_FOLDERS = ("vocab.gz", "vocab", "1gms/vocab.gz", "1gms/vocab")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRule:
    """What model to make: `prune` 0 for none; the vocabulary is in the file `words`, or the commonest `most_words`."""

    order: int = 4
    cutoffs: tuple[int, ...] = (1, 1, 1, 1, 1)
    prune: float = 0.0
    most_words: int = MOST_WORDS - 8
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
        if not 1 <= self.most_words < MOST_WORDS:
            raise UsageError(f"A vocabulary of {self.most_words} words: choose a number from 1 to {MOST_WORDS - 8}.")


def train_model(
    inputs: Sequence[str], out: Path | str, *, rule: TrainingRule, settings: Settings | None = None, tell: Tell
) -> Model:
    """Trains a model on texts, or on a folder of Web 1T count files, and writes it to `out`."""
    out = Path(out)
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent} to write to: make it first.")
    if any(os.path.abspath(given) == os.path.abspath(out) for given in inputs):
        raise UsageError(f"{out} is an input: choose another name with -o.")
    counted = next((given for given in inputs if is_count_folder(given)), None)
    if counted is not None and (len(inputs) > 1 or rule.words or rule.is_lower):
        raise UsageError(f"{counted} holds counts: they are read alone, and as they are.")
    with contextlib.ExitStack() as stack:
        held = HeldOut()
        if counted is not None:
            most, memory = rule.most_words, rule.memory_bytes
            counts = read_counts(counted, order=rule.order, most_words=most, memory_bytes=memory, tell=tell)
        else:
            scratch = stack.enter_context(_scratch(out, inputs, rule))
            counts = _count(TextReader(inputs, settings or Settings()), rule, held, scratch, tell)
        tell(f"{counts.tokens} words and sentence ends, {len(counts.trie)} n-grams; making the model")
        model = katz.train(
            counts, katz.KatzRule(cutoffs=rule.cutoffs), facts={"case": "lower" if rule.is_lower else "kept"}
        )
        if rule.prune:
            model = prune(model, rule.prune)
            tell(f"{len(model.trie)} n-grams are left after pruning")
        if held.windows:
            reference = learn_reference(model, held.windows)
            model = dataclasses.replace(model, facts={**model.facts, "natural": reference.as_dict()})
            tell(f"{len(held.windows)} windows of text kept apart: {reference.described()}")
        model.save(out, compact=rule.is_compact)
    return model


def is_count_folder(given: str) -> bool:
    """Whether a folder has count files in the layout of the Web 1T corpus."""
    return os.path.isdir(given) and any(os.path.isfile(os.path.join(given, name)) for name in _COUNT_FOLDERS)


def _count(reader: TextReader, rule: TrainingRule, held: "HeldOut", scratch: Path, tell: Tell) -> Counts:
    chunks = held.kept(_spans(reader, rule.is_lower, tell))
    if rule.words:
        vocabulary = _vocabulary(rule)
        texts = ((vocabulary.ids_of(data, starts, ends), bounds) for data, starts, ends, bounds in chunks)
        return count(
            texts,
            vocabulary=vocabulary,
            order=rule.order,
            folder=scratch / "runs",
            memory_bytes=rule.memory_bytes,
            tell=tell,
        )
    return count_spans(
        chunks,
        order=rule.order,
        most_words=rule.most_words,
        folder=scratch / "runs",
        memory_bytes=rule.memory_bytes,
        tell=tell,
    )


def _vocabulary(rule: TrainingRule) -> Vocabulary:
    try:
        lines = Path(rule.words).read_bytes().splitlines()
    except OSError as error:
        raise UsageError(f"The words in {rule.words} cannot be read ({error.strerror}): check its name.") from error
    words = dict.fromkeys(line.split(b"\t")[0].strip() for line in lines)
    listed = [word for word in words if word and word not in MARKS][: rule.most_words]
    if not listed:
        raise UsageError(f"There is no word in {rule.words}: name a file with one word a line.")
    return Vocabulary.from_words(dict.fromkeys(word.lower() for word in listed) if rule.is_lower else listed)


def _spans(reader: TextReader, is_lower: bool, tell: Tell) -> Iterator[Spans]:
    """The words of all texts, some megabytes of text at a time."""
    texts = size = words = 0
    said = time.monotonic()
    for batch in batched(reader):
        tokens = tokenize(*end_to_end(text for _, text in batch))
        texts, size, words = texts + len(batch), size + tokens.data.size, words + tokens.starts.size
        yield (lowered(tokens.data) if is_lower else tokens.data), tokens.starts, tokens.ends, tokens.sentences
        if time.monotonic() - said >= _TELL_SECONDS:
            said = time.monotonic()
            tell(f"read {texts} texts, {size / 1e6:.0f} MB, {words} words")
    rejected = ", ".join(f"{number} {reason}" for reason, number in sorted(reader.rejects.items()))
    if not words:
        raise InputError(
            f"There is no word in the inputs ({rejected or 'they are empty'}). "
            "Give text files (.txt), JSONL, WARC files or a folder of Web 1T counts."
        )
    tell(f"read {texts} texts, {size / 1e6:.1f} MB, {words} words{'; passed over: ' if rejected else ''}{rejected}")


class HeldOut:
    """Takes windows out of the text on its way to be counted."""

    def __init__(self) -> None:
        self.windows: list[Spans] = []
        self._words = 0

    def kept(self, chunks: Iterable[Spans]) -> Iterator[Spans]:
        """What is to be counted; all of it, in the end, where the windows are too few to learn from."""
        for data, starts, ends, sentences in chunks:
            is_out = self._taken((data, starts, ends, sentences))
            self._words += starts.size
            yield (
                (data, starts, ends, sentences) if not is_out.any() else _part((data, starts, ends, sentences), ~is_out)
            )
        if len(self.windows) < LEAST_WINDOWS:
            yield from self.windows
            self.windows = []

    def _taken(self, spans: Spans) -> NDArray[np.bool_]:
        """For each sentence whether it is held out."""
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
    """Some sentences of a text; `copied` without the bytes around them."""
    data, starts, ends, sentences = spans
    sizes = np.diff(sentences)
    words = np.repeat(chosen, sizes)
    starts, ends = starts[words], ends[words]
    if copied:
        first, last = int(starts[0]), int(ends[-1])
        data, starts, ends = data[first:last].copy(), starts - first, ends - first
    return data, starts, ends, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[chosen])])


@contextlib.contextmanager
def _scratch(out: Path, inputs: Sequence[str], rule: TrainingRule) -> Iterator[Path]:
    """The folder that counting works in: kept when it is stopped, removed when the model is there."""
    folder = out.with_name(out.name + ".counting")
    try:
        folder.mkdir(exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise UsageError(f"Cannot write to {folder} ({error.strerror}): choose another place with -o.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusyError(f"Another process is making {out}: wait for it, or stop it.") from None
        plan = json.dumps({"rule": dataclasses.asdict(rule), "inputs": [_stamp(given) for given in inputs]})
        if not (folder / "plan.json").is_file() or (folder / "plan.json").read_text() != plan:
            shutil.rmtree(folder / "runs", ignore_errors=True)
            (folder / "plan.json").write_text(plan)
        yield folder
        shutil.rmtree(folder, ignore_errors=True)  # not reached where something was raised


def _stamp(given: str) -> str:
    """A digest of the names, sizes and times of what an input stands for."""
    digest = hashlib.blake2b(given.encode("utf-8", "surrogateescape"), digest_size=16)
    for path in [given, *(os.path.join(place, name) for place, _, names in os.walk(given) for name in sorted(names))]:
        with contextlib.suppress(OSError):
            found = os.stat(path)
            digest.update(f"{path} {found.st_size} {found.st_mtime_ns}".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
