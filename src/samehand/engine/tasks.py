"""One unit of work: records to pages and rejects, pages to signals, all of it to the parts of the run folder.

This is what every engine runs, wherever it runs it.
"""

import contextlib
import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from samehand.base.page import (
    CONTENT_FIELD,
    PAGE_SCHEMA,
    REJECT_SCHEMA,
    Outcome,
    Page,
    Reject,
    pages_to_batch,
    rejects_to_batch,
)
from samehand.base.settings import Settings
from samehand.methods.page_batch import PageBatch
from samehand.methods.registry import SIGNALS
from samehand.sources import Unit, read_unit
from samehand.store.folder import RunFolder, TableWriter

BATCH_PAGES = 2048
BATCH_BYTES = 48_000_000
PAGES = "pages"
"""Name of what a task writes besides signals: pages and rejects."""

PAGE_ID_BITS = 32
"""A page_id is (unit number << 32) | row within the unit: later inputs have larger ids, workers play no part."""

CONTENT_SCHEMA = pa.schema([PAGE_SCHEMA.field("page_id"), CONTENT_FIELD])


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
class Task:
    """One unit of work and what is to be written of it: PAGES, and the names of signals."""

    unit: Unit
    wanted: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How a task ended: the facts of its markers, or why there are none."""

    task: Task
    facts: dict[str, Any] | None = None
    failure: str = ""


Tell = Callable[[Progress], None]


def part_name(number: int, what: str = PAGES) -> str:
    """Name of the marker that says that a unit's pages, or one of their signals, are written."""
    return f"{what}-{number:06d}"


def signal_facts(folder: RunFolder, unit: Unit, signal: str, settings: Settings) -> dict[str, Any]:
    """What the marker of a signal's part says."""
    return {"unit": unit.as_dict(), "made_with": SIGNALS[signal].made_with(folder, settings)}


def progress_of(unit: Unit, facts: dict[str, Any]) -> Progress:
    """The progress of a unit that is done."""
    return Progress(
        "read",
        unit=unit.number,
        pages=facts["pages"],
        rejects=sum(facts["reasons"].values()),
        content_bytes=facts["content_bytes"],
        share=1.0,
    )


def process_task(folder: RunFolder, task: Task, settings: Settings, tell: Tell) -> dict[str, Any]:
    """One unit of work: reads its records, computes what is wanted of them, writes the parts, marks them done."""
    began = time.perf_counter()
    unit = task.unit
    reading = read_unit(unit, settings)
    skipped: Counter[str] = Counter()
    # Signals and writing go on in a second thread: numba and Arrow leave the interpreter to the reader meanwhile.
    with _PartWriter(folder, task, settings) as parts, ThreadPoolExecutor(1) as behind:
        written = behind.submit(_nothing)
        for pages, rejects in _batched(reading, skipped):
            written.result()
            tell(parts.progress())
            written = behind.submit(parts.write, pages, rejects)
        written.result()
    facts = {
        "unit": unit.as_dict(),
        "settings": settings.digest("read"),
        "pages": parts.pages,
        "without_url": parts.without_url,
        "reasons": dict(sorted(parts.reasons.items())),
        "skipped": dict(sorted(skipped.items())),
        "damaged": parts.damaged,
        "content_bytes": parts.content_bytes,
        "first": reading.first,
        "stop": reading.stop,
        "seconds": round(time.perf_counter() - began, 3),
    }
    for what in task.wanted:
        if what != PAGES:
            folder.mark_done(part_name(unit.number, what), signal_facts(folder, unit, what, settings))
    if PAGES in task.wanted:
        folder.mark_done(part_name(unit.number), facts)
    tell(progress_of(unit, facts))
    return facts


def _nothing() -> None:
    return


class _PartWriter:
    """Writes the parts of one task, batch by batch, and counts what is in them."""

    def __init__(self, folder: RunFolder, task: Task, settings: Settings) -> None:
        self._unit = task.unit
        self._settings = settings
        self._stages = {what: SIGNALS[what].stage(folder, settings) for what in task.wanted if what != PAGES}
        schemas = {SIGNALS[what].table: stage.schema for what, stage in self._stages.items()}
        if PAGES in task.wanted:
            schemas |= {"pages": PAGE_SCHEMA, "rejects": REJECT_SCHEMA}
            if settings.keep_pages:
                schemas["content"] = CONTENT_SCHEMA
        self._writers = {
            table: TableWriter(folder.part_path(table, self._unit.number), schema) for table, schema in schemas.items()
        }
        self._open = contextlib.ExitStack()
        self.pages = self.without_url = self.damaged = self.content_bytes = 0
        self.reasons: Counter[str] = Counter()
        self._position = self._unit.start

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
        seen = PageBatch(batch, self._settings)
        tables = {SIGNALS[what].table: stage.batch(seen) for what, stage in self._stages.items()}
        if "pages" in self._writers:
            tables |= {"pages": batch.select(PAGE_SCHEMA.names), "rejects": rejects_to_batch(rejects)}
        if "content" in self._writers:
            tables["content"] = batch.select(CONTENT_SCHEMA.names)
        for table, rows in tables.items():
            self._writers[table].write_table(pa.Table.from_batches([rows]))
        self.pages += len(pages)
        self.without_url += sum(not page.url for page in pages)
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


def _batched(reading: Iterable[Outcome], skipped: Counter[str]) -> Iterator[tuple[list[Page], list[Reject]]]:
    """Pages and rejects in batches that depend on the records alone, so that parts are the same in every run.

    Skips are counted in `skipped`.
    """
    pages: list[Page] = []
    rejects: list[Reject] = []
    size = 0
    for item in reading:
        if isinstance(item, Page):
            pages.append(item)
            size += len(item.content)
        elif isinstance(item, Reject):
            rejects.append(item)
        else:
            skipped[item.reason] += 1
        if len(pages) >= BATCH_PAGES or size >= BATCH_BYTES or len(rejects) >= 8 * BATCH_PAGES:
            yield pages, rejects
            pages, rejects, size = [], [], 0
    yield pages, rejects
