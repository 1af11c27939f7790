"""Texts to learn from and to score: plain text files, and the visible text of all that a scan reads.

Text files end in .txt or .text, packed ones in .gz, .xz or .zst behind that. A folder gives its text and JSONL files,
then its pages. With the profile "mail" a folder is a mailbox, and every message is a text.
"""

import collections
import dataclasses
import io
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from samehand.base.page import PLAIN_TEXT, Page, Reject
from samehand.base.settings import Settings
from samehand.html import visible_text
from samehand.sources import find_sources, read_sources
from samehand.sources.archive.members import MemberError
from samehand.sources.http.charset import as_utf8
from samehand.sources.jsonl import unpacked
from samehand.sources.reader import Source
from samehand.sources.reasons import DAMAGED_RECORD, EMPTY_BODY, UNREADABLE_FILE

TEXT_ENDINGS = (".txt", ".text")
_PACKED_ENDINGS = (".gz", ".xz", ".zst")
_JSONL_ENDINGS = (".jsonl", ".ndjson")
_BATCH_BYTES = 8_000_000

Text = tuple[str, bytes]
"""The name of a text, and the text as UTF-8."""


@dataclasses.dataclass(slots=True)
class TextReader:
    """Reads the texts of inputs that are no run folders, one at a time, in order.

    A text file longer than `max_text_bytes` is cut at line ends into texts of at most `piece_bytes`, if given, else of
    `max_text_bytes`. `rejects` counts by reason what did not become a text. `text_of_html` makes the text of a page.
    """

    inputs: Sequence[str]
    settings: Settings = dataclasses.field(default_factory=Settings)
    max_text_bytes: int = 16_000_000
    piece_bytes: int | None = None
    rejects: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    text_of_html: Callable[[bytes], str] = visible_text

    def __iter__(self) -> Iterator[Text]:
        for given in self.inputs:
            if os.path.isdir(given) and self.settings.profile == "web":
                yield from self._folder(Path(given))
            elif os.path.isfile(given) and _is_text(given):
                yield from self._text_file(given)
            else:
                yield from self._other(given)

    def pages(self, sources: Sequence[Source]) -> Iterator[Text]:
        """The texts of the pages of sources."""
        for source in sources:
            for item in read_sources([source], self.settings):
                if isinstance(item, Page):
                    yield item.url or f"{item.source_path}#{item.warc_record_offset}", self._text_of(item)
                elif isinstance(item, Reject) and not (source.kind == "folder" and _is_read_apart(item.source_path)):
                    self.rejects[item.reason] += 1

    def _folder(self, folder: Path) -> Iterator[Text]:
        """Text and JSONL files in order of their paths, then the pages. Links are not followed."""
        for path, names, files in os.walk(folder):
            names.sort()
            for name in sorted(files):
                place = os.path.join(path, name)
                if os.path.islink(place):
                    continue
                if _is_text(name):
                    yield from self._text_file(place)
                elif _is_read_apart(name):
                    yield from self._other(place)
        yield from self._other(str(folder))

    def _other(self, given: str) -> Iterator[Text]:
        sources, unreadable = find_sources([given], profile=self.settings.profile)
        self.rejects.update(reject.reason for reject in unreadable)
        for source in sources:
            yield from self.pages([source])

    def _text_file(self, path: str) -> Iterator[Text]:
        try:
            with open(path, "rb") as file:
                yield from self._pieces(path, _opened(file, path))
        except (MemberError, lzma.LZMAError, EOFError):
            self.rejects[DAMAGED_RECORD.name] += 1
        except OSError:
            self.rejects[UNREADABLE_FILE.name] += 1

    def _pieces(self, name: str, stream: BinaryIO) -> Iterator[Text]:
        """A text whole, or in pieces if it is too long."""
        start = stream.read(self.max_text_bytes)
        if len(start) == self.max_text_bytes:
            pieces = _cut(start, stream, self.piece_bytes or self.max_text_bytes)
            yield from ((f"{name}#{number}", _as_utf8(piece)) for number, piece in enumerate(pieces))
        elif start.strip():
            yield name, _as_utf8(start)
        else:
            self.rejects[EMPTY_BODY.name] += 1

    def _text_of(self, page: Page) -> bytes:
        if page.content_mime_detected == PLAIN_TEXT:  # as mail is, too
            return page.content
        return self.text_of_html(as_utf8(page.content, page.content_charset)).encode()


def _cut(left: bytes, stream: BinaryIO, most: int) -> Iterator[bytes]:
    """The pieces of a text that starts with `left`. Each ends at its last line end, or else at its last blank."""
    while len(left) >= most or len(left := left + stream.read(most)) >= most:
        end = left.rfind(b"\n", 0, most) + 1 or left.rfind(b" ", 0, most) + 1 or most
        yield left[:end]
        left = left[end:]
    if left.strip():
        yield left


def batched(texts: Iterable[Text], most: int = _BATCH_BYTES) -> Iterator[list[Text]]:
    """Texts in batches of about so many bytes."""
    batch: list[Text] = []
    held = 0
    for name, text in texts:
        if batch and held + len(text) > most:
            yield batch
            batch, held = [], 0
        batch.append((name, text))
        held += len(text)
    if batch:
        yield batch


def _as_utf8(text: bytes) -> bytes:
    """Text as UTF-8. A file with a few bad bytes stays as it is. One that is mostly not UTF-8 is windows-1252."""
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
    """Whether a file of a folder is read as text or JSONL and not as a page."""
    return _unpacked_name(name).endswith(TEXT_ENDINGS + _JSONL_ENDINGS)


def _opened(file: BinaryIO, path: str) -> BinaryIO:
    """The unpacked stream of a file. The name shows xz, the first bytes show every other packing."""
    if path.lower().endswith(".xz"):
        return io.BufferedReader(lzma.LZMAFile(file))
    return unpacked(file, os.fstat(file.fileno()).st_size) or file
