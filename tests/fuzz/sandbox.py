"""Work in a child process that may crash, hang or fill the memory, without harm to anybody."""

import os
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

SECONDS = 10
SLEEPS = 10
MEMORY = 1 << 30


class Ended(NamedTuple):
    """How the work ended: "done" with its answer, "raised" with the traceback, or "signal" with its number."""

    kind: str
    said: str


def isolated(work: Callable[[], str], *, seconds: int = SECONDS, memory: int = MEMORY) -> Ended:
    """Does the work in a fork of this process, with so many seconds of CPU, and so much memory beyond what it has."""
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        _work(work, target, seconds, memory)
    os.close(target)
    with os.fdopen(source, "rb") as answers:
        said = answers.read().decode("utf-8", "replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return Ended("signal", f"{os.WTERMSIG(status)}")
    return Ended("raised" if os.WEXITSTATUS(status) else "done", said)


def _work(work: Callable[[], str], target: int, seconds: int, memory: int) -> None:
    code = 1
    try:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of CPU: the machine may be busy
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SLEEPS * seconds)  # for what waits and does not work
        said = work()
        code = 0
    except BaseException:  # noqa: BLE001 - what would be a traceback
        said = traceback.format_exc()
    os.write(target, said[:50_000].encode("utf-8", "replace"))
    os._exit(code)
