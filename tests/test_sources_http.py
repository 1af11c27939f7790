"""HTTP responses: status, type, codings and their caps; each body ends as one page or one reject."""

import gzip
import time
import tracemalloc
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.page import Page, Reject
from samehand.base.settings import Settings
from samehand.sources import Outcome
from samehand.sources.http.body import Origin
from samehand.sources.http.coding import dechunk
from samehand.sources.http.responses import page_from_response
from test_sources_warc import gzip_of_many, make_record, read_bytes, shapes

HTML = b"<!doctype html><html><title>x</title>" + b"<p>some text</p>" * 40
PDF = b"%PDF-1.7\n" + bytes(range(256))


def response(body: bytes, *headers: str, status: str = "200 OK", line_end: str = "\r\n") -> bytes:
    return line_end.join([f"HTTP/1.1 {status}", *headers, "", ""]).encode("latin-1") + body


def read(block: bytes, *, cut: bool = False, **settings: int) -> Outcome:
    origin = Origin("x.warc", 7, 8, "http://a.example/")
    return page_from_response(block, origin, cut=cut, settings=Settings(**settings))


def read_html(body: bytes, *headers: str, **settings: int) -> Outcome:
    return read(response(body, "Content-Type: text/html", *headers), **settings)


def shape(outcome: Outcome) -> tuple[str, str]:
    return ("", "") if isinstance(outcome, Page) else (outcome.reason, outcome.detail)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("200 OK", ""),
        ("206 Partial", ""),
        ("299", ""),
        ("301 Moved", "301"),
        ("404 Not Found", "404"),
        ("199 x", "199"),
    ],
)
def test_status(status: str, reason: str) -> None:
    block = response(HTML, "Content-Type: text/html", status=status)
    outcome = read(block)
    assert shape(outcome) == (("http_status", reason) if reason else ("", ""))
    page = read(block, any_status=True)
    assert isinstance(page, Page)
    assert page.fetch_status == int(status[:3])


@pytest.mark.parametrize(
    ("media", "body", "reason"),
    [
        ("text/html", HTML, ""),
        ("TEXT/HTML; charset=x", HTML, ""),
        ("application/xhtml+xml", b"anything", ""),
        ("text/html", b"no tag at all", ""),
        ("", HTML, ""),
        ("application/octet-stream", HTML, ""),
        ("*/*", HTML, ""),
        ("html", HTML, ""),
        ("", b"no tag at all", "not_html"),
        ("application/octet-stream", PDF, "not_html"),
        ("text/plain", HTML, "not_html"),
        ("image/png", HTML, "not_html"),
        ("application/json", b"{}", "not_html"),
        ("text/html", PDF, "not_html"),
        ("text/html", b"\x89PNG\r\n\x1a\n", "not_html"),
        ("text/html", b"\xff\xd8\xff\xe0", "not_html"),
        ("text/html", b"GIF89a", "not_html"),
        ("text/html", b"PK\x03\x04", "not_html"),
        ("text/html", gzip.compress(HTML, mtime=0), "not_html"),
        ("text/html", b"", "empty_body"),
        ("text/html", b" \r\n\t\n", "empty_body"),
    ],
)
def test_only_html_becomes_a_page(media: str, body: bytes, reason: str) -> None:
    assert shape(read(response(body, f"Content-Type: {media}")))[0] == reason
    if not media:
        assert shape(read(response(body)))[0] == reason


@pytest.mark.parametrize(
    "start",
    [
        b"<!DOCTYPE html>",
        b"\xef\xbb\xbf \r\n<!doctype  HTML PUBLIC",
        b"<HTML>",
        b"<html\n",
        b"<!-- anything",
        b"<?xml version='1.0'?>\n<html xmlns=",
        b"<script>",
        b"<p>",
        b"<br/>",
        "<html>".encode("utf-16"),
        "<!doctype html>".encode("utf-16-be") + "<p>".encode("utf-16-be") * 20,
    ],
)
def test_sniffing(start: bytes) -> None:
    assert shape(read(response(start))) == ("", "")


@pytest.mark.parametrize(
    "start", [b"<htmlx>", b"hello <html>", b"<rss>", b"{", b"<?xml version='1.0'?><rss>", b"\0<html>"]
)
def test_sniffing_refuses(start: bytes) -> None:
    assert shape(read(response(start)))[0] == "not_html"


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (b"nonsense", "bad_http"),
        (b"", "bad_http"),
        (b"HTTP/1.1 OK\r\n\r\n" + HTML, "bad_http"),
        (b"HTTP/1.1 2000 OK\r\n\r\n" + HTML, "bad_http"),
        (HTML, ""),
        (b"  \n" + HTML[5:], "bad_http"),
        (b"ICY 200 OK\r\nContent-Type: text/html\r\n\r\n" + HTML, ""),
        (b"ICY 200 OK\r\nicy-name: x\r\nContent-Type: audio/mpeg\r\n\r\n\xff\xfb", "not_html"),
        (b"ICY 404\r\n\r\n" + HTML, "http_status"),
        (response(HTML, "X: " + "y" * 300_000), "bad_http"),
        (response(HTML, "X: " + "y" * 200_000), ""),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html", "empty_body"),
        (b"http/1.0 200\n\n" + HTML, ""),
        (b"HTTP/2 200\r\n\r\n" + HTML, ""),
        (response(HTML, "Content-Type: text/html", line_end="\n"), ""),
        (response(HTML, "Content-Type:", " text/html"), ""),
        (response(HTML, "no colon", ": x", "Content-Type : text/html", "\xff\xfe: y"), ""),
        (response(HTML, "Content-Type: text/html", "Content-Type: image/png"), ""),
        (response(HTML, "Content-Type: image/png", "Content-Type: text/html"), "not_html"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + response(HTML, "Content-Type: text/html"), ""),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 900 + response(HTML), ""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100\r\n\r\n" + response(HTML), ""),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 90_000 + response(HTML), "bad_http"),
        (b"HTTP/1.1 101 Switching\r\n\r\n" + HTML, "http_status"),
    ],
)
def test_heads(block: bytes, reason: str) -> None:
    assert shape(read(block))[0] == reason


CODINGS = {
    "gzip": gzip.compress(HTML, mtime=0),
    "x-gzip": gzip.compress(HTML, mtime=0),
    "GZIP": gzip.compress(HTML[:100], mtime=0) + gzip.compress(HTML[100:]),
    "deflate": zlib.compress(HTML),
    "Deflate": zlib.compress(HTML, wbits=-15),
    "br": brotli.compress(HTML),
    "zstd": zstandard.compress(HTML),
    "identity": HTML,
    "none": HTML,
    "gzip, br": brotli.compress(gzip.compress(HTML, mtime=0)),
    "deflate,identity, gzip ,zstd": zstandard.compress(gzip.compress(zlib.compress(HTML))),
    "gzip,gzip,gzip,gzip": gzip.compress(gzip.compress(gzip.compress(gzip.compress(HTML, mtime=0)))),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("is_chunked", [True, False])
def test_content_codings(coding: str, is_chunked: bool) -> None:
    body = CODINGS[coding]
    headers = [f"Content-Encoding: {coding}"]
    if is_chunked:
        body = b"".join(
            b"%x;x=y\r\n%b\r\n" % (len(body[at : at + 9]), body[at : at + 9]) for at in range(0, len(body), 9)
        )
        body += b"0\r\nTrailer: x\r\n\r\n"
        headers.append("Transfer-Encoding: chunked")
    page = read_html(body, *headers)
    assert isinstance(page, Page)
    assert (page.content, page.content_truncated) == (HTML, None)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "gzip, identity"])
@pytest.mark.parametrize("inner", ["", "br"])
def test_transfer_codings_are_undone_before_content_codings(coding: str, inner: str) -> None:
    body = brotli.compress(HTML) if inner else HTML
    packed = zlib.compress(body) if coding == "deflate" else gzip.compress(body, mtime=0)
    headers = [f"Transfer-Encoding: {coding}, chunked", *([f"Content-Encoding: {inner}"] if inner else [])]
    page = read_html(b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed), *headers)
    assert isinstance(page, Page)
    assert (page.content, page.content_truncated) == (HTML, None)


def test_a_response_of_http_0_9_has_no_status() -> None:
    page = read(HTML, cut=True)
    assert isinstance(page, Page)
    assert (page.content, page.fetch_status, page.content_truncated) == (HTML, None, "length")


def test_codings_in_two_headers() -> None:
    body = brotli.compress(gzip.compress(HTML, mtime=0))
    page = read_html(body, "Content-Encoding: gzip", "Content-Encoding: br")
    assert isinstance(page, Page)
    assert page.content == HTML


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "compress", "gzip, br"])
def test_a_body_that_was_unpacked_already_is_taken_as_it_is(coding: str) -> None:
    page = read_html(HTML, f"Content-Encoding: {coding}")
    assert isinstance(page, Page)
    assert page.content == HTML


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "unheard-of", "gzip,gzip,gzip,gzip,gzip"])
def test_a_body_that_does_not_unpack(coding: str) -> None:
    assert shape(read_html(b"\x07not packed, and no HTML", f"Content-Encoding: {coding}"))[0] == "bad_encoding"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_packed_body_that_is_cut_off_is_a_page_as_far_as_it_goes(coding: str) -> None:
    text = b"<html>" + b"".join(b"%d <p>" % number for number in range(60_000))
    packer = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress, "zstd": zstandard.compress}[
        coding
    ]
    packed = packer(text)
    page = read_html(packed[: len(packed) // 2], f"Content-Encoding: {coding}")
    assert isinstance(page, Page)
    assert page.content_truncated == "disconnect"
    assert text.startswith(page.content)
    assert len(page.content) > 1000


def test_a_packed_body_with_a_flipped_bit_is_a_page_up_to_there() -> None:
    text = b"<html>" + b"".join(b"%d <p>" % (number * 7919 % 10_007) for number in range(20_000))
    packed = bytearray(gzip.compress(text, mtime=0))
    packed[-4_000] ^= 1
    page = read_html(bytes(packed), "Content-Encoding: gzip")
    assert isinstance(page, Page)
    assert page.content_truncated == "disconnect"
    assert page.content[:10_000] == text[:10_000]


def packed_letters(coding: str, megabytes: int) -> bytes:
    if coding == "br":
        return brotli.compress(b"A" * (megabytes * 1_000_000), quality=1)
    if coding == "zstd":
        return zstandard.compress(b"A" * (megabytes * 1_000_000))
    packed = gzip_of_many(b"<html>", b"A", megabytes)
    return gzip.compress(packed, mtime=0) if coding == "gzip, gzip" else packed


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "gzip, gzip"])
def test_bombs_are_rejected_in_little_time_and_memory(coding: str) -> None:
    bomb = packed_letters(coding, 200)
    started = time.perf_counter()
    tracemalloc.start()
    outcome = read_html(bomb, f"Content-Encoding: {coding}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert shape(outcome)[0] == "decompression_bomb"
    assert peak < 60_000_000
    assert time.perf_counter() - started < 5


def test_the_record_after_a_bomb_is_found(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    bomb = make_record(b"http://bomb.example/", gzip_of_many(b"<html>", b"A", 200), http=head)
    records = [bomb, make_record(b"http://good.example/"), bomb, make_record(b"http://good.example/")]
    for packed in (b"".join(records), b"".join(map(gzip.compress, records))):
        outcomes = read_bytes(tmp_path, packed)
        bomb_shape = ("http://bomb.example/", "decompression_bomb")
        assert shapes(outcomes) == [bomb_shape, ("http://good.example/", "")] * 2


def test_what_is_no_bomb() -> None:
    """Less than 1 MB, or less than the ratio: long pages are cut, not refused."""
    small = gzip.compress(b"<html>" + b"A" * 900_000, mtime=0)
    page = read_html(small, "Content-Encoding: gzip")
    assert isinstance(page, Page)
    assert page.content_truncated is None
    long = gzip.compress(b"<html>" + b"".join(b"%d " % number for number in range(2_500_000)))
    page = read_html(long, "Content-Encoding: gzip")
    assert isinstance(page, Page)
    assert (len(page.content), page.content_truncated) == (10_000_000, "length")


@pytest.mark.parametrize("headers", [[], ["Transfer-Encoding: chunked"]])
def test_long_pages_are_cut_and_marked(headers: list[str]) -> None:
    body = b"<html>" + b"x" * 5_000
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if headers else body
    page = read_html(sent, *headers, max_page_bytes=1_000)
    assert isinstance(page, Page)
    assert (page.content, page.content_truncated) == (body[:1_000], "length")
    page = read(response(body, "Content-Type: text/html"), cut=True)
    assert isinstance(page, Page)
    assert page.content_truncated == "length"


@pytest.mark.parametrize(
    ("body", "expected", "is_complete"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello", True),
        (b"5\nhello\n0\n", b"hello", True),
        (b" 005 ;a=b\r\nhello\r\n3\r\nyou\r\n0\r\n", b"helloyou", True),
        (b"5\r\nhello\r\n", b"hello", False),
        (b"5\r\nhel", b"hel", False),
        (b"5\r\nhello\r\nnonsense\r\n", b"hello", False),
        (b"FFFFFFFFFFFFFF\r\nhello", b"hello", False),
        (b"<html>not chunked", b"<html>not chunked", True),
        (b"", b"", True),
        (b"0\r\n\r\n", b"", True),
        (b"-5\r\nhello", b"-5\r\nhello", True),
    ],
)
def test_dechunk(body: bytes, expected: bytes, is_complete: bool) -> None:
    assert dechunk(body) == (expected, is_complete)


def test_millions_of_tiny_chunks_do_not_take_long() -> None:
    started = time.perf_counter()
    outcome = read_html(b"1\r\nX\r\n" * 1_700_000, "Transfer-Encoding: chunked")
    assert isinstance(outcome, Page)
    assert outcome.content_truncated == "disconnect"
    assert time.perf_counter() - started < 5


def test_millions_of_gzip_members_do_not_take_long() -> None:
    started = time.perf_counter()
    assert isinstance(read_html(gzip.compress(b"<p>", mtime=0) * 400_000, "Content-Encoding: gzip"), Page)
    assert time.perf_counter() - started < 5


@given(
    head=st.binary(max_size=80),
    body=st.binary(max_size=80),
    coding=st.sampled_from(["gzip", "br", "zstd", "deflate", "gzip, br", "identity", ",,"]),
    is_chunked=st.booleans(),
)
def test_any_response_ends_as_page_or_reject(head: bytes, body: bytes, coding: str, is_chunked: bool) -> None:
    block = b"HTTP/1.1 200 OK\r\n" + head + b"\r\nContent-Encoding: " + coding.encode() + b"\r\n"
    if is_chunked:
        block += b"Transfer-Encoding: chunked\r\n"
    outcome = read(block + b"\r\n" + body)
    assert isinstance(outcome, Page | Reject)
    assert outcome.url == "http://a.example/"


@given(at=st.integers(0, 10_000), value=st.integers(1, 255), coding=st.sampled_from(["gzip", "br", "zstd", "deflate"]))
def test_damaged_codings_never_raise(at: int, value: int, coding: str) -> None:
    packed = bytearray(CODINGS[coding])
    packed[at % len(packed)] ^= value
    assert isinstance(read_html(bytes(packed), f"Content-Encoding: {coding}"), Page | Reject)


def test_details_are_short_and_valid() -> None:
    outcome = read(response(HTML, "Content-Type: \xff/" + "x" * 1_000))
    assert isinstance(outcome, Reject)
    assert len(outcome.detail) <= 200
    assert outcome.detail.encode()
    assert (outcome.source_path, outcome.warc_record_offset, outcome.bytes) == ("x.warc", 7, 8)
