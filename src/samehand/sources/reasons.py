"""Why a record did not become a page: one table of all reasons.

A skip is no page by nature. A reject could have been a page. A damaged reject says that the input itself is broken.
"""

from typing import Final, Literal, NamedTuple

from samehand.base.page import Reject

MAX_DETAIL = 200


class Reason(NamedTuple):
    """A reason, what it means, and what the detail of such a reject holds."""

    name: str
    kind: Literal["skip", "reject", "damaged"]
    meaning: str
    detail: str = ""


_RECORD_TYPES: Final = (
    Reason("warcinfo", "skip", "the archive describes itself (filedesc in ARC)"),
    Reason("request", "skip", "what the crawler asked the server"),
    Reason("metadata", "skip", "notes of the crawler"),
    Reason("revisit", "skip", "a visit that found the same page as before, stored without a body"),
    Reason(
        "conversion", "skip", "a page that was converted to something else; plain text (Common Crawl's WET) is read"
    ),
    Reason("continuation", "skip", "the rest of a record that was split over several files"),
)
SKIPPED_TYPES: Final = frozenset(reason.name for reason in _RECORD_TYPES)
"""Types of WARC records that never hold a page. A type is the reason of its skips."""

REASONS: Final = (
    *_RECORD_TYPES,
    SYMLINK := Reason("symlink", "skip", "a symbolic link inside a folder; links are never followed"),
    UNKNOWN_RECORD_TYPE := Reason("unknown_record_type", "reject", "a record type that WARC does not have", "the type"),
    HTTP_STATUS := Reason("http_status", "reject", "the server did not answer with 2xx", "the status"),
    NOT_HTML := Reason("not_html", "reject", "not HTML by its declared type or its first bytes", "the media type"),
    NOT_MAIL := Reason("not_mail", "reject", "a file, or the text after a From line, without a mail header"),
    EMPTY_BODY := Reason("empty_body", "reject", "nothing, or nothing but white space"),
    BAD_HTTP := Reason("bad_http", "reject", "a response that is not an HTTP message", "what is wrong"),
    BAD_ENCODING := Reason("bad_encoding", "reject", "a body that is not packed as its header says", "the coding"),
    DECOMPRESSION_BOMB := Reason(
        "decompression_bomb", "reject", "unpacks to more than max_compression_ratio times its size", "the sizes"
    ),
    DAMAGED_RECORD := Reason("damaged_record", "damaged", "bytes that cannot be read as a record", "what is wrong"),
    TRUNCATED_RECORD := Reason(
        "truncated_record", "damaged", "a record that ends early, with no page in what is left", "what is wrong"
    ),
    BAD_ARCHIVE := Reason(
        "bad_archive", "damaged", "a zip file that is cut off or contradicts itself about its members", "what is wrong"
    ),
    BAD_JSON := Reason("bad_json", "damaged", "a line that is not a JSON object, or is far too long", "what is wrong"),
    BAD_ROW := Reason("bad_row", "damaged", "a row of CSV that cannot be read, or is far too long", "what is wrong"),
    MISSING_COLUMN := Reason(
        "missing_column",
        "damaged",
        "a table or a row without a column that is to be read",
        "the wanted and the found columns",
    ),
    UNREADABLE_FILE := Reason(
        "unreadable_file", "damaged", "the system refuses to read it, or it is not a regular file", "what it said"
    ),
    EMPTY_FILE := Reason("empty_file", "damaged", "a file or a folder with nothing in it"),
    UNKNOWN_FORMAT := Reason("unknown_format", "damaged", "not an input that samehand reads", "how it starts"),
    READER_ERROR := Reason("reader_error", "damaged", "an error in samehand while it made the page", "the error"),
)


def reject(
    source_path: str, offset: int, *, reason: Reason, size: int = 0, url: str = "", detail: str = "", doc_id: str = ""
) -> Reject:
    """A Reject whose detail is short and valid Unicode."""
    return Reject(
        source_path=source_path,
        warc_record_offset=offset,
        reason=reason.name,
        bytes=size,
        url=url,
        detail=detail[:MAX_DETAIL].encode("utf-8", "replace").decode("utf-8"),
        damaged=reason.kind == "damaged",
        doc_id=doc_id,
    )


def text_of(error: BaseException) -> str:
    """An exception as the detail of a reject: its type and its message."""
    return f"{type(error).__name__}: {error}"
