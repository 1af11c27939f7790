"""Readable twin of canonical markup: the rules of docs/style.md in plain Python, on tokens of a plain tokenizer."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_PHRASES = "b i em strong u small sub sup br wbr font nobr big tt s strike code mark"
_BOXES = (
    "div span section article main header footer nav aside figure figcaption hgroup address center details summary"
    " dialog search meta"
)
_SKELETON = (
    "html head body h1 h2 h3 h4 h5 h6 p hr pre blockquote ul li dl dt dd a ruby rt picture img iframe embed"
    " object video audio map table caption colgroup col tbody thead tfoot tr td th form label input button select"
    " optgroup option textarea output progress meter fieldset legend canvas frame frameset applet marquee"
)
_FUNCTIONAL = "a img iframe embed object form input button select option textarea label td th frame video audio table"
_OPTIONAL = "li p td tr th dt dd option body html head tbody thead tfoot colgroup optgroup rt caption"
_VOID = "meta img input hr col embed frame"
_STANDS = "iframe td th button select textarea canvas video object embed applet"
_IN_TABLE = "caption colgroup col tbody thead tfoot tr td th"
_RAW = "title textarea style xmp iframe noembed noframes noscript script template plaintext"
_ATTRIBUTES = (
    "href src rel type name content property http-equiv charset action method value for colspan rowspan media"
    " target checked selected placeholder maxlength async defer sizes srcset usemap coords shape width height border"
    " cellpadding cellspacing align valign bgcolor"
)
SKELETON, ATTRIBUTES = _SKELETON.split(), _ATTRIBUTES.split()
PHRASES, BOXES, FUNCTIONAL, OPTIONAL, VOID, IN_TABLE, RAW = (
    set(names.split()) for names in (_PHRASES, _BOXES, _FUNCTIONAL, _OPTIONAL, _VOID, _IN_TABLE, _RAW)
)
STANDS = {*_STANDS.split(), *VOID}
SAME = {"ol": "ul", "dir": "ul", "menu": "ul"}
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
START, CLOSE, END, VALUE, QUOTE, FIRST = 0x80, 0x81, 0x82, 0x83, 0x84, 0x85
MASK = (1 << 64) - 1
BLANKS = b" \t\n\f\r"


class Tag(NamedTuple):
    name: str
    is_end: bool
    attributes: list[tuple[str, bytes]]


def name_hash(name: str) -> int:
    spelling, packed = name.encode("latin-1"), 0
    for start in range(0, len(spelling), 8):
        packed ^= int.from_bytes(spelling[start : start + 8], "little")
    return (packed ^ len(spelling)) * 0x9E3779B97F4A7C15 & MASK


def value_noise(value: bytes) -> bytes:
    """The first eight bytes of punctuation of a value."""
    kept, place = b"", 0
    while place < len(value) and len(kept) < 8:
        byte = value[place : place + 1]
        if byte == b"&":
            place, byte = _reference(value, place)
            if byte in (b"?", b"#"):
                break
            kept += byte if _is_noise(byte) else b""
            continue
        if byte in (b"?", b"#"):
            kept += byte if byte == b"#" and place == 0 else b""
            break
        if byte == b"%" and value[place + 1 : place + 2].isalnum():
            place += 1
            continue
        if byte == b"." and value[place + 1 : place + 2] == b"/" and (place == 0 or value[place - 1 : place] == b"/"):
            place += 2
            continue
        kept += byte if _is_noise(byte) else b""
        place += 1
    return kept


def _is_noise(byte: bytes) -> bool:
    return len(byte) == 1 and byte[0] < 128 and not byte.isalnum() and byte not in b" \t\n\r\f\v"


def _reference(value: bytes, place: int) -> tuple[int, bytes]:
    if found := re.compile(rb"&#([xX]?)([0-9a-fA-F]+);?").match(value, place):
        if not found[1]:
            found = re.compile(rb"&#()([0-9]+);?").match(value, place)
        if found:
            number = int(found[2], 16 if found[1] else 10)
            return found.end(), bytes([number]) if number < 128 else b""
    if found := re.compile(rb"&([0-9A-Za-z]{1,31});").match(value, place):
        return found.end(), NAMED.get(found[1], b"")
    return place + 1, b"&"


def tokens(page: bytes) -> Iterator[Tag | None]:
    """The tags of a page, and None for text that is not blank."""
    place = 0
    while place < len(page):
        less = page.find(b"<", place)
        less = len(page) if less < 0 else less
        if page[place:less].strip(BLANKS):
            yield None
        if less + 1 >= len(page):
            return
        found = re.compile(rb"<(/?)([A-Za-z][^ \t\n\f\r/>]*)").match(page, less)
        if found:
            name = found[2].lower().decode("latin-1")
            attributes, end = _attributes(page, found.end())
            place = min(end, len(page))
            if end <= len(page) or found[1]:
                tag = Tag(name, bool(found[1]), attributes)
                yield tag
                if not tag.is_end:
                    place = _after(page, place, tag)
        elif page[less + 1 : less + 2] == b"/" or page[less + 1 : less + 2] == b"?":
            place = _behind(page, b">", less + 1 + (page[less + 1 : less + 2] == b"/"))
        elif page[less + 1 : less + 2] == b"!":
            is_comment = page[less + 2 : less + 4] == b"--" and less + 3 < len(page)
            place = _comment_end(page, less + 4) if is_comment else _behind(page, b">", less + 2)
        else:
            yield None
            place = less + 1


def _behind(page: bytes, byte: bytes, place: int) -> int:
    found = page.find(byte, place)
    return len(page) if found < 0 else found + 1


def _comment_end(page: bytes, start: int) -> int:
    if found := re.compile(rb"-?>").match(page, start):
        return found.end()
    found = re.compile(rb"--!?>").search(page, start)
    return found.end() if found else len(page)


def _attributes(page: bytes, place: int) -> tuple[list[tuple[str, bytes]], int]:
    """Attributes up to the end of a tag, and the position behind it; beyond the page if there is none."""
    found: list[tuple[str, bytes]] = []
    while place < len(page):
        if page[place : place + 1] == b">":
            return found, place + 1
        if page[place : place + 1] in (b" ", b"\t", b"\n", b"\f", b"\r", b"/"):
            place += 1
            continue
        spelt = re.compile(rb"[\s\S][^ \t\n\f\r/>=]*").match(page, place)
        assert spelt
        place, value = _value(page, spelt.end())
        found.append((spelt[0].lower().decode("latin-1"), value))
    return found, len(page) + 1


def _value(page: bytes, place: int) -> tuple[int, bytes]:
    spaces = re.compile(rb"[ \t\n\f\r]*")
    place = spaces.match(page, place).end()  # type: ignore[union-attr]
    if page[place : place + 1] != b"=":
        return place, b""
    place = spaces.match(page, place + 1).end()  # type: ignore[union-attr]
    quote = page[place : place + 1]
    if quote in (b'"', b"'"):
        end = page.find(quote, place + 1)
        end = len(page) if end < 0 else end
        return end + 1, page[place + 1 : end]
    bare = re.compile(rb"[^ \t\n\f\r>]*").match(page, place)
    return bare.end(), bare[0]  # type: ignore[union-attr]


def _after(page: bytes, place: int, tag: Tag) -> int:
    """Where the pass goes on behind a start tag: behind raw text and short hidden elements."""
    if tag.name in RAW:
        return _script_end(page, place) if tag.name == "script" else _end_tag(page, tag.name, place, len(page))
    if is_hidden(tag):
        stop = min(len(page), place + 256)
        end = _end_tag(page, tag.name, place, stop)
        return place if end >= stop else _behind(page, b">", end)
    return place


def _end_tag(page: bytes, name: str, place: int, stop: int) -> int:
    spelt = re.compile(rb"</" + re.escape(name[:8].encode("latin-1")) + rb"(?=[ \t\n\f\r/>])", re.IGNORECASE)
    if len(name) > 8:  # a name is compared by its first eight bytes
        rest = b"[\\s\\S]{%d}" % (len(name) - 8)
        spelt = re.compile(rb"</" + re.escape(name[:8].encode("latin-1")) + rest + rb"(?=[ \t\n\f\r/>])", re.IGNORECASE)
    for found in spelt.finditer(page, place):
        if found.end() < stop:
            return found.start()
    return stop


def _script_end(page: bytes, place: int) -> int:
    """The rules of scripts, without their escapes: the tests of the markup pass have those."""
    return _end_tag(page, "script", place, len(page))


def is_hidden(tag: Tag) -> bool:
    for name, value in tag.attributes:
        if name == "hidden":
            return True
        squeezed = bytes(byte | 32 for byte in value if byte > 32)
        if name == "style" and b"display:none" in squeezed:
            return True
    return False


def streams(page: bytes) -> tuple[bytes, bytes]:
    """Both streams of a page."""
    values, skeleton = bytearray(), bytearray()
    opened: Counter[str] = Counter()
    empty: list[tuple[str, int, int]] = []
    for tag in tokens(page):
        if tag is None:
            empty.clear()
        elif tag.name in PHRASES or tag.name not in {*BOXES, *SKELETON, *SAME}:
            continue
        elif tag.is_end:
            _close(tag.name, values, skeleton, opened, empty)
        elif _counts(tag, opened):
            opened[tag.name] += 1
            before = tag.name, len(values), len(skeleton)
            _write(tag, values, skeleton)
            if tag.name in STANDS or len(empty) == 16:
                empty.clear()
            else:
                empty.append(before)
    return bytes(values), bytes(skeleton)


def _counts(tag: Tag, opened: Counter[str]) -> bool:
    if is_hidden(tag):
        return False
    if tag.name in ("meta", "link", "frame", "frameset"):
        return not opened["body"]
    if tag.name in ("html", "head", "body", "form"):
        return not opened[tag.name]
    if tag.name in IN_TABLE:
        return opened["table"] > 0
    names = [name for name, _ in tag.attributes]
    if tag.name == "script":
        return "src" in names
    return not (tag.name == "input" and any(v.lower() == b"hidden" for n, v in tag.attributes if n == "type"))


def _close(
    name: str, values: bytearray, skeleton: bytearray, opened: Counter[str], empty: list[tuple[str, int, int]]
) -> None:
    if name in VOID or name in ("html", "head", "body") or not opened[name]:
        return
    opened[name] -= 1
    if empty:
        last, first, second = empty[-1]
        if last == name:
            empty.pop()
            del values[first:], skeleton[second:]
            return
        empty.clear()
    if name not in BOXES | OPTIONAL:
        values += bytes([START, END, CLOSE])
        skeleton += bytes([END, symbol(name)])


def symbol(name: str) -> int:
    return FIRST + SKELETON.index(SAME.get(name, name))


def _write(tag: Tag, values: bytearray, skeleton: bytearray) -> None:
    named: dict[str, bytes] = {}
    for name, value in tag.attributes:
        if name in (*ATTRIBUTES, "class", "id") and len(named) < 32:
            named.setdefault(name, value)
    is_box = tag.name in BOXES
    if is_box and not named:
        return
    values.append(START)
    if not is_box:
        skeleton += bytes([START, symbol(tag.name)])
    for name in sorted(named, key=name_hash):
        kept = b"" if name in ("class", "id") else value_noise(named[name])
        values += bytes([VALUE]) + kept + bytes([QUOTE])
        if tag.name in FUNCTIONAL and name in ATTRIBUTES and not is_box:
            skeleton += LETTERS[ATTRIBUTES.index(name)].encode() + kept
    values.append(CLOSE)
    if not is_box:
        skeleton.append(CLOSE)
