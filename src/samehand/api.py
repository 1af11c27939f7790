"""The functions that make, extend and open a run, and that compare two pages."""

from typing import TYPE_CHECKING

from samehand.answers.arguments import Path, Paths, engine_of, path_of, paths_of, progress_of, settings_of, texts_of
from samehand.answers.pages import page_of
from samehand.answers.run import Run
from samehand.base.errors import UsageError
from samehand.base.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from samehand.engine.engine import Engine
    from samehand.engine.progress import OnProgress
    from samehand.methods.style.compare import Comparison


def scan(
    inputs: Paths,
    out: Path,
    *,
    signals: "str | Iterable[str]" = "all",
    settings: Settings | None = None,
    workers: int | None = None,
    engine: "Engine | None" = None,
    on_progress: "OnProgress | None" = None,
    force: bool = False,
) -> Run:
    """Reads a crawl and computes methods into a run folder. Called again, it does only what is missing.

    Args:
        inputs: A path or several: WARC, WACZ, ARC and WET files, folders of HTML, JSONL, Parquet and CSV with html or
            text (the settings url_column, text_column, html_column and id_column name other columns), globs, @files
            that list inputs, "-" for standard input.
        out: The run folder.
        signals: The methods: "style", "replica", "language", "phrases", "sites", several of them, or
            "all".
        settings: Settings that differ from the defaults.
        workers: Processes on this machine; one per core if not given.
        engine: Another engine, such as `SparkEngine`.
        on_progress: A function that is told of `Progress`.
        force: Whether to replace a run that was made from other inputs or settings.

    Returns:
        The run.

    Raises:
        UsageError: An argument cannot be used, or an input does not exist.
        InputError: There is no page in the inputs.
        RunMismatchError: The run folder belongs to other inputs or settings.
        RunBusyError: Another process is writing to the run folder.
        RunWriteError: The run folder cannot be written.

    Example:
        >>> run = samehand.scan(crawl, out)
        >>> run.methods
        ['style', 'replica', 'language', 'phrases', 'classes', 'sites', 'verdicts']
    """
    from samehand.engine.pipeline import run_scan

    folder = run_scan(
        _inputs(inputs),
        path_of(out, "out"),
        settings=settings_of(settings),
        engine=engine_of(engine, workers),
        on_progress=progress_of(on_progress),
        force=force,
        names=texts_of(signals, "signals"),
    )
    return Run(folder.path)


def add(
    run: Path,
    inputs: Paths,
    *,
    workers: int | None = None,
    engine: "Engine | None" = None,
    on_progress: "OnProgress | None" = None,
) -> Run:
    """Adds inputs to a run. Only what is new is read, and the result is that of a scan of everything.

    Args:
        run: The run folder.
        inputs: A path or several, as in `scan`.
        workers: Processes on this machine; one per core if not given.
        engine: Another engine, such as `SparkEngine`.
        on_progress: A function that is told of `Progress`.

    Returns:
        The run. `Run.growth` lists the clusters that are new, grew, merged or split.

    Raises:
        UsageError: An argument cannot be used, or an input does not exist.
        RunError: The run folder cannot be used.
        RunMismatchError: An input is in the run already and has changed.
    """
    from samehand.engine.pipeline import run_add

    folder = run_add(
        path_of(run, "run"),
        _inputs(inputs),
        engine=engine_of(engine, workers),
        on_progress=progress_of(on_progress),
    )
    return Run(folder.path)


def open_run(path: Path) -> Run:
    """Opens a run folder.

    Args:
        path: The run folder.

    Returns:
        The run.

    Raises:
        RunError: There is no run, or it is damaged or of another format.
    """
    return Run(path)


def compare(
    left: bytes | str,
    right: bytes | str,
    *,
    left_url: str | None = None,
    right_url: str | None = None,
    settings: Settings | None = None,
) -> "Comparison":
    """Compares two pages in full: exact similarities, the estimate of a run, and the noise that both share.

    Args:
        left: HTML of one page.
        right: HTML of the other.
        left_url: URL of the left page, if it is known: a small page's own host name does not count.
        right_url: URL of the right page.
        settings: Settings that differ from the defaults.

    Returns:
        The comparison.

    Raises:
        UsageError: An argument cannot be used, or is no HTML.

    Example:
        >>> page = "<ul>" + "<li><a href='#'>{}</a></li>" * 20 + "</ul>"
        >>> samehand.compare(page.replace("{}", "red"), page.replace("{}", "blue")).jaccard
        1.0
    """
    from samehand.methods.style.compare import compare as compare_pages

    settings = settings_of(settings)
    return compare_pages(page_of(left, left_url, settings), page_of(right, right_url, settings), settings=settings)


def _inputs(given: Paths) -> list[str]:
    inputs = paths_of(given, "inputs")
    if not inputs:
        raise UsageError("inputs is empty: give a path or a list of paths.")
    return inputs
