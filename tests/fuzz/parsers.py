"""The parsers of samehand as targets: what they start from, the words they know, and what must hold of their results.

A target fails if its check raises, takes more than SECONDS, or ends the process.
"""

import atexit
import dataclasses
import functools
import gzip
import io
import json
import random
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import brotli
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from samehand import html
from samehand.base.errors import SamehandError
from samehand.base.page import Page, Reject, Skip, host_of
from samehand.base.settings import Settings
from samehand.sources import Source, Unit, plan_units, read_unit
from samehand.sources.http import coding
from samehand.sources.http.body import Origin
from samehand.sources.http.charset import to_ascii_compatible
from samehand.sources.http.responses import page_from_response
from samehand.sources.mail.mime import read_message

SETTINGS = Settings(max_page_bytes=100_000)
PAGE = b"<!doctype html><html><title>x</title>" + b"<p class='a'>some text &amp; more</p>\n" * 8
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"


@dataclasses.dataclass(frozen=True)
class Target:
    """A parser: seeds to start from, pieces to put in, and a check that raises if something is wrong."""

    seeds: Callable[[], Sequence[bytes]]
    check: Callable[[bytes], object]
    pieces: Sequence[bytes] = ()


@functools.cache
def scratch() -> Path:
    """A folder of this process, in memory where there is such a place."""
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="samehand-fuzz-", dir=memory if memory.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def warc(body: bytes = HTTP + b"\r\n" + PAGE, kind: bytes = b"response") -> bytes:
    """One record."""
    fields = (
        b"WARC-Type: " + kind,
        b"WARC-Target-URI: http://a.example/",
        b"WARC-Date: 2026-01-01T00:00:00Z",
        b"Content-Type: application/http; msgtype=response",
        b"Content-Length: %d" % len(body),
    )
    return b"WARC/1.0\r\n" + b"\r\n".join(fields) + b"\r\n\r\n" + body + b"\r\n\r\n"


def arc() -> bytes:
    """Two records behind the description of the file."""
    block = HTTP + b"\r\n" + PAGE
    line = b"http://a.example/ 1.2.3.4 20200102030405 text/html %d\n" % len(block)
    described = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n\n"
    head = b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain %d\n" % len(described)
    return head + described + b"\n" + (line + block + b"\n") * 2


def wacz() -> bytes:
    """A zip with two archives."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("datapackage.json", '{"profile": "data-package"}')
        archive.writestr("archive/a.warc.gz", gzip.compress(warc()) * 2)
        archive.writestr("archive/b.warc", warc())
    return packed.getvalue()


def parquet() -> bytes:
    """Rows of pages in two groups."""
    rows = 40
    table = pa.table(
        {
            "url": [f"http://a{row}.example/" for row in range(rows)],
            "html": [PAGE.decode()] * rows,
            "id": list(range(rows)),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=20)
    return out.getvalue()


def reads(kind: str) -> Callable[[bytes], object]:
    """Reads the bytes as a file of this kind: every record is a page, a skip or a reject, in order."""

    def check(data: bytes) -> None:
        path = scratch() / f"input.{kind}"
        path.write_bytes(data)
        source = Source(path.name, str(path), kind, len(data), "")
        for unit in plan_units([source], SETTINGS.split_bytes):
            position = 0
            for outcome in read_unit(unit, SETTINGS):
                assert isinstance(outcome, Page | Reject | Skip)
                assert kind in ("wacz", "mail") or outcome.warc_record_offset >= position
                position = outcome.warc_record_offset
                assert not (isinstance(outcome, Reject) and outcome.reason == "reader_error"), outcome.detail
        if kind in ("warc", "jsonl") and data:
            half = Unit(0, source, len(data) // 2, len(data))
            for _ in read_unit(half, SETTINGS):
                pass

    return check


def check_response(data: bytes) -> None:
    """Heads, chunks and codings."""
    outcome = page_from_response(data, Origin("x", 0), cut=False, settings=SETTINGS)
    assert not isinstance(outcome, Page) or 0 < len(outcome.content) <= SETTINGS.max_page_bytes


def check_chunks(data: bytes) -> None:
    """What is left of a body is never longer than the body."""
    body, complete = coding.dechunk(data)
    assert len(body) <= len(data)
    assert body == data or complete or body in data or len(body) < len(data)


def check_coding(data: bytes) -> None:
    """Any coding: unpacked within the limit, or refused."""
    for name in ("gzip", "deflate", "br", "zstd"):
        try:
            body, _ = coding.decode_body(data, [name], limit=100_000, max_compression_ratio=200)
        except (coding.CodingError, coding.BombError):
            continue
        assert len(body) <= 100_001


def check_charset(data: bytes) -> None:
    """The label is the first line."""
    label, _, body = data.partition(b"\n")
    to_ascii_compatible(body, label.decode("latin-1") or None)


def check_mail(data: bytes) -> None:
    """Subject and text are valid and bounded."""
    message = read_message(data, lambda page: page.decode("utf-8", "replace"), SETTINGS)
    f"{message.subject}{message.body}".encode("utf-8", "replace")
    assert "\n" not in message.subject


def check_markup(data: bytes) -> None:
    """What the pass finds lies within the page, and its work is linear."""
    page = np.frombuffer(data, np.uint8)
    offsets = np.array([0, page.size])
    found = html.parse_pages(page, offsets)
    assert (found.link_starts >= 0).all()
    assert (found.link_starts + found.link_lengths <= page.size).all()
    assert found.text.size <= 3 * page.size + 64
    assert int(found.steps[0]) <= 20 * page.size + 1000
    html.link_hosts(page, offsets, found)
    html.links(data)
    html.title(data)
    html.visible_text(data, attribute_texts=True)


def check_references(data: bytes) -> None:
    """A value with references is valid text, at most three times as long."""
    assert len(html.decode_value(data).encode()) <= 3 * len(data) + 3


def check_host(data: bytes) -> None:
    """Hosts of addresses: no error, whatever the address."""
    host_of(data.decode("utf-8", "replace"))


def check_nameservers(data: bytes) -> None:
    """Files of name servers: canonical names, or one sentence."""
    from samehand.methods.sites.nameservers import canonical_name, read_nameservers

    path = scratch() / "nameservers"
    path.write_bytes(data)
    try:
        found = read_nameservers([path])
    except SamehandError:
        return
    for row in found.pairs.slice(0, 50).to_pylist():
        assert canonical_name(row["ns"]) == (row["ns"], "")


def check_dns(data: bytes) -> None:
    """Replies of DNS: an outcome whose names are canonical."""
    import dns.exception
    import dns.message

    from samehand.base.names import canonical_name
    from samehand.methods.sites.nameservers.dns import OUTCOMES, _read_reply

    try:
        reply = dns.message.from_wire(data)
    except (dns.exception.DNSException, ValueError, EOFError):
        return
    outcome = _read_reply("good.com", reply)
    assert outcome.outcome in OUTCOMES
    assert all(canonical_name(name) == (name, "") for name in outcome.ns)


def dns_seeds() -> list[bytes]:
    """Replies as servers send them."""
    import dns.message
    import dns.rrset

    query = dns.message.make_query("good.com", "NS", use_edns=0, id=7)
    answer = dns.message.make_response(query)
    answer.answer.append(dns.rrset.from_text("good.com.", 60, "IN", "NS", "ns1.park.net.", "ns2.park.net."))
    referral = dns.message.make_response(query)
    referral.authority.append(dns.rrset.from_text("good.com.", 60, "IN", "NS", "ns1.park.net."))
    return [answer.to_wire(), referral.to_wire(), query.to_wire()]


def check_container(data: bytes) -> None:
    """Files of models and lexicons: opened, or one sentence."""
    from samehand.methods.language.model import Model
    from samehand.methods.replica.lexicon import Lexicon

    path = scratch() / "container"
    path.write_bytes(data)
    for load in (Model.open, Lexicon.load):
        try:
            load(path)
        except SamehandError:
            continue


def container_seeds() -> list[bytes]:
    """A small model and a small lexicon, as they are written."""
    from fuzz.steering import lexicon, small_model

    return [small_model().read_bytes(), lexicon().path.read_bytes()]


def noise_seeds() -> list[bytes]:
    """Bytes without any order."""
    return [random.Random(number).randbytes(300) for number in range(4)]


NAMESERVER_SEEDS = (
    b"domain,ns\na.com,ns1.x.net\nb.com,ns2.x.net\n",
    b"$ORIGIN com.\n$TTL 60\n@ IN SOA ns. x. ( 1 2 3\n4 5 )\na IN NS ns1.x.net.\n  NS ns2.x.net.\n",
    b'{"status":"NOERROR","question":[{"name":"a.com."}],"answer":[{"name":"a.com.","type":"NS","data":"ns.x.net."}]}\n',
    b'{"host":"a.com","ns":["ns.x.net"],"status_code":"NOERROR"}\n',
    b"a.com. 60 IN NS ns1.x.net.\n",
    gzip.compress(b"a.com\tns1.x.net\nb.com\tns2.x.net\n"),
)
MAIL = (
    b"From a@b.example Thu Aug 22 12:36:23 2002\nSubject: =?utf-8?q?a?= =?iso-8859-1?b?w6Q=?=\n"
    b'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain; charset=utf-8\n'
    b"Content-Transfer-Encoding: base64\n\nSGVsbG8=\n--b\nContent-Type: text/html\n"
    b"Content-Transfer-Encoding: quoted-printable\n\n<p>a=3Db</p>\n--b--\n"
)
TAGS = (
    *(b"<a href=", b"<!--", b"-->", b"<script>", b"</script", b"<title>", b"<textarea>", b"<template>", b"<![CDATA["),
    *(b"&amp;", b"&#x", b"&#0;", b"&not", b"\"'", b"<base href=//x>", b"rel=nofollow", b"http://u:p@h/", b"\x00"),
)
FIELDS = (
    *(b"Content-Length: ", b"Transfer-Encoding: gzip, chunked\r\n", b"Content-Encoding: br\r\n", b"\r\n\r\n"),
    *(
        b"WARC/1.0\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"WARC-Type: revisit\r\n",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
    ),
)


def packed_responses() -> list[bytes]:
    """A response in every coding."""
    chunked = b"".join(b"%x\r\n%b\r\n" % (len(PAGE[at : at + 50]), PAGE[at : at + 50]) for at in range(0, 300, 50))
    return [
        HTTP + b"\r\n" + PAGE,
        HTTP + b"Transfer-Encoding: chunked\r\n\r\n" + chunked + b"0\r\n\r\n",
        HTTP + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(PAGE),
        HTTP + b"Content-Encoding: deflate, br\r\n\r\n" + brotli.compress(zlib.compress(PAGE)),
        HTTP + b"Transfer-Encoding: gzip\r\nContent-Encoding: zstd\r\n\r\n" + gzip.compress(zstandard.compress(PAGE)),
        b"HTTP/1.1 100 Continue\r\n\r\n" + HTTP + b"\r\n" + PAGE,
        PAGE,
    ]


def table_lines() -> list[bytes]:
    """JSONL."""
    rows = [{"url": f"http://a{row}.example/", "html": PAGE.decode(), "id": row} for row in range(4)]
    return [b"".join(json.dumps(row).encode() + b"\n" for row in rows)]


def table_rows() -> list[bytes]:
    """CSV, with and without quotes."""
    quoted = b'"%b"' % PAGE.replace(b'"', b'""')
    return [b"url,html,id\n" + b"".join(b"http://a%d.example/,%b,%d\n" % (row, quoted, row) for row in range(4))]


def frames() -> list[bytes]:
    """Archives in every packing."""
    return [
        warc() * 2,
        gzip.compress(warc()) * 2,
        zstandard.compress(warc()) * 2,
        gzip.compress(warc() + warc(kind=b"request")),
        warc(kind=b"warcinfo") + warc(PAGE, b"resource") + warc(),
    ]


CHUNKS = (b"5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\n\r\n", b"a\n0123456789\n0\n\n")
PACKED = (gzip.compress(PAGE), zlib.compress(PAGE), brotli.compress(PAGE), zstandard.compress(PAGE))
LABELLED = (b"utf-16le\n" + PAGE, b"shift_jis\n\x82\xa0" + PAGE, b"\n\xff\xfe<\0")
ADDRESSES = (b"http://u:p@a.example:80/x?y#z", b"https://[::1]/", "http://bücher.example".encode())
PAGES = (PAGE, b"".join(TAGS), b"<a href='x' rel=ugc>&lt;</a><title>a&b</title>")
MAIL_WORDS = (b"--b\n", b"--b--", b"boundary=", b"=?utf-8?b?", b"\n\n", b"Subject: ", b"\nFrom ", b">From ")
ZONE_WORDS = (b"$INCLUDE ", b"( ", b"\\046", b'"ns":', b" NS ")

TARGETS: dict[str, Target] = {
    "heads": Target(packed_responses, check_response, FIELDS),
    "chunks": Target(lambda: CHUNKS, check_chunks, FIELDS),
    "codings": Target(lambda: PACKED, check_coding),
    "charsets": Target(lambda: LABELLED, check_charset),
    "members": Target(frames, reads("warc"), FIELDS),
    "arc": Target(lambda: [arc(), gzip.compress(arc())], reads("arc"), FIELDS),
    "wacz": Target(lambda: [wacz()], reads("wacz"), (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"archive/")),
    "jsonl": Target(table_lines, reads("jsonl"), (b'"html":', b"{", b"\\ud800", b"\n", b'"')),
    "csv": Target(table_rows, reads("csv"), (b'"', b'""', b"\n", b"\r", b",", b"\0")),
    "parquet": Target(lambda: [parquet()], reads("parquet"), (b"PAR1",)),
    "mime": Target(lambda: [MAIL], check_mail, MAIL_WORDS),
    "mail": Target(lambda: [MAIL * 2, MAIL[43:]], reads("mail"), MAIL_WORDS),
    "markup": Target(lambda: PAGES, check_markup, TAGS),
    "references": Target(lambda: [b"&amp;&eacute&#8364;&#x80;&notit;", *noise_seeds()], check_references, TAGS),
    "hosts": Target(lambda: ADDRESSES, check_host),
    "nameservers": Target(lambda: NAMESERVER_SEEDS, check_nameservers, ZONE_WORDS),
    "containers": Target(container_seeds, check_container, (b"SAMEHLM\0", b'"levels"', b"\xff" * 8)),
    "dns": Target(dns_seeds, check_dns, (b"\xc0\x0c", b"\xc0\x00", b"\x00\x02\x00\x01")),
}
