"""What all commands share: options, how answers are printed, how things are said."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from samehand.base.settings import Settings, fields_of

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.answers.run import Run
    from samehand.engine.pipeline import Engine

ENGINES = ("local", "spark")
FORMATS = ("table", "csv", "jsonl", "parquet")
TABLE_ROWS = 20
AFTER_SCAN = ("providers", "labels")
"""Groups of settings that no scan needs: they are options of other commands."""
DAMAGED = 3
"""Exit code of a command that finished although some input was damaged."""


def neutral(text: str) -> str:
    """Crawled text made safe to print."""
    from samehand.cli.render import neutral as neutralised

    return neutralised(text)


def setting_options(command: Callable[..., Any], *groups: str) -> Callable[..., Any]:
    """One option for each setting of the groups, or of those a scan needs, but the key: it is for no command line."""
    for field in reversed(fields_of(*groups)):
        if field.name == "key" or (not groups and field.metadata["group"] in AFTER_SCAN):
            continue
        name, kind, help_text = f"--{field.name.replace('_', '-')}", type(field.default), field.metadata["help"]
        shown = f"{help_text}  [default: {str(field.default).lower() if kind is bool else field.default}]"
        if kind is bool:
            off = f"--no-{field.name.replace('_', '-')}"
            command = click.option(f"{name}/{off}", field.name, default=None, help=shown)(command)
        else:
            choices = field.metadata["choices"]
            choice = click.Choice(choices) if choices and kind is str else kind
            command = click.option(name, field.name, type=choice, default=None, help=shown)(command)
    return command


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--top", type=click.IntRange(min=0), default=None, help=f"Rows; 0 for all.  [default: {TABLE_ROWS} in a table]"
    )(command)
    return click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)(command)


def print_rows(table: "pa.Table", form: str, top: int | None, *, columns: dict[str, str] | None = None) -> None:
    """Prints answers: as a table for people the first rows and chosen `columns` (name: heading), else everything."""
    from samehand.cli.render import write_rows

    limit = TABLE_ROWS if top is None and form == "table" else top
    shown = table.slice(0, limit) if limit else table
    if form == "table" and columns:
        there = {name: heading for name, heading in columns.items() if name in shown.column_names}
        shown = shown.select(list(there)).rename_columns(list(there.values()))
    write_rows(shown, form, sys.stdout, width=terminal_width())
    if shown.num_rows < table.num_rows and form == "table":
        say(f"{shown.num_rows} of {table.num_rows} rows; --top 0 shows all.")


def terminal_width() -> int | None:
    """Columns of the terminal; None where output is not a terminal and must not be cut."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(message: str) -> None:
    if not click.get_current_context().obj["quiet"]:
        click.echo(neutral(message), err=True)


def settings_from(options: dict[str, Any]) -> Settings:
    """The settings a command's options ask for."""
    changes = {field.name: options[field.name] for field in fields_of() if options.get(field.name) is not None}
    if options["key_file"] is not None:
        changes["key"] = options["key_file"].read().strip()
    return Settings.preset(options["preset"], **changes)


def engine_from(options: dict[str, Any]) -> "Engine":
    """The engine a command's options ask for."""
    if options["engine"] == "spark":
        from samehand.engine.spark import SparkEngine, connect

        return SparkEngine(connect(options["master"]))
    from samehand.engine.local import LocalEngine

    return LocalEngine(options["workers"])


def open_run(path: str) -> "Run":
    """A run, with everything that is slow to import."""
    from samehand.answers.run import Run

    return Run(path)
