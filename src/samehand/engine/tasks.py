"""One unit of work: records to pages and rejects, pages to the rows of the methods, all of it to the run folder.

This is what every engine runs, wherever it runs it.
"""

import contextlib
import dataclasses
import functools
import gc
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from samehand.base.errors import InputError, RunError, RunWriteError, SamehandError
from samehand.base.page import Reject, rejects_to_batch
from samehand.base.page_rows import PageRows
from samehand.base.settings import Settings
from samehand.engine.progress import OnProgress, Progress
from samehand.engine.stored_pages import SamePages, iterate_stored
from samehand.methods.page_batch import PageBatch
from samehand.methods.registry import methods
from samehand.methods.repeats import Repeats
from samehand.sources import Reading, Unit, read_unit
from samehand.sources.runs import batched
from samehand.store.done import part_name
from samehand.store.folder import RunFolder
from samehand.store.page_ids import UNIT_BITS
from samehand.store.table import Table
from samehand.store.tables import CONTENT, PAGES, REJECTS

_FEW_COLLECTIONS = (50_000, 20, 50)
READ = PAGES.name
"""What a task does besides the rows of methods: it reads the unit and writes its pages and rejects."""


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """One unit of work and what is to be written of it: READ, and the names of methods.

    `fetched` is a copy of the input to read instead, where the input itself is out of reach of this machine.
    """

    unit: Unit
    wanted: tuple[str, ...]
    fetched: str | None = None

    @property
    def reads(self) -> bool:
        """Whether pages are to be written, and not only rows of pages that are there."""
        return READ in self.wanted

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods whose rows are wanted."""
        return tuple(what for what in self.wanted if what != READ)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"unit": self.unit.as_dict(), "wanted": self.wanted, "fetched": self.fetched}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Self:
        """The task from its `as_dict` form."""
        return cls(Unit.from_dict(stored["unit"]), tuple(stored["wanted"]), stored["fetched"])


@dataclasses.dataclass(frozen=True, slots=True)
class TaskOutcome:
    """How a task ended: the record of what it read, or why there is none."""

    task: Task
    record: dict[str, Any] | None = None
    failure: str = ""


def method_record(folder: RunFolder, unit: Unit, method: str, settings: Settings) -> dict[str, Any]:
    """What the record of a method's part says."""
    return {"unit": unit.as_dict(), "source": methods()[method].page_source(folder, settings)}


def progress_of(unit: Unit, record: dict[str, Any]) -> Progress:
    """The progress of a unit that is done."""
    return Progress(
        "read",
        unit=unit.number,
        pages=record["pages"],
        rejects=sum(record["rejected"].values()),
        content_bytes=record["content_bytes"],
        share=1.0,
    )


@contextlib.contextmanager
def few_collections() -> Iterator[None]:
    """Python looks for cycles of objects less often meanwhile.

    The stages keep many objects and hardly any cycle. To look at all of them again and again took 5 % of reading, and
    a quarter of grouping sites.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_FEW_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@few_collections()
def process_task(folder: RunFolder, task: Task, settings: Settings, on_progress: OnProgress) -> dict[str, Any]:
    """One unit of work: reads its records, computes what is wanted of them, writes the parts, records them as done."""
    if not task.reads and folder.part_path(CONTENT, task.unit.number).is_file():
        return _process_stored(folder, task, settings, on_progress)
    began = time.perf_counter()
    unit = task.unit
    reading = read_unit(_fetched(task), settings)
    # Methods and writing go on in a second thread: numba and Arrow leave the interpreter to the reader meanwhile.
    with _PartWriter(folder, task, settings) as parts, ThreadPoolExecutor(1) as behind:
        written = behind.submit(_nothing)
        for pages, rejects in batched(reading.items(), parts.skipped):
            written.result()
            on_progress(parts.progress())
            written = behind.submit(parts.write, pages, rejects)
        written.result()
        parts.finish()
    record = _record_of(parts, reading, unit, settings, time.perf_counter() - began)
    _mark_done(folder, task, settings, record)
    on_progress(progress_of(unit, record))
    return record


def attempt(
    folder: RunFolder, task: Task, settings: Settings, on_progress: OnProgress
) -> tuple[str, dict[str, Any] | str]:
    """Does one task in a process of its own, and says how it ended: "done" with the record, or why not.

    A run folder that is "damaged" or that it "cannot_write" to stops the whole run. What "failed" is counted, and the
    run goes on.
    """
    try:
        return "done", process_task(folder, task, settings, on_progress)
    except RunWriteError as error:
        return "cannot_write", str(error)
    except RunError as error:
        return "damaged", str(error)
    except SamehandError as error:
        return "failed", str(error)


def _fetched(task: Task) -> Unit:
    """The unit as it is to be read."""
    if task.fetched is None:
        return task.unit
    return dataclasses.replace(task.unit, source=dataclasses.replace(task.unit.source, path=task.fetched))


def _nothing() -> None:
    return


def _record_of(
    parts: "_PartWriter", reading: Reading, unit: Unit, settings: Settings, seconds: float
) -> dict[str, Any]:
    return {
        "unit": unit.as_dict(),
        "settings": settings.digest("read"),
        "pages": parts.pages,
        "rejected": dict(sorted(parts.rejected.items())),
        "skipped": dict(sorted(parts.skipped.items())),
        "without_url": parts.without_url,
        "damaged": parts.damaged,
        "content_bytes": parts.content_bytes,
        "first": reading.first,
        "stop": reading.stop,
        "seconds": round(seconds, 3),
    }


def _mark_done(folder: RunFolder, task: Task, settings: Settings, record: dict[str, Any]) -> None:
    """Methods first: a unit whose pages are done is not looked at again for what it lacks."""
    for method in task.methods:
        folder.done.set(part_name(method, task.unit.number), method_record(folder, task.unit, method, settings))
    if task.reads:
        folder.done.set(part_name(READ, task.unit.number), record)


def _process_stored(folder: RunFolder, task: Task, settings: Settings, on_progress: OnProgress) -> dict[str, Any]:
    """The rows of methods from pages that the run folder keeps. The input is not needed."""
    with _PartWriter(folder, task, settings) as parts:
        for batch in iterate_stored(folder, task.unit.number):
            parts.write_rows(batch)
    record = folder.done.get(part_name(READ, task.unit.number)) or {}
    _mark_done(folder, task, settings, record)
    on_progress(progress_of(task.unit, record))
    return record


class _PartWriter:
    """Writes the parts of one task, batch by batch, and counts what is in them."""

    def __init__(self, folder: RunFolder, task: Task, settings: Settings) -> None:
        self._folder = folder
        self._task = task
        self._settings = settings
        self._stages = {name: methods()[name].stage(folder, settings) for name in task.methods}
        self._tables = {name: page_table(name) for name in task.methods}
        wanted = list(self._tables.values())
        if task.reads:
            wanted += [PAGES, REJECTS, CONTENT] if settings.keep_pages else [PAGES, REJECTS]
        self._writers = {table: folder.writer(table, settings, task.unit.number) for table in wanted}
        self._open = contextlib.ExitStack()
        self.pages = self.without_url = self.damaged = self.content_bytes = 0
        self.rejected: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()
        self._position = task.unit.start

    @functools.cached_property
    def _same(self) -> SamePages:
        return SamePages(self._folder, self._task.unit)

    def __enter__(self) -> Self:
        for writer in self._writers.values():
            self._open.enter_context(writer)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def write(self, pages: PageRows, rejects: Sequence[Reject]) -> None:
        """Appends pages, their rows, and rejects."""
        batch = pages.batch((self._task.unit.number << UNIT_BITS) + self.pages)
        if self._task.reads:
            self._writers[PAGES].write(batch.select([column.name for column in PAGES.columns]))
            self._writers[REJECTS].write(rejects_to_batch(rejects))
            if CONTENT in self._writers:
                self._writers[CONTENT].write(batch.select([column.name for column in CONTENT.columns]))
        else:
            self._same.check(batch)
        self.write_rows(batch)
        self.without_url += pages.without_url
        self.content_bytes += pages.content_bytes
        self.rejected.update(reject.reason for reject in rejects)
        self.damaged += sum(reject.damaged for reject in rejects)
        latest = [
            *batch.column("warc_record_offset")[-1:].to_pylist(),
            *(one.warc_record_offset for one in rejects[-1:]),
        ]
        self._position = max([self._position, *latest])

    def write_rows(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of the methods for a batch of pages with content."""
        repeats = Repeats.among(batch)
        seen = PageBatch(repeats.different, self._settings)
        for name, stage in self._stages.items():
            self._writers[self._tables[name]].write(repeats.for_all(stage.batch(seen)))
        self.pages += len(batch)

    def finish(self) -> None:
        """All pages are written."""
        if not self._task.reads:
            self._same.finish()

    def progress(self) -> Progress:
        """How far the unit is."""
        unit = self._task.unit
        share = (self._position - unit.start) / max(1, unit.end - unit.start)
        return Progress(
            "read", unit.number, self.pages, self.rejected.total(), self.content_bytes, min(max(share, 0.0), 1.0)
        )


def page_table(method: str) -> Table:
    """The rows per page of a method."""
    table = methods()[method].page_table
    if table is None:
        raise InputError(f"The method {method} has no rows per page.")
    return table
