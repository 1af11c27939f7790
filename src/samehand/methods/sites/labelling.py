"""Labels by hand with few looks at pages: how the paper labelled a million pages (section 4.1).

The user is asked for the label of a random page. Identical pages get the same label. Then another random page of the
same group is shown. If the answers agree, the whole group gets the label. If not, the group is mixed: only the pages
that were shown keep their labels, and from then on twice as many pages must agree as before. So the pages of a very
mixed group are shown one by one. The paper asks for "at least another" page, and clusters mixed groups again.

The next question depends on the seed and the answers alone. So a file of answers is the whole state: it leads to the
same question when it is read again, and an undo leads back to the question before.
"""

import contextlib
import csv
import dataclasses
import errno
import io
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.errors import InputError, RunWriteError, UsageError
from samehand.base.files import writing
from samehand.base.page import host_of

ASKED, IDENTICAL, GROUP = "asked", "identical", "group"
UNDO = "-undo-"
NO_GROUP = -1
FIRST_LOOKS = 2
LONGEST_LABEL = 100
ANSWER_COLUMNS = ("page_id", "url", "label")

_KEYS = ("url", "page_id", "site")
_HOW = (ASKED, IDENTICAL, GROUP)
_BY_ASKING, _BY_EQUALITY, _BY_GROUP = range(3)
_STRIDE = 1 << 12
_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")
_LABEL_SCHEMA = pa.schema([("page_id", pa.int64()), ("label", pa.string()), ("how", pa.string())])


class Question(NamedTuple):
    """A page to look at, and its group."""

    page_id: int
    group: int
    url: str


@dataclasses.dataclass(frozen=True, slots=True)
class LabelCounts:
    """How far the labelling is. `looks` counts the pages that people had to look at."""

    pages: int
    asked: int
    identical: int
    by_group: int
    looks: int
    disagreements: int
    open: int


class _Round(NamedTuple):
    """The answers for a group since they last disagreed, and how many must agree to label it."""

    labels: tuple[int, ...] = ()
    looks: int = FIRST_LOOKS
    last: int = 0


class _Step(NamedTuple):
    """What an answer changed, so that it can be undone."""

    place: int
    rows: NDArray[np.int64]
    labels: NDArray[np.int32]
    how: NDArray[np.int8]
    round: _Round


class Labelling:
    """The next page to look at, and the label of each page, from the answers so far."""

    def __init__(
        self,
        page_ids: NDArray[np.int64],
        groups: NDArray[np.int64],
        *,
        identical: Sequence[object] | NDArray[np.generic],
        urls: Sequence[str] = (),
        seed: int = 0,
    ) -> None:
        """Page i is in groups[i] (NO_GROUP for none). Pages with equal values in `identical` are identical."""
        if not len(page_ids) == len(groups) == len(identical) or len(urls) not in (0, len(page_ids)):
            raise UsageError("Pages, groups and digests differ in number: give one of each per page.")
        self._page_ids, self._groups, self._urls = page_ids, groups, urls
        self._place = {page_id: place for place, page_id in enumerate(page_ids.tolist())}
        if len(self._place) != len(page_ids):
            raise UsageError("A page is there twice: give each page_id once.")
        self._order = np.random.Generator(np.random.PCG64(seed)).permutation(np.argsort(page_ids))
        self._group = _group_numbers(groups)
        self._members = _Buckets(self._group, self._order)
        self._digest = _numbered(identical)
        self._copies = _Buckets(self._digest, self._order)
        self._names: dict[str, int] = {}
        self._labels = np.full(len(page_ids), -1, np.int32)
        self._how = np.full(len(page_ids), -1, np.int8)
        self._rounds: dict[int, _Round] = {}
        self._begun: set[int] = set()  # groups that may have a page to be asked for next
        self._steps: list[_Step] = []
        self._skipped = np.zeros(len(page_ids), np.bool_)
        self._next = 0

    def ask(self) -> Question | None:
        """The next page to look at; None if all have labels or were skipped. Asking again gives the same page."""
        for group in sorted(self._begun, key=lambda group: -self._rounds[group].last):
            members = self._members[group]
            found = self._first_open(members, 0)
            if found < len(members):
                return self._question(int(members[found]))
            self._begun.discard(group)
        self._next = self._first_open(self._order, self._next)
        return self._question(int(self._order[self._next])) if self._next < len(self._order) else None

    def _first_open(self, places: NDArray[np.int64], start: int) -> int:
        """Index of the first of `places`, from `start` on, that has no label and was not skipped."""
        for first in range(start, len(places), _STRIDE):
            some = places[first : first + _STRIDE]
            still_open = (self._labels[some] < 0) & ~self._skipped[some]
            if still_open.any():
                return first + int(still_open.argmax())
        return len(places)

    def _question(self, place: int) -> Question:
        page_id, group = int(self._page_ids[place]), int(self._groups[place])
        return Question(page_id, group, self._urls[place] if self._urls else "")

    def skip(self, page_id: int) -> None:
        """Does not ask for a page again. It may still get a label from other pages. Skips are not stored."""
        self._skipped[self._known(page_id)] = True

    def answer(self, page_id: int, label: str) -> None:
        """Takes the label of a page, whether it was asked for or not."""
        place = self._known(page_id)
        if self._how[place] == _BY_ASKING:
            raise UsageError(f"Page {page_id} was answered before: undo that answer first.")
        if not label.strip() or label == UNDO or len(label) > LONGEST_LABEL or _CONTROL.search(label.replace(" ", "")):
            raise UsageError(f"{label!r} is no label: give a word or a few on one line.")
        number = self._names.setdefault(label, len(self._names))
        copies, members = self._copies[self._digest[place]], self._members[self._group[place]]
        rows = np.union1d(copies, members)
        labels, how = self._labels[rows], self._how[rows]
        equal = copies[self._how[copies] != _BY_ASKING]
        self._labels[equal], self._how[equal] = number, _BY_EQUALITY
        self._labels[place], self._how[place] = number, _BY_ASKING
        before = self._settle(int(self._group[place]), members, number)
        changed = (self._labels[rows] != labels) | (self._how[rows] != how)
        self._steps.append(_Step(place, rows[changed], labels[changed], how[changed], before))

    def _settle(self, group: int, members: NDArray[np.int64], number: int) -> _Round:
        """Labels a group whose answers agree; takes the labels of a mixed group back. Returns the round before."""
        before = self._rounds.get(group, _Round())
        said = (*before.labels, number)
        if len(set(said)) > 1:
            guessed = members[self._how[members] == _BY_GROUP]
            self._labels[guessed] = self._how[guessed] = -1
            self._rounds[group] = _Round(looks=2 * before.looks)
            self._begun.discard(group)
            self._next = 0
            return before
        self._rounds[group] = _Round(said, before.looks, len(self._steps))
        self._begun.add(group)
        if len(said) >= before.looks:
            rest = members[self._labels[members] < 0]
            self._labels[rest], self._how[rest] = number, _BY_GROUP
        return before

    def undo(self) -> int | None:
        """Takes the last answer back and returns its page; None if there is none."""
        if not self._steps:
            return None
        step = self._steps.pop()
        self._labels[step.rows], self._how[step.rows] = step.labels, step.how
        group = int(self._group[step.place])
        self._rounds[group] = step.round
        touched = {group, *np.unique(self._group[step.rows]).tolist()}
        self._begun.discard(group)
        self._begun |= {one for one in touched if one in self._rounds and self._rounds[one].labels}
        self._next = 0
        return int(self._page_ids[step.place])

    def labels(self) -> pa.Table:
        """Every page with a label, by page_id: page_id, label, how (asked, identical or group)."""
        places = np.argsort(self._page_ids)
        places = places[self._labels[places] >= 0]
        names = pa.array(list(self._names), pa.string()).take(pa.array(self._labels[places]))
        how = pa.array(_HOW, pa.string()).take(pa.array(self._how[places]))
        return pa.table([pa.array(self._page_ids[places]), names, how], schema=_LABEL_SCHEMA)

    def counts(self) -> LabelCounts:
        """How far the labelling is."""
        how = np.bincount(self._how + 1, minlength=4).tolist()
        disagreements = sum((one.looks // FIRST_LOOKS).bit_length() - 1 for one in self._rounds.values())
        return LabelCounts(len(self._how), how[1], how[2], how[3], len(self._steps), disagreements, how[0])

    def _known(self, page_id: int) -> int:
        if page_id not in self._place:
            raise UsageError(f"There is no page {page_id} to label: check that the answers belong to this run.")
        return self._place[page_id]


class _Buckets:
    """Places by bucket number, in the given order within each bucket."""

    def __init__(self, numbers: NDArray[np.int64], order: NDArray[np.int64]) -> None:
        self._places = order[np.argsort(numbers[order], kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(numbers))]).astype(np.int64)

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        return self._places[self._starts[number] : self._starts[number + 1]]


def _group_numbers(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers for the groups from 0 on. A page in no group is a group of its own."""
    names, numbers = np.unique(groups, return_inverse=True)
    alone = np.flatnonzero(groups == NO_GROUP)
    numbers[alone] = len(names) + np.arange(len(alone))
    return np.asarray(numbers, np.int64)


def _numbered(values: Sequence[object] | NDArray[np.generic]) -> NDArray[np.int64]:
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


class AnswerFile:
    """Answers in a CSV file that only grows: `page_id,url,label`. An undo is a row, too.

    Each answer is on the disk before the next question. An incomplete last line is cut off and kept in `cut_off`.
    """

    def __init__(self, path: Path, labelling: Labelling) -> None:
        self._path, self._labelling = path, labelling
        self._file: io.FileIO | None = None
        self.cut_off = b""

    def __enter__(self) -> Self:
        """Replays the answers in the file."""
        with writing(self._path):
            self._file = io.FileIO(self._path, "a+")
        with contextlib.ExitStack() as closing:
            closing.callback(self._file.close)
            self._replay_all(self._file)
            closing.pop_all()  # without an error the file stays open
        return self

    def _replay_all(self, file: io.FileIO) -> None:
        """Replays the answers. A file that has another header is refused before anything is cut off."""
        file.seek(0)
        whole, end, rest = file.readall().rpartition(b"\n")
        header = ",".join(ANSWER_COLUMNS)
        rows = list(csv.reader(io.StringIO(whole.decode("utf-8", "replace"))))
        if (rows and tuple(rows[0]) != ANSWER_COLUMNS) or (not end and not header.encode().startswith(rest)):
            raise InputError(f"{self._path} is no file of answers: its first line is not {header}.")
        for number, row in enumerate(rows[1:], 2):
            self._replay(row, number)
        file.truncate(len(whole) + len(end))
        self.cut_off = rest
        if not rows:
            self._write(header)

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def answer(self, question: Question, label: str) -> None:
        """Takes an answer and writes it down. If the writing fails, the answer is taken back."""
        self._labelling.answer(question.page_id, label)
        try:
            self._add(question.page_id, question.url, label)
        except RunWriteError:
            self._labelling.undo()
            raise

    def undo(self) -> int | None:
        """Takes the last answer back and writes the undo down. Returns its page; None if there is no answer."""
        page_id = self._labelling.undo()
        if page_id is not None:
            self._add(page_id, "", UNDO)
        return page_id

    def _replay(self, row: list[str], number: int) -> None:
        try:
            page_id, _, label = row
            if label == UNDO:
                self._labelling.undo()
            else:
                self._labelling.answer(int(page_id), label)
        except ValueError:
            where = f"{self._path}, line {number},"
            raise InputError(f"{where} is no answer: correct the line or move the file away.") from None

    def _add(self, page_id: int, url: str, label: str) -> None:
        line = io.StringIO()
        plain = _CONTROL.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), url)
        csv.writer(line, lineterminator="").writerow([page_id, plain, label])
        self._write(line.getvalue())

    def _write(self, line: str) -> None:
        """Appends a line. A line that was not written completely is removed, or the next one would be joined to it."""
        if self._file is None:
            raise UsageError("The file of answers is not open: use it in a with statement.")
        size, data = self._file.seek(0, os.SEEK_END), line.encode("utf-8", "replace") + b"\n"
        try:
            with writing(self._path):
                if self._file.write(data) != len(data):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(self._file.fileno())
        except RunWriteError:
            self._file.truncate(size)
            raise


class KnownAnswers:
    """Labels that are known already, by page_id, url or site, whichever columns the file has."""

    def __init__(self, rows: Sequence[dict[str, str]]) -> None:
        self._labels: dict[tuple[str, str], str] = {}
        self.conflicts = 0
        kept: list[dict[str, str]] = []
        for row in rows:
            if row.get("label") == UNDO:
                del kept[-1:]
            else:
                kept.append(row)
        for row in kept:
            column = next((name for name in _KEYS if row.get(name)), None)
            label = (row.get("label") or "").strip()
            if column and label:
                key = column, row[column].strip().lower() if column == "site" else row[column].strip()
                self.conflicts += self._labels.get(key, label) != label
                self._labels[key] = label  # the last label counts

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a CSV with a column label and at least one of page_id, url and site."""
        try:
            with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
                rows = list(csv.DictReader(file))
        except (OSError, csv.Error) as error:
            raise InputError(f"{path} cannot be read ({error}). Check the path of the answers.") from None
        if not rows or "label" not in rows[0] or not set(_KEYS) & set(rows[0]):
            raise InputError(f"{path} has no answers: give the columns label and page_id, url or site.")
        return cls(rows)

    def label_of(self, question: Question) -> str | None:
        """The label of a page by its page_id, else its URL, host or site."""
        host = host_of(question.url)
        keys = [("page_id", str(question.page_id)), ("url", question.url)]
        keys += [("site", host.name or ""), ("site", host.private_domain or "")]
        return next((self._labels[column, key] for column, key in keys if key and (column, key) in self._labels), None)


def drive(labelling: Labelling, answers: KnownAnswers, *, answer: Callable[[Question, str], None]) -> list[Question]:
    """Answers the questions from known answers, through `answer`. Returns the questions without a known answer."""
    open_questions: list[Question] = []
    while question := labelling.ask():
        label = answers.label_of(question)
        if label is None:
            open_questions.append(question)
            labelling.skip(question.page_id)
        else:
            answer(question, label)
    return open_questions
