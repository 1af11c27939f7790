"""From inputs to sources to units; and that a file gives the same outcomes however it is split."""

import gzip
import io
import itertools
import json
import os
import random
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import UsageError
from samehand.base.page import Page
from samehand.base.settings import Settings
from samehand.sources import FORMATS, Outcome, Source, Unit, changed_sources, find_sources, plan_units, read_unit
from samehand.sources.reasons import REASONS
from test_sources_warc import PACKERS, make_record, outcomes_of, some_records, source_of

SETTINGS = Settings()


def chained(source: Source, split_bytes: int) -> tuple[list[Outcome], int]:
    """Reads a source unit by unit, with the rule for those that do not fit; and how many did not."""
    outcomes: list[Outcome] = []
    misfits = 0
    stop: int | None = None
    for unit in plan_units([source], split_bytes):
        reading = read_unit(unit, SETTINGS)
        found = list(reading)
        if stop is not None and reading.first != stop:
            misfits += 1
            reading = read_unit(Unit(unit.number, source, stop, unit.end, exact=True), SETTINGS)
            found = list(reading)
            assert reading.first == stop
        outcomes += found
        stop = reading.stop
    assert stop == source.size
    return outcomes, misfits


@pytest.mark.parametrize("packer", PACKERS)
def test_split_at_any_size(tmp_path: Path, packer: str) -> None:
    source = source_of(tmp_path / "x", PACKERS[packer](some_records(12)))
    whole = outcomes_of(source)
    assert len(whole) == 12
    for size in (1, 2, 50, 99, 333, 1_000, 1_001, source.size - 1, source.size, source.size + 1):
        if size > 40 or packer == "gzip":
            assert chained(source, size)[0] == whole


def test_records_that_fit_need_no_second_reading(tmp_path: Path) -> None:
    for packer in ("plain", "gzip"):
        source = source_of(tmp_path / "x", PACKERS[packer]([make_record(b"http://%d/" % n) for n in range(40)]))
        for size in range(100, 1_000, 50):
            outcomes, misfits = chained(source, size)
            assert (len(outcomes), misfits) == (40, 0)


def test_split_jsonl_at_any_size(tmp_path: Path) -> None:
    rows = [json.dumps({"url": f"u{number}", "html": "<p>" * (number % 7 + 1)}).encode() for number in range(30)]
    rows[5:5] = [b"", b"nonsense", b"\r", b"x" * 300]
    for data in (b"\n".join(rows), b"\n".join(rows) + b"\n\n", b"\r\n".join(rows)):
        source = source_of(tmp_path / "x.jsonl", data, "jsonl")
        whole = outcomes_of(source)
        for size in range(1, len(data) + 2, 13):
            assert chained(source, size) == (whole, 0)


def fake_in_stored_member() -> tuple[bytes, bytes]:
    """A record whose page holds a packed record, and a file in which that one lies open: stored, not packed again."""
    fake = gzip.compress(make_record(b"http://fake.example/", b"<html>planted"))
    planted = make_record(b"http://evil.example/", b"<html>" + b"x" * 700 + fake * 3 + b"y" * 700)
    good = [gzip.compress(make_record(b"http://good%d.example/" % number)) for number in range(4)]
    return fake, good[0] + good[1] + gzip.compress(planted, 0) + good[2] + good[3]


def test_planted_records_are_not_read(tmp_path: Path) -> None:
    fake, data = fake_in_stored_member()
    assert fake in data
    source = source_of(tmp_path / "x", data)
    whole = outcomes_of(source)
    hosts = [outcome.url.split("/")[2].removesuffix(".example") for outcome in whole]
    assert hosts == ["good0", "good1", "evil", "good2", "good3"]
    for size in range(20, len(data), 11):
        assert chained(source, size)[0] == whole
    inside = data.index(fake)
    assert chained(source, inside)[1] > 0


def test_planted_records_in_a_plain_file(tmp_path: Path) -> None:
    fake = make_record(b"http://fake.example/", b"<html>planted")
    records = [make_record(b"http://evil%d.example/" % n, b"<html>\r\n\r\n" + fake * 3) for n in range(4)]
    source = source_of(tmp_path / "x", b"".join(records))
    whole = outcomes_of(source)
    assert [outcome.url for outcome in whole] == [f"http://evil{number}.example/" for number in range(4)]
    for size in range(30, source.size, 17):
        assert chained(source, size)[0] == whole


@pytest.mark.parametrize("packer", ["plain", "gzip", "gzip_stored", "gzip_pairs", "gzip_blocks"])
def test_split_damaged_files_at_any_size(tmp_path: Path, packer: str) -> None:
    chance = random.Random(packer)
    for _ in range(25):
        data = bytearray(PACKERS[packer](some_records(8, size=100)))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            data[at : at + chance.choice((0, 1, 40))] = chance.randbytes(chance.choice((0, 1, 40)))
        source = source_of(tmp_path / "x", bytes(data))
        whole = outcomes_of(source)
        for size in (37, 400, chance.randrange(50, len(data))):
            assert chained(source, size)[0] == whole


def test_a_unit_behind_its_own_end_reads_nothing(tmp_path: Path) -> None:
    """The record before it reached over the whole unit."""
    source = source_of(tmp_path / "x", PACKERS["gzip"](some_records(5)))
    for start in (100, 10**9):
        reading = read_unit(Unit(1, source, start, 100, exact=True), SETTINGS)
        assert list(reading) == []
        assert (reading.first, reading.stop) == (start, start)


@given(st.integers(1, 5_000), st.integers(1, 3_000))
def test_units_cover_a_source_without_gaps(tmp_path_factory: pytest.TempPathFactory, records: int, split: int) -> None:
    path = tmp_path_factory.mktemp("plan") / "x"
    source = source_of(path, make_record() + b"\r\n" * records)
    units = plan_units([source, source], split)
    assert [unit.number for unit in units] == list(range(len(units)))
    for half in (units[: len(units) // 2], units[len(units) // 2 :]):
        assert (half[0].start, half[-1].end) == (0, source.size)
        assert all(before.end == after.start for before, after in itertools.pairwise(half))
        assert max(unit.end - unit.start for unit in half) <= max(split, 0)


def test_what_is_not_split(tmp_path: Path) -> None:
    for packer in ("gzip_whole", "zstd", "lz4"):
        assert len(plan_units([source_of(tmp_path / "x", PACKERS[packer](some_records()))], 100)) == 1
    rows = gzip.compress(b'{"html": "<p>"}\n' * 100)
    assert len(plan_units([source_of(tmp_path / "x.jsonl.gz", rows, "jsonl")], 10)) == 1
    for packer in ("gzip", "plain"):
        assert len(plan_units([source_of(tmp_path / "x", PACKERS[packer](some_records()))], 300)) > 1


def test_sources_and_units_travel_as_json(tmp_path: Path) -> None:
    source = source_of(tmp_path / "x", PACKERS["gzip"](some_records()))
    assert Source.from_dict(json.loads(json.dumps(source.as_dict()))) == source
    for unit in plan_units([source], 300):
        assert Unit.from_dict(json.loads(json.dumps(unit.as_dict()))) == unit


# Inputs


def test_inputs_keep_their_order_and_come_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.warc", "a.warc", "c.warc", "z.html", "list-me.warc"):
        Path(name).write_bytes(make_record() if name.endswith("warc") else b"<html>")
    Path("list").write_bytes(b"# a comment\n\n  list-me.warc  \r\n./c.warc\n*.html\n")
    (tmp_path / "link.warc").symlink_to("a.warc")
    sources, rejects = find_sources(["z.html", "[abc].warc", "@list", "a.warc", str(tmp_path / "b.warc"), "link.warc"])
    assert [source.name for source in sources] == ["z.html", "a.warc", "b.warc", "c.warc", "list-me.warc"]
    assert [source.path for source in sources] == [str(tmp_path / source.name) for source in sources]
    assert rejects == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nowhere.warc", "no file or folder 'nowhere.warc'"),
        ("*.nowhere", "pattern '\\*.nowhere' matches nothing"),
        ("@nowhere", "list of inputs 'nowhere' cannot be read"),
        ("@nested", "@other is a list inside a list"),
        ("-", "Standard input"),
        ("", "no file or folder"),
    ],
)
def test_inputs_that_do_not_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nested").write_text("@other\n")
    with pytest.raises(UsageError, match=message):
        find_sources([given])


def test_inputs_that_are_no_input_become_rejects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").write_bytes(b"")
    Path("folder").mkdir()
    Path("words").write_bytes(b"just words")
    Path("packed").write_bytes(gzip.compress(b"just words"))
    Path("broken").write_bytes(b"\x1f\x8b\x08\x00 just words")
    Path("zip").write_bytes(b"PK\x05\x06" + bytes(18))
    Path("stored").write_bytes(b"PK\x03\x04" + make_record() * 3)
    os.mkfifo("pipe")
    names = ["empty", "folder", "words", "packed", "broken", "zip", "stored", "pipe"]
    sources, rejects = find_sources(names)
    assert sources == []
    assert [reject.source_path for reject in rejects] == names
    assert [reject.reason for reject in rejects] == ["empty_file", "empty_file", *["unknown_format"] * 6]
    assert all(reject.damaged for reject in rejects)


def test_a_name_does_not_decide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.html").write_bytes(gzip.compress(make_record()))
    Path("b.parquet").write_bytes(b'{"html": "<p>"}')
    Path("c.warc.gz").write_bytes(make_record())
    Path("d.jsonl").write_bytes(b"<!doctype html>")
    sources, _ = find_sources(["a.html", "b.parquet", "c.warc.gz", "d.jsonl"])
    assert [source.kind for source in sources] == ["warc", "jsonl", "warc", "html"]
    assert [type(outcome) for source in sources for outcome in outcomes_of(source)] == [Page] * 4


def test_an_archive_that_is_broken_at_its_start(tmp_path: Path) -> None:
    for packer in ("plain", "gzip", "zstd", "lz4"):
        data = bytearray(PACKERS[packer](some_records(4)))
        data[:3] = b"???"
        (tmp_path / packer).write_bytes(data)
        (source,), _ = find_sources([str(tmp_path / packer)])
        assert source.kind == "warc"
        outcomes = outcomes_of(source)
        assert [getattr(outcome, "reason", "") for outcome in outcomes] == ["damaged_record", "", "", ""]


def test_standard_input_is_copied_and_kept_for_a_resumed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = PACKERS["gzip"](some_records(3))
    spool = tmp_path / "run"
    for sent in (data, b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent)))
        (source,), rejects = find_sources(["-", "-"], spool=spool)
        assert (source.name, source.kind, source.path, rejects) == ("-", "warc", str(spool / "stdin"), [])
        assert {outcome.source_path for outcome in outcomes_of(source)} == {"-"}
        assert os.listdir(spool) == ["stdin"]
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UsageError):
        find_sources(["-"], spool=spool)


def test_digests_tell_files_apart(tmp_path: Path) -> None:
    def digest(data: bytes) -> str:
        (tmp_path / "x.html").write_bytes(b"<html>" + data)
        (source,), _ = find_sources([str(tmp_path / "x.html")])
        return source.digest

    long = bytes(3_000_000)
    same = [digest(long), digest(long)]
    others = [digest(long + b"x"), digest(long[:-1] + b"x"), digest(b"x" + long[1:]), digest(b"")]
    assert len(same[0]) == 32
    assert same[0] == same[1]
    assert len({same[0], *others}) == 5


def test_changed_sources_are_named(tmp_path: Path) -> None:
    records = [make_record(b"http://h%d.example/" % number) for number in range(6)]
    other = [make_record(b"http://x%d.example/" % number) for number in range(6)]
    names = ("same", "copied", "replaced", "appended", "shorter", "deleted", "folder now")
    for name in names:
        (tmp_path / name).write_bytes(PACKERS["plain"](records))
    sources, _ = find_sources([str(tmp_path / name) for name in names])
    assert changed_sources(sources) == []
    (tmp_path / "new").write_bytes((tmp_path / "copied").read_bytes())
    (tmp_path / "new").replace(tmp_path / "copied")
    (tmp_path / "replaced").write_bytes(PACKERS["plain"](other))
    assert (tmp_path / "replaced").stat().st_size == sources[0].size
    with (tmp_path / "appended").open("ab") as file:
        file.write(records[0])
    os.truncate(tmp_path / "shorter", 100)
    (tmp_path / "deleted").unlink()
    (tmp_path / "folder now").unlink()
    (tmp_path / "folder now").mkdir()
    assert changed_sources(sources) == [str(tmp_path / name) for name in names[2:]]
    assert changed_sources([Source.from_dict(source.as_dict()) for source in sources[:3]]) == [sources[2].name]
    assert changed_sources([Source("s3a://bucket/x", "s3a://bucket/x", "warc", 1, "")]) == []


@pytest.mark.parametrize("profile", FORMATS)
@pytest.mark.parametrize("change", ["content", "new", "deleted", "renamed", "linked", "gone", "nothing"])
def test_changes_in_folders_are_seen(tmp_path: Path, profile: str, change: str) -> None:
    folder = tmp_path / "mirror"
    deep = folder / "host" / "deep"
    deep.mkdir(parents=True)
    for name in ("a.html", "b.html"):
        (deep / name).write_bytes(b"<html>one")
        os.utime(deep / name, (1, 1))
    (source,), _ = find_sources([str(folder)], profile=profile)
    if change == "content":
        (deep / "a.html").write_bytes(b"<html>two")
    elif change == "new":
        (deep / "c.html").write_bytes(b"<html>one")
    elif change == "deleted":
        (deep / "a.html").unlink()
    elif change == "renamed":
        (deep / "a.html").rename(deep / "c.html")
    elif change == "linked":
        (deep / "a.html").unlink()
        (deep / "a.html").symlink_to("b.html")
    elif change == "gone":
        folder.rename(tmp_path / "other")
    assert changed_sources([source]) == [source.name] * (change != "nothing")


def test_changes_are_seen_without_reading_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.html").write_bytes(b"<html>" + bytes(10_000_000))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "x.html").write_bytes(b"<html>")
    sources, _ = find_sources([str(tmp_path / "x.html"), str(tmp_path / "mirror")])
    opened: list[CountedFile] = []

    def counted_open(path: str, mode: str) -> CountedFile:
        opened.append(CountedFile(path))
        return opened[-1]

    monkeypatch.setattr("builtins.open", counted_open)
    assert changed_sources(sources) == []
    assert [file.name for file in opened] == [sources[0].path]
    assert opened[0].bytes_read <= 2 << 20


class CountedFile(io.FileIO):
    """A file that counts the bytes that are read."""

    bytes_read = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size) or b""
        self.bytes_read += len(data)
        return data


def test_formats_name_every_input() -> None:
    assert FORMATS["web"] == "WARC, ARC, WACZ, Parquet, JSONL, CSV, folders of HTML files or HTML files"
    assert FORMATS["mail"].startswith("mail")


def test_reasons_have_names_of_their_own_and_say_what_they_mean() -> None:
    assert len({reason.name for reason in REASONS}) == len(REASONS)
    assert all(reason.meaning and not reason.meaning.endswith(".") for reason in REASONS)
    assert {reason.kind for reason in REASONS} == {"skip", "reject", "damaged"}
    assert not any(reason.detail for reason in REASONS if reason.kind == "skip")
