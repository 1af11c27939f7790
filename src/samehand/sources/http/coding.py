"""Unpacks HTTP bodies: chunked transfer, and the content codings gzip, deflate, br and zstd, with a cap on everything.

No more than the longest page is held in memory. Unpacking stops once the page is known to be too long or a bomb.
"""

import re
import zlib
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import brotli
import zstandard

MAX_CODINGS = 4
MAX_MEMBERS = 16
"""Gzip members, or zstd frames, that a body may have. Each takes time, however short it is."""

BOMB_FLOOR = 1_000_000
"""Below this many bytes nothing is a bomb, whatever the ratio."""

_MAX_CHUNKS = 100_000
_MAX_CHUNK_LINE = 1024
_CHUNK_SIZE: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_STEP = 4096
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ZSTD_STEP = 256
_ZSTD_WINDOW = 1 << 23
"""RFC 9659 allows the zstd content coding a window of 8 MiB, as browsers do."""


class CodingError(Exception):
    """The body is not packed as its header says."""


class BombError(Exception):
    """The body unpacks to far more than its size."""


class Unpacked(NamedTuple):
    """The unpacked bytes, how many packed bytes they took, and whether the packed bytes came to their proper end."""

    content: bytes
    consumed: int
    complete: bool


def dechunk(body: bytes) -> tuple[bytes, bool]:
    """The body without its chunk lines, and whether the last chunk was there. A body without chunks is unchanged."""
    parts: list[bytes] = []
    at = 0
    while len(parts) < _MAX_CHUNKS and (line := _CHUNK_SIZE.match(body, at, at + _MAX_CHUNK_LINE)):
        size = int(line[1], 16)
        if size == 0:
            return b"".join(parts), True
        at = line.end() + size
        parts.append(body[line.end() : at])
        if body.startswith(b"\r\n", at):
            at += 2
        elif body.startswith(b"\n", at):
            at += 1
    return (b"".join(parts), False) if parts else (body, True)


def decode_body(
    body: bytes, codings: Sequence[str], *, limit: int, max_compression_ratio: int
) -> tuple[bytes, str | None]:
    """The body with its content codings undone, at most `limit` + 1 bytes, and why it is cut, if it is.

    `codings` are in the order they were applied. Raises CodingError and BombError.
    """
    wire_size = len(body)
    truncated = None
    for coding in reversed(codings):
        unpack = _UNPACKERS.get(coding)
        if unpack is None or len(codings) > MAX_CODINGS:
            raise CodingError(", ".join(codings))
        ceiling = max(BOMB_FLOOR, max_compression_ratio * wire_size)
        content, consumed, complete = unpack(body, min(limit, ceiling) + 1)
        if len(content) > ceiling or len(content) > max(BOMB_FLOOR, limit, max_compression_ratio * consumed):
            raise BombError(f"{coding}: {consumed} bytes unpack to more than {len(content)}")
        if len(content) > limit:
            truncated = "length"
        elif not complete:
            truncated = truncated or "disconnect"
        body = content
    return body, truncated


def _inflate(data: bytes, most: int, window: int) -> Unpacked:
    """One zlib stream. If it breaks, the bytes before that count. If there are none, it is no such stream."""
    inflater = zlib.decompressobj(window)
    try:
        content = inflater.decompress(data, most)
    except zlib.error as error:
        # Bare deflate has no header, so anything unpacks to a few bytes of nonsense before it breaks.
        content = _salvage(data, most, window) if window > 0 else b""
        if not content:
            raise CodingError(str(error)) from error
        return Unpacked(content, len(data), False)
    unread = len(inflater.unconsumed_tail) + len(inflater.unused_data)
    if not content and not inflater.eof:
        raise CodingError("nothing to unpack")
    return Unpacked(content, len(data) - unread, inflater.eof or bool(inflater.unconsumed_tail))


def _salvage(data: bytes, most: int, window: int) -> bytes:
    """What a broken stream gives before it breaks. It is fed in small steps, since a failing call returns nothing."""
    inflater = zlib.decompressobj(window)
    parts: list[bytes] = []
    total = 0
    try:
        for at in range(0, len(data), _STEP):
            part = inflater.decompress(data[at : at + _STEP], most - total)
            parts.append(part)
            total += len(part)
            if total >= most or inflater.unconsumed_tail:
                break
    except zlib.error:
        return b"".join(parts)
    return b"".join(parts)


def _gunzip(data: bytes, most: int) -> Unpacked:
    """Gzip, which may be several members one after the other."""
    content, consumed, complete = _inflate(data, most, 31)
    for _ in range(MAX_MEMBERS):
        if not complete or len(content) >= most or not data.startswith(b"\x1f\x8b", consumed):
            break
        try:
            more = _inflate(data[consumed:], most - len(content), 31)
        except CodingError:
            break
        content, consumed, complete = content + more.content, consumed + more.consumed, more.complete
    return Unpacked(content, consumed, complete)


def _undeflate(data: bytes, most: int) -> Unpacked:
    """Deflate has a zlib header by the standard, but many servers send it bare."""
    wrapped = len(data) >= 2 and data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
    try:
        return _inflate(data, most, 15 if wrapped else -15)
    except CodingError:
        return _inflate(data, most, -15 if wrapped else 15)


def _unbrotli(data: bytes, most: int) -> Unpacked:
    unpacker = brotli.Decompressor()
    parts: list[bytes] = []
    total = fed = 0
    is_whole = False
    try:
        while total < most and not (is_whole := unpacker.is_finished()):
            ready = unpacker.can_accept_more_data()
            step = data[fed : fed + _STEP] if ready else b""
            if ready and not step:
                break
            fed += len(step)
            part = unpacker.process(step, output_buffer_limit=most - total)
            if not step and not part:
                break
            parts.append(part)
            total += len(part)
    except brotli.error as error:
        if not total:
            raise CodingError(str(error)) from error
    if not total and not is_whole:
        raise CodingError("nothing to unpack")
    return Unpacked(b"".join(parts)[:most], fed, total >= most or is_whole)


def _unzstd(data: bytes, most: int) -> Unpacked:
    """Zstandard, which may be several frames. It is fed in tiny steps, since a few bytes can unpack to 128 KiB."""
    unpacker = _zstd_frame()
    parts: list[bytes] = []
    total = fed = frames = 0
    try:
        while fed < len(data) and total < most:
            if unpacker.eof:
                frames += 1
                if frames >= MAX_MEMBERS or not data.startswith(_ZSTD_MAGIC, fed):
                    break
                unpacker = _zstd_frame()
            step = data[fed : fed + _ZSTD_STEP]
            parts.append(unpacker.decompress(step))
            total += len(parts[-1])
            fed += len(step) - len(unpacker.unused_data)
    except zstandard.ZstdError as error:
        if not total:
            raise CodingError(str(error)) from error
    if not total and not unpacker.eof:
        raise CodingError("nothing to unpack")
    return Unpacked(b"".join(parts)[:most], fed, total >= most or unpacker.eof)


def _zstd_frame() -> "zstandard.ZstdDecompressionObj":  # a name that exists for the type checker only
    return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()


_UNPACKERS: Final[dict[str, Callable[[bytes, int], Unpacked]]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
