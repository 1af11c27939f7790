"""The records of an archive, read where they lie: gzip members are unpacked end to end, heads become rows of offsets.

Only what is plain becomes a page here. Whatever is odd in a record that is sound is OTHER: the careful functions of
`samehand.sources` decide about its bytes. A record that is not sound ends the table. So both ways give the same pages.
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numba import extending
from numpy.typing import NDArray

from samehand.base.record_table import (
    BLOCK,
    BODY,
    CHARSET,
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
    TIME,
    URL,
    URL_END,
)

UTF_8 = 0
"""The place of UTF-8 among the charsets."""

FULL, BAD, DONE = 0, 1, 2
"""Why unpacking ended: there is no room left, a member cannot be unpacked, or all is unpacked."""

_GUNZIP_ARGUMENTS = 7
_NO_SPACE = 3
"""What libdeflate answers if the room is too short."""
_ODD_FLAGS = 0xE2
"""A checksum of the gzip header, which libdeflate does not check, and flags that gzip does not have."""
_MAX_HEAD = 64 << 10
_MAX_URL = 8192
_MAX_TYPE = 250
_PRESCAN = 1024
_WIDE_LOOK = 256
_META_GAP = 500

_LF, _CR, _TAB, _BLANK, _COLON, _LESS, _GREATER = 10, 13, 9, 32, 58, 60, 62


class Plain(NamedTuple):
    """What makes a plain page: the longest body, whether every status will do, and the labels of charsets.

    Label i, in lower case, is `labels[bounds[i]:bounds[i + 1]]`; the first is UTF-8. These need no transcoding.
    """

    most: int
    any_status: bool
    labels: NDArray[np.uint8]
    bounds: NDArray[np.int64]


def _constant(*texts: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts end to end, and where each begins."""
    data = np.frombuffer("".join(texts).encode(), np.uint8)
    return data, np.cumsum([0, *map(len, texts)])


_WARC_FIELDS, _WARC_BOUNDS = _constant(
    "content-length", "warc-type", "warc-target-uri", "warc-date", "warc-payload-digest", "warc-truncated"
)
_LENGTH, _TYPE, _URI, _DATE, _PAYLOAD, _TRUNCATED = range(6)
_HTTP_FIELDS, _HTTP_BOUNDS = _constant("content-type", "content-encoding", "transfer-encoding")
_TYPES, _TYPE_BOUNDS = _constant("response", *SKIPPED_TYPES)
_MIMES, _MIME_BOUNDS = _constant(*MIMES)
_WORDS, _WORD_BOUNDS = _constant("charset", "<meta", "sha1:", "WARC/", "HTTP/")
_CHARSET_WORD, _META, _SHA1, _WARC, _HTTP = map(np.int64, range(5))

_intrinsic: Any = extending.intrinsic
_types: Any = nb.types


@_intrinsic
def _call(_typing: Any, function: Any, arguments: Any) -> Any:
    """Calls the C function at an address with addresses and sizes. The result is an int."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        from llvmlite import ir

        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * _GUNZIP_ARGUMENTS)
        numbers = [builder.extract_value(values[1], place) for place in range(_GUNZIP_ARGUMENTS)]
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), numbers)

    return _types.int32(_types.uint64, _types.UniTuple(_types.uint64, _GUNZIP_ARGUMENTS)), generate


@nb.njit(cache=True, nogil=True)
def unpack_members(
    gunzip: np.uint64,
    unpacker: np.uint64,
    packed: NDArray[np.uint8],
    limit: int,
    raw: NDArray[np.uint8],
    goal: int,
    sizes: NDArray[np.uint64],
    members: NDArray[np.int64],
) -> tuple[int, int]:
    """Unpacks gzip members that start before `limit` into `raw`, until `goal` bytes are there.

    `gunzip` and `unpacker` are the addresses of libdeflate_gzip_decompress_ex and its state, `sizes` is room for two
    numbers. A row of `members` says where a member ends in `packed` and in `raw`. Returns their number and how it ended.
    """
    at = filled = count = 0
    source, target = np.uint64(packed.ctypes.data), np.uint64(raw.ctypes.data)
    used, written = np.uint64(sizes.ctypes.data), np.uint64(sizes.ctypes.data + 8)
    while at < limit:
        if filled >= goal or count == len(members):
            return count, FULL
        if at + 4 > packed.size or packed[at + 3] & _ODD_FLAGS:
            return count, BAD
        found = _call(
            gunzip,
            (
                unpacker,
                source + np.uint64(at),
                np.uint64(packed.size - at),
                target + np.uint64(filled),
                np.uint64(raw.size - filled),
                used,
                written,
            ),
        )
        if found:
            return count, FULL if found == _NO_SPACE and count else BAD
        at += np.int64(sizes[0])
        filled += np.int64(sizes[1])
        members[count, 0], members[count, 1] = at, filled
        count += 1
    return count, DONE


@nb.njit(cache=True, nogil=True)
def read_members(raw: NDArray[np.uint8], ends: NDArray[np.int64], plain: Plain, table: NDArray[np.int64]) -> int:
    """A row for each member of `raw` that is a sound record, up to the first that is none. Returns their number."""
    start = np.int64(0)  # numba would compile everything again for a literal
    for member in range(ends.size):
        end = ends[member]
        if _read_record(raw, start, end, plain, table[member]) != end:
            return member
        start = end
    return int(ends.size)


@nb.njit(cache=True, nogil=True)
def read_end_to_end(raw: NDArray[np.uint8], is_end: bool, plain: Plain, table: NDArray[np.int64]) -> int:
    """The same for records that are not packed. Each has to be followed by another one, or by the end of the file.

    `is_end` says that `raw` reaches to the end of the file.
    """
    at = np.int64(0)
    for place in range(len(table)):
        end = _read_record(raw, at, raw.size, plain, table[place])
        if end == NONE or not (_is_at(raw, end, raw.size, _WARC) or (is_end and end == raw.size)):
            return place
        at = end
    return len(table)


@nb.njit(cache=True, nogil=True)
def gather(raw: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
    """Copies spans of `raw` to `out`, end to end."""
    at = np.uint64(0)
    for place in range(starts.size):
        for position in range(np.uint64(starts[place]), np.uint64(ends[place])):
            out[at] = raw[position]
            at += np.uint64(1)


@nb.njit(cache=True, nogil=True)
def _read_record(raw: NDArray[np.uint8], start: int, bound: int, plain: Plain, row: NDArray[np.int64]) -> int:
    """Fills the row of the record at `start`. Returns its end, NONE if it is not sound or reaches over `bound`."""
    row[:] = NONE
    row[KIND], row[HEAD] = OTHER, start
    length = _read_warc_head(raw, start, min(bound, start + _MAX_HEAD), row)
    end = row[BLOCK] + length
    if length < 0 or end + RECORD_END > bound:
        return NONE
    if raw[end] != _CR or raw[end + 1] != _LF or raw[end + 2] != _CR or raw[end + 3] != _LF:
        return NONE
    row[END] = end
    if row[KIND] == PAGE and not (_read_http_head(raw, plain, row) and _is_plain_body(raw, plain, row)):
        row[KIND] = OTHER
    return end + RECORD_END


@nb.njit(cache=True, nogil=True)
def _read_warc_head(raw: NDArray[np.uint8], start: int, bound: int, row: NDArray[np.int64]) -> int:
    """Fills what the head of a record says. Returns the length of the block, NONE if any line is unusual.

    The kind is PAGE where everything in the head may belong to a plain page.
    """
    at = start + 8
    if at > bound or not _is_at(raw, start, bound, _WARC):
        return NONE
    if not _is_digit(raw[at - 3]) or raw[at - 2] != 46 or not _is_digit(raw[at - 1]):
        return NONE
    length, seen, kind, is_odd = NONE, 0, OTHER, False
    while at + 4 <= bound and raw[at] == _CR and raw[at + 1] == _LF:
        at += 2
        if raw[at] == _CR and raw[at + 1] == _LF:
            row[BLOCK] = at + 2
            is_odd |= row[URL] == NONE or row[TIME] == NONE
            row[KIND] = OTHER if kind == PAGE and is_odd else kind
            return length
        name = at
        while at < bound and _is_name_byte(raw[at]):
            at += 1
        if at >= bound or raw[at] != _COLON:
            return NONE
        field = _find(raw, name, at, _WARC_FIELDS, _WARC_BOUNDS)
        at += 1
        while at < bound and (raw[at] == _BLANK or raw[at] == _TAB):
            at += 1
        value = at
        while at < bound and (raw[at] >= _BLANK or raw[at] == _TAB):
            at += 1
        end = at
        while end > value and (raw[end - 1] == _BLANK or raw[end - 1] == _TAB):
            end -= 1
        if field == NONE:
            continue
        if seen >> field & 1:
            return NONE
        seen |= 1 << field
        if field == _LENGTH:
            length = _number(raw, value, end)
            if length == NONE:
                return NONE
        elif field == _TYPE:
            kind = _kind(_find(raw, value, end, _TYPES, _TYPE_BOUNDS))
        elif field == _URI:
            is_odd |= not _read_url(raw, value, end, row)
        elif field == _DATE:
            row[TIME] = _time(raw, value, end)
        elif field == _PAYLOAD:
            row[DIGEST] = _digest(raw, value, end)
        else:
            is_odd = True
    return NONE


@nb.njit(cache=True, nogil=True)
def _kind(found: int) -> int:
    return OTHER if found == NONE else found


@nb.njit(cache=True, nogil=True)
def _read_url(raw: NDArray[np.uint8], start: int, end: int, row: NDArray[np.int64]) -> bool:
    """Whether the URL is printable ASCII without brackets around it, so that it is taken as it stands."""
    row[URL], row[URL_END] = start, end
    if not 0 < end - start <= _MAX_URL or raw[start] == _LESS:
        return False
    at = start
    while at < end and _BLANK < raw[at] < 127:
        at += 1
    return at == end


@nb.njit(cache=True, nogil=True)
def _time(raw: NDArray[np.uint8], start: int, end: int) -> int:
    """Milliseconds since 1970 of a date like 2026-01-31T12:00:00Z, with or without milliseconds; NONE for others.

    The days are counted as in H. Hinnant, chrono-compatible low-level date algorithms, section days_from_civil.
    """
    size = end - start
    if (size != 20 and size != 24) or raw[end - 1] != 90 or raw[start + 10] != 84:
        return NONE
    if raw[start + 4] != 45 or raw[start + 7] != 45 or raw[start + 13] != _COLON or raw[start + 16] != _COLON:
        return NONE
    year, month, day = (
        _number(raw, start, start + 4),
        _number(raw, start + 5, start + 7),
        _number(raw, start + 8, start + 10),
    )
    hour, minute = _number(raw, start + 11, start + 13), _number(raw, start + 14, start + 16)
    second, part = _number(raw, start + 17, start + 19), 0
    if size == 24:
        part = _number(raw, start + 20, start + 23) if raw[start + 19] == 46 else NONE
    # A day above 28 may not exist in its month: the careful functions know.
    if (
        year < 1970
        or not 1 <= month <= 12
        or not 1 <= day <= 31
        or (day > 28 and month == 2)
        or (day > 30 and month in (4, 6, 9, 11))
    ):
        return NONE
    if not 0 <= hour < 24 or not 0 <= minute < 60 or not 0 <= second < 60 or part < 0:
        return NONE
    march_year, march_month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    century = march_year // 400
    of_century = march_year - 400 * century
    days = 365 * of_century + of_century // 4 - of_century // 100 + (153 * march_month + 2) // 5 + day - 1
    days += 146097 * century - 719468
    return ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + part


@nb.njit(cache=True, nogil=True)
def _digest(raw: NDArray[np.uint8], start: int, end: int) -> int:
    """Where a SHA-1 in base 32 starts, NONE if the value is something else."""
    digits = start + 5
    if end - digits != DIGEST_BYTES or not _is_at(raw, start, end, _SHA1):
        return NONE
    for at in range(digits, end):
        letter = raw[at] & 0xDF
        if not (65 <= letter <= 90 or 50 <= raw[at] <= 55) or raw[at] > 127:
            return NONE
    return digits


@nb.njit(cache=True, nogil=True)
def _read_http_head(raw: NDArray[np.uint8], plain: Plain, row: NDArray[np.int64]) -> bool:
    """Fills status, type, charset and body of a response. False if anything in its head is odd."""
    at, bound = row[BLOCK], min(row[END], row[BLOCK] + _MAX_HEAD)
    if bound - at < 16 or not _is_at(raw, at, bound, _HTTP) or not _is_digit(raw[at + 5]):
        return False
    at += 6
    if raw[at] == 46:
        at += 2
    if not _is_digit(raw[at - 1]) or raw[at] != _BLANK or _is_digit(raw[at + 4]):
        return False
    status = _number(raw, at + 1, at + 4)
    if status < 200 or (status > 299 and not plain.any_status):
        return False
    row[STATUS] = status
    while True:
        while at < bound and raw[at] != _LF:
            at += 1
        at += 1
        if at + 1 >= bound or raw[at] == _BLANK or raw[at] == _TAB:
            return False
        if raw[at] == _LF or (raw[at] == _CR and raw[at + 1] == _LF):
            row[BODY] = at + 1 if raw[at] == _LF else at + 2
            return row[MIME] != NONE
        name = at
        while at < bound and raw[at] != _COLON and raw[at] != _LF:
            at += 1
        end = at
        while end > name and (raw[end - 1] == _BLANK or raw[end - 1] == _TAB):
            end -= 1
        if at == bound or raw[at] == _LF:
            continue
        field = _find(raw, name, end, _HTTP_FIELDS, _HTTP_BOUNDS)
        # The first type counts. A body that is packed or in chunks is not plain.
        if field > 0 or (field == 0 and row[MIME] == NONE and not _read_type(raw, at + 1, bound, plain, row)):
            return False


@nb.njit(cache=True, nogil=True)
def _read_type(raw: NDArray[np.uint8], at: int, bound: int, plain: Plain, row: NDArray[np.int64]) -> bool:
    """Whether a Content-Type is that of HTML, alone or with a charset that needs no transcoding."""
    end = at
    while end < bound and raw[end] != _LF:
        end += 1
    if end - at > _MAX_TYPE:
        return False
    while end > at and (raw[end - 1] == _CR or raw[end - 1] == _BLANK or raw[end - 1] == _TAB):
        end -= 1
    at = _behind_blanks(raw, at, end)
    name = at
    while at < end and raw[at] != 59:
        at += 1
    row[MIME] = _find(raw, name, at, _MIMES, _MIME_BOUNDS)
    if row[MIME] == NONE or at == end:
        return row[MIME] != NONE
    at = _behind_blanks(raw, at + 1, end)
    if not _is_at(raw, at, end, _CHARSET_WORD) or at + 8 > end or raw[at + 7] != 61:
        return False
    row[CHARSET] = _find(raw, at + 8, end, plain.labels, plain.bounds)
    return row[CHARSET] != NONE


@nb.njit(cache=True, nogil=True)
def _is_plain_body(raw: NDArray[np.uint8], plain: Plain, row: NDArray[np.int64]) -> bool:
    """Whether the body is text of a known charset, or of none. Fills the charset that a `<meta>` names."""
    start, bound = row[BODY], row[END]
    if not 0 < bound - start <= plain.most:
        return False
    end = min(bound, start + _PRESCAN)
    if end - start > 3 and raw[start] == 0xEF and raw[start + 1] == 0xBB and raw[start + 2] == 0xBF:
        row[CHARSET] = UTF_8  # a byte order mark wins
        return True
    at = start
    while at < end and _is_space(raw[at]):
        at += 1
    # What starts otherwise may be a binary format or a wide charset.
    if at == end or not (raw[start] == _LESS or _is_space(raw[start])):
        return False
    if row[CHARSET] != NONE:
        return True
    if _prescan(raw, start, end, plain, row):
        return row[CHARSET] != NONE
    at, end = start, min(bound, start + _WIDE_LOOK)
    while at < end and raw[at] != 0:
        at += 1
    return at == end


@nb.njit(cache=True, nogil=True)
def _prescan(raw: NDArray[np.uint8], start: int, end: int, plain: Plain, row: NDArray[np.int64]) -> bool:
    """Whether the word charset is there. Fills what it says, if the first one stands in a `<meta>` without comments.

    Any match of the pattern in `samehand.sources.http.charset` that starts further on, or reaches further, would need
    another one before this. So this is the match that counts.
    """
    last_less = np.int64(NONE)
    for at in range(start, end):
        byte = raw[at]
        if byte == _LESS:
            last_less = at
            if at + 4 <= end and raw[at + 1] == 33 and raw[at + 2] == 45 and raw[at + 3] == 45:
                return _has_charset(raw, at, end)
        elif byte == _GREATER:
            last_less = NONE
        elif byte | 32 == 99 and _is_at(raw, at, end, _CHARSET_WORD):
            if last_less != NONE and at - last_less < _META_GAP and _is_meta(raw, last_less, end):
                _read_label(raw, at + 7, end, plain, row)
            return True
    return False


@nb.njit(cache=True, nogil=True)
def _has_charset(raw: NDArray[np.uint8], start: int, end: int) -> bool:
    at = start
    while at < end and not _is_at(raw, at, end, _CHARSET_WORD):
        at += 1
    return at < end


@nb.njit(cache=True, nogil=True)
def _is_meta(raw: NDArray[np.uint8], start: int, end: int) -> bool:
    return _is_at(raw, start, end, _META) and (raw[start + 5] == 47 or _is_space(raw[start + 5]))


@nb.njit(cache=True, nogil=True)
def _read_label(raw: NDArray[np.uint8], at: int, end: int, plain: Plain, row: NDArray[np.int64]) -> None:
    """Fills the charset of a label like `="utf-8"`, if it is written without white space and is known."""
    if at >= end or raw[at] != 61:
        return
    at += 1
    if at < end and (raw[at] == 34 or raw[at] == 39):
        at += 1
    label = at
    while at < end and (_is_name_byte(raw[at]) or raw[at] == 95 or raw[at] == 46 or raw[at] == _COLON):
        at += 1
    row[CHARSET] = _find(raw, label, at, plain.labels, plain.bounds)


@nb.njit(cache=True, nogil=True)
def _find(raw: NDArray[np.uint8], start: int, end: int, texts: NDArray[np.uint8], bounds: NDArray[np.int64]) -> int:
    """Which of the lower-case texts stands in [start, end), in letters of any case; NONE if none does."""
    size = end - start
    for text in range(bounds.size - 1):
        first = bounds[text]
        if bounds[text + 1] - first != size:
            continue
        at = 0
        while at < size and _lower(raw[start + at]) == texts[first + at]:
            at += 1
        if at == size:
            return text
    return NONE


@nb.njit(cache=True, nogil=True)
def _is_at(raw: NDArray[np.uint8], start: int, bound: int, word: int) -> bool:
    """Whether a word stands at `start`. Its small letters may be capitals there."""
    first, last = _WORD_BOUNDS[word], _WORD_BOUNDS[word + 1]
    if start + last - first > bound:
        return False
    for place in range(first, last):
        byte = raw[start + place - first]
        if byte != _WORDS[place] and _lower(byte) != _WORDS[place]:
            return False
    return True


@nb.njit(cache=True, nogil=True)
def _behind_blanks(raw: NDArray[np.uint8], at: int, end: int) -> int:
    while at < end and (raw[at] == _BLANK or raw[at] == _TAB):
        at += 1
    return at


@nb.njit(cache=True, nogil=True)
def _lower(byte: np.uint8) -> np.uint8:
    return np.uint8(byte | 32) if 65 <= byte <= 90 else byte


@nb.njit(cache=True, nogil=True)
def _is_space(byte: np.uint8) -> bool:
    return byte == _BLANK or 9 <= byte <= 13


@nb.njit(cache=True, nogil=True)
def _is_digit(byte: np.uint8) -> bool:
    return 48 <= byte <= 57


@nb.njit(cache=True, nogil=True)
def _is_name_byte(byte: np.uint8) -> bool:
    return _is_digit(byte) or 97 <= byte | 32 <= 122 or byte == 45


@nb.njit(cache=True, nogil=True)
def _number(raw: NDArray[np.uint8], start: int, end: int) -> int:
    """A decimal number of at most 15 digits, NONE if it is none."""
    if not 0 < end - start <= 15:
        return NONE
    number = 0
    for at in range(start, end):
        if not _is_digit(raw[at]):
            return NONE
        number = 10 * number + raw[at] - 48
    return number
