"""Texts to train on and to score, out of files: plain text, JSONL with a `text` field, and every input of pages.

Text files end in .txt or .text, packed ones in .gz, .xz or .zst behind that; a folder gives the text and JSONL files in
it, and its pages. A line of JSONL gives its `text`, or the visible text of its `html` or `content`. All else is read by
`samehand.sources`. A text file longer than `max_text_bytes` is cut at line ends into several texts. What cannot be read
is counted.
"""

import collections
import dataclasses
import io
import json
import lzma
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from samehand.base.page import Page
from samehand.base.settings import Settings
from samehand.html import visible_text
from samehand.sources import find_sources, plan_units, read_unit
from samehand.sources.archive.members import MemberError
from samehand.sources.http.charset import as_utf8
from samehand.sources.reasons import BAD_JSON, DAMAGED_RECORD, EMPTY_BODY, MISSING_COLUMN, UNREADABLE_FILE
from samehand.sources.tables import CONTENT_COLUMNS, unpacked
from samehand.sources.unit import Source

TEXT_ENDINGS = (".txt", ".text")
_PACKED_ENDINGS = (".gz", ".xz", ".zst")
_JSON_ENDINGS = (".jsonl", ".ndjson")


@dataclasses.dataclass(slots=True)
class TextReader:
    """Reads texts out of inputs, one at a time; `rejects` counts by reason what did not become a text."""

    inputs: Sequence[str]
    settings: Settings = dataclasses.field(default_factory=Settings)
    max_text_bytes: int = 16_000_000
    rejects: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        """Name and UTF-8 of each text, in the order of the inputs."""
        for given in self.inputs:
            if os.path.isdir(given):
                yield from self._folder(Path(given))
            elif os.path.isfile(given) and _is_text(given):
                yield from self._text_file(given)
            else:
                yield from self._pages(given)

    def _folder(self, folder: Path) -> Iterator[tuple[str, bytes]]:
        """Text files and JSONL of a folder in order of their paths, then its pages. Links are not followed."""
        for path, names, files in os.walk(folder):
            names.sort()
            for name in sorted(files):
                place = os.path.join(path, name)
                if os.path.islink(place):
                    continue
                if _is_text(name):
                    yield from self._text_file(place)
                elif _unpacked_name(name).endswith(_JSON_ENDINGS):
                    yield from self._pages(place)
        yield from self._pages(str(folder))

    def _text_file(self, path: str) -> Iterator[tuple[str, bytes]]:
        try:
            with open(path, "rb") as file:
                yield from self._pieces(path, _opened(file, path))
        except (MemberError, lzma.LZMAError, EOFError):
            self.rejects[DAMAGED_RECORD] += 1
        except OSError:
            self.rejects[UNREADABLE_FILE] += 1

    def _pieces(self, name: str, stream: BinaryIO) -> Iterator[tuple[str, bytes]]:
        """A text whole, or cut at the last line end of every `max_text_bytes`."""
        left = b""
        number = 0
        while more := stream.read(self.max_text_bytes - len(left)):
            left += more
            if len(left) < self.max_text_bytes:
                continue
            end = left.rfind(b"\n") + 1 or left.rfind(b" ") + 1 or len(left)
            yield f"{name}#{number}", _as_utf8(left[:end])
            left = left[end:]
            number += 1
        if left.strip():
            yield f"{name}#{number}" if number else name, _as_utf8(left)
        elif not number:
            self.rejects[EMPTY_BODY] += 1

    def _pages(self, given: str) -> Iterator[tuple[str, bytes]]:
        sources, unreadable = find_sources([given], profile=self.settings.profile)
        self.rejects.update(reject.reason for reject in unreadable)
        for source in sources:
            if source.kind == "jsonl":
                yield from self._lines(source)
                continue
            for unit in plan_units([source], self.settings.split_bytes):
                for item in read_unit(unit, self.settings):
                    if isinstance(item, Page):
                        yield item.url or f"{item.warc_filename}#{item.warc_record_offset}", self._text_of(item)
                    elif source.kind != "folder" or not _is_read_apart(item.warc_filename):
                        self.rejects[item.reason] += 1

    def _text_of(self, page: Page) -> bytes:
        if self.settings.profile == "mail":
            return page.content
        return visible_text(as_utf8(page.content, page.content_charset)).encode()

    def _lines(self, source: Source) -> Iterator[tuple[str, bytes]]:
        longest = 3 * self.max_text_bytes
        try:
            with open(source.path, "rb") as file:
                stream = unpacked(file, source.size) or file
                number = 0
                while line := stream.readline(longest):
                    number += 1
                    if len(line) == longest:
                        self.rejects[BAD_JSON] += 1
                        while line and not line.endswith(b"\n"):
                            line = stream.readline(longest)
                    elif not line.isspace():
                        yield from self._row(line, f"{source.name}#{number}")
        except MemberError:
            self.rejects[DAMAGED_RECORD] += 1
        except OSError:
            self.rejects[UNREADABLE_FILE] += 1

    def _row(self, line: bytes, name: str) -> Iterator[tuple[str, bytes]]:
        try:
            row = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError):
            self.rejects[BAD_JSON] += 1
            return
        columns = ("text", *CONTENT_COLUMNS)
        column = next((key for key in columns if isinstance(row, dict) and isinstance(row.get(key), str)), None)
        if column is None:
            self.rejects[MISSING_COLUMN] += 1
            return
        text = row[column].encode("utf-8", "replace")
        url = row.get("url")
        yield url if isinstance(url, str) and url else name, text if column == "text" else visible_text(text).encode()


def _as_utf8(text: bytes) -> bytes:
    """Text as UTF-8. A file with a few bad bytes stays as it is; one that is mostly not UTF-8 is windows-1252."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return text.decode("utf-16", "replace").encode("utf-8", "replace")
    if text.isascii():
        return text
    bad = text.decode("utf-8", "replace").count("\ufffd")
    good = len(text.decode("utf-8", "ignore").encode("ascii", "ignore")) if bad else 0
    wide = len(text.decode("utf-8", "ignore")) - good
    return as_utf8(text, None) if bad > wide else text


def _unpacked_name(name: str) -> str:
    name = name.lower()
    return next((name.removesuffix(ending) for ending in _PACKED_ENDINGS if name.endswith(ending)), name)


def _is_text(name: str) -> bool:
    return _unpacked_name(name).endswith(TEXT_ENDINGS)


def _is_read_apart(name: str) -> bool:
    """Whether a file of a folder was read as text or JSONL and not as a page."""
    return _unpacked_name(name).endswith(TEXT_ENDINGS + _JSON_ENDINGS)


def _opened(file: BinaryIO, path: str) -> BinaryIO:
    """The unpacked stream of a file; the name only says that it may be xz, the bytes say so."""
    if path.lower().endswith(".xz"):
        return io.BufferedReader(lzma.LZMAFile(file))
    return unpacked(file, os.fstat(file.fileno()).st_size) or file
