"""The Spark engine: the same stage functions as the local engine's, in the executors of a Spark cluster.

Executors and driver share the run folder (one machine, NFS or the like). A task writes its parts under names of its
own, renames them and marks them last, so Spark may run a task again, or twice at once, and nothing changes. Inputs on
other file systems (hdfs://, s3a:// and whatever else Spark reads) are fetched file by file: `remote_inputs`.
"""

import contextlib
import dataclasses
import functools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

import samehand
from samehand.errors import InputError, RunWriteError, SamehandError, UsageError
from samehand.page import Reject
from samehand.run import RunFolder
from samehand.settings import Settings
from samehand.sources import Source, Unit, find_sources, plan_units
from samehand.sources.reasons import UNREADABLE_FILE, reject
from samehand.tasks import PAGES, Task, TaskOutcome, Tell, part_name, process_task, progress_of, signal_facts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

INSTALL = "Install it with: pip install 'samehand[spark]', and a Java 17 runtime (on Debian: openjdk-17-jre-headless)."
FETCH_LIMIT = 2_000_000_000
"""Longest file that Spark's binaryFile source hands over whole: a Java array holds no more."""

_POLL_SECONDS = 0.5
_ANSWER = "answer string"


def connect(master: str) -> "SparkSession":
    """A Spark session on `master`: local[*], local-cluster[2,1,1024], spark://host:7077, yarn, k8s://..."""
    _check_java()
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SamehandError(f"The Spark engine needs pyspark, which is not here ({error}). {INSTALL}") from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options: dict[str, Any] = {"spark.sql.execution.arrow.pyspark.enabled": True}
    if master.startswith("local"):
        # Everything is on this machine: nothing to be seen from outside, and the packages of this environment.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
        options["spark.ui.enabled"] = options["spark.ui.showConsoleProgress"] = False
        options["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        session = SparkSession.builder.master(master).appName("samehand").config(map=options).getOrCreate()
    except _spark_errors() as error:
        raise SamehandError(f"Spark does not start on {master!r} ({_said_by(error)}): check the master.") from error
    session.sparkContext.setLogLevel("FATAL")  # a task that fails is said in one sentence, not in four stacks
    return session


def _check_java() -> None:
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        raise SamehandError(f"The Spark engine needs Java, which is not here. {INSTALL}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if found and int(found[1]) < 17:
        raise SamehandError(f"The Spark engine needs Java 17, here is Java {found[1]}. {INSTALL}")


def _spark_errors() -> tuple[type[Exception], ...]:
    """What pyspark raises: its own errors, and those of Java that it does not translate."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def _said_by(error: Exception) -> str:
    """The sentence in Spark's report that says what happened last, without the stacks around it."""
    text = str(error)
    causes = re.findall(r"(?:^|: )(?:[\w.]+\.)?\w*(?:Exception|Error): ([^\n]+)", text, re.MULTILINE)
    lost = re.search(r"ExecutorLostFailure \(([^\n]+)", text)
    return (lost[1] if lost else causes[-1] if causes else text.split("\n")[0]).split(". ")[0].strip()[:200]


class SparkEngine:
    """Runs the stages in the executors of a Spark session."""

    def __init__(self, session: "SparkSession", *, partitions: int | None = None) -> None:
        self.session = session
        self.partitions = partitions or max(2, session.sparkContext.defaultParallelism)

    def read(self, folder: RunFolder, tasks: Sequence[Task], settings: Settings, tell: Tell) -> Iterator[TaskOutcome]:
        """Runs `process_task` on each task, the largest first.

        All tasks are one job. Spark tries a task four times and then gives the whole job up; so where that happens,
        what is not done yet is tried once more, each task as a job of its own, and only those that fail again fail.
        """
        if not tasks:
            return
        watch = _Watch(folder, tasks, settings=settings, tell=tell)
        with _one_file_a_batch(self.session), _Jobs(self.session, folder, settings=settings) as jobs:
            yield from jobs.outcomes([sorted(tasks, key=lambda task: task.unit.start - task.unit.end)], watch)
            left = [task for task in tasks if task.unit.number not in jobs.ended]
            done = [TaskOutcome(task, facts) for task in left if (facts := watch.facts_of(task)) is not None]
            yield from done
            jobs.ended.update(outcome.task.unit.number for outcome in done)
            yield from jobs.outcomes([[task] for task in left if task.unit.number not in jobs.ended], watch)
        for task in left:
            if task.unit.number not in jobs.ended:
                yield TaskOutcome(task, failure=f"Spark gave it up: {jobs.failures.get(task.unit.number, 'no answer')}")


class _Watch:
    """Sees from the markers in the run folder what is done, and tells it."""

    def __init__(self, folder: RunFolder, tasks: Sequence[Task], *, settings: Settings, tell: Tell) -> None:
        self._folder = folder
        self._settings = settings
        self._tell = tell
        self._waiting = {f"{part_name(task.unit.number)}.json": task for task in tasks if PAGES in task.wanted}

    def look(self) -> None:
        """Tells of every unit that is done since the last look."""
        with contextlib.suppress(FileNotFoundError):
            # Listing the folder is also what makes NFS look again.
            for name in os.listdir(self._folder.path / "done"):
                task = self._waiting.get(name)
                if task and (facts := self.facts_of(task)):
                    del self._waiting[name]
                    self._tell(progress_of(task.unit, facts))

    def facts_of(self, task: Task) -> dict[str, Any] | None:
        """The marker of a task of which everything is done, in this run or in an attempt nobody heard of."""
        unit = task.unit
        markers = {what: self._folder.marker(part_name(unit.number, what)) for what in task.wanted}
        read = {"unit": unit.as_dict(), "settings": self._settings.digest("read")}
        for what, marker in markers.items():
            made = read if what == PAGES else signal_facts(self._folder, unit, what, self._settings)
            if marker is None or not made.items() <= marker.items():
                return None
        return markers.get(PAGES, markers[task.wanted[0]])


class _Jobs:
    """Jobs that read tasks, run by threads of the driver while its main thread watches."""

    def __init__(self, session: "SparkSession", folder: RunFolder, *, settings: Settings) -> None:
        self._session = session
        self._folder = folder
        # What all tasks share: beside this text, nothing of ours but the names of functions goes to the executors.
        self._common = json.dumps([os.path.abspath(folder.path), settings.as_dict(), samehand.__version__])
        self._group = f"samehand-{uuid.uuid4().hex}"
        self._threads = ThreadPoolExecutor(min(64, 2 * session.sparkContext.defaultParallelism))
        self._errors = _spark_errors()
        self.ended: set[int] = set()
        self.failures: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Left early (an error, an interrupt): what still runs is stopped, since nobody will hear of it.
        if self._is_running():
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
        return [answer for frame in frames for answer in _answers(frame.mapInArrow(serve, _ANSWER))]

    def _near(self, tasks: Sequence[Task]) -> "DataFrame":
        """Each task is the one row of a partition of its own, in the order given, which is that of scheduling."""
        rows = {"id": pa.array(range(len(tasks)), pa.int64()), "requests": [[_request(task)] for task in tasks]}
        return self._joined(self._session.range(0, len(tasks), 1, len(tasks)), rows, "id")

    def _far(self, tasks: Sequence[Task]) -> "DataFrame":
        """Each file is fetched once, for all tasks on it."""
        by_path: dict[str, list[str]] = {}
        for task in tasks:
            by_path.setdefault(task.unit.source.path, []).append(_request(task))
        files = _binary_files(self._session, list(by_path))
        return self._joined(files, {"path": list(by_path), "requests": list(by_path.values())}, "path")

    def _joined(self, frame: "DataFrame", rows: dict[str, Any], name: str) -> "DataFrame":
        from pyspark.sql.functions import broadcast  # so that rows stay in the partitions of `frame`

        return frame.join(broadcast(self._session.createDataFrame(pa.table(rows))), name)

    def _hear(self, job: "Future[list[str]]", tasks: Sequence[Task]) -> Iterator[TaskOutcome]:
        try:
            answers = job.result()
        except self._errors as error:
            self._check_spark(error)
            self.failures |= {task.unit.number: _said_by(error) for task in tasks}
            return
        by_number = {task.unit.number: task for task in tasks}
        for number, kind, content in map(json.loads, answers):
            if kind in ("cannot_write", "unfit"):
                raise (RunWriteError if kind == "cannot_write" else SamehandError)(content)
            self.ended.add(number)
            task = by_number[number]
            if kind == "done" and self._folder.marker(part_name(number, task.wanted[0])) is None:
                raise RunWriteError(_not_shared(self._folder, "the driver"))
            yield TaskOutcome(task, content) if kind == "done" else TaskOutcome(task, failure=content)

    def _check_spark(self, error: Exception) -> None:
        """Raises where it is not the tasks that failed."""
        if "No module named 'samehand'" in str(error):
            raise SamehandError("The executors lack samehand: install it in each node's PYSPARK_PYTHON.") from error
        if not self._is_running():
            why = f"Spark stopped ({_said_by(error)}): run the same command again, nothing done is lost."
            raise SamehandError(why) from error

    def _is_running(self) -> bool:
        with contextlib.suppress(AttributeError, *self._errors):  # stopped, or its process is gone
            return not self._session.sparkContext._jsc.sc().isStopped()
        return False


def _answers(asked: "DataFrame") -> list[str]:
    return [row[0] for row in asked.collect()]


def _request(task: Task) -> str:
    return json.dumps({"unit": task.unit.as_dict(), "wanted": task.wanted})


# What follows up to `is_remote` runs in the executors.


def _serve(common: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Requests, with or without the file they are about, to answers."""
    for batch in batches:
        for row in range(batch.num_rows):
            with _spooled(batch, row) if "content" in batch.schema.names else contextlib.nullcontext() as path:
                for request in batch.column("requests")[row].as_py():
                    yield _batch_of(_answer(json.loads(common), json.loads(request), path))


def _batch_of(answer: object) -> pa.RecordBatch:
    return pa.record_batch({"answer": [json.dumps(answer)]})


def _answer(common: tuple[str, dict[str, Any], str], request: dict[str, Any], fetched: str | None) -> tuple[Any, ...]:
    """Does one task; how it ended, as a worker of the local engine says it: unit, kind, content."""
    path, settings, version = common
    unit = Unit.from_dict(request["unit"])
    folder = _FolderForFetched(Path(path), unit.source.path)
    if version != samehand.__version__:
        return unit.number, "unfit", f"An executor has samehand {samehand.__version__}, not {version}: install one."
    if not folder.path.is_dir():
        return unit.number, "cannot_write", _not_shared(folder, socket.gethostname())
    if fetched is not None:
        unit = dataclasses.replace(unit, source=dataclasses.replace(unit.source, path=fetched))
    try:
        task = Task(unit, tuple(request["wanted"]))
        facts = process_task(folder, task, Settings.from_dict(settings), lambda _: None)
    except RunWriteError as error:
        return unit.number, "cannot_write", str(error)
    except SamehandError as error:
        return unit.number, "failed", str(error)
    return unit.number, "done", folder.as_planned(facts)


@dataclasses.dataclass(frozen=True, slots=True)
class _FolderForFetched(RunFolder):
    """The run folder, in whose markers a source has the path it was planned with, not that of a fetched copy."""

    planned: str

    def mark_done(self, name: str, facts: "Any") -> None:
        """Notes that `name` is done."""
        RunFolder.mark_done(self, name, self.as_planned(facts))

    def as_planned(self, facts: "Any") -> dict[str, Any]:
        """Facts of a task with the path of its source put back."""
        unit = facts["unit"]
        return {**facts, "unit": {**unit, "source": {**unit["source"], "path": self.planned}}}


def _not_shared(folder: RunFolder, where: str) -> str:
    return f"{folder.path} is not the same folder for {where}: choose one with -o that driver and executors share."


@contextlib.contextmanager
def _spooled(batch: pa.RecordBatch, row: int) -> Iterator[str]:
    """A fetched file on the executor's own disk, under its own name, while it is needed."""
    with tempfile.TemporaryDirectory(prefix="samehand-") as spool:
        path = os.path.join(spool, batch.column("path")[row].as_py().rpartition("/")[2])
        with open(path, "wb") as copy:
            copy.write(batch.column("content")[row].as_buffer())
        yield path


def _plan_remote(settings: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files to what they are, and where they are split: found in a copy as in any file."""
    wanted = Settings.from_dict(json.loads(settings))
    for batch in batches:
        for row in range(batch.num_rows):
            uri = batch.column("path")[row].as_py()
            with _spooled(batch, row) as path:
                sources, rejects = find_sources([path], profile=wanted.profile)
                spans = [(unit.start, unit.end) for unit in plan_units(sources, wanted.split_bytes)]
            found = [dataclasses.replace(source, name=uri, path=uri).as_dict() for source in sources]
            refused = [dataclasses.asdict(dataclasses.replace(item, warc_filename=uri)) for item in rejects]
            yield _batch_of({"path": uri, "sources": found, "rejects": refused, "spans": spans})


def is_remote(path: str) -> bool:
    """Whether a path names its file system: hdfs://, s3a://, file:/..."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None


def remote_inputs(
    session: "SparkSession", inputs: Sequence[str], *, settings: Settings
) -> tuple[list[Source], list[Unit], list[Reject]]:
    """The sources that URIs (files, folders, patterns) name on any file system Spark reads, their units, and rejects.

    Every file is a source of its own, and split as a local one would be; a file behind a folder's name too. Spark
    cannot read a piece of a file, so each is fetched here to be looked at, and once more to be read.
    """
    listed = {path: size for given in inputs for path, size in _listed(session, given)}
    fit = [path for path, size in listed.items() if size <= FETCH_LIMIT]
    plan = functools.partial(_plan_remote, json.dumps(settings.as_dict()))
    with _one_file_a_batch(session):
        try:
            answers = _answers(_binary_files(session, fit).mapInArrow(plan, _ANSWER)) if fit else []
        except _spark_errors() as error:
            raise InputError(f"The inputs cannot be fetched ({_said_by(error)}): see that all can be read.") from error
    planned = {answer["path"]: answer for answer in map(json.loads, answers)}
    sources: list[Source] = []
    units: list[Unit] = []
    rejects: list[Reject] = []
    for path, size in listed.items():
        if path not in planned:
            why = f"longer than the {FETCH_LIMIT:,} bytes that Spark hands over at once: split it"
            rejects.append(reject(path, 0, reason=UNREADABLE_FILE, size=size, detail=why))
            continue
        rejects += [Reject(**stored) for stored in planned[path]["rejects"]]
        sources += [Source.from_dict(source) for source in planned[path]["sources"]]
        units += [Unit(len(units) + place, sources[-1], *span) for place, span in enumerate(planned[path]["spans"])]
    return sources, units, rejects


def _listed(session: "SparkSession", given: str) -> list[tuple[str, int]]:
    """Paths and sizes of the files that a URI stands for, sorted."""
    files = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        rows = files.load(given).select("path", "length").collect()
    except _spark_errors() as error:
        raise UsageError(f"Spark finds nothing at {given!r} ({_said_by(error)}): check the path.") from error
    return sorted((row["path"], row["length"]) for row in rows)


def _binary_files(session: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """Files with their content, by their exact paths: what is special in a pattern is not meant."""
    exact = [re.sub(r"([][{}*?\\])", r"\\\1", path) for path in paths]
    return session.read.format("binaryFile").load(exact).select("path", "content")


@contextlib.contextmanager
def _one_file_a_batch(session: "SparkSession") -> Iterator[None]:
    """Arrow batches of one row, since that row is a whole file."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name)
    session.conf.set(name, 1)
    try:
        yield
    finally:
        session.conf.set(name, before or "10000")
