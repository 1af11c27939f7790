"""What all commands share: how answers are printed, how things are said, which engine works."""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

import samehand
from samehand.base.neutral import json_line, neutral
from samehand.cli.render import columns_of, wrapped, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.answers.result import Result
    from samehand.answers.run import Run
    from samehand.engine.engine import Engine
    from samehand.engine.progress import OnProgress

TABLE_ROWS = 20
DAMAGED = 3
"""Exit code of a command that finished although some input was damaged."""


def print_rows(rows: "pa.Table | Result", form: str, top: int | None, *, columns: dict[str, str] | None = None) -> None:
    """Prints answers: as a table for people the first rows and chosen `columns` (name: heading), else everything."""
    table: pa.Table = getattr(rows, "table", rows)
    limit = TABLE_ROWS if top is None and form == "table" else top
    shown = table.slice(0, limit) if limit else table
    if form == "table" and columns:
        there = {name: heading for name, heading in columns.items() if name in shown.column_names}
        shown = shown.select(list(there)).rename_columns(list(there.values()))
    write_rows(shown, form, sys.stdout, width=terminal_width())
    if shown.num_rows < table.num_rows and form == "table":
        say(f"{shown.num_rows} of {table.num_rows} rows; --top 0 shows all.")


def print_record(record: Mapping[str, Any], form: str, lines: Iterable[str]) -> None:
    """Prints one answer: as `lines` for people, or as one JSON object."""
    if form == "jsonl":
        click.echo(json_line(record))
    else:
        print_lines(lines)


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines for people. Those that are longer than the terminal are wrapped."""
    width = terminal_width()
    for line in map(neutral, lines):
        fits = width is None or columns_of(line) <= width
        click.echo(line if fits else "\n".join(wrapped(line, width)))


def terminal_width() -> int | None:
    """Columns of the terminal; None where output is not a terminal and must not be cut."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(message: str) -> None:
    """Says something to people, on standard error, unless --quiet."""
    if not click.get_current_context().obj["quiet"]:
        click.echo(neutral(message), err=True)


def engine_from(options: dict[str, Any]) -> "Engine":
    """The engine a command's options ask for."""
    if options["engine"] == "spark":
        from samehand.engine.spark import SparkEngine, connect

        return SparkEngine(connect(options["master"]))
    from samehand.engine.local import LocalEngine

    return LocalEngine(options["workers"])


@contextlib.contextmanager
def watched(context: click.Context, methods: Iterable[str]) -> "Iterator[OnProgress]":
    """Shows the progress of what computes methods, and says first if kernels have to be compiled."""
    from samehand.cli.progress import ProgressDisplay, announce_compiling

    announce_compiling(methods)
    with ProgressDisplay(**context.obj) as on_progress:
        yield on_progress


def run_with(
    context: click.Context, path: str, method: str, options: dict[str, Any], changes: Mapping[str, Any]
) -> "Run":
    """A run that has the answers of a method. They are computed if they are missing, or if settings are changed."""
    run = samehand.open_run(path)
    if changes or method not in run.manifest["stages"]:
        with watched(context, [method]) as on_progress:
            run.compute(method, engine=engine_from(options), on_progress=on_progress, **changes)
    run.counts(method)  # refuses damaged ones before anything is printed
    return run


def exit_code(run: "Run") -> int:
    """DAMAGED if some input of the run was damaged."""
    return DAMAGED if run.manifest["stages"].get("read", {}).get("damaged") else 0


def status_of(run: "Run", method: str) -> list[str]:
    """Sentences that say what a method found: asked for before a table is shown, so that a damaged run shows none."""
    from samehand.methods.registry import methods

    return [f"{line}." for line in methods()[method].status(run.counts(method))]


def say_all(messages: Iterable[str]) -> None:
    """Says one after the other."""
    for message in messages:
        say(message)
