"""Zstandard and LZ4 archives: files of frames, one per record.

The libraries for both read on into the next frame. The lengths of the blocks tell where a frame ends without unpacking
it, so each library gets exactly one frame.
"""

import io
import re
from collections.abc import Callable
from typing import Final, Protocol

import zstandard
from fastwarc.stream_io import Lz4Reader

from samehand.sources.archive.members import STEP, Codec, CutOffError, GzipCodec, Member, MemberError
from samehand.sources.archive.window import ByteFile, Window, read_at

_MAX_DICTIONARY = 16 << 20
_MAX_WINDOW = 1 << 27
_DICTIONARY: Final = b"\x5d\x2a\x4d\x18"
_SKIPPED: Final = tuple(bytes((low, 0x2A, 0x4D, 0x18)) for low in range(0x50, 0x60))
"""Starts of frames that are to be skipped, in both formats."""

BlockRule = Callable[[int], tuple[int, bool]]
"""From the header of a block to the length of what follows it, and whether it is the last block."""


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


class FrameMember:
    """One frame. `complete` says that the whole frame is in the file."""

    def __init__(self, stream: _Stream, *, end: int, complete: bool) -> None:
        self._stream = stream
        self._complete = complete
        self.end = end

    def read(self, size: int) -> bytes:
        """The next unpacked bytes."""
        try:
            data = self._stream.read(size)
        except (OSError, zstandard.ZstdError) as error:
            raise (MemberError if self._complete else CutOffError)(str(error)) from error
        if not data and not self._complete:
            raise CutOffError("the file ends inside a frame")
        return data


class ZstdCodec(Codec):
    """Zstandard. The first frame of the file may be the dictionary of all others."""

    magic = b"\x28\xb5\x2f\xfd"
    needle = re.compile(rb"(\x28\xb5\x2f\xfd)")
    first_look = whole_look = 256 << 10  # a block, which is at most 128 KiB, is unpacked as a whole

    def __init__(self, file: ByteFile, size: int) -> None:
        super().__init__(file, size)
        self._dictionary = _dictionary_in(file)

    def open(self, position: int) -> Member:
        """The frame at `position`."""
        start = read_at(self.file, position, 18)
        if start.startswith(_SKIPPED):
            return _skipped_frame(start, position, self.size)
        try:
            blocks = position + zstandard.frame_header_size(start)
            checksum = 4 if zstandard.get_frame_parameters(start).has_checksum else 0
        except zstandard.ZstdError as error:
            raise MemberError(f"zstd: {error}") from error
        end = _end_of_blocks(self.file, blocks, limit=self.size, header=3, rule=_zstd_block) + checksum
        return FrameMember(self._stream(position, end), end=min(end, self.size), complete=end <= self.size)

    def peek(self, position: int, until: int) -> Member:
        """The frame at `position`, up to `until`."""
        return FrameMember(self._stream(position, until), end=until, complete=False)

    def _stream(self, position: int, end: int) -> _Stream:
        # One decompressor for each frame, because two streams of the same one disturb each other.
        unpacker = zstandard.ZstdDecompressor(dict_data=self._dictionary, max_window_size=_MAX_WINDOW)
        window = Window(self.file, position, end)
        return unpacker.stream_reader(window, read_size=STEP)  # type: ignore[arg-type] # it only reads


class Lz4Codec(Codec):
    """LZ4."""

    magic = b"\x04\x22\x4d\x18"
    needle = re.compile(rb"(\x04\x22\x4d\x18)")
    first_look = whole_look = 5 << 20  # a block, which is at most 4 MiB, is unpacked as a whole

    def open(self, position: int) -> Member:
        """The frame at `position`."""
        start = read_at(self.file, position, 8)
        if start.startswith(_SKIPPED):
            return _skipped_frame(start, position, self.size)
        if len(start) < 8 or not start.startswith(self.magic):
            raise MemberError("lz4: no frame")
        flags = start[4]
        blocks = position + 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
        rule = _lz4_block_with_checksum if flags & 0x10 else _lz4_block
        end = _end_of_blocks(self.file, blocks, limit=self.size, header=4, rule=rule) + (4 if flags & 0x04 else 0)
        stream = Lz4Reader(Window(self.file, position, end))
        return FrameMember(stream, end=min(end, self.size), complete=end <= self.size)

    def peek(self, position: int, until: int) -> Member:
        """The frame at `position`, up to `until`."""
        return FrameMember(Lz4Reader(Window(self.file, position, until)), end=until, complete=False)


CODECS: Final[tuple[type[Codec], ...]] = (GzipCodec, ZstdCodec, Lz4Codec)


def codec_for(start: bytes) -> type[Codec] | None:
    """The codec of a file that starts with these bytes, None if it is not packed or in an unknown way."""
    if start.startswith(_SKIPPED):
        return ZstdCodec
    return next((codec for codec in CODECS if start.startswith(codec.magic)), None)


def _skipped_frame(start: bytes, position: int, limit: int) -> Member:
    end = position + 8 + int.from_bytes(start[4:8], "little")
    return FrameMember(io.BytesIO(), end=min(end, limit), complete=end <= limit)


def _end_of_blocks(file: ByteFile, at: int, *, limit: int, header: int, rule: BlockRule) -> int:
    """Position behind the last block of a frame, or beyond `limit` if the frame does not end before it."""
    while at + header <= limit:
        length, last = rule(int.from_bytes(read_at(file, at, header), "little"))
        at += header + length
        if last:
            return at
    return limit + 1


def _zstd_block(header: int) -> tuple[int, bool]:
    kind = header >> 1 & 3
    if kind == 3:
        raise MemberError("zstd: reserved block type")
    return (1 if kind == 1 else header >> 3), bool(header & 1)


def _lz4_block(header: int) -> tuple[int, bool]:
    return header & 0x7FFFFFFF, header == 0


def _lz4_block_with_checksum(header: int) -> tuple[int, bool]:
    return (header & 0x7FFFFFFF) + (4 if header else 0), header == 0


def _dictionary_in(file: ByteFile) -> zstandard.ZstdCompressionDict | None:
    """The dictionary that a `.warc.zst` may start with. It is a frame to be skipped, and may be packed itself."""
    start = read_at(file, 0, 8)
    length = int.from_bytes(start[4:8], "little")
    if not start.startswith(_DICTIONARY) or length > _MAX_DICTIONARY:
        return None
    content = read_at(file, 8, length)
    try:
        if content.startswith(ZstdCodec.magic):
            unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
            content = unpacker.stream_reader(content).read(_MAX_DICTIONARY)
        return zstandard.ZstdCompressionDict(content)
    except zstandard.ZstdError:
        return None
