"""URL to host and domains, and the Arrow form of pages and rejects."""

import itertools
from datetime import UTC, datetime

import ada_url
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.page import (
    CONTENT_FIELD,
    PAGE_SCHEMA,
    REJECT_SCHEMA,
    Host,
    Page,
    Reject,
    digest_of,
    host_of,
    rejects_to_batch,
)
from samehand.base.page_rows import PageRows, pages_to_batch
from samehand.base.settings import Settings
from samehand.methods.page_batch import PageBatch
from samehand.sources.http.charset import as_utf8


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://www.example.co.uk/x", Host("domain", "www.example.co.uk", "example.co.uk", "example.co.uk")),
        ("https://foo.blogspot.com/", Host("domain", "foo.blogspot.com", "blogspot.com", "foo.blogspot.com")),
        ("HTTP://EXAMPLE.com.:80/", Host("domain", "example.com", "example.com", "example.com")),
        ("http://münchen.de/", Host("domain", "xn--mnchen-3ya.de", "xn--mnchen-3ya.de", "xn--mnchen-3ya.de")),
        ("http://10.1.2.3/", Host("ip", "10.1.2.3")),
        ("http://0x7f.1/", Host("ip", "127.0.0.1")),
        ("http://[::1]:80/x", Host("ip", "::1")),
        ("http://localhost/", Host("suffix", "localhost")),
        ("http://co.uk/", Host("suffix", "co.uk")),
        ("", Host("missing")),
        ("example.com/x", Host("broken")),
        ("http://", Host("broken")),
        ("http://a b/", Host("broken")),
        ("urn:x", Host("broken")),
    ],
)
def test_host_of(url: str, host: Host) -> None:
    assert host_of(url) == host


@given(st.text())
def test_no_url_raises(url: str) -> None:
    assert host_of(url).kind in ("missing", "broken", "ip", "domain", "suffix")
    assert host_of("http://" + url).kind in ("missing", "broken", "ip", "domain", "suffix")


LABELS = st.from_regex(r"[a-z0-9-]{1,8}", fullmatch=True)


@given(st.lists(LABELS, min_size=1, max_size=4), st.sampled_from(["", "/", "/a b", "?q", "#f", ":80/", "/\t", "\\x"]))
def test_plain_hosts_are_what_the_standard_says(labels: list[str], rest: str) -> None:
    """The short way for plain host names never differs from the parser's."""
    url = f"http://{'.'.join(labels)}{rest}"
    try:
        expected = ada_url.URL(url).hostname.rstrip(".")
    except ValueError:
        expected = None
    assert (host_of(url).name or None) == (expected or None)


ORIGINS = (
    "http://a.example",
    "http://a.example:80",
    "https://B.example",
    "http://u@a.example",
    "http://a.example.",
    "http:",
)
RESTS = st.text("/?#\\@:a.%\t \u00fc", max_size=6)


@given(st.lists(st.tuples(st.sampled_from(ORIGINS), RESTS), max_size=8))
def test_hosts_of_a_batch_are_those_of_its_urls(parts: list[tuple[str, str]]) -> None:
    """Pages of one origin are looked up once, whatever comes behind it."""
    urls = ["".join(part) for part in parts]
    batch = pages_to_batch([Page(url, b"", "x", place) for place, url in enumerate(urls)], 0)
    names = ("url_kind", "url_host_name", "url_host_registered_domain", "url_host_private_domain")
    found = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    assert [Host(*row) for row in found] == [host_of(url) for url in urls]


def test_memory_of_pages_is_used_again() -> None:
    rows = PageRows()
    for size in (10, 3, 100_000):
        rows.clear()
        pages = [Page("http://a.example/", b"x" * (size + place), "x", place) for place in range(5)]
        for page in pages:
            rows.add(page)
        assert rows.batch(7) == pages_to_batch(pages, 7)
        assert (len(rows), rows.content_bytes, rows.without_url) == (5, 5 * size + 10, 0)


def test_page_batch_has_ids_hosts_and_content() -> None:
    when = datetime(2026, 1, 2, tzinfo=UTC)
    pages = [
        Page(
            "http://a.example/",
            b"<p>",
            "x.warc.gz",
            17,
            fetch_time=when,
            fetch_status=200,
            content_digest="GIVEN",
            warc_filename="x.warc.gz",
        ),
        Page("", b"", "x.jsonl", 99, doc_id="7"),
    ]
    batch = pages_to_batch(pages, 40)
    assert batch.schema == PAGE_SCHEMA.append(CONTENT_FIELD)
    first, second = batch.to_pylist()
    assert (first["page_id"], second["page_id"]) == (40, 41)
    assert (first["content"], first["content_length"], first["content_digest"]) == (b"<p>", 3, "GIVEN")
    assert (first["fetch_time"], first["url_host_private_domain"]) == (when, "a.example")
    assert (second["url"], second["url_kind"]) == ("x.jsonl#99", "missing")
    assert [(row["source_path"], row["warc_filename"], row["doc_id"]) for row in (first, second)] == [
        ("x.warc.gz", "x.warc.gz", None),
        ("x.jsonl", None, "7"),
    ]
    assert second["content_digest"] == digest_of(b"") == "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def test_no_pages_and_no_rejects_are_batches_too() -> None:
    assert pages_to_batch([], 0).num_rows == 0
    assert rejects_to_batch([]).schema == REJECT_SCHEMA


def test_reject_batch() -> None:
    row = rejects_to_batch([Reject("x.warc", 5, "not_html", bytes=7, damaged=True)]).to_pylist()[0]
    assert (row["reason"], row["bytes"], row["damaged"]) == ("not_html", 7, True)
    assert (row["source_path"], row["warc_record_offset"]) == ("x.warc", 5)


def test_contents_in_utf_8() -> None:
    """Each page as if it were alone, whatever stands beside it."""
    pages = [
        Page("", content, "x", place, content_charset=charset, content_mime_detected=mime)
        for place, (content, charset, mime) in enumerate(
            itertools.product(
                (b"<p>a</p>", "<p>\u00fc</p>".encode(), b"<p>\xfc</p>", b""),
                (None, "UTF-8", "windows-1252", "KOI8-R", "EUC-JP", "GBK"),
                ("text/html", "text/plain"),
            )
        )
    ]
    together = PageBatch(pages_to_batch(pages, 0), Settings()).content.to_pylist()
    for page, content in zip(pages, together, strict=True):
        start = b"<plaintext>" if page.content_mime_detected == "text/plain" else b""
        assert content == start + as_utf8(page.content, page.content_charset)
    plain = PageBatch(pages_to_batch([page for page in pages if page.content_charset == "UTF-8"][::2], 0), Settings())
    assert plain.content is plain.rows.column("content") or plain.content.equals(plain.rows.column("content"))
