"""What is printed is safe, aligned, and fits; nothing that matters is cut."""

import io
import json
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from samehand.base.errors import UsageError
from samehand.cli import common
from samehand.cli import render as report

HOSTILE = ["\x1b[2J\x1b]0;owned\x07", "http://a/\r\nSet-Cookie: x", "\u202egnp.exe", "\x9b31m", "a\x00b", "\ud800"]
WIDTHS = (40, 60, 80, 120, 200)
LONG_URL = "http://www.example.com/articles/2009/loans/how-to-get-a-loan/page.html"

WILD = st.text(
    st.sampled_from("ab 漢字ひらがなe\u0301\u0489\u200b\u202e\x1b\x07\t\n\u2028\ud800ﾊ❤\ufe0f🏴=/?#@\\:.…"),
    max_size=120,
)
LABEL = st.text(st.sampled_from("abcxyz019-漢ü"), min_size=1, max_size=14)
HOST = st.lists(LABEL, min_size=1, max_size=4).map(".".join)
PATH = st.lists(st.text(st.sampled_from("ab/?#=&漢%. "), max_size=30), max_size=6).map("/".join)
URL = st.builds(
    lambda scheme, user, host, path: (f"{scheme}://{user}{host}/{path}", host),
    st.sampled_from(("http", "https")),
    st.sampled_from(("", "me@", "www.bank.example@")),
    HOST,
    PATH,
)
NUMBER = st.integers(-1, 2**63) | st.floats(0, 1) | st.none()
ROW = st.tuples(NUMBER, NUMBER, WILD, WILD, URL, WILD | st.lists(WILD, max_size=3) | st.none(), NUMBER)


def widths_of(text: str) -> list[int]:
    """Columns of each line, counted the plain way."""
    return [
        sum(
            2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.category(char) in ("Mn", "Me") else 1
            for char in line
        )
        for line in text.splitlines()
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_escape_codes_do_not_reach_the_terminal(text: str) -> None:
    shown = report.neutral(text)
    assert shown.isprintable()
    assert "\x1b" not in shown
    assert report.neutral("plain text, ünïcode 漢字") == "plain text, ünïcode 漢字"


@given(st.lists(ROW, max_size=4), st.sampled_from(WIDTHS))
def test_no_line_is_longer_than_the_terminal(rows: list[tuple[object, ...]], width: int) -> None:
    headings = ["cluster", "mean", "title", "path", "url", "reason", "sites"]
    table = report.layout(headings, [[*row[:4], row[4][0], *row[5:]] for row in rows], width=width)
    assert max(widths_of(table)) <= width
    assert all(line.replace("…", "").isprintable() for line in table.splitlines())
    assert table.count("\n") == len(table.splitlines())


@given(st.lists(ROW, max_size=4), st.sampled_from(WIDTHS))
def test_every_number_is_shown_whole(rows: list[tuple[object, ...]], width: int) -> None:
    headings = ["cluster", "mean", "title", "path", "url", "reason", "sites"]
    table = report.layout(headings, [[*row[:4], row[4][0], *row[5:]] for row in rows], width=width)
    words = table.replace(",", " ").split()
    for row in rows:
        for number in (row[0], row[1], row[6]):
            if number is not None:
                assert (f"{number:.2f}" if isinstance(number, float) else str(number)) in words


@given(st.lists(ROW, max_size=2), st.integers(1, 39))
def test_narrow_terminals_lose_no_number(rows: list[tuple[object, ...]], width: int) -> None:
    table = report.layout(["cluster", "title", "url"], [[row[0], row[2], row[4][0]] for row in rows], width=width)
    unbroken = "".join(line.strip() for line in table.splitlines())
    for row in rows:
        assert row[0] is None or (f"{row[0]:.2f}" if isinstance(row[0], float) else str(row[0])) in unbroken


@given(st.lists(st.tuples(NUMBER, WILD, URL), min_size=1, max_size=4), st.sampled_from((60, 80, 120, 200)))
@example([(1, "", (f"http://{'long.name.' * 24}example:65535/", "long.name." * 24 + "example:65535"))], 60)
def test_the_host_of_every_url_is_shown(rows: list[tuple[object, str, tuple[str, str]]], width: int) -> None:
    table = report.layout(["pages", "title", "centre"], [[*row[:2], row[2][0]] for row in rows], width=width)
    unbroken = "".join(line.strip() for line in table.splitlines())
    for _, _, (_, host) in rows:
        assert host in (table if report.columns_of(host) <= width - 10 else unbroken)


@given(st.lists(ROW, min_size=1, max_size=4))
def test_nothing_is_shortened_without_a_terminal(rows: list[tuple[object, ...]]) -> None:
    table = report.layout(["n", "title", "url", "reason"], [[row[0], row[2], row[4][0], row[2]] for row in rows])
    for row in rows:
        assert report.neutral(str(row[4][0])).rstrip() in table
        assert f"    {report.neutral(str(row[2]))}\n" in table or not str(row[2]).strip()
    assert table.splitlines()[0].split() == ["n", "title", "url"]


@given(st.lists(st.tuples(NUMBER, LABEL, URL), min_size=1, max_size=5), st.sampled_from(WIDTHS))
def test_headings_stand_above_their_column(rows: list[tuple[object, str, tuple[str, str]]], width: int) -> None:
    named = [[number, f"§{name}", url] for number, name, (url, _) in rows]
    lines = report.layout(["n", "name", "url"], named, width=width).splitlines()
    at = lines[0].index("name")
    starts = [widths_of(line[: line.index("§")] + "|") for line in lines if "§" in line]
    assert starts == [[at + 1]] * len(rows)


def test_numbers_stand_right_and_urls_are_shortened_in_the_middle() -> None:
    rows = [[5, 0.5, LONG_URL], [1200, 1.0, "b"]]
    lines = report.layout(["pages", "mean", "url"], rows, width=50).splitlines()
    assert lines[0] == "pages  mean  url"
    assert lines[1] == "    5  0.50  www.example.com/…/page.html"
    assert lines[2] == " 1200  1.00  b"
    assert LONG_URL in report.layout(["pages", "mean", "url"], rows, width=100)


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        (LONG_URL, 70, LONG_URL),
        (LONG_URL, 65, LONG_URL.removeprefix("http://")),
        (LONG_URL, 32, "www.example.com/…/page.html"),
        (LONG_URL, 20, "www.example.com/…tml"),
        (LONG_URL, 10, "www…le.com"),
        ("http://www.bank.example:80@evil.example/login.html?and=so&on=1", 20, "evil.example/…o&on=1"),
        ("http://evil.example\\@good.example/x" + "y" * 60, 40, "evil.example\\@good.example/…" + "y" * 12),
        ("/home/me/crawl/2009/pages/index.html", 20, "/…/pages/index.html"),
        ("<td></td></tr></table>", 12, "<td…</table>"),
        ("a title in several words", 10, "a title i…"),
        ("one-long-name.of-a.host.example", 16, "one-l…st.example"),
        ("漢" * 50, 20, "漢漢漢…漢漢漢漢漢漢"),
    ],
)
def test_texts_are_shortened_where_it_matters_least(text: str, room: int, shown: str) -> None:
    short = report.shorten(text, room)
    assert report.columns_of(short) <= room
    assert short == shown


def test_reasons_stand_below_their_row() -> None:
    reason = "71 of 80 lines are also on 23 other sites"
    table = report.layout(["fake", "reason", "url"], [[0.9, reason, "http://a/"], [0.1, None, "http://b/"]], width=40)
    assert table.splitlines() == [
        "fake  url",
        "0.90  http://a/",
        "    71 of 80 lines are also on 23 other",
        "    sites",
        "0.10  http://b/",
    ]
    listed = report.layout(["url", "reasons"], [["http://a/", ["first", "second"]]])
    assert listed == "url\nhttp://a/\n    first\n    second\n"


def test_columns_without_room_stand_below_their_row() -> None:
    headings = [f"figure{number}" for number in range(9)]
    lines = report.layout([*headings, "kind"], [[*range(10, 19), "link-farm"]], width=40).splitlines()
    assert lines == [
        "figure0  figure1  figure2  figure3",
        "     10       11       12       13",
        "    figure4 14, figure5 15, figure6 16,",
        "    figure7 17, figure8 18",
        "    kind: link-farm",
    ]


def test_a_name_that_does_not_fit_is_noted_below() -> None:
    rows = [[1, "short.example", "text with some words in it"], [2, "n" * 70, "text"]]
    lines = report.layout(["n", "host", "title"], rows, width=60).splitlines()
    assert lines[1].split()[1] == "short.example"
    assert "…" in lines[2]
    assert "".join(line.strip() for line in lines[3:]) == "host:" + "n" * 70


def test_sentences_are_wrapped_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["a  table   row", "", f"hosts: {'www.example.com 4, ' * 9}\x1b", "n" * 50]
    common.print_lines(lines)
    assert capsys.readouterr().out == "\n".join(lines).replace("\x1b", "\\x1b") + "\n"
    monkeypatch.setattr(common, "terminal_width", lambda: 40)
    common.print_lines(lines)
    shown = capsys.readouterr().out
    assert shown.startswith("a  table   row\n\nhosts: www.example.com 4,\nwww.example.com 4, www.example.com 4,\n")
    assert max(map(len, shown.splitlines())) == 40
    assert shown.count("www.example.com") == 9
    common.print_record({"n": 1}, "jsonl", lines)
    assert capsys.readouterr().out == '{"n": 1}\n'


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
