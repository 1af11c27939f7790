"""The stages in order, and resume: inputs to units, units to parts, parts to groups.

A stage is a pure function from Arrow record batches to Arrow record batches. An engine (`Engine`) decides where the
stages run; only the run folder knows where their results stand. What is done carries a marker with the digests of
its input and settings, so a scan that is run again does only what is missing.
"""

import contextlib
import dataclasses
import itertools
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa

from samehand import __version__
from samehand.errors import InputError, RunMismatchError
from samehand.grouping import CheckCounts, CheckRule, Edges, ProbePlan, Sketches, plan_probes
from samehand.page import CONTENT_FIELD, PAGE_SCHEMA, REJECT_SCHEMA, Page, Reject, pages_to_batch, rejects_to_batch
from samehand.ranking import group_style
from samehand.run import FORMAT, RunFolder, TableWriter, digest_facts
from samehand.settings import PUBLIC_KEY, Settings
from samehand.sources import Source, Unit, find_sources, plan_units, read_unit
from samehand.style import sketches_of, style_batch, style_schema

BATCH_PAGES = 512
BATCH_BYTES = 16_000_000
PAGE_ID_BITS = 32
"""A page_id is (unit number << 32) | row within the unit: later inputs have larger ids, workers play no part."""

CONTENT_SCHEMA = pa.schema([PAGE_SCHEMA.field("page_id"), CONTENT_FIELD])
_MEASURED_PACKAGES = ("numpy", "numba", "pyarrow", "fastwarc", "warcio", "publicsuffixlist")


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is: "plan" says how many units there are, "read" how far one of them is, "group" the probes."""

    stage: str
    unit: int = 0
    pages: int = 0
    rejects: int = 0
    content_bytes: int = 0
    share: float = 0.0
    done: int = 0
    total: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class UnitOutcome:
    """How one unit ended: its marker's facts, or why there is none."""

    unit: Unit
    facts: dict[str, Any] | None = None
    failure: str = ""


Tell = Callable[[Progress], None]


class Engine(Protocol):
    """Where the stages run. The stage functions are the same for every engine, and so are the results."""

    def read(self, folder: RunFolder, units: Sequence[Unit], settings: Settings, tell: Tell) -> Iterator[UnitOutcome]:
        """Runs `process_unit` on each unit, in any order."""

    def find_forest(
        self, sketches: Sketches, plan: ProbePlan, *, rule: CheckRule, tell: Tell
    ) -> tuple[Edges, CheckCounts]:
        """Runs the search for edges."""


def run_scan(
    inputs: Sequence[str], out: str | os.PathLike[str], *, settings: Settings, engine: Engine, tell: Tell, force: bool
) -> RunFolder:
    """Reads, fingerprints, groups and ranks; goes on where an earlier run stopped."""
    folder = RunFolder(Path(out))
    with folder.locked():
        sources, unreadable = find_sources(inputs, spool=folder.path)
        _begin(folder, sources, unreadable, settings, force)
        folder.clean()
        failures = _read_all(folder, plan_units(sources, settings.split_bytes), settings, engine, tell)
        folder.clean()  # a worker of a killed scan may have lived on for a moment
        counts = _count_parts(folder, unreadable, failures)
        if not counts["pages"]:
            raise InputError(
                f"No page was found in {len(sources) + len(unreadable)} inputs: {_describe(counts['reasons'])}. "
                "Give WARC, WACZ or ARC files, folders of HTML, JSONL or Parquet."
            )
        _group(folder, settings, engine, tell)
        _finish(folder, counts, failures)
    return folder


def _begin(
    folder: RunFolder, sources: Sequence[Source], unreadable: Sequence[Reject], settings: Settings, force: bool
) -> None:
    """Writes run.json, or checks that the one there is of the same inputs and settings."""
    facts = {
        "inputs": [source.as_dict() for source in sources],
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
            "unreadable": [dataclasses.asdict(reject) for reject in unreadable],
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


def part_name(number: int) -> str:
    """Name of a unit's marker."""
    return f"part-{number:06d}"


def _read_all(
    folder: RunFolder, units: Sequence[Unit], settings: Settings, engine: Engine, tell: Tell
) -> list[UnitOutcome]:
    """Runs the units that are not done yet, then those whose split fell inside a record. Returns the failures."""
    tell(Progress("plan", total=len(units)))
    failures: dict[int, UnitOutcome] = {}
    todo = []
    for unit in units:
        facts = _facts_when_done(folder, unit, settings)
        if facts is None:
            folder.unmark(part_name(unit.number))
            todo.append(unit)
        else:
            tell(_progress_of(unit, facts))
    while todo:
        for outcome in engine.read(folder, todo, settings, tell):
            if outcome.facts is None:
                failures[outcome.unit.number] = outcome
        todo = _misfits(folder, units, failures)
    return [failures[number] for number in sorted(failures)]


def _facts_when_done(folder: RunFolder, unit: Unit, settings: Settings) -> dict[str, Any] | None:
    """The marker of a unit that was done from this input with these settings."""
    facts = folder.marker(part_name(unit.number))
    if facts is None or facts["settings"] != settings.digest("read", "style"):
        return None
    done = Unit.from_dict(facts["unit"])
    same = (done.source, done.end) == (unit.source, unit.end) and (done.exact or done.start == unit.start)
    return facts if same else None


def _progress_of(unit: Unit, facts: dict[str, Any]) -> Progress:
    return Progress(
        "read",
        unit=unit.number,
        pages=facts["pages"],
        rejects=sum(facts["reasons"].values()),
        content_bytes=facts["content_bytes"],
        share=1.0,
    )


def _misfits(folder: RunFolder, units: Sequence[Unit], failures: dict[int, UnitOutcome]) -> list[Unit]:
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


def process_unit(folder: RunFolder, unit: Unit, settings: Settings, tell: Tell) -> dict[str, Any]:
    """One unit of work: reads its records, computes their signals, writes its parts, marks it done."""
    began = time.perf_counter()
    reading = read_unit(unit, settings)
    # Signals and writing go on in a second thread: numba and Arrow leave the interpreter to the reader meanwhile.
    with _PartWriter(folder, unit, settings) as parts, ThreadPoolExecutor(1) as behind:
        written = behind.submit(_nothing)
        for pages, rejects in _batched(reading):
            written.result()
            tell(parts.progress())
            written = behind.submit(parts.write, pages, rejects)
        written.result()
    facts = {
        "unit": unit.as_dict(),
        "settings": settings.digest("read", "style"),
        "pages": parts.pages,
        "reasons": dict(sorted(parts.reasons.items())),
        "damaged": parts.damaged,
        "content_bytes": parts.content_bytes,
        "first": reading.first,
        "stop": reading.stop,
        "seconds": round(time.perf_counter() - began, 3),
    }
    folder.mark_done(part_name(unit.number), facts)
    tell(_progress_of(unit, facts))
    return facts


def _nothing() -> None:
    return


class _PartWriter:
    """Writes the parts of one unit, batch by batch, and counts what is in them."""

    def __init__(self, folder: RunFolder, unit: Unit, settings: Settings) -> None:
        self._unit = unit
        self._settings = settings
        schemas = {"pages": PAGE_SCHEMA, "style/fingerprints": style_schema(settings), "rejects": REJECT_SCHEMA}
        if settings.keep_pages:
            schemas["content"] = CONTENT_SCHEMA
        self._writers = {
            table: TableWriter(folder.part_path(table, unit.number), schema) for table, schema in schemas.items()
        }
        self._open = contextlib.ExitStack()
        self.pages = self.damaged = self.content_bytes = 0
        self.reasons: Counter[str] = Counter()
        self._position = unit.start

    def __enter__(self) -> Self:
        for writer in self._writers.values():
            self._open.enter_context(writer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def write(self, pages: Sequence[Page], rejects: Sequence[Reject]) -> None:
        """Appends pages, their signals, and rejects."""
        batch = pages_to_batch(pages, (self._unit.number << PAGE_ID_BITS) + self.pages)
        tables = {
            "pages": batch.select(PAGE_SCHEMA.names),
            "style/fingerprints": style_batch(batch, self._settings),
            "rejects": rejects_to_batch(rejects),
        }
        if self._settings.keep_pages:
            tables["content"] = batch.select(CONTENT_SCHEMA.names)
        for table, rows in tables.items():
            self._writers[table].write_table(pa.Table.from_batches([rows]))
        self.pages += len(pages)
        self.content_bytes += sum(len(page.content) for page in pages)
        self.reasons.update(reject.reason for reject in rejects)
        self.damaged += sum(reject.damaged for reject in rejects)
        latest: list[Page | Reject] = [*pages[-1:], *rejects[-1:]]
        self._position = max([self._position, *(item.warc_record_offset for item in latest)])

    def progress(self) -> Progress:
        """How far the unit is."""
        unit = self._unit
        share = (self._position - unit.start) / max(1, unit.end - unit.start)
        return Progress(
            "read", unit.number, self.pages, self.reasons.total(), self.content_bytes, min(max(share, 0.0), 1.0)
        )


def _batched(reading: Iterable[Page | Reject]) -> Iterator[tuple[list[Page], list[Reject]]]:
    """Pages and rejects in batches that depend on the records alone, so that parts are the same in every run."""
    pages: list[Page] = []
    rejects: list[Reject] = []
    size = 0
    for item in reading:
        if isinstance(item, Page):
            pages.append(item)
            size += len(item.content)
        else:
            rejects.append(item)
        if len(pages) >= BATCH_PAGES or size >= BATCH_BYTES or len(rejects) >= 8 * BATCH_PAGES:
            yield pages, rejects
            pages, rejects, size = [], [], 0
    yield pages, rejects


def _count_parts(folder: RunFolder, unreadable: Sequence[Reject], failures: Sequence[UnitOutcome]) -> dict[str, Any]:
    """Sums over all markers: what was read, what was rejected and why."""
    reasons = Counter(reject.reason for reject in unreadable)
    pages = content_bytes = 0
    damaged = len(unreadable) + len(failures)
    seconds = 0.0
    for path in sorted((folder.path / "done").glob("part-*.json")):
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


def _group(folder: RunFolder, settings: Settings, engine: Engine, tell: Tell) -> None:
    """Groups and ranks the fingerprints of all parts, unless that is done for just these."""
    markers = {path.stem: folder.marker(path.stem) for path in sorted((folder.path / "done").glob("part-*.json"))}
    parts = {name: {key: facts[key] for key in ("unit", "pages")} for name, facts in markers.items() if facts}
    source = digest_facts([settings.digest("style", "grouping"), parts])
    done = folder.marker("style")
    if done is not None and done["source"] == source:
        return
    folder.unmark("style")
    began = time.perf_counter()
    sketches = sketches_of(folder.read_parts("style/fingerprints"), settings)
    plan = probe_plan(settings)
    rule = CheckRule(
        loose=settings.loose,
        tight=settings.tight,
        full_check=settings.full_check,
        max_leaders=settings.max_leaders,
    )
    forest, counts = engine.find_forest(sketches, plan, rule=rule, tell=tell)
    found = group_style(folder, sketches, forest, settings)
    facts = {
        **dataclasses.asdict(counts),
        **found,
        "miss_loose": plan.miss(settings.loose),
        "miss_tight": plan.miss(settings.tight),
        "seconds": round(time.perf_counter() - began, 3),
    }
    folder.mark_done("style", {"source": source, "facts": facts})


def probe_plan(settings: Settings) -> ProbePlan:
    """The probes these settings ask for."""
    return plan_probes(
        settings.dimensions,
        settings.loose,
        miss=settings.miss,
        probes=settings.probes,
        probe_dimensions=settings.probe_dimensions,
    )


def _finish(folder: RunFolder, counts: dict[str, Any], failures: Sequence[UnitOutcome]) -> None:
    style = folder.marker("style") or {"facts": {}}
    manifest = folder.manifest()
    manifest["stages"] = {"read": counts, "style": style["facts"]}
    manifest["failures"] = [
        {"input": outcome.unit.source.name, "start": outcome.unit.start, "reason": outcome.failure}
        for outcome in failures
    ]
    manifest["state"] = "done"
    folder.save_manifest(manifest)
