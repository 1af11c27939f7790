"""Options and settings of the command line: help, samehand.toml, the nearest right name."""

import os
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import samehand
from samehand.base.errors import UsageError
from samehand.base.setting import GROUPS
from samehand.base.settings import Settings, fields_of
from samehand.cli import options
from samehand.cli.export import EVIDENCE, KEEP_DROP, LISTS
from samehand.cli.main import cli

Command = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of each scan that the command line asks for. Nothing is scanned."""
    found: list[Settings] = []

    def refuse(*_: object, settings: Settings, **__: object) -> None:
        found.append(settings)
        raise UsageError("stop here")

    monkeypatch.setattr(samehand, "scan", refuse, raising=False)
    return found


def test_help_of_scan_fits_on_one_screen(samehand_command: Command) -> None:
    lines = samehand_command("scan", "--help").out.splitlines()
    assert 24 <= len(lines) <= 40
    assert max(map(len, lines)) <= 80
    named = {word for line in lines for word in line.split() if word.startswith("--")}
    common = [field.name for field in fields_of(*options.SCAN_GROUPS) if field.metadata["common"]]
    assert named >= {f"--{name.replace('_', '-')}" for name in common}
    assert len(named) <= 20


def test_help_all_shows_every_setting_in_its_group(samehand_command: Command) -> None:
    text = samehand_command("scan", "--help-all").out
    assert text.startswith(samehand_command("scan", "--help").out.split("Options:")[0])
    places = [text.index(f"\n{GROUPS[group]}:\n") for group in options.SCAN_GROUPS]
    assert places == sorted(places)
    for group, start, end in zip(options.SCAN_GROUPS, places, [*places[1:], len(text)], strict=True):
        for field in fields_of(group):
            assert (f"  --{field.name.replace('_', '-')}" in text[start:end]) == (field.name != "key")
    assert "--master" in text
    assert max(map(len, text.splitlines())) <= 80


def test_every_command_with_settings_has_config_and_help_all() -> None:
    with_settings = []
    for name, command in cli.commands.items():
        names = {option for parameter in command.params for option in parameter.opts}
        if any(isinstance(parameter, options.SettingOption) for parameter in command.params):
            with_settings.append(name)
            assert {"--config", "--help-all"} <= names
    assert {"scan", "sites", "label", "structure"} <= set(with_settings)


EXPORTS = (*LISTS, KEEP_DROP, EVIDENCE)


def test_every_format_option_is_the_same_one() -> None:
    def commands(group: click.Group) -> list[click.Command]:
        inner = [commands(item) if isinstance(item, click.Group) else [item] for item in group.commands.values()]
        return [command for found in inner for command in found]

    formats = [item for command in commands(cli) for item in command.params if item.name == "form"]
    assert len(formats) > 10
    for parameter in formats:
        assert isinstance(parameter.type, options.Names)
        choices = tuple(parameter.type.choices)
        assert choices in (options.TABLES, options.RECORDS, options.STREAMS, EXPORTS)


def test_hidden_settings_are_accepted(here: Path, asked: list[Settings], samehand_command: Command) -> None:
    samehand_command("scan", "x", "-o", "run", "--min-filled", "7", "--no-fold-spaces", "--estimator", "paper")
    assert asked == [Settings(min_filled=7, fold_spaces=False, estimator="paper")]


def test_defaults_preset_config_and_options_in_this_order(
    here: Path, asked: list[Settings], samehand_command: Command
) -> None:
    (here / "samehand.toml").write_text("min_words = 9\nprobes = 30\nshingle_bytes = 24\nmin_sites = 7\n")
    ended = samehand_command("scan", "x", "-o", "run", "--preset", "paper", "--probes", "40")
    assert "Settings from samehand.toml: min_words, probes, shingle_bytes, min_sites.\n" in ended.err
    assert asked == [Settings.preset("paper", min_words=9, probes=40, shingle_bytes=24, min_sites=7)]
    (here / "other.toml").write_text("min_words = 3\n")
    samehand_command("-q", "scan", "x", "-o", "run", "--config", "other.toml")
    assert asked[1] == Settings(min_words=3)


def test_options_may_complete_the_config(here: Path, asked: list[Settings], samehand_command: Command) -> None:
    """0.7 is above the default cluster threshold, so the file alone would be refused."""
    (here / "samehand.toml").write_text("family_threshold = 0.7\n")
    assert "families hold clusters" in samehand_command("scan", "x", "-o", "run").err
    samehand_command("scan", "x", "-o", "run", "--cluster-threshold", "0.8")
    assert asked == [Settings(family_threshold=0.7, cluster_threshold=0.8)]


def test_a_run_takes_from_the_config_only_what_the_command_uses(here: Path) -> None:
    (here / "samehand.toml").write_text("min_sites = 7\nshingle_bytes = 24\nkey = 'other'\n")
    stored = Settings(key="secret", max_tags=50)
    with click.Context(cli, obj={"quiet": True}):
        found = options.settings_from({"config": None, "min_sites": None, "max_tags": 60}, stored=stored)
    assert found == Settings(key="secret", min_sites=7, max_tags=60)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cluster_treshold = 0.7", "There is no setting 'cluster_treshold': did you mean cluster_threshold?"),
        ("cluster_threshold = 7", "cluster_threshold is 7: choose a value from 0.01 to 1.0."),
        ("cluster_threshold = 'high'", "cluster_threshold is 'high': give a value of type float."),
        ("[grouping]\ncluster_threshold = 0.7", "[grouping] is a section: write the settings without sections."),
        ("cluster_threshold 0.7", "is not valid TOML"),
    ],
)
def test_a_wrong_config_is_named(text: str, said: str, here: Path, samehand_command: Command) -> None:
    (here / "mine.toml").write_text(text)
    ended = samehand_command("scan", "x", "-o", "run", "--config", "mine.toml")
    assert ended.code == 2
    assert ended.err.startswith("Error: mine.toml")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_config_that_is_not_there_is_named(here: Path, samehand_command: Command) -> None:
    ended = samehand_command("scan", "x", "-o", "run", "--config", "mine.toml")
    assert (ended.code, ended.err) == (
        2,
        "Error: mine.toml cannot be read (No such file or directory). Check the path.\n",
    )


def test_a_secret_key_that_others_can_read(here: Path, asked: list[Settings], samehand_command: Command) -> None:
    file = here / "samehand.toml"
    file.write_text("key = 'hush'\n")
    os.chmod(file, 0o640)
    warned = samehand_command("scan", "x", "-o", "run").err
    assert "others can read it: chmod 600 samehand.toml" in warned
    assert "hush" not in warned
    os.chmod(file, 0o600)
    assert "chmod" not in samehand_command("scan", "x", "-o", "run").err
    assert [settings.key for settings in asked] == ["hush", "hush"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("scam",), "There is no command 'scam': did you mean scan? See samehand --help."),
        (("language", "trian"), "There is no command 'trian': did you mean train? See samehand language --help."),
        (
            ("scan", "--cluster-treshold", "1"),
            "There is no option --cluster-treshold: did you mean --cluster-threshold?",
        ),
        (("scan", "--min-filed", "1"), "There is no option --min-filed: did you mean --min-filled?"),
        (("scan", "x", "-o", "run", "--signals", "style,stile"), "There is no method 'stile': did you mean style?"),
        (("scan", "x", "-o", "run", "--preset", "papr"), "'papr' is not known: did you mean paper?"),
        (("scan", "x", "-o", "run", "--estimator", "fild"), "'fild' is not known: did you mean filled?"),
        (("clusters", "run", "--format", "jsnl"), "'jsnl' is not known: did you mean jsonl?"),
        (("clusters", "run", "--format", "\x1b[2J"), "is not known: choose from csv, jsonl, parquet, table."),
    ],
)
def test_misspelt_names_get_the_nearest_right_one(
    arguments: tuple[str, ...], said: str, here: Path, samehand_command: Command
) -> None:
    ended = samehand_command(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
    assert "\x1b" not in ended.err


def test_methods_by_name() -> None:
    assert options.methods_from("sites, style,style") == ("style", "sites")
    assert options.methods_from("all") == options.METHODS
    assert options.methods_from("b", ("a", "b")) == ("b",)
    with pytest.raises(UsageError, match="choose from a, all, b"):
        options.methods_from("", ("a", "b"))
