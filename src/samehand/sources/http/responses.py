"""HTTP responses as crawlers store them (status line, headers, body) to a Page or a Reject.

One tolerant parser reads the headers of all archives: it accepts bare line feeds, folded lines and nonsense lines. With
two parsers a page would depend on which of them read it.
"""

import functools
import re
from typing import Final, NamedTuple

from samehand.base.page import Outcome
from samehand.base.settings import Settings
from samehand.sources.http.body import Media, Origin, looks_like_html, make_page, may_be_html, refuse
from samehand.sources.http.coding import BombError, CodingError, dechunk, decode_body
from samehand.sources.reasons import BAD_ENCODING, BAD_HTTP, DECOMPRESSION_BOMB, HTTP_STATUS, NOT_HTML

MAX_HEAD = 256 << 10
"""Longest HTTP head in bytes: the limit of browsers. The responses of status 1xx before the final one count too."""

_HEAD_END: Final = re.compile(rb"\n\r?\n")
# SHOUTcast servers write ICY for HTTP/1.0.
_STATUS: Final = re.compile(rb"(?:HTTP/\d(?:\.\d)?|ICY)[ \t]+(\d{3})(?!\d)", re.IGNORECASE)
_FIELDS: Final = re.compile(
    rb"\n(content-(?:type|encoding)|transfer-encoding)[ \t]*:([^\n]*(?:\n[ \t][^\n]*)*)", re.IGNORECASE
)
_NO_CODINGS: Final = frozenset({"identity", "none", "chunked"})
_CHARSET: Final = re.compile(rb";[\s]*charset[\s]*=[\s]*(\"[^\"]*\"|[^;\s]+)", re.IGNORECASE)


class Head(NamedTuple):
    """The parts of an HTTP head that decide what its body is, and where the body starts."""

    status: int | None
    media: Media
    codings: tuple[str, ...]
    """How the body is packed, in the order it was done: content codings, then transfer codings."""
    chunked: bool
    body_start: int


_HTTP_0_9: Final = Head(None, Media(""), (), chunked=False, body_start=0)
"""HTTP/0.9 has no head. As in browsers, a body is believed to be such a response if it is HTML by its first tag."""


def page_from_response(block: bytes, origin: Origin, *, cut: bool, settings: Settings) -> Outcome:
    """The page in an HTTP response. `cut` says that the record is longer than what was read of it."""
    head = read_head(block)
    if isinstance(head, str):
        return refuse(origin, BAD_HTTP, head)
    if not (settings.any_status or head.status is None or 200 <= head.status <= 299):
        return refuse(origin, HTTP_STATUS, str(head.status))
    if not may_be_html(head.media):
        return refuse(origin, NOT_HTML, head.media.mime)
    if cut:
        origin = origin._replace(truncated="length")
    body = block[head.body_start :]
    if head.chunked:
        body, complete = dechunk(body)
        if not complete:
            origin = origin._replace(truncated=origin.truncated or "disconnect")
    if head.codings:
        return _page_from_packed(body, origin, head=head, settings=settings)
    return make_page(body, origin, media=head.media, limit=settings.max_page_bytes, status=head.status)


def page_from_resource(block: bytes, origin: Origin, *, content_type: bytes, settings: Settings) -> Outcome:
    """The page in a body that was stored without an HTTP head."""
    media = media_of(content_type[:256])
    if not may_be_html(media):
        return refuse(origin, NOT_HTML, media.mime)
    return make_page(block, origin, media=media, limit=settings.max_page_bytes)


def read_head(block: bytes) -> Head | str:
    """The head of an HTTP response, or what is wrong with it."""
    start = 0
    line = _STATUS.match(block)
    if line is None:
        return _HTTP_0_9 if looks_like_html(block) else "no status line"
    while True:
        end = _HEAD_END.search(block, start, MAX_HEAD)
        if end is None and len(block) > MAX_HEAD:
            return f"head longer than {MAX_HEAD} bytes"
        body_start = end.end() if end else len(block)
        status = int(line[1])
        line = _STATUS.match(block, body_start) if status < 200 else None
        if line is None:
            return _head_of(block[start:body_start], status, body_start)
        start = body_start


def _head_of(head: bytes, status: int, body_start: int) -> Head:
    media: Media | None = None
    content_codings: list[str] = []
    transfer_codings: list[str] = []
    for name, value in _FIELDS.findall(head):
        field = name.lower()
        if field == b"content-type":
            # The first one counts, as in Common Crawl's index.
            media = media or media_of(value[:256])
        elif field == b"content-encoding":
            content_codings += _tokens(value)
        else:
            transfer_codings += _tokens(value)
    codings = tuple(coding for coding in content_codings + transfer_codings if coding not in _NO_CODINGS)
    return Head(status, media or Media(""), codings, "chunked" in transfer_codings, body_start)


def _tokens(value: bytes) -> list[str]:
    text = value[:256].decode("latin-1").lower()
    return [token for part in text.split(",") if (token := part.strip(" \t\r\n\"'"))]


@functools.lru_cache(maxsize=1024)
def media_of(content_type: bytes) -> Media:
    """Media type and charset of a Content-Type header."""
    mime = content_type.partition(b";")[0].strip().lower().decode("utf-8", "replace")
    charset = _CHARSET.search(content_type)
    return Media(mime, charset[1].decode("ascii", "replace") if charset else None)


def _page_from_packed(body: bytes, origin: Origin, *, head: Head, settings: Settings) -> Outcome:
    limit = settings.max_page_bytes
    # Some crawlers unpack the body but keep the header that says it is packed. No packed body starts with a tag.
    if body and not looks_like_html(body):
        try:
            body, truncated = decode_body(
                body, head.codings, limit=limit, max_compression_ratio=settings.max_compression_ratio
            )
        except BombError as error:
            return refuse(origin, DECOMPRESSION_BOMB, str(error))
        except CodingError:
            return refuse(origin, BAD_ENCODING, ", ".join(head.codings))
        if truncated:
            origin = origin._replace(truncated=origin.truncated or truncated)
    return make_page(body, origin, media=head.media, limit=limit, status=head.status)
