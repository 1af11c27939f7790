"""The stages in order: inputs to units, units to parts, parts to answers. What is done is not done again.

An engine decides where the stages run; only the run folder knows where their results stand.
"""

import dataclasses
import functools
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from samehand import __version__
from samehand.base.errors import InputError, RunMismatchError, UsageError
from samehand.base.page import Reject
from samehand.base.settings import PUBLIC_KEY, Settings
from samehand.engine.engine import Engine, Plan
from samehand.engine.progress import OnProgress
from samehand.engine.reading import count_parts, done_units, method_is_done, read_all
from samehand.engine.stored_pages import check_inputs, check_sources
from samehand.engine.tasks import TaskOutcome, few_collections
from samehand.methods.registry import chosen, methods, with_derived
from samehand.methods.style.growth import remember_members, write_growth
from samehand.sources import FORMATS, Source, Unit, plan_units
from samehand.sources.reasons import MISSING_COLUMN
from samehand.store.done import digest_of
from samehand.store.folder import MADE_WITH, RunFolder
from samehand.store.manifest import DONE, READING
from samehand.store.tables import REJECTS

_MEASURED_PACKAGES = ("numpy", "numba", "pyarrow", "fastwarc", "publicsuffixlist")


def run_scan(
    inputs: Sequence[str],
    out: str | os.PathLike[str],
    *,
    settings: Settings,
    engine: Engine,
    on_progress: OnProgress,
    force: bool,
    names: str | Sequence[str],
) -> RunFolder:
    """Reads inputs and computes methods; goes on where an earlier scan stopped."""
    wanted = chosen(names, settings.profile)
    folder = RunFolder(Path(out))
    # Inputs first: who mistypes one should not find an empty run folder. Standard input alone needs the folder.
    found = None if "-" in inputs else _planned(folder, inputs, settings, engine)
    with folder.locked():
        plan = found or _planned(folder, inputs, settings, engine)
        _begin(folder, plan, settings, wanted, force=force)
        folder.clean()
        wanted = chosen(folder.manifest()["methods"], settings.profile)
        counts = _compute(folder, plan.units, plan.unreadable, wanted, settings, engine, on_progress)
    if not counts["pages"]:
        looked = len(plan.sources) + len(plan.unreadable)
        reasons = {**counts["skipped"], **counts["rejected"]}
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "there was no record at all"
        raise InputError(
            f"No page was found in {looked} inputs: {why}{_column_hint(folder)}. Give {FORMATS[settings.profile]}."
        )
    return folder


def _column_hint(folder: RunFolder) -> str:
    """Which columns a table should have, and which it has."""
    rejects = folder.read(REJECTS, ["reason", "detail"]).to_pylist()
    details = (reject["detail"] for reject in rejects if reject["reason"] == MISSING_COLUMN.name)
    first = next(details, None)
    return f" ({first}; --text-column, --html-column and --url-column name others)" if first else ""


def run_add(
    path: str | os.PathLike[str], inputs: Sequence[str], *, engine: Engine, on_progress: OnProgress
) -> RunFolder:
    """Adds inputs to a run: reads only what is new, then groups all of it, as a scan of everything would.

    New pages have larger ids than all before them, so a cluster that grows keeps its id.
    """
    folder = RunFolder.open(path)
    if "-" in inputs:
        raise UsageError("Standard input cannot be added to a run: save it to a file, and name that.")
    found = _planned(folder, inputs, folder.settings(), engine)
    with folder.locked():
        folder.forget()  # another process may have changed the settings that do not concern the plan
        folder.clean()
        manifest, settings = folder.manifest(), folder.settings()
        wanted = chosen(manifest["methods"], settings.profile)
        if manifest["state"] == DONE and "style" in wanted:
            remember_members(folder)
        units = [*_units_of(folder, manifest, settings), *_new_units(manifest, found)]
        known = {source["path"] for source in manifest["inputs"]}
        manifest["inputs"] += [source.as_dict() for source in found.sources if source.path not in known]
        said = [Reject(**stored) for stored in manifest["unreadable"]]
        unreadable = [*said, *(reject for reject in found.unreadable if reject not in said)]
        manifest["unreadable"] = [dataclasses.asdict(reject) for reject in unreadable]
        # Nothing is answered until all pages are read and grouped, even if this is killed.
        folder.save_manifest({**manifest, "units": len(units), "state": READING, "stages": {}})
        _compute(folder, units, unreadable, wanted, settings, engine, on_progress, grows=True)
    return folder


def _planned(folder: RunFolder, inputs: Sequence[str], settings: Settings, engine: Engine) -> Plan:
    """The plan for inputs. The run folder must not lie in one of them, because writing it would change the input."""
    plan = engine.plan(inputs, folder.path, settings)
    for source in plan.sources:
        if folder.path.resolve().is_relative_to(source.path):
            raise UsageError(
                f"The run folder {folder.path} lies inside the input {source.name}: choose another folder."
            )
    return plan


def run_method(
    path: str | os.PathLike[str],
    name: str,
    *,
    changes: Mapping[str, Any],
    engine: Engine,
    on_progress: OnProgress,
) -> RunFolder:
    """Computes one method of the pages of a run, with `changes` of its settings; does only what is missing."""
    folder = RunFolder.open(path)
    with folder.locked():
        folder.clean()
        manifest = folder.manifest()
        folder.check_finished()
        settings = Settings.from_dict(folder.settings().as_dict() | dict(changes))
        (name,) = chosen(name, settings.profile)
        wanted = chosen([*manifest["methods"], name], settings.profile)
        methods()[name].prepare(folder, settings)
        units = done_units(folder)
        check_inputs(folder, [unit for unit in units if not method_is_done(folder, unit, name, settings)])
        folder.save_manifest(manifest | {"settings": _public(settings), "methods": list(wanted)})
        folder.withdraw({name} | {other.name for other in methods().values() if name in (*other.needs, *other.uses)})
        read_all(folder, units, [name], settings, engine, on_progress)
        _group_all(folder, wanted, settings, engine, on_progress)
        manifest = folder.manifest()
        folder.save_manifest(manifest | {"stages": manifest["stages"] | _method_counts(folder)})
    return folder


def judge_again(path: str | os.PathLike[str], *, engine: Engine, on_progress: OnProgress) -> None:
    """Computes the verdicts of a run from the labels that it has now."""
    folder = RunFolder.open(path)
    with folder.locked():
        folder.clean()
        folder.check_finished()
        wanted = folder.manifest()["methods"]
        folder.withdraw({"verdicts"})
        _group_all(folder, wanted, folder.settings(), engine, on_progress)
        manifest = folder.manifest()
        folder.save_manifest(manifest | {"stages": manifest["stages"] | _method_counts(folder)})


def _compute(
    folder: RunFolder,
    units: Sequence[Unit],
    unreadable: Sequence[Reject],
    wanted: Sequence[str],
    settings: Settings,
    engine: Engine,
    on_progress: OnProgress,
    *,
    grows: bool = False,
) -> dict[str, Any]:
    """Reads units, groups, and writes down what came of it."""
    for name in wanted:
        methods()[name].prepare(folder, settings)
    failures = read_all(folder, units, wanted, settings, engine, on_progress)
    folder.forget()
    counts = count_parts(folder, unreadable, failures)
    _group_all(folder, wanted, settings, engine, on_progress)
    growth = write_growth(folder) if grows and "style" in wanted else None
    _finish(folder, counts, failures, growth)
    return counts


def _begin(folder: RunFolder, plan: Plan, settings: Settings, wanted: Sequence[str], *, force: bool) -> None:
    """Writes run.json, or checks that the one there is of the same inputs and settings."""
    made = {"inputs": [source.as_dict() for source in plan.sources], "read_settings": settings.digest(*MADE_WITH)}
    known: Sequence[str] = ()
    if folder.exists and not force:
        stored = folder.manifest()
        for name, what in (("inputs", "inputs"), ("read_settings", "settings for reading and style")):
            if stored.get(name) != made[name]:
                raise RunMismatchError(
                    f"{folder.path} was made from other {what}. Choose another folder with -o, "
                    "or start this one anew with --force."
                )
        known = stored["methods"]
    else:
        folder.clear()
    folder.save_key(settings.key)
    folder.save_manifest(
        {
            **made,
            "samehand": __version__,
            "settings": _public(settings),
            "key": "public" if settings.key == PUBLIC_KEY else "secret",
            "methods": list(chosen([*known, *wanted], settings.profile)),
            "versions": {name: version(name) for name in _MEASURED_PACKAGES} | {"python": platform.python_version()},
            "unreadable": [dataclasses.asdict(reject) for reject in plan.unreadable],
            "failures": [],
            "units": len(plan.units),
            "state": READING,
            "stages": {},
        }
    )


def _public(settings: Settings) -> dict[str, Any]:
    """The settings that differ from their defaults, without the secret key."""
    return {name: value for name, value in settings.changed().items() if name != "key"}


def _units_of(folder: RunFolder, manifest: dict[str, Any], settings: Settings) -> list[Unit]:
    """The units of work a run has. Those of a finished run need no look at its inputs, which may be gone."""
    done = done_units(folder)
    if len(done) == manifest["units"]:
        return done
    sources = [Source.from_dict(stored) for stored in manifest["inputs"]]
    check_sources(sources)
    return plan_units(sources, settings.split_bytes)


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


@few_collections()
def _group_all(
    folder: RunFolder, wanted: Sequence[str], settings: Settings, engine: Engine, on_progress: OnProgress
) -> None:
    """Groups what is not grouped yet from just these rows and settings."""
    grouped = with_derived(wanted)
    for name in grouped:
        method = methods()[name]
        read = [*method.needs, *method.uses]
        needed = {need: (folder.done.get(need) or {}).get("source") for need in read if need in grouped}
        source = digest_of([method.group_source(folder, settings), folder.done.parts(name), needed])
        if not all(folder.has(table) for table in method.tables):
            folder.done.remove(name)
        folder.done.once(name, source, functools.partial(engine.group, method, folder, settings, on_progress))


def _method_counts(folder: RunFolder) -> dict[str, Any]:
    records = {name: folder.done.get(name) for name in methods()}
    return {name: record["counts"] for name, record in records.items() if record}


def _finish(
    folder: RunFolder, counts: dict[str, Any], failures: Sequence[TaskOutcome], growth: dict[str, int] | None
) -> None:
    manifest = folder.manifest()
    if growth is not None:
        manifest["growth"] = growth
    manifest["stages"] = {"read": counts, **_method_counts(folder)}
    manifest["failures"] = [
        {"input": outcome.task.unit.source.name, "start": outcome.task.unit.start, "reason": outcome.failure}
        for outcome in failures
    ]
    manifest["state"] = DONE
    folder.save_manifest(manifest)
