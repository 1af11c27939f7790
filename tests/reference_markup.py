"""Readable twin of canonical markup: the rules of docs/style.md in plain Python, on tokens of a plain tokenizer."""

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_BOXES = (
    "div span section article main header footer nav aside figure figcaption hgroup address center details summary"
    " dialog search form"
)
_SKELETON = (
    "html head body h1 h2 h3 h4 h5 h6 p hr pre blockquote ul li dl dt dd a iframe embed object video table caption tr"
    " td th input button select optgroup option textarea progress meter fieldset legend frame frameset applet marquee"
)
_OPTIONAL = "li p td tr th dt dd option body html head optgroup caption"
_VOID = "input hr embed frame img br wbr link meta source area base col param track"
_STANDS = "iframe button select textarea video object embed applet input hr frame"
_UNSEEN = "audio canvas datalist dialog video object"
_RAW = "title textarea style xmp iframe noembed noframes noscript script template plaintext"
_SIZED = "iframe embed object video input img"
_ATTRIBUTES = (
    "href src rel type name content property http-equiv charset action method value for colspan rowspan media"
    " target checked selected placeholder maxlength async defer sizes srcset usemap coords shape width height border"
    " cellpadding cellspacing align valign bgcolor"
)
INSIDE = {
    **dict.fromkeys(("caption", "tr", "td", "th"), "table"),
    **dict.fromkeys(("dt", "dd"), "dl"),
    **dict.fromkeys(("option", "optgroup"), "select"),
    "legend": "fieldset",
}
_CELL = "colspan rowspan width height align valign bgcolor"
OWNED = {
    "a": "href",
    "iframe": "src width height",
    "embed": "src type width height",
    "object": "type width height",
    "video": "src width height",
    "frame": "src name",
    "input": "type name value placeholder",
    "button": "type name value",
    "select": "name",
    "option": "value",
    "textarea": "name placeholder",
    "table": "width border cellpadding cellspacing align bgcolor",
    "td": _CELL,
    "th": _CELL,
}
SKELETON, ATTRIBUTES = _SKELETON.split(), _ATTRIBUTES.split()
BOXES, OPTIONAL, VOID, STANDS, UNSEEN, RAW, SIZED = (
    set(names.split()) for names in (_BOXES, _OPTIONAL, _VOID, _STANDS, _UNSEEN, _RAW, _SIZED)
)
SAME = {"ol": "ul", "dir": "ul", "menu": "ul"}
ADDRESSES = ("href", "src", "action")
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
NAMES = (
    "amp AMP lt LT gt GT quot QUOT apos sol period colon lowbar quest num equals comma semi excl dollar percnt lpar"
    " rpar ast plus commat lsqb lbrack rsqb rbrack bsol Hat grave lcub lbrace verbar vert rcub rbrace Tab NewLine nbsp"
    " shy zwnj zwj lrm rlm ensp emsp thinsp hairsp numsp puncsp NoBreak"
)
NAMED = {name: html.unescape(f"&{name};") for name in NAMES.split()}
NO_INK = re.compile(
    "[\\0-\x20\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164"
    "\ufeff\uffa0]*"
)
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
        byte, following = value[place : place + 1], value[place + 1 : place + 2]
        is_encoded = re.compile(rb"%([0-9A-Za-z])([\s\S])").match(value, place)
        if byte == b"&":
            place, character = reference(value, place)
            if character in ("?", "#"):
                break
            kept += _noise_of(character)
        elif byte in (b"?", b"#"):
            kept += byte if byte == b"#" and place == 0 else b""
            break
        elif is_encoded:
            decoded = {b"2d": b"-", b"2e": b".", b"5f": b"_", b"7e": b"~"}.get(b"".join(is_encoded.groups()).lower())
            kept += decoded or b""
            place += 3 if decoded else 1
        elif byte == b"." and following == b"/" and (place == 0 or value[place - 1 : place] == b"/"):
            place += 2
        else:
            kept += b"" if byte == following == b"/" else _noise_of(byte.decode("latin-1"))
            place += 1
    return kept


def _noise_of(character: str) -> bytes:
    is_noise = character.isascii() and not character.isalnum() and character not in " \t\n\r\f\v"
    return character.encode() if is_noise else b""


def reference(value: bytes, place: int) -> tuple[int, str]:
    """The position behind a reference, and its character; a letter for one that is not told apart."""
    for spelling, base in ((rb"&#[xX]([0-9a-fA-F]+);?", 16), (rb"&#([0-9]+);?", 10)):
        if found := re.compile(spelling).match(value, place):
            return found.end(), chr(min(int(found[1], base), 0xFFFF))
    if found := re.compile(rb"&([0-9A-Za-z]{1,31});").match(value, place):
        return found.end(), NAMED.get(found[1].decode(), "\uffff")
    return place + 1, "&"


def spelled(value: bytes) -> list[tuple[int, str]]:
    """The characters of a value, references decoded, each with the position behind it."""
    found, place = [], 0
    while place < len(value):
        if value[place : place + 1] == b"&":
            place, character = reference(value, place)
        else:
            place, character = place + 1, chr(value[place])
        found.append((place, character))
    return found


def path_of(value: bytes) -> bytes:
    """An address without scheme and host, and without leading dots and slashes."""
    value = value.lstrip(bytes(range(33)))
    characters = spelled(value)
    text = "".join(character for _, character in characters)
    head = re.compile(r"(?:[0-9A-Za-z]{0,16}:)?//[^/?#]*[./]*").match(text) or re.compile(r"[./]*").match(text)
    assert head
    if text[head.end() : head.end() + 1] == "#" and head.end():
        return b""
    return value[characters[head.end() - 1][0] :] if head.end() else value


def is_tiny(value: bytes) -> bool:
    text = "".join(character for _, character in spelled(value))
    found = re.compile("[0-9]{1,4}").match(text)
    return bool(found and int(found[0]) <= 3 and text[found.end() : found.end() + 1] != "%")


def no_ink(text: bytes) -> bool:
    """Whether a text is blank to a reader. Texts that do not begin with a reference or with bytes of UTF-8 are not."""
    text = text.strip(BLANKS)
    if len(text) > 0 and text[0] < 0xC2 and text[0] != 0x26:
        return False
    decoded = text.decode("utf-8", "surrogateescape")
    pieces = re.split(r"(&#[xX][0-9a-fA-F]+;?|&#[0-9]+;?|&[0-9A-Za-z]{1,31};)", decoded)
    read = [reference(piece.encode(), 0)[1] if place % 2 else piece for place, piece in enumerate(pieces)]
    return bool(NO_INK.fullmatch("".join(read)))


def tokens(page: bytes) -> Iterator[Tag | None]:
    """The tags of a page, and None for text that is not blank."""
    place = 0
    while place < len(page):
        less = page.find(b"<", place)
        less = len(page) if less < 0 else less
        if not _is_blank(page[place:less]):
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
                after = place if tag.is_end else _after(page, place, tag)
                if after == place or name in RAW:
                    yield tag
                place = after
        elif page[less + 1 : less + 2] == b"/" or page[less + 1 : less + 2] == b"?":
            place = _behind(page, b">", less + 1 + (page[less + 1 : less + 2] == b"/"))
        elif page[less + 1 : less + 2] == b"!":
            is_comment = page[less + 2 : less + 4] == b"--" and less + 3 < len(page)
            place = _comment_end(page, less + 4) if is_comment else _behind(page, b">", less + 2)
        else:
            yield None
            place = less + 1


def _is_blank(text: bytes) -> bool:
    """Whether nobody sees a text. Characters without ink count as ink where 64 bytes or more lie before the tag."""
    start = len(text) - len(text.lstrip(BLANKS))
    return start == len(text) or (start // 64 == len(text) // 64 and no_ink(text))


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
    if (is_hidden(tag) or tag.name in UNSEEN) and tag.name not in VOID:
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
    return any(
        name in ("hidden", "popover") or (name == "style" and style_hides(value)) for name, value in tag.attributes
    )


def style_hides(value: bytes) -> bool:
    """Whether any declaration of a style attribute hides an element, or does with others."""
    text = bytes(min(ord(character), 255) for _, character in spelled(value)).decode("latin-1").lower()
    blanks = "".join(map(chr, range(33)))
    for declaration in text.split(";"):
        name, _, said = declaration.partition(":")
        if not said.strip(blanks):
            continue
        word = re.split("[\\0-\x20!]", said.strip(blanks))[0]
        if _hides(name.strip(blanks), word):
            return True
    return False


def _hides(name: str, word: str) -> bool:
    if name in ("display", "visibility"):
        return word in {"display": ("none",), "visibility": ("hidden", "collapse")}[name]
    is_zero = bool(re.match(r"(?=\.*0)[0.]+(?![1-9])", word))
    if name in ("opacity", "font-size"):
        return is_zero
    if name in ("width", "height", "max-width", "max-height"):
        return is_zero or word == "1px"
    if name in ("left", "top", "margin-left", "margin-top", "text-indent"):
        far = re.match(r"-([0-9]+)", word)
        return bool(far and int(far[1]) >= 500)
    return (name == "clip" and word.startswith("rect(0")) or (name == "transform" and word.startswith("scale(0)"))


def streams(page: bytes) -> tuple[bytes, bytes]:
    """Both streams of a page."""
    values, skeleton = bytearray(), bytearray()
    opened: Counter[str] = Counter()
    empty: list[tuple[str, int, int]] = []
    for tag in tokens(page):
        if tag is None or (tag.name == "img" and not tag.is_end and _counts(tag, opened)):
            empty.clear()
        elif tag.name not in {*BOXES, *SKELETON, *SAME}:
            continue
        elif tag.is_end:
            _close(tag.name, values, skeleton, opened, empty)
        elif _counts(tag, opened):
            opened[tag.name] += 1
            before = tag.name, len(values), len(skeleton)
            _write(tag, values, skeleton)
            if tag.name in STANDS or len(empty) == 16:
                empty.clear()
            elif len(values) > before[1] and tag.name not in ("td", "th"):
                empty.append(before)
    return bytes(values), bytes(skeleton)


def _counts(tag: Tag, opened: Counter[str]) -> bool:
    if is_hidden(tag):
        return False
    if tag.name in ("frame", "frameset"):
        return not opened["body"]
    if tag.name in ("html", "head", "body"):
        return not opened[tag.name]
    if tag.name in SIZED and any(is_tiny(value) for name, value in tag.attributes if name in ("width", "height")):
        return False
    if tag.name in ("a", "img"):
        return any(name in ADDRESSES for name, _ in tag.attributes)
    if tag.name in INSIDE:
        return opened[INSIDE[tag.name]] > 0
    return not (tag.name == "input" and any(v.lower() == b"hidden" for n, v in tag.attributes if n == "type"))


def _close(
    name: str, values: bytearray, skeleton: bytearray, opened: Counter[str], empty: list[tuple[str, int, int]]
) -> None:
    if name in VOID or name in ("html", "head", "body") or not opened[name]:
        return
    opened[name] -= 1
    for place in reversed(range(len(empty))):
        last, first, second = empty[place]
        if last == name:
            del empty[place:], values[first:], skeleton[second:]
            return
    if name not in BOXES | OPTIONAL:
        empty.clear()
        values += bytes([START, END, CLOSE])
        skeleton += bytes([END, symbol(name)])


def symbol(name: str) -> int:
    return FIRST + SKELETON.index(SAME.get(name, name))


def _write(tag: Tag, values: bytearray, skeleton: bytearray) -> None:
    named: dict[str, bytes] = {}
    for name, value in tag.attributes:
        if name in (*OWNED.get(tag.name, "").split(), "class", "id"):
            named.setdefault(name, value)
    is_box = tag.name in BOXES
    if is_box and not named:
        return
    values.append(START)
    if not is_box:
        skeleton += bytes([START, symbol(tag.name)])
    for name in sorted(named, key=name_hash):
        is_named = name in ("class", "id")
        value = path_of(named[name]) if name in ADDRESSES else named[name]
        kept = b"" if is_named else value_noise(value)
        values += bytes([VALUE]) + kept + bytes([QUOTE])
        if not is_named:
            skeleton += LETTERS[ATTRIBUTES.index(name)].encode() + kept
    values.append(CLOSE)
    if not is_box:
        skeleton.append(CLOSE)
