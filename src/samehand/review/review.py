"""A run under review: what was answered, what is asked next, and what an answer would change."""

import dataclasses
import getpass
import threading
from datetime import UTC, datetime
from typing import Any

from samehand.answers.labels import LabelEffects
from samehand.answers.run import Run
from samehand.answers.verdicts import verdict_where
from samehand.base.errors import UsageError
from samehand.review.members import ClusterMembers
from samehand.review.queue import Queue
from samehand.review.screens import card
from samehand.store.labels import (
    CLUSTER,
    DIFFERENT,
    PAGE,
    PAIR,
    PROVIDER,
    SITE,
    SKIP,
    UNWANTED,
    WANTED,
    Label,
    LabelFile,
)
from samehand.store.tables import VERDICT_PROVIDERS, VERDICT_SITES

CARDS = 2
"""Cards that are handed out at a time: the one to look at, and the one to show the moment that is answered."""
KEPT_CARDS = 8
"""Cards that are kept: each is asked for as the next one, then as the one to look at."""
_NAMED = {SITE: (VERDICT_SITES, "site"), PROVIDER: (VERDICT_PROVIDERS, "provider")}
_WHERE = {PAGE: ("pages", "page_id"), SITE: ("sites", "site"), PROVIDER: ("providers", "provider")}


class Review:
    """What the server keeps of a run. One lock stands before the labels: two tabs may answer at the same time."""

    def __init__(self, run: Run) -> None:
        run.counts("verdicts")  # says what to do where there are none
        clusters = run.manifest["stages"].get("style", {}).get("clusters", 0)
        self.run = run
        self.members = ClusterMembers.of(run.folder, clusters)
        self.queue = Queue(run, self.members)
        self._effects = LabelEffects(run.folder)
        self._labels = LabelFile.of(run.folder)
        self._lock = threading.Lock()
        self._cards: dict[int, dict[str, Any]] = {}
        self._who = _user()

    def labels(self) -> list[Label]:
        """The answers that hold, oldest first."""
        with self._lock:
            return self._labels.labels()

    def label_of(self, unit: str, name: str) -> Label | None:
        """The answer about one unit."""
        return next((label for label in self.labels() if (label.unit, label.name) == (unit, name)), None)

    def progress(self) -> dict[str, Any]:
        """How far the queue is, the next cards, and what the random sample says."""
        answered = self.queue.answered(self.labels())
        numbers = self.queue.still_open(answered, CARDS)
        skipped = sum(label.answer == SKIP for label in answered.values())
        return {
            "clusters": len(self.queue),
            "answered": len(answered) - skipped,
            "skipped": skipped,
            "open": len(self.queue) - len(answered),
            "sample": dataclasses.asdict(self.queue.precision(answered)),
            "cards": [self.card(number) for number in numbers],
        }

    def card(self, number: int) -> dict[str, Any]:
        """One cluster to decide about, with what each answer would touch. The last ones are kept."""
        known = self._cards.get(number)
        if known is not None:
            return known
        made = card(self, number)
        touches = self.touches_of(CLUSTER, made["cluster"]["style_cluster_id"])
        if made["pair"] is not None:
            touches |= self.touches_of(PAIR, made["pair"]["name"], (DIFFERENT,))
        made |= {"touches": touches}
        with self._lock:
            self._cards = dict([*self._cards.items(), (number, made)][-KEPT_CARDS:])
        return made

    def touches_of(self, unit: str, name: str, answers: tuple[str, ...] = (UNWANTED, WANTED)) -> dict[str, Any]:
        """What each answer about a unit would change."""
        return {answer: self._touched(self._made(unit, name, answer)) for answer in answers}

    def blocked_with(self, provider: str) -> dict[str, int]:
        """What a block of a provider's name servers would hit."""
        sites, guarded = self._effects.served(provider)
        return {"sites": sites, "guarded": guarded}

    def _touched(self, label: Label) -> dict[str, Any]:
        found = self._effects.touched(label)
        flips = [
            {"from": old, "to": new, "count": number, "unit": unit}
            for unit, changed in (("sites", found.site_flips), ("pages", found.page_flips))
            for (old, new), number in changed.items()
        ]
        return {"pages": found.pages, "sites": found.sites, "flips": flips, "guarded": found.guarded_count}

    def answer(self, said: dict[str, Any]) -> Label:
        """Takes an answer. It is on the disk when this returns.

        `only_open` asks for a conflict where another tab has answered the same card.
        """
        unit, name, answer, blind, only_open = _checked(said)
        self._check_known(unit, name)
        label = dataclasses.replace(self._made(unit, name, answer), seen="" if blind else self._seen(unit, name))
        with self._lock:
            if only_open and (known := self._answered(label)) is not None:
                raise ConflictError(f"Another tab answered this card: {known.answer}.")
            self._labels.add(label)
        return label

    def undo(self) -> Label | None:
        """Takes the last answer back; None if there is none."""
        with self._lock:
            return self._labels.undo(time=_now(), who=self._who)

    def _answered(self, label: Label) -> Label | None:
        """The answer that the cluster of a label has already."""
        answered = self.queue.answered(self._labels.labels())
        here = self.queue.answered([label])
        return next((answered[number] for number in here if number in answered), None)

    def _made(self, unit: str, name: str, answer: str) -> Label:
        return Label(unit, name, answer, _now(), self._who)

    def _check_known(self, unit: str, name: str) -> None:
        """UsageError where the run has no such unit."""
        if unit in _NAMED:
            table, column = _NAMED[unit]
            is_known = len(self.run.folder.find(table, column, name, [column])) == 1
        else:
            numbers = _numbers(name)
            has = self.run.folder.page_ids.has
            is_known = len(numbers) == (2 if unit == PAIR else 1) and all(map(has, numbers))
            if unit == CLUSTER and is_known:
                is_known = self.queue.number_of(numbers[0]) is not None
        if not is_known:
            raise UsageError(f"The run has no such {unit}.")

    def _seen(self, unit: str, name: str) -> str:
        """The verdict that was shown, in a few words."""
        if unit == PAIR:
            return ""
        if unit == CLUSTER:
            number = self.queue.number_of(int(name)) or 0
            found = verdict_where(self.run.folder, "clusters", "cluster_number", number)
        else:
            kind, column = _WHERE[unit]
            found = verdict_where(self.run.folder, kind, column, int(name) if unit == PAGE else name)
        return f"{found.action} {found.kind} {found.probability:.3f}"[:200] if found else ""


class ConflictError(UsageError):
    """An answer to what was answered already."""


def _checked(said: dict[str, Any]) -> tuple[str, str, str, bool, bool]:
    """The parts of an answer. The label itself is checked by the store."""
    unit, name, answer = (said.get(part) for part in ("unit", "name", "answer"))
    if not (isinstance(unit, str) and isinstance(name, str) and isinstance(answer, str)):
        raise UsageError("An answer needs unit, name and answer, each a text.")
    if unit not in (PAGE, SITE, CLUSTER, PROVIDER, PAIR):
        raise UsageError("There is no such unit.")
    return unit, name, answer, said.get("blind") is True, said.get("only_open") is True


def _numbers(name: str) -> list[int]:
    parts = name.split(" ")
    if not all(part.isascii() and part.isdecimal() and len(part) < 20 for part in parts):
        return []
    return [int(part) for part in parts]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _user() -> str:
    try:
        return getpass.getuser()[:100]
    except (KeyError, OSError):
        return ""
