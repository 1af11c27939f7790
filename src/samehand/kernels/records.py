"""The records of an archive, read where they lie: heads become rows of offsets.

Only what is plain becomes a page here. Whatever is odd in a sound record makes it OTHER: the careful functions of
`samehand.sources` decide about its bytes. A record that is not sound ends the table. So both ways give the same pages.
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.record_table import (
    BLOCK,
    BODY,
    CHARSET,
    DATE,
    DATE_END,
    DIGEST,
    DIGEST_BYTES,
    END,
    HEAD,
    KIND,
    MIME,
    MIMES,
    NONE,
    OTHER,
    PAGE,
    RECORD_END,
    SKIPPED_TYPES,
    STATUS,
    URL,
    URL_END,
    UTF_8,
)
from samehand.kernels.utf8 import wide_character

_MAX_HEAD = 64 << 10
_MAX_URL = 8192
_MAX_DIGITS = 15
_MAX_TYPE = 250
_PRESCAN = 1024
_META_GAP = 500
_WIDE_LOOK = 256

_TAB, _LF, _CR, _BLANK, _DOT, _SLASH, _COLON, _SEMICOLON, _LESS, _EQUALS, _GREATER = b"\t\n\r ./:;<=>"
_QUOTE, _APOSTROPHE, _LETTER_C = b"\"'c"


class Plain(NamedTuple):
    """What makes a plain page: the longest body, whether every status will do, and the labels of charsets.

    Label i, in lower case, is `labels[bounds[i]:bounds[i + 1]]`; the first is UTF-8. These need no transcoding.
    """

    most: int
    any_status: bool
    labels: NDArray[np.uint8]
    bounds: NDArray[np.int64]


def _end_to_end(*texts: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts laid end to end, and where each begins."""
    return np.frombuffer("".join(texts).encode(), np.uint8), np.cumsum([0, *map(len, texts)])


def _set_of(members: bytes) -> NDArray[np.bool_]:
    return np.isin(np.arange(256), list(members))


_LOWER = np.frombuffer(bytes(range(256)).lower(), np.uint8)
_IS_DIGIT = _set_of(b"0123456789")
_IS_SPACE = _set_of(b" \t\n\r\v\f")
_IS_NAME = _set_of(b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_IS_LABEL = _IS_NAME | _set_of(b"_.:")
_IS_ODD_START = _set_of(b"%GP\x00\x1f\x89\xef\xfe\xff")
_IS_VALUE = _set_of(bytes(range(32, 256)) + b"\t")

_WARC_FIELDS, _WARC_BOUNDS = _end_to_end(
    "content-length", "warc-type", "warc-target-uri", "warc-date", "warc-payload-digest", "warc-truncated"
)
_LENGTH, _TYPE, _URI, _DATE, _PAYLOAD, _TRUNCATED = range(6)
_HTTP_FIELDS, _HTTP_BOUNDS = _end_to_end("content-type", "content-encoding", "transfer-encoding")
_TYPES, _TYPE_BOUNDS = _end_to_end("response", *SKIPPED_TYPES)
_MIMES, _MIME_BOUNDS = _end_to_end(*MIMES)
_WORDS, _WORD_BOUNDS = _end_to_end("WARC/", "HTTP/", "charset", "<meta", "<!--", "-->", "sha1:")
# Not plain numbers: numba would compile a function again for each of them.
_WARC, _HTTP, _CHARSET_WORD, _META, _COMMENT, _COMMENT_END, _SHA1 = map(np.int64, range(7))


@nb.njit(cache=True, nogil=True)
def gather(
    raw: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    out: NDArray[np.uint8],
    places: NDArray[np.int64],
) -> None:
    """Copies spans of `raw` to their places in `out`."""
    for span in range(starts.size):
        at = np.uint64(places[span])
        for position in range(np.uint64(starts[span]), np.uint64(ends[span])):
            out[at] = raw[position]
            at += np.uint64(1)


@nb.njit(cache=True, nogil=True)
def read_records(
    raw: NDArray[np.uint8], ends: NDArray[np.int64], packed: bool, plain: Plain, table: NDArray[np.int64]
) -> int:
    """Fills a row for each sound record, from the start of `raw` up to the first that is not sound. Returns how many.

    If `packed`, a record has to fill the member that ends at its place in `ends`. Else it has to be followed by another
    one, or to end at `ends[0]`: the end of the file, or a place that is not in `raw`.
    """
    start: Any = np.int64(0)
    for place in range(len(table)):
        row = table[place]
        if packed and place == ends.size:
            return place
        bound: Any = ends[place] if packed else np.int64(raw.size)
        length = _read_head(raw, start, min(bound, start + _MAX_HEAD), row)
        end = row[BLOCK] + length
        behind = end + RECORD_END
        if length == NONE or behind > bound or (packed and behind != bound):
            return place
        if raw[end] != _CR or raw[end + 1] != _LF or raw[end + 2] != _CR or raw[end + 3] != _LF:
            return place
        if not packed and behind != ends[0] and not _is_at(raw, behind, bound, _WARC):
            return place
        row[END] = end
        if row[KIND] == PAGE and not (_read_response(raw, plain, row) and _read_body(raw, plain, row)):
            row[KIND] = OTHER
        start = behind
    return len(table)


@helper
def _read_head(raw: NDArray[np.uint8], start: int, bound: int, row: NDArray[np.int64]) -> int:
    """Fills what the head of a record says. Returns the length of the block, NONE if any line is unusual.

    The kind is PAGE where everything in the head may belong to a plain page.
    """
    for column in range(row.size):
        row[column] = NONE
    row[HEAD] = start
    at = start + 8
    if at > bound or not _is_at(raw, start, bound, _WARC):
        return NONE
    if not _IS_DIGIT[raw[at - 3]] or raw[at - 2] != _DOT or not _IS_DIGIT[raw[at - 1]]:
        return NONE
    length, seen, is_odd = NONE, 0, False
    while at + 4 <= bound and raw[at] == _CR and raw[at + 1] == _LF:
        at += 2
        if raw[at] == _CR and raw[at + 1] == _LF:
            row[BLOCK] = at + 2
            if row[KIND] == NONE or (row[KIND] == PAGE and (is_odd or row[URL] == NONE)):
                row[KIND] = OTHER
            return length
        name = at
        while at < bound and _IS_NAME[raw[at]]:
            at += 1
        if at >= bound or raw[at] != _COLON:
            return NONE
        field = _find(raw, name, at, _WARC_FIELDS, _WARC_BOUNDS)
        at += 1
        while at < bound and (raw[at] == _BLANK or raw[at] == _TAB):
            at += 1
        value = at
        while at < bound and _IS_VALUE[raw[at]]:
            at += 1
        end = _end_of_value(raw, value, at)
        if field != NONE and seen >> field & 1:
            return NONE
        seen |= (1 << field) if field != NONE else 0
        if field == _LENGTH:
            length = _number(raw, value, end)
            if length == NONE:
                return NONE
        elif field == _TYPE:
            row[KIND] = _find(raw, value, end, _TYPES, _TYPE_BOUNDS)
        elif field == _URI:
            row[URL], row[URL_END] = value, end
            is_odd |= not _is_plain_url(raw, value, end)
        elif field == _DATE:
            row[DATE], row[DATE_END] = value, end
        elif field == _PAYLOAD and end - value == 5 + DIGEST_BYTES and _is_at(raw, value, end, _SHA1):
            row[DIGEST] = value + 5
        elif field == _TRUNCATED:
            is_odd = True
    return NONE


@helper
def _is_plain_url(raw: NDArray[np.uint8], start: int, end: int) -> bool:
    """Whether the URL is printable ASCII without brackets around it, so that it is taken as it stands."""
    at = start
    while at < end and _BLANK < raw[at] < 127:
        at += 1
    return at == end and 0 < end - start <= _MAX_URL and raw[start] != _LESS


@helper
def _read_response(raw: NDArray[np.uint8], plain: Plain, row: NDArray[np.int64]) -> bool:
    """Fills status, type, charset and body of a response. False if anything in its head is odd."""
    at, bound = row[BLOCK], min(row[END], row[BLOCK] + _MAX_HEAD)
    if bound - at < 16 or not _is_at(raw, at, bound, _HTTP) or not _IS_DIGIT[raw[at + 5]]:
        return False
    at += 8 if raw[at + 6] == _DOT else 6
    if not _IS_DIGIT[raw[at - 1]] or raw[at] != _BLANK or _IS_DIGIT[raw[at + 4]]:
        return False
    row[STATUS] = _number(raw, at + 1, at + 4)
    if row[STATUS] < 200 or (row[STATUS] > 299 and not plain.any_status):
        return False
    while True:
        while at < bound and raw[at] != _LF:
            at += 1
        at += 1
        if at + 1 >= bound or raw[at] == _BLANK or raw[at] == _TAB:
            return False
        if raw[at] == _LF or (raw[at] == _CR and raw[at + 1] == _LF):
            row[BODY] = at + 1 if raw[at] == _LF else at + 2
            return bool(row[MIME] != NONE)
        name = at
        while at < bound and raw[at] != _COLON and raw[at] != _LF:
            at += 1
        if at == bound or raw[at] == _LF:
            continue
        field = _find(raw, name, _end_of_value(raw, name, at), _HTTP_FIELDS, _HTTP_BOUNDS)
        # The first type counts. A body that is packed or in chunks is not plain.
        if field > 0 or (field == 0 and row[MIME] == NONE and not _read_type(raw, at + 1, bound, plain, row)):
            return False


@helper
def _read_type(raw: NDArray[np.uint8], at: int, bound: int, plain: Plain, row: NDArray[np.int64]) -> bool:
    """Whether a Content-Type is that of HTML, alone or with a charset that needs no transcoding."""
    end = at
    while end < bound and raw[end] != _LF:
        end += 1
    if end - at > _MAX_TYPE:
        return False
    end = _end_of_value(raw, at, end - (raw[end - 1] == _CR))
    while at < end and (raw[at] == _BLANK or raw[at] == _TAB):
        at += 1
    name = at
    while at < end and raw[at] != _SEMICOLON:
        at += 1
    row[MIME] = _find(raw, name, at, _MIMES, _MIME_BOUNDS)
    if row[MIME] == NONE or at == end:
        return bool(row[MIME] != NONE)
    at += 1
    while at < end and (raw[at] == _BLANK or raw[at] == _TAB):
        at += 1
    if not _is_at(raw, at, end, _CHARSET_WORD) or at + 8 > end or raw[at + 7] != _EQUALS:
        return False
    row[CHARSET] = _find(raw, at + 8, end, plain.labels, plain.bounds)
    return bool(row[CHARSET] != NONE)


@helper
def _read_body(raw: NDArray[np.uint8], plain: Plain, row: NDArray[np.int64]) -> bool:
    """Whether the body is text of a known charset, or of none. Fills the charset that its first bytes name."""
    start, bound = row[BODY], row[END]
    if not 4 < bound - start <= plain.most:
        return False
    if raw[start] == 0xEF and raw[start + 1] == 0xBB and raw[start + 2] == 0xBF:
        row[CHARSET] = UTF_8  # a byte order mark wins
        return True
    at, end = start, min(bound, start + _PRESCAN)
    while at < end and _IS_SPACE[raw[at]]:
        at += 1
    # Only white space, or what may be a binary format or a wide charset.
    if at == end or _IS_ODD_START[raw[start]]:
        return False
    if row[CHARSET] == NONE and not _prescan(raw, start, end, plain, row):
        return False
    if row[CHARSET] != NONE:
        return True
    at, end = start, min(bound, start + _WIDE_LOOK)
    while at < end and raw[at] != 0:
        at += 1
    return at == end and _is_utf8(raw, np.uint64(start), np.uint64(bound))


@helper
def _is_utf8(raw: NDArray[np.uint8], at: np.uint64, end: np.uint64) -> bool:
    """Whether the bytes are UTF-8. Where a page names no charset and is not, the careful reader guesses it."""
    while at < end:
        if raw[at] < 0x80:
            at += np.uint64(1)
            continue
        code, length = wide_character(raw, at, end)
        if code == 0:
            return False
        at += length
    return True


@helper
def _prescan(raw: NDArray[np.uint8], start: int, end: int, plain: Plain, row: NDArray[np.int64]) -> bool:
    """Fills the charset that the first `<meta>` with one names. False if it is written in an unusual way.

    This is the first match of the pattern in `samehand.sources.http.charset`: between `<meta` and the word there is no
    `>`, and what stands in a comment does not count. A comment that tears something apart is unusual.
    """
    meta, at = np.int64(NONE), start
    while at < end:
        byte = raw[at]
        if byte == _GREATER:
            meta = np.int64(NONE)
        elif byte == _LESS and _is_at(raw, at, end, _META):
            meta = np.int64(at)
        elif byte == _LESS and _is_at(raw, at, end, _COMMENT):
            if at > start and raw[at - 1] != _GREATER and not _IS_SPACE[raw[at - 1]]:
                return False
            at += 4
            while at < end and not _is_at(raw, at, end, _COMMENT_END):
                at += 1
            at += 2
        elif meta != NONE and _LOWER[byte] == _LETTER_C and _is_at(raw, at, end, _CHARSET_WORD):
            if at - meta > _META_GAP or not (_IS_SPACE[raw[meta + 5]] or raw[meta + 5] == _SLASH):
                return False
            _read_label(raw, at + 7, end, plain, row)
            return bool(row[CHARSET] != NONE)
        at += 1
    return True


@helper
def _read_label(raw: NDArray[np.uint8], at: int, end: int, plain: Plain, row: NDArray[np.int64]) -> None:
    """Fills the charset of a label like `="utf-8"`, if it is written without white space and is known."""
    if at + 1 >= end or raw[at] != _EQUALS:
        return
    at += 2 if raw[at + 1] == _QUOTE or raw[at + 1] == _APOSTROPHE else 1
    label = at
    while at < end and _IS_LABEL[raw[at]]:
        at += 1
    if at == end or raw[at] != _LESS:
        row[CHARSET] = _find(raw, label, at, plain.labels, plain.bounds)


@helper
def _find(raw: NDArray[np.uint8], start: int, end: int, texts: NDArray[np.uint8], bounds: NDArray[np.int64]) -> int:
    """Which of the lower-case texts stands in [start, end), in letters of any case; NONE if none does."""
    size = end - start
    for text in range(bounds.size - 1):
        first = bounds[text]
        if bounds[text + 1] - first == size:
            at = 0
            while at < size and _LOWER[raw[start + at]] == texts[first + at]:
                at += 1
            if at == size:
                return text
    return NONE


@helper
def _is_at(raw: NDArray[np.uint8], start: int, bound: int, word: np.int64) -> bool:
    """Whether a word stands at `start`. Its small letters may be capitals there."""
    at = _WORD_BOUNDS[word]
    if start + _WORD_BOUNDS[word + 1] - at > bound:
        return False
    place = start
    while at < _WORD_BOUNDS[word + 1] and (raw[place] == _WORDS[at] or _LOWER[raw[place]] == _WORDS[at]):
        at += 1
        place += 1
    return bool(at == _WORD_BOUNDS[word + 1])


@helper
def _end_of_value(raw: NDArray[np.uint8], start: int, end: int) -> int:
    """The end without the blanks before it."""
    while end > start and (raw[end - 1] == _BLANK or raw[end - 1] == _TAB):
        end -= 1
    return end


@helper
def _number(raw: NDArray[np.uint8], start: int, end: int) -> int:
    """A decimal number, NONE if it is none or too long."""
    number, at = 0, start
    while at < end and _IS_DIGIT[raw[at]]:
        number = 10 * number + raw[at] - 48
        at += 1
    return number if at == end and 0 < end - start <= _MAX_DIGITS else NONE
