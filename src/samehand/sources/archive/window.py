"""Files by position: bytes at a position, a part of a file as a file, and the places where bytes occur."""

import io
import os
import re
from collections.abc import Iterator
from typing import Protocol

_FIRST_CHUNK = 4 << 10
_MAX_CHUNK = 1 << 20
_OVERLAP = 32
"""Length of the longest needle."""


class ByteFile(Protocol):
    """What is needed of a file: bytes at positions."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Moves, and returns the new position."""

    def tell(self) -> int:
        """The position."""

    def close(self) -> None:
        """Ends the use of the file."""


def read_at(file: ByteFile, position: int, size: int) -> bytes:
    """`size` bytes at `position`, fewer only at the end of the file."""
    if isinstance(file, io.FileIO):
        # One system call instead of two: some files are read at a hundred thousand places.
        data = os.pread(file.fileno(), size, position)
        if len(data) == size or not data:
            return data
    file.seek(position)
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):
        data += more
    return data


def places(file: ByteFile, position: int, *, needle: re.Pattern[bytes], until: int) -> Iterator[int]:
    """Every position in [position, until) where group 1 of `needle` starts.

    The chunks that are read grow, because the first place is usually near, and often the only one asked for.
    """
    size = _FIRST_CHUNK
    while position < until and (chunk := read_at(file, position, size + _OVERLAP)):
        for found in needle.finditer(chunk):
            # The overlap makes sure that a needle that starts in this chunk is found whole. Later ones come next.
            if found.start() < size and position + found.start(1) < until:
                yield position + found.start(1)
        position += size
        size = min(size * 4, _MAX_CHUNK)


class Window:
    """A part of a file, as a file. Closing it leaves the file open."""

    def __init__(self, file: ByteFile, start: int, end: int) -> None:
        self._file = file
        self._start = start
        self._size = max(0, end - start)
        self._at = 0

    def tell(self) -> int:
        """Position within the part."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Moves within the part."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes, never beyond the part."""
        left = max(0, self._size - self._at)
        data = read_at(self._file, self._start + self._at, left if size < 0 else min(size, left))
        self._at += len(data)
        return data

    def close(self) -> None:
        """Does nothing: the caller closes the file."""
