"""Disguises of pages that were written after the rules of style were fixed.

What they achieve is reported as it was found: nothing in samehand was chosen with them in view.
"""

import random
import re
from collections.abc import Callable

from evaluation.page_disguises import ADDRESS, TEXT, Disguise, each_tag, each_value, inserted, noise, outside, word


def text_as_references(page: bytes, draw: random.Random) -> bytes:
    """A third of the letters of the text as references."""

    def encode(found: "re.Match[bytes]") -> bytes:
        return re.sub(rb"[a-z](?![a-z]*;)", lambda f: b"&#%d;" % f[0][0] if draw.random() < 0.33 else f[0], found[0])

    return outside(page, lambda part: TEXT.sub(encode, part))


def percent_encoded(page: bytes, draw: random.Random) -> bytes:
    """Letters of addresses as %xx, at random."""

    def change(name: bytes, value: bytes) -> bytes:
        if name not in ADDRESS:
            return value
        path = value.find(b"/", value.find(b"//") + 2 if b"//" in value else 0)
        encoded = re.sub(rb"[a-z]", lambda f: b"%%%02x" % f[0][0] if draw.random() < 0.2 else f[0], value[path:])
        return value[:path] + encoded if path >= 0 else value

    return each_tag(page, lambda tag: each_value(tag, change))


def absolute_addresses(page: bytes, draw: random.Random) -> bytes:
    """In half of the pages every relative address with the site's own name before it."""
    site = b"http://www.%s.example" % word(draw)
    if draw.random() < 0.5:
        return page

    def change(name: bytes, value: bytes) -> bytes:
        is_relative = name in ADDRESS and not re.match(rb"[a-z]+:|//|#", value, re.I)
        return site + b"/" * (not value.startswith(b"/")) + value if is_relative else value

    return each_tag(page, lambda tag: each_value(tag, change))


def other_attributes(page: bytes, draw: random.Random) -> bytes:
    """A title, a language, a role or an alternative text in 30 % of the tags."""

    def change(tag: bytes) -> bytes:
        if tag.startswith(b"</") or draw.random() > 0.3:
            return tag
        name = draw.choice([b"title", b"lang", b"role", b"alt", b"tabindex", b"accesskey"])
        extra = b" %s='%s%s'" % (name, word(draw), noise(draw, 3).translate(None, b"'<>"))
        return re.sub(rb"\s*/?>$", lambda found: extra + found[0], tag)

    return each_tag(page, change)


def in_head(make: Callable[[random.Random], bytes], count: int) -> Disguise:
    """Elements in the head."""

    def disguise(page: bytes, draw: random.Random) -> bytes:
        made = b"".join(make(draw) for _ in range(count))
        return re.sub(rb"</head>", lambda _: made + b"</head>", page, count=1, flags=re.I)

    return disguise


def _off_screen(draw: random.Random) -> bytes:
    how = draw.choice(
        [b"position:absolute;left:-9999px", b"opacity:0", b"font-size:0", b"visibility:hidden", b"height:0"]
    )
    return b"<p style='%s'>%s, %s</p>" % (how, word(draw), word(draw))


def _wrapped_words(draw: random.Random) -> bytes:
    name = draw.choice([b"ins", b"q", b"abbr", b"cite", b"time", b"dfn"])
    return b"<%s>%s</%s>" % (name, word(draw), name)


def _tracker(draw: random.Random) -> bytes:
    return b"<script src='//%s.example/%s%s.js'></script>" % (
        word(draw),
        word(draw),
        noise(draw, 3).translate(None, b"'<>?#"),
    )


def _pixel(draw: random.Random) -> bytes:
    return b"<img width=1 height=1 src='/%s%s.gif'>" % (word(draw), noise(draw, 3).translate(None, b"'<>?#"))


UNSEEN: dict[str, Disguise] = {
    "letters of the text as references": text_as_references,
    "percent-encoded addresses": percent_encoded,
    "absolute addresses in half of the pages": absolute_addresses,
    "titles, languages, roles at 30 % of tags": other_attributes,
    "thirty links in the head": in_head(
        lambda draw: (
            b"<link rel='%s' href='/%s%s.css'>" % (word(draw), word(draw), noise(draw, 3).translate(None, b"'<>?#"))
        ),
        30,
    ),
    "thirty scripts in the head": in_head(_tracker, 30),
    "scripts by address at 5 % of tags": inserted(_tracker, 0.05),
    "pixels at 5 % of tags": inserted(_pixel, 0.05),
    "pixels at 30 % of tags": inserted(_pixel, 0.3),
    "text off screen by inline style at 10 % of tags": inserted(_off_screen, 0.1),
    "text off screen by inline style at 30 % of tags": inserted(_off_screen, 0.3),
    "empty list items at 10 % of tags": inserted(lambda draw: b"<ul><li></li></ul>", 0.1),
    "words in phrases of other kinds at 30 % of tags": inserted(_wrapped_words, 0.3),
    "processing instructions, declarations at 30 % of tags": inserted(
        lambda draw: draw.choice([b"<?%s?>", b"<!%s>", b"</ %s>"]) % noise(draw, 6).translate(None, b"<>-"), 0.3
    ),
    "end tags of everything left out in half of the pages": lambda page, draw: (
        re.sub(rb"</(span|font|b|i|em|strong|center)\s*>", b"", page, flags=re.I) if draw.random() < 0.5 else page
    ),
}
"""Disguises that nobody had in mind when the rules were made."""
