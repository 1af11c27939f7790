"""The two functions that make or open a run."""

import os
from collections.abc import Sequence

from samehand.answers import Run
from samehand.local import LocalEngine
from samehand.pipeline import Engine, run_scan
from samehand.settings import Settings
from samehand.tasks import Progress, Tell


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


def open_run(path: str | os.PathLike[str]) -> Run:
    """An existing run."""
    return Run(path)


def _say_nothing(_: Progress) -> None:
    return
