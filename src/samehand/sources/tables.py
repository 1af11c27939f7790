"""What JSONL, Parquet and CSV have in common: rows of documents, and which of their columns are read.

A document is HTML or plain text. A table says which, so there are no HTTP rules here. The columns are found by their
usual names, or named by the settings. A dot leads into nested columns: datatrove keeps the URL in `metadata.url`.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from samehand.base.page import PLAIN_TEXT, Outcome, Page
from samehand.base.settings import Settings
from samehand.sources.archive.heads import time_of
from samehand.sources.http.body import MAX_URL, Media, Origin, bounded_url, make_page, refuse
from samehand.sources.reasons import EMPTY_BODY

HTML_COLUMNS: Final = ("html", "content")
TEXT_COLUMNS: Final = ("text", "raw_content")
URL_COLUMNS: Final = ("url", "metadata.url", "meta.url")
ID_COLUMNS: Final = ("doc_id", "id")
TIME_COLUMNS: Final = ("fetch_time", "date", "timestamp", "metadata.date", "metadata.timestamp")
"""The first of these columns that a table has is read. Plain text is read where there is no HTML."""

UTF8_HTML: Final = Media("text/html", "utf-8")
"""What text columns hold, whatever the <meta> of a page says."""


class Columns(NamedTuple):
    """Names of the columns that are read; None for one that the table does not have."""

    content: str
    url: str | None
    doc_id: str | None
    time: str | None
    is_text: bool


class Fields(NamedTuple):
    """What a row holds. `media` says what its content is if it is HTML."""

    content: bytes | None
    url: bytes = b""
    doc_id: str | None = None
    time: datetime | None = None
    media: Media = UTF8_HTML


def choose_columns(settings: Settings, has: Callable[[str], bool], found: Callable[[], Iterable[str]]) -> Columns | str:
    """The columns to read of a table, or which were wanted and which are there."""
    named = (settings.html_column, settings.text_column, settings.url_column, settings.id_column)
    missing = [name for name in named if name and not has(name)]
    if missing:
        return _missing(missing[:1], found())
    html = _first(HTML_COLUMNS, settings.html_column, has) if not settings.text_column else None
    text = _first(TEXT_COLUMNS, settings.text_column, has)
    content = html or text
    if content is None:
        return _missing((*HTML_COLUMNS, *TEXT_COLUMNS[:1]), found())
    return Columns(
        content,
        url=_first(URL_COLUMNS, settings.url_column, has),
        doc_id=_first(ID_COLUMNS, settings.id_column, has),
        time=_first(TIME_COLUMNS, "", has),
        is_text=html is None,
    )


def _first(usual: Iterable[str], named: str, has: Callable[[str], bool]) -> str | None:
    return named or next((name for name in usual if has(name)), None)


def _missing(wanted: Collection[str], found: Iterable[str]) -> str:
    return f"no column {' or '.join(wanted)}; found: {', '.join(map(str, found)) or 'none'}"


def outcome_of_fields(fields: Fields, columns: Columns, origin: Origin, settings: Settings) -> Outcome:
    """The page that a row is, or why it is none."""
    origin = origin._replace(url=bounded_url(fields.url), doc_id=fields.doc_id, time=fields.time)
    if fields.content is None:
        return refuse(origin, EMPTY_BODY)
    limit = settings.max_page_bytes
    if columns.is_text:
        return text_page(fields.content, origin, limit=limit)
    return make_page(fields.content, origin, media=fields.media, limit=limit)


def text_page(text: bytes, origin: Origin, *, limit: int) -> Outcome:
    """The page that a plain text in UTF-8 is."""
    made = make_page(text, origin, media=UTF8_HTML, limit=limit)
    return dataclasses.replace(made, content_mime_detected=PLAIN_TEXT) if isinstance(made, Page) else made


def doc_id_of(value: object) -> str | None:
    """An id as valid Unicode, as long as a URL at most. Numbers are ids too."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)[:MAX_URL].encode("utf-8", "replace").decode("utf-8")


def time_in(value: Any) -> datetime | None:
    """The time that a cell says, in UTC: a date, or ISO 8601."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return time_of(value[:64].encode("ascii", "replace")) if isinstance(value, str) else None
