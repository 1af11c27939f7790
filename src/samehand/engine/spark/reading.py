"""Reading on Spark: each unit of work is done by one task, in whichever executor.

A task writes its parts under names of its own, renames them and marks them last, so Spark may run a task again, or
twice at once, and nothing changes.
"""

import contextlib
import dataclasses
import functools
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from samehand.base.errors import RunWriteError, SamehandError
from samehand.base.settings import Settings
from samehand.engine.progress import OnProgress, silent
from samehand.engine.spark.common import Common
from samehand.engine.spark.remote import (
    ANSWER,
    answers_of,
    batch_of,
    binary_files,
    is_remote,
    one_file_a_batch,
    spooled,
)
from samehand.engine.spark.session import check_running, is_running, not_shared, said_by, spark_errors
from samehand.engine.tasks import READ, Task, TaskOutcome, attempt, method_record, progress_of
from samehand.store.done import part_name
from samehand.store.folder import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POLL_SECONDS = 0.5


def read_tasks(
    session: "SparkSession", folder: RunFolder, tasks: Sequence[Task], *, settings: Settings, on_progress: OnProgress
) -> Iterator[TaskOutcome]:
    """Runs `process_task` on each task, the largest first.

    All tasks are one job. Spark tries a task four times and then gives the whole job up; so where that happens,
    what is not done yet is tried once more, each task as a job of its own, and only those that fail again fail.
    """
    if not tasks:
        return
    watch = _Watch(folder, tasks, settings=settings, on_progress=on_progress)
    with one_file_a_batch(session), _Jobs(session, folder, settings=settings) as jobs:
        yield from jobs.outcomes([sorted(tasks, key=lambda task: task.unit.start - task.unit.end)], watch)
        left = [task for task in tasks if task.unit.number not in jobs.ended]
        done = [TaskOutcome(task, record) for task in left if (record := watch.record_of(task)) is not None]
        yield from done
        jobs.ended.update(outcome.task.unit.number for outcome in done)
        yield from jobs.outcomes([[task] for task in left if task.unit.number not in jobs.ended], watch)
    for task in left:
        if task.unit.number not in jobs.ended:
            yield TaskOutcome(task, failure=f"Spark gave it up: {jobs.failures.get(task.unit.number, 'no answer')}")


class _Watch:
    """Sees from the markers in the run folder what is done, and tells it."""

    def __init__(
        self, folder: RunFolder, tasks: Sequence[Task], *, settings: Settings, on_progress: OnProgress
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._on_progress = on_progress
        self._waiting = {f"{part_name(READ, task.unit.number)}.json": task for task in tasks if task.reads}

    def look(self) -> None:
        """Tells of every unit that is done since the last look."""
        with contextlib.suppress(FileNotFoundError):
            # Listing the folder is also what makes NFS look again.
            for name in os.listdir(self._folder.done.path):
                task = self._waiting.get(name)
                if task and (record := self.record_of(task)):
                    del self._waiting[name]
                    self._on_progress(progress_of(task.unit, record))

    def record_of(self, task: Task) -> dict[str, Any] | None:
        """The marker of a task of which everything is done, in this run or in an attempt nobody heard of."""
        unit = task.unit
        markers = {what: self._folder.done.get(part_name(what, unit.number)) for what in task.wanted}
        read = {"unit": unit.as_dict(), "settings": self._settings.digest("read")}
        for what, marker in markers.items():
            made = read if what == READ else method_record(self._folder, unit, what, self._settings)
            if marker is None or not made.items() <= marker.items():
                return None
        return markers.get(READ, markers[task.wanted[0]])


class _Jobs:
    """Jobs that read tasks, run by threads of the driver while its main thread watches."""

    def __init__(self, session: "SparkSession", folder: RunFolder, *, settings: Settings) -> None:
        self._session = session
        self._folder = folder
        self._common = Common.of(folder, settings)
        self._group = f"samehand-{uuid.uuid4().hex}"
        self._threads = ThreadPoolExecutor(min(64, 2 * session.sparkContext.defaultParallelism))
        self._errors = spark_errors()
        self.ended: set[int] = set()
        self.failures: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Left early (an error, an interrupt): what still runs is stopped, since nobody will hear of it.
        if is_running(self._session):
            self._session.sparkContext.cancelJobGroup(self._group)
        self._threads.shutdown(cancel_futures=True)

    def outcomes(self, jobs: Sequence[Sequence[Task]], watch: _Watch) -> Iterator[TaskOutcome]:
        """Runs jobs side by side; the outcomes of the tasks that ended, well or not."""
        running: dict[Future[list[str]], Sequence[Task]] = {
            self._threads.submit(self._run, tasks): tasks for tasks in jobs if tasks
        }
        while running:
            done, _ = wait(running, timeout=_POLL_SECONDS, return_when="FIRST_COMPLETED")
            watch.look()
            for job in done:
                yield from self._hear(job, running.pop(job))

    def _run(self, tasks: Sequence[Task]) -> list[str]:
        self._session.sparkContext.setJobGroup(self._group, "samehand: reading", interruptOnCancel=True)
        near = [task for task in tasks if not is_remote(task.unit.source.path)]
        far = [task for task in tasks if is_remote(task.unit.source.path)]
        frames = [self._near(near)] * bool(near) + [self._far(far)] * bool(far)
        serve = functools.partial(_serve, self._common)
        return [answer for frame in frames for answer in answers_of(frame.mapInArrow(serve, ANSWER))]

    def _near(self, tasks: Sequence[Task]) -> "DataFrame":
        """Each task is the one row of a partition of its own, in the order given, which is that of scheduling."""
        rows = {"id": pa.array(range(len(tasks)), pa.int64()), "requests": [[_request(task)] for task in tasks]}
        return self._joined(self._session.range(0, len(tasks), 1, len(tasks)), rows, "id")

    def _far(self, tasks: Sequence[Task]) -> "DataFrame":
        """Each file is fetched once, for all tasks on it."""
        by_path: dict[str, list[str]] = {}
        for task in tasks:
            by_path.setdefault(task.unit.source.path, []).append(_request(task))
        files = binary_files(self._session, list(by_path))
        return self._joined(files, {"path": list(by_path), "requests": list(by_path.values())}, "path")

    def _joined(self, frame: "DataFrame", rows: dict[str, Any], name: str) -> "DataFrame":
        from pyspark.sql.functions import broadcast  # so that rows stay in the partitions of `frame`

        return frame.join(broadcast(self._session.createDataFrame(pa.table(rows))), name)

    def _hear(self, job: "Future[list[str]]", tasks: Sequence[Task]) -> Iterator[TaskOutcome]:
        try:
            answers = job.result()
        except self._errors as error:
            check_running(self._session, error)
            self.failures |= {task.unit.number: said_by(error) for task in tasks}
            return
        by_number = {task.unit.number: task for task in tasks}
        for number, kind, content in map(json.loads, answers):
            if kind in ("cannot_write", "unfit"):
                raise (RunWriteError if kind == "cannot_write" else SamehandError)(content)
            self.ended.add(number)
            task = by_number[number]
            if kind == "done" and self._folder.done.get(part_name(task.wanted[0], number)) is None:
                raise RunWriteError(not_shared(self._folder.path, "the driver"))
            yield TaskOutcome(task, content) if kind == "done" else TaskOutcome(task, failure=content)


def _request(task: Task) -> str:
    return json.dumps(task.as_dict())


# What follows runs in the executors.


def _serve(common: Common, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Requests, with or without the file they are about, to answers."""
    for batch in batches:
        for row in range(batch.num_rows):
            with spooled(batch, row) if "content" in batch.schema.names else contextlib.nullcontext() as path:
                for request in batch.column("requests")[row].as_py():
                    task = dataclasses.replace(Task.from_dict(json.loads(request)), fetched=path)
                    yield batch_of((task.unit.number, *_attempt(common, task)))


def _attempt(common: Common, task: Task) -> tuple[str, dict[str, Any] | str]:
    """Does one task, and says how it ended as `attempt` does, or that this executor cannot do any."""
    try:
        return attempt(common.unpacked()[0], task, common.unpacked()[1], silent)
    except RunWriteError as error:
        return "cannot_write", str(error)
    except SamehandError as error:
        return "unfit", str(error)
