"""Bytes in: every input that samehand reads, as Pages, Rejects and Skips.

    inputs ── find_sources ──► Source ── plan_units ──► Unit ── read_unit ──► Reading: Page | Reject | Skip, ...
                                                                read_page ──► the same Page again

Everything read was written by an adversary. Every record that is read ends as exactly one Page, one Reject or one Skip
(`reasons` lists why). Nothing that is read raises an exception, loops, or takes more memory than a few pages.

    reader    Source, Unit, Reading, Reader   formats      the table of all Readers
    find      inputs to sources               reasons      why a record is no page
    files     folders and HTML files          tables       columns of tables, for `jsonl` and `parquet`
    texts     texts out of all these          mail/        messages and their MIME parts
    archive/  WARC and ARC (`warc`), WACZ (`wacz`): `fast` reads sound records, the other modules read with care
    runs      pages that lie in a buffer, and batches of pages
    http/     responses, content codings, charsets, and bodies to pages

The formats are imported when something is read: commands that only read answers need Source and Unit alone.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from samehand.base.errors import InputError
from samehand.base.page import Outcome, Page
from samehand.base.settings import Settings
from samehand.sources.reader import Reader, Reading, Source, Unit
from samehand.sources.reasons import UNREADABLE_FILE, reject, text_of

if TYPE_CHECKING:
    from samehand.sources.find import changed_sources, find_sources
    from samehand.sources.formats import FORMATS
    from samehand.sources.runs import Run

__all__ = [
    "FORMATS",
    "Outcome",
    "Reading",
    "Source",
    "Unit",
    "changed_sources",
    "find_sources",
    "plan_units",
    "read_page",
    "read_sources",
    "read_unit",
]

_LATER = {"FORMATS": "formats", "changed_sources": "find", "find_sources": "find"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"samehand.sources.{_LATER[name]}"), name)


def _reader_of(source: Source) -> Reader:
    from samehand.sources.formats import READER_OF

    return READER_OF[source.kind]


def plan_units(sources: Sequence[Source], split_bytes: int) -> list[Unit]:
    """The units of all sources, numbered in order. They depend on the sources and `split_bytes`, not on the workers."""
    spans = ((source, span) for source in sources for span in _reader_of(source).split(source, split_bytes))
    return [Unit(number, source, start, end) for number, (source, (start, end)) in enumerate(spans)]


def read_unit(unit: Unit, settings: Settings) -> Reading:
    """What a unit holds, in order. It is read while it is iterated."""

    def items(reading: Reading) -> "Iterator[Outcome | Run]":
        source = unit.source
        try:
            yield from _reader_of(source).read(unit, settings, reading)
        except OSError as error:
            # The file system failed, or the input is gone since it was found.
            yield reject(source.name, unit.start, reason=UNREADABLE_FILE, detail=text_of(error))

    return Reading(unit, items)


def read_sources(sources: Sequence[Source], settings: Settings) -> Iterator[Outcome]:
    """What whole sources hold, in order."""
    for unit in plan_units(sources, sys.maxsize):
        yield from read_unit(unit, settings)


def read_page(source: Source, source_path: str, offset: int, settings: Settings) -> Page:
    """The page that a scan of `source` found at (`source_path`, `offset`). InputError if it is not there any more."""
    try:
        found = _reader_of(source).find_page(source, source_path, offset, settings)
    except OSError as error:
        raise InputError(f"The page in {source_path} is out of reach ({error}): put {source.name} back.") from error
    if isinstance(found, Page):
        return found
    why = "nothing starts there" if found is None else f"it is no page now, reason {found.reason}"
    raise InputError(
        f"There is no page at offset {offset} of {source_path} any more ({why}): "
        f"{source.name} has changed, or is read with other settings. Scan it again."
    )
