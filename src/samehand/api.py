"""The functions that make, extend or open a run."""

import os
from collections.abc import Iterator, Sequence

from samehand.answers.run import Run
from samehand.base.page import Page
from samehand.base.settings import Settings
from samehand.engine.local import LocalEngine
from samehand.engine.pipeline import Engine, run_add, run_scan
from samehand.engine.tasks import Progress, Tell
from samehand.sources import find_sources, read_sources
from samehand.store.folder import RunFolder


def scan(
    inputs: str | Sequence[str],
    out: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    progress: Tell | None = None,
    force: bool = False,
    signals: Sequence[str] = ("style",),
) -> Run:
    """Reads `inputs`, fingerprints, clusters and ranks their pages into the run folder `out`.

    Inputs are paths, globs, @lists or "-", as on the command line. Run again, it does only what is missing. Work is
    done by `workers` processes on this machine, one per core when not given, or by another `engine`. `signals` are
    "style" and "replica"; more can be added to a run later.
    """
    given = [inputs] if isinstance(inputs, str) else list(inputs)
    folder = run_scan(
        given,
        out,
        settings=settings or Settings(),
        engine=engine or LocalEngine(workers),
        tell=progress or _say_nothing,
        force=force,
        signals=signals,
    )
    return Run(folder.path)


def add(
    path: str | os.PathLike[str],
    inputs: str | Sequence[str],
    *,
    workers: int | None = None,
    engine: Engine | None = None,
    progress: Tell | None = None,
) -> Run:
    """Adds `inputs` to the run at `path`, with its own settings: the result is that of a scan of everything.

    Only what is new is read. What grew, merged and is new stands in style/growth.parquet.
    """
    folder = run_add(
        path,
        [inputs] if isinstance(inputs, str) else list(inputs),
        settings=RunFolder.open(path).settings(),
        engine=engine or LocalEngine(workers),
        tell=progress or _say_nothing,
    )
    return Run(folder.path)


def open_run(path: str | os.PathLike[str]) -> Run:
    """An existing run."""
    return Run(path)


def pages_in(path: str, settings: Settings) -> Iterator[tuple[str, bytes]] | None:
    """Addresses and contents of the pages in a file or folder of many; None when `path` is no such thing."""
    if not os.path.exists(path):
        return None
    sources, unreadable = find_sources([path], profile=settings.profile)
    if unreadable or sources[0].kind == "html":
        return None
    items = read_sources(sources, settings)
    return ((item.url, item.content) for item in items if isinstance(item, Page))


def _say_nothing(_: Progress) -> None:
    return
