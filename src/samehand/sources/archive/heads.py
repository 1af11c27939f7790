"""Heads of WARC and ARC records: what they say, and whether some bytes are one."""

import functools
import itertools
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol

from samehand.sources.http.body import bounded_url

MAX_HEAD = 64 << 10
"""Longest head of a record in bytes. Heads are well below 2 KB. The limit keeps a hostile one out of memory."""

LOOK = 8 << 10
"""Bytes of a head that are looked at where a search found a record."""

MAX_LENGTH = 1 << 50
MAX_DATE = 64


class RecordHead(NamedTuple):
    """What the head of a record says. `length` is None if it is missing or is no number."""

    record_type: str
    url: str
    length: int | None
    date: bytes = b""
    content_type: bytes = b""
    digest: str | None = None
    truncated: str | None = None


class Format(Protocol):
    """How records of one kind of archive start."""

    name: str
    starts: tuple[bytes, ...]
    """Every record starts with one of these."""
    needle: re.Pattern[bytes]
    """Its group 1 finds places in plain text that may be the start of a record."""

    def head_size(self, data: bytes) -> int:
        """Length of the head that `data` starts with, its end mark included, or 0 if the end is not in `data`."""

    def read(self, head: bytes) -> RecordHead | None:
        """What a complete head says, None if it is no head."""

    def is_start(self, data: bytes) -> bool:
        """Whether `data`, found by a search, is the start of a record. This is far stricter than `read`."""


_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_VERSION: Final = re.compile(rb"WARC/\d\.\d", re.IGNORECASE)
_FOLD: Final = re.compile(rb"\r?\n[ \t]+")
# Atomic groups never backtrack, so a search over hostile bytes stays linear.
_STRICT_WARC: Final = re.compile(
    rb"WARC/\d\.\d{1,2}[ \t]*+\r?\n(?>[^\s:][^\n:]*+:[^\n]*+\n(?:[ \t][^\n]*+\n)*+)++\r?\n",
    re.IGNORECASE,
)
_DIGEST: Final = re.compile(rb"\s*sha1:([A-Z2-7]{32})\s*\Z", re.IGNORECASE)
_TRUNCATIONS: Final = frozenset({b"length", b"time", b"disconnect", b"unspecified"})


class WarcFormat:
    """WARC: a version line, `name: value` lines, a blank line."""

    name = "warc"
    # The grammar of the standard gives the word as a literal string, which may be in any case.
    starts: tuple[bytes, ...] = tuple(
        bytes(word) + b"/" for word in itertools.product(*zip(b"WARC", b"warc", strict=True))
    )
    needle = re.compile(rb"([Ww][Aa][Rr][Cc]/)\d\.\d")

    def head_size(self, data: bytes) -> int:
        """The head ends with the first blank line."""
        end = _BLANK_LINE.search(data, 0, MAX_HEAD)
        return end.end() if end else 0

    def read(self, head: bytes) -> RecordHead | None:
        """Tolerant: joins folded lines, and ignores lines that are no field."""
        if not _VERSION.match(head):
            return None
        lines = [line.partition(b":") for line in _FOLD.sub(b" ", head).split(b"\n")[1:]]
        return warc_head([(name.strip(), value.strip()) for name, colon, value in lines if colon])

    def is_start(self, data: bytes) -> bool:
        """Whether all lines are fields, and a type and a length are among them."""
        strict = _STRICT_WARC.match(data, 0, MAX_HEAD)
        head = self.read(strict[0]) if strict else None
        return head is not None and head.length is not None and bool(head.record_type)


def warc_head(fields: Sequence[tuple[bytes, bytes]]) -> RecordHead:
    """The head made of these fields. If a field comes twice, the first one counts."""
    field = {name.lower(): value for name, value in reversed(fields)}.get
    digest = _DIGEST.match(field(b"warc-payload-digest", b""))
    truncated = field(b"warc-truncated")
    return RecordHead(
        _type_of(field(b"warc-type", b"")[:64]),
        bounded_url(field(b"warc-target-uri", b"")),
        _length_of(field(b"content-length", b"")),
        field(b"warc-date", b"")[:MAX_DATE],
        field(b"content-type", b"")[:256],
        digest[1].upper().decode("ascii") if digest else None,
        _truncation_of(truncated) if truncated else None,
    )


@functools.lru_cache(maxsize=64)
def _type_of(value: bytes) -> str:
    return value.strip().lower().decode("ascii", "replace")


def _length_of(value: bytes) -> int | None:
    digits = value[:32].strip()
    length = int(digits) if digits.isdigit() else MAX_LENGTH + 1
    return length if length <= MAX_LENGTH else None


def _truncation_of(value: bytes) -> str:
    reason = value[:32].strip().lower()
    return reason.decode() if reason in _TRUNCATIONS else "unspecified"


class ArcFormat:
    """ARC, the older format: one line `URL IP date type length`, in version 2 with more fields before the length."""

    name = "arc"
    starts: tuple[bytes, ...] = (b"http://", b"https://", b"filedesc:", b"dns:", b"ftp://", b"whois:", b"mailto:")
    needle = re.compile(rb"\n((?:https?|filedesc|dns|ftp|whois|mailto):)")

    def head_size(self, data: bytes) -> int:
        """The head is one line."""
        return data.find(b"\n", 0, MAX_HEAD) + 1

    def read(self, head: bytes) -> RecordHead | None:
        """A `filedesc:` record describes the file. All others are responses."""
        words = head.strip().split(b" ")
        # The date is searched, because the URL before it may hold blanks, and version 2 has more words behind it.
        date = next((at for at in range(2, len(words) - 2) if len(words[at]) == 14 and words[at].isdigit()), None)
        length = _length_of(words[-1])
        described = head.startswith(b"filedesc:")
        if date is None and described and len(words) in (5, 10) and words[2] == b"-":
            date = 2  # a dash stands for a value that the writer did not know
        if date is None or length is None:
            return None
        is_http = head.startswith((b"http://", b"https://"))
        return RecordHead(
            record_type="warcinfo" if described else "response",
            url="" if described else bounded_url(b" ".join(words[: date - 1])),
            length=length,
            date=words[date],
            content_type=b"" if is_http else words[date + 1][:256],
        )

    def is_start(self, data: bytes) -> bool:
        """Whether a whole head line is there."""
        size = self.head_size(data)
        return data.startswith(self.starts) and size > 0 and self.read(data[:size]) is not None


WARC: Final = WarcFormat()
ARC: Final = ArcFormat()


def time_of(date: bytes) -> datetime | None:
    """WARC-Date (ISO 8601) or an ARC date (digits only) as UTC, None if it is neither."""
    try:
        if date.isdigit():
            numbers = [int(date[:4]), *(int(date[at : at + 2] or b"0") for at in (4, 6, 8, 10, 12))]
            return datetime(*numbers, tzinfo=UTC)  # type: ignore[misc, arg-type]
        time = datetime.fromisoformat(date.decode("ascii").strip())
        if time.tzinfo is UTC:
            return time
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
