"""What JSONL and Parquet have in common: rows of pages, with a column `html` or `content`, and `url` and an id if any.

A table says that it holds HTML, so there are no HTTP rules here.
"""

from collections.abc import Container, Iterable
from typing import Final

from samehand.sources.http.body import MAX_URL, Media

CONTENT_COLUMNS: Final = ("html", "content")
ID_COLUMNS: Final = ("doc_id", "id")
"""The first of these columns that a table has is the `doc_id` of its pages."""

UTF8_HTML: Final = Media("text/html", "utf-8")
"""What text columns hold, whatever the <meta> of a page says."""


def first_of(wanted: Iterable[str], found: Container[str]) -> str | None:
    """The first of the wanted columns that is there."""
    return next((name for name in wanted if name in found), None)


def missing_columns(wanted: Iterable[str], found: Iterable[str]) -> str:
    """Says that none of the wanted columns is there, and which columns are."""
    return f"no column {' or '.join(wanted)}; found: {', '.join(map(str, found)) or 'none'}"


def doc_id_of(value: object) -> str | None:
    """An id as valid Unicode, as long as a URL at most. Numbers are ids too."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)[:MAX_URL].encode("utf-8", "replace").decode("utf-8")
