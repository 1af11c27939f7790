"""What tests ask of runs and of the demo's truth."""

import csv
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import samehand
from samehand.answers.sites import judge
from samehand.cli.demo import DemoFiles
from samehand.engine.local import LocalEngine
from samehand.engine.tasks import Task, TaskOutcome
from samehand.methods.method import Counts, Method
from samehand.methods.sites.judge import stored_verdicts
from samehand.methods.sites.nameservers import NameServers
from samehand.methods.sites.verdicts import Verdicts
from samehand.store.folder import RunFolder


def tables(folder: Path, *rooms: str) -> dict[str, bytes]:
    """Every Parquet file of a run, or of some of its subfolders: runs are equal when these are, byte for byte."""
    paths = sorted(path for room in rooms or (".",) for path in (folder / room).rglob("*.parquet"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def copy_of(run: samehand.Run, folder: Path) -> samehand.Run:
    """The same run in `folder`, where a test may change it."""
    return samehand.open_run(shutil.copytree(run.folder.path, folder))


def truth_of(demo: DemoFiles) -> dict[str, dict[str, str]]:
    """What is true of each page of the demo, by its address."""
    with demo.truth.open(encoding="utf-8", newline="") as handle:
        return {row["url"]: row for row in csv.DictReader(handle)}


def kinds_of(demo: DemoFiles, key: str = "url") -> dict[str, str]:
    """The kind of each page of the demo, or of each `domain`."""
    return {row[key]: row["kind"] for row in truth_of(demo).values()}


class Judged(NamedTuple):
    """Verdicts on the sites of a run, and the name servers that were read for them."""

    verdicts: Verdicts
    counts: dict[str, Any]
    servers: NameServers | None


def judge_run(path: Path, **options: Any) -> Judged:
    """Judges the sites of a run, as `samehand sites` does."""
    run = samehand.open_run(path)
    servers = judge(run, **options)
    return Judged(stored_verdicts(run.folder), run.counts("sites"), servers)


class CountingEngine(LocalEngine):
    """The local engine. It counts the tasks that it read and the methods that it grouped."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.work: Counter[str] = Counter()

    def read(self, folder: RunFolder, tasks: Sequence[Task], *rest: Any) -> Iterator[TaskOutcome]:
        self.work["read"] += len(tasks)
        return super().read(folder, tasks, *rest)

    def group(self, method: Method, *rest: Any) -> Counts:
        self.work[method.name] += 1
        return super().group(method, *rest)


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str
