"""Mail: .eml files, mbox files, Maildirs, folders of such files, and messages that come through a pipe.

A file whose first line starts with "From " is an mbox: a message starts there and at every such line behind a blank
one. A file that ends in .eml, a file of a Maildir, and every other file is one message. Links in a folder are never
followed. Half-written messages (the tmp folder of a Maildir) are left out.

A message becomes a Page of plain text: its subject, a newline, and the text of its body. Its URL is its file, followed
by #1, #2, ... for the messages of an mbox.
"""

import os
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from samehand.base.page import Outcome, Page, Skip
from samehand.base.settings import Settings
from samehand.sources.files import walk
from samehand.sources.http.body import Origin, guarded, refuse
from samehand.sources.mail.mime import OVER_LIMITS, HtmlToText, read_message
from samehand.sources.reader import Reader, Reading, Source, Unit, clean_name
from samehand.sources.reasons import EMPTY_BODY, EMPTY_FILE, NOT_MAIL, SYMLINK, UNREADABLE_FILE, text_of

_FROM: Final = b"From "
_QUOTED_FROM: Final = re.compile(rb"^>(>*+From )", re.MULTILINE)
_LINE_STEP = 64 << 10
_MESSAGE_FOLDERS: Final = frozenset({"cur", "new"})
_HALF_WRITTEN: Final = "tmp"


class _Raw(NamedTuple):
    """The bytes of one message, cut at the limit. `number` is 0 unless it came from an mbox."""

    data: bytes
    offset: int
    size: int
    number: int


class _Rule(NamedTuple):
    """What all messages of a mailbox are read with."""

    settings: Settings
    html_to_text: HtmlToText

    @property
    def limit(self) -> int:
        return self.settings.max_page_bytes


class _File(NamedTuple):
    """A file: its path, its name, what it is, and whether it is one message whatever it starts with."""

    path: str
    name: str
    found: os.stat_result | OSError
    is_single: bool


def read_mailbox(
    path: str, name: str, settings: Settings, *, html_to_text: HtmlToText | None = None
) -> Iterator[Outcome]:
    """The messages at `path`, called `name`, in order. The user named `path`, so it may be a link itself."""
    rule = _rule(settings, html_to_text)
    for file in _files(path, name):
        yield from _read_file(file, rule)


def read_stream(
    stream: BinaryIO, name: str, settings: Settings, *, html_to_text: HtmlToText | None = None
) -> Iterator[Outcome]:
    """The messages of an mbox, or the single message, that comes through `stream`, each as soon as its end is seen."""
    yield from _read_open(stream, name, _rule(settings, html_to_text), is_single=False)


def _read(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    yield from read_mailbox(unit.source.path, unit.source.name, settings)


def _find_page(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome | None:
    """The message at a place. Mailboxes have no index, so the file is read up to it."""
    files = (file for file in _files(source.path, source.name) if file.name == source_path)
    messages = (message for file in files for message in _read_file(file, _rule(settings, None)))
    return next((message for message in messages if message.warc_record_offset == offset), None)


def _rule(settings: Settings, html_to_text: HtmlToText | None) -> _Rule:
    if html_to_text is None:
        # Imported late, because compiled code takes time to load.
        from samehand.html import visible_text

        html_to_text = visible_text
    return _Rule(settings, html_to_text)


def _files(path: str, name: str) -> Iterator[_File]:
    """The files of a mailbox, sorted, depth first."""
    try:
        root = os.stat(path)
    except OSError as error:
        yield _File(path, name, error, is_single=True)
        return
    if not stat.S_ISDIR(root.st_mode):
        yield _File(path, name, root, path.lower().endswith(".eml"))
        return
    maildirs: set[str] = set()
    for relative, found in walk(path):
        if isinstance(found, list):
            if _MESSAGE_FOLDERS.issubset(found):
                maildirs.add(relative)
            continue
        parts = _parts_in_maildirs(relative, maildirs)
        if _HALF_WRITTEN not in parts:
            is_single = relative.lower().endswith(".eml") or bool(parts & _MESSAGE_FOLDERS)
            file_name = os.path.join(name, clean_name(relative)) if relative else name
            yield _File(os.path.join(path, relative), file_name, found, is_single)


def _parts_in_maildirs(relative: str, maildirs: set[str]) -> set[str]:
    """The parts of a path that lie directly in a Maildir, such as cur."""
    parts = relative.split(os.sep)
    return {part for place, part in enumerate(parts) if os.sep.join(parts[:place]) in maildirs}


def _read_file(file: _File, rule: _Rule) -> Iterator[Outcome]:
    """The messages of a file. Only regular files are opened: a FIFO would block forever."""
    found, origin = file.found, Origin(file.name, 0, url=file.name)
    if isinstance(found, OSError):
        yield refuse(origin, UNREADABLE_FILE, text_of(found))
    elif stat.S_ISLNK(found.st_mode):
        yield Skip(file.name, 0, SYMLINK.name)
    elif not stat.S_ISREG(found.st_mode):
        yield refuse(origin, UNREADABLE_FILE, "not a regular file")
    elif found.st_size == 0:
        yield refuse(origin, EMPTY_FILE)
    else:
        try:
            with open(file.path, "rb") as opened:
                yield from _read_open(opened, file.name, rule, is_single=file.is_single)
        except OSError as error:
            yield refuse(origin, UNREADABLE_FILE, text_of(error))


def _read_open(stream: BinaryIO, name: str, rule: _Rule, *, is_single: bool) -> Iterator[Outcome]:
    position = 0
    try:
        for raw in _split(stream, rule.limit, is_single=is_single):
            position = raw.offset + raw.size
            yield _outcome_of(raw, name, rule)
    except OSError as error:
        yield refuse(Origin(name, position, url=name), UNREADABLE_FILE, text_of(error))


def _split(stream: BinaryIO, limit: int, *, is_single: bool) -> Iterator[_Raw]:
    """The messages of a stream, read line by line. At most `limit` bytes of a message are held, however long it is.

    Blank lines before the first message belong to none. If it starts with "From ", the stream is an mbox.
    """
    held = bytearray()
    start = position = number = 0
    at_line_start = is_behind_blank = True
    while line := stream.readline(_LINE_STEP):
        is_blank = at_line_start and line in (b"\n", b"\r\n")
        if is_behind_blank and at_line_start and line.startswith(_FROM) and not is_single and (number or not held):
            if held:
                yield _Raw(bytes(held), start, position - start, number)
            held.clear()
            start = position
            number += 1
        if not is_blank or held:
            start = start if held else position
            held += line[: limit - len(held)]
        position += len(line)
        is_behind_blank = is_blank
        at_line_start = line.endswith(b"\n")
    if position:
        yield _Raw(bytes(held), start, position - start, number)


def _outcome_of(raw: _Raw, name: str, rule: _Rule) -> Outcome:
    url = f"{name}#{raw.number}" if raw.number else name
    origin = Origin(name, raw.offset, raw.size, url)
    return guarded(origin, lambda: _page_of(raw, origin, rule))


def _page_of(raw: _Raw, origin: Origin, rule: _Rule) -> Outcome:
    data = _QUOTED_FROM.sub(rb"\1", raw.data) if raw.number and b">From " in raw.data else raw.data
    message = read_message(data, rule.html_to_text, rule.settings)
    if not message.has_field:
        return refuse(origin, NOT_MAIL)
    if not message.subject and (not message.body or message.body.isspace()):
        return refuse(origin, EMPTY_BODY)
    text = f"{message.subject}\n{message.body}".encode("utf-8", "replace")
    is_cut = raw.size > len(raw.data) or len(text) > rule.limit or OVER_LIMITS in message.notes
    if len(text) > rule.limit:
        text = text[: rule.limit].decode("utf-8", "ignore").encode("utf-8")
    return Page(
        url=origin.url,
        content=text,
        source_path=origin.source_path,
        warc_record_offset=raw.offset,
        warc_record_length=raw.size,
        content_mime_detected="text/plain",
        content_charset="UTF-8",
        content_truncated="length" if is_cut else None,
    )


MAIL_READER: Final = Reader(
    kind="mail",
    inputs="mail (.eml files, mbox files, Maildirs or folders of these)",
    profile="mail",
    recognises=lambda look: True,
    read=_read,
    find_page=_find_page,
)
