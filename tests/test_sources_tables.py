"""JSONL and Parquet: rows are pages, bad rows are rejects, and nothing needs more memory than a few rows."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import InputError
from samehand.base.page import Page, Reject
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.sources import Outcome, Source, Unit, find_sources, plan_units, read_page, read_unit

SETTINGS = Settings()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "jsonl": bytes,
    "jsonl.gz": gzip.compress,
    "jsonl.zst": zstandard.compress,
}


def outcomes_of(source: Source, settings: Settings = SETTINGS, split: int = 1 << 40) -> list[Outcome]:
    return [outcome for unit in plan_units([source], split) for outcome in read_unit(unit, settings)]


def source_of(path: Path, data: bytes, kind: str) -> Source:
    path.write_bytes(data)
    (source,), rejects = find_sources([str(path)])
    assert (source.kind, rejects) == (kind, [])
    return source


def jsonl(folder: Path, *rows: object, ending: str = "jsonl") -> Source:
    """A file of these rows; bytes are lines as they are."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    return source_of(folder / f"x.{ending}", PACKERS[ending](b"\n".join(lines)), "jsonl")


def reasons(outcomes: list[Outcome]) -> list[str]:
    return [getattr(outcome, "reason", "") for outcome in outcomes]


@pytest.mark.parametrize("ending", PACKERS)
def test_jsonl(tmp_path: Path, ending: str) -> None:
    rows = [
        {"url": f"http://j{number}.example/", "html": f"<html>ü{number}" * number, "more": [1]}
        for number in range(1, 6)
    ]
    source = jsonl(tmp_path, *rows, b"", b"  \r", {"content": "<html>c"}, ending=ending)
    pages = outcomes_of(source)
    assert [page.url for page in pages] == [row["url"] for row in rows] + [""]
    assert [page.content.decode() for page in pages] == [row["html"] for row in rows] + ["<html>c"]
    assert {(page.content_charset, page.warc_filename) for page in pages} == {("UTF-8", None)}
    for page in pages:
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page
    with pytest.raises(InputError):
        read_page(source, source.name, 10**6, SETTINGS)


def test_offsets_are_those_of_the_lines(tmp_path: Path) -> None:
    source = jsonl(tmp_path, {"html": "<p>ü"}, b"", {"html": "<p>"})
    lines = (tmp_path / "x.jsonl").read_bytes().splitlines(keepends=True)
    assert [page.warc_record_offset for page in outcomes_of(source)] == [0, len(lines[0]) + 1]
    assert outcomes_of(source)[0].warc_record_length == len(lines[0])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{bad", "bad_json"),
        (b"[1, 2]", "bad_json"),
        (b'"text"', "bad_json"),
        (b"\xff\xfe\x00", "bad_json"),
        (b"[" * 100_000, "bad_json"),
        (b'{"html": ' + b'{"a":' * 50_000, "bad_json"),
        (b'{"n": ' + b"9" * 10_000 + b"}", "bad_json"),
        (b'{"url": "u"}', "missing_column"),
        (b'{"html": 5}', "missing_column"),
        (b'{"html": ["<p>"]}', "missing_column"),
        (b'{"html": null}', "empty_body"),
        (b'{"html": ""}', "empty_body"),
        (b'{"html": " \\n"}', "empty_body"),
        (b'{"html": "%PDF-1.4"}', "not_html"),
        (b'{"html": "words"}', ""),
        (b'{"html": "\\ud800<p>"}', ""),
        (b'{"url": 7, "html": "<p>"}', ""),
        (b'{"url": "\\ud800", "html": "<p>"}', ""),
        (b'{"html": "latin \xe9"}', ""),
        (b'{"html": "a\tb"}', ""),
    ],
)
def test_rows(tmp_path: Path, line: bytes, reason: str) -> None:
    good = {"url": "http://good.example/", "html": "<p>"}
    outcomes = outcomes_of(jsonl(tmp_path, good, line, good))
    assert reasons(outcomes) == ["", reason, ""]
    assert pages_to_batch([outcome for outcome in outcomes if isinstance(outcome, Page)], 0)
    assert outcomes[1].warc_record_offset == len(json.dumps(good)) + 1
    if isinstance(outcomes[1], Reject):
        assert outcomes[1].damaged == (reason in ("bad_json", "missing_column"))
        assert len(outcomes[1].detail) <= 200


def test_a_row_without_content_names_the_wanted_and_the_found_columns(tmp_path: Path) -> None:
    many = {f"column{number}": 1 for number in range(1_000)}
    outcomes = outcomes_of(jsonl(tmp_path, {"id": 7, "body": "a", "metadata": {"url": "u", "x": 1}}, {}, many))
    assert [outcome.detail for outcome in outcomes[:2]] == [
        "no column html or content or text; found: id, body, metadata.url, metadata.x",
        "no column html or content or text; found: none",
    ]
    assert len(outcomes[2].detail) == 200


IDS = [
    ({"doc_id": "a", "id": "b"}, "a"),
    ({"id": "b"}, "b"),
    ({"id": 17}, "17"),
    ({"doc_id": None, "id": "b"}, None),
    ({"id": "\ud800 ü"}, "? ü"),
    ({"id": "x" * 100_000}, "x" * 8192),
    ({"id": True}, None),
    ({"id": 1.5}, None),
    ({"id": ["b"]}, None),
    ({"metadata": {"id": "b"}}, None),
]


@pytest.mark.parametrize(("columns", "doc_id"), IDS)
def test_ids_of_jsonl(tmp_path: Path, columns: dict[str, object], doc_id: str | None) -> None:
    source = jsonl(tmp_path, {**columns, "html": "<p>"})
    (page,) = outcomes_of(source)
    assert page.doc_id == doc_id
    assert read_page(source, source.name, 0, SETTINGS) == page
    assert pages_to_batch([page], 0).column("doc_id").to_pylist() == [doc_id]


@pytest.mark.parametrize("ending", PACKERS)
def test_lines_that_are_too_long(tmp_path: Path, ending: str) -> None:
    settings = Settings(max_page_bytes=1_000)
    good = {"url": "u", "html": "<p>"}
    source = jsonl(tmp_path, good, b"x" * 5_000_000, good, {"html": "<p>" + "x" * 900_000}, good, ending=ending)
    outcomes = outcomes_of(source, settings)
    assert reasons(outcomes) == ["", "bad_json", "", "", ""]
    assert outcomes[1].bytes == 5_000_001
    assert outcomes[3].content_truncated == "length"
    assert len(outcomes[3].content) == 1_000


@pytest.mark.parametrize("ending", ["jsonl.gz", "jsonl.zst"])
def test_damaged_packed_jsonl(tmp_path: Path, ending: str) -> None:
    chance = random.Random(1)
    rows = [{"url": f"http://j{number}.example/", "html": "<p>" + chance.randbytes(300).hex()} for number in range(400)]
    source = jsonl(tmp_path, *rows, ending=ending)
    data = (tmp_path / f"x.{ending}").read_bytes()
    for size in (len(data) // 2, len(data) - 3):
        (tmp_path / "x").write_bytes(data[:size])
        outcomes = outcomes_of(Source("x", str(tmp_path / "x"), "jsonl", size, ""))
        assert reasons(outcomes)[-1] in ("damaged_record", "bad_json")
        assert set(reasons(outcomes)[:-1]) <= {""}
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 0xFF
    (tmp_path / f"x.{ending}").write_bytes(flipped)
    assert set(reasons(outcomes_of(source))) <= {"", "damaged_record", "bad_json"}


def test_a_byte_order_mark_and_a_bad_first_line(tmp_path: Path) -> None:
    row = b'{"html": "<p>"}\n'
    assert reasons(outcomes_of(source_of(tmp_path / "a", b"\xef\xbb\xbf" + row, "jsonl"))) == [""]
    assert reasons(outcomes_of(source_of(tmp_path / "b.jsonl", b"nonsense\n" + row, "jsonl"))) == ["bad_json", ""]


def table(folder: Path, columns: dict[str, object], rows: int = 1 << 20, name: str = "x.parquet") -> Source:
    pq.write_table(pa.table(columns), folder / name, row_group_size=rows)
    return source_of(folder / name, (folder / name).read_bytes(), "parquet")


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.string())]
)
@pytest.mark.parametrize("name", ["html", "content"])
def test_parquet(tmp_path: Path, kind: pa.DataType, name: str) -> None:
    count = 150
    html = pa.array([f"<html>ü{number}" if number % 10 else None for number in range(count)], pa.string()).cast(kind)
    urls = [f"http://p{number}.example/" for number in range(count)]
    source = table(tmp_path, {"other": list(range(count)), "url": urls, name: html}, rows=40)
    outcomes = outcomes_of(source)
    assert [outcome.warc_record_offset for outcome in outcomes] == list(range(count))
    assert [outcome.url for outcome in outcomes] == urls
    pages = [outcome for outcome in outcomes if isinstance(outcome, Page)]
    assert [page.content.decode() for page in pages] == [f"<html>ü{number}" for number in range(count) if number % 10]
    assert set(reasons(outcomes)) == {"", "empty_body"}
    assert {page.warc_filename for page in pages} == {None}
    for page in pages[::29]:
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page
    with pytest.raises(InputError):
        read_page(source, source.name, count, SETTINGS)


def test_text_is_utf8_and_bytes_are_as_they_were_served(tmp_path: Path) -> None:
    page = "<meta charset=gbk><p>中文"
    text = outcomes_of(table(tmp_path, {"html": [page]}, name="a.parquet"))
    served = outcomes_of(table(tmp_path, {"html": [page.encode("gbk")]}, name="b.parquet"))
    assert [outcome.content.decode() for outcome in text + served] == [page, page]
    assert [outcome.content_charset for outcome in text + served] == ["UTF-8", "GBK"]


def test_parquet_that_is_not_text(tmp_path: Path) -> None:
    """Arrow does not check what a text column holds."""
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\5\0\0\0"), pa.py_buffer(b"<p>\xff\xfe")]
    )
    outcomes = outcomes_of(table(tmp_path, {"url": broken, "html": broken}))
    assert [(outcome.url, outcome.content) for outcome in outcomes] == [("<p>\ufffd\ufffd", b"<p>\xff\xfe")]
    assert pages_to_batch(outcomes, 0)


@pytest.mark.parametrize(
    ("columns", "detail"),
    [
        ({"id": [1] * 9, "body": ["a"] * 9}, "no column html or content or text; found: id, body"),
        ({"html": [1] * 9}, "html is int64, not text"),
    ],
)
def test_a_missing_column_is_one_reject_however_often_the_table_is_split(
    tmp_path: Path, columns: dict[str, object], detail: str
) -> None:
    source = table(tmp_path, columns, rows=2)
    for split in (1, 1 << 40):
        (outcome,) = outcomes_of(source, split=split)
        assert isinstance(outcome, Reject)
        assert (outcome.reason, outcome.detail, outcome.damaged) == ("missing_column", detail, True)


@pytest.mark.parametrize(
    ("columns", "doc_ids"),
    [
        ({"id": ["b", "c"], "doc_id": ["a", None]}, ["a", None]),
        ({"id": [b"b\xff", b""]}, ["b\ufffd", ""]),
        ({"id": pa.array([1, None], pa.uint64())}, ["1", None]),
        ({"id": pa.array(["x", "x"]).dictionary_encode()}, ["x", "x"]),
        ({"id": ["x" * 100_000, "y"]}, ["x" * 8192, "y"]),
        ({"id": [1.5, 2.5]}, [None, None]),
        ({"id": [["a"], ["b"]]}, [None, None]),
        ({"id": [True, False]}, [None, None]),
    ],
)
def test_ids_of_parquet(tmp_path: Path, columns: dict[str, object], doc_ids: list[str | None]) -> None:
    source = table(tmp_path, {**columns, "html": ["<p>"] * 2})
    pages = outcomes_of(source)
    assert [page.doc_id for page in pages] == doc_ids
    assert [read_page(source, source.name, row, SETTINGS) for row in range(2)] == pages
    assert pages_to_batch(pages, 0).column("doc_id").to_pylist() == doc_ids


def test_the_first_of_columns_of_one_name_counts(tmp_path: Path) -> None:
    columns = pa.table([["<p>1"], [2], [1], ["<p>2"]], names=["html", "html", "id", "id"])
    pq.write_table(columns, tmp_path / "x.parquet")
    (page,) = outcomes_of(source_of(tmp_path / "y.parquet", (tmp_path / "x.parquet").read_bytes(), "parquet"))
    assert (page.content, page.doc_id) == (b"<p>1", "1")


def test_a_table_without_urls(tmp_path: Path) -> None:
    assert [outcome.url for outcome in outcomes_of(table(tmp_path, {"html": ["<p>"] * 3}))] == [""] * 3
    assert [outcome.url for outcome in outcomes_of(table(tmp_path, {"html": ["<p>"], "url": [5]}))] == [""]


def test_a_damaged_row_group_costs_that_group(tmp_path: Path) -> None:
    chance = random.Random(3)
    html = ["<p>" + chance.randbytes(4_000).hex() for _ in range(60)]
    pq.write_table(
        pa.table({"html": html}), tmp_path / "x", row_group_size=20, use_dictionary=False, compression="zstd"
    )
    data = bytearray((tmp_path / "x").read_bytes())
    middle = pq.read_metadata(tmp_path / "x").row_group(1).column(0).data_page_offset
    data[middle + 20 : middle + 9_000] = chance.randbytes(8_980)
    source = source_of(tmp_path / "y", bytes(data), "parquet")
    outcomes = outcomes_of(source)
    pages = [outcome for outcome in outcomes if isinstance(outcome, Page)]
    assert [page.warc_record_offset for page in pages] == [*range(20), *range(40, 60)]
    assert [(item.reason, item.warc_record_offset) for item in outcomes if isinstance(item, Reject)] == [
        ("damaged_record", 20)
    ]
    for split in (1, 100_000):
        assert outcomes_of(source, split=split) == outcomes


def test_parquet_cut_off_anywhere(tmp_path: Path) -> None:
    data = (tmp_path / table(tmp_path, {"html": ["<p>"] * 50}).name).read_bytes()
    for cut in range(4, len(data), 31):
        source = source_of(tmp_path / "y", data[:cut], "parquet")
        units = plan_units([source], 1)
        assert len(units) == 1
        assert reasons(outcomes_of(source, split=1)) == ["damaged_record"]


@given(at=st.integers(4, 10_000), value=st.integers(1, 255))
def test_flipped_parquet_never_raises(tmp_path_factory: pytest.TempPathFactory, at: int, value: int) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    pq.write_table(pa.table({"url": ["u"] * 9, "html": [f"<p>{number}" for number in range(9)]}), folder / "x")
    data = bytearray((folder / "x").read_bytes())
    data[4 + at % (len(data) - 8)] ^= value
    (folder / "x").write_bytes(data)
    source = Source("x", str(folder / "x"), "parquet", len(data), "")
    for unit in plan_units([source], 1):
        assert all(isinstance(outcome, Page | Reject) for outcome in read_unit(unit, SETTINGS))


def test_a_table_that_goes_away(tmp_path: Path) -> None:
    source = table(tmp_path, {"html": ["<p>"]})
    (tmp_path / "x.parquet").unlink()
    (outcome,) = read_unit(Unit(0, source, 0, 1), SETTINGS)
    assert isinstance(outcome, Reject)
    assert outcome.damaged
    with pytest.raises(InputError):
        read_page(source, source.name, 0, SETTINGS)
