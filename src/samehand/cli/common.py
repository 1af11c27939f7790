"""What all commands share: how answers are printed, how things are said, which engine works."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from samehand.cli.render import columns_of, json_line, neutral, wrapped, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.engine.pipeline import Engine

TABLE_ROWS = 20
DAMAGED = 3
"""Exit code of a command that finished although some input was damaged."""


def print_rows(table: "pa.Table", form: str, top: int | None, *, columns: dict[str, str] | None = None) -> None:
    """Prints answers: as a table for people the first rows and chosen `columns` (name: heading), else everything."""
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
