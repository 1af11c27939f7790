"""What all tests share: seeded hypothesis, the demo crawl and its scan, the command line in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

import samehand
from runs import Ended
from samehand.cli.demo import DemoFiles, write_demo
from samehand.cli.main import main

hypothesis_settings.register_profile(
    "samehand", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("samehand")


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoFiles:
    """The demo crawl."""
    return write_demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def demo_run(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """The demo crawl, scanned by one worker with all methods. Nobody may change it: take `copy_of` it to write."""
    return samehand.scan(str(demo.crawl), tmp_path_factory.mktemp("run") / "run", workers=1, signals="all")


@pytest.fixture(scope="session")
def style_run(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """The demo crawl, scanned for style alone, as `samehand scan` does. Nobody may change it."""
    return samehand.scan(str(demo.crawl), tmp_path_factory.mktemp("style") / "run", workers=1, signals="style")


@pytest.fixture
def samehand_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Runs the command line in this process."""

    def run(*arguments: str | Path) -> Ended:
        monkeypatch.setattr(sys, "argv", ["samehand", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Ended(int(ended.value.code or 0), said.out, said.err)

    return run
