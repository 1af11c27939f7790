"""Reads sound gzip WARCs at full speed with fastwarc, which unpacks twice as fast as Python can.

The HTTP parser and the decoders of fastwarc stay off. A record is believed only if it fills its member exactly and its
head is written the usual way, which the lengths show. At the first doubt this reader stops and says where. It returns a
record only when the next one was found, so the careful reader can go on without a record lost or read twice. Both
readers return the same record for the same bytes.
"""

from collections.abc import Generator
from typing import Final, NamedTuple

from fastwarc.stream_io import GzipReader
from fastwarc.warc import ArchiveIterator, WarcRecord

from samehand.sources.archive.heads import RecordHead, warc_head
from samehand.sources.archive.records import Record
from samehand.sources.archive.window import ByteFile, Window, read_at

_BUFFER: Final = 256 << 10
_RECORD_END: Final = 4
"""Two line ends behind a record."""


class _Held(NamedTuple):
    head: RecordHead
    block: bytes
    size: int
    """The length of the whole record, if its head is written the usual way."""


def fast_records(
    file: ByteFile, size: int, *, start: int, end: int, most: int
) -> Generator[Record, None, tuple[int, bool]]:
    """Records that start in [start, end). Returns the position of the next record, and whether all is done.

    If not, the careful reader goes on there. It always reads the last record of the file, since only that reader looks
    at what comes behind it.
    """
    # A window, because the file is read at other places in between.
    window = Window(file, 0, size)
    window.seek(start)
    members = GzipReader(window, buffer_size=_BUFFER)
    at = start
    held: _Held | None = None
    try:
        for record in ArchiveIterator(members, parse_http=False):
            begin = members.frame_start_position() or 0
            if held:
                if begin <= at or held.size != _unpacked_size(file, begin):
                    break
                yield Record(at, begin, held.head, held.block)
                at = begin
            if at >= end:
                return at, True
            held = _checked(record, most) if begin == at else None
            if held is None or members.frame_start_position() != at:
                break
    except OSError:
        return at, False
    return at, False


def _unpacked_size(file: ByteFile, member_end: int) -> int:
    """The unpacked length of the member that ends here, which its last four bytes state."""
    return int.from_bytes(read_at(file, member_end - 4, 4), "little")


def _checked(record: WarcRecord, most: int) -> _Held | None:
    """The record, if its lengths agree and every line of its head is of the usual form."""
    headers = record.headers
    fields = headers.items_bytes()
    head = warc_head(fields)
    length = record.content_length
    text = b"".join([part for field in fields for part in field])
    if head.length != length or not 0 < length <= most or b"\n" in text:
        return None
    block = record.reader.read()
    if len(block) != length:
        return None
    # Each field has four more bytes, ": " and a line end. The version line and the blank line have four together.
    head_size = len(headers.status_line_bytes or b"") + len(text) + 4 * len(fields) + 4
    return _Held(head, block, head_size + length + _RECORD_END)
