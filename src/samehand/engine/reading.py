"""Units to parts: what is still to be read, and whether what was read fits together."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any

from samehand.base.errors import InputError
from samehand.base.page import Reject
from samehand.base.settings import Settings
from samehand.engine.engine import Engine
from samehand.engine.progress import OnProgress, Progress
from samehand.engine.stored_pages import check_inputs
from samehand.engine.tasks import READ, Task, TaskOutcome, method_record, page_table, progress_of
from samehand.sources import Unit
from samehand.store.done import part_name
from samehand.store.folder import RunFolder


def read_all(
    folder: RunFolder,
    units: Sequence[Unit],
    methods: Sequence[str],
    settings: Settings,
    engine: Engine,
    on_progress: OnProgress,
) -> list[TaskOutcome]:
    """Does what is not done yet, then the units whose split fell inside a record. Returns the failures.

    Units whose pages are there must not fail: InputError if an input is not what it was when they were read.
    """
    on_progress(Progress("plan", total=len(units)))
    failures: dict[int, TaskOutcome] = {}
    todo = [task for unit in units if (task := _task_for(folder, unit, methods, settings, on_progress))]
    check_inputs(folder, [task.unit for task in todo if not task.reads])
    while todo:
        for outcome in engine.read(folder, todo, settings, on_progress):
            if outcome.record is None and not outcome.task.reads:
                raise InputError(f"{outcome.task.unit.source.name} cannot be read again: {outcome.failure}")
            if outcome.record is None:
                failures[outcome.task.unit.number] = outcome
        todo = [Task(unit, (READ, *methods)) for unit in _misfits(folder, units, failures)]
    folder.clean()  # a worker of a killed scan may have lived on for a moment
    return [failures[number] for number in sorted(failures)]


def done_units(folder: RunFolder) -> list[Unit]:
    """The units whose pages are read."""
    return [Unit.from_dict(record["unit"]) for record in folder.done.parts(READ).values()]


def _task_for(
    folder: RunFolder, unit: Unit, methods: Sequence[str], settings: Settings, on_progress: OnProgress
) -> Task | None:
    """What is still to be done of a unit. Where its pages are there, the methods get just those."""
    record = _record_when_done(folder, unit, settings)
    if record is None:
        for what in (READ, *methods):
            folder.done.remove(part_name(what, unit.number))
        return Task(unit, (READ, *methods))
    on_progress(progress_of(unit, record))
    done = Unit.from_dict(record["unit"])
    missing = tuple(method for method in methods if not method_is_done(folder, done, method, settings))
    return Task(done, missing) if missing else None


def _record_when_done(folder: RunFolder, unit: Unit, settings: Settings) -> dict[str, Any] | None:
    """The record of a unit whose pages were read from this input with these settings."""
    record = folder.done.get(part_name(READ, unit.number))
    if record is None or record["settings"] != settings.digest("read"):
        return None
    done = Unit.from_dict(record["unit"])
    same = (done.source, done.end) == (unit.source, unit.end) and (done.exact or done.start == unit.start)
    return record if same else None


def method_is_done(folder: RunFolder, unit: Unit, method: str, settings: Settings) -> bool:
    """Whether the rows of a method are there for the pages of a unit, made from just these settings."""
    is_there = folder.part_path(page_table(method), unit.number).is_file()
    return is_there and folder.done.get(part_name(method, unit.number)) == method_record(folder, unit, method, settings)


def _misfits(folder: RunFolder, units: Sequence[Unit], failures: dict[int, TaskOutcome]) -> list[Unit]:
    """The first unit of each source that does not begin where the one before it ended.

    A split has to look for the next record; bytes planted inside a page can pass for one. The end of the unit before
    is known from reading the records one after the other, so it is right, and the unit is read again from there.
    """
    misfits: dict[str, Unit] = {}
    for before, unit in itertools.pairwise(units):
        if before.source != unit.source or unit.source.path in misfits:
            continue
        if before.number in failures or unit.number in failures:
            continue
        ended, began = (folder.done.get(part_name(READ, each.number)) for each in (before, unit))
        if ended is not None and began is not None and ended["stop"] != began["first"]:
            misfits[unit.source.path] = dataclasses.replace(unit, start=ended["stop"], exact=True)
            folder.done.remove(part_name(READ, unit.number))
    return list(misfits.values())


def count_parts(folder: RunFolder, unreadable: Sequence[Reject], failures: Sequence[TaskOutcome]) -> dict[str, Any]:
    """Sums over all records of units: what was read, what was skipped and rejected, and why."""
    rejected = Counter(reject.reason for reject in unreadable)
    skipped: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for record in folder.done.parts(READ).values():
        rejected.update(record["rejected"])
        skipped.update(record["skipped"])
        sums.update({name: record[name] for name in ("pages", "without_url", "content_bytes", "damaged", "seconds")})
    return {
        "pages": sums["pages"],
        "without_url": sums["without_url"],
        "rejected": dict(sorted(rejected.items())),
        "skipped": dict(sorted(skipped.items())),
        "damaged": sums["damaged"] + len(unreadable) + len(failures),
        "content_bytes": sums["content_bytes"],
        "worker_seconds": round(sums["seconds"], 3),
    }
