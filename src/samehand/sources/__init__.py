"""Bytes in: every input that samehand reads, as Pages and Rejects.

    inputs ── find_sources ──► Source ── plan_units ──► Unit ── read_unit ──► Reading: Page | Reject, ...
                                                                read_page ──► the same Page again

Everything read was written by an adversary. Every record that is read ends as exactly one Page or one Reject (why, is
in `samehand.sources.reasons`); nothing that is read raises an exception, loops, or takes more memory than a few pages.

    unit      Source, Unit, Reading           find, plan   inputs to sources to units
    warc      WARC and ARC records            wacz         WARCs in a zip file
    files     folders and HTML files          tables       JSONL and Parquet
    mail      messages, with mime             mailboxes    messages as Pages
    fast      gzip WARCs at full speed        records, packed, members, frames, heads    archives with care
    http      responses                       coding, charset, body                      bodies to pages
"""

from collections.abc import Iterator

from samehand.base.errors import InputError
from samehand.base.page import Page
from samehand.base.settings import Settings
from samehand.sources.archive.wacz import find_wacz_page, read_wacz
from samehand.sources.archive.warc import find_warc_page, read_warc
from samehand.sources.files import find_folder_page, find_html_page, read_folder, read_html
from samehand.sources.find import find_sources
from samehand.sources.mail.mailboxes import find_mail, read_mail
from samehand.sources.plan import plan_units
from samehand.sources.reasons import UNREADABLE_FILE, reject, text_of
from samehand.sources.tables import find_jsonl_page, find_parquet_page, read_jsonl, read_parquet
from samehand.sources.unit import Outcome, Reading, Source, Unit

__all__ = ["Outcome", "Reading", "Source", "Unit", "find_sources", "plan_units", "read_page", "read_unit"]

_READERS = {
    "warc": read_warc,
    "arc": read_warc,
    "wacz": read_wacz,
    "folder": read_folder,
    "html": read_html,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "mail": read_mail,
}


def read_unit(unit: Unit, settings: Settings) -> Reading:
    """The pages and rejects of a unit, in order, read while it is iterated."""

    def outcomes(reading: Reading) -> Iterator[Outcome]:
        source = unit.source
        try:
            yield from _READERS[source.kind](unit, settings, reading=reading)
        except OSError as error:
            # The file system failed, or the input is gone since it was found.
            yield reject(source.name, unit.start, reason=UNREADABLE_FILE, detail=text_of(error))

    return Reading(unit, outcomes)


def read_page(source: Source, warc_filename: str, offset: int, settings: Settings) -> Page:
    """The page that a scan of `source` found at (`warc_filename`, `offset`). InputError when it is there no more."""
    try:
        found = _find(source, warc_filename, offset=offset, settings=settings)
    except OSError as error:
        raise InputError(f"The page in {warc_filename} is out of reach ({error}): put {source.name} back.") from error
    if isinstance(found, Page):
        return found
    why = "nothing starts there" if found is None else f"it is no page now, reason {found.reason}"
    raise InputError(
        f"There is no page at offset {offset} of {warc_filename} any more ({why}): "
        f"{source.name} has changed, or is read with other settings. Scan it again."
    )


def _find(source: Source, warc_filename: str, *, offset: int, settings: Settings) -> Outcome | None:
    if source.kind in ("warc", "arc"):
        return find_warc_page(source, offset, settings=settings)
    if source.kind == "wacz":
        return find_wacz_page(source, warc_filename, offset=offset, settings=settings)
    if source.kind == "jsonl":
        return find_jsonl_page(source, offset, settings=settings)
    if source.kind == "parquet":
        return find_parquet_page(source, offset, settings=settings)
    if source.kind == "mail":
        return find_mail(source, warc_filename, settings=settings)
    if source.kind == "folder":
        return find_folder_page(source, warc_filename, settings=settings)
    return find_html_page(source, settings)
