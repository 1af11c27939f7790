"""Markup equals the tokens of a peer that follows the HTML standard, on real pages and tag soup, in linear work."""

import html.entities
import itertools
import re
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import turbohtml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from turbohtml import TokenType

from samehand import html as markup
from samehand.base.errors import UsageError
from samehand.html import Limits, Link
from samehand.kernels.html import markup as kernel
from samehand.kernels.html import page as state
from samehand.kernels.html import tagnames
from samehand.kernels.html.page import Found

REAL_PAGES = Path(__file__).resolve().parents[2] / "shared/data/debdoc_shared.tar.xz"
NUMBERS = {name: number for number, name in enumerate(tagnames.NAMES)}
BREAKING = {name for name, number in NUMBERS.items() if tagnames.name_tables().roles[number] & tagnames.BREAK}
CONTAINERS, OPTIONAL_ENDS, NEVER_HIDES = (
    {name for name, number in NUMBERS.items() if tagnames.name_tables().roles[number] & role}
    for role in (tagnames.CONTAINER, tagnames.OPTIONAL, tagnames.NEVER_HIDES)
)
SHOWN_RAW = {"textarea", "xmp", "plaintext"}
HIDDEN_RAW = {"title", "style", "iframe", "noembed", "noframes", "noscript", "script"}
UNLIMITED = Limits(tokens=1 << 40, attributes=1 << 40, value_bytes=1 << 40)

SOUP = [
    *(b"<", b">", b"/", b"!", b"-", b"--", b"</", b"<?", b"?>", b"=", b'"', b"'", b"`", b" ", b"\n", b"\r\n", b"\r"),
    *(b"\t", b"\f", b"\0", b"\x0b", b"x", b"abc", b"Z9", b";", b"\xc3\xa9", b"\xff", b"\xef\xbb\xbf", b"x" * 40),
    *(b"<!--", b"-->", b"--!>", b"<!-->", b"<!--->", b"<![CDATA[", b"]]>", b"<!doctype", b"<!DOCTYPE html 'a>b'>"),
    *(b"<script>", b"</script>", b"<script", b"</script", b"<ScRiPt/>", b"<title>", b"</title>", b"</title"),
    *(b"<textarea>", b"</textarea\r", b"<style>", b"</style/>", b"<xmp>", b"</xmp >", b"<iframe>", b"</iframe>"),
    *(b"<noscript>", b"</noscript>", b"<noembed>", b"</noembed>", b"<noframes>", b"</noframes>", b"<plaintext>"),
    *(b"<template>", b"</template>", b"<svg><title>", b"<annotation-xml>", b"<base href=z>", b"<blockquote>", b"<br/>"),
    *(b"<p>", b"</p>", b"<b", b"<div class=", b"</fieldset>", b"<custom-element a=b>", b"</Custom-Element>"),
    *(b'<a href="x">', b"<A HREF='y' rel=nofollow>", b'<a rel="ugc&#32;SPONSORED" href=q&ampz>', b"<area href>"),
    *(b"<a href=1 href=2 rel=noopener rel=ugc>", b"<a href='", b"href", b"rel=", b"<img alt='&lt;' title=t&copy=>"),
    *(b"&", b"&amp;", b"&amp", b"&notit;", b"&notin;", b"&#x80;", b"&#0;", b"&#", b"&#x", b"&#xD800;", b"&nGt;"),
    *(b"&#99999999999999999999;", b"&CounterClockwiseContourIntegral;", b"&lt", b"alt=", b"<a@[`{>"),
    *(b"<FooBarBazQuuxFooBarBazQux>", b"<fieldsetfieldset>"),
    *(b"<p hidden>", b"<div style='display:none'>", b"</div>", b"<li style=font-size:0>", b"<ul>", b"</ul>"),
    *(b"<span hidden=x title=y>", b"</span>", b"<img hidden alt=z>", b"<body style=opacity:0>", b"</body>"),
]
STYLES = st.lists(
    st.sampled_from(
        [
            *(
                "display",
                "VISIBILITY",
                "opacity",
                "font-size",
                "text-indent",
                "width",
                "max-height",
                "overflow",
                "left",
            ),
            *("position", "margin-top", "color", ":", ": ", ";", "; ", " ", "none", "Hidden", "0", "0px", "0.0", ".5"),
            *("absolute", "-9999px", "-499em", "-500%", "!important", "&#58;", "&#110;one", "inherit", "\n"),
            *("clip", "rect(0,0)", "rect(1,0)", "transform", "scale(0)", "scale(1)", "1px", "1"),
        ]
    ),
    max_size=12,
).map("".join)
CONTROLS = "".join(map(chr, range(33)))
SCRIPT = [b"<!--", b"-->", b"-", b"<script", b"</script", b">", b" ", b"x", b"<", b"/", b"SCRIPT", b"\0", b"!"]
ALPHABET = b"<>/!-?\"'= &#;aAxbscript\n\0\r\xc3\xa9"

PAGES = st.one_of(
    st.lists(st.sampled_from(SOUP), max_size=40).map(b"".join),
    st.lists(st.sampled_from(ALPHABET), max_size=120).map(bytes),
    st.lists(st.sampled_from(SCRIPT), max_size=30).map(lambda parts: b"<script>" + b"".join(parts) + b"</script>z"),
    st.binary(max_size=200),
)


def is_hiding(style: str) -> bool:
    """What kernels/html/hiding.py says of a style attribute."""
    said = {}
    gone = False
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        name, value = (re.sub("[A-Z]", lambda found: found[0].lower(), part).strip(CONTROLS) for part in (name, value))
        value = re.split(r"[\0-\x20!]", value)[0]
        zero, far = re.match(r"(?=\.*0)[0.]+(?![1-9])", value), re.match(r"-0*([5-9]\d{2}|[1-9]\d{3})", value)
        gone |= (name, value) in (("display", "none"), ("visibility", "hidden"), ("visibility", "collapse"))
        gone |= bool(name in ("opacity", "font-size") and zero) or bool(name == "text-indent" and far)
        gone |= name == "transform" and value.startswith("scale(0)")
        said["small"] = said.get("small") or (
            name in ("width", "height", "max-width", "max-height") and (zero or value == "1px")
        )
        said["cut"] = said.get("cut") or (name, value) == ("overflow", "hidden")
        said["out"] = said.get("out") or (name, value) in (("position", "absolute"), ("position", "fixed"))
        said["far"] = said.get("far") or (name in ("left", "top", "margin-left", "margin-top") and far)
        said["far"] = said["far"] or (name == "clip" and value.startswith("rect(0"))
    return gone or bool(said["small"] and said["cut"]) or bool(said["out"] and said["far"])


@dataclass
class Expected:
    """What the standard's tokens say of a page, by the rules in the docstring of samehand.html."""

    text: str = ""
    title: str | None = None
    names: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    base: str | None = None
    attribute_texts: bool = False
    templates: int = 0
    inside: str = ""
    hider: str = ""
    depth: int = 0
    around: int = 0
    hidden_words: int = 0

    def read(self, content: bytes, codec_errors: str) -> "Expected":
        for token in turbohtml.tokenize(content.decode("utf-8", codec_errors).removeprefix("\ufeff")):
            if token.type == TokenType.TEXT:
                self.add_text(token.data or "")
            elif token.type in (TokenType.START_TAG, TokenType.END_TAG):
                self.add_tag(token)
        return self

    def add_text(self, data: str) -> None:
        if self.inside == "title" and self.title is None:
            self.title = data
        elif self.inside not in HIDDEN_RAW and not self.templates:
            shown = data if self.inside in SHOWN_RAW else data.replace("\0", "")
            self.hidden_words += len(re.findall(r"[^\0-\x20]+", shown)) if self.hider else 0
            self.text += "" if self.hider else shown

    def pass_hidden(self, name: str, is_end: bool) -> None:
        """Leaves the hidden element where it ends, by the rules of kernels/html/hiding.py."""
        if is_end and name == self.hider:
            self.depth -= 1
            leaves = self.depth == 0
        elif is_end:
            leaves = name in CONTAINERS and self.around == 0
            self.around -= name in CONTAINERS
        elif name == self.hider:
            leaves = name in OPTIONAL_ENDS and self.around == 0
            self.depth += 1
        else:
            leaves = name in CONTAINERS and self.hider == "p"
            self.around += name in CONTAINERS
        self.hider = "" if leaves else self.hider

    def break_line(self) -> None:
        if self.text and not self.templates and not self.hider and not self.text.endswith("\n"):
            self.text += "\n"

    def add_tag(self, token: turbohtml.Token) -> None:
        name, is_end = token.tag or "", token.type == TokenType.END_TAG
        self.names.append("/" * is_end + name)
        self.title = "" if self.inside == "title" and self.title is None else self.title
        self.inside = ""
        if self.hider:
            self.pass_hidden(name, is_end)
        if name in BREAKING:
            self.break_line()
        if name == "template":
            self.templates = max(0, self.templates - 1) if is_end else self.templates + 1
        if not is_end:
            self.open(name, token)

    def open(self, name: str, token: turbohtml.Token) -> None:
        if name in SHOWN_RAW | HIDDEN_RAW and not (name == "title" and (self.templates or self.title is not None)):
            self.inside = name
        elif name == "title":
            self.inside = "style"  # neither seen nor the page's title
        is_unseen = token.attr("hidden") is not None or is_hiding(token.attr("style") or "")
        if is_unseen and not (name in NEVER_HIDES or self.hider or self.templates - (name == "template")):
            self.hider, self.depth, self.around = name, 1, 0
        href, rel = token.attr("href"), set((token.attr("rel") or "").lower().split())
        if name in ("a", "area") and href is not None:
            self.links.append(Link(href, "nofollow" in rel, "ugc" in rel, "sponsored" in rel, self.templates > 0))
        if name == "base" and href is not None and self.base is None and not self.templates:
            self.base = href
        for value in (token.attr("alt"), token.attr("title")) if self.attribute_texts else ():
            if value is not None and not (self.templates - (name == "template") or self.hider or is_unseen):
                self.add_line(value)

    def add_line(self, value: str) -> None:
        self.break_line()
        self.text += value
        self.break_line()


def parse(page: bytes, **wishes: bool) -> markup.Markup:
    return markup.parse_pages(np.frombuffer(page, np.uint8), np.array([0, len(page)]), limits=UNLIMITED, **wishes)


def is_unicode(page: bytes) -> bool:
    try:
        page.decode()
    except UnicodeDecodeError:
        return False
    return True


def check(page: bytes) -> None:
    # Bytes that are no UTF-8 go through the oracle one by one; they are replaced at the boundary to str only.
    exact = Expected().read(page, "surrogateescape")
    replaced = exact if is_unicode(page) else Expected().read(page, "replace")
    found = parse(page)
    assert found.text.tobytes() == exact.text.encode("utf-8", "surrogateescape")
    assert found.titles.tobytes() == (exact.title or "").encode("utf-8", "surrogateescape")
    assert found.hidden_words[0] == exact.hidden_words
    assert not found.flags[0]
    assert markup.tag_names(page) == replaced.names
    for tag, name in zip(found.tags.tolist(), replaced.names, strict=True):
        known = NUMBERS.get(name.removeprefix("/"))
        assert tag % markup.END == known if known else tag % markup.END >= tagnames.UNKNOWN
        assert (tag >= markup.END) == name.startswith("/")
    assert markup.links(page) == replaced.links
    start, length = int(found.base_starts[0]), int(found.base_lengths[0])
    assert replaced.base == (None if start < 0 else markup.decode_value(page[start : start + length]))
    assert found.steps[0] <= 3 * len(page)


@settings(max_examples=600)
@given(PAGES)
@example(b"<a b='>'c=\">\"/d=e>f>")
@example(b"<script><!--<script></script>--></script>x")
@example(b"<script><!--<script><!--</script>a</script>b-->c</script>d")
@example(b"<title>a</title b='>'>c<title>d</title>")
@example(b"<p\0></p\0></\0p><p\xff>")
def test_pages_equal_the_standards_tokens(page: bytes) -> None:
    check(page)


@pytest.mark.parametrize(
    "end", [b">", b"->", b"-->", b"--->", b"--!>", b"-!>", b"!>", b"--!->", b"--!-->", b"-- >", b"x-->"]
)
def test_odd_ends_of_comments(end: bytes) -> None:
    check(b"a<!--" + end + b"b--!>c-->d")
    check(b"a<!--<!--" + end + b"b--!>c-->d")
    check(b"<script><!--" + end + b"<script></script>b</script>c-->d</script>e")
    check(b"<script><!-- <script>" + end + b"</script>b</script>c-->d</script>e")


@pytest.mark.parametrize("name", [b"script", b"SCRIPT", b"scripts", b"scrip", b"script-"])
@pytest.mark.parametrize("after", [b" ", b"/", b">", b"\r", b"\0", b"x", b""])
def test_names_within_scripts(name: bytes, after: bytes) -> None:
    check(b"<script>a</" + name + after + b">b</script>c")
    check(b"<script>a<!--<" + name + after + b">b</script>c</script>d--></script>e")
    check(b"<script>a<!--<script>b</" + name + after + b">c</script>d</script>e")


@given(STYLES)
@example("display:none")
@example(" Display : NONE !important;color:red")
@example("position:absolute;left:-9999px")
@example("height:0;overflow:hidden")
@example("background:url(data:image/png;base64,x);text-indent:-500px")
@example("opacity:0.5;font-size:00.0em")
@example("position:absolute;clip:rect(0,0,0,0)")
@example("width:1px;overflow:hidden")
@example("transform:scale(0)")
def test_styles_that_hide_equal_the_reference(style: str) -> None:
    check(f'a<b style="{style}">b c</b>d'.encode())


@settings(max_examples=200)
@given(PAGES)
def test_texts_of_attributes_equal_the_standards_tokens(page: bytes) -> None:
    expected = Expected(attribute_texts=True).read(page, "surrogateescape").text
    assert parse(page, attribute_texts=True).text.tobytes() == expected.encode("utf-8", "surrogateescape")


@pytest.mark.parametrize(
    "part", [b"<p>", b"<!-- - -->y", b"<title>&amp;</title>", b"<a href='q' rel=ugc>", b"&eacute;\r\n"]
)
def test_every_place_around_a_block(part: bytes) -> None:
    for before, filler in itertools.product(range(70), (b"x", b"<i>", b" ")):
        check(filler * before + part + b"z")
        check(filler * before + part[:-1])
        check(b"<b " + b"y" * before + b"=" + b"'" + filler * before + b"'>" + part)


@pytest.mark.skipif(not REAL_PAGES.is_file(), reason="the corpus of real pages is not here")
def test_real_pages_equal_the_standards_tokens() -> None:
    with tarfile.open(REAL_PAGES) as tar:
        files = [tar.extractfile(member) for member in tar if member.name.endswith(".html")]
        pages = [file.read() for file in files if file]
    assert len(pages) > 1_000
    for page in pages:
        check(page)
    offsets = np.cumsum([0, *map(len, pages)])
    together = markup.parse_pages(np.frombuffer(b"".join(pages), np.uint8), offsets)
    assert not together.flags.any()
    assert together.text.tobytes() == b"".join(parse(page).text.tobytes() for page in pages)
    assert together.tags.tobytes() == b"".join(parse(page).tags.tobytes() for page in pages)


@pytest.mark.parametrize("after", ["", "x", "=", ";", " ", "9", "&"])
def test_all_named_references(after: str) -> None:
    check("".join(f"&{name}{after}<a href='&{name}{after}'>" for name in html.entities.html5).encode())


@pytest.mark.parametrize("pattern", ["&#{};", "&#x{:x}", "&#X{:X};", "&#{:040}z"])
def test_numeric_references(pattern: str) -> None:
    ends = (0x7F, 0x80, 0x9F, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xFFFF, 0x10000, 0x10FFFF, 0x110000, 1 << 64)
    for value in {*range(0x300), *(end + step for end in ends for step in (-1, 0, 1))}:
        check(f"a{pattern.format(value)}b".encode())


# What is not as in the standard's tokens, or is a choice where they leave one.


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (b"vi\0agra", "viagra"),  # a tokenizer leaves the NUL, the tree drops it
        (b"<textarea>a\0b</textarea>", "a\ufffdb\n"),
        (b"\xef\xbb\xbfa\xef\xbb\xbfb", "a\ufeffb"),
        (b"a<b>b</b>c<p>d<br>e<td>f</td>g<unknown>h", "abc\nd\ne\nf\ngh"),
        (b"<p>\n<p>a</p></p>\n\nb", "\na\n\n\nb"),
        (b"a<noscript>b</noscript><iframe>c</iframe><style>d</style><script>e</script>f", "af"),
        (b"a<template>b<template>c</template>d</template>e</template>f", "aef"),
        (b"<xmp>a&amp;<b></xmp><plaintext>c&amp;</plaintext>", "a&amp;<b>\nc&amp;</plaintext>"),
        (b"<svg><title>a<b>c</title><![CDATA[d>e]]></svg>", "e]]>"),
        (b"a\r\nb\rc", "a\nb\nc"),
        (b"a\xffb", "a\ufffdb"),
        (b"a<img alt=b title='c'>d", "ad"),
        (b"a<p hidden>b<p>c", "a\nc"),
        (b"a<div style='display:none'>b<div>c</div>d</div>e", "a\ne"),
        (b"<div>a<span style='visibility:hidden'>b</div>c", "a\nc"),
        (b"<ul><li hidden>a<ul><li>b</ul><li>c</ul>", "c\n"),
        (b"<body style='opacity:0'>a<input hidden>b", "ab"),
        (b"a<textarea hidden>b</textarea>c", "a\nc"),
        (b"", ""),
    ],
)
def test_visible_text(page: bytes, text: str) -> None:
    assert markup.visible_text(page) == text


def test_attribute_texts_stand_on_lines_of_their_own() -> None:
    page = b"a<img title='c' alt=b&amp;>d<template><img alt=e></template></p title=f>"
    assert markup.visible_text(page, attribute_texts=True) == "a\nb&\nc\nd\n"


def test_title_is_the_first_and_folded() -> None:
    assert markup.title(
        b"<template><title>no</title></template><title>\n a &lt;b>\xc2\xa0\tc </title><title>d</title>"
    ) == ("a <b>\xa0 c")
    assert markup.title(b"<p>a</p>") == ""


def test_links_and_what_is_said_of_them() -> None:
    page = (
        b"<a href=' a?b&amp;c&copy=d '>x</a><AREA HREF=e REL='x NoFollow'><a name=f><link href=g>"
        b"<a href=h rel='nofo&#108;low sponsored&Tab;UGC'><template><a href></template>"
        b"<a href=i rel='nofollows sponsorex ug'>"
    )
    assert markup.links(page) == [
        Link(" a?b&c&copy=d "),
        Link("e", nofollow=True),
        Link("h", nofollow=True, ugc=True, sponsored=True),
        Link("", inert=True),
        Link("i"),
    ]


def test_base_is_the_first_with_an_address() -> None:
    page = b"<base target=x><base href='a&amp;b'><base href=c>"
    found = parse(page)
    start, length = int(found.base_starts[0]), int(found.base_lengths[0])
    assert page[start : start + length] == b"a&amp;b"
    assert parse(b"<p>").base_starts.tolist() == [-1]


# Numbers of tags.


def test_numbers_of_known_names_are_fixed() -> None:
    assert len(set(markup.TAG_NAMES)) == len(markup.TAG_NAMES) == 285 < tagnames.UNKNOWN
    some = {1: "html", 39: "a", 100: "output", 200: "font-face-name", 284: "semantics"}
    assert {number: markup.TAG_NAMES[number] for number in some} == some
    for number, name in enumerate(markup.TAG_NAMES[1:], start=1):
        assert parse(f"<{name.upper()} a>".encode()).tags.tolist() == [number]
        assert parse(f"</{name}/>".encode()).tags.tolist() == [number | markup.END]


def test_unknown_names_keep_their_length() -> None:
    names = [bytes([120 - 32 * (size % 2)]) * size for size in range(1, 41)]
    tags = parse(b"".join(b"<" + name + b"></" + name + b">" for name in names)).tags
    assert (tags % markup.END >= tagnames.UNKNOWN).all()
    assert ((tags >= markup.END) == np.tile([False, True], 40)).all()
    assert markup.tag_lengths(tags).tolist() == [min(size, 31) for size in range(1, 41) for _ in range(2)]
    assert markup.tag_lengths(parse(b"<p></blockquote>").tags).tolist() == [1, 10]


def test_a_name_folded_to_the_bits_of_another_is_not_that() -> None:
    assert tagnames.packed_name("cmockquoud") == tagnames.packed_name("blockquote")
    assert parse(b"<cmockquoud>").tags[0] >= tagnames.UNKNOWN


# Many pages.


@given(st.lists(PAGES, max_size=8), st.integers(0, 40), st.sampled_from([1, 64, 1 << 20]))
def test_pages_end_to_end_equal_pages_alone(pages: list[bytes], before: int, chunk: int) -> None:
    offsets = before + np.cumsum([0, *map(len, pages)])
    data = np.frombuffer(b"<" * before + b"".join(pages) + b"<" * before, np.uint8).copy()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markup, "_CHUNK_BYTES", chunk)
        together = markup.parse_pages(data, offsets, places=True, attribute_texts=True)
    alone = [parse(page, places=True, attribute_texts=True) for page in pages]
    for kind, offset in (("tags", "tag"), ("text", "text"), ("titles", "title"), ("link_starts", "link")):
        bounds = getattr(together, f"{offset}_offsets")
        assert np.diff(bounds).tolist() == [getattr(page, kind).size for page in alone]
    for name in together.__slots__:
        if not name.endswith("_offsets"):
            assert getattr(together, name).tolist() == [
                value for page in alone for value in getattr(page, name).tolist()
            ]


@pytest.mark.parametrize("offsets", [[], [-1, 3], [0, 2, 1], [0, 5]])
def test_offsets_outside_of_the_data_are_refused(offsets: list[int]) -> None:
    with pytest.raises(UsageError, match="offsets"):
        markup.parse_pages(np.zeros(4, np.uint8), np.array(offsets, np.int64))


@given(PAGES, st.sampled_from([b"", b"<plaintext>" + b"\0" * 99, b"&nGt;" * 9, b"<a href>" * 9, b"<a>" * 9]))
def test_nothing_is_written_outside_of_the_room(page: bytes, end: bytes) -> None:
    page += end
    room = markup._room_for(markup._most_of(len(page), places=True))
    guarded = Found(*(np.concatenate([array, np.full(64, 77, array.dtype)]) for array in room))
    source, offsets = markup._with_block_behind(np.frombuffer(page, np.uint8), np.array([0, len(page)]))
    limits, rows = state.Limits(*[np.uint64(1 << 40)] * 3), np.zeros((2, state.COLUMNS), np.uint64)
    kernel.parse_pages(source, offsets, state.ATTRIBUTE_TEXTS | state.PLACES, markup._tables(), limits, guarded, rows)
    assert rows[1, state.TAGS] <= room.tags.size
    for array in guarded:
        assert (array[-64:] == 77).all()


# Limits and hostile pages.


@pytest.mark.parametrize(
    ("limits", "flag", "page"),
    [
        (Limits(tokens=3), markup.TOKENS_CAPPED, b"a<b>b<!--x-->c</b>d<i>e"),
        (Limits(attributes=2), markup.ATTRIBUTES_CAPPED, b"a<b x y=1>b</b>cd<i a b c>e"),
        (Limits(value_bytes=3), markup.VALUE_CAPPED, b"a<b x=123>b</b>cd<i a='1234'>e"),
        (Limits(value_bytes=3), markup.VALUE_CAPPED, b"a<b x=123>b</b>cd<i a='1234>e"),
    ],
)
def test_a_limit_ends_the_page_and_is_flagged(limits: Limits, flag: int, page: bytes) -> None:
    pages = [b"<p>before", page, b"<p>after"]
    offsets = np.cumsum([0, *map(len, pages)])
    found = markup.parse_pages(np.frombuffer(b"".join(pages), np.uint8), offsets, limits=limits)
    assert found.flags.tolist() == [0, flag, 0]
    assert found.text.tobytes() == b"beforeabcdafter"
    assert np.diff(found.tag_offsets).tolist() == [1, 2, 1]


HOSTILE = [
    *(b"<div>", b" a=1", b"<select><option>", b"<font c=12><p>", b"<ul><li>", b"<b><i></b>", b"<!--", b"<", b"<svg>"),
    *(b"&amp;&notit;&#x80;", b"<template>", b"<title><p>", b"<a><table>", b"<b><p>"),
    *(b"<title></title <p>", b"<title></titl</titlex>", b"<script>", b"<script><!--<script></script", b"<!--->-"),
    *(b"<!----!x>", b"<a href=\"'", b"<a href=x", b"&", b"&CounterClockwiseContourIntegra", b"&#0", b"<![CDATA[]]"),
    *(b"</", b"<plaintext>\0\0\0\0", b"<a href=x rel=' nofollow&#0;'>", b"\r", b"<a\x01\x01\x01"),
]
"""Repeated; the first two lines are the patterns that other parsers were measured with."""


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_pages_take_linear_work(pattern: bytes) -> None:
    start = b"<p" if pattern.startswith(b" ") else b""
    pages = [start + pattern * (size // len(pattern)) for size in (250_000, 2_000_000)]
    expected = Expected().read(pages[0], "surrogateescape")
    small, large = map(parse, pages)
    assert small.text.tobytes() == expected.text.encode("utf-8", "surrogateescape")
    assert small.tags.size == len(expected.names)
    for page, found in zip(pages, (small, large), strict=True):
        assert len(page) / 2 <= found.steps[0] <= 3 * len(page)
        assert found.text.size <= 3 * len(page)
    assert large.steps[0] <= 8.1 * small.steps[0]
