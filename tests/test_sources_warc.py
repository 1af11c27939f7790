"""WARC, ARC and WACZ: every record ends as one page, one reject or one skip, whatever was done to the file."""

import gzip
import io
import itertools
import json
import random
import struct
import time
import tracemalloc
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from fastwarc.stream_io import Lz4Writer, ZstdWriter, zstd_train_dictionary_from_samples
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from samehand.base.errors import InputError
from samehand.base.page import Page, Reject, Skip
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.sources import Outcome, Source, Unit, find_sources, plan_units, read_page, read_unit, runs
from samehand.sources.archive import warc
from samehand.sources.runs import batched

SETTINGS = Settings()
HTML_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def make_record(
    url: bytes = b"http://a.example/",
    body: bytes = b"<html>hello</html>",
    *,
    record_type: bytes = b"response",
    http: bytes = HTML_HEAD,
    extra: bytes = b"",
    length: int | bytes | None = None,
    media: bytes = b"application/http; msgtype=response",
) -> bytes:
    """A WARC record; `length` is what its head claims."""
    block = http + body
    claimed = len(block) if length is None else length
    lines = [
        b"WARC/1.0",
        b"WARC-Type: " + record_type,
        *([b"WARC-Target-URI: " + url] if url else []),
        b"WARC-Date: 2024-05-06T07:08:09Z",
        b"WARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789012>",
        b"Content-Type: " + media,
        *([extra] if extra else []),
        b"Content-Length: %b" % (claimed if isinstance(claimed, bytes) else str(claimed).encode()),
    ]
    return b"\r\n".join(lines) + b"\r\n\r\n" + block + b"\r\n\r\n"


def some_records(count: int = 6, size: int = 400) -> list[bytes]:
    """Records of different bodies, which hold what looks like parts of records."""
    chance = random.Random(count * 1000 + size)
    letters = b"abc <>/=\r\n"
    return [
        make_record(
            b"http://h%d.example/" % number,
            b"<html>" + bytes(chance.choice(letters) for _ in range(chance.randrange(size))) + b"WARC/1.0\r\nX: y",
        )
        for number in range(count)
    ]


def lz4(data: bytes) -> bytes:
    packed = io.BytesIO()
    writer = Lz4Writer(packed)
    writer.write(data)
    writer.finish()
    writer.flush()
    return packed.getvalue()


def zstd_with_dictionary(records: list[bytes]) -> bytes:
    dictionary = zstd_train_dictionary_from_samples([record * 3 for record in records for _ in range(20)], 2048)
    packed = io.BytesIO()
    writer = ZstdWriter(packed, dictionary=dictionary, compress_dictionary_frame=True)
    for record in records:
        writer.write(record)
        writer.finish()
    writer.flush()
    return packed.getvalue()


PACKERS: dict[str, Callable[[list[bytes]], bytes]] = {
    "plain": b"".join,
    "gzip": lambda records: b"".join(map(gzip.compress, records)),
    "gzip_stored": lambda records: b"".join(gzip.compress(record, 0) for record in records),
    "gzip_whole": lambda records: gzip.compress(b"".join(records)),
    "gzip_pairs": lambda records: b"".join(gzip.compress(b"".join(records[at : at + 2])) for at in range(0, 99, 2)),
    "gzip_blocks": lambda records: b"".join(
        gzip.compress(b"".join(records)[at : at + 300]) for at in range(0, len(b"".join(records)), 300)
    ),
    "zstd": lambda records: b"".join(map(zstandard.compress, records)),
    "zstd_dictionary": zstd_with_dictionary,
    "lz4": lambda records: b"".join(map(lz4, records)),
}


def source_of(path: Path, data: bytes, kind: str = "warc") -> Source:
    path.write_bytes(data)
    return Source(path.name, str(path), kind, len(data), "")


def outcomes_of(source: Source, settings: Settings = SETTINGS) -> list[Outcome]:
    return list(read_unit(Unit(0, source, 0, source.size), settings))


def read_bytes(folder: Path, data: bytes, kind: str = "warc", settings: Settings = SETTINGS) -> list[Outcome]:
    return outcomes_of(source_of(folder / "x", data, kind), settings)


def urls(outcomes: Iterable[Outcome]) -> list[str]:
    return [outcome.url for outcome in outcomes if isinstance(outcome, Page)]


def shapes(outcomes: Iterable[Outcome]) -> list[tuple[str, str]]:
    """URL and reason, "" for a page. A skip has no URL."""
    return [(getattr(item, "url", ""), getattr(item, "reason", "")) for item in outcomes]


@pytest.mark.parametrize("packer", PACKERS)
def test_every_packing_gives_the_same_pages_and_finds_them_again(tmp_path: Path, packer: str) -> None:
    records = some_records()
    path = tmp_path / "crawl"
    path.write_bytes(PACKERS[packer](records))
    (source,), rejects = find_sources([str(path)])
    assert rejects == []
    assert source.kind == "warc"
    pages = outcomes_of(source)
    plain = read_bytes(tmp_path, b"".join(records))
    assert [(page.url, page.content) for page in pages] == [(page.url, page.content) for page in plain]
    assert len({page.warc_record_offset for page in pages}) == len(records)
    for page in pages:
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page


def test_offsets_and_lengths_are_those_of_common_crawl(tmp_path: Path) -> None:
    members = [gzip.compress(record) for record in some_records()]
    pages = read_bytes(tmp_path, b"".join(members))
    starts = list(itertools.accumulate(map(len, members), initial=0))
    assert [page.warc_record_offset for page in pages] == starts[:-1]
    assert [page.warc_record_length for page in pages] == list(map(len, members))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # warcio leaves temporary files open
@pytest.mark.parametrize("is_gzip", [True, False])
def test_what_warcio_writes_is_read_as_warcio_reads_it(tmp_path: Path, is_gzip: bool) -> None:
    path = tmp_path / "warcio.warc"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=is_gzip)
        writer.write_record(writer.create_warcinfo_record("x", {"software": "test"}))
        for number in range(20):
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            body = io.BytesIO(b"<html>%d" % number * (number + 1))
            writer.write_record(
                writer.create_warc_record(f"http://w{number}.example/", "response", payload=body, http_headers=head)
            )
    (source,), _ = find_sources([str(path)])
    pages = [outcome for outcome in outcomes_of(source) if isinstance(outcome, Page)]
    with path.open("rb") as file:
        expected = [
            (record.rec_headers.get_header("WARC-Target-URI"), record.content_stream().read())
            for record in ArchiveIterator(file)
            if record.rec_type == "response"
        ]
    assert [(page.url, page.content) for page in pages] == expected
    assert {page.content_charset for page in pages} == {"UTF-8"}
    assert all(page.content_digest and len(page.content_digest) == 32 for page in pages)


def test_every_field_of_a_page(tmp_path: Path) -> None:
    digest = "SHA1:" + "a" * 32
    record = make_record(extra=f"WARC-Payload-Digest: {digest}\r\nWARC-Truncated: length".encode())
    (page,) = read_bytes(tmp_path, gzip.compress(record))
    assert page == Page(
        url="http://a.example/",
        content=b"<html>hello</html>",
        source_path="x",
        warc_filename="x",
        warc_record_offset=0,
        warc_record_length=len(gzip.compress(record)),
        fetch_time=datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC),
        fetch_status=200,
        content_digest="A" * 32,
        content_truncated="length",
    )


SKIPPED = ("warcinfo", "request", "metadata", "revisit", "conversion", "continuation")


@pytest.mark.parametrize("record_type", SKIPPED)
def test_record_types_that_are_no_pages_are_skipped(tmp_path: Path, record_type: str) -> None:
    record = make_record(record_type=record_type.upper().encode())
    assert read_bytes(tmp_path, make_record() + record)[1:] == [Skip("x", len(make_record()), record_type)]
    # One that is cut off says that the file is damaged.
    (cut,) = read_bytes(tmp_path, record[:-10])
    assert isinstance(cut, Reject)
    assert (cut.reason, cut.detail, cut.damaged) == ("truncated_record", record_type, True)


def test_unknown_record_types_are_rejects(tmp_path: Path) -> None:
    for record_type in (b"spam\xff", b"symlink", b"filedesc", b""):
        (outcome,) = read_bytes(tmp_path, make_record(record_type=record_type))
        assert isinstance(outcome, Reject)
        assert (outcome.url, outcome.reason, outcome.damaged) == ("http://a.example/", "unknown_record_type", False)
        assert outcome.detail == record_type.decode("ascii", "replace")
    assert urls(read_bytes(tmp_path, make_record(record_type=b"RESPONSE"))) == ["http://a.example/"]


def test_resources_are_pages_when_they_are_html(tmp_path: Path) -> None:
    records = [
        make_record(b"file:///a", record_type=b"resource", http=b"", media=b"text/html; charset=Shift_JIS"),
        make_record(b"file:///b", record_type=b"resource", http=b"", media=b"image/png"),
        make_record(b"file:///c", record_type=b"resource", http=b"", media=b""),
        make_record(b"dns:a.example", b"a.example. 1 IN A 1.2.3.4", http=b"", media=b"text/dns"),
        make_record(b"http://plain.example/", http=b"", media=b"text/html"),
        make_record(b"http://empty.example/", b"", http=b""),
    ]
    outcomes = read_bytes(tmp_path, b"".join(records))
    assert [reason for _, reason in shapes(outcomes)] == ["", "not_html", "", "not_html", "", "empty_body"]
    assert outcomes[0].content_charset == "Shift_JIS"
    assert outcomes[3].detail == "text/dns"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (b"<http://a.example/>", "http://a.example/"),
        (b"", ""),
        (b"http://a.example/\xff\xfe", "http://a.example/��"),
        (b"http://a.example/" + b"x" * 20_000, "http://a.example/" + "x" * (8192 - 17)),
        ("http://ü.example/".encode(), "http://ü.example/"),
        (b"http://a.example/\xed\xa0\x80", "http://a.example/���"),
    ],
)
@pytest.mark.parametrize("packer", ["plain", "gzip"])
def test_urls_are_valid_and_bounded(tmp_path: Path, url: bytes, expected: str, packer: str) -> None:
    (page,) = read_bytes(tmp_path, PACKERS[packer]([make_record(url)]))
    assert page.url == expected
    assert page.url.encode().decode() == expected


ODD_HEADS: dict[str, Callable[[bytes], bytes]] = {
    "folded": lambda record: record.replace(b"WARC-Date", b"X-Folded: a\r\n  b\r\n\tc\r\nWARC-Date"),
    "folded length": lambda record: record.replace(b"Content-Length: ", b"Content-Length:\r\n "),
    "lower case": lambda record: record.replace(b"WARC-Type", b"warc-type").replace(
        b"Content-Length", b"content-length"
    ),
    "upper case": lambda record: record.replace(b"WARC-Target-URI", b"WARC-TARGET-URI"),
    "bare line feeds": lambda record: record.replace(b"\r\n", b"\n", 8),
    "twice": lambda record: record.replace(b"\r\nWARC-Date", b"\r\nWARC-Target-URI: http://evil.example/\r\nWARC-Date"),
    "two lengths": lambda record: record.replace(b"\r\n\r\n", b"\r\nContent-Length: 1\r\n\r\n", 1),
    "lower case version": lambda record: record.replace(b"WARC/1.0", b"warc/1.0", 1),
    "mixed case version": lambda record: record.replace(b"WARC/1.0", b"Warc/1.1", 1),
    "old version": lambda record: record.replace(b"WARC/1.0", b"WARC/0.18", 1),
    "new version": lambda record: record.replace(b"WARC/1.0", b"WARC/1.1", 1),
    "no colon": lambda record: record.replace(b"WARC-Date", b"nonsense\r\nWARC-Date"),
    "no blank": lambda record: record.replace(b"Type: response", b"Type:response"),
    "32 KB": lambda record: record.replace(b"WARC-Date", b"X-Long: " + b"x" * 40_000 + b"\r\nWARC-Date"),
    "no end": lambda record: record[:-4],
    "long end": lambda record: record + b"\r\n\n\n\r\n",
}


@pytest.mark.parametrize("packer", ["plain", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("oddity", ODD_HEADS)
def test_odd_heads_are_read(tmp_path: Path, oddity: str, packer: str) -> None:
    records = some_records(5)
    odd = [ODD_HEADS[oddity](record) if number in (1, 2, 4) else record for number, record in enumerate(records)]
    assert odd != records
    outcomes = read_bytes(tmp_path, PACKERS[packer](odd))
    expected = read_bytes(tmp_path, PACKERS[packer](records))
    assert [(page.url, page.content) for page in outcomes] == [(page.url, page.content) for page in expected]


@pytest.mark.parametrize("packer", ["plain", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize(
    "head",
    [
        {"extra": b"X-Long: " + b"x" * 200_000},
        {"extra": b"\r\n".join([b"X: y"] * 20_000)},
        {"length": b"ten"},
        {"length": b"-5"},
        {"length": b"9" * 40},
        {"length": b""},
    ],
)
def test_unusable_heads_are_one_damaged_reject_each(tmp_path: Path, head: dict[str, bytes], packer: str) -> None:
    bad = make_record(b"http://bad.example/", **head)
    good = [make_record(b"http://good%d.example/" % number) for number in range(3)]
    outcomes = read_bytes(tmp_path, PACKERS[packer]([good[0], bad, bad, good[1], good[2]]))
    assert urls(outcomes) == [f"http://good{number}.example/" for number in range(3)]
    rejects = [outcome for outcome in outcomes if isinstance(outcome, Reject)]
    # Without members to tell them apart, neighbours are one piece of damage.
    assert [reject.reason for reject in rejects] == ["damaged_record"] * (1 if packer == "plain" else 2)
    assert all(reject.damaged for reject in rejects)


@pytest.mark.parametrize("packer", ["plain", "gzip", "zstd", "lz4"])
def test_a_length_beyond_the_record_does_not_swallow_the_next(tmp_path: Path, packer: str) -> None:
    records = [
        make_record(b"http://a.example/"),
        make_record(b"http://short.example/", length=5_000),
        make_record(b"http://b.example/"),
        make_record(b"http://c.example/", length=10**12),
    ]
    outcomes = read_bytes(tmp_path, PACKERS[packer](records))
    assert urls(outcomes) == [f"http://{host}.example/" for host in ("a", "short", "b", "c")]
    assert [page.content_truncated for page in outcomes] == [None, "disconnect", None, "disconnect"]


def test_a_writer_that_was_killed_and_went_on(tmp_path: Path) -> None:
    """The record it was writing is cut, the next one starts right there."""
    records = [make_record(b"http://h%d.example/" % number, b"<p>" + b"x" * 5_000) for number in range(4)]
    for packer in ("plain", "gzip_stored"):
        packed = [PACKERS[packer]([record]) for record in records]
        outcomes = read_bytes(tmp_path, packed[0] + packed[1][:3_000] + packed[2] + packed[3])
        assert [item.url for item in outcomes] == [f"http://h{number}.example/" for number in range(4)]
        assert urls(outcomes) == [
            f"http://h{number}.example/" for number in ((0, 1, 2, 3), (0, 2, 3))[packer != "plain"]
        ]


@pytest.mark.parametrize("packer", ["plain", "gzip", "zstd", "lz4"])
def test_garbage_between_records(tmp_path: Path, packer: str) -> None:
    packed = [PACKERS[packer]([record]) for record in some_records(4)]
    for garbage in (b"x", b"\0" * 100, b"garbage\r\n\r\nmore", bytes(range(256)) * 20, b"\x1f\x8b\x08\x00" * 50):
        outcomes = read_bytes(tmp_path, packed[0] + garbage + packed[1] + packed[2] + garbage + packed[3] + garbage)
        assert urls(outcomes) == [f"http://h{number}.example/" for number in range(4)]
        rejects = [outcome for outcome in outcomes if isinstance(outcome, Reject)]
        assert [reject.bytes for reject in rejects] == [len(garbage)] * 3
        assert all(reject.damaged for reject in rejects)


@pytest.mark.parametrize("packer", ["plain", "gzip", "zstd", "lz4"])
def test_a_record_across_the_border_of_what_is_searched_at_once(tmp_path: Path, packer: str) -> None:
    for form in (make_arc(2)[1:], some_records(2)):
        before, after = (PACKERS[packer]([record]) for record in form)
        for size in range(4096 - 40, 4096 + 10):
            outcomes = read_bytes(
                tmp_path, before + b"x" * size + b"\n" + after, "warc" if b"WARC" in form[0] else "arc"
            )
            assert [getattr(outcome, "reason", "") for outcome in outcomes] == ["", "damaged_record", ""]


@pytest.mark.parametrize("packer", ["plain", "gzip", "gzip_whole", "zstd", "lz4"])
def test_cut_off_anywhere(tmp_path: Path, packer: str) -> None:
    """All records before the cut are there, and what is left of the last one is one page or one damaged reject."""
    records = some_records(4, size=80)
    data = PACKERS[packer](records)
    packed = [PACKERS[packer]([record]) for record in records]
    ends = list(itertools.accumulate(map(len, packed)))
    for cut in range(1, len(data), 7):
        outcomes = read_bytes(tmp_path, data[:cut])
        if packer != "gzip_whole":
            whole = sum(end <= cut for end in ends)
            assert urls(outcomes[:whole]) == [f"http://h{number}.example/" for number in range(whole)]
            assert len(outcomes) == whole + (cut not in ends)
        assert all(outcome.damaged for outcome in outcomes if isinstance(outcome, Reject))
        offsets = [outcome.warc_record_offset for outcome in outcomes]
        assert offsets == sorted(set(offsets))


@pytest.mark.parametrize("packer", ["gzip", "gzip_stored", "plain", "zstd", "lz4"])
def test_flipped_bits_cost_one_record(tmp_path: Path, packer: str) -> None:
    """Every record but the flipped one is found; in a packed file the flipped one is one reject, or still a page."""
    packed = [PACKERS[packer]([record]) for record in some_records(5, size=60)]
    starts = list(itertools.accumulate(map(len, packed), initial=0))
    data = b"".join(packed)
    for place in range(0, len(data), 3):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        hit = max(number for number in range(5) if starts[number] <= place)
        outcomes = read_bytes(tmp_path, bytes(flipped))
        others = {f"http://h{number}.example/" for number in range(5) if number != hit}
        assert others <= set(urls(outcomes)), place
        if packer.startswith("gzip"):
            assert len(outcomes) == 5, place
            assert [item.warc_record_offset for item in outcomes] == starts[:-1]


@pytest.mark.parametrize("packer", ["gzip", "plain", "gzip_whole", "zstd", "lz4"])
def test_random_damage_never_raises_and_always_ends(tmp_path: Path, packer: str) -> None:
    chance = random.Random(packer)
    for _ in range(120):
        data = bytearray(PACKERS[packer](some_records(chance.randrange(1, 6))))
        for _ in range(chance.randrange(1, 5)):
            at = chance.randrange(len(data))
            size = chance.randrange(60)
            data[at : at + chance.choice((0, size))] = chance.randbytes(chance.choice((0, 1, size)))
        source = source_of(tmp_path / "x", bytes(data) or b"x")
        reading = read_unit(Unit(0, source, 0, source.size), SETTINGS)
        offsets = [outcome.warc_record_offset for outcome in reading]
        assert offsets == sorted(set(offsets))
        assert reading.stop == source.size


@given(
    data=st.binary(min_size=1, max_size=300),
    start=st.sampled_from([b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08\0", b"PK\3\4"]),
)
def test_any_bytes_are_read_to_their_end(tmp_path_factory: pytest.TempPathFactory, data: bytes, start: bytes) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for kind in ("warc", "arc", "wacz"):
        outcomes = read_bytes(folder, start + data, kind)
        assert all(isinstance(outcome, Reject) for outcome in outcomes)


def careful_outcomes(source: Source, settings: Settings, patched: pytest.MonkeyPatch) -> list[Outcome]:
    """What the careful reader alone makes of a file."""
    with patched.context() as without:
        without.setattr(warc.Archive, "fast_reader", lambda *_: None)
        return outcomes_of(source, settings)


ODD_BYTES = (b"\n", b"\r\n", b"", b" ", b":", b"\xff", b"\r\n ", b"\0", b"\t", b"<", b"0", b"Z", b";", b"\r")


@pytest.mark.parametrize("packer", PACKERS)
def test_the_fast_and_the_careful_reader_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packer: str) -> None:
    """One odd byte anywhere in a record, packed properly: both make the same of it."""
    chance = random.Random(7)
    for _ in range(150):
        records = some_records(4, size=100)
        for number in (1, 2):
            at = chance.randrange(min(len(records[number]), chance.choice((300, 10_000))))
            odd = chance.choice(ODD_BYTES)
            records[number] = records[number][:at] + odd + records[number][at + chance.choice((0, 1)) :]
        source = source_of(tmp_path / "x", PACKERS[packer](records))
        assert outcomes_of(source) == careful_outcomes(source, SETTINGS, monkeypatch)


@pytest.mark.parametrize("packer", PACKERS)
def test_both_readers_agree_about_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packer: str) -> None:
    chance = random.Random(packer)
    for _ in range(60):
        data = bytearray(PACKERS[packer](some_records(chance.randrange(1, 6))))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            size = chance.randrange(60)
            data[at : at + chance.choice((0, size))] = chance.randbytes(chance.choice((0, 1, size)))
        source = source_of(tmp_path / "x", bytes(data) or b"x")
        assert outcomes_of(source) == careful_outcomes(source, SETTINGS, monkeypatch)


HTTP_STARTS = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.0 204",
    b"HTTP/2 200",
    b"http/1.1 200 OK",
    b"HTTP/1.1  200",
    b"HTTP/1.1 404 No",
    b"HTTP/1.1 2000",
    b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 200 OK",
    b"ICY 200 OK",
    b"HTTP/1. 200 OK",
    b"",
)
HTTP_FIELDS = (
    b"Content-Type: text/html",
    b"content-type:text/HTML; charset=utf-8",
    b"Content-Type: text/html;charset=GBK",
    b'Content-Type: text/html; charset="utf-8"',
    b"Content-Type: application/xhtml+xml; charset=KOI8-R",
    b"Content-Type: text/html; charset=utf-16",
    b"Content-Type: image/png",
    b"Content-Type:",
    b"X: y",
    b"Content-Type: text/html\r\n ; charset=big5",
    b"Content-Type : text/html",
    b"Content-Encoding: identity",
    b"Transfer-Encoding: chunked",
    b"Content-Type: text/html; charset=utf-8; x=y",
    b"no colon",
    b" folded: x",
)
LINE_ENDS = (b"\r\n", b"\n")
BODY_STARTS = (
    b"<html>",
    b" \n",
    b"",
    b"\xef\xbb\xbf<p>",
    b"\xff\xfe<\0p\0>\0",
    b"%PDF-1",
    b"<\0p\0" * 200,
    b"plain words",
    b"<meta charset=utf-8>",
    b"<META http-equiv=x content='text/html; charset=windows-1251'>",
    b"a\0b",
    b"<!-- <meta charset=gbk> --><meta charset=koi8-r>",
    b"<meta charset=shift_jis>",
    b"<meta name=charset>",
    b"<a charset=gbk><meta charset='utf-8'>",
    b"<meta/charset = utf-8>",
    b"<meta x<y charset=latin1>",
    b"<meta charset=utf-16>",
    b"<script charset=utf-8></script><meta charset=gbk>",
    b"<p><!-- charset=utf-8 --><meta name=x><meta charset=latin1>",
    b"<meta <!-- x > --> charset=utf-8>",
    b"<meta char<!-- -->set=utf-8>",
    b"<meta charset=utf-8<!-- -->x>",
    b"<meta charset=utf-8 <!-- -->x>",
    b"<!-- never closed <meta charset=utf-8>",
    b"<!--><meta charset=utf-8>--><meta charset=koi8-r>",
    b"<me<!-- -->ta charset=utf-8>",
    b"<metaphor charset=utf-8><meta charset=koi8-r>",
    b"<meta x<meta charset=utf-8>",
    b"GIF89a",
    b"Plain",
    b"<meta charset=nonsense><meta charset=big5>",
    b"<meta" + b" x" * 300 + b" charset=utf-8>",
    b"<p>" + b"x" * 1000 + b"<meta charset=utf-8>",
    b"<p>" + b"x" * 1007 + b"<meta charset=u",
    "<p>Автор этой страницы не назвал своей кодировки, хотя мог бы. ".encode("koi8-r") * 9,
    "<p>このページは文字コードを宣言していません。".encode("cp932") * 9,
    "<p>kein Zeichensatz, aber Umlaute: äöü ".encode() * 9,
)
WARC_FIELDS = (
    b"WARC-Date: 2024-02-29T00:00:00Z",
    b"WARC-Date: 2024-05-06T07:08:09.250Z",
    b"WARC-Date: 2024-13-06T07:08:09Z",
    b"WARC-Date: 2024-04-31T07:08:09Z",
    b"WARC-Date: 1969-04-30T07:08:09Z",
    b"WARC-Target-URI: <http://b.example/>",
    b"WARC-Target-URI: http://\xc3\xbc.example/",
    b"WARC-Truncated: length",
    b"WARC-Truncated:",
    b"folded:\r\n x",
    b"WARC-Payload-Digest: sha1:" + b"a2" * 16,
    b"WARC-Payload-Digest: sha1:" + b"A1" * 16,
    b"warc-type: request",
    b"WARC-Payload-Digest: md5:" + b"A2" * 16,
    b"WARC-Type: revisit",
    b"no colon",
    b"Content-Length: 7",
    b"a\tb: c",
)


@given(
    st.sampled_from(HTTP_STARTS),
    st.lists(st.sampled_from(HTTP_FIELDS), max_size=3),
    st.sampled_from(LINE_ENDS),
    st.sampled_from(BODY_STARTS),
    st.binary(max_size=8),
    st.lists(st.sampled_from(WARC_FIELDS), max_size=2),
    st.booleans(),
)
def test_both_readers_agree_about_odd_heads(
    tmp_path_factory: pytest.TempPathFactory,
    start: bytes,
    fields: list[bytes],
    line_end: bytes,
    body: bytes,
    rest: bytes,
    extra: list[bytes],
    any_status: bool,
) -> None:
    http = line_end.join([start, *fields, b"", b""])
    lines = b"\r\n".join([b"X: y", *extra])
    odd = [make_record(body=body + rest, http=http, extra=lines), make_record(body=body, http=http, extra=lines)]
    odd[1] = odd[1].replace(b"WARC-Date: 2024-05-06T07:08:09Z\r\n", b"", 1)
    settings = Settings(any_status=any_status)
    source = source_of(tmp_path_factory.mktemp("odd") / "x", PACKERS["gzip"]([*odd, make_record()]))
    with pytest.MonkeyPatch.context() as patched:
        careful = careful_outcomes(source, settings, patched)
    assert outcomes_of(source, settings) == careful
    batches = [
        rows.batch(0) for rows, _ in batched(read_unit(Unit(0, source, 0, source.size), settings).items(), Counter())
    ]
    assert batches == [pages_to_batch([item for item in careful if isinstance(item, Page)], 0)]


@pytest.mark.parametrize("packer", ["plain", "gzip", "zstd", "lz4"])
def test_the_fast_reader_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packer: str) -> None:
    """To the last record, in all packings that have a member for each."""

    def careful_reader(*_: object) -> None:
        raise AssertionError

    source = source_of(tmp_path / "x", PACKERS[packer](some_records(5)))
    monkeypatch.setattr(warc.Archive, "reader", careful_reader)
    (run,) = read_unit(Unit(0, source, 0, source.size), SETTINGS).items()
    assert urls(run.outcomes()) == [f"http://h{number}.example/" for number in range(5)]


def test_batches_depend_on_the_records_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever reader read them, and wherever runs end."""
    records = some_records(40, size=900)
    records[7] = make_record(http=HTML_HEAD.replace(b"200", b"404"))
    records[11] = make_record(record_type=b"request")
    records[20] = make_record(body=b"<meta charset=gbk><p>")
    source = source_of(tmp_path / "x", PACKERS["gzip"](records))
    monkeypatch.setattr(runs, "BATCH_PAGES", 6)
    monkeypatch.setattr(runs, "BATCH_BYTES", 2_000)

    def batches() -> list[tuple[list[dict[str, object]], list[Reject]]]:
        skipped: Counter[str] = Counter()
        items = read_unit(Unit(0, source, 0, source.size), SETTINGS).items()
        # Rows are listed at once: a batch is used again after the next one.
        found = [(rows.batch(0).to_pylist(), list(rejects)) for rows, rejects in batched(items, skipped)]
        assert skipped == {"request": 1}
        return found

    fast = batches()
    assert [len(batch) for batch, _ in fast if len(batch) > 6] == []
    assert len(fast) > 6
    monkeypatch.setattr(warc.Archive, "fast_reader", lambda *_: None)
    assert batches() == fast


def gzip_of_many(start: bytes, letter: bytes, count: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = letter * 1_000_000
    return b"".join([packer.compress(start), *(packer.compress(block) for _ in range(count)), packer.flush()])


@pytest.mark.parametrize("claimed", [200, 5_000])
def test_a_bomb_of_a_record_is_cut_and_the_next_one_found(tmp_path: Path, claimed: int) -> None:
    """One of 200 MB is unpacked to its end; what claims to be longer than that is worth is passed over by searching."""
    head = make_record(b"http://bomb.example/", b"", length=len(HTML_HEAD) + claimed * 1_000_000)[:-4]
    bomb = gzip_of_many(head, b"A", 200)
    started = time.perf_counter()
    tracemalloc.start()
    outcomes = read_bytes(tmp_path, bomb + gzip.compress(make_record(b"http://good.example/")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(page.url, len(page.content), page.content_truncated) for page in outcomes] == [
        ("http://bomb.example/", 10_000_000, "length"),
        ("http://good.example/", 18, None),
    ]
    assert peak < 80_000_000
    assert time.perf_counter() - started < 10


def test_ten_megabytes_of_div(tmp_path: Path) -> None:
    outcomes = read_bytes(tmp_path, gzip.compress(make_record(body=b"<div>" * 2_000_000)))
    assert [(len(page.content), page.content_truncated) for page in outcomes] == [(10_000_000, None)]


def test_a_member_that_is_no_record_is_not_searched(tmp_path: Path) -> None:
    """What a page holds must not become a record, even when the head in front of it cannot be read."""
    fake = make_record(b"http://fake.example/")
    hostile = make_record(b"http://a.example/" + b"x" * 200_000, b"<html>" + fake)
    outcomes = read_bytes(tmp_path, gzip.compress(hostile) + gzip.compress(make_record(b"http://b.example/")))
    assert urls(outcomes) == ["http://b.example/"]


def test_members_inside_members_stay_linear(tmp_path: Path) -> None:
    """Each bad member reaches over all that follow: starting anew behind each start would be quadratic."""
    nested = b""
    for _ in range(3_000):
        stored = gzip.compress(b"WARC/1.0\r\n" + nested[:60_000], 0)
        nested = stored[:-8] + b"\0" * 8 + nested[60_000:]
    started = time.perf_counter()
    outcomes = read_bytes(tmp_path, nested + gzip.compress(make_record()))
    assert urls(outcomes) == ["http://a.example/"]
    assert time.perf_counter() - started < 10


# ARC


def make_arc(count: int = 3, version: int = 1) -> list[bytes]:
    described = b"%d 0 test\nURL IP-address Archive-date Content-type Archive-length\n\n" % version
    more = b"" if version == 1 else b" 200 - - 0 x.arc"
    records = [b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain%b %d\n%b\n" % (more, len(described), described)]
    for number in range(count):
        block = HTML_HEAD + b"<html>%d" % number
        line = b"http://arc%d.example/a b 1.2.3.4 20200102030405 text/html%b %d\n" % (number, more, len(block))
        records.append(line + block + b"\n")
    return records


@pytest.mark.parametrize("is_gzip", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_arc(tmp_path: Path, version: int, is_gzip: bool) -> None:
    records = make_arc(version=version)
    path = tmp_path / "old.arc"
    path.write_bytes(PACKERS["gzip" if is_gzip else "plain"](records))
    (source,), _ = find_sources([str(path)])
    assert source.kind == "arc"
    outcomes = outcomes_of(source)
    assert [reason for _, reason in shapes(outcomes)] == ["warcinfo", "", "", ""]
    assert isinstance(outcomes[0], Skip)
    pages = [outcome for outcome in outcomes if isinstance(outcome, Page)]
    assert {page.warc_filename for page in pages} == {source.name}
    assert [page.url for page in pages] == [f"http://arc{number}.example/a b" for number in range(3)]
    assert {page.fetch_time for page in pages} == {datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)}
    for page in pages:
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page
    if version == 1:
        with path.open("rb") as file:
            bodies = [
                record.content_stream().read() for record in ArchiveIterator(file) if record.rec_type == "response"
            ]
        assert [page.content for page in pages] == bodies


@pytest.mark.parametrize("packer", ["plain", "gzip"])
def test_a_whole_file_in_lower_case(tmp_path: Path, packer: str) -> None:
    records = [record.replace(b"WARC/1.0", b"warc/1.0", 1) for record in some_records(3)]
    path = tmp_path / "lower.warc"
    path.write_bytes(PACKERS[packer](records))
    (source,), _ = find_sources([str(path)])
    assert source.kind == "warc"
    assert [reason for _, reason in shapes(outcomes_of(source))] == ["", "", ""]


@pytest.mark.parametrize("packer", ["plain", "gzip"])
@pytest.mark.parametrize("version", [1, 2])
def test_an_arc_that_does_not_know_its_own_date(tmp_path: Path, version: int, packer: str) -> None:
    records = make_arc(version=version)
    records[0] = records[0].replace(b"0.0.0.0 20200101000000", b"- -")
    path = tmp_path / "dashed.arc"
    path.write_bytes(PACKERS[packer](records))
    (source,), _ = find_sources([str(path)])
    assert source.kind == "arc"
    assert [reason for _, reason in shapes(outcomes_of(source))] == ["warcinfo", "", "", ""]


@pytest.mark.parametrize("packer", ["plain", "gzip"])
def test_damaged_arc(tmp_path: Path, packer: str) -> None:
    packed = [PACKERS[packer]([record]) for record in make_arc(4)]
    outcomes = read_bytes(
        tmp_path, packed[0] + packed[1] + b"\ngarbage\n" + packed[2][:-30] + b"\n" + packed[3] + packed[4], "arc"
    )
    assert {f"http://arc{number}.example/a b" for number in (0, 2, 3)} <= set(urls(outcomes))
    assert any(outcome.damaged for outcome in outcomes if isinstance(outcome, Reject))


# WACZ


def make_wacz(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Source:
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("datapackage.json", json.dumps({"profile": "data-package"}))
        for name, data in members.items():
            archive.writestr(name, data)
    (source,), rejects = find_sources([str(path)])
    assert (source.kind, rejects) == ("wacz", [])
    return source


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_wacz(tmp_path: Path, method: int) -> None:
    records = some_records()
    members = {
        "archive/data.warc.gz": PACKERS["gzip"](records),
        "archive/more.warc": PACKERS["plain"](records),
        "indexes/index.cdx.gz": gzip.compress(b"nothing"),
        "pages/pages.jsonl": b"{}",
    }
    source = make_wacz(tmp_path / "x.wacz", members, method)
    outcomes = outcomes_of(source)
    assert urls(outcomes) == [f"http://h{number}.example/" for number in range(6)] * 2
    names = [f"{source.name}!/archive/data.warc.gz", f"{source.name}!/archive/more.warc"]
    assert [page.source_path for page in outcomes] == [names[0]] * 6 + [names[1]] * 6
    assert [page.warc_filename for page in outcomes] == [page.source_path for page in outcomes]
    for page in outcomes:
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page
    with pytest.raises(InputError):
        read_page(source, names[0] + "x", 0, SETTINGS)


def test_a_long_packed_member_is_read_on_after_damage(tmp_path: Path) -> None:
    records = [
        make_record(b"http://h%d.example/" % number, random.Random(number).randbytes(9_000)) for number in range(90)
    ]
    damaged = b"".join(b"garbage" + gzip.compress(record) for record in records)
    outcomes = outcomes_of(make_wacz(tmp_path / "x.wacz", {"archive/a.warc.gz": damaged}, zipfile.ZIP_DEFLATED))
    assert len([outcome for outcome in outcomes if outcome.url]) == 90


def change_zip(path: Path, name: bytes, *, offset: int, value: bytes) -> None:
    """Changes the entry of a member in the directory of a zip file."""
    data = bytearray(path.read_bytes())
    entry = data.rindex(name) - 46
    data[entry + offset : entry + offset + len(value)] = value
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("offset", "value", "reason"),
    [
        (24, struct.pack("<I", 10**9), "bad_archive"),
        (20, struct.pack("<II", 10**9, 10**9), "bad_archive"),
        (42, struct.pack("<I", 0), "bad_archive"),
        (42, struct.pack("<I", 3), "bad_archive"),
        (8, struct.pack("<H", 1), "bad_archive"),
        (10, struct.pack("<H", 12), "bad_archive"),
    ],
)
def test_a_zip_that_lies_about_a_member(tmp_path: Path, offset: int, value: bytes, reason: str) -> None:
    path = tmp_path / "x.wacz"
    make_wacz(path, {name: PACKERS["gzip"](some_records(3)) for name in ("archive/a.warc.gz", "archive/b.warc.gz")})
    change_zip(path, b"archive/b.warc.gz", offset=offset, value=value)
    (source,), _ = find_sources([str(path)])
    outcomes = outcomes_of(source)
    assert urls(outcomes)[:3] in ([f"http://h{number}.example/" for number in range(3)], [])
    bad = [outcome for outcome in outcomes if isinstance(outcome, Reject)]
    assert bad
    assert {reject.reason for reject in bad} == {reason}
    assert all(reject.damaged for reject in bad)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    members = {"archive/bomb.warc": b"\0" * 50_000_000, "archive/good.warc": make_record()}
    outcomes = outcomes_of(make_wacz(tmp_path / "x.wacz", members, zipfile.ZIP_DEFLATED))
    assert [reason for _, reason in shapes(outcomes)] == ["decompression_bomb", ""]


def test_a_zip_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "x.wacz"
    make_wacz(path, {"archive/a.warc.gz": PACKERS["gzip"](some_records(3))})
    data = path.read_bytes()
    for cut in range(50, len(data), 97):
        path.write_bytes(data[:cut])
        (source,), _ = find_sources([str(path)])
        assert [reason for _, reason in shapes(outcomes_of(source))] == ["bad_archive"]
    path.write_bytes(data[:-12] + struct.pack("<I", 2**31 - 1) + data[-8:])
    assert shapes(outcomes_of(find_sources([str(path)])[0][0])) == [("", "bad_archive")]


# Finding pages again


def test_a_page_that_is_gone(tmp_path: Path) -> None:
    source = source_of(tmp_path / "x", PACKERS["gzip"](some_records(3)))
    with pytest.raises(InputError, match="no page at offset 5 of x"):
        read_page(source, "x", 5, SETTINGS)
    (tmp_path / "x").write_bytes(gzip.compress(make_record(http=b"HTTP/1.1 404 Not Found\r\n\r\n")))
    with pytest.raises(InputError, match="http_status"):
        read_page(source, "x", 0, SETTINGS)
    (tmp_path / "x").unlink()
    with pytest.raises(InputError, match="out of reach"):
        read_page(source, "x", 0, SETTINGS)


def test_a_file_that_is_gone_is_one_reject(tmp_path: Path) -> None:
    source = source_of(tmp_path / "x", make_record())
    (tmp_path / "x").unlink()
    assert [item.reason for unit in plan_units([source], 10) for item in read_unit(unit, SETTINGS)] == [
        "unreadable_file"
    ]


def test_an_error_in_our_own_code_is_one_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("oops \ud800")

    monkeypatch.setattr(warc, "page_from_response", fails)
    (outcome,) = read_bytes(tmp_path, make_record(http=b"HTTP/1.1 200 OK\r\n\r\n"))
    assert (outcome.reason, outcome.damaged, outcome.detail) == ("reader_error", True, "RuntimeError: oops ?")


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        (b"2024-05-06T07:08:09.123456789Z", datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)),
        (b"2024-05-06T09:08:09+02:00", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        (b"2024-05-06T07:08:09", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        (b"0001-01-01T00:00:00+14:00", None),
        (b"20240506070809", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        (b"20241306070809", None),
        (b"yesterday\xff", None),
        (b"", None),
    ],
)
def test_dates(tmp_path: Path, date: bytes, expected: datetime | None) -> None:
    record = make_record().replace(b"2024-05-06T07:08:09Z", date)
    (page,) = read_bytes(tmp_path, record)
    assert page.fetch_time == expected
