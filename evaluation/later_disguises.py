"""More disguises of pages, beside those of `page_disguises`.

The first fifteen were written when the rules of style were thought to be fixed, and most of them worked. The rules were
then changed with them, and with the others here, in view. `unseen_disguises` has those that nobody had in mind.
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


def named_references(page: bytes, draw: random.Random) -> bytes:
    """Punctuation of addresses as references by name."""
    names = {b".": b"&period;", b"/": b"&sol;", b":": b"&colon;", b"_": b"&lowbar;"}
    return _each_address(
        page, lambda value: re.sub(rb"[./:_]", lambda f: names[f[0]] if draw.random() < 0.4 else f[0], value)
    )


def percent_punctuation(page: bytes, draw: random.Random) -> bytes:
    """Dots, hyphens and underscores of paths as %xx."""

    def change(value: bytes) -> bytes:
        path = value.find(b"/", value.find(b"//") + 2 if b"//" in value else 0)
        if path < 0:
            return value
        return value[:path] + re.sub(
            rb"[-._]", lambda f: b"%%%02x" % f[0][0] if draw.random() < 0.4 else f[0], value[path:]
        )

    return _each_address(page, change)


def second_slashes(page: bytes, draw: random.Random) -> bytes:
    """Two slashes for one in paths."""
    return _each_address(
        page, lambda value: re.sub(rb"(?<=[a-z])/(?=[a-z])", lambda f: f[0] * draw.choice([1, 2]), value)
    )


def _each_address(page: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return each_tag(page, lambda tag: each_value(tag, lambda name, value: change(value) if name in ADDRESS else value))


def attributes_of_others(page: bytes, draw: random.Random) -> bytes:
    """Attributes that do something elsewhere, in 30 % of the tags."""

    def change(tag: bytes) -> bytes:
        if tag.startswith(b"</") or draw.random() > 0.3:
            return tag
        name = draw.choice([b"rel", b"type", b"name", b"charset", b"media", b"for", b"target"])
        extra = b" %s='%s%s'" % (name, word(draw), noise(draw, 2).translate(None, b"'<>"))
        return re.sub(rb"\s*/?>$", lambda found: extra + found[0], tag)

    return each_tag(page, change)


def _without_ink(draw: random.Random) -> bytes:
    text = draw.choice([b"&nbsp;", b"&#8203;", b"\xe2\x80\x8b", b"&zwnj;"])
    return b"<a href='/%s.%s'>%s</a>" % (word(draw), word(draw), text)


def _clipped(draw: random.Random) -> bytes:
    how = draw.choice(
        [b"position:absolute;clip:rect(0,0,0,0)", b"height:1px;overflow:hidden", b"transform:scale(0);position:fixed"]
    )
    return b"<p style='%s'>%s</p>" % (how, word(draw))


def _with_class(name: bytes, draw: random.Random) -> bytes:
    return b"<%s class=%s>%s %s</%s>" % (name, word(draw), word(draw), word(draw), name)


LATER: dict[str, Disguise] = {
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
    "letters of addresses by name, as &sol; and &period;": named_references,
    "punctuation of addresses as %2e": percent_punctuation,
    "second slashes in paths": second_slashes,
    "attributes of other elements at 30 % of tags": attributes_of_others,
    "links around text without ink at 5 % of tags": inserted(_without_ink, 0.05),
    "images of unknown size at 5 % of tags": inserted(lambda draw: b"<img src='/%s.gif' alt=''>" % word(draw), 0.05),
    "anchors at 10 % of tags": inserted(lambda draw: b"<a name=%s>" % word(draw), 0.1),
    "parts of tables in 30 % of rows": lambda page, draw: re.sub(
        rb"<tr", lambda found: b"<tbody><tr" if draw.random() < 0.3 else found[0], page, flags=re.I
    ),
    "items outside of lists at 10 % of tags": inserted(
        lambda draw: draw.choice([b"<dt>", b"<option>", b"<legend>"]), 0.1
    ),
    "frames of one pixel at 3 % of tags": inserted(
        lambda draw: b"<iframe src=/%s width=1 height=1></iframe>" % word(draw), 0.03
    ),
    "links inside of players at 5 % of tags": inserted(
        lambda draw: b"<audio><a href=/%s>%s</a></audio>" % (word(draw), word(draw)), 0.05
    ),
    "popovers at 5 % of tags": inserted(lambda draw: b"<p popover>%s</p>" % word(draw), 0.05),
    "start and end tags of forms at 10 % of tags": inserted(lambda draw: draw.choice([b"<form>", b"</form>"]), 0.1),
    "labels around words at 10 % of tags": inserted(lambda draw: b"<label>%s</label>" % word(draw), 0.1),
    "text clipped or scaled away at 5 % of tags": inserted(_clipped, 0.05),
}
"""Disguises that readers do not notice; the rules were made with them in view."""

SHOWN: dict[str, Disguise] = {
    "paragraphs hidden by a class at 5 % of tags": inserted(lambda draw: _with_class(b"p", draw), 0.05),
    "list items hidden by a class at 5 % of tags": inserted(lambda draw: _with_class(b"li", draw), 0.05),
    "links hidden by a class at 5 % of tags": inserted(
        lambda draw: b"<a class=%s href=/%s>%s</a>" % (word(draw), word(draw), word(draw)), 0.05
    ),
    "images in links at 5 % of tags": inserted(
        lambda draw: b"<a href=/%s><img src=/%s.gif></a>" % (word(draw), word(draw)), 0.05
    ),
    "rules across the page at 5 % of tags": inserted(lambda draw: b"<hr class=%s>" % word(draw), 0.05),
    "headings at 3 % of tags": inserted(lambda draw: b"<h6>%s</h6>" % word(draw), 0.03),
    "lists of one link at 3 % of tags": inserted(
        lambda draw: b"<ul><li><a href=/%s>%s</a></ul>" % (word(draw), word(draw)), 0.03
    ),
}
"""Elements among the others that readers see, or that only a style sheet hides; each adds at most 5 % of bytes."""
