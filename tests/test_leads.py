"""Where a page with next to no text leads: equal to one search by patterns that ignore case."""

import re

from hypothesis import given
from hypothesis import strategies as st

from samehand.methods.sites.leads import FORM, FRAME, NO_LEAD, REFRESH, SCRIPT, find_lead, tells_own_name

_TARGET = rb"[\"']?([^\"'\s>]{1,500})"
PATTERNS = {
    REFRESH: rb"http-equiv\s{0,9}=\s{0,9}[\"']?refresh[^>]{0,300}?url\s{0,9}=\s{0,9}"
    + _TARGET
    + rb"|content\s{0,9}=\s{0,9}[\"']?\s{0,9}\d{1,5}\s{0,9};\s{0,9}(?:url\s{0,9}=\s{0,9})?"
    + _TARGET,
    FRAME: rb"<i?frame\b[^>]{0,1000}?\bsrc\s{0,9}=\s{0,9}" + _TARGET,
    SCRIPT: rb"location(?:\.href|\.pathname)?\s{0,9}=\s{0,9}(?:[\"']([^\"']{1,500})|[a-z(])"
    rb"|location\.(?:replace|assign)\s{0,9}\(\s{0,9}(?:[\"']([^\"']{1,500}))?",
    FORM: rb"\.submit\(\)|onload\s{0,9}=\s{0,9}[\"'][^\"']{0,200}submit",
}
PIECES = [
    *(
        b"<meta http-equiv=",
        b'"Refresh"',
        b" content=",
        b'"0;',
        b" URL=",
        b"http://B.example/Way",
        b"/way?x",
        b'"',
        b">",
    ),
    *(b"<iframe", b"<FRAME", b"<framed", b" src=", b"'", b"location", b".href", b".replace(", b" = ", b"(", b"go"),
    *(b"document.forms[0].submit()", b'onload="', b"submit", b"//a.example/?d=own.example&", b" "),
]


def expected(source: bytes) -> tuple[int, bytes]:
    """How a source leads on, and the address as it stands there."""
    for how, pattern in PATTERNS.items():
        if found := re.search(pattern, source, re.IGNORECASE):
            return how, next((group for group in found.groups() if group), b"")
    return NO_LEAD, b""


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.booleans())
def test_a_lead_is_that_of_the_patterns(pieces: list[bytes], in_capitals: bool) -> None:
    source = b"".join(pieces).upper() if in_capitals else b"".join(pieces)
    how, target = expected(source)
    lead = find_lead(source, b"own.example")
    assert lead.how == how
    host = re.match(rb"\s*(?:https?:)?//([^/?#:\s]+)", target, re.IGNORECASE)
    assert lead.host == (host[1].lower() if host else b"")
    assert lead.path == (target[host.end() :] if host else target).partition(b"?")[0].strip(b"/")


def test_a_page_that_tells_another_site_its_own_name() -> None:
    told = b'<script SRC="//Feed.example/show?d=Own.Example"></script>'
    assert tells_own_name(told, b"own.example")
    assert not tells_own_name(told, b"other.example")
    assert not tells_own_name(b'<img src="//own.example/?d=own.example">', b"own.example")


@given(st.lists(st.sampled_from([b"own.example", b"=", b"/", b":", b"&", b"#", b"?", b";", b"x", b"."]), max_size=9))
def test_a_domain_is_told_as_the_pattern_says(pieces: list[bytes]) -> None:
    told = re.compile(rb"=own\.example(?:[&#;]|\Z)|(?<![/:])/own\.example/?(?:[?#]|\Z)")
    rest = b"".join(pieces)
    assert tells_own_name(b'<img src="//feed.test/' + rest + b'">', b"own.example") == bool(told.search(b"/" + rest))
