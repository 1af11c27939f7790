"""Reads gzip WARCs at full speed as long as all is well, with fastwarc, which unpacks twice as fast as Python can.

fastwarc is strict here, and its HTTP parser and its decoders stay off. What it gives is believed only where the record
fills its member exactly and its head is written the usual way, which the lengths tell. At the first doubt this reader
stops and says where: a record is only given out when the next one was found, so nothing is lost, and nothing comes
twice, when the careful reader goes on. Both readers give the same record for the same bytes.
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
    """Length of the whole record, if its head is written the usual way."""


def fast_records(
    file: ByteFile, size: int, *, start: int, end: int, most: int
) -> Generator[Record, None, tuple[int, bool]]:
    """Records that start in [start, end). Returns the position of the first one not given out, and whether all is done.

    Not done means that the careful reader is to go on there. It always is for the last record of the file, since only
    that reader looks at what comes behind it.
    """
    # A window of its own: the file is read at other places in between.
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
    """How long the member unpacks to that ends here: its last four bytes say so."""
    return int.from_bytes(read_at(file, member_end - 4, 4), "little")


def _checked(record: WarcRecord, most: int) -> _Held | None:
    """The record, if its lengths are in order and no line of its head is odd."""
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
    # Each line of the head has four more bytes, ": " and a line end, and so have the first and the last line together.
    head_size = len(headers.status_line_bytes or b"") + len(text) + 4 * len(fields) + 4
    return _Held(head, block, head_size + length + _RECORD_END)
