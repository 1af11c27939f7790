"""The shape of the house: imports point one way, files and functions stay short, public names are the real ones."""

import ast
from pathlib import Path

import pytest

import samehand

SOURCE = Path(samehand.__file__).parent
ORDER = (
    ("base",),
    ("kernels",),
    ("html",),
    ("sources",),
    ("grouping",),
    ("store",),
    ("methods",),
    ("exports",),
    ("engine",),
    ("answers",),
    ("api",),
    ("cli",),
)
FLOOR = {name: floor for floor, names in enumerate(ORDER) for name in names}
FILES = sorted(SOURCE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(tree: ast.AST) -> set[str]:
    rooms = set()
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "samehand" else [f"samehand.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("samehand.")}
    return rooms & set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    if path == SOURCE / "__init__.py":
        return  # the front door looks into every room
    here = FLOOR[room(path)]
    above = {name for name in imported_rooms(ast.parse(path.read_text())) if FLOOR[name] > here}
    assert above == set()


def test_kernels_know_nothing_of_the_rest() -> None:
    for path in (SOURCE / "kernels").glob("*.py"):
        assert imported_rooms(ast.parse(path.read_text())) <= {"kernels"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_stay_short(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        assert not isinstance(node, ast.Assert), f"assert at line {node.lineno}: raise an error of errors.py"
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < 60, node.name


def test_public_names_are_real_and_sorted() -> None:
    assert samehand.__all__ == sorted(samehand.__all__)
    for name in samehand.__all__:
        assert getattr(samehand, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = samehand.nothing_here


def test_no_pickle_anywhere() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                assert not names & {"pickle", "shelve", "marshal", "joblib", "dill"}, path
