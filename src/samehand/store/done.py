"""Records of what is done: the one mechanism by which every stage of every method goes on after a kill.

A record is written after the files that it speaks of, and carries a digest of all that they were made from. Work with
a record from the same source is not done again; anything else is. So a command that was killed and is run again does
only what is missing, and ends with the same bytes.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from samehand.base.files import write_whole


class DoneRecords:
    """The records in a folder, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get(self, name: str) -> dict[str, Any] | None:
        """The record of `name`; None if it is not done, or if the record cannot be read."""
        try:
            record = json.loads((self.path / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def set(self, name: str, record: Mapping[str, Any]) -> None:
        """Records that `name` is done."""
        with write_whole(self.path / f"{name}.json") as handle:
            handle.write((json.dumps(record, sort_keys=True) + "\n").encode())

    def remove(self, name: str) -> None:
        """`name` has to be done again."""
        (self.path / f"{name}.json").unlink(missing_ok=True)

    def parts(self, what: str) -> dict[int, dict[str, Any]]:
        """The records of all parts of `what`, by the number of their unit of work."""
        numbers = sorted(
            int(path.stem[-6:]) for path in self.path.glob(f"{what}-[0-9]*.json") if path.stem[-6:].isdigit()
        )
        found = {number: self.get(part_name(what, number)) for number in numbers}
        return {number: record for number, record in found.items() if record is not None}

    def once(self, name: str, source: str, work: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Does `work` unless it was done from just this `source`. Returns the counts that it reported."""
        done = self.get(name)
        if done is not None and done.get("source") == source and isinstance(done.get("counts"), dict):
            return dict(done["counts"])
        self.remove(name)
        began = time.perf_counter()
        counts = dict(work())
        self.set(name, {"source": source, "counts": counts, "seconds": round(time.perf_counter() - began, 3)})
        return counts


def part_name(what: str, number: int) -> str:
    """Name of the record that a part is done: the part of `what` (pages, or a method) for a unit of work."""
    return f"{what}-{number:06d}"


def digest_of(source: object) -> str:
    """Digest of anything JSON can hold: what something was made from."""
    return hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()[:16]
