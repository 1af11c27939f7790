"""Source, Unit and Reading: an input as given, one piece of work on it, and what came of reading that piece."""

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

from samehand.base.page import Page, Reject

Outcome = Page | Reject


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """One input. `name` is the path as the user gave it (valid Unicode), `path` is absolute and opens the file."""

    name: str
    path: str
    kind: str
    size: int
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON. A path that is not UTF-8 holds surrogates: write it with `ensure_ascii`, json's default."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The source from its `as_dict` form."""
        return cls(**stored)


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: the records of `source` that start in [start, end).

    Positions are bytes for WARC and JSONL, rows for Parquet, sorted top-level entries for a folder. `exact` says that
    `start` is known to be the start of a record; otherwise the reader looks for the first one from there on.
    """

    number: int
    source: Source
    start: int
    end: int
    exact: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON, the source included."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The unit from its `as_dict` form."""
        return cls(**{**stored, "source": Source.from_dict(stored["source"])})


class Reading:
    """The outcomes of one unit, to be iterated once, and between which positions they were found.

    After iteration `first` is the position of the first record of the unit (or of the first record behind the unit when
    it has none), and `stop` the position of the first record that was not read. Consecutive units of a source fit
    together when `previous.stop == next.first`. They do not when `next` started at bytes inside a record that only look
    like a record, which is easy to plant: then `Unit(..., start=previous.stop, exact=True)` is to be read instead.
    """

    __slots__ = ("_outcomes", "first", "stop")

    def __init__(self, unit: Unit, outcomes: "Callable[[Reading], Iterator[Outcome]]") -> None:
        self.first = unit.start
        self.stop = max(unit.start, unit.end)
        self._outcomes = outcomes

    def __iter__(self) -> Iterator[Outcome]:
        return self._outcomes(self)


def clean_name(path: str) -> str:
    """`path` as valid Unicode: file names need not be UTF-8, columns of a table must be."""
    return os.fsencode(path).decode("utf-8", "replace")
