"""Why a record did not become a page.

Every record that is read ends as exactly one Page or one Reject, and a Reject carries one of these reasons. The
reasons marked with * say that the input itself is broken (`Reject.damaged`); the others are sound records that are
merely no page.

    reason                     what happened                                          detail
    -------------------------  -----------------------------------------------------  ----------------------------
    record_type_warcinfo       the archive describes itself (in ARC: filedesc://)     -
    record_type_request        what the crawler asked                                 -
    record_type_metadata       the crawler's notes                                    -
    record_type_revisit        "as before", without a body                            -
    record_type_conversion     a page turned into something else, such as text        -
    record_type_continuation   the rest of a record that was split                    -
    record_type_unknown        a record type that the standard does not know          the type
    http_status                the server did not answer with 2xx                     the status
    not_html                   declared, or by its first bytes, something else        the media type
    empty_body                 nothing, or nothing but white space                    -
    bad_http                   the block of a response is no HTTP message             what is wrong
    bad_encoding               the body is not packed the way its header says         the coding
    decompression_bomb         unpacks to more than max_compression_ratio times its size          the coding, or sizes
    damaged_record *           bytes that cannot be read as a record                  what is wrong
    truncated_record *         a record that ends early, with no page in what is left what is wrong
    bad_archive *              a zip file that lies about its members, or is cut off  what is wrong
    bad_json *                 a line that is no JSON object, or is far too long      what is wrong
    missing_column *           a table without html (or content)                      the name or its type
    unreadable_file *          the file system refuses: permission, I/O error, FIFO   the system's message
    empty_file *               a file or folder with nothing in it                    -
    unknown_format *           no kind of input that samehand knows                   what was found
    symlink                    links inside a folder are never followed               -
    reader_error *             an error in samehand itself while it made the page     exception and text
"""

from typing import Final

from samehand.base.page import Reject

HTTP_STATUS: Final = "http_status"
NOT_HTML: Final = "not_html"
EMPTY_BODY: Final = "empty_body"
BAD_HTTP: Final = "bad_http"
BAD_ENCODING: Final = "bad_encoding"
DECOMPRESSION_BOMB: Final = "decompression_bomb"
DAMAGED_RECORD: Final = "damaged_record"
TRUNCATED_RECORD: Final = "truncated_record"
BAD_ARCHIVE: Final = "bad_archive"
BAD_JSON: Final = "bad_json"
MISSING_COLUMN: Final = "missing_column"
UNREADABLE_FILE: Final = "unreadable_file"
EMPTY_FILE: Final = "empty_file"
UNKNOWN_FORMAT: Final = "unknown_format"
SYMLINK: Final = "symlink"
READER_ERROR: Final = "reader_error"

RECORD_TYPES: Final = frozenset({"warcinfo", "request", "metadata", "revisit", "conversion", "continuation"})
"""Record types that the standard knows and that never hold a page."""

DAMAGED: Final = frozenset(
    {
        DAMAGED_RECORD,
        TRUNCATED_RECORD,
        BAD_ARCHIVE,
        BAD_JSON,
        MISSING_COLUMN,
        UNREADABLE_FILE,
        EMPTY_FILE,
        UNKNOWN_FORMAT,
        READER_ERROR,
    }
)

MAX_DETAIL = 200


def record_type_reason(record_type: str) -> str:
    """Reason for a record whose type never holds a page."""
    return f"record_type_{record_type if record_type in RECORD_TYPES else 'unknown'}"


def reject(name: str, offset: int, *, reason: str, size: int = 0, url: str = "", detail: str = "") -> Reject:
    """A Reject with its detail bounded and made valid Unicode, and `damaged` taken from the reason."""
    return Reject(
        warc_filename=name,
        warc_record_offset=offset,
        reason=reason,
        bytes=size,
        url=url,
        detail=detail[:MAX_DETAIL].encode("utf-8", "replace").decode("utf-8"),
        damaged=reason in DAMAGED,
    )


def text_of(error: BaseException) -> str:
    """An exception as detail of a reject: its type and what it says."""
    return f"{type(error).__name__}: {error}"
