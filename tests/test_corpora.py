"""Corpora: plain text in tables and WET files, columns by any name, and the user's own ids in every answer."""

import csv
import gzip
import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samehand
from samehand.base.errors import SettingsError
from samehand.base.page import PLAIN_TEXT, Page, Reject
from samehand.base.settings import Settings
from samehand.sources import Outcome, find_sources, plan_units, read_page, read_unit

STEMS, ENDINGS = (
    "harbour lantern copper meadow thimble orchard saddle granite velvet anchor pepper willow",
    "s ed ing less",
)
WORDS = [stem + ending for stem in STEMS.split() for ending in ENDINGS.split()]
URL, TEXT = "http://a.example/x", "Plain <b>text</b> &amp; more.\nSecond line."


def texts(count: int) -> list[str]:
    """Texts of which the last two are the same."""
    draw = random.Random(1)
    made = [" ".join(draw.sample(WORDS, 20)) + "." for _ in range(count - 1)]
    return [*made, made[-1]]


def read(path: Path, **settings: object) -> list[Outcome]:
    sources, rejects = find_sources([str(path)])
    assert not rejects
    wanted = Settings(**settings)
    found = [outcome for unit in plan_units(sources, 1 << 30) for outcome in read_unit(unit, wanted)]
    for page in found:
        if isinstance(page, Page):
            assert read_page(sources[0], page.source_path, page.warc_record_offset, wanted) == page
    return found


def as_jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_parquet(path: Path, rows: list[dict[str, object]]) -> Path:
    path = path.with_suffix(".parquet")
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def as_csv(path: Path, rows: list[dict[str, object]]) -> Path:
    path = path.with_suffix(".csv")
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


Write = Callable[[Path, list[dict[str, object]]], Path]
WRITERS = [as_jsonl, as_parquet, as_csv]


@pytest.mark.parametrize("write", WRITERS)
def test_text_is_a_page_without_markup(tmp_path: Path, write: Write) -> None:
    (page,) = read(write(tmp_path / "x", [{"id": "d1", "url": URL, "text": TEXT}]))
    assert isinstance(page, Page)
    assert (page.content.decode(), page.content_mime_detected) == (TEXT, PLAIN_TEXT)
    assert (page.url, page.doc_id) == (URL, "d1")


@pytest.mark.parametrize("write", WRITERS)
def test_columns_by_name(tmp_path: Path, write: Write) -> None:
    path = write(tmp_path / "x", [{"key": "7", "link": URL, "body": TEXT, "text": "not this"}])
    (page,) = read(path, text_column="body", url_column="link", id_column="key")
    assert (page.url, page.doc_id, page.content.decode()) == (URL, "7", TEXT)
    (page,) = read(path, html_column="body")
    assert (page.content.decode(), page.content_mime_detected) == (TEXT, "text/html")


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("setting", ["url_column", "text_column", "html_column", "id_column"])
def test_a_named_column_that_is_not_there(tmp_path: Path, write: Write, setting: str) -> None:
    (found,) = read(write(tmp_path / "x", [{"id": "1", "text": TEXT}]), **{setting: "nope"})
    assert isinstance(found, Reject)
    assert (found.reason, found.detail) == ("missing_column", "no column nope; found: id, text")


@pytest.mark.parametrize("write", WRITERS[:2])
def test_datatrove(tmp_path: Path, write: Write) -> None:
    """The layout of its writers: text, id, and everything else in metadata."""
    row = {"text": TEXT, "id": "<urn:uuid:1>", "metadata": {"url": URL, "date": "2024-05-01T10:00:00Z"}}
    (page,) = read(write(tmp_path / "x", [row]))
    assert (page.url, page.doc_id, page.fetch_time) == (URL, "<urn:uuid:1>", datetime(2024, 5, 1, 10, tzinfo=UTC))
    (page,) = read(
        write(tmp_path / "y", [{"text": TEXT, "meta": {"deep": {"link": URL}}}]), url_column="meta.deep.link"
    )
    assert page.url == URL


def test_parquet_nulls_and_types_inside_structs(tmp_path: Path) -> None:
    kind = pa.struct([("url", pa.string()), ("date", pa.timestamp("us"))])
    times = [{"url": URL, "date": datetime(2020, 1, 2)}, None, {"url": None, "date": None}]
    table = pa.table({"text": ["a", "b", None], "id": pa.array([1, 2, 3]), "metadata": pa.array(times, kind)})
    pq.write_table(table, tmp_path / "x.parquet")
    found = read(tmp_path / "x.parquet")
    assert [(one.url, one.doc_id) for one in found] == [(URL, "1"), ("", "2"), ("", "3")]
    assert found[0].fetch_time == datetime(2020, 1, 2, tzinfo=UTC)
    assert isinstance(found[2], Reject)


def wet(*records: tuple[str, str, str]) -> bytes:
    """A WET file of records (type, content type, text)."""
    made = b""
    for kind, media, text in records:
        body = text.encode()
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {URL}\r\nWARC-Date: 2024-05-01T10:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:{len(made):032x}>\r\nContent-Type: {media}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        made += gzip.compress(head.encode() + body + b"\r\n\r\n")
    return made


def test_wet_files_of_common_crawl(tmp_path: Path) -> None:
    path = tmp_path / "x.warc.wet.gz"
    records = [
        ("warcinfo", "application/warc-fields", "a: b"),
        *[("conversion", "text/plain", f"{TEXT}{n}") for n in "123"],
    ]
    path.write_bytes(wet(*records, ("conversion", "image/png", "x"), ("conversion", "text/plain", " ")))
    found = read(path)
    pages = [one for one in found if isinstance(one, Page)]
    assert [page.content.decode() for page in pages] == [f"{TEXT}{n}" for n in "123"]
    assert {(page.url, page.content_mime_detected, page.warc_filename) for page in pages} == {
        (URL, PLAIN_TEXT, str(path))
    }
    assert [getattr(one, "reason", "") for one in found] == ["warcinfo", "", "", "", "conversion", "empty_body"]


def test_csv_of_every_shape(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(
        b'\xef\xbb\xbfid;text;url\r\n1;"two\r\nlines; ""quoted""";u1\r\n\r\n2;bare \xff;u2;more\r\n3;short\r\n'
    )
    found = read(path)
    assert [page.content for page in found] == [b'two\r\nlines; "quoted"', "bare \ufffd".encode(), b"short"]
    assert [(page.doc_id, page.url) for page in found] == [("1", "u1"), ("2", "u2"), ("3", "")]
    packed = tmp_path / "y.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [page.content for page in read(packed)] == [page.content for page in found]
    packed.write_bytes(gzip.compress(path.read_bytes())[:-20])
    assert "damaged_record" in [getattr(one, "reason", "") for one in read(packed)]
    (tmp_path / "z.tsv").write_text("id\ttext\n1\ta,b\n")
    assert [page.content for page in read(tmp_path / "z.tsv")] == [b"a,b"]


def test_rows_of_csv_that_never_end(tmp_path: Path) -> None:
    """A quote that is not closed must not swallow the table, nor the memory."""
    path = tmp_path / "x.csv"
    good = "1,fine\n"
    long = '2,"' + ("x" * 1000 + "\n") * 1500
    path.write_text("id,text\n" + good + long + good + "3,a\rb\n" + good)
    found = read(path, max_page_bytes=1000)
    reasons = [getattr(one, "reason", "") for one in found]
    assert reasons[0] == ""
    assert "bad_row" in reasons
    assert reasons[-1] == ""
    assert (
        sum(one.bytes if isinstance(one, Reject) else one.warc_record_length for one in found) + len("id,text\n")
        == path.stat().st_size
    )


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=30)), max_size=6))
def test_csv_and_jsonl_read_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    made = [{"id": "0", "text": "first"}, *({"id": doc_id, "text": text} for doc_id, text in rows)]
    lines, table = read(as_jsonl(folder / "x", made)), read(as_csv(folder / "x", made))
    assert len(lines) == len(made)

    def facts(outcomes: list[Outcome]) -> list[tuple[object, ...]]:
        return [(one.doc_id, getattr(one, "content", b""), getattr(one, "reason", "")) for one in outcomes]

    assert facts(table) == facts(lines)


def test_only_one_content(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="both given"):
        Settings(text_column="a", html_column="b")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """Eight texts of which two are replicas, scanned with all methods."""
    folder = tmp_path_factory.mktemp("corpus")
    rows = [{"id": f"doc-{n}", "url": f"http://s{n}.example/", "text": text} for n, text in enumerate(texts(8))]
    return samehand.scan(as_parquet(folder / "x", [*rows, {"id": "none"}]), folder / "run", signals="all", workers=1)


def test_replicas_and_language_work_on_text(corpus: samehand.Run) -> None:
    assert corpus.replica_members()["doc_id"] == ["doc-6", "doc-7"]
    assert sorted(corpus.language()["doc_id"]) == [f"doc-{n}" for n in range(8)]
    assert corpus.text(0) == texts(8)[0]
    assert corpus.explain(0, 1).style is None


def test_style_and_sites_have_nothing_to_say_of_text(corpus: samehand.Run) -> None:
    assert len(corpus.clusters()) == len(corpus.members()) == 0
    assert corpus.counts("style")["too_small"] == 8
    assert len(corpus.sites().sites) == 0


def test_rejects_have_the_ids_of_the_user(corpus: samehand.Run) -> None:
    assert corpus.rejects()["doc_id"] == ["none"]


def test_what_is_said(samehand_command: Callable[..., object], tmp_path: Path) -> None:
    path = as_jsonl(
        tmp_path / "x", [{"id": n, "text": text, "link": f"http://s{n}.example/"} for n, text in enumerate(texts(4))]
    )
    ended = samehand_command("scan", path, "-o", tmp_path / "run", "--workers", 1)
    assert "WARNING: no page has a URL" in ended.err
    assert "--url-column" in ended.err
    assert "4 of 4 pages are plain text, which has no markup for style and sites to judge." in ended.err
    ended = samehand_command("scan", path, "-o", tmp_path / "named", "--url-column", "link", "--signals", "replica")
    assert "URL" not in ended.err
    ended = samehand_command("scan", path, "-o", tmp_path / "wrong", "--text-column", "body")
    assert ended.code == 4
    assert "no column body; found: id, text, link" in ended.err
