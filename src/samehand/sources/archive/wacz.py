"""WACZ: a zip file with WARCs in its folder `archive/`, read in place and never extracted.

A zip file can lie: members may overlap, claim wrong sizes, or unpack to far more than their size. A member is read only
where the claims of the directory hold. A member that is packed by the zip file itself, which a WACZ should not do, can
be rewound only a few times, since every rewind unpacks it from its start.
"""

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final

from samehand.base.page import Outcome
from samehand.base.settings import Settings
from samehand.sources.archive.heads import WARC
from samehand.sources.archive.members import STEP
from samehand.sources.archive.warc import ZIP_STARTS, archive_items, open_archive, outcome_at
from samehand.sources.archive.window import ByteFile, Window, read_at
from samehand.sources.reader import Look, Reader, Reading, Source, Unit
from samehand.sources.reasons import BAD_ARCHIVE, DECOMPRESSION_BOMB, UNREADABLE_FILE, Reason, reject, text_of
from samehand.sources.runs import Run

MEMBER_MARK: Final = "!/"
"""Between the name of the WACZ and the name of the WARC in it, in `source_path`."""

_MAX_DIRECTORY = 64 << 20
_MAX_REWINDS = 64
_KEPT_BYTES = 32 << 20
_LOCAL_HEADER = 30
_ZIP64_END = 76
"""Bytes that a zip file of more than 4 GB has before the usual end mark."""
_ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    ValueError,
    struct.error,
)


def _recognises(look: Look) -> bool:
    """Whether a zip file holds WARCs where a WACZ has them, or is called a WACZ and is too damaged to tell."""
    if not look.start.startswith(ZIP_STARTS):
        return False
    with open(look.path, "rb") as file:
        try:
            return bool(_warc_members(file))
        except _ZIP_ERRORS:
            return look.path.lower().endswith(".wacz")


def _read(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome | Run]:
    """What all WARCs in a WACZ hold, in the order of their names."""
    source = unit.source
    with open(source.path, "rb") as file:
        try:
            members = _warc_members(file)
        except _ZIP_ERRORS as error:
            yield reject(source.name, 0, reason=BAD_ARCHIVE, size=source.size, detail=text_of(error))
            return
        if not members:
            yield reject(source.name, 0, reason=BAD_ARCHIVE, size=source.size, detail="no WARC in it")
            return
        overlapping = _overlapping(members, source.size)
        for info in members:
            name = _member_name(source, info)
            problem = _problem(info, overlapping, settings=settings)
            if problem:
                yield reject(name, 0, reason=problem[0], size=info.compress_size, detail=problem[1])
            else:
                yield from _member_items(file, info, name=name, settings=settings)


def _find_page(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome | None:
    with open(source.path, "rb") as file:
        try:
            for info in _warc_members(file):
                if _member_name(source, info) == source_path and not _problem(info, set(), settings=settings):
                    archive = open_archive(_open_member(file, info), info.file_size, WARC)
                    return outcome_at(archive, offset, name=source_path, settings=settings)
        except _ZIP_ERRORS:
            return None
    return None


def _member_items(file: ByteFile, info: zipfile.ZipInfo, *, name: str, settings: Settings) -> Iterator[Outcome | Run]:
    reached = 0
    try:
        archive = open_archive(_open_member(file, info), info.file_size, WARC)
        for item in archive_items(archive, 0, end=info.file_size, name=name, settings=settings):
            reached = item.warc_record_offset
            yield item
    except _ZIP_ERRORS as error:
        yield reject(name, reached, reason=BAD_ARCHIVE, size=info.compress_size, detail=text_of(error))
    except OSError as error:
        yield reject(name, reached, reason=UNREADABLE_FILE, size=info.compress_size, detail=text_of(error))


def _member_name(source: Source, info: zipfile.ZipInfo) -> str:
    return f"{source.name}{MEMBER_MARK}{info.filename}".encode("utf-8", "replace").decode("utf-8")


def _warc_members(file: ByteFile) -> list[zipfile.ZipInfo]:
    """The WARCs of a WACZ, sorted by name."""
    _check_directory_size(file)
    with zipfile.ZipFile(file) as archive:
        infos = archive.infolist()
    members = [info for info in infos if info.filename.startswith("archive/") and ".warc" in info.filename.lower()]
    return sorted(members, key=lambda info: (info.filename, info.header_offset))


def _check_directory_size(file: ByteFile) -> None:
    """Refuses a directory that is too large to be held in memory: zipfile would read it whole."""
    size = file.seek(0, os.SEEK_END)
    tail = read_at(file, max(0, size - (1 << 16) - 98), (1 << 16) + 98)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or end + 22 > len(tail):
        raise zipfile.BadZipFile("the directory of the zip file is missing")
    claimed = int(struct.unpack_from("<I", tail, end + 12)[0])
    end64 = end - _ZIP64_END
    if end64 >= 0 and tail.startswith(b"PK\x06\x06", end64):
        claimed64 = int(struct.unpack_from("<Q", tail, end64 + 40)[0])
        claimed = claimed64 if claimed == 0xFFFFFFFF else max(claimed, claimed64)
    if claimed > _MAX_DIRECTORY:
        raise zipfile.BadZipFile(f"the directory of the zip file claims {claimed} bytes")


def _overlapping(members: list[zipfile.ZipInfo], size: int) -> set[int]:
    """Header positions of members that reach into the next member or beyond the file."""
    ordered = sorted(members, key=lambda info: info.header_offset)
    ends = [info.header_offset + _LOCAL_HEADER + len(info.orig_filename) + info.compress_size for info in ordered]
    starts = [info.header_offset for info in ordered[1:]] + [size]
    bad: set[int] = set()
    for info, end, next_start in zip(ordered, ends, starts, strict=True):
        if end > next_start or info.header_offset < 0:
            bad.add(info.header_offset)
    return bad


def _problem(info: zipfile.ZipInfo, overlapping: set[int], *, settings: Settings) -> tuple[Reason, str] | None:
    """Why a member is not read: reason and detail."""
    if info.header_offset in overlapping:
        return BAD_ARCHIVE, "members overlap, or are larger than the file"
    if info.flag_bits & 0x1:
        return BAD_ARCHIVE, "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return BAD_ARCHIVE, f"packed with method {info.compress_type}"
    if info.compress_type == zipfile.ZIP_STORED and info.file_size != info.compress_size:
        return BAD_ARCHIVE, f"stored in {info.compress_size} bytes, but claims {info.file_size}"
    if info.file_size > max(1_000_000, settings.max_compression_ratio * info.compress_size):
        return DECOMPRESSION_BOMB, f"{info.compress_size} bytes claim to unpack to {info.file_size}"
    return None


def _open_member(file: ByteFile, info: zipfile.ZipInfo) -> ByteFile:
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return _PackedMember(file, info)
    header = read_at(file, info.header_offset, _LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(b"PK\x03\x04"):
        raise zipfile.BadZipFile("a member is not where the directory says")
    start = info.header_offset + _LOCAL_HEADER + sum(struct.unpack_from("<HH", header, 26))
    return Window(file, start, start + info.compress_size)


class _PackedMember:
    """A packed member as a file. The last unpacked bytes are kept, so that only a long way back starts it again."""

    def __init__(self, file: ByteFile, info: zipfile.ZipInfo) -> None:
        archive = zipfile.ZipFile(file)
        self._stream = archive.open(info)
        self._kept = bytearray()
        self._kept_from = 0
        self._at = 0
        self._rewinds = 0

    def tell(self) -> int:
        """Position in the unpacked member."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves. Nothing is unpacked yet."""
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at}[whence] + offset
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` unpacked bytes."""
        if self._at < self._kept_from:
            self._rewind()
        wanted = self._at + (size if size >= 0 else 1 << 62)
        while self._kept_from + len(self._kept) < wanted:
            step = min(wanted - self._kept_from - len(self._kept), STEP)
            if not (data := self._stream.read(step)):
                break
            self._kept += data
            surplus = min(len(self._kept) - _KEPT_BYTES, self._at - self._kept_from)
            if surplus > _KEPT_BYTES // 4:
                del self._kept[:surplus]
                self._kept_from += surplus
        start = self._at - self._kept_from
        data = bytes(self._kept[start : wanted - self._kept_from])
        self._at += len(data)
        return data

    def close(self) -> None:
        """Does nothing: the caller closes the file."""

    def _rewind(self) -> None:
        self._rewinds += 1
        if self._rewinds > _MAX_REWINDS:
            raise zipfile.BadZipFile("too much of a packed member is damaged")
        self._stream.seek(0)
        self._kept.clear()
        self._kept_from = 0


WACZ_READER: Final = Reader(kind="wacz", inputs="WACZ", recognises=_recognises, read=_read, find_page=_find_page)
