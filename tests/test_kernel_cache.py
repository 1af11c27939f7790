"""The machine code of a kernel is made anew when a source that it contains changes, and only then."""

import importlib
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from samehand import kernels

LOW = "import numba as nb\n\n@nb.njit(cache=True)\ndef step(x):\n    return x + 1\n"
HIGH = """import numba as nb
from samehand.kernels.low import (
    step,
)

@nb.njit(cache=True)
def walk(x):
    return step(step(x))
"""
OTHER = "import numba as nb\n\n@nb.njit(cache=True)\ndef alone(x):\n    return x\n"
ASK = (
    "from samehand.kernels.high import walk; from samehand.kernels.other import alone; "
    "print(walk(0), alone(0), *(sum(f.stats.cache_hits.values()) for f in (walk, alone)), walk.stats.cache_path)"
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with the cache of this one, and with three small kernels."""
    folder = tmp_path / "samehand" / "kernels"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    shutil.copy(kernels.__file__, folder)
    for name, source in (("low", LOW), ("high", HIGH), ("other", OTHER)):
        (folder / f"{name}.py").write_text(source)
    return folder


def answer(package: Path, **options: str) -> list[str]:
    """What the kernels say in a process of their own, and how many were found in the cache."""
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1]), "XDG_CACHE_HOME": str(package / "cache")}
    environment.pop("NUMBA_CACHE_DIR", None)
    environment |= options
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_changed_import_is_noticed_and_nothing_else(package: Path) -> None:
    beside = str(package / "__pycache__")
    assert answer(package) == ["2", "0", "0", "0", beside]
    (package / "README").write_text("new")
    for file in package.glob("*.py"):
        os.utime(file, (1, 1))
    assert answer(package) == ["2", "0", "1", "1", beside]
    (package / "low.py").write_text(LOW.replace("x + 1", "x + 5"))
    assert answer(package) == ["10", "0", "0", "1", beside]


PAIRED = """from typing import NamedTuple
import numba as nb

class Pair(NamedTuple):
    first: int

@nb.njit(cache=True)
def first(pair):
    return pair.first

@nb.njit(cache=True)
def step(x):
    return first(Pair(x)) + 1
"""


def test_code_made_with_a_class_that_is_gone(package: Path) -> None:
    """The index of a cache names classes by their modules."""
    (package / "low.py").write_text(PAIRED)
    assert answer(package)[:4] == ["2", "0", "0", "0"]
    (package / "low.py").write_text(PAIRED.replace("Pair(", "Couple("))
    assert answer(package)[:4] == ["2", "0", "0", "1"]


def test_a_folder_that_cannot_be_written_to(package: Path) -> None:
    (package / "__pycache__").touch()
    said = answer(package)
    assert said[:4] == ["2", "0", "0", "0"]
    assert said[4].startswith(str(package / "cache"))
    assert answer(package)[:4] == ["2", "0", "1", "1"]


@pytest.mark.skipif(not kernels.runs_portable_code(), reason="this machine cannot run portable code")
def test_code_that_a_wheel_brings_is_used_until_a_source_changes(package: Path) -> None:
    portable = {"NUMBA_CPU_NAME": kernels.PORTABLE_CPU, "NUMBA_CPU_FEATURES": ""}
    assert answer(package, **portable)[:4] == ["2", "0", "0", "0"]
    assert answer(package, NUMBA_CACHE_DIR=str(package / "empty"))[:4] == ["2", "0", "1", "1"]
    assert not list((package / "empty").rglob("*.nbc"))
    (package / "low.py").write_text(LOW.replace("x + 1", "x + 5"))
    assert answer(package, NUMBA_CACHE_DIR=str(package / "empty"))[:4] == ["10", "0", "0", "1"]


def names_of(module: ModuleType) -> set[str]:
    """The modules that the names of a module come from."""
    values = vars(module).values()
    return {value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "") for value in values}


def test_every_kernel_knows_all_its_sources() -> None:
    for found in pkgutil.walk_packages(kernels.__path__, "samehand.kernels."):
        if found.ispkg:
            continue
        module = importlib.import_module(found.name)
        known = kernels.sources_of(Path(str(module.__file__)))
        for name in names_of(module):
            if isinstance(name, str) and name.startswith("samehand."):
                assert Path(str(sys.modules[name].__file__)) in known, (found.name, name)


def test_similarities_that_are_registered_are_sources() -> None:
    folder = Path(kernels.__path__[0])
    assert {folder / "channels.py", folder / "text" / "pairs.py"} <= set(kernels.sources_of(folder / "buckets.py"))


def test_functions_of_others_keep_the_cache_of_numba() -> None:
    locator = kernels.caching.FunctionCache(names_of)._impl.locator
    assert type(locator).__module__ == "numba.core.caching"


def test_one_process_compiles_and_the_others_load(package: Path) -> None:
    (package / "low.py").write_text(LOW.replace("    return x + 1", "    return x + 1" + " + x * 2" * 200))
    environment = {**os.environ, "PYTHONPATH": str(package.parents[1])}
    environment.pop("NUMBA_CACHE_DIR", None)
    asked = [
        subprocess.Popen([sys.executable, "-c", ASK], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    hits = [process.communicate()[0].split()[2] for process in asked]
    assert sorted(hits) == ["0", "1", "1"]
