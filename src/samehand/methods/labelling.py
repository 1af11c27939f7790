"""Labels by hand with few looks at pages: how the paper labelled a million pages (section 4.1).

The user is asked for the label of a random page. Identical pages get the same label. Then another random page of the
same group is shown. If the answers agree, the whole group gets the label. If not, the group is mixed: only the pages
that were shown keep their labels, and from then on twice as many pages must agree as before. So the pages of a very
mixed group are shown one by one. The paper asks for "at least another" page, and clusters mixed groups again.

The next question depends on the seed and the answers alone. So the labels of a run are the whole state: they lead to
the same question when they are replayed, and without the last one to the question before.
"""

import csv
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import is_among
from samehand.base.errors import InputError, UsageError
from samehand.base.neutral import neutral
from samehand.base.page import host_of
from samehand.base.setting import nearest
from samehand.store.folder import RunFolder
from samehand.store.labels import SITE, SKIP, UNWANTED, WANTED, Label, LabelFile
from samehand.store.tables import PAGES, SITES

ASKED, IDENTICAL, GROUP = "asked", "identical", "group"
NO_GROUP = -1
FIRST_LOOKS = 2

WANTED_WORDS = ("real", "network", "copies", "login", "ok", "good", "keep")
UNWANTED_WORDS = (
    *("parked-ads", "for-sale", "farm", "hosting-default", "registrar-default", "cms-default", "coming-soon"),
    *("suspended", "redirect", "error", "challenge", "empty", "shell", "generated", "bad", "spam"),
)
"""What a person may call a site: its kind, or a plain word."""
_KEYS = ("url", "page_id", "site")
_HOW = (ASKED, IDENTICAL, GROUP)
_BY_ASKING, _BY_EQUALITY, _BY_GROUP = range(3)
_STRIDE = 1 << 12
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
        self._looks = 0
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
        """Does not ask for a page again. It may still get a label from other pages."""
        self._skipped[self._known(page_id)] = True

    def answer(self, page_id: int, label: str) -> None:
        """Takes the label of a page, whether it was asked for or not."""
        place = self._known(page_id)
        if self._how[place] == _BY_ASKING:
            raise UsageError(f"Page {page_id} was answered before: undo that answer first.")
        number = self._names.setdefault(label, len(self._names))
        copies, members = self._copies[self._digest[place]], self._members[self._group[place]]
        equal = copies[self._how[copies] != _BY_ASKING]
        self._labels[equal], self._how[equal] = number, _BY_EQUALITY
        self._labels[place], self._how[place] = number, _BY_ASKING
        self._settle(int(self._group[place]), members, number)
        self._looks += 1

    def _settle(self, group: int, members: NDArray[np.int64], number: int) -> None:
        """Labels a group whose answers agree; takes the labels of a mixed group back."""
        before = self._rounds.get(group, _Round())
        said = (*before.labels, number)
        if len(set(said)) > 1:
            guessed = members[self._how[members] == _BY_GROUP]
            self._labels[guessed] = self._how[guessed] = -1
            self._rounds[group] = _Round(looks=2 * before.looks)
            self._begun.discard(group)
            self._next = 0
            return
        self._rounds[group] = _Round(said, before.looks, self._looks)
        self._begun.add(group)
        if len(said) >= before.looks:
            rest = members[self._labels[members] < 0]
            self._labels[rest], self._how[rest] = number, _BY_GROUP

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
        return LabelCounts(len(self._how), how[1], how[2], how[3], self._looks, disagreements, how[0])

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


class KnownAnswers:
    """Labels that are known already, by page_id, url or site, whichever columns the file has."""

    def __init__(self, rows: Sequence[dict[str, str]]) -> None:
        self._labels: dict[tuple[str, str], str] = {}
        self.conflicts = 0
        for row in rows:
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


class SiteLabelling:
    """The sites of a run, asked for one after the other. Answers go into the labels of the run, and come from there.

    Pages with one digest, by page id, are identical.
    """

    def __init__(self, folder: RunFolder, *, seed: int, labels: Sequence[Label] | None = None) -> None:
        """The home pages of a judged run, grouped by their clusters. A placeholder is in no group.

        The state is the one after `labels`, or after the labels of the run.
        """
        rows = folder.read(SITES, ["page_id", "site", "url", "site_cluster_id"]).to_pylist()
        first = {row["page_id"]: row for row in reversed(rows)}
        self._rows = [first[page_id] for page_id in sorted(first)]
        self._site = {row["page_id"]: row["site"] for row in self._rows}
        self._page_ids = np.array([row["page_id"] for row in self._rows], np.int64)
        self._seed = seed
        self.digests = _digests(folder, self._page_ids)
        self.file = LabelFile.of(folder)
        self.labelling = self._replayed(self.file.labels() if labels is None else labels)

    def _replayed(self, labels: Sequence[Label]) -> Labelling:
        """The state after some labels."""
        clusters = [row["site_cluster_id"] for row in self._rows]
        found = Labelling(
            self._page_ids,
            np.array([NO_GROUP if cluster is None else cluster for cluster in clusters], np.int64),
            identical=[self.digests[page_id] for page_id in self._page_ids.tolist()],
            urls=[row["url"] for row in self._rows],
            seed=self._seed,
        )
        homes = {site: page_id for page_id, site in self._site.items()}
        for label in labels:
            if label.unit == SITE and label.name in homes:
                if label.answer == SKIP:
                    found.skip(homes[label.name])
                else:
                    found.answer(homes[label.name], label.answer)
        return found

    def answer(self, question: Question, word: str, *, time: str, who: str) -> None:
        """Takes the answer to a question: "wanted", "unwanted", "skip" or a kind of site."""
        answer, kind = answer_of(word)
        self.file.add(Label(SITE, self._site[question.page_id], answer, time, who, kind))
        if answer == SKIP:
            self.labelling.skip(question.page_id)
        else:
            self.labelling.answer(question.page_id, answer)

    def undo(self, *, time: str, who: str) -> Label | None:
        """Takes the last answer of `who` back, and returns it; None if there is none."""
        undone = self.file.undo(time=time, who=who)
        self.labelling = self._replayed(self.file.labels())
        return undone

    def drive(self, known: KnownAnswers, *, time: str, who: str) -> list[Question]:
        """Answers the questions from known answers. Returns the questions without one."""
        open_questions: list[Question] = []
        while question := self.labelling.ask():
            word = known.label_of(question)
            if word is None:
                open_questions.append(question)
                self.labelling.skip(question.page_id)
            else:
                self.answer(question, word, time=time, who=who)
        return open_questions


def answer_of(word: str) -> tuple[str, str]:
    """The answer that a word stands for, and the kind that it names. UsageError for another word: it may be a slip."""
    if word in (WANTED, UNWANTED, SKIP):
        return word, ""
    if word in WANTED_WORDS:
        return WANTED, word
    if word in UNWANTED_WORDS:
        return UNWANTED, word
    known = (WANTED, UNWANTED, *WANTED_WORDS, *UNWANTED_WORDS)
    raise UsageError(f"{neutral(word)!r} is no label{nearest(word, known)}")


def _digests(folder: RunFolder, page_ids: NDArray[np.int64]) -> dict[int, str]:
    found: dict[int, str] = {}
    wanted = np.sort(page_ids)
    for batch in folder.iterate(PAGES, ["page_id", "content_digest"]):
        some = batch.filter(pa.array(is_among(batch.column("page_id").to_numpy(), wanted)))
        found.update(zip(*(some.column(name).to_pylist() for name in ("page_id", "content_digest")), strict=True))
    return found
