"""What an input format is made of: Source, Unit, Reading, and the Reader that one module provides for its format."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Self

from samehand.base.page import Outcome
from samehand.base.settings import Settings

if TYPE_CHECKING:
    from samehand.sources.runs import Run


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """One input. `name` is the path as the user gave it (valid Unicode), `path` is absolute and opens the file."""

    name: str
    path: str
    kind: str
    size: int
    digest: str

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON. A path that is not UTF-8 holds surrogates: write it with `ensure_ascii`, the default of json."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """The source from its `as_dict` form."""
        return cls(**stored)


@dataclasses.dataclass(frozen=True, slots=True)
class Unit:
    """One piece of work: the records of `source` that start in [start, end).

    Positions are bytes for WARC and JSONL, rows for Parquet, and sorted top-level entries for a folder. `exact` says
    that `start` is known to be the start of a record. Otherwise the reader looks for the first record from there on.
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
    """The outcomes of one unit, to be iterated once, and the positions between which they were found.

    After the iteration `first` is the position of the first record of the unit, or of the first record behind it if the
    unit has none. `stop` is the position of the first record that was not read. Consecutive units of a source fit
    together when `previous.stop == next.first`. They do not fit when `next` started at bytes inside a record that look
    like a record, which an adversary can plant. Then read `Unit(..., start=previous.stop, exact=True)` instead.
    """

    __slots__ = ("_items", "first", "stop")

    def __init__(self, unit: Unit, items: "Callable[[Reading], Iterator[Outcome | Run]]") -> None:
        self.first = unit.start
        self.stop = max(unit.start, unit.end)
        self._items = items

    def __iter__(self) -> Iterator[Outcome]:
        from samehand.sources.runs import Run  # imports kernels, which commands that read answers do without

        for item in self.items():
            yield from item.outcomes() if isinstance(item, Run) else (item,)

    def items(self) -> "Iterator[Outcome | Run]":
        """The same, with runs of pages that lie in a buffer as they are. A run is used before the next item is."""
        return self._items(self)


class Look(NamedTuple):
    """What decides the kind of an input.

    `start` are the first bytes of a file. `text` are the first bytes once unpacked, without line ends before them.
    """

    path: str
    size: int = 0
    start: bytes = b""
    text: bytes = b""
    is_packed: bool = False
    is_folder: bool = False


Span = tuple[int, int]
"""The first position of a unit, and the position behind its last."""

Split = Callable[[Source, int], Iterable[Span]]
"""From a source and the `split_bytes` of the settings to the spans of its units."""


def whole(source: Source, split_bytes: int) -> Iterable[Span]:
    """The spans of a source that cannot be split: one."""
    return [(0, source.size)]


def pieces(total: int, step: int) -> Iterable[Span]:
    """Spans of `step` positions, at least one."""
    return ((start, min(start + step, total)) for start in range(0, max(1, total), step))


def by_bytes(can_start_anywhere: Callable[[BinaryIO, Source], bool]) -> Split:
    """Splits large files into pieces of `split_bytes`, if reading can start anywhere in the file."""

    def split(source: Source, split_bytes: int) -> Iterable[Span]:
        if source.size <= split_bytes:
            return whole(source, split_bytes)
        try:
            with open(source.path, "rb") as file:
                can_split = can_start_anywhere(file, source)
        except OSError:
            can_split = False  # The file is gone since it was found. The reader of the one unit says so.
        return pieces(source.size, split_bytes) if can_split else whole(source, split_bytes)

    return split


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """How one kind of input is recognised, split into units, and read.

    `inputs` names such inputs in messages and in the help. `profile` is the one of the settings that reads them.
    `recognises_damaged` is asked when no reader recognises a file. `find_page` gets a source, a `source_path`, an
    offset and the settings, and returns what is there. `is_fragile` says that a library may end the process over a bad
    input, so that the input is read in a process of its own.
    """

    kind: str
    inputs: str
    profile: str = "web"
    recognises: Callable[[Look], bool]
    recognises_damaged: Callable[[Look], bool] = lambda look: False
    split: Split = whole
    is_fragile: bool = False
    read: "Callable[[Unit, Settings, Reading], Iterator[Outcome | Run]]"
    find_page: Callable[[Source, str, int, Settings], Outcome | None]


def clean_name(path: str) -> str:
    """`path` as valid Unicode. File names need not be UTF-8, but columns of a table must be."""
    return os.fsencode(path).decode("utf-8", "replace")
