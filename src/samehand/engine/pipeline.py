"""The stages in order, and resume: inputs to units, units to parts, parts to groups.

A stage is a pure function from Arrow record batches to Arrow record batches. An engine (`Engine`) decides where the
stages run; only the run folder knows where their results stand. What is done carries a marker with the digests of
its input and settings, so a scan that is run again does only what is missing.
"""

import dataclasses
import itertools
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from samehand import __version__
from samehand.base.errors import InputError, RunMismatchError, UsageError
from samehand.base.page import Reject
from samehand.base.settings import PUBLIC_KEY, Settings
from samehand.engine.tasks import PAGES, Progress, Task, TaskOutcome, Tell, part_name, progress_of, signal_facts
from samehand.grouping.forest import CheckCounts
from samehand.methods.language.scores import write_scores
from samehand.methods.registry import SIGNALS
from samehand.methods.replica.summary import group_replicas
from samehand.methods.style.clusters import Grouped, write_grouped
from samehand.methods.style.growth import remember_members, write_growth
from samehand.methods.style.sketches import probe_plan
from samehand.sources import Source, Unit, find_sources, plan_units
from samehand.store.folder import FORMAT, RunFolder, digest_facts

_MEASURED_PACKAGES = ("numpy", "numba", "pyarrow", "fastwarc", "publicsuffixlist")


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The sources that inputs stand for, their units of work, and inputs that are none."""

    sources: Sequence[Source]
    units: Sequence[Unit]
    unreadable: Sequence[Reject]


def plan_inputs(inputs: Sequence[str], spool: Path, settings: Settings) -> Plan:
    """The plan for inputs on this machine's file systems. Standard input is copied below `spool`."""
    sources, unreadable = find_sources(inputs, spool=spool, profile=settings.profile)
    return Plan(sources, plan_units(sources, settings.split_bytes), unreadable)


class Engine(Protocol):
    """Where the stages run. The stage functions are the same for every engine, and so are the results."""

    def plan(self, inputs: Sequence[str], spool: Path, settings: Settings) -> Plan:
        """Finds what the inputs are and cuts it into units of work."""

    def read(self, folder: RunFolder, tasks: Sequence[Task], settings: Settings, tell: Tell) -> Iterator[TaskOutcome]:
        """Runs `process_task` on each task, in any order."""

    def group_styles(self, folder: RunFolder, settings: Settings, tell: Tell) -> tuple[Grouped, CheckCounts]:
        """Searches the fingerprints of a run for edges, and makes families and clusters of them."""


def run_scan(
    inputs: Sequence[str],
    out: str | os.PathLike[str],
    *,
    settings: Settings,
    engine: Engine,
    tell: Tell,
    force: bool,
    signals: Sequence[str] = ("style",),
) -> RunFolder:
    """Reads, computes the signals, groups and ranks; goes on where an earlier run stopped."""
    folder = RunFolder(Path(out))
    # Inputs first: who mistypes one should not find an empty run folder. Standard input alone needs the folder.
    found = None if "-" in inputs else engine.plan(inputs, folder.path, settings)
    with folder.locked():
        plan = found or engine.plan(inputs, folder.path, settings)
        _begin(folder, plan, settings, force)
        folder.clean()
        _prepare(folder, signals, settings)
        failures = _read_all(folder, plan.units, signals, settings, engine, tell)
        folder.clean()  # a worker of a killed scan may have lived on for a moment
        counts = _count_parts(folder, plan.unreadable, failures)
        if not counts["pages"]:
            looked = len(plan.sources) + len(plan.unreadable)
            wanted = "mail" if settings.profile == "mail" else "WARC, WACZ or ARC files, folders of HTML, JSONL"
            raise InputError(f"No page was found in {looked} inputs: {_describe(counts['reasons'])}. Give {wanted}.")
        _group_all(folder, signals, settings, engine, tell)
        _finish(folder, counts, failures)
    return folder


def run_add(
    path: str | os.PathLike[str], inputs: Sequence[str], *, settings: Settings, engine: Engine, tell: Tell
) -> RunFolder:
    """Adds inputs to a run: reads only what is new, then groups all of it, as a scan of everything would.

    New pages have larger ids than all before them, so a cluster that grows keeps its name.
    """
    folder = RunFolder.open(path)
    if "-" in inputs:
        raise UsageError("Standard input cannot be added to a run: save it to a file, and name that.")
    found = engine.plan(inputs, folder.path, settings)
    with folder.locked():
        folder.clean()
        manifest = folder.manifest()
        if manifest["state"] == "done":
            remember_members(folder)
        units = [*_units_of(folder, manifest, settings), *_new_units(manifest, found)]
        known = {source["path"] for source in manifest["inputs"]}
        manifest["inputs"] += [source.as_dict() for source in found.sources if source.path not in known]
        said = {reject["warc_filename"] for reject in manifest["unreadable"]}
        manifest["unreadable"] += [
            dataclasses.asdict(reject) for reject in found.unreadable if reject.warc_filename not in said
        ]
        folder.save_manifest({**manifest, "units": len(units), "state": "reading"})
        signals = [signal for signal in SIGNALS if signal == "style" or folder.marker(signal)]
        _prepare(folder, signals, settings)
        failures = _read_all(folder, units, signals, settings, engine, tell)
        folder.clean()
        counts = _count_parts(folder, [Reject(**stored) for stored in manifest["unreadable"]], failures)
        _group_all(folder, signals, settings, engine, tell)
        _finish(folder, counts, failures, growth=write_growth(folder))
    return folder


def _units_of(folder: RunFolder, manifest: dict[str, Any], settings: Settings) -> list[Unit]:
    """The units of work a run has. Those of a finished run need no look at its inputs, which may be gone."""
    markers = [folder.marker(part_name(number)) for number in range(manifest["units"])]
    done = [Unit.from_dict(marker["unit"]) for marker in markers if marker]
    if len(done) == manifest["units"]:
        return done
    return plan_units([Source.from_dict(stored) for stored in manifest["inputs"]], settings.split_bytes)


def _new_units(manifest: dict[str, Any], found: Plan) -> list[Unit]:
    """Units of the sources that a run does not have yet, numbered on from its own."""
    known = {stored["path"]: stored for stored in manifest["inputs"]}
    for source in found.sources:
        if known.get(source.path, source.as_dict()) != source.as_dict():
            raise RunMismatchError(
                f"{source.name} is in this run already and has changed since: scan everything anew with --force."
            )
    new = [unit for unit in found.units if unit.source.path not in known]
    return [dataclasses.replace(unit, number=manifest["units"] + place) for place, unit in enumerate(new)]


def add_signal(folder: RunFolder, signal: str, *, settings: Settings, engine: Engine, tell: Tell) -> None:
    """Computes one more signal of the pages of a run, and its groups."""
    with folder.locked():
        folder.clean()
        _prepare(folder, [signal], settings)
        done = (folder.marker(path.stem) for path in sorted((folder.path / "done").glob(f"{PAGES}-*.json")))
        units = [Unit.from_dict(facts["unit"]) for facts in done if facts]
        failures = _read_all(folder, units, [signal], settings, engine, tell)
        if failures:
            raise InputError(f"{failures[0].task.unit.source.name} cannot be read again: {failures[0].failure}.")
        _group_all(folder, [signal], settings, engine, tell)


def _begin(folder: RunFolder, plan: Plan, settings: Settings, force: bool) -> None:
    """Writes run.json, or checks that the one there is of the same inputs and settings."""
    facts = {
        "inputs": [source.as_dict() for source in plan.sources],
        "read_settings": settings.digest("read", "style"),
    }
    if folder.manifest_path.is_file() and not force:
        _check_same(folder, facts)
    else:
        folder.clear()
    folder.save_key(settings.key)
    folder.save_manifest(
        {
            **facts,
            "format": FORMAT,
            "samehand": __version__,
            "settings": {name: value for name, value in settings.as_dict().items() if name != "key"},
            "key": "public" if settings.key == PUBLIC_KEY else "secret",
            "versions": {name: version(name) for name in _MEASURED_PACKAGES} | {"python": platform.python_version()},
            "unreadable": [dataclasses.asdict(reject) for reject in plan.unreadable],
            "units": len(plan.units),
            "state": "reading",
            "stages": {},
        }
    )


def _check_same(folder: RunFolder, facts: dict[str, Any]) -> None:
    stored = RunFolder.open(folder.path).manifest()
    for name, what in (("inputs", "inputs"), ("read_settings", "settings for reading and style")):
        if stored[name] != facts[name]:
            raise RunMismatchError(
                f"{folder.path} was made from other {what}. Choose another folder with -o, "
                "or start this one anew with --force."
            )


def _read_all(
    folder: RunFolder,
    units: Sequence[Unit],
    signals: Sequence[str],
    settings: Settings,
    engine: Engine,
    tell: Tell,
) -> list[TaskOutcome]:
    """Does what is not done yet, then the units whose split fell inside a record. Returns the failures."""
    tell(Progress("plan", total=len(units)))
    failures: dict[int, TaskOutcome] = {}
    todo = [task for unit in units if (task := _task_for(folder, unit, signals, settings, tell))]
    while todo:
        for outcome in engine.read(folder, todo, settings, tell):
            if outcome.facts is None:
                failures[outcome.task.unit.number] = outcome
        todo = [Task(unit, (PAGES, *signals)) for unit in _misfits(folder, units, failures)]
    return [failures[number] for number in sorted(failures)]


def _task_for(folder: RunFolder, unit: Unit, signals: Sequence[str], settings: Settings, tell: Tell) -> Task | None:
    """What is still to be done of a unit. Where its pages are there, its signals are computed of just those."""
    facts = _facts_when_done(folder, unit, settings)
    if facts is None:
        for what in (PAGES, *signals):
            folder.unmark(part_name(unit.number, what))
        return Task(unit, (PAGES, *signals))
    tell(progress_of(unit, facts))
    done = Unit.from_dict(facts["unit"])
    missing = tuple(signal for signal in signals if not _signal_is_done(folder, done, signal, settings))
    return Task(done, missing) if missing else None


def _facts_when_done(folder: RunFolder, unit: Unit, settings: Settings) -> dict[str, Any] | None:
    """The marker of a unit whose pages were read from this input with these settings."""
    facts = folder.marker(part_name(unit.number))
    if facts is None or facts["settings"] != settings.digest("read"):
        return None
    done = Unit.from_dict(facts["unit"])
    same = (done.source, done.end) == (unit.source, unit.end) and (done.exact or done.start == unit.start)
    return facts if same else None


def _signal_is_done(folder: RunFolder, unit: Unit, signal: str, settings: Settings) -> bool:
    marker = folder.marker(part_name(unit.number, signal))
    return marker is not None and marker == signal_facts(folder, unit, signal, settings)


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
        ended, began = folder.marker(part_name(before.number)), folder.marker(part_name(unit.number))
        if ended is not None and began is not None and ended["stop"] != began["first"]:
            misfits[unit.source.path] = dataclasses.replace(unit, start=ended["stop"], exact=True)
            folder.unmark(part_name(unit.number))
    return list(misfits.values())


def _count_parts(folder: RunFolder, unreadable: Sequence[Reject], failures: Sequence[TaskOutcome]) -> dict[str, Any]:
    """Sums over all markers: what was read, what was rejected and why."""
    reasons = Counter(reject.reason for reject in unreadable)
    pages = content_bytes = 0
    damaged = len(unreadable) + len(failures)
    seconds = 0.0
    for path in sorted((folder.path / "done").glob(f"{PAGES}-*.json")):
        facts = folder.marker(path.stem)
        if facts is None:
            continue
        reasons.update(facts["reasons"])
        pages += facts["pages"]
        content_bytes += facts["content_bytes"]
        damaged += facts["damaged"]
        seconds += facts["seconds"]
    return {
        "pages": pages,
        "rejects": reasons.total(),
        "reasons": dict(sorted(reasons.items())),
        "damaged": damaged,
        "content_bytes": content_bytes,
        "worker_seconds": round(seconds, 3),
    }


def _describe(reasons: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "there was no record at all"


def _prepare(folder: RunFolder, signals: Sequence[str], settings: Settings) -> None:
    for signal in signals:
        SIGNALS[signal].prepare(folder, settings)


def _group_all(folder: RunFolder, signals: Sequence[str], settings: Settings, engine: Engine, tell: Tell) -> None:
    """Groups what is not grouped yet: styles first, because replicas say what kind of clusters they are."""
    if "style" in signals:
        _grouped_once(folder, "style", settings, lambda: _group_styles(folder, settings, engine, tell))
    if "replica" in signals or folder.marker("replica"):
        _grouped_once(folder, "replica", settings, lambda: group_replicas(folder, settings))
    if "language" in signals or folder.marker("language"):
        _grouped_once(folder, "language", settings, lambda: write_scores(folder))


def _grouped_once(folder: RunFolder, signal: str, settings: Settings, group: Callable[[], dict[str, Any]]) -> None:
    """Runs `group` unless that is done for just these parts and settings, and marks it done with what it found."""
    markers = sorted((folder.path / "done").glob(f"{signal}-*.json"))
    parts = {path.stem: folder.marker(path.stem) for path in markers}
    source = digest_facts(
        [settings.digest(signal, "grouping"), parts, folder.marker("style") if signal != "style" else None]
    )
    done = folder.marker(signal)
    if done is not None and done["source"] == source:
        return
    folder.unmark(signal)
    began = time.perf_counter()
    facts = group()
    folder.mark_done(signal, {"source": source, "facts": facts | {"seconds": round(time.perf_counter() - began, 3)}})


def _group_styles(folder: RunFolder, settings: Settings, engine: Engine, tell: Tell) -> dict[str, Any]:
    grouped, counts = engine.group_styles(folder, settings, tell)
    plan = probe_plan(settings)
    return {
        **dataclasses.asdict(counts),
        **write_grouped(folder, grouped),
        "family_miss_probability": plan.miss(settings.family_threshold),
        "cluster_miss_probability": plan.miss(settings.cluster_threshold),
    }


def _finish(
    folder: RunFolder,
    counts: dict[str, Any],
    failures: Sequence[TaskOutcome],
    *,
    growth: dict[str, int] | None = None,
) -> None:
    manifest = folder.manifest()
    if growth is not None:
        manifest["growth"] = growth
    grouped = {signal: marker["facts"] for signal in SIGNALS if (marker := folder.marker(signal))}
    manifest["stages"] = {"read": counts, **grouped}
    manifest["failures"] = [
        {"input": outcome.task.unit.source.name, "start": outcome.task.unit.start, "reason": outcome.failure}
        for outcome in failures
    ]
    manifest["state"] = "done"
    folder.save_manifest(manifest)
