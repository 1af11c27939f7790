"""Records of what is done: the one mechanism by which every stage of every method goes on after a kill.

A record is written after the files that it speaks of, and carries a digest of all that they were made from. Work with
a record from the same source is not done again; anything else is. So a command that was killed and is run again does
only what is missing, and ends with the same bytes.

There are three kinds. `pages-NNNNNN` says what a unit of work was read into, `METHOD-NNNNNN` that it has the rows of a
method, and any other name that some work over all pages is done.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from samehand.base.errors import RunError
from samehand.base.files import write_whole
from samehand.sources import Unit
from samehand.store.manifest import COUNTS
from samehand.store.shape import fits
from samehand.store.tables import PAGES

_PART = re.compile(r"(?P<what>[a-z]+)-(?P<number>[0-9]{6})")
_READ_SHAPE = {
    "unit": Unit,
    "settings": str,
    "pages": int,
    "rejected": {str: int},
    "skipped": {str: int},
    "without_url": int,
    "damaged": int,
    "content_bytes": int,
    "first": int,
    "stop": int,
    "seconds": float,
}
_ROWS_SHAPE = {"unit": Unit, "source": str}
_WORK_SHAPE = {"source": str, "counts": COUNTS, "seconds": float}


class DoneRecords:
    """The records in a folder, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, name: str) -> dict[str, Any] | None:
        """The record of `name`, None if it is not done. RunError if there is one that samehand did not write."""
        path = self.path / f"{name}.json"
        if not path.is_file():
            return None
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            stored = None
        record: dict[str, Any] = stored["record"] if fits(stored, {"record": dict, "digest": str}) else {}
        if not _is_sound(name, record) or digest_of(record) != stored["digest"]:
            raise RunError(f"{path} is damaged. Remove it, then run the command again that wrote it.")
        return record

    def set(self, name: str, record: Mapping[str, Any]) -> None:
        """Records that `name` is done."""
        with write_whole(self.path / f"{name}.json") as handle:
            handle.write((json.dumps({"digest": digest_of(record), "record": record}, sort_keys=True) + "\n").encode())

    def remove(self, name: str) -> None:
        """`name` has to be done again."""
        (self.path / f"{name}.json").unlink(missing_ok=True)

    def parts(self, what: str) -> dict[int, dict[str, Any]]:
        """The records of all parts of `what`, by the number of their unit of work."""
        names = (_PART.fullmatch(path.stem) for path in self.path.glob(f"{what}-*.json"))
        numbers = sorted(int(name["number"]) for name in names if name is not None and name["what"] == what)
        found = {number: self.get(part_name(what, number)) for number in numbers}
        return {number: record for number, record in found.items() if record is not None}

    def once(self, name: str, source: str, work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Does `work` unless it was done from just this `source`. Returns the counts that it reported."""
        done = self.get(name)
        if done is not None and done["source"] == source:
            return dict(done["counts"])
        self.remove(name)
        began = time.perf_counter()
        counts = dict(work())
        self.set(name, {"source": source, "counts": counts, "seconds": round(time.perf_counter() - began, 3)})
        return counts


def _is_sound(name: str, record: Any) -> bool:
    """Whether a record has the shape of its kind, and speaks of the unit that its name says."""
    part = _PART.fullmatch(name)
    if part is None:
        return fits(record, _WORK_SHAPE)
    shape = _READ_SHAPE if part["what"] == PAGES.name else _ROWS_SHAPE
    return fits(record, shape) and record["unit"]["number"] == int(part["number"])


def part_name(what: str, number: int) -> str:
    """Name of the record that a part is done: the part of `what` (pages, or a method) for a unit of work."""
    return f"{what}-{number:06d}"


def digest_of(source: object) -> str:
    """Digest of anything JSON can hold: what something was made from."""
    return hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()[:16]
