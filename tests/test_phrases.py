"""Text groups: what makes one, what does not, and that a run gives the same ones whatever way it was made."""

import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import samehand
from generated_pages import MIXED, SPUN, WORDS, own_words, rows_of, spun, written
from samehand.base.settings import Settings
from samehand.cli.main import cli
from samehand.methods.phrases import shared
from samehand.methods.phrases.skeleton import make_skeleton
from samehand.store.folder import RunFolder
from samehand.store.table import Table


def scanned(tmp_path: Path, rows: list[dict[str, str]], name: str = "run", **settings: object) -> samehand.Run:
    source = written(tmp_path / f"{name}.jsonl", rows)
    return samehand.scan(source, tmp_path / name, workers=1, signals="phrases", settings=Settings(**settings))


def groups_of(run: samehand.Run) -> list[set[str]]:
    """The pages of each group, by their ids."""
    found: dict[int, set[str]] = {}
    for row in run.phrase_members():
        found.setdefault(row["text_group_number"], set()).add(row["doc_id"])
    assert len(found) == len(run.phrases())
    return [found[number] for number in sorted(found)]


def names(make: str, count: int) -> set[str]:
    return {f"{make}-{number}" for number in range(count)}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    rows = random.Random(3).sample(MIXED, len(MIXED))
    return scanned(tmp_path_factory.mktemp("phrases"), rows)


def test_each_generator_is_a_group(run: samehand.Run) -> None:
    assert groups_of(run) == [names("spun", 16), names("filled", 12)]
    spinner, template = run.phrases()
    assert [spinner["group_kind"], template["group_kind"]] == ["alternatives", "template"]
    assert (spinner["pages"], spinner["sites"], template["pages"], template["sites"]) == (16, 5, 12, 5)
    members = run.phrase_members(1)
    assert members["share"] == sorted(members["share"], reverse=True)
    assert spinner["text_group_id"] == min(members["page_id"])
    assert spinner["typical_page_id"] == members["page_id"][0]
    assert run.counts("phrases") == {
        "groups": 2,
        "grouped_pages": 28,
        "kinds": {"alternatives": 1, "template": 1},
        "pages_cut": 0,
    }


def test_skeletons_show_the_rules(run: samehand.Run) -> None:
    assert re.search(r"the {(?:salt|butter|pepper)\|(?:salt|butter|pepper)", run.skeleton(1).text)
    shown = run.skeleton(2)
    assert shown.pages == 12
    assert "opens at nine in the morning" in shown.text
    assert re.search(r"All our guests in {\w+\|", shown.text)
    assert ("We are glad to welcome", 12) in shown.phrases
    assert run.skeleton(2) == shown
    with pytest.raises(samehand.UsageError, match="There is no text group 3 in"):
        run.skeleton(3)


def test_a_skeleton_of_nothing() -> None:
    for texts in ([""], ["one"], ["", "a b c d e f", ""], ["x " * 500] * 3):
        made = make_skeleton(texts)
        assert made.pages == len(texts)
    assert made.text.split() == ["x"] * 500


def test_pages_of_one_site_are_no_group(tmp_path: Path) -> None:
    assert groups_of(scanned(tmp_path, [*rows_of(16, "spun", sites=1), *rows_of(9, "own")])) == []


def test_one_owner_is_named(tmp_path: Path) -> None:
    rows = rows_of(30, "spun", sites=1)
    rows[0]["url"] = "https://other.example/"
    run = scanned(tmp_path, rows)
    assert run.phrases()["group_kind"] == ["one owner"]


def test_quotes_and_notices_are_no_group(tmp_path: Path) -> None:
    """The same long passage, or short ones that stand in one place, on pages that have their own text otherwise."""
    quote = own_words(random.Random(5), 60)
    notice = spun(SPUN, random.Random(6)).split()
    short = ". The end. ".join(" ".join(notice[at : at + 8]) for at in range(0, 40, 8))
    rows = []
    for number in range(12):
        draw = random.Random(number)
        own = own_words(draw, 40)
        rows.append({"url": f"https://a{number}.example/", "html": f"<p>{quote}</p><p>{own}</p>", "id": f"a{number}"})
        rows.append({"url": f"https://b{number}.example/", "html": f"<p>{own}</p><p>{short}</p>", "id": f"b{number}"})
    assert groups_of(scanned(tmp_path, rows)) == []


def test_idioms_are_no_group(tmp_path: Path) -> None:
    """Set phrases that all pages of a genre hold, some of them many, do not tell."""
    idioms = [" ".join(f"{draw.choice(WORDS)}" for _ in range(6)) for draw in map(random.Random, range(12))]
    rows = []
    for number in range(60):
        draw = random.Random(100 + number)
        # A fifth of the pages holds many of them.
        said = draw.sample(idioms, 7 if number % 5 == 0 else 3)
        html = "".join(f"<p>The {own_words(draw, 6)} and {idiom} of the year.</p>" for idiom in said)
        html += f"<p>{own_words(draw, 20 if number % 5 == 0 else 200)}</p>"
        rows.append({"url": f"https://s{number}.example/", "html": html, "id": f"i{number}"})
    assert groups_of(scanned(tmp_path, rows)) == []


def stored(run: samehand.Run) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((run.path / "phrases").glob("*.parquet"))}


def test_adding_equals_scanning(tmp_path: Path) -> None:
    parts = [written(tmp_path / f"{place}.jsonl", MIXED[place::2]) for place in (0, 1)]
    whole = samehand.scan(parts, tmp_path / "whole", workers=2, signals="phrases")
    grown = samehand.scan(parts[0], tmp_path / "grown", workers=1, signals="phrases")
    before = stored(grown)
    grown = samehand.add(grown.path, parts[1], workers=1)
    assert before != stored(grown) == stored(whole)
    later = samehand.scan(parts, tmp_path / "later", workers=1, signals="style")
    assert groups_of(later) == groups_of(whole)
    assert stored(later) == stored(whole)


def test_small_tables_give_the_same_groups(run: samehand.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting in many passes, by a first pass that tells nearly nothing, changes no row."""
    monkeypatch.setattr(shared, "MOST_COUNTED", 100)
    monkeypatch.setattr(shared, "MOST_SEEN", 1)
    again = scanned(tmp_path, random.Random(3).sample(MIXED, len(MIXED)))
    assert stored(again) == stored(run)


def test_other_settings(run: samehand.Run, tmp_path: Path) -> None:
    copy = samehand.open_run(shutil.copytree(run.path, tmp_path / "copy"))
    copy.compute("phrases", min_phrase_share=0.5, workers=1)
    assert groups_of(copy) == [names("spun", 16)]
    with pytest.raises(samehand.SettingsError):
        Settings(min_phrase_share=0.0)


def test_hostile_texts(tmp_path: Path) -> None:
    texts = [
        "",
        "word " * 200_000,
        "x" * 300_000,
        "\x00\x1b[31m\u202e" * 999,
        "the " * 60,
        "of the and " * 4000,
        "日本" * 900,
    ]
    rows = [
        {"url": f"https://h{number}.example/{copy}", "html": f"<p>{text}</p>", "id": f"{number}-{copy}"}
        for number, text in enumerate(texts)
        for copy in range(4)
    ]
    run = scanned(tmp_path, [*rows, *({**row, "url": ""} for row in rows), *MIXED])
    assert names("spun", 16) in groups_of(run)
    assert run.counts("phrases")["pages_cut"] == 8


def test_pages_without_hosts_are_sites_of_their_own(tmp_path: Path) -> None:
    rows = [{**row, "url": ""} for row in rows_of(12, "spun")]
    run = scanned(tmp_path, rows)
    assert groups_of(run) == [names("spun", 12)]
    assert run.phrases()["sites"] == [12]


def test_no_pages_at_all(tmp_path: Path) -> None:
    run = scanned(tmp_path, rows_of(1, "own"))
    assert groups_of(run) == []
    assert run.phrases().table.schema.names[0] == "text_group_number"


def asked(run: samehand.Run, *arguments: str) -> Result:
    result = CliRunner().invoke(cli, ["phrases", str(run.path), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_the_command(run: samehand.Run) -> None:
    lines = asked(run).stdout.splitlines()
    assert lines[0].split() == ["group", "kind", "pages", "sites", "phrases", "share", "typical", "page"]
    assert "2 text groups of 28 pages: 1 alternatives, 1 template." in asked(run).stderr
    assert [json.loads(line)["pages"] for line in asked(run, "--format", "jsonl").stdout.splitlines()] == [16, 12]
    assert len(asked(run, "--members", "--format", "csv").stdout.splitlines()) == 29
    shown = asked(run, "--group", "2", "--top", "2").stdout
    assert "opens at nine in the morning" in shown
    assert shown.splitlines()[-1].startswith("    2   0.")
    assert len(asked(run, "--group", "2", "--format", "jsonl").stdout.splitlines()) == 12


def test_a_changed_input_is_refused(tmp_path: Path) -> None:
    run = scanned(tmp_path, MIXED)
    written(tmp_path / "run.jsonl", MIXED[:-1])
    assert len(run.phrases()) == 2
    with pytest.raises(samehand.InputError, match="changed"):
        run.skeleton(1)


def changed(path: Path, make: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(make(pq.read_table(path)), path)


def with_first(name: str, value: int) -> Callable[[pa.Table], pa.Table]:
    """The same table with another value in the first row of a column."""

    def make(rows: pa.Table) -> pa.Table:
        place, field = rows.schema.get_field_index(name), rows.schema.field(name)
        return rows.set_column(place, field, pa.array([value, *rows.column(name).to_pylist()[1:]], field.type))

    return make


ANSWERS = {
    "no members": ("members", lambda rows: rows.slice(0, 0)),
    "a page that is none": ("members", with_first("page_id", 1 << 62)),
    "a group that is no page": ("members", with_first("text_group_id", -1)),
    "a group of a page that is none": ("groups", with_first("text_group_id", 999)),
    "a typical page that is none": ("groups", with_first("typical_page_id", -1)),
    "numbers that do not count": ("groups", with_first("text_group_number", 2)),
    "a column too few": ("groups", lambda rows: rows.drop_columns(["phrases"])),
}
WIDE = pa.large_list(pa.field("item", pa.uint64(), nullable=False))
WORDS_ROWS = {
    "wide words": lambda rows: rows.set_column(1, "word_hashes", rows.column(1).cast(WIDE)),
    "fewer rows": lambda rows: rows.slice(1),
    "rows in another order": lambda rows: rows.take(list(range(len(rows)))[::-1]),
    "no words": lambda rows: rows.drop_columns(["word_hashes"]),
    "lists that are null": lambda rows: rows.set_column(1, "word_hashes", pa.nulls(len(rows), rows.schema.types[1])),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_crafted_answers_are_refused(name: str, run: samehand.Run, tmp_path: Path) -> None:
    copy = samehand.open_run(shutil.copytree(run.path, tmp_path / "copy"))
    table, make = ANSWERS[name]
    changed(copy.path / "phrases" / f"{table}.parquet", make)
    with pytest.raises(samehand.RunError):
        (copy.phrases(), copy.skeleton(1))


@pytest.mark.parametrize("name", WORDS_ROWS)
def test_crafted_words_are_refused(name: str, run: samehand.Run, tmp_path: Path) -> None:
    copy = samehand.open_run(shutil.copytree(run.path, tmp_path / "copy"))
    changed(copy.path / "phrases" / "words" / "part-000000.parquet", WORDS_ROWS[name])
    with pytest.raises(samehand.RunError):
        copy.compute("phrases", min_phrase_share=0.2, workers=1)


def test_a_killed_grouping_ends_the_same(run: samehand.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped before the last table is written, the same scan again ends with the same bytes."""
    rows = random.Random(3).sample(MIXED, len(MIXED))
    write = RunFolder.write

    def killed(self: RunFolder, table: Table, found: pa.Table) -> None:
        if table.name == "phrases/members":
            raise KeyboardInterrupt
        write(self, table, found)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            scanned(tmp_path, rows)
    assert stored(scanned(tmp_path, rows)) == stored(run)


def test_words_are_stored_in_few_bytes(run: samehand.Run) -> None:
    parts = list((run.path / "phrases" / "words").glob("*.parquet"))
    words = sum(len(row) for path in parts for row in pq.read_table(path).column("word_hashes").to_pylist())
    assert sum(path.stat().st_size for path in parts) < 4 * words
