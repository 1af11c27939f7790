"""run.json: what it must hold, checked before anyone relies on it."""

from pathlib import Path
from typing import Any

from samehand.base.errors import RunError

FORMAT = 3
"""Version of the folder's layout. A run of another format is refused."""

READING, DONE = "reading", "done"
"""States of a run: a scan or an addition is under way or was stopped; all stages are complete."""

_SHAPE: dict[str, type | tuple[type, ...]] = {
    "settings": dict,
    "inputs": list,
    "unreadable": list,
    "units": int,
    "state": str,
    "methods": list,
    "stages": dict,
}
_SOURCE_SHAPE: dict[str, type] = {"name": str, "path": str, "kind": str, "size": int, "digest": str}


def check_manifest(stored: Any, folder: Path) -> dict[str, Any]:
    """The manifest itself, if it has the shape it must have. RunError with the next step otherwise."""
    damaged = f"{folder / 'run.json'} is damaged ({{}}). Scan the inputs again with --force."
    if not isinstance(stored, dict):
        raise RunError(damaged.format("it is no JSON object"))
    found = stored.get("format")
    if found != FORMAT:
        made = f"format {found}" if isinstance(found, int) else "an unknown format"
        raise RunError(
            f"{folder} has {made}, and this version of samehand reads format {FORMAT}. Scan the inputs again into a "
            "new folder: samehand scan INPUTS -o NEW_FOLDER"
        )
    for name, kind in _SHAPE.items():
        if not isinstance(stored.get(name), kind) or isinstance(stored.get(name), bool):
            raise RunError(damaged.format(f"{name} is missing or has the wrong type"))
    for source in stored["inputs"]:
        if not isinstance(source, dict) or set(source) != set(_SOURCE_SHAPE):
            raise RunError(damaged.format("an input is described wrongly"))
        if not all(type(source[name]) is kind for name, kind in _SOURCE_SHAPE.items()):
            raise RunError(damaged.format("an input is described wrongly"))
    if not 0 <= stored["units"] <= 1 << 31:
        raise RunError(damaged.format("the number of units is impossible"))
    return stored
