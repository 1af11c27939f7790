"""Reads files of name servers. Lines have a maximum length; damage is counted and never raised as an error."""

import csv
import gzip
import os
import re
import zlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

from samehand.base.errors import InputError
from samehand.methods.sites.nameservers.pairs import NameServers, Taker
from samehand.methods.sites.nameservers.replies import TOO_LONG, read_objects
from samehand.methods.sites.nameservers.zone import ANY_NS, read_zone

BAD_ROW, DAMAGED, NO_SERVERS = "bad_row", "damaged", "no_servers"
BLOCK_BYTES = 1 << 20
LONGEST_LINE = 1 << 20
LONGEST_DOCUMENT = 1 << 26
"""Bytes of a file that is one JSON value: it has to be read whole."""

TABLE, JSON_LINES, JSON_DOCUMENT, YAML, ZONE = "table", "JSON lines", "JSON", "YAML of dig", "zone"

_MARK = b"\xef\xbb\xbf"
_DOMAIN_COLUMNS = ("domain", "url_host_registered_domain", "host", "name", "site")
_NS_COLUMNS = ("ns", "nameserver", "nameservers", "name_server", "name_servers")
_BETWEEN = re.compile(rb"[\s;|,]+")
_YAML_RECORD = re.compile(rb"^\s*- '?([^\s']+ [0-9]+ IN \S+ [^']*)'?\s*$")


class _Columns(NamedTuple):
    delimiter: str
    domain: int
    ns: slice


def read_nameservers(paths: Iterable[str | os.PathLike[str]], *, wanted: Collection[str] | None = None) -> NameServers:
    """Reads files of name servers. Only the pairs of the `wanted` domains are kept; without it, all pairs."""
    taker = Taker(wanted)
    names = [Path(path) for path in paths]
    for path in names:
        try:
            with path.open("rb") as raw:
                _read_file(raw, path, taker)
        except OSError as error:
            reason = error.strerror or "damaged"
            raise InputError(f"{path} cannot be read ({reason}). Check the path of the name servers.") from None
    if not taker.taken:
        listed = ", ".join(map(str, names)) or "the inputs"
        raise InputError(f"No name server in {listed}: give a table with the columns domain,ns, or a zone file.")
    return taker.done()


def _read_file(raw: IO[bytes], path: Path, taker: Taker) -> None:
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    lines = _Lines(cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if packed else raw, taker)
    before, kind = taker.taken, kind_of(lines.head)
    if kind == ZONE:
        read_zone(lines.blocks(), taker)
    elif kind == YAML:
        read_zone(_yaml_records(lines), taker)
    elif kind == TABLE:
        _read_table(lines, taker)
    elif kind == JSON_LINES:
        for line in lines.each():
            read_objects(line, taker)
    elif kind == JSON_DOCUMENT:
        read_objects(lines.whole(), taker)
    if taker.taken == before:
        taker.refuse(NO_SERVERS, str(path).encode())


def kind_of(head: bytes) -> str | None:
    """The format of a file that starts with `head`; None if it is not known."""
    text = head.removeprefix(_MARK).lstrip()
    if b"\0" in head:
        return None
    first = text.partition(b"\n")[0].rstrip()
    if text.startswith((b"{", b"[")):
        return JSON_LINES if first[1:] and first.endswith((b"}", b"]")) else JSON_DOCUMENT
    if b"response_message_data:" in head:
        return YAML
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith((b";", b"#", b"$")))
    first = next(lines, b"")
    if _header_of(first) or (b"," in first and not ANY_NS.search(first)):
        return TABLE
    return ZONE


class _Lines:
    """The lines of a file, in blocks or one by one."""

    def __init__(self, file: IO[bytes], taker: Taker) -> None:
        self._file, self._taker = file, taker
        self.head = self._read(1 << 16)

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines. A line that is too long is counted and skipped."""
        block, rest, skipping = self.head.removeprefix(_MARK), b"", False
        while block:
            if skipping:
                _, end, block = block.partition(b"\n")
                skipping = not end
            whole, end, rest = (rest + block).rpartition(b"\n")
            if end:
                yield whole + end
            if skipping or len(rest) > LONGEST_LINE:
                if rest:
                    self._taker.refuse(TOO_LONG, rest)
                rest, skipping = b"", True
            block = self._read(BLOCK_BYTES)
        if rest:
            yield rest

    def each(self) -> Iterator[bytes]:
        """One line after another, stripped; blank lines are skipped."""
        for block in self.blocks():
            for line in block.split(b"\n"):
                if line := line.strip():
                    self._taker.lines += 1
                    yield line

    def whole(self) -> bytes:
        """The whole file; b"" if it is too long."""
        content = bytearray(self.head.removeprefix(_MARK))
        while block := self._read(BLOCK_BYTES):
            content += block
            if len(content) > LONGEST_DOCUMENT:
                self._taker.refuse(TOO_LONG, bytes(content[:100]))
                return b""
        self._taker.lines += content.count(b"\n")
        return bytes(content)

    def _read(self, size: int) -> bytes:
        try:
            return self._file.read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            self._taker.refuse(DAMAGED, str(error).encode())
            return b""


def _yaml_records(lines: _Lines) -> Iterator[bytes]:
    """The records in the output of `dig +yaml`: the list items that have a time to live."""
    for block in lines.blocks():
        found = [match[1] for line in block.split(b"\n") if (match := _YAML_RECORD.match(line))]
        if found:
            yield b"\n".join(found) + b"\n"


def _read_table(lines: _Lines, taker: Taker) -> None:
    columns = None
    for line in lines.each():
        if columns is None:
            columns = _header_of(line)
            if columns is not None:
                continue
            columns = _Columns(",", 0, slice(1, None))
        cells = _cells(line, columns.delimiter)
        servers = _BETWEEN.split(b" ".join(cells[columns.ns]).strip())
        if len(cells) <= columns.domain or not cells[columns.ns]:
            taker.refuse(BAD_ROW, line)
        else:
            taker.take([(cells[columns.domain].strip(), server) for server in servers])


def _header_of(line: bytes) -> _Columns | None:
    for delimiter in (",", "\t"):
        names = [cell.strip().lower().decode("ascii", "replace") for cell in _cells(line[:LONGEST_LINE], delimiter)]
        domain = next((names.index(name) for name in _DOMAIN_COLUMNS if name in names), None)
        ns = next((names.index(name) for name in _NS_COLUMNS if name in names), None)
        if domain is not None and ns is not None:
            return _Columns(delimiter, domain, slice(ns, ns + 1))
    return None


def _cells(line: bytes, delimiter: str) -> list[bytes]:
    """Cells of one line. Names contain no line ends, so an open quote spoils one row and not the rest of the file."""
    if b'"' not in line:
        return line.split(delimiter.encode())
    try:
        rows = list(csv.reader([line.decode("utf-8", "surrogateescape")], delimiter=delimiter))
    except csv.Error:
        return []
    return [cell.encode("utf-8", "surrogateescape") for cell in rows[0]]
