"""What a spammer can do to pages that a program makes, so that they look less alike to a machine.

A disguise takes a page and a random generator and returns the page as browsers show it, or nearly so. `COST` says what
it costs: bytes, or something that readers see. Templates come from real pages; `copies` writes pages of one template
with texts of their own.
"""

import random
import re
from collections.abc import Callable

Disguise = Callable[[bytes, random.Random], bytes]

_TAG = re.compile(rb"<(/?)([A-Za-z][A-Za-z0-9-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>")
_SKIPPED = re.compile(rb"<!--.*?-->|<(script|style|title|textarea|noscript|template|svg)\b.*?</\1\s*>", re.S | re.I)
_ATTRIBUTE = re.compile(rb"\s+([A-Za-z_:@][-A-Za-z0-9_:.@]*)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+))?")
TEXT = re.compile(rb">([^<>]{3,})<")
_WORD = re.compile(rb"[A-Za-z]{2,}")
ADDRESS = (b"href", b"src", b"action")
_PUNCTUATION = b"!#$%&()*+,-./:;=?@[]^_{|}~"
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def copies(template: bytes, count: int, draw: random.Random) -> list[bytes]:
    """Pages of one template, each with words, punctuation and addresses of its own."""
    return [_with_own_texts(template, draw) for _ in range(count)]


def _with_own_texts(template: bytes, draw: random.Random) -> bytes:
    page = outside(template, lambda part: TEXT.sub(lambda found: b">" + own_text(found[1], draw) + b"<", part))
    return each_tag(page, lambda tag: _with_own_addresses(tag, draw))


def own_text(text: bytes, draw: random.Random) -> bytes:
    """Words as many as there were, by half more or less, with the punctuation of prose."""
    count = len(text.split())
    if not _WORD.search(text) or not count:
        return text
    words = [word(draw) for _ in range(max(1, round(count * draw.uniform(0.5, 1.5))))]
    ends = [draw.choice([b", ", b". ", b" - ", b"; ", b"! ", b"? "]) if draw.random() < 0.12 else b" " for _ in words]
    return b"".join(part for pair in zip(words, ends, strict=True) for part in pair).rstrip()


def word(draw: random.Random) -> bytes:
    """A word of letters."""
    return bytes(draw.choices(_LETTERS, k=draw.randint(2, 9)))


def noise(draw: random.Random, size: int) -> bytes:
    """Random punctuation."""
    return bytes(draw.choices(_PUNCTUATION, k=size))


def _with_own_addresses(tag: bytes, draw: random.Random) -> bytes:
    return each_value(tag, lambda name, value: _WORD.sub(lambda _: word(draw), value) if name in ADDRESS else value)


# Where to change a page.


def outside(page: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A page with everything changed but comments, scripts and the like."""
    parts, last = [], 0
    for found in _SKIPPED.finditer(page):
        parts += [change(page[last : found.start()]), found[0]]
        last = found.end()
    return b"".join([*parts, change(page[last:])])


def each_tag(page: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """A page with each of its tags changed."""
    return outside(page, lambda part: _TAG.sub(lambda found: change(found[0]), part))


def before_tags(page: bytes, share: float, draw: random.Random, make: Callable[[], bytes]) -> bytes:
    """A page with something before some of the tags of its body."""
    start = page.lower().find(b"<body")
    start = page.find(b">", start) + 1 if start >= 0 else 0
    body = each_tag(page[start:], lambda tag: (make() if draw.random() < share else b"") + tag)
    return page[:start] + body


def each_value(
    tag: bytes,
    change: Callable[[bytes, bytes], bytes],
    spell: Callable[[bytes, bytes], bytes] = lambda name, value: b" " + name + b'="' + value + b'"',
) -> bytes:
    """A start tag with the values of its attributes changed and spelt in one way."""
    found = _TAG.fullmatch(tag)
    if not found or found[1]:
        return tag

    def spelt(attribute: "re.Match[bytes]") -> bytes:
        name, value = attribute[1], attribute[2]
        if value is None:
            return attribute[0]
        bare = value[1:-1] if value[:1] in (b'"', b"'") else value
        return spell(name, change(name.lower(), bare))

    return b"<" + found[2] + _ATTRIBUTE.sub(spelt, found[3]) + b">"


# Spelling: nothing but the source changes.


def quotes_switched(page: bytes, draw: random.Random) -> bytes:
    """Each value in single or double quotes, at random."""

    def spell(name: bytes, value: bytes) -> bytes:
        quote = draw.choice([b'"', b"'"])
        quote = b"'" if b'"' in value else b'"' if b"'" in value else quote
        return b" " + name + b"=" + quote + value + quote

    return each_tag(page, lambda tag: each_value(tag, lambda _, value: value, spell))


def quotes_dropped(page: bytes, draw: random.Random) -> bytes:
    """Values without quotes, where that is allowed, at random."""

    def spell(name: bytes, value: bytes) -> bytes:
        is_plain = value and not re.search(rb"[\s\"'=<>`]", value) and draw.random() < 0.7
        return b" " + name + b"=" + (value if is_plain else b'"' + value.replace(b'"', b"&quot;") + b'"')

    return each_tag(page, lambda tag: each_value(tag, lambda _, value: value, spell))


def attributes_shuffled(page: bytes, draw: random.Random) -> bytes:
    """The attributes of each tag in random order."""

    def shuffle(tag: bytes) -> bytes:
        found = _TAG.fullmatch(tag)
        attributes = [attribute[0] for attribute in _ATTRIBUTE.finditer(found[3])] if found and not found[1] else []
        draw.shuffle(attributes)
        return b"<" + found[2] + b"".join(attributes) + b">" if found and attributes else tag

    return each_tag(page, shuffle)


def attribute_case(page: bytes, draw: random.Random) -> bytes:
    """Names of tags and attributes in upper or lower case, at random."""

    def change(tag: bytes) -> bytes:
        tag = re.sub(rb"(?<=[\s<])[A-Za-z-]+(?=[\s=>])", lambda f: f[0].upper() if draw.random() < 0.5 else f[0], tag)
        return re.sub(rb"\s*=\s*(?=[\"'])", lambda f: b" = " if draw.random() < 0.3 else f[0], tag)

    return each_tag(page, change)


def blanks(page: bytes, draw: random.Random) -> bytes:
    """White space between tags and inside them."""
    between = re.sub(rb">\s*<", lambda _: b">" + b"\n" * draw.randint(0, 2) + b" " * draw.randint(0, 3) + b"<", page)
    return each_tag(between, lambda tag: re.sub(rb"\s+", lambda _: b" " * draw.randint(1, 3), tag))


def half_minified(page: bytes, draw: random.Random) -> bytes:
    """Half of the pages without white space, comments, quotes and end tags that may be left out."""
    if draw.random() < 0.5:
        return page
    page = re.sub(rb"<!--.*?-->", b"", page, flags=re.S)
    page = re.sub(rb">\s+<", b"><", page)
    page = re.sub(rb"</(li|p|td|tr|th|dd|dt|option|body|html|tbody)\s*>", b"", page, flags=re.I)
    return quotes_dropped(page, random.Random(1))


def references_in_values(page: bytes, draw: random.Random) -> bytes:
    """Characters of values as references, and every attribute twice."""

    def change(name: bytes, value: bytes) -> bytes:
        if name not in ADDRESS:
            return value
        return re.sub(rb"[./:-]", lambda f: b"&#%d;" % f[0][0] if draw.random() < 0.5 else f[0], value)

    def spell(name: bytes, value: bytes) -> bytes:
        value = value.replace(b'"', b"&quot;")
        return b' %s="%s"%s' % (
            name,
            value,
            b" %s='%s'" % (name, noise(draw, 4).replace(b"'", b"")) if draw.random() < 0.3 else b"",
        )

    return each_tag(page, lambda tag: each_value(tag, change, spell))


def names_of_classes(page: bytes, draw: random.Random) -> bytes:
    """Other names of classes and ids, one name for each and each page."""
    names: dict[bytes, bytes] = {}

    def change(name: bytes, value: bytes) -> bytes:
        if name not in (b"class", b"id"):
            return value
        made = (
            names.setdefault(part, word(draw) + noise(draw, 1).translate(None, b"\"'<>&")) for part in value.split()
        )
        return b" ".join(made)

    return each_tag(page, lambda tag: each_value(tag, change))


# Additions that nobody sees.


def comments(share: float) -> Disguise:
    """A short comment before a share of the tags."""
    return lambda page, draw: before_tags(
        page, share, draw, lambda: b"<!--" + noise(draw, 8).replace(b"-", b"+") + b"-->"
    )


def one_comment(size: int) -> Disguise:
    """One comment of random punctuation; size 0 is the size of the page."""

    def disguise(page: bytes, draw: random.Random) -> bytes:
        text = noise(draw, size or len(page)).replace(b"-", b"+").replace(b">", b"<")
        return page + b"<!--" + text + b"-->"

    return disguise


def scripts(count: int, size: int) -> Disguise:
    """Scripts of random JSON at random places."""

    def script(draw: random.Random) -> bytes:
        items = b",".join(b'"%s":"%s"' % (word(draw), noise(draw, 6).replace(b'"', b"")) for _ in range(size // 18))
        return b"<script>var %s={%s};</script>" % (word(draw), items.replace(b"</", b"<"))

    def disguise(page: bytes, draw: random.Random) -> bytes:
        tags = max(1, len(_TAG.findall(page)))
        made = before_tags(page, count / tags, draw, lambda: script(draw))
        return made if made != page else page + script(draw)

    return disguise


def style_sheets(page: bytes, draw: random.Random) -> bytes:
    """A style sheet of random rules in the head."""
    rules = b"".join(
        b".%s{%s:%s;}" % (word(draw), word(draw), noise(draw, 3).translate(None, b"<{}")) for _ in range(300)
    )
    return re.sub(rb"</head>", lambda _: b"<style>" + rules + b"</style></head>", page, count=1, flags=re.I)


def inserted(make: Callable[[random.Random], bytes], share: float) -> Disguise:
    """Something before a share of the tags."""
    return lambda page, draw: before_tags(page, share, draw, lambda: make(draw))


def _metas(draw: random.Random) -> bytes:
    kind = draw.randrange(3)
    if kind == 0:
        return b"<input type=hidden name=%s value='%s'>" % (word(draw), noise(draw, 6).replace(b"'", b""))
    name = b"<meta name='%s' content='%s'>" if kind == 1 else b"<link rel='%s' href='%s'>"
    return name % (word(draw), noise(draw, 6).translate(None, b"'<>"))


def _hidden(draw: random.Random) -> bytes:
    name = draw.choice([b"p", b"span", b"div", b"a", b"h3"])
    how = draw.choice([b"hidden", b"style='display:none'", b'style="color:red; display : none;"'])
    return b"<%s %s>%s%s</%s>" % (name, how, word(draw), noise(draw, 5).translate(None, b"<>&"), name)


def _class_hidden(name: bytes) -> Callable[[random.Random], bytes]:
    return lambda draw: b"<%s class=%s>%s %s</%s>" % (name, word(draw), word(draw), word(draw), name)


def metas_in_head(page: bytes, draw: random.Random) -> bytes:
    """Thirty metas and links of random values in the head."""
    made = b"".join(
        b"<meta name='%s' content='%s'>" % (word(draw), noise(draw, 12).translate(None, b"'<>")) for _ in range(30)
    )
    return re.sub(rb"</head>", lambda _: made + b"</head>", page, count=1, flags=re.I)


def own_queries(page: bytes, draw: random.Random) -> bytes:
    """A query or a fragment of random punctuation at every address."""

    def change(name: bytes, value: bytes) -> bytes:
        if name not in ADDRESS:
            return value
        return value + draw.choice([b"?", b"#"]) + word(draw) + noise(draw, 4).translate(None, b"\"'<>&")

    return each_tag(page, lambda tag: each_value(tag, change))


def data_attributes(page: bytes, draw: random.Random) -> bytes:
    """A data attribute of random punctuation in 30 % of the tags."""

    def change(tag: bytes) -> bytes:
        if tag.startswith(b"</") or draw.random() > 0.3:
            return tag
        extra = b" data-%s='%s'" % (word(draw), noise(draw, 4).translate(None, b"'<>"))
        return re.sub(rb"\s*/?>$", lambda found: extra + found[0], tag)

    return each_tag(page, change)


def class_attributes(page: bytes, draw: random.Random) -> bytes:
    """A class in 30 % of the tags that have none."""

    def change(tag: bytes) -> bytes:
        if tag.startswith(b"</") or b"class" in tag or draw.random() > 0.3:
            return tag
        return re.sub(rb"\s*/?>$", lambda found: b" class=" + word(draw) + found[0], tag)

    return each_tag(page, change)


def style_attributes(page: bytes, draw: random.Random) -> bytes:
    """A style attribute in 30 % of the tags that have none."""

    def change(tag: bytes) -> bytes:
        if tag.startswith(b"</") or b"style" in tag or draw.random() > 0.3:
            return tag
        extra = b" style='--%s:%s'" % (word(draw), noise(draw, 4).translate(None, b"'<>;{}"))
        return re.sub(rb"\s*/?>$", lambda found: extra + found[0], tag)

    return each_tag(page, change)


def blocks_shuffled(page: bytes, draw: random.Random) -> bytes:
    """The body in 60 blocks, cut before tags, in random order: readers see that."""
    start = page.lower().find(b"<body")
    start = page.find(b">", start) + 1 if start >= 0 else 0
    places = [found.start() for found in _TAG.finditer(page, start)]
    if len(places) < 120:
        return page
    cuts = sorted(draw.sample(places, 60))
    blocks = [page[a:b] for a, b in zip(cuts, [*cuts[1:], len(page)], strict=True)]
    draw.shuffle(blocks)
    return page[: cuts[0]] + b"".join(blocks)


def path_style(page: bytes, draw: random.Random) -> bytes:
    """Addresses whose paths have other separators in every page."""
    signs = draw.sample([b"-", b"_", b".", b"~", b"+", b",", b"--", b"_-"], 4)

    def change(name: bytes, value: bytes) -> bytes:
        if name not in ADDRESS:
            return value
        return re.sub(rb"[-_.](?=[^/]*$)", lambda _: draw.choice(signs), value) + draw.choice(
            [b"", b".x", b"-y", b"_z.w"]
        )

    return each_tag(page, lambda tag: each_value(tag, change))


def together(*disguises: Disguise) -> Disguise:
    """Several disguises, one after the other."""

    def disguise(page: bytes, draw: random.Random) -> bytes:
        for one in disguises:
            page = one(page, draw)
        return page

    return disguise


CHEAP: dict[str, Disguise] = {
    "none": lambda page, _: page,
    "quotes switched": quotes_switched,
    "quotes dropped": quotes_dropped,
    "attributes shuffled": attributes_shuffled,
    "case of names, blanks at =": attribute_case,
    "blanks": blanks,
    "half of the pages minified": half_minified,
    "references in values, repeated attributes": references_in_values,
    "other class names and ids": names_of_classes,
    "comments at 10 % of tags": comments(0.1),
    "comments at 30 % of tags": comments(0.3),
    "comments at every tag": comments(1.0),
    "one comment of 3 kB": one_comment(3000),
    "a comment as long as the page": one_comment(0),
    "a script of 10 kB": scripts(1, 10_000),
    "ten scripts of 3 kB": scripts(10, 3_000),
    "a style sheet": style_sheets,
    "empty <b></b> at 30 % of tags": inserted(lambda draw: b"<b></b>", 0.3),
    "wrapper divs at 30 % of tags": inserted(lambda draw: b"<div>", 0.3),
    "empty links at 30 % of tags": inserted(
        lambda draw: b"<a href='%s/'></a>" % noise(draw, 4).translate(None, b"'<>"), 0.3
    ),
    "end tags of nothing at 30 % of tags": inserted(lambda draw: draw.choice([b"</h6>", b"</dl>", b"</video>"]), 0.3),
    "unknown elements at 30 % of tags": inserted(
        lambda draw: b"<x-%s a='%s'>" % (word(draw), noise(draw, 3).replace(b"'", b"")), 0.3
    ),
    "drawings at 10 % of tags": inserted(
        lambda draw: b"<svg width=1 height=1><path d='M%s'/></svg>" % noise(draw, 9).translate(None, b"'<>"), 0.1
    ),
    "hidden elements at 30 % of tags": inserted(_hidden, 0.3),
    "hidden inputs, metas, links at 30 % of tags": inserted(_metas, 0.3),
    "pixels in noscript at 10 % of tags": inserted(
        lambda draw: b"<noscript><img src='//%s'></noscript>" % noise(draw, 9).translate(None, b"'<>"), 0.1
    ),
    "templates at 10 % of tags": inserted(
        lambda draw: b"<template><a href='%s'>x</a></template>" % noise(draw, 9).translate(None, b"'<>"), 0.1
    ),
    "thirty metas in the head": metas_in_head,
    "own query or fragment at every address": own_queries,
    "style attributes at 30 % of tags": style_attributes,
    "classes at 30 % of tags": class_attributes,
    "data attributes at 30 % of tags": data_attributes,
    "text in spans hidden by class at 30 % of tags": inserted(_class_hidden(b"span"), 0.3),
    "text in spans hidden by class at every tag": inserted(_class_hidden(b"span"), 1.0),
}
"""Disguises that readers do not notice and that cost next to nothing to make."""

CHEAP["everything cheap at once"] = together(
    names_of_classes,
    quotes_switched,
    attributes_shuffled,
    own_queries,
    inserted(_metas, 0.1),
    comments(0.3),
    scripts(3, 3_000),
    blanks,
)

DEAR: dict[str, Disguise] = {
    "text in paragraphs hidden by class at 30 % of tags": inserted(_class_hidden(b"p"), 0.3),
    "own separators in every path": path_style,
    "60 blocks shuffled": blocks_shuffled,
}
"""Disguises that need a style sheet, other addresses, or another order of what readers see."""

for _name, _disguise in list(DEAR.items()):
    DEAR[f"{_name}, comments at every tag"] = together(_disguise, comments(1.0))
