"""The local engine: worker processes on this machine, one task at a time each.

A worker that dies (killed, out of memory, crashed in a native library) takes only its task with it: the task is
tried once more by a fresh worker and then given up, counted and reported; everything else goes on.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from samehand.base.errors import RunError, RunWriteError, SamehandError, SettingsError
from samehand.base.settings import Settings
from samehand.engine.engine import Plan, plan_inputs
from samehand.engine.progress import OnProgress, Progress
from samehand.engine.tasks import Task, TaskOutcome, process_task
from samehand.engine.worker import READY
from samehand.methods.method import Counts, Method
from samehand.sources.formats import READER_OF
from samehand.store.folder import RunFolder

WORKER = (sys.executable, "-m", "samehand.engine.worker")
_LAST_WORDS = 2000
TRIES = 2
"""How often a task whose worker died is tried in all."""


class LocalEngine:
    """Runs the stages on this machine. One worker, or one task, needs no second process, unless its input is fragile.

    Args:
        workers: Processes; one per core if not given.

    Raises:
        SettingsError: `workers` is no number of processes.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
            raise SettingsError(f"workers is {workers!r}: choose 1 or more.")
        self._workers = workers or os.cpu_count() or 1

    def plan(self, inputs: Sequence[str], spool: Path, settings: Settings) -> Plan:
        """Finds what the inputs are and cuts it into units of work."""
        return plan_inputs(inputs, spool, settings)

    def read(
        self, folder: RunFolder, tasks: Sequence[Task], settings: Settings, on_progress: OnProgress
    ) -> Iterator[TaskOutcome]:
        """Runs `process_task` on each task."""
        workers = min(self._workers, len(tasks))
        apart: list[Task] = []
        for task in tasks:
            if workers > 1 or READER_OF[task.unit.source.kind].is_fragile:
                apart.append(task)
            else:
                yield _run_here(folder, task, settings, on_progress)
        yield from _Pool(folder, settings, on_progress).run(apart, workers)

    def group(self, method: Method, folder: RunFolder, settings: Settings, on_progress: OnProgress) -> Counts:
        """Groups with one thread per worker."""

        def told(done: int, total: int) -> None:
            on_progress(Progress("group", done=done, total=total, method=method.name))

        return method.group(folder, settings, threads=self._workers, on_progress=told)


def _run_here(folder: RunFolder, task: Task, settings: Settings, on_progress: OnProgress) -> TaskOutcome:
    try:
        return TaskOutcome(task, process_task(folder, task, settings, on_progress))
    except RunError:
        raise
    except SamehandError as error:
        return TaskOutcome(task, failure=str(error))


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that starts meanwhile never gets SIGINT: a terminal sends it to all, and the engine decides.

    For this process it is only put off.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Worker:
    """One worker process and the task it is at."""

    def __init__(self) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": paths}
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - `stop` closes it
        with _without_interrupts():
            self.process = subprocess.Popen(
                WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, env=environment, bufsize=0
            )
        self.task: Task | None = None
        self.is_ready = False
        self._heard = b""

    def give(self, task: Task, common: dict[str, Any]) -> None:
        """Hands over a task. A worker that is dead already is noticed when its output ends."""
        self.task = task
        request = json.dumps({**common, "task": task.as_dict()}) + "\n"
        with contextlib.suppress(BrokenPipeError):
            self.stdin.write(request.encode())

    def hear(self) -> list[tuple[str, Any]] | None:
        """The messages that have come in; None when the worker's output has ended."""
        chunk = os.read(self.stdout.fileno(), 1 << 16)
        if not chunk:
            return None
        *lines, self._heard = (self._heard + chunk).split(b"\n")
        return [json.loads(line) for line in lines]

    def stop(self) -> str:
        """Ends the process and returns how it ended: its exit code or signal, and its last words."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait()
        with self._said:
            self._said.seek(max(0, self._said.seek(0, os.SEEK_END) - _LAST_WORDS))
            words = self._said.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        for stream in (self.stdin, self.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        return (f"signal {-code}" if code < 0 else f"exit code {code}") + (f": {words}" if words else "")

    @property
    def stdin(self) -> IO[bytes]:
        return cast(IO[bytes], self.process.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        return cast(IO[bytes], self.process.stdout)


class _Pool:
    """Keeps workers busy, replaces those that die, and passes on what they say."""

    def __init__(self, folder: RunFolder, settings: Settings, on_progress: OnProgress) -> None:
        self._common = {"folder": str(folder.path.resolve()), "settings": settings.as_dict()}
        self._on_progress = on_progress
        self._waiting: deque[tuple[Task, int]] = deque()
        self._tries: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()

    def run(self, tasks: Sequence[Task], workers: int) -> Iterator[TaskOutcome]:
        self._waiting = deque((task, 1) for task in tasks)
        try:
            for _ in range(workers):
                self._start()
            while self._selector.get_map():
                for key, _ in self._selector.select():
                    yield from self._listen(key.data)
        finally:
            for key in list(self._selector.get_map().values()):
                key.data.stop()
            self._selector.close()

    def _start(self) -> None:
        """Starts a worker on the next task, if there is one."""
        if self._waiting:
            worker = _Worker()
            self._selector.register(worker.stdout, selectors.EVENT_READ, worker)
            self._give_next(worker)

    def _give_next(self, worker: _Worker) -> None:
        if not self._waiting:
            self._dismiss(worker)
            return
        task, tried = self._waiting.popleft()
        self._tries[task.unit.number] = tried
        worker.give(task, self._common)

    def _listen(self, worker: _Worker) -> Iterator[TaskOutcome]:
        messages = worker.hear()
        if worker.task is None:
            return
        if messages is None:
            yield from self._bury(worker, worker.task)
            return
        for kind, content in messages:
            if kind == READY:
                worker.is_ready = True
            elif kind == "progress":
                self._on_progress(Progress(**content))
            elif kind in ("cannot_write", "damaged"):
                raise (RunWriteError if kind == "cannot_write" else RunError)(content)
            else:
                task = worker.task
                self._give_next(worker)
                yield TaskOutcome(task, content) if kind == "done" else TaskOutcome(task, failure=content)

    def _dismiss(self, worker: _Worker) -> str:
        self._selector.unregister(worker.stdout)
        return worker.stop()

    def _bury(self, worker: _Worker, task: Task) -> Iterator[TaskOutcome]:
        """A worker died: its task is tried again by a fresh one, or given up."""
        what = self._dismiss(worker)
        if not worker.is_ready:
            raise SamehandError(
                f"A worker process could not start ({what}). Allow more memory, or use fewer workers, "
                "then run the same command again."
            )
        tried = self._tries[task.unit.number]
        if tried < TRIES:
            self._waiting.appendleft((task, tried + 1))
        else:
            yield TaskOutcome(task, failure=f"the worker reading it died {TRIES} times ({what})")
        self._start()
