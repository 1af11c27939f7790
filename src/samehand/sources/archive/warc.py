"""WARC and ARC files, plain or packed with gzip, zstd or lz4: their records as Pages, Rejects and Skips."""

import contextlib
import functools
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from samehand.base.page import PLAIN_TEXT, Outcome, Page, Skip
from samehand.base.settings import Settings
from samehand.sources.archive.frames import CODECS, codec_for
from samehand.sources.archive.heads import ARC, WARC, Format, time_of
from samehand.sources.archive.members import Codec, GzipCodec, MemberError
from samehand.sources.archive.packed import MemberRecords
from samehand.sources.archive.records import Damage, PlainRecords, Record, RecordReader, find_plain
from samehand.sources.archive.window import ByteFile, read_at
from samehand.sources.http.body import Origin, guarded, refuse
from samehand.sources.http.responses import media_of, page_from_resource, page_from_response
from samehand.sources.reader import Look, Reader, Reading, Source, Unit, by_bytes
from samehand.sources.reasons import EMPTY_BODY, SKIPPED_TYPES, TRUNCATED_RECORD, UNKNOWN_RECORD_TYPE, reject
from samehand.sources.runs import Run
from samehand.sources.tables import text_page

if TYPE_CHECKING:
    from samehand.sources.archive.fast import FastReader

BLOCK_EXTRA: Final = 1 << 20
"""Bytes of a record that are read beyond the longest page: room for HTTP heads and chunk lines."""

ZIP_STARTS: Final = (b"PK\x03\x04", b"PK\x05\x06")

_DETECT_BYTES = 1 << 20
_MAX_CAREFUL_RUN = 1024
_HTTP_BLOCKS: Final = (b"application/http", b"message/http")


class Archive(NamedTuple):
    """An open archive file, how it is packed (None if it is plain), and the format of its records."""

    file: ByteFile
    size: int
    codec: Codec | None
    form: Format

    def reader(self, position: int, settings: Settings) -> RecordReader:
        """The careful reader, from `position` on."""
        most = settings.max_page_bytes + BLOCK_EXTRA
        if self.codec is None:
            return PlainRecords(self.file, self.size, position=position, form=self.form, most=most)
        return MemberRecords(
            self.codec,
            position=position,
            form=self.form,
            most=most,
            max_compression_ratio=settings.max_compression_ratio,
        )

    def fast_reader(self, name: str, settings: Settings) -> "FastReader | None":
        """The fast reader, which reads WARC only."""
        if self.form is not WARC:
            return None
        # Imported here, because it needs the kernels, which only those who read pages have to load.
        from samehand.sources.archive.fast import FastReader

        most = settings.max_page_bytes + BLOCK_EXTRA
        decide = functools.partial(outcome_of, name=name, settings=settings)
        return FastReader(self.file, self.size, self.codec, name=name, most=most, settings=settings, outcome_of=decide)

    def find(self, position: int) -> int:
        """Position of the first record at or behind `position`, or the end of the file."""
        if self.codec is None:
            return find_plain(self.file, position, form=self.form, until=self.size)
        return self.codec.find(position, self.form)


def open_archive(file: ByteFile, size: int, form: Format) -> Archive:
    """The archive in `file`. Its first bytes show how it is packed. If they are damaged, a later record shows it."""
    start = read_at(file, 0, 16)
    codec = codec_for(start)
    if codec is None and not start.startswith(form.starts):
        part = min(size, _DETECT_BYTES)
        codec = next((codec for codec in CODECS if codec(file, part).find(0, form) < part), None)
    return Archive(file, size, codec(file, size) if codec else None, form)


def _form_of(source: Source) -> Format:
    return ARC if source.kind == "arc" else WARC


def _is_damaged_archive(look: Look, form: Format) -> bool:
    """Whether records follow behind a damaged start. What a zip file stores does not count."""
    if look.start.startswith(ZIP_STARTS):
        return False
    part = min(look.size, _DETECT_BYTES)
    with open(look.path, "rb") as file:
        return open_archive(file, part, form).find(0) < part


def _can_start_anywhere(file: BinaryIO, source: Source) -> bool:
    """Reading can start at any record, unless everything is packed as one."""
    codec = open_archive(file, source.size, _form_of(source)).codec
    return codec is None or (isinstance(codec, GzipCodec) and _is_packed_by_record(codec))


def _is_packed_by_record(codec: GzipCodec) -> bool:
    """Whether the first member ends before the file does. Unpacking stops early where the member is damaged."""
    member = codec.open(0)
    with contextlib.suppress(MemberError):
        while member.read(1 << 20):
            pass
    return member.end < codec.size


def _read(unit: Unit, settings: Settings, reading: Reading) -> Iterator["Outcome | Run"]:
    source = unit.source
    with open(source.path, "rb") as file:
        archive = open_archive(file, source.size, _form_of(source))
        start = unit.start if unit.exact or unit.start == 0 else archive.find(unit.start)
        reading.first = start
        reading.stop = yield from archive_items(archive, start, end=unit.end, name=source.name, settings=settings)


def _find_page(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome | None:
    with open(source.path, "rb") as file:
        archive = open_archive(file, source.size, _form_of(source))
        return outcome_at(archive, offset, name=source.name, settings=settings)


def outcome_at(archive: Archive, offset: int, *, name: str, settings: Settings) -> Outcome | None:
    """What is at `offset`. A record that is not the first of its member is found only by reading from the start."""
    for start in (offset, 0) if archive.codec else (offset,):
        reader = archive.reader(start, settings)
        while reader.position <= offset and (item := reader.next()):
            if item.start == offset and isinstance(item, Record):
                return outcome_of(item, name=name, settings=settings)
    return None


def archive_items(
    archive: Archive, start: int, *, end: int, name: str, settings: Settings
) -> Generator[Outcome | Run, None, int]:
    """What the records are that start in [start, end). Returns the position of the next record."""
    found = _records(archive, start, end=end, name=name, settings=settings)
    while True:
        try:
            item = next(found)
        except StopIteration as stopped:
            return int(stopped.value)
        yield item if isinstance(item, Run) else outcome_of(item, name=name, settings=settings)


def _records(
    archive: Archive, position: int, *, end: int, name: str, settings: Settings
) -> Generator[Run | Record | Damage, None, int]:
    """All records and damages, from the fast reader where it can. Returns the position of the next record."""
    fast = archive.fast_reader(name, settings)
    run = 1
    while position < min(end, archive.size):
        before = position
        if fast:
            position = yield from fast.items(position, end)
            if position >= min(end, archive.size):
                break
        reader = archive.reader(position, settings)
        read = 0
        while not (fast and read >= run and reader.fresh):
            if reader.fresh and reader.position >= end:
                return reader.position
            item = reader.next()
            if item is None:
                return archive.size
            yield item
            read += 1
        # Where much is damaged, changing readers at every record costs more than it gains.
        run = 1 if position - before > reader.position - position else min(2 * run, _MAX_CAREFUL_RUN)
        position = reader.position
    return position


def outcome_of(item: Record | Damage, *, name: str, settings: Settings) -> Outcome:
    """The one Page, Reject or Skip that a record is. Never raises."""
    if isinstance(item, Damage):
        size = item.next - item.start
        return reject(name, item.start, reason=item.reason, size=size, url=item.url, detail=item.detail)
    head = item.head
    origin = Origin(
        source_path=name,
        offset=item.start,
        length=item.next - item.start,
        url=head.url,
        time=time_of(head.date),
        digest=head.digest,
        truncated=head.truncated if item.complete else "disconnect",
        warc_filename=name,
    )
    outcome = guarded(origin, lambda: _outcome_of_record(item, origin, settings))
    if item.complete or isinstance(outcome, Page):
        return outcome
    return refuse(origin, TRUNCATED_RECORD, outcome.reason)


def _outcome_of_record(record: Record, origin: Origin, settings: Settings) -> Outcome:
    head = record.head
    if head.record_type == "conversion" and media_of(head.content_type[:256]).mime == PLAIN_TEXT:
        return text_page(record.block, origin, limit=settings.max_page_bytes)
    if head.record_type in SKIPPED_TYPES:
        return Skip(origin.source_path, origin.offset, head.record_type)
    if head.record_type not in ("response", "resource"):
        return refuse(origin, UNKNOWN_RECORD_TYPE, head.record_type)
    block = record.block
    if not block:
        return refuse(origin, EMPTY_BODY)
    media = head.content_type.strip().lower()
    if head.record_type == "response" and (not media or media.startswith(_HTTP_BLOCKS) or block.startswith(b"HTTP/")):
        cut = record.complete and head.length is not None and head.length > len(block)
        return page_from_response(block, origin, cut=cut, settings=settings)
    return page_from_resource(block, origin, content_type=head.content_type, settings=settings)


WARC_READER: Final = Reader(
    kind="warc",
    inputs="WARC",
    recognises=lambda look: look.text.startswith(WARC.starts),
    recognises_damaged=lambda look: _is_damaged_archive(look, WARC),
    split=by_bytes(_can_start_anywhere),
    read=_read,
    find_page=_find_page,
)
ARC_READER: Final = Reader(
    kind="arc",
    inputs="ARC",
    recognises=lambda look: ARC.is_start(look.text),
    recognises_damaged=lambda look: _is_damaged_archive(look, ARC),
    read=_read,
    find_page=_find_page,
)
