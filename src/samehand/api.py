"""The functions that make, extend, open and compare."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from samehand.answers.pages import page_of
from samehand.answers.run import Run
from samehand.base.errors import UsageError
from samehand.base.settings import Settings

if TYPE_CHECKING:
    from samehand.engine.engine import Engine
    from samehand.engine.progress import OnProgress
    from samehand.methods.style.compare import Comparison

Inputs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def scan(
    inputs: Inputs,
    out: str | os.PathLike[str],
    *,
    signals: str | Sequence[str] = "style",
    settings: Settings | None = None,
    workers: int | None = None,
    engine: "Engine | None" = None,
    on_progress: "OnProgress | None" = None,
    force: bool = False,
) -> Run:
    """Reads `inputs` and computes the methods named in `signals` into the run folder `out`.

    Inputs are paths, globs, @lists or "-", as on the command line. `signals` are any of "style", "replica",
    "language" and "sites", or "all"; more can be added later. Run again, it does only what is missing. The work is
    done by `workers` processes on this machine (one per core if not given), or by another `engine`. `force` starts a
    run folder anew that was made from other inputs or settings.

    Raises UsageError for wrong arguments, InputError if there is no page in the inputs, RunError if the run folder
    cannot be used.
    """
    from samehand.engine.local import LocalEngine
    from samehand.engine.pipeline import run_scan
    from samehand.engine.progress import silent

    folder = run_scan(
        _input_list(inputs),
        _path(out, "out"),
        settings=_settings(settings),
        engine=engine or LocalEngine(workers),
        on_progress=on_progress or silent,
        force=force,
        names=_names(signals),
    )
    return Run(folder.path)


def add(
    run: str | os.PathLike[str],
    inputs: Inputs,
    *,
    workers: int | None = None,
    engine: "Engine | None" = None,
    on_progress: "OnProgress | None" = None,
) -> Run:
    """Adds `inputs` to a run, with its own settings and methods: the result is that of a scan of everything.

    Only what is new is read. `Run.growth` says which clusters are new, grew, merged or split.
    """
    from samehand.engine.local import LocalEngine
    from samehand.engine.pipeline import run_add
    from samehand.engine.progress import silent

    folder = run_add(
        _path(run, "run"),
        _input_list(inputs),
        engine=engine or LocalEngine(workers),
        on_progress=on_progress or silent,
    )
    return Run(folder.path)


def open_run(path: str | os.PathLike[str]) -> Run:
    """An existing run."""
    return Run(_path(path, "path"))


def compare(
    left: bytes | str,
    right: bytes | str,
    *,
    left_url: str | None = None,
    right_url: str | None = None,
    settings: Settings | None = None,
) -> "Comparison":
    """Compares two pages, given as HTML: exact similarities, the estimate, and the noise they share.

    The URLs matter on small pages, whose own host name is left out of their noise, as in a scan.
    """
    from samehand.methods.style.compare import compare as compare_pages

    settings = _settings(settings)
    return compare_pages(page_of(left, left_url, settings), page_of(right, right_url, settings), settings=settings)


def _input_list(inputs: Any) -> list[str]:
    given = [inputs] if isinstance(inputs, str | os.PathLike) else inputs
    try:
        paths = [os.fspath(each) for each in given]
    except TypeError:
        raise UsageError(f"inputs is {inputs!r}: give a path or a list of paths.") from None
    if not paths or not all(isinstance(path, str) for path in paths):
        raise UsageError(f"inputs is {inputs!r}: give a path or a list of paths.")
    return paths


def _path(path: Any, name: str) -> str:
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{name} is {path!r}: give the path of a run folder.")
    return os.fspath(path)


def _names(signals: Any) -> str | Sequence[str]:
    if isinstance(signals, str):
        return signals
    if not isinstance(signals, Sequence) or not all(isinstance(name, str) for name in signals):
        raise UsageError(f"signals is {signals!r}: give names of methods, such as 'style' or 'all'.")
    return signals


def _settings(settings: Any) -> Settings:
    if settings is not None and not isinstance(settings, Settings):
        raise UsageError(f"settings is {settings!r}: give samehand.Settings(...).")
    return settings or Settings()
