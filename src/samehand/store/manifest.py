"""run.json: what it must hold, checked before anyone relies on it."""

from pathlib import Path
from typing import Any

from samehand.base.errors import RunError
from samehand.base.page import Reject
from samehand.sources import Source
from samehand.store.shape import fits
from samehand.store.tables import TABLES

FORMAT = 4
"""Version of the folder's layout. A run of another format is refused."""

READING, DONE = "reading", "done"
"""States of a run: a scan or an addition is under way or was stopped; all stages are complete."""

COUNTS = {str: (float, {str: float})}
"""What a method reports of its work."""

_READ_COUNTS = {
    "pages": int,
    "without_url": int,
    "rejected": {str: int},
    "skipped": {str: int},
    "damaged": int,
    "content_bytes": int,
    "worker_seconds": float,
}
_SHAPES: dict[str, Any] = {
    "settings": dict,
    "read_settings": str,
    "key": str,
    "inputs": [Source],
    "unreadable": [Reject],
    "failures": [{"input": str, "start": int, "reason": str}],
    "units": int,
    "state": str,
    "methods": [str],
    "stages": {str: dict},
}
_METHODS = {table.method for table in TABLES if "/" in table.name}


def check_manifest(stored: Any, folder: Path) -> dict[str, Any]:
    """The manifest itself, if it has the shape it must have. RunError with the next step otherwise."""
    if not isinstance(stored, dict):
        raise _damaged(folder, "it is no JSON object")
    found = stored.get("format")
    if found != FORMAT:
        made = f"format {found}" if isinstance(found, int) else "an unknown format"
        raise RunError(
            f"{folder} has {made}, and this version of samehand reads format {FORMAT}. Scan the inputs again into a "
            "new folder: samehand scan INPUTS -o NEW_FOLDER"
        )
    for name, shape in _SHAPES.items():
        if not fits(stored.get(name), shape):
            raise _damaged(folder, f"{name} is missing or is not what it must be")
    stages = stored["stages"]
    unknown = {*stored["methods"], *stages} - _METHODS - {"read"}
    if unknown or "read" in stored["methods"] or stored["state"] not in (READING, DONE):
        raise _damaged(folder, "it names a method or a state that there is not")
    is_read = fits(stages.get("read"), _READ_COUNTS) or (stored["state"] == READING and "read" not in stages)
    if not is_read or not all(fits(counts, COUNTS) for counts in stages.values()):
        raise _damaged(folder, "its counts are not what they must be")
    if not fits(stored.get("growth", {}), {str: int}):
        raise _damaged(folder, "growth is not what it must be")
    return stored


def _damaged(folder: Path, why: str) -> RunError:
    return RunError(f"{folder / 'run.json'} is damaged ({why}). Scan the inputs again with --force.")
