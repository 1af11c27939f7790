"""Hosts of links: equal to what a readable pattern finds, and the same number for the same host."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samehand.html import link_hosts as hosts_of_links
from samehand.html import links, parse_pages
from samehand.kernels.html.links import hash_hosts

_ABSOLUTE = re.compile(rb"[\x00-\x20]*(?:https?:)?//(.*)\Z", re.IGNORECASE | re.DOTALL)
_END = re.compile(rb"[/?#\\\x00-\x20]")
PIECES = [
    b"http:",
    b"https:",
    b"HTTP:",
    b"//",
    b"/",
    b"a.example",
    b"B.example",
    b"user@",
    b"user:pw@",
    b"&#104;ttp:",
    b"&sol;",
    b"&colon;",
    b"&amp",
    b":80",
    b" ",
    b"?q",
    b"h",
    b"",
]


def host_in(href: bytes) -> bytes:
    """The host an address names, lower-cased; nothing for relative ones."""
    found = _ABSOLUTE.match(href)
    authority = _END.split(found[1], maxsplit=1)[0] if found else b""
    return authority.rpartition(b"@")[2].partition(b":")[0].lower()


def number_of(host: bytes) -> int:
    return int(hash_hosts(np.frombuffer(host, np.uint8), np.array([0, len(host)]))[0])


def number_in(href: bytes, behind: bytes = b"") -> int:
    page = np.frombuffer(b'<a href="' + href + b'">' + behind, np.uint8)
    offsets = np.array([0, page.size])
    return int(hosts_of_links(page, offsets, parse_pages(page, offsets))[0])


@given(st.lists(st.sampled_from(PIECES), max_size=7).map(b"".join))
def test_host_of_a_link_equals_the_pattern(href: bytes) -> None:
    host = host_in(links(b'<a href="' + href + b'">')[0].href.encode())
    for behind in (b"", b" " * 40):  # whole blocks are read where the page goes on
        assert number_in(href, behind) == (number_of(host) if host else 0)


def test_the_same_host_in_other_dress_is_the_same_number() -> None:
    same = [b"http://a.example/x", b"HTTPS://A.EXAMPLE", b"//a.example?q", b" http://u@a.example:80/"]
    same += [b"http://user:pw@a.example/", b"&#104;ttp://a.example/", b"http&colon;//a&period;ex&#x61;mple/?a&amp;b"]
    same += [b"//bank.example:80@a.example:443", b"http:" + b"&#47;" * 2 + b"a.example#" + b"&amp;" * 1000]
    assert {number_in(href) for href in same} == {number_of(b"a.example")}
    assert number_of(b"b.example") != number_of(b"a.example")
    for relative in (b"/x", b"x.html", b"mailto:a@b.example", b"#f", b"", b"http:", b"javascript:x//y"):
        assert number_in(relative) == 0
