"""A worker process of the local engine: `python -m samehand.engine.worker`.

It speaks JSON lines: units of work come in on standard input, progress and outcomes go out on standard output. No
pickle, and no need for the caller to guard its main module. A worker whose engine is gone ends at once.
"""

import contextlib
import ctypes
import dataclasses
import json
import os
import queue
import signal
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any

from samehand.base.settings import Settings
from samehand.engine.progress import Progress
from samehand.engine.tasks import Task, attempt
from samehand.store.folder import RunFolder

READY = "ready"
"""The first thing that a worker says: it is loaded, so what ends it from now on is its task."""
_TELL_SECONDS = 0.2
_SET_DEATH_SIGNAL = 1
"""Linux: prctl's PR_SET_PDEATHSIG."""


def main() -> None:
    """Serves units until standard input ends."""
    _die_with_engine()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # a library that prints must not break the protocol
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin, requests), daemon=True).start()
    _send(answers, READY, None)
    while True:
        _serve(requests.get(), answers)


def _die_with_engine() -> None:
    """Asks the system to end this process with its engine, even in the middle of a kernel; else `_listen` does."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL))


def _listen(lines: IO[str], requests: "queue.SimpleQueue[dict[str, Any]]") -> None:
    for line in lines:
        requests.put(json.loads(line))
    os._exit(0)  # the engine is gone: whatever is half written has no marker and will be done again


def _send(answers: IO[str], kind: str, content: object) -> None:
    answers.write(json.dumps([kind, content]) + "\n")
    answers.flush()


def _serve(request: dict[str, Any], answers: IO[str]) -> None:
    last_told = 0.0

    def on_progress(progress: Progress) -> None:
        nonlocal last_told
        if time.monotonic() - last_told >= _TELL_SECONDS:
            last_told = time.monotonic()
            _send(answers, "progress", dataclasses.asdict(progress))

    folder = RunFolder(Path(request["folder"]))
    task = Task.from_dict(request["task"])
    _send(answers, *attempt(folder, task, Settings.from_dict(request["settings"]), on_progress))


if __name__ == "__main__":
    main()
