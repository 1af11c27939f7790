"""Labels by hand: one file for all that people said about a run. It only grows, and an undo is a line, too.

Each line is one answer about a page, a site, a cluster, a provider, or a pair of pages, as JSON. A line is on the disk
before `add` returns. Several processes may write: each line is written under a lock of the file, after the lines of the
others were read. A line that a killed process left incomplete is no answer: the next writer cuts it off.

The file may come from a stranger, so every line is checked when it is read. Whether a run has the unit that a label
names is for those to check who use the label.
"""

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from samehand.base.errors import RunError, RunWriteError, UsageError
from samehand.base.files import sync_folder, writing
from samehand.base.neutral import json_line, neutral
from samehand.store.files import LABELS
from samehand.store.folder import RunFolder
from samehand.store.shape import MOST, fits

PAGE, SITE, CLUSTER, PROVIDER, PAIR = "page", "site", "cluster", "provider", "pair"
UNITS = (PAGE, SITE, CLUSTER, PROVIDER, PAIR)
UNWANTED, WANTED, SKIP = "unwanted", "wanted", "skip"
SAME, DIFFERENT = "same hand", "different hands"
UNDO = "undo"
_UNIT_ANSWERS, _PAIR_ANSWERS = (UNWANTED, WANTED, SKIP), (SAME, DIFFERENT, SKIP)
LONGEST_FILE = 1 << 28
_LONGEST = {"name": 1000, "kind": 100, "who": 100, "seen": 200, "time": 40}


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """One answer of a person.

    Attributes:
        unit: page, site, cluster, provider or pair.
        name: What it is about: a page_id, a site, a style_cluster_id, a provider, or two page_ids with a blank between.
        answer: unwanted, wanted or skip; for a pair: same hand, different hands or skip.
        time: When it was given, as ISO 8601 with a time zone.
        who: Who gave it.
        kind: What the person called it, such as parked-ads; may be empty.
        seen: The verdict that the person saw, such as "block parked-ads 0.97"; may be empty.
    """

    unit: str
    name: str
    answer: str
    time: str
    who: str = ""
    kind: str = ""
    seen: str = ""

    @property
    def page_ids(self) -> tuple[int, ...]:
        """The numbers that the name of a page, a cluster or a pair consists of."""
        return tuple(int(part) for part in self.name.split(" "))

    @classmethod
    def pair(cls, left: int, right: int, answer: str, time: str, *, who: str = "") -> "Label":
        """An answer about two pages, the smaller page_id first."""
        return cls(PAIR, f"{min(left, right)} {max(left, right)}", answer, time, who)


def problem_of(label: Label) -> str:
    """What is wrong with a label; "" if nothing is."""
    if label.unit not in UNITS:
        return f"there is no unit {label.unit!r}: give {', '.join(UNITS)}"
    allowed = _PAIR_ANSWERS if label.unit == PAIR else _UNIT_ANSWERS
    if label.answer not in (*allowed, UNDO):
        return f"{label.answer!r} is no answer about a {label.unit}: give {', '.join(allowed)}"
    for field, longest in _LONGEST.items():
        text = getattr(label, field)
        if len(text) > longest or neutral(text) != text:
            return f"its {field} is longer than {longest} characters, or has characters that cannot be shown"
    try:
        if datetime.fromisoformat(label.time).tzinfo is None:
            return f"its time {label.time!r} has no time zone"
    except ValueError:
        return f"its time {label.time!r} is no time of ISO 8601"
    return _problem_of_name(label)


def _problem_of_name(label: Label) -> str:
    if label.unit in (SITE, PROVIDER):
        return "" if label.name.strip() else f"it names no {label.unit}"
    parts = label.name.split(" ")
    wanted = 2 if label.unit == PAIR else 1
    if len(parts) != wanted or not all(part.isascii() and part.isdecimal() and int(part) <= MOST for part in parts):
        return f"{label.name!r} is not what names a {label.unit}"
    is_pair = label.unit == PAIR
    return "a pair has two pages, the smaller number first" if is_pair and int(parts[0]) >= int(parts[1]) else ""


class LabelFile:
    """The labels of a run, or of any file."""

    def __init__(self, path: Path) -> None:
        """Nothing is read or made yet."""
        self.path = path
        self.cut_off = b""
        """The incomplete line that a killed process had left, once it was cut off."""
        self._answers: dict[int, Label] = {}  # line: those that no undo took back, oldest first
        self._lines_of: dict[tuple[str, str, str], list[int]] = {}  # unit, name, who: lines of such answers
        self._lines = self._size = 0

    @classmethod
    def of(cls, folder: RunFolder) -> "LabelFile":
        """The labels of a run."""
        return cls(folder.own_file(LABELS))

    def labels(self) -> list[Label]:
        """The labels that hold, oldest first: the last answer about each unit. RunError where the file is damaged."""
        with contextlib.suppress(FileNotFoundError), self._opened(os.O_RDONLY) as descriptor:
            self._catch_up(descriptor)
        held: dict[tuple[str, str], Label] = {}
        for label in self._answers.values():
            held.pop((label.unit, label.name), None)  # so that the later answer stands later
            held[label.unit, label.name] = label
        return list(held.values())

    def add(self, label: Label) -> None:
        """Takes an answer. It is on the disk when this returns."""
        problem = problem_of(label)
        if problem or label.answer == UNDO:
            raise UsageError(f"This label cannot be stored: {problem or 'call undo instead'}.")
        with self._writing() as descriptor:
            self._append(descriptor, label)

    def undo(self, *, time: str, who: str = "") -> Label | None:
        """Takes the last answer of `who` back, and returns it; None if there is none. As often as there are answers."""
        with self._writing() as descriptor:
            last = next((label for label in reversed(self._answers.values()) if label.who == who), None)
            if last is not None:
                self._append(descriptor, dataclasses.replace(last, answer=UNDO, time=time, kind="", seen=""))
        return last

    @contextlib.contextmanager
    def _opened(self, flags: int) -> Iterator[int]:
        """A plain file: links are not followed, because a stranger may have made the folder."""
        try:
            descriptor = os.open(self.path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise RunError(f"{self.path} cannot be read ({error.strerror}). Check the file of labels.") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise RunError(f"{self.path} is not a plain file. Remove it, then run the same command again.")
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[int]:
        """The file, locked, with all that others wrote, and without an incomplete last line."""
        is_new = not self.path.exists()
        with writing(self.path.parent):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
        with self._opened(os.O_RDWR | os.O_APPEND) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if is_new:
                sync_folder(self.path.parent)
            rest = self._catch_up(descriptor)
            if rest:
                os.ftruncate(descriptor, self._size)
                self.cut_off = rest
            yield descriptor

    def _catch_up(self, descriptor: int) -> bytes:
        """Takes in the lines since the last time. Returns the incomplete line at the end."""
        size = os.fstat(descriptor).st_size
        if size < self._size:
            self._answers, self._lines_of, self._lines, self._size = {}, {}, 0, 0
        if size > LONGEST_FILE:
            raise RunError(f"{self.path} is larger than {LONGEST_FILE >> 20} MB: that is no file of labels.")
        new = os.pread(descriptor, size - self._size, self._size)
        whole, end, rest = new.rpartition(b"\n")
        for line in whole.split(b"\n") if end else ():
            self._lines += 1
            self._take(self._read(line))
        self._size += len(whole) + len(end)
        return rest

    def _read(self, line: bytes) -> Label:
        where = f"{self.path}, line {self._lines},"
        try:
            row: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise RunError(f"{where} is no label: it is not JSON. Correct the line, or move the file away.") from None
        if not fits(row, Label):
            names = ", ".join(field.name for field in dataclasses.fields(Label))
            raise RunError(f"{where} is no label: it needs just {names}, each a text.")
        label = Label(**row)
        problem = problem_of(label)
        if problem:
            raise RunError(f"{where} is no label: {neutral(problem)}.")
        return label

    def _take(self, label: Label) -> None:
        """An undo takes the last answer of the same person about the same unit back."""
        lines = self._lines_of.setdefault((label.unit, label.name, label.who), [])
        if label.answer != UNDO:
            self._answers[self._lines] = label
            lines.append(self._lines)
        elif lines:
            del self._answers[lines.pop()]
        else:
            raise RunError(f"{self.path}, line {self._lines}, takes back what nobody said.")

    def _append(self, descriptor: int, label: Label) -> None:
        """Appends a line. A line that was not written completely is removed, or the next one would be joined to it."""
        data = json_line(dataclasses.asdict(label)).encode() + b"\n"
        try:
            with writing(self.path):
                if os.write(descriptor, data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(descriptor)
        except RunWriteError:
            os.ftruncate(descriptor, self._size)
            raise
        self._lines += 1
        self._size += len(data)
        self._take(label)


def digest_of(labels: Sequence[Label]) -> int:
    """Digest of what labels say, as a number that a table can hold. Who said it, when, and skips do not matter."""
    said = sorted((label.unit, label.name, label.answer, label.kind) for label in labels if label.answer != SKIP)
    return int.from_bytes(hashlib.sha256(json.dumps(said).encode()).digest()[:7])
