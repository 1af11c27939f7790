"""Progress on standard error: a moving bar on a terminal, one line every 30 seconds otherwise."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from samehand.engine.tasks import Progress

LINE_SECONDS = 30.0


class ProgressDisplay:
    """Sums up what the units tell. Use it as a context manager and as the `progress` of a scan."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self._units: dict[int, Progress] = {}
        self._planned = 0
        self._began = self._stage_began = self._last_line = time.monotonic()
        self._stage = ""
        self._quiet = quiet
        self._verbose = verbose and not quiet
        self._bars: Bars | None = None
        if not quiet and sys.stderr.isatty():
            self._bars = Bars(
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

    def __call__(self, progress: Progress) -> None:
        """Takes one report of the pipeline."""
        if progress.stage == "plan":
            self._planned = progress.total
        elif progress.stage == "read":
            self._units[progress.unit] = progress
            if self._verbose and progress.share == 1.0:
                self._say(f"unit {progress.unit}: {progress.pages:,} pages, {progress.rejects:,} rejects")
        self._show(progress)

    def _say(self, line: str) -> None:
        if self._bars is not None:
            self._bars.console.print(line, markup=False, highlight=False)
        else:
            sys.stderr.write(line + "\n")

    def _show(self, progress: Progress) -> None:
        done, total, counts = self._state(progress)
        stage = "grouping" if progress.stage == "group" else "reading"
        if stage != self._stage:
            self._stage, self._stage_began = stage, time.monotonic()
        if self._bars is not None:
            self._bars.update(self._task, description=stage, completed=done, total=total, counts=counts)
        elif not self._quiet and time.monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = time.monotonic()
            self._say(f"{stage} {100 * done / total:.0f} %: {counts}{self._time_left(done / total)}")

    def _state(self, progress: Progress) -> tuple[float, float, str]:
        if progress.stage == "group":
            return progress.done, max(1, progress.total), f"probe {progress.done} of {progress.total}"
        units = self._units.values()
        megabytes = sum(unit.content_bytes for unit in units) / 1e6
        rate = megabytes / max(time.monotonic() - self._began, 0.001)
        pages, rejects = sum(unit.pages for unit in units), sum(unit.rejects for unit in units)
        counts = f"{pages:,} pages, {rejects:,} rejects, {rate:,.0f} MB/s"
        return sum(unit.share for unit in units), max(1, self._planned), counts

    def _time_left(self, share: float) -> str:
        if not share:
            return ""
        seconds = (time.monotonic() - self._stage_began) * (1 - share) / share
        return f", about {seconds / 60:.0f} min left"
