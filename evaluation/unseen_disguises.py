"""Ten disguises of pages that were written after the rules of style were fixed.

Nothing in samehand was chosen with them in view, and none of them was tried before all were written. docs/style.md has
what they achieved when they were first run.
"""

import random
import re

from evaluation.page_disguises import ADDRESS, TEXT, Disguise, each_tag, each_value, inserted, noise, outside, word

_NAME = re.compile(rb"</?([A-Za-z]+)")


def dot_segments(page: bytes, draw: random.Random) -> bytes:
    """A folder and the way back out of it before every path."""

    def change(name: bytes, value: bytes) -> bytes:
        is_path = name in ADDRESS and re.match(rb"(?![a-z]+:|//|#)", value, re.I)
        if not is_path or draw.random() < 0.5:
            return value
        return (b"/" if value.startswith(b"/") else b"") + word(draw) + b"/../" + value.lstrip(b"/")

    return each_tag(page, lambda tag: each_value(tag, change))


def start_tags_left_out(page: bytes, draw: random.Random) -> bytes:
    """Half of the pages without start and end tags of html, head, body and tbody that have no attributes."""
    return page if draw.random() < 0.5 else re.sub(rb"</?(html|head|body|tbody)\s*>", b"", page, flags=re.I)


def synonyms(page: bytes, draw: random.Random) -> bytes:
    """Other elements that look the same, one choice for each page."""
    pairs = [(b"b", b"strong"), (b"i", b"em"), (b"div", b"section"), (b"ul", b"menu"), (b"section", b"article")]
    chosen = {old: new for old, new in pairs if draw.random() < 0.5}

    def change(tag: bytes) -> bytes:
        return _NAME.sub(lambda found: found[0].replace(found[1], chosen.get(found[1].lower(), found[1])), tag, count=1)

    return each_tag(page, change)


def slashes_in_tags(page: bytes, draw: random.Random) -> bytes:
    """Slashes between attributes, and before the end of tags."""

    def change(tag: bytes) -> bytes:
        if tag.startswith(b"</") or draw.random() < 0.5:
            return tag
        tag = re.sub(rb"(?<=[\"'])\s+(?=[a-z-]+=)", b"/", tag, flags=re.I)
        return re.sub(rb"(?<=[\"'a-z0-9])\s*/?>$", b" />", tag, flags=re.I)

    return each_tag(page, change)


def no_break_spaces(page: bytes, draw: random.Random) -> bytes:
    """References to no-break spaces for a tenth of the blanks of the text."""

    def change(found: "re.Match[bytes]") -> bytes:
        return re.sub(rb"(?<=[a-z]) (?=[a-z])", lambda f: b"&nbsp;" if draw.random() < 0.1 else f[0], found[0])

    return outside(page, lambda part: TEXT.sub(change, part))


def links_in_two(page: bytes, draw: random.Random) -> bytes:
    """A tenth of the links as two links to the same address, side by side."""

    def change(found: "re.Match[bytes]") -> bytes:
        if draw.random() > 0.1:
            return found[0]
        return b"%s%s </a>%s%s</a>" % (found[1], found[2], found[1], found[3])

    return re.sub(rb"(<a\s[^<>]*>)([a-z]+) ([a-z ]+)</a>", change, page, flags=re.I)


def _nothing_shown(draw: random.Random) -> bytes:
    return draw.choice(
        [
            b"<map name=%s><area href=/%s></map>" % (word(draw), word(draw)),
            b"<picture><source srcset=/%s.png></picture>" % word(draw),
            b"<embed width=0 height=0 src=/%s>" % word(draw),
            b"<datalist><option>%s</datalist>" % word(draw),
        ]
    )


UNSEEN: dict[str, Disguise] = {
    "empty tables at 3 % of tags": inserted(lambda draw: b"<table><tr><td></td></tr></table>", 0.03),
    "sections of CDATA at 10 % of tags": inserted(
        lambda draw: b"<![CDATA[%s]]>" % noise(draw, 6).translate(None, b"<>"), 0.1
    ),
    "a folder and back before half of the paths": dot_segments,
    "start tags left out in half of the pages": start_tags_left_out,
    "elements that look the same": synonyms,
    "slashes in tags": slashes_in_tags,
    "areas, sources, empty players at 3 % of tags": inserted(_nothing_shown, 0.03),
    "hidden fields of text at 3 % of tags": inserted(
        lambda draw: b"<textarea hidden><a href='%s'>x</a></textarea>" % noise(draw, 4).translate(None, b"'<>&"), 0.03
    ),
    "no-break spaces": no_break_spaces,
    "a tenth of the links in two": links_in_two,
}
"""Disguises that nobody had in mind when the rules were made."""
