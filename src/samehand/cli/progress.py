"""Progress on standard error: a moving bar on a terminal, one line every 30 seconds otherwise."""

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from samehand.base.wording import count
from samehand.cli.common import say

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

    from samehand.engine.progress import Progress

LINE_SECONDS = 30.0
KERNELS = Path(__file__).parent.parent / "kernels"
KERNELS_OF = {
    "style": "noise",
    "replica": "text/words",
    "language": "text/tokens",
    "phrases": "phrases/words",
    "sites": "tags",
}
"""For each method a file of kernels that no other method compiles."""
PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}"


def announce_compiling(methods: Iterable[str]) -> None:
    """Says that kernels of the methods will be compiled, where numba has not stored them yet."""
    if any(not is_compiled(KERNELS / f"{KERNELS_OF[method]}.py") for method in methods if method in KERNELS_OF):
        say("Compiling kernels, once on this machine: one to two minutes.")


def is_compiled(source: Path) -> bool:
    """Whether numba has stored functions compiled from this file and those that it imports, by this Python.

    numba stores them in NUMBA_CACHE_DIR, else beside the file, else in the user's cache. A wheel may bring them, beside
    the file. Indexes hold the digest of the sources, and the processor.
    """
    from samehand.kernels import PORTABLE_CPU, runs_portable_code, sources_digest

    chosen = os.environ.get("NUMBA_CACHE_DIR")
    shared, beside = Path(chosen or Path.home() / ".cache" / "numba"), source.parent / "__pycache__"
    own = [*shared.glob(f"{source.parent.name}_*"), *([] if chosen else [beside])]
    stamp = sources_digest(source).encode()
    if any(_is_stored(folder, source, stamp) for folder in own):
        return True
    return runs_portable_code() and _is_stored(beside, source, stamp, PORTABLE_CPU.encode())


def _is_stored(folder: Path, source: Path, *marks: bytes) -> bool:
    indexes = (index.read_bytes() for index in folder.glob(f"{source.stem}.*.{PYTHON}*.nbi"))
    return any(all(mark in index for mark in marks) for index in indexes)


class ProgressDisplay:
    """Sums up the reports of the units. Use it as a context manager and as the `on_progress` of a scan."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._units: dict[int, Progress] = {}
        self._planned = 0
        self._began = self._stage_began = self._last_line = time.monotonic()
        self._stage = ""
        self._quiet = quiet
        self._verbose = verbose and not quiet
        self._bars = _bars() if not quiet and sys.stderr.isatty() else None
        if self._bars is not None:
            self._task = self._bars.add_task("reading", total=1.0, counts="")

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, progress: "Progress") -> None:
        """Takes one report of the pipeline."""
        if progress.stage == "plan":
            self._planned = progress.total
        elif progress.stage == "read":
            self._units[progress.unit] = progress
            if self._verbose and progress.share == 1.0:
                self._say(f"unit {progress.unit}: {count(progress.pages, 'page')}, {count(progress.rejects, 'reject')}")
        self._show(progress)

    def _say(self, line: str) -> None:
        if self._bars is not None:
            self._bars.console.print(line, markup=False, highlight=False)
        else:
            sys.stderr.write(line + "\n")

    def _show(self, progress: "Progress") -> None:
        done, total, counts = self._state(progress)
        stage = "grouping" if progress.stage == "group" else "reading"
        if stage != self._stage:
            self._stage, self._stage_began = stage, time.monotonic()
        if self._bars is not None:
            self._bars.update(self._task, description=stage, completed=done, total=total, counts=counts)
        elif not self._quiet and time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            self._say(f"{stage} {100 * done / total:.0f} %: {counts}{self._time_left(done / total)}")

    def _state(self, progress: "Progress") -> tuple[float, float, str]:
        if progress.stage == "group":
            return progress.done, max(1, progress.total), f"probe {progress.done} of {progress.total}"
        units = self._units.values()
        megabytes = sum(unit.content_bytes for unit in units) / 1e6
        rate = megabytes / max(time.monotonic() - self._began, 0.001)
        pages, rejects = sum(unit.pages for unit in units), sum(unit.rejects for unit in units)
        counts = f"{count(pages, 'page')}, {count(rejects, 'reject')}, {rate:,.0f} MB/s"
        return sum(unit.share for unit in units), max(1, self._planned), counts

    def _time_left(self, share: float) -> str:
        if not share:
            return ""
        seconds = (time.monotonic() - self._stage_began) * (1 - share) / share
        return f", about {seconds / 60:.0f} min left"


def _bars() -> "Bars":
    """The moving bar. rich is slow to import, and nothing but a terminal needs it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
