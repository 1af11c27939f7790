"""The docs are under test: every command runs, and what is shown is what it prints."""

import re
from pathlib import Path

import pytest

import samehand
import shown
from samehand.cli.main import cli


@pytest.mark.parametrize("name", shown.DOCUMENTS)
def test_shown_output_is_real(name: str, tmp_path: Path) -> None:
    text = (shown.ROOT / name).read_text()
    assert shown.refresh(text, tmp_path) == text, "make docs writes the outputs anew"


def test_settings_page_is_made_from_the_settings() -> None:
    assert (shown.ROOT / "docs/settings.md").read_text() == shown.settings_page(), "make docs writes it anew"


def test_the_page_of_the_run_folder_is_made_from_the_tables() -> None:
    assert (shown.ROOT / "docs/run-folder.md").read_text() == shown.run_folder_page(), "make docs writes it anew"


def test_every_command_is_in_the_readme() -> None:
    text = (shown.ROOT / "README.md").read_text()
    for name in cli.commands:
        assert f"samehand {name}" in text


def test_every_step_of_the_walk_in_contributing_is_there() -> None:
    """Each `file:function` of CONTRIBUTING.md names a function, class or method of that file."""
    steps = re.findall(r"`([\w/]+\.py):([\w.]+)`", (shown.ROOT / "CONTRIBUTING.md").read_text())
    assert len(steps) > 30
    for file, name in steps:
        source = (shown.ROOT / "src" / "samehand" / file).read_text()
        for part in name.split("."):
            assert re.search(rf"^\s*(?:async def|def|class) {part}\b", source, re.MULTILINE), f"{file}:{name}"


def test_changelog_knows_this_version() -> None:
    assert f"## {samehand.__version__}" in (shown.ROOT / "CHANGELOG.md").read_text()
