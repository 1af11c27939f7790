"""The shape of the house: imports point one way, files and functions stay short, public names are the real ones."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import samehand

SOURCE = Path(samehand.__file__).parent
FLOORS = (
    "base",
    "kernels",
    "html",
    "sources",
    "grouping",
    "store",
    "methods",
    "exports",
    "engine",
    "answers",
    "review",
    "api",
    "cli",
)
"""A room imports only rooms above it in this list."""
FILES = sorted(SOURCE.rglob("*.py"))
METHODS = sorted(path.parent.name for path in SOURCE.glob("methods/*/method.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> Iterator[str]:
    """Modules of samehand that a file imports, anywhere in it."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (
                [f"samehand.{alias.name}" for alias in node.names] if node.module == "samehand" else [node.module]
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_imports_point_one_way() -> None:
    for path in FILES:
        if path == SOURCE / "__init__.py":
            continue  # the front door opens into every room
        here = FLOORS.index(room(path))
        rooms = {name.split(".")[1] for name in imports(path) if name.startswith("samehand.")} & set(FLOORS)
        assert {name for name in rooms if FLOORS.index(name) > here} == set(), name_of(path)


def test_kernels_know_nothing_of_the_rest() -> None:
    for path in SOURCE.glob("kernels/**/*.py"):
        assert all(name.startswith("samehand.kernels") for name in imports(path) if name.startswith("samehand."))


def test_methods_do_not_import_each_other() -> None:
    for path in SOURCE.glob("methods/*/**/*.py"):
        mine = path.relative_to(SOURCE / "methods").parts[0]
        others = {name.split(".")[2] for name in imports(path) if re.match(r"samehand\.methods\.\w", name)}
        assert others & set(METHODS) <= {mine}, name_of(path)


def test_only_the_store_names_files_of_the_run_folder() -> None:
    folders = "|".join(["pages", "rejects", "content", "done", *METHODS])
    place = re.compile(rf"(?:{folders})/[\w.-]+|run\.json|part-\S+")
    for path in FILES:
        if room(path) in ("store", "cli"):  # sentences name files that a user sees
            continue
        docstrings = {id(node.value) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                assert not place.fullmatch(node.value), f"{name_of(path)}: {node.value}"


def test_only_the_command_line_prints() -> None:
    for path in FILES:
        if room(path) == "cli":
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id != "print", name_of(path)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
                assert node.attr not in ("stdout", "stderr"), name_of(path)


def test_the_top_level_is_small() -> None:
    entries = [path.name for path in SOURCE.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 16, sorted(entries)


def test_files_and_functions_stay_short() -> None:
    for path in FILES:
        assert path.read_text().count("\n") <= 400, name_of(path)
        for node in ast.walk(tree_of(path)):
            assert not isinstance(node, ast.Assert), f"{name_of(path)}:{node.lineno}: raise an error of base/errors.py"
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno is not None
                assert node.end_lineno - node.lineno < 60, f"{name_of(path)}: {node.name}"


def test_public_names_are_real_and_sorted() -> None:
    assert samehand.__all__ == sorted(samehand.__all__)
    for name in samehand.__all__:
        assert getattr(samehand, name) is not None
    assert set(dir(samehand)) == {*samehand.__all__, "__version__"}
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = samehand.nothing_here


def test_no_pickle_anywhere() -> None:
    for path in FILES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "shelve", "marshal", "joblib", "dill"}, name_of(path)
