"""What is printed is safe, aligned, and fits."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import UsageError
from samehand.cli import render as report

HOSTILE = ["\x1b[2J\x1b]0;owned\x07", "http://a/\r\nSet-Cookie: x", "\u202egnp.exe", "\x9b31m", "a\x00b", "\ud800"]


@pytest.mark.parametrize("text", HOSTILE)
def test_escape_codes_do_not_reach_the_terminal(text: str) -> None:
    shown = report.neutral(text)
    assert shown.isprintable()
    assert "\x1b" not in shown
    assert report.neutral("plain text, ünïcode 漢字") == "plain text, ünïcode 漢字"


@given(st.text())
def test_whatever_is_printed_stays_on_its_line(text: str) -> None:
    table = report.layout(["n", "url"], [[1, text]], width=40)
    assert table.count("\n") == 2
    assert all(not 0x7F <= ord(char) <= 0x9F and (char >= " " or char == "\n") for char in table)


def test_layout_aligns_numbers_right_and_cuts_the_last_column() -> None:
    table = report.layout(
        ["pages", "mean", "url"], [[5, 0.5, "http://a.example/" + "x" * 80], [1200, 1.0, "b"]], width=40
    )
    lines = table.splitlines()
    assert lines[1].startswith("    5  0.50  http://a.example/")
    assert lines[2] == " 1200  1.00  b"
    assert len(lines[1]) == 40
    assert lines[1].endswith("…")
    assert "…" not in report.layout(["url"], [["x" * 500]], width=None)


def test_wide_letters_take_two_columns() -> None:
    line = report.layout(["url"], [["漢" * 50]], width=20).splitlines()[1]
    assert line == "漢" * 9 + "…"


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_csv_cells_start_no_formula(cell: str) -> None:
    out = io.StringIO()
    report.write_rows(pa.table({"url": [cell], "n": [-1]}), "csv", out)
    row = list(csv.reader(io.StringIO(out.getvalue())))[1]
    assert row[0][0] not in "=+-@\t\r"
    assert row[1] == "-1"


def test_jsonl_round_trip() -> None:
    out = io.StringIO()
    report.write_rows(pa.table({"url": ["ü\n"], "s": [0.1234567891]}), "jsonl", out)
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [{"url": "ü\n", "s": 0.123457}]


def test_parquet_goes_to_the_byte_stream() -> None:
    raw = io.BytesIO()
    text = io.TextIOWrapper(raw)
    report.write_rows(pa.table({"n": [1, 2]}), "parquet", text)
    assert pq.read_table(io.BytesIO(raw.getvalue())).to_pydict() == {"n": [1, 2]}


def test_parquet_is_refused_by_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with pytest.raises(UsageError, match="> FILE"):
        report.write_rows(pa.table({"n": [1]}), "parquet", Terminal())


def test_empty_tables_print_their_headings() -> None:
    out = io.StringIO()
    report.write_rows(pa.table({"url": pa.array([], pa.string())}), "table", out)
    assert out.getvalue() == "url\n"
