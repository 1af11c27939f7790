"""The docs are under test: every command runs, and what is shown is what it prints."""

from pathlib import Path

import docs
import pytest

import samehand
from samehand.cli import cli


@pytest.mark.parametrize("name", docs.DOCUMENTS)
def test_shown_output_is_real(name: str, tmp_path: Path) -> None:
    text = (docs.ROOT / name).read_text()
    assert docs.refresh(text, tmp_path) == text, "make docs writes the outputs anew"


def test_settings_page_is_made_from_the_settings() -> None:
    assert (docs.ROOT / "docs/settings.md").read_text() == docs.settings_page(), "make docs writes it anew"


def test_every_command_is_in_the_readme() -> None:
    text = (docs.ROOT / "README.md").read_text()
    for name in cli.commands:
        assert f"samehand {name}" in text


def test_changelog_knows_this_version() -> None:
    assert f"## {samehand.__version__}" in (docs.ROOT / "CHANGELOG.md").read_text()
