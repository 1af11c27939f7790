"""Canonical markup equals its readable twin, and cheap disguises leave no trace in it."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import reference
import reference_markup
from samehand import Settings
from samehand.kernels.canonical import names
from samehand.kernels.canonical.fingerprints import page_streams
from samehand.methods.style.markup import markup_fingerprints

TABLES = names.canon_tables()
_PIECES = (
    "<html lang=en> <head> </head> <body class='a b'> <title>x < y</title> <meta charset=\"utf-8\"> </body> </html>"
    " <link rel=x href=./a/./b.css?v=1> <script>a</b></script> <script src='//x.y/z.js'></script> <style>p{}</style>"
    " <div> <div class=x> </div> <span id='q'> </span> <section> <p> </p> <b> </b> <h1> </h1> </h2> <ul> <li> </ul>"
    " <ol> </ol> <a href='http&#58;//x.y/z#q'> <A HREF=\"#a.b\"> </a> <img src=a.png alt='x,&nbsp;y.'> <br/> <table>"
    " <tr> <td colspan=2> </td> </table> <th> <form action=/a method=post> </form>"
    " <input type=hidden name=a> <input value=> <p hidden> <p style='display : NONE'> <i hidden> </i> <svg>"
    " <path d='M1,2'/> </svg> <x-y a=1> </x-y>"
    " <!--c--> <!-- --!> <!doctype html> <?php ?> < <a </ </a <noscript><p></noscript> <template><p></template>"
    " <dl> <dt> <dd> </dl> <select> <optgroup> </select> <fieldset> <legend> </fieldset> <img> <img/src=q> <a/name=x>"
    " <img/src=q/width=1> <iframe/src=a.b/height=3px></iframe> <iframe/src=a.b/width=1%></iframe> <audio> </audio>"
    " <video/src=x> </video> <p/popover> <p/style='left:-900px'> <p/style=opac&#105;ty:.0> <h1/style='width:1px;'>"
    " &nbsp; &#8203; \u200b \u200bx &shy;&zwnj; &#x3000;&#x20 \xa0 é <label> </label> <tbody> <form/id=f>"
    " <table/width=1/class=x/rel=y> <td/style='clip:rect(0,0)'> <li/style='transform:scale(0)'> <a/href=//x.y/./z.w>"
    " <a a=1 b=2 a=3 href=x href=y> <frame src=x> <textarea>&lt;</textarea> <option selected> <p/class=x> <a =b c>"
)
PAGES = st.lists(st.sampled_from([*_PIECES.split(" "), " ", "text", "\n"]), max_size=40).map(
    lambda pieces: "".join(pieces).encode()
)


def streams(page: bytes) -> tuple[bytes, bytes]:
    values, skeleton = page_streams(np.frombuffer(page, np.uint8), TABLES)
    return values.tobytes(), skeleton.tobytes()


@settings(max_examples=400)
@given(PAGES)
@example(b"<a href='")
@example(b"<p>" * 20 + b"</p>" * 20)
@example(b"<a " + b" ".join(b"%s=." % name.encode() for name in names.SYMBOL_OF) + b" alt=,>")
@example(b"<p hidden>" + b"x" * 250 + b"</p><h1>")
@example(b"<p hidden>" + b"x" * 260 + b"</p><h1>")
@example(b"<p>" + b" " * 64 + b"&nbsp;</p><p>" + b" " * 62 + b"&nbsp;</p><p>" + b"&nbsp;" * 20 + b"</p>")
@example(b"<p>\xe2\x80\x8b</p><p>\xe2\x80</p><p>\xe0\x80\xa0</p><p>\xe2\x00\x00</p><p>\xf0\x9f\x98\x80</p>")
@example(b"<a href='/a.b/1234567'><a href='/a-b/1234567'>" * 2)  # tags that share the slot where they are remembered
@example(b"".join(b"<img src='" + b"./,-" * 12 + b"x" * more + b"'>" for more in (2, 3, 4, 2, 3, 4)))
@example(b"<a title='.>' href='/-'><a title='.>' href='/+'><a title='.>")
@example(b"<p class=x>.<p class=x hidden>.</p><p class=x hidden>.</p><p class=x")
@example(b"<title>x</title><body><title>x</title><h1></h1><h1>x</h1></h1><h1/></h1 x></h1")
def test_streams_equal_reference(page: bytes) -> None:
    assert streams(page) == reference_markup.streams(page)


VALUES = st.lists(
    st.sampled_from(["a", "./", "../", "/", ".", "?", "#", "&", "&amp;", "&#46;", "&#x2F", "&#63;", "&eacute;", "&lt",
                     "é", " ", ";", ":", "&#", "&#x;", "&#999999999999;", "-", "&" + "a" * 40 + ";",
                     "//", "%2e", "%2", "%", "%5F", "%zz",
                     "http", "&colon;", "&sol;", "\t", "&#47;", "x.y", "&period;", "&Period;", "abcdefghijklmnopq"]),
    max_size=12,
).map("".join)  # fmt: skip


@given(VALUES)
def test_values_equal_reference(value: str) -> None:
    path, quote = reference_markup.path_of(value.encode()), bytes([reference_markup.QUOTE])
    for tag, kept in ((f'<a href="{value}">', path), (f'<input name="{value}">', value.encode())):
        wanted = bytes([reference_markup.VALUE]) + reference_markup.value_noise(kept)
        assert wanted + quote in streams(tag.encode())[0]


_STYLES = (
    "display visibility opacity font-size width max-height left margin-top text-indent clip transform none hidden"
    " collapse 0 .0 0.0 00px 0.5 1px 1 -500px -499 -9999em rect(0 rect(0,0) scale(0) : : : ; ; ! &#58; &colon; Display"
    " NONE color red &nbsp;"
)
STYLES = st.lists(st.sampled_from([*_STYLES.split(" "), " ", "\n"]), max_size=10).map("".join)


@given(STYLES)
@example("color:red; Display : none !important")
@example("left:-500px")
def test_styles_hide_as_the_reference_says(style: str) -> None:
    page = f'<p style="{style}">x</p>'.encode()
    assert streams(page) == reference_markup.streams(page)
    assert bool(streams(page)[1]) != reference_markup.style_hides(style.encode())


@given(st.lists(PAGES, max_size=4), st.sampled_from(["samehand", "another"]))
def test_fingerprints_have_a_half_for_each_stream(pages: list[bytes], key: str) -> None:
    chosen = Settings(key=key, markup_dimensions=32)
    offsets = np.cumsum([0, *map(len, pages)]).astype(np.int64)
    found = markup_fingerprints(np.frombuffer(b"".join(pages), np.uint8), offsets, chosen)
    masks = reference.key_numbers(key, 32)[256:]
    for row, page in zip(found.tolist(), pages, strict=True):
        for half, stream in enumerate(reference_markup.streams(page)):
            own = slice(16 * half, 16 * half + 16)
            assert row[own] == reference.fingerprint(stream, width=16, key=key, dimensions=16, masks=masks[own])


PAGE = (
    b"<!doctype html><html lang=en><head><meta charset=utf-8><link rel=stylesheet href='/a/b.css'></head><body>"
    b"<div id=top class='x y'><h1>Title</h1><ul><li><a href='/a/b-c.html'>One</a></li><li><a href=\"http://x.y/\">Two</a>"
    b"</ul><table width='100%'><tr><td><img src='i/1.png' alt='a, b'></td><td>word</td></tr></table>"
    b"<form action='/s?q'><input type=text name='q[]'></form><p>text <b>bold</b></p></div></body></html>"
)
DISGUISES = {
    "quotes": PAGE.replace(b"'", b'"'),
    "case": PAGE.replace(b"<a href", b"<A HREF").replace(b"</a>", b"</A>"),
    "blanks": PAGE.replace(b"><", b">  \n <").replace(b"' ", b"'  \t"),
    "comments": PAGE.replace(b"><", b"><!-- {;'\"<b>} --><"),
    "scripts": PAGE.replace(b"</li>", b"</li><script>x('<p>{;}')</script><style>a{}</style>"),
    "phrases": PAGE.replace(b" ", b" ").replace(b"word", b"<b></b>wo<i>rd</i><wbr>"),
    "wrappers": PAGE.replace(b"<h1>", b"<div><section><h1>").replace(b"</h1>", b"</h1></section></div>"),
    "class names": PAGE.replace(b"'x y'", b"'a-b c_d:e'").replace(b"id=top", b"id='q:w'"),
    "order of attributes": PAGE.replace(b"<div id=top class='x y'>", b"<div class='x y' id=top>"),
    "references": PAGE.replace(b"/a/b-c.html", b"&#47;a&#x2f;b&#45;c&#46;html"),
    "queries": PAGE.replace(b"b-c.html", b"b-c.html?a[]=;&b={}"),
    "fragments": PAGE.replace(b"b-c.html", b"b-c.html#!/(x)"),
    "dot segments": PAGE.replace(b"'/a/b", b"'/./a/./b"),
    "repeated attributes": PAGE.replace(b"<img src='i/1.png'", b"<img src='i/1.png' src='//;;/'"),
    "hidden elements": PAGE.replace(b"<p>", b"<p hidden>;<a href='::'>x</a></p><p>"),
    "hidden by style": PAGE.replace(b"<p>", b"<p style='color:red;Display : none'>x</p><p>"),
    "hidden inputs": PAGE.replace(b"</form>", b"<input type='HIDDEN' name='a::b'></form>"),
    "metas in the body": PAGE.replace(b"<h1>", b"<meta name='x:y'><link href='::'><h1>"),
    "pixels": PAGE.replace(b"</ul>", b"</ul><noscript><img src='//p.q/?::'></noscript>"),
    "empty elements": PAGE.replace(b"</ul>", b"</ul><p><a href='x:y' class=q> <!-- --></a></p><div id=z></div>"),
    "end tags of nothing": PAGE.replace(b"</ul>", b"</ul></h3></form></section></a>"),
    "cells outside tables": PAGE.replace(b"</ul>", b"</ul><tr><td></td></tr>"),
    "second body": PAGE.replace(b"</ul>", b"</ul><body data-x='::'></body><html lang=';'>"),
    "drawings": PAGE.replace(b"</ul>", b"</ul><svg viewBox='0 0'><path d='M1,2;3'/></svg>"),
    "attributes that do nothing": PAGE.replace(b"<li>", b"<li data-x='::' onclick='a.b()' aria-label=';'>"),
    "pictures": PAGE.replace(b"<h1>", b"<img src='/p:q.gif'><h1>"),
    "tiny frames": PAGE.replace(b"<h1>", b"<iframe width=1 src='/p:q'></iframe><h1>"),
    "text without ink": PAGE.replace(b"<h1>", b"<a href='/p:q'>&nbsp;&#8203;</a><p>\xe2\x80\x8b</p><h1>"),
    "anchors": PAGE.replace(b"<h1>", b"<a name='x:y'><h1>"),
    "parts of tables": PAGE.replace(b"<tr>", b"<colgroup><col></colgroup><tbody><tr>"),
    "empty tables": PAGE.replace(b"<h1>", b"<table><tr><td></td><td> </table><h1>"),
    "items outside lists": PAGE.replace(b"<h1>", b"<dt><option><legend><h1>"),
    "off screen": PAGE.replace(b"<p>", b"<p style='position:absolute;left:-999px'>x</p><p>"),
    "style by references": PAGE.replace(b"<p>", b"<p style='opacity&#58;0'>x</p><p>"),
    "players": PAGE.replace(b"<h1>", b"<audio><a href='/p:q'>x</a></audio><h1>"),
    "forms": PAGE.replace(b"<h1>", b"<form action='/p:q'></form><h1>"),
    "absolute addresses": PAGE.replace(b"'/a/b-c.html'", b"'https://www.x-y.example/a/b-c.html'"),
    "relative addresses": PAGE.replace(b"'/a/b-c.html'", b"'../a//b-c.html'"),
    "encoded addresses": PAGE.replace(b"/a/b-c.html", b"&sol;a/%62%2dc%2Ehtml"),
    "metas": PAGE.replace(b"</head>", b"<meta name='x:y' content='{};'></head>"),
    "attributes of others": PAGE.replace(b"<li>", b"<li rel='x:y' type=';' target='.'>"),
    "unknown elements": PAGE.replace(b"</ul>", b"</ul><x-y a='::'></x-y>"),
}


IN_VALUES = {
    "classes": PAGE.replace(b"<li>", b"<li class='q:r'>").replace(b" id=top", b""),
    "text in boxes": PAGE.replace(b"<p>", b"<span class=hide>words</span><p>"),
}
"""Disguises that only the skeleton withstands."""


@pytest.mark.parametrize("disguised", IN_VALUES.values(), ids=IN_VALUES)
def test_the_skeleton_withstands_more(disguised: bytes) -> None:
    assert streams(disguised)[0] != streams(PAGE)[0]
    assert streams(disguised)[1] == streams(PAGE)[1]


@pytest.mark.parametrize("disguised", DISGUISES.values(), ids=DISGUISES)
def test_a_disguise_leaves_no_trace(disguised: bytes) -> None:
    assert disguised != PAGE
    assert streams(disguised) == streams(PAGE)


def test_what_is_shown_leaves_a_trace() -> None:
    for old, new in ((b"<h1>", b"<h2>"), (b"/a/b-c.html", b"/a-b-c.html"), (b"<li>", b"<li><li>x")):
        assert streams(PAGE.replace(old, new))[1] != streams(PAGE)[1]


def test_the_work_is_linear() -> None:
    """Every kind of page that makes a pass look ahead: the streams are never longer than the page."""
    for piece in (b"<p hidden>", b"<a " + b"b=& " * 3, b"<p>", b"</p>", b"<!--", b"<a href='", b"<svg>", b"<", b"&"):
        page = piece * 3000
        assert all(len(stream) <= len(page) for stream in streams(page))
