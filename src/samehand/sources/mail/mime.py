"""Subject and text of one message, read in linear time and within bounds.

The parser of the standard library recurses, and takes seconds for a header made to be slow. Here only the subject and
the visible text are wanted. So parts are split at their boundaries with an explicit stack, and only four header fields
are looked at. Nothing raises: `Message.notes` says what is wrong.

    note          what is wrong, and what is read nevertheless
    ------------  --------------------------------------------------------------------------------------------
    broken_mime   a head without a blank line, a multipart without boundary, parts or end: everything is read
    bad_base64    base64 with other bytes in it, or cut off: the base64 letters are decoded
    over_limits   more header bytes, parts, nesting or encoded words than the settings: the first of them are read
"""

import binascii
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from samehand.base.settings import Settings
from samehand.sources.http.charset import SINGLE_BYTE_CODECS, charset_name, to_ascii_compatible

BROKEN_MIME: Final = "broken_mime"
BAD_BASE64: Final = "bad_base64"
OVER_LIMITS: Final = "over_limits"

HtmlToText = Callable[[bytes], str]

_PLAIN: Final = "text/plain"
_HTML: Final = "text/html"
_MULTIPART: Final = "multipart/"

# Possessive, so that no line is looked at twice. "From " lines come from mailboxes, ">From " lines from quoted ones.
_HEAD: Final = re.compile(rb"(?:(?:>?From |[ \t]|[!-9;-~]++[ \t]*+:)[^\n]*+(?:\n|\Z))*+")
_BEFORE_HEAD: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*+")
_BLANK_LINE: Final = re.compile(rb"\r?\n")
_HEAD_END: Final = re.compile(rb"\n\r?\n")
_ANY_FIELD: Final = re.compile(rb"^[A-Za-z0-9][\w.-]*+[ \t]*+:", re.MULTILINE)
_FIELD: Final = re.compile(
    rb"^(subject|content-(?:type|transfer-encoding|disposition))[ \t]*+:([^\n]*+(?:\n[ \t][^\n]*+)*+)",
    re.IGNORECASE | re.MULTILINE,
)
_FIRST_WORD: Final = re.compile(r"[^\s;]+")
_PARAMETER: Final = re.compile(
    rb"(?:^|[;\s])(boundary|charset)\s*+=\s*+(?:\"([^\"]*+)\"|([^\s;\"]++))", re.IGNORECASE | re.MULTILINE
)
_ENCODED_WORD: Final = re.compile(r"=\?([^?\s]{1,75})\?([bq])\?([^?]*+)\?=", re.IGNORECASE)
_BETWEEN_WORDS: Final = re.compile(r"(?<=\?=)\s++(?==\?[^?\s]{1,75}\?[bq]\?)", re.IGNORECASE)
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64: Final = bytes(set(range(256)) - set(_BASE64))


class Message(NamedTuple):
    """What a message says. `has_field` is False for bytes that do not start with a header field, so are no mail."""

    subject: str
    body: str
    notes: frozenset[str]
    has_field: bool


class _Head(NamedTuple):
    """The first of each wanted field, by its name in lower case, and where the body starts."""

    fields: dict[bytes, bytes]
    body: int
    has_field: bool


@dataclasses.dataclass(slots=True)
class _Part:
    """A part whose body is [start, end) of the message. `shown` are the parts whose text is shown in its place."""

    head: _Head
    start: int
    end: int
    depth: int
    media: str = _PLAIN
    children: "list[_Part]" = dataclasses.field(default_factory=list)
    shown: "list[_Part]" = dataclasses.field(default_factory=list)
    text: str = ""


def read_message(data: bytes, html_to_text: HtmlToText, settings: Settings) -> Message:
    """The subject and text of the message in `data`. `html_to_text` turns HTML as UTF-8 into its visible text."""
    notes: set[str] = set()
    parts = _walk(data, settings, notes)
    # A part comes behind the one that holds it, so this order does all children before their parent.
    for part in reversed(parts):
        _choose_shown(part, data, notes)
    root = parts[0]
    for part in root.shown:
        if part.media == _HTML:
            part.text = html_to_text(_text_of(part, data, notes).encode("utf-8", "replace"))
    # Subjects with bytes above 127 and without encoded words are against the rules but common in spam. They are in the
    # charset of the text.
    label = _ascii(_parameter((root.shown or [root])[0].head, b"charset"))
    subject = _decode_header(root.head.fields.get(b"subject", b""), label, settings.max_encoded_words, notes)
    body = "\n".join(part.text for part in root.shown).replace("\r\n", "\n")
    return Message(subject, body, frozenset(notes), root.head.has_field)


def _walk(data: bytes, settings: Settings, notes: set[str]) -> list[_Part]:
    """All parts in order, a multipart before its parts. There is always one, the message itself."""
    before = _BEFORE_HEAD.match(data)
    parts = [_read_part(data, (before.end() if before else 0, len(data)), 0, settings, notes)]
    waiting = _inner(parts[0], data, settings, notes)
    while waiting:
        if len(parts) == settings.max_mail_parts:
            notes.add(OVER_LIMITS)
            break
        span, parent = waiting.pop()
        part = _read_part(data, span, parent.depth + 1, settings, notes)
        parent.children.append(part)
        parts.append(part)
        waiting += _inner(part, data, settings, notes)
    return parts


def _inner(part: _Part, data: bytes, settings: Settings, notes: set[str]) -> list[tuple[tuple[int, int], _Part]]:
    """The spans of the parts of `part`, each with `part` itself. The first one is at the end, to be taken first."""
    if not part.media.startswith(_MULTIPART):
        return []
    return [(span, part) for span in reversed(_split(part, data, settings, notes))]


def _read_part(data: bytes, span: tuple[int, int], depth: int, settings: Settings, notes: set[str]) -> _Part:
    head = _read_head(data, span, settings.max_mail_head_bytes, notes)
    part = _Part(head, head.body, span[1], depth)
    declared = _FIRST_WORD.search(_ascii(head.fields.get(b"content-type", b"")))
    if declared and "/" in declared[0]:
        part.media = declared[0].lower()
    if depth and _ascii(head.fields.get(b"content-disposition", b"")).strip().lower().startswith("attachment"):
        part.media = ""
    return part


def _read_head(data: bytes, span: tuple[int, int], most: int, notes: set[str]) -> _Head:
    """The head that `span` starts with. As in the standard library, the first line that is no field ends it."""
    start, end = span
    limit = min(end, start + most)
    found = _HEAD.match(data, start, limit)
    stop = found.end() if found else start
    text = data[start:stop]
    fields: dict[bytes, bytes] = {}
    for field in _FIELD.finditer(text):
        fields.setdefault(field[1].lower(), field[2])
    return _Head(fields, _body_start(data, stop, (limit, end), notes), _ANY_FIELD.search(text) is not None)


def _body_start(data: bytes, head_end: int, bounds: tuple[int, int], notes: set[str]) -> int:
    limit, end = bounds
    if head_end == limit < end:
        notes.add(OVER_LIMITS)
        blank = _HEAD_END.search(data, head_end - 1, end)
        return blank.end() if blank else end
    blank = _BLANK_LINE.match(data, head_end, end)
    if blank is None and head_end < end:
        notes.add(BROKEN_MIME)
    return blank.end() if blank else head_end


def _split(part: _Part, data: bytes, settings: Settings, notes: set[str]) -> list[tuple[int, int]]:
    """The spans of the parts of a multipart. A multipart without parts becomes a plain text, which may be readable."""
    if part.depth >= settings.max_mail_depth:
        notes.add(OVER_LIMITS)
        return []
    boundary = _parameter(part.head, b"boundary").rstrip()
    spans: list[tuple[int, int]] = []
    opened = -1
    for place, behind, is_last in _delimiters(part, data, b"--" + boundary) if boundary else ():
        if opened >= 0:
            spans.append((opened, place))
        opened = -1 if is_last else behind
        if is_last or len(spans) == settings.max_mail_parts:
            break
    else:
        notes.add(BROKEN_MIME)
    if opened >= 0:
        spans.append((opened, part.end))
    if not spans:
        notes.add(BROKEN_MIME)
        part.media = _PLAIN
    return spans


def _delimiters(part: _Part, data: bytes, marker: bytes) -> Iterator[tuple[int, int, bool]]:
    """The delimiter lines: where each starts, where the next line starts, and whether it is the last delimiter."""
    place = data.find(marker, part.start, part.end)
    while place >= 0:
        behind = place + len(marker)
        if place == part.start or data[place - 1] == ord("\n"):
            line_end = data.find(b"\n", behind, part.end)
            behind = part.end if line_end < 0 else line_end + 1
            rest = data[place + len(marker) : behind].strip()
            if rest in (b"", b"--"):
                yield place, behind, bool(rest)
        place = data.find(marker, behind, part.end)


def _choose_shown(part: _Part, data: bytes, notes: set[str]) -> None:
    """Chooses all text that a reader may see, all versions of an alternative included.

    The plain version is often a stub that unrelated mails share ("your program does not show HTML"), or text made to
    deceive filters.
    """
    if part.media == _PLAIN:
        part.text = _text_of(part, data, notes)
        part.shown = [part] if part.text.strip() else []
    elif part.media == _HTML:
        part.shown = [part]
    elif part.media.startswith(_MULTIPART):
        part.shown = [leaf for child in part.children for leaf in child.shown]


def _text_of(part: _Part, data: bytes, notes: set[str]) -> str:
    content = data[part.start : part.end]
    coding = _ascii(part.head.fields.get(b"content-transfer-encoding", b"")).strip().lower()
    if coding == "quoted-printable":
        content = binascii.a2b_qp(content)
    elif coding == "base64":
        content = _decode_base64(content, notes)
    return _decode(content, _ascii(_parameter(part.head, b"charset")) or None)


def _decode(content: bytes, label: str | None) -> str:
    """Text in the charset that `label` names. The label itself is never passed to Python's codecs."""
    content, name = to_ascii_compatible(content, label)
    return content.decode(SINGLE_BYTE_CODECS.get(name or "", "utf-8"), "replace").removeprefix("\ufeff")


def _decode_base64(content: bytes, notes: set[str]) -> bytes:
    """Decodes base64. What follows its padding is no base64, but usually the footer of a mailing list."""
    letters, padding, rest = content.translate(None, b" \t\r\n").partition(b"=")
    clean = letters.translate(None, _NOT_BASE64)
    if len(clean) != len(letters) or rest.strip(b"=") or len(clean) % 4 == 1 or (len(clean) % 4 and not padding):
        notes.add(BAD_BASE64)
    whole = len(clean) - (len(clean) % 4 == 1)
    return binascii.a2b_base64(clean[:whole] + b"=" * (-whole % 4))


def _decode_header(value: bytes, label: str, most: int, notes: set[str]) -> str:
    """The value of a field on one line, with encoded words (RFC 2047) decoded. Other bytes are UTF-8 or in `label`."""

    def word(found: re.Match[str]) -> str:
        content = found[3].encode("utf-8", "replace")
        is_base64 = found[2] in "bB"
        content = _decode_base64(content, notes) if is_base64 else binascii.a2b_qp(content, header=True)
        # RFC 2231 lets a language follow the charset. An unknown charset was declared, so it must not be guessed.
        return _decode(content, charset_name(found[1].partition("*")[0]) or "utf-8")

    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = _decode(value, label or "utf-8")
    text = _BETWEEN_WORDS.sub("", text)
    text, count = _ENCODED_WORD.subn(word, text, count=most)
    if count == most and _ENCODED_WORD.search(text):
        notes.add(OVER_LIMITS)
    return " ".join(text.split())


def _parameter(head: _Head, name: bytes) -> bytes:
    """A parameter of the Content-Type of a head, empty if there is none."""
    for found in _PARAMETER.finditer(head.fields.get(b"content-type", b"")):
        if found[1].lower() == name:
            return found[2] if found[2] is not None else found[3]
    return b""


def _ascii(value: bytes) -> str:
    return value.decode("ascii", "replace")
