"""What is printed is harmless: every character of Unicode, in every format, from every command."""

import csv
import io
import json
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawls import small_crawl
from samehand.base.neutral import UNSAFE, csv_line, json_line, neutral
from samehand.cli.main import cli
from samehand.cli.render import write_rows

PLACES = [*range(0x20000), *range(0x20000, 0xE0000, 97), *range(0xE0000, 0xE1000), *range(0xE1000, 0x110000, 97)]
EVERYTHING = "".join(map(chr, reversed(PLACES)))
"""All characters, but of the planes that hold only Han characters, or no characters at all, each 97th. They fall, since
a high surrogate before a low one would be a pair."""
BAD = "\x1b[2J\x1b]0;owned\x07\x9b31m\x00\x85\u2028\u2029\u202e\u2066\ufeff\U000e0041\ud800\t\r\n"
FORMULAS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
ANY_TEXT = st.text(st.characters()) | st.text(st.sampled_from(BAD + "=+-@＝ ab漢"))


def is_harmless(text: str) -> bool:
    """Whether a terminal and every reader of lines see what a person sees."""
    printed = text.replace("\n", "")
    return (
        not {unicodedata.category(char) for char in set(printed)} & UNSAFE
        and text.splitlines() == text.split("\n")[: len(text.splitlines())]
    )


def test_every_character_of_unicode() -> None:
    assert is_harmless(neutral(EVERYTHING))
    assert is_harmless(json_line({"x": EVERYTHING}))
    assert json.loads(json_line({"x": EVERYTHING}))["x"] == EVERYTHING
    assert is_harmless(csv_line([EVERYTHING]))
    plain = "".join(char for char in EVERYTHING if unicodedata.category(char) not in UNSAFE)
    assert neutral(plain) == plain


@given(ANY_TEXT)
@example(BAD)
def test_json_reads_back_equal(text: str) -> None:
    line = json_line({"url": text, "inner": [{text: text}]})
    assert json.loads(line) == {"url": text, "inner": [{text: text}]}
    assert is_harmless(line)


def test_json_has_no_words_that_are_no_json() -> None:
    assert json_line({"mean": float("nan"), "runs": [(1, 0.1234567)]}) == '{"mean": null, "runs": [[1, 0.123457]]}'


@given(st.sampled_from(("", " ", "  \t", "\r")), st.sampled_from(FORMULAS), ANY_TEXT)
def test_cells_of_csv_start_no_formula(before: str, sign: str, after: str) -> None:
    (row,) = csv.reader(io.StringIO(csv_line([before + sign + after, -1, [sign, after], None])))
    assert not row[0].lstrip().startswith(FORMULAS)
    assert not row[2].lstrip().startswith(FORMULAS)
    assert (row[1], row[3]) == ("-1", "")


@pytest.mark.parametrize("form", ["table", "csv", "jsonl"])
@pytest.mark.parametrize("width", [None, 60])
def test_tables_of_any_text_are_harmless(form: str, width: int | None) -> None:
    @given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=4), ANY_TEXT)
    def check(rows: list[tuple[str, str]], name: str) -> None:
        valid = [[cell.encode("utf-8", "replace").decode() for cell in row] for row in rows]
        heading = name.encode("utf-8", "replace").decode() + "x"
        table = pa.table({heading: [row[0] for row in valid], "reasons": valid})
        out = io.StringIO()
        write_rows(table, form, out, width=width)
        assert is_harmless(out.getvalue())

    check()


@pytest.fixture(scope="module")
def hostile_input(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl whose file name, addresses, ids, titles and words hold what a terminal interprets."""
    folder = tmp_path_factory.mktemp("hostile")
    path = folder / "crawl\x1b[2J\u202e\u2028.jsonl"
    bad = BAD.replace("\ud800", "")
    with path.open("w", encoding="utf-8") as file:
        for number, (url, body) in enumerate(small_crawl().items()):
            text = body.decode().replace("<title>", f"<title>＝{bad}", 1).replace(" the ", f" th{bad}e ")
            row = {"url": f"{url}?{bad}", "id": f"={bad}{number}", "html": text}
            file.write(json.dumps(row) + "\n")
        file.write("not json " + json.dumps(bad) + "\n")
    return path


MORE: dict[str, list[list[str]]] = {
    "show": [["1"]],
    "like": [["{url}"]],
    "spread": [["--seeds", "{seeds}"]],
    "replicas": [[], ["--members"]],
}
"""What commands want besides a run."""


RUN = ("run", "target")
SERVES = "review"
"""It prints an address and runs until it is ended; tests/test_review.py looks at what it shows of such names."""


def commands() -> Iterator[tuple[list[str], list[str]]]:
    """Every command that takes a run and ends by itself, with the formats it has."""
    for name, command in cli.commands.items():
        if name == SERVES:
            continue
        parameters = {parameter.name: parameter for parameter in command.params}
        kinds = [parameter.type for parameter in command.params if parameter.name == "form"]
        forms = list(kinds[0].choices) if kinds and isinstance(kinds[0], click.Choice) else [""]
        first = command.params[0] if command.params else None
        others = [key for key, parameter in parameters.items() if parameter.required and key not in RUN]
        if first is not None and first.name in RUN and (name in MORE or not others):
            yield from (([name, *more], forms) for more in MORE.get(name, [[]]))


def test_every_command_and_format_is_harmless(
    hostile_input: Path,
    tmp_path: Path,
    samehand_command: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # a report is written to the current folder
    run = tmp_path / "run"
    code, out, err = samehand_command("scan", hostile_input, "-o", run, "--signals", "all", "--workers", "1")
    assert code == 3  # the last line is damaged
    assert is_harmless(out + err)
    url = json.loads(hostile_input.read_text().split("\n")[0])["url"]
    seeds = tmp_path / "seeds"
    seeds.write_text("shop10.example\n")
    ran = 0
    for (name, *more), forms in commands():
        for form in forms:
            if form == "parquet":
                continue  # no text
            arguments = [part.replace("{url}", url).replace("{seeds}", str(seeds)) for part in more]
            code, out, err = samehand_command(name, run, *arguments, *(["--format", form] if form else []))
            assert is_harmless(out + err), (name, form)
            assert code in (0, 3), (name, form, err)
            ran += 1
            if form == "jsonl":
                assert all(isinstance(json.loads(line), dict) for line in out.splitlines())
            if form == "csv":
                assert not any(
                    cell.lstrip().startswith(FORMULAS) and not cell.lstrip("-")[:1].isdigit()
                    for row in csv.reader(io.StringIO(out))
                    for cell in row
                ), name
    assert ran > 20


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_mail_in_a_stream_is_harmless(
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    samehand_command: Callable[..., tuple[int, str, str]],
) -> None:
    words = " ".join(f"word{letter}{letter}" for letter in "abcdefghij")
    mail = f"Subject: =x\x1b\n\n{words} insurance policy holder claims amount\n".encode()
    known = tmp_path / "＝known\x1b\u202e"
    known.mkdir()
    (known / "=1\x1b\u2028.eml").write_bytes(mail)
    monkeypatch.chdir(known)

    class Input:
        buffer = io.BytesIO(mail)

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Input())
    code, out, err = samehand_command("match", "--prototypes", ".", "--format", form)
    assert (code, is_harmless(out + err)) == (0, True)
    assert "signed" in out
