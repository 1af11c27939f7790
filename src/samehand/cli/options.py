"""Every option that several commands have, once; settings as options; settings from samehand.toml.

A setting is an option of each command that uses its group. `--help` shows the common settings, `--help-all` shows
every setting by its group. Later ones win: defaults, preset, samehand.toml, options.
"""

import copy
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from samehand.base.errors import UsageError
from samehand.base.presets import PRESETS
from samehand.base.setting import GROUPS, nearest
from samehand.base.settings import PROFILES, Settings, fields_of
from samehand.cli.common import TABLE_ROWS, say
from samehand.methods import NAMES as METHODS

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

ENGINES = ("local", "spark")
TABLES = ("table", "csv", "jsonl", "parquet")
"""Formats of commands that print rows."""
RECORDS = ("text", "jsonl")
"""Formats of commands that print one object."""
STREAMS = ("csv", "jsonl")
"""Formats of commands that print each row as it comes."""
SCAN_GROUPS = tuple(group for group in GROUPS if group not in ("providers", "labels"))
"""Groups of settings that a scan uses."""
CONFIG = "samehand.toml"


class Names(click.Choice[str]):
    """A choice that answers a misspelt name with the nearest right one."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """The part of the message after the name of the option."""
        return f"{value!r} is not known{nearest(str(value), self.choices)}"


class Commands(click.Group):
    """A group that answers a misspelt command with the nearest right one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name, command and its arguments."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"There is no command {name!r}{nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def methods_from(given: str, names: Sequence[str] = METHODS) -> tuple[str, ...]:
    """The methods that --signals asks for, in the order of `names`."""
    wanted = [name.strip() for name in given.split(",")]
    for name in wanted:
        if name != "all" and name not in names:
            raise UsageError(f"There is no method {name!r}{nearest(name, (*names, 'all'))}")
    return tuple(name for name in names if name in wanted or "all" in wanted)


class Option(click.Option):
    """An option whose help leaves out the range: the error names it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Names and text."""
        shown = copy.copy(self)
        if isinstance(self.type, click.IntRange):
            shown.type = click.INT
        return click.Option.get_help_record(shown, ctx)


class SettingOption(Option):
    """An option made from a setting. The help of a flag that is off leaves out --no-flag."""

    def __init__(self, *names: Any, field: Any, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.title = GROUPS[field.metadata["group"]]
        self._is_off = field.default is False

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Names and text."""
        shown = copy.copy(self)
        if self._is_off:
            shown.secondary_opts = []
        return Option.get_help_record(shown, ctx)


def option(*names: str, **attributes: Any) -> Decorator:
    """click.option with the short help of `Option`."""
    return click.option(*names, cls=Option, **attributes)


run_argument = click.argument("run", type=click.Path())
inputs_argument = click.argument("inputs", nargs=-1, required=True)
signals_option = option(
    "--signals",
    default="all",
    show_default=True,
    metavar="NAMES",
    help=f"Methods: {', '.join(METHODS)}, separated by commas.",
)
workers_option = option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Worker processes.  [default: one per core]"
)
preset_option = option(
    "--preset", type=Names(tuple(PRESETS)), default="default", show_default=True, help="Settings to start from."
)
method_preset_option = option(
    "--preset", type=Names(tuple(PRESETS)), help="Settings to start from.  [default: those of the run]"
)
profile_option = option("--profile", type=Names(PROFILES), default="web", show_default=True, help="Kind of the inputs.")
cut_option = option("--cut", type=float, metavar="X", help="Threshold in place of the run's cluster threshold.")
families_option = option("--families", is_flag=True, help="Families (the same software) instead of clusters.")
lexicon_option = option(
    "--lexicon",
    "lexicon_path",
    type=click.Path(exists=True),
    metavar="FILE",
    help="Lexicon.  [default: the shipped English lexicon]",
)
lexicons_option = option(
    "-K",
    "lexicons",
    type=click.IntRange(0, 30),
    metavar="N",
    help="Randomised lexicons, 0 to 30.  [default: 10, or as the run has]",
)
top_option = option(
    "--top", type=click.IntRange(min=0), metavar="N", help=f"Rows; 0 for all.  [default: {TABLE_ROWS} in a table]"
)
engine_option = option("--engine", type=Names(ENGINES), default="local", show_default=True, help="Where the work runs.")
master_option = option(
    "--master", default="local[*]", show_default=True, metavar="URL", hidden=True, help="Spark's master."
)


def format_option(choices: Sequence[str] = TABLES, help_text: str = "") -> Decorator:
    """--format, with the first of `choices` as its default."""
    names = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return option(
        "--format",
        "form",
        type=Names(choices),
        default=choices[0],
        show_default=True,
        metavar="NAME",
        help=f"Output: {names}.{help_text}",
    )


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that prints rows."""
    return format_option()(top_option(command))


def engine_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a command that reads pages."""
    return workers_option(engine_option(master_option(command)))


def setting_options(*groups: str) -> Decorator:
    """One option for each setting of the groups, --config and --help-all. The key has none: others could read it."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        command = option(
            "--help-all",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show this message with all settings, and exit.",
        )(command)
        for field in reversed(fields_of(*groups)):
            if field.name != "key":
                command = _setting_option(field)(command)
        return option(
            "--config",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help=f"TOML file of settings.  [default: ./{CONFIG}]",
        )(command)

    return decorate


def _setting_option(field: Any) -> Decorator:
    name, kind, choices = field.name.replace("_", "-"), type(field.default), field.metadata["choices"]
    is_names = bool(choices) and kind is str
    default = f"{field.default:.4g}" if kind is float else str(field.default).lower()
    return click.option(
        f"--{name}/--no-{name}" if kind is bool else f"--{name}",
        field.name,
        cls=SettingOption,
        field=field,
        type=Names(choices) if is_names else kind,
        default=None,
        hidden=not field.metadata["common"],
        metavar=None if is_names else {int: "N", float: "X", str: "TEXT"}.get(kind),
        help=field.metadata["help"] + (f"  [default: {default}]" if default not in ("", "false") else ""),
    )


def _show_all(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    """Prints the help of a command with every option, settings by group."""
    if not is_wanted or context.resilient_parsing:
        return
    sections: dict[str, list[tuple[str, str]]] = {"Options": []}
    for parameter in context.command.get_params(context):
        if isinstance(parameter, click.Option):
            shown = copy.copy(parameter)
            shown.hidden = False
            title = shown.title if isinstance(shown, SettingOption) else "Options"
            record = shown.get_help_record(context)
            sections.setdefault(title, []).extend([record] if record else [])
    formatter = context.make_formatter()
    context.command.format_usage(context, formatter)
    context.command.format_help_text(context, formatter)
    for title, records in sections.items():
        with formatter.section(title):
            formatter.write_dl(records)
    context.command.format_epilog(context, formatter)
    click.echo(formatter.getvalue().rstrip("\n"))
    context.exit()


def settings_from(options: dict[str, Any], *, stored: Settings | None = None) -> Settings:
    """The settings that a command line asks for.

    They start from the preset, or from the settings `stored` in a run. A run takes from samehand.toml only the settings
    that are options of the command: the file may hold others that the run was not made with.
    """
    mine = {field.name: options[field.name] for field in fields_of() if field.name in options}
    given = {name: value for name, value in mine.items() if value is not None}
    config = _config_from(options["config"])
    if stored is not None:
        of_command = {name: value for name, value in config.items() if name in mine}
        return Settings.from_dict(stored.as_dict() | of_command | given)
    if options.get("key_file") is not None:
        given["key"] = options["key_file"].read().strip()
    return Settings.preset(options["preset"], **config | given)


def _config_from(path: str | None) -> dict[str, Any]:
    """The settings of --config, or of samehand.toml in the current folder where there is one."""
    file = Path(path or CONFIG)
    if path is None and not file.is_file():
        return {}
    named = Settings.from_toml(file)
    say(f"Settings from {file}: {', '.join(named) or 'none'}.")
    if "key" in named and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        say(f"{file} holds the secret key and others can read it: chmod 600 {file}")
    return named
