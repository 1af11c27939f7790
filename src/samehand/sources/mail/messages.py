"""Mail: .eml files, mbox files, Maildirs, folders of such files, and messages that come through a pipe.

A file whose first line starts with "From " is an mbox: a message starts there and at every such line behind a blank
one. All other files, those that end in .eml and those of a Maildir are one message each. Links in a folder are never
followed: they may lead out of it, or round. Half written messages (the tmp of a Maildir) are left alone.

Every message ends as one Mail or one Reject. A Reject has the message's place as `warc_filename`, and as its reason
one of `samehand.sources.reasons` (empty_body, empty_file, symlink, unreadable_file, reader_error) or

    not_mail    a file, or what follows a "From " line, that does not start with a header field

A message that is broken and can still be read is a Mail with a note; `samehand.sources.mail.mime` has the notes.
"""

import dataclasses
import os
import re
import stat
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from samehand.base.page import Reject
from samehand.base.settings import Settings
from samehand.sources.mail.mime import HtmlToText, read_message
from samehand.sources.reasons import EMPTY_BODY, EMPTY_FILE, READER_ERROR, SYMLINK, UNREADABLE_FILE, reject, text_of
from samehand.sources.unit import clean_name

NOT_MAIL: Final = "not_mail"
TRUNCATED: Final = "length"
"""`Mail.truncated` of a message that was longer than is read, as for pages."""

_FROM: Final = b"From "
_QUOTED_FROM: Final = re.compile(rb"^>(>*+From )", re.MULTILINE)
_LINE_STEP = 64 << 10
_MESSAGE_FOLDERS: Final = frozenset({"cur", "new"})
_HALF_WRITTEN: Final = "tmp"


@dataclasses.dataclass(frozen=True, slots=True)
class Mail:
    """One message: `text` is its subject, a newline and the text of its body, in UTF-8.

    `place` is the file's name, with #1, #2, ... for the messages of an mbox. `offset` and `size` are where the message
    is in the file, `truncated` is "length" if it was cut. `note` names what was wrong, separated by commas.
    """

    place: str
    text: bytes
    offset: int
    size: int
    truncated: str | None = None
    note: str = ""


class _Raw(NamedTuple):
    """The bytes of one message, cut at the limit; `number` is 0 unless it came from an mbox."""

    data: bytes
    offset: int
    size: int
    number: int


class _Reader(NamedTuple):
    """What all messages of a mailbox are read with."""

    limit: int
    html_to_text: HtmlToText


class _File(NamedTuple):
    """A file in a folder: its path there, what it is, and whether it is one message whatever it looks like."""

    relative: str
    found: os.stat_result | OSError
    is_single: bool


def read_mailbox(
    path: str, name: str, settings: Settings, *, html_to_text: HtmlToText | None = None
) -> Iterator[Mail | Reject]:
    """The messages at `path`, called `name`, in order. `path` was named by the user, so it may be a link itself."""
    reader = _reader(settings, html_to_text)
    try:
        found = os.stat(path)
    except OSError as error:
        yield reject(name, 0, reason=UNREADABLE_FILE, detail=text_of(error))
        return
    if not stat.S_ISDIR(found.st_mode):
        yield from _read_file(path, name, _File("", found, path.lower().endswith(".eml")), reader)
        return
    for file in _walk(path):
        file_name = os.path.join(name, clean_name(file.relative)) if file.relative else name
        yield from _read_file(os.path.join(path, file.relative), file_name, file, reader)


def read_stream(
    stream: BinaryIO, name: str, settings: Settings, *, html_to_text: HtmlToText | None = None
) -> Iterator[Mail | Reject]:
    """The messages of an mbox, or the single message, that comes through `stream`: each as soon as its end is seen."""
    yield from _read_open(stream, name, _reader(settings, html_to_text), is_single=False)


def _reader(settings: Settings, html_to_text: HtmlToText | None) -> _Reader:
    if html_to_text is None:
        # Late: compiled code takes its time to load, and who brings another function does not need it.
        from samehand.html import visible_text

        html_to_text = visible_text
    return _Reader(settings.max_page_bytes, html_to_text)


def _walk(folder: str) -> Iterator[_File]:
    """Everything below a folder that is not a folder, sorted, depth first."""
    waiting = [("", False)]
    while waiting:
        relative, is_single = waiting.pop()
        path = os.path.join(folder, relative)
        try:
            found = os.lstat(path) if relative else os.stat(path)
            if not stat.S_ISDIR(found.st_mode):
                yield _File(relative, found, is_single or relative.lower().endswith(".eml"))
                continue
            names = sorted(os.listdir(path), reverse=True)
        except OSError as error:
            yield _File(relative, error, is_single)
            continue
        is_maildir = _MESSAGE_FOLDERS.issubset(names)
        for name in names:
            if not (is_maildir and name == _HALF_WRITTEN):
                is_message = is_single or (is_maildir and name in _MESSAGE_FOLDERS)
                waiting.append((os.path.join(relative, name), is_message))


def _read_file(path: str, name: str, file: _File, reader: _Reader) -> Iterator[Mail | Reject]:
    """The messages of a file. Nothing but regular files is ever opened: a FIFO would wait forever."""
    found = file.found
    if isinstance(found, OSError):
        yield reject(name, 0, reason=UNREADABLE_FILE, detail=text_of(found))
    elif stat.S_ISLNK(found.st_mode):
        yield reject(name, 0, reason=SYMLINK)
    elif not stat.S_ISREG(found.st_mode):
        yield reject(name, 0, reason=UNREADABLE_FILE, detail="not a regular file")
    elif found.st_size == 0:
        yield reject(name, 0, reason=EMPTY_FILE)
    else:
        try:
            with open(path, "rb") as opened:
                yield from _read_open(opened, name, reader, is_single=file.is_single)
        except OSError as error:
            yield reject(name, 0, reason=UNREADABLE_FILE, detail=text_of(error))


def _read_open(stream: BinaryIO, name: str, reader: _Reader, *, is_single: bool) -> Iterator[Mail | Reject]:
    position = 0
    try:
        for raw in _split(stream, reader.limit, is_single=is_single):
            position = raw.offset + raw.size
            yield _outcome_of(raw, f"{name}#{raw.number}" if raw.number else name, reader)
    except OSError as error:
        yield reject(name, position, reason=UNREADABLE_FILE, detail=text_of(error))


def _split(stream: BinaryIO, limit: int, *, is_single: bool) -> Iterator[_Raw]:
    """The messages of a stream, read line by line: at most `limit` bytes of one are held, however long it is.

    Blank lines before the first message belong to none; whether it starts with "From " says if this is an mbox.
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


def _outcome_of(raw: _Raw, place: str, reader: _Reader) -> Mail | Reject:
    try:
        data = _QUOTED_FROM.sub(rb"\1", raw.data) if raw.number and b">From " in raw.data else raw.data
        message = read_message(data, reader.html_to_text)
        if not message.has_field:
            return reject(place, raw.offset, reason=NOT_MAIL, size=raw.size)
        if not message.subject and (not message.body or message.body.isspace()):
            return reject(place, raw.offset, reason=EMPTY_BODY, size=raw.size)
        text = f"{message.subject}\n{message.body}".encode("utf-8", "replace")
        is_cut = raw.size > len(raw.data) or len(text) > reader.limit
        if len(text) > reader.limit:
            text = text[: reader.limit].decode("utf-8", "ignore").encode("utf-8")
        note = ",".join(sorted(message.notes))
        return Mail(place, text, raw.offset, raw.size, TRUNCATED if is_cut else None, note)
    except Exception as error:  # noqa: BLE001 - the message boundary: no message stops a run
        return reject(place, raw.offset, reason=READER_ERROR, size=raw.size, detail=text_of(error))
