"""The preview: whatever a page holds, what is written is on the allow-list."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostile_page import hostile_page
from samehand.review.preview import ATTRIBUTES, SHOWN_BYTES, SHOWN_TAGS, TAGS, preview

HEAD = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Preview</title></head><body>'
FOOT = "</body></html>"
_IMAGE = r"data:image/(?:png|gif|jpeg|webp);base64,[A-Za-z0-9+/=\s]*"
_ATTRIBUTE = rf' (?:(?:{"|".join(ATTRIBUTES)}|data-href)="[^"<>]*"|src="{_IMAGE}")'
_TAG = rf"</?(?:{'|'.join(sorted(TAGS, key=len, reverse=True))})(?:{_ATTRIBUTE})*>|</?style>"
TOKEN = re.compile(rf"(?:{_TAG})|[^<]+")

_MARKS = "< > </ /> = \" ' <!-- --> --!> <! <? ]]> <![CDATA[ \0 & &lt; &#60; &#x3c &quot; \n \t \f é"
_NAMES = "style script template svg math img a div xmp plaintext noscript textarea title iframe form base meta link"
_VALUES = "href src onerror ping srcset data:image/png;base64,AA javascript:alert(1) http://evil.test/"
PIECES = st.sampled_from([*_MARKS.split(" "), *_NAMES.split(" "), *_VALUES.split(" ")])


def check(content: bytes) -> str:
    """Every `<` in a preview begins a tag of the allow-list with attributes of the allow-list."""
    shown = preview(content)
    assert shown.startswith(HEAD)
    assert shown.endswith(FOOT)
    body, place = shown[len(HEAD) : -len(FOOT)], 0
    while place < len(body):
        token = TOKEN.match(body, place)
        assert token, body[place : place + 80]
        place = token.end()
    return body


@given(st.binary(max_size=300))
def test_any_bytes(content: bytes) -> None:
    check(content)


@given(st.lists(PIECES, max_size=40), st.sampled_from(["", " "]))
def test_any_markup(pieces: list[str], between: str) -> None:
    check(between.join(pieces).encode())


def test_the_hostile_page() -> None:
    body = check(hostile_page(1, "x"))
    assert "A page like any other" in body
    assert not re.search(r" (?:href|ping|action|on\w+|srcset|target)=", body)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"<p onclick=x CLASS='a\"b' class=c>1 &lt; 2", '<p class="a&quot;b">1 &lt; 2'),
        (b"<a href='javascript:x' ping=y>z</a>", '<a data-href="javascript:x">z</a>'),
        (b"a<!-- b -->c<!d>e<?f>g</ h>i", "acegi"),
        (b"a<!-->b<!--->c", "abc"),
        (b"<script>a</script><noscript>b</noscript><title>c</title>d", "d"),
        (b"<template>a<p>b<template>c</template>d</template>e", "e"),
        (b"<xmp><b></xmp><i>x", "<pre>&lt;b&gt;</pre><i>x"),
        (b"<style>a{}</style b>c", "<style>a{}</style>c"),
        (b"<style>a<b", "<style>a\\3c b</style>"),
        (
            b"<img src='data:image/svg+xml,<svg>'><img src=data:image/gif;base64,R0==>",
            '<img><img src="data:image/gif;base64,R0==">',
        ),
        (b"1 < 2 <3", "1 &lt; 2 &lt;3"),
        (b"", ""),
        (b"plain \xff text", "plain \ufffd text"),
        (b"<svg><p>a</p></svg>", "<p>a</p>"),
        (b"<body bgcolor=red><form action=x>y</form>", '<div bgcolor="red"><div>y</div>'),
    ],
)
def test_what_is_shown(content: bytes, shown: str) -> None:
    assert check(content) == shown


def test_a_long_page_is_cut_and_says_so() -> None:
    for content in (b"<p>x" * (SHOWN_TAGS + 1), b"x" * (SHOWN_BYTES + 1)):
        assert check(content).endswith("<p><b>The preview ends here: the page goes on.</b></p>")
