"""Progress: a line now and then, a bar on a terminal, silence when asked for."""

import io
from pathlib import Path

import click
import pytest

import samehand
from samehand import kernels as kernel_cache
from samehand.cli import progress
from samehand.cli.options import METHODS
from samehand.cli.progress import ProgressDisplay
from samehand.engine.tasks import Progress
from samehand.kernels import sources_digest

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
    assert capsys.readouterr().err.splitlines() == ["unit 0: 20 pages, 4 rejects", "unit 1: 5 pages, 1 reject"]


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


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Kernels that nobody has compiled."""
    folder = tmp_path / "kernels"
    (folder / "text").mkdir(parents=True)
    for name in progress.KERNELS_OF.values():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(f"# {name}")
    monkeypatch.setattr(progress, "KERNELS", folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    return folder


def announced(capsys: pytest.CaptureFixture[str], *methods: str, quiet: bool = False) -> bool:
    with click.Context(click.Command("x"), obj={"quiet": quiet}):
        progress.announce_compiling(methods)
    return capsys.readouterr().err == "Compiling kernels, once on this machine: one to two minutes.\n"


def store(folder: Path, source: Path, cpu: str = "this machine") -> None:
    """What numba leaves behind when it has compiled a function of `source`."""
    folder.mkdir(parents=True, exist_ok=True)
    index = f"version {sources_digest(source)} {cpu}"
    (folder / f"{source.stem}.function-12.{progress.PYTHON}.nbi").write_text(index)


def test_the_first_compile_is_announced(kernels: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert announced(capsys, "style")
    assert not announced(capsys, "style", quiet=True)
    store(kernels / "__pycache__", kernels / "noise.py")
    assert not announced(capsys, "style")
    assert announced(capsys, "style", "language")
    (kernels / "noise.py").write_text("# a new version")
    for cached in (sources_digest, kernel_cache._read):
        cached.cache_clear()
    assert announced(capsys, "style")


def test_other_places_where_numba_stores(
    kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path / "home" / ".cache" / "numba" / "text_0123abcd", kernels / "text" / "tokens.py")
    assert not announced(capsys, "language")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    assert announced(capsys, "language")
    store(tmp_path / "chosen" / "text_0123abcd", kernels / "text" / "tokens.py")
    assert not announced(capsys, "language")


def test_code_that_a_wheel_brings_is_not_announced(
    kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    store(kernels / "__pycache__", kernels / "noise.py")
    assert announced(capsys, "style")
    store(kernels / "__pycache__", kernels / "noise.py", kernel_cache.PORTABLE_CPU)
    assert announced(capsys, "style") != kernel_cache.runs_portable_code()


def test_the_test_for_compiled_kernels_knows_how_numba_names_them() -> None:
    """After a real kernel ran, its index is found."""
    page = b"<p>(a), [b]; {c}</p>" * 9
    samehand.compare(page, page)
    assert progress.is_compiled(progress.KERNELS / f"{progress.KERNELS_OF['style']}.py")


def test_every_method_names_kernels_that_are_there() -> None:
    assert tuple(progress.KERNELS_OF) == METHODS
    for name in progress.KERNELS_OF.values():
        assert (progress.KERNELS / f"{name}.py").is_file()
