"""The members of a packed archive file: opened at any position, searched for, and unpacked if they are gzip.

Members are unpacked in small steps, so a bomb costs no memory, and costs time only while a caller goes on reading.
"""

import io
import re
import zlib
from typing import Protocol

from samehand.sources.archive.heads import LOOK, Format
from samehand.sources.archive.window import ByteFile, places, read_at

STEP = 64 << 10


class MemberError(Exception):
    """The bytes of a member cannot be unpacked."""


class CutOffError(MemberError):
    """The file ends inside a member."""


class Member(Protocol):
    """One member, read from its start to its end."""

    @property
    def end(self) -> int:
        """Position in the file behind what was used so far. Once `read` returned nothing it is the member's end."""

    def read(self, size: int) -> bytes:
        """Some bytes, at most `size`, and none at the end. Raises MemberError."""


class GzipMember:
    """A gzip member."""

    def __init__(self, file: ByteFile, position: int, until: int) -> None:
        self._file = file
        self._ahead = position
        self._until = until
        self._packed = b""
        self._inflater = zlib.decompressobj(31)

    @property
    def end(self) -> int:
        """The position behind the packed bytes used so far."""
        return self._ahead - len(self._packed)

    def read(self, size: int) -> bytes:
        """The next unpacked bytes."""
        inflater = self._inflater
        while not inflater.eof:
            if not self._packed:
                self._packed = read_at(self._file, self._ahead, min(STEP, self._until - self._ahead))
                self._ahead += len(self._packed)
                if not self._packed:
                    raise CutOffError("the file ends inside a gzip member")
            try:
                data = inflater.decompress(self._packed, size)
            except zlib.error as error:
                raise MemberError(f"gzip: {error}") from error
            self._packed = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            if data:
                return data
        return b""


class MemberStream(io.RawIOBase):
    """All members of a file one after the other, as one stream. Raises MemberError."""

    def __init__(self, codec: "Codec") -> None:
        super().__init__()
        self._codec = codec
        self._position = 0
        self._member: Member | None = None

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """The next unpacked bytes."""
        while self._position < self._codec.size:
            member = self._member = self._member or self._codec.open(self._position)
            if data := member.read(len(buffer)):
                buffer[: len(data)] = data
                return len(data)
            self._position = max(member.end, self._position + 1)
            self._member = None
        return 0


class Codec:
    """How one archive file is packed. It opens members, and finds those that start a record."""

    magic: bytes
    needle: re.Pattern[bytes]
    first_look: int
    """Packed bytes within which a member that starts a record shows its first letters."""
    whole_look: int
    """Packed bytes within which such a member shows its whole head."""
    has_checksums = False
    """Whether unpacking a damaged member fails, thanks to a checksum."""

    def __init__(self, file: ByteFile, size: int) -> None:
        self.file = file
        self.size = size

    def open(self, position: int) -> Member:
        """The member at `position`, where one should be."""
        raise NotImplementedError

    def peek(self, position: int, until: int) -> Member:
        """The member at `position`, read as if the file ended at `until`, since only its first bytes are wanted."""
        raise NotImplementedError

    def find(self, position: int, form: Format) -> int:
        """Position of the first member at or behind `position` that starts a record, or the end of the file."""
        for candidate in places(self.file, position, needle=self.needle, until=self.size):
            first = self.first_bytes(candidate, 16)
            if first.startswith(form.starts) and form.is_start(self._bytes_at(candidate, LOOK, self.whole_look)):
                return candidate
        return self.size

    def first_bytes(self, position: int, size: int) -> bytes:
        """The first few bytes of the member at `position`, as far as they can be unpacked."""
        return self._bytes_at(position, size, self.first_look)

    def _bytes_at(self, position: int, size: int, look: int) -> bytes:
        data = b""
        try:
            member = self.peek(position, min(position + look, self.size))
            # In small steps, because an error behind the member would take the whole step with it.
            while len(data) < size and (more := member.read(min(512, size - len(data)))):
                data += more
        except MemberError:
            return data
        return data


class GzipCodec(Codec):
    """Gzip: the usual way to pack a WARC, one member per record."""

    magic = b"\x1f\x8b\x08"
    needle = re.compile(rb"(\x1f\x8b\x08)[\x00-\x1f]", re.DOTALL)
    first_look = 1 << 10
    whole_look = LOOK
    has_checksums = True

    def open(self, position: int) -> Member:
        """The gzip member at `position`."""
        return GzipMember(self.file, position, self.size)

    def peek(self, position: int, until: int) -> Member:
        """The gzip member at `position`, up to `until`."""
        return GzipMember(self.file, position, until)
