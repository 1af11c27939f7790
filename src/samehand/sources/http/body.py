"""From the bytes of a body to a Page or a Reject: whether it is HTML, its charset, its length. All formats end here."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from samehand.base.page import Outcome, Page, Reject
from samehand.sources.http.charset import to_ascii_compatible
from samehand.sources.reasons import EMPTY_BODY, NOT_HTML, READER_ERROR, UNREADABLE_FILE, Reason, reject, text_of

HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})
UNSPECIFIC_TYPES: Final = frozenset({"", "application/octet-stream", "application/unknown", "unknown/unknown", "*/*"})
MAX_URL = 8192
SNIFF_BYTES = 1024

_BINARY_STARTS: Final = {
    b"%PDF-": "application/pdf",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"PK\x03\x04": "application/zip",
    b"\x1f\x8b": "application/gzip",
}
_BINARY_MAGIC: Final = tuple(_BINARY_STARTS)

# The table of the WHATWG MIME sniffing standard for an unknown type: a byte order mark, white space, then one of these
# tags or a comment. Added is what XHTML pages start with: an XML declaration, meta or link.
_HTML_START: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*(?:<\?xml[^>]*>[\t\n\f\r ]*)?"
    rb"<(?:!--|(?:!doctype[\t\n\f\r ]+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p"
    rb"|meta|link)(?:[\t\n\f\r />]|\Z))",
    re.IGNORECASE,
)


class Media(NamedTuple):
    """A declared media type in lower case and without parameters, and the charset as it was declared."""

    mime: str
    charset: str | None = None


HTML: Final = Media("text/html")


class Origin(NamedTuple):
    """Where a record is, and what its archive or table says about it."""

    source_path: str
    offset: int
    length: int = 0
    url: str = ""
    time: datetime | None = None
    digest: str | None = None
    truncated: str | None = None
    doc_id: str | None = None
    warc_filename: str | None = None


def guarded(origin: Origin, make: Callable[[], Outcome]) -> Outcome:
    """What `make` makes of the record at `origin`. An error in samehand costs one page, never the run."""
    try:
        return make()
    except OSError as error:
        return refuse(origin, UNREADABLE_FILE, text_of(error))
    except Exception as error:  # noqa: BLE001 - the page boundary, the one place where all errors are caught
        return refuse(origin, READER_ERROR, text_of(error))


def make_page(body: bytes, origin: Origin, *, media: Media, limit: int, status: int | None = None) -> Outcome:
    """The page in `body`, or why it is none. `media` is the declared type, which has passed `may_be_html`."""
    if not body or body.isspace():
        return refuse(origin, EMPTY_BODY)
    if body.startswith(_BINARY_MAGIC):
        return refuse(origin, NOT_HTML, binary_type(body))
    content, charset = to_ascii_compatible(body, media.charset)
    if media.mime not in HTML_TYPES and not looks_like_html(content):
        return refuse(origin, NOT_HTML, media.mime)
    truncated = origin.truncated
    if len(content) > limit:
        content, truncated = content[:limit], "length"
    return Page(
        url=origin.url,
        content=content,
        source_path=origin.source_path,
        warc_record_offset=origin.offset,
        warc_record_length=origin.length,
        fetch_time=origin.time,
        fetch_status=status,
        content_digest=origin.digest,
        content_mime_detected=media.mime if media.mime in HTML_TYPES else HTML.mime,
        content_charset=charset,
        content_truncated=truncated,
        doc_id=origin.doc_id,
        warc_filename=origin.warc_filename,
    )


def refuse(origin: Origin, reason: Reason, detail: str = "") -> Reject:
    """The Reject for the record at `origin`."""
    place = (origin.source_path, origin.offset)
    return reject(*place, reason=reason, size=origin.length, url=origin.url, detail=detail, doc_id=origin.doc_id or "")


def may_be_html(media: Media) -> bool:
    """Whether a body of this type may be a page: it is declared as HTML, or as nothing in particular."""
    return media.mime in HTML_TYPES or media.mime in UNSPECIFIC_TYPES or "/" not in media.mime


def looks_like_html(content: bytes) -> bool:
    """Whether a page without a type is HTML for browsers: its first tag decides."""
    return _HTML_START.match(content, 0, SNIFF_BYTES) is not None


def binary_type(content: bytes) -> str:
    """Media type of a body that starts with the magic bytes of a well-known binary format, else ""."""
    return next((mime for magic, mime in _BINARY_STARTS.items() if content.startswith(magic)), "")


def bounded_url(url: bytes) -> str:
    """A URL as valid Unicode of bounded length, without the angle brackets that some writers put around it."""
    text = url[: MAX_URL * 4].decode("utf-8", "replace").strip()
    if text[:1] == "<" and text[-1:] == ">":
        text = text[1:-1]
    return text[:MAX_URL]
