"""Progress: a line now and then, a bar on a terminal, silence when asked for."""

import io

import pytest

from samehand.cli import progress
from samehand.cli.progress import ProgressDisplay
from samehand.engine.tasks import Progress

STEPS = [
    Progress("plan", total=4),
    Progress("read", unit=0, pages=10, rejects=2, content_bytes=1_000_000, share=0.5),
    Progress("read", unit=0, pages=20, rejects=4, content_bytes=2_000_000, share=1.0),
    Progress("read", unit=1, pages=5, rejects=1, content_bytes=500_000, share=1.0),
    Progress("group", done=3, total=24),
]


def test_lines_sum_up_all_units(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with ProgressDisplay() as display:
        for step in STEPS:
            display(step)
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert "reading 50 %: 25 pages, 5 rejects" in lines[3]
    assert "min left" in lines[3]
    assert lines[4].startswith("grouping 12 %: probe 3 of 24")


def test_lines_are_half_a_minute_apart(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as display:
        for step in STEPS:
            display(step)
    assert capsys.readouterr().err == ""


def test_verbose_says_what_became_of_each_unit(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(verbose=True) as display:
        for step in STEPS:
            display(step)
    assert capsys.readouterr().err.splitlines() == ["unit 0: 20 pages, 4 rejects", "unit 1: 5 pages, 1 rejects"]


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.0)
    with ProgressDisplay(quiet=True, verbose=True) as display:
        for step in STEPS:
            display(step)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", terminal)
    with ProgressDisplay(verbose=True) as display:
        for step in STEPS[:-1]:
            display(step)
        display._bars.refresh() if display._bars else pytest.fail("no bar")
    assert "25 pages, 5 rejects" in terminal.getvalue()
    assert "unit 1" in terminal.getvalue()
