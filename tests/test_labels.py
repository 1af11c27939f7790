"""The file of labels: no answer is lost wherever it is cut, undo, two writers, and files of strangers."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from samehand.base.errors import RunError, RunWriteError, UsageError
from samehand.store import labels as store
from samehand.store.labels import (
    DIFFERENT,
    SAME,
    SKIP,
    UNDO,
    UNWANTED,
    WANTED,
    Label,
    LabelFile,
    digest_of,
    problem_of,
)

NOW = "2026-11-17T20:00:00+00:00"
SITE = Label("site", "a.example", UNWANTED, NOW, "ann", "parked-ads", "block parked-ads 0.97")
PAGE = Label("page", "4294967297", WANTED, NOW, "bob")
APART = Label.pair(9, 3, DIFFERENT, NOW, who="ann")


def labelled(path: Path, *labels: Label) -> LabelFile:
    file = LabelFile(path / "labels.jsonl")
    for label in labels:
        file.add(label)
    return file


def test_labels_read_back_as_they_were_given(tmp_path: Path) -> None:
    file = labelled(tmp_path, SITE, PAGE, APART)
    assert file.labels() == LabelFile(file.path).labels() == [SITE, PAGE, APART]
    assert APART.page_ids == (3, 9)
    assert LabelFile(tmp_path / "none").labels() == []
    assert not (tmp_path / "none").exists()


def test_the_last_answer_about_a_unit_counts_and_an_undo_brings_the_one_before_back(tmp_path: Path) -> None:
    other = dataclasses.replace(SITE, answer=WANTED)
    file = labelled(tmp_path, SITE, PAGE, other)
    assert file.labels() == [PAGE, other]
    assert file.undo(time=NOW, who="ann") == other
    assert file.labels() == [SITE, PAGE]
    assert file.undo(time=NOW, who="ann") == SITE
    assert file.undo(time=NOW, who="ann") is None
    assert file.labels() == LabelFile(file.path).labels() == [PAGE]
    assert file.path.read_bytes().count(b"\n") == 5


def test_skips_stay_and_change_no_digest(tmp_path: Path) -> None:
    skipped = Label("cluster", "7", SKIP, NOW)
    file = labelled(tmp_path, SITE, skipped)
    assert file.labels() == [SITE, skipped]
    assert digest_of(file.labels()) == digest_of([dataclasses.replace(SITE, who="x", seen="")])
    assert digest_of([SITE]) != digest_of([dataclasses.replace(SITE, answer=WANTED)])


def test_no_answer_is_lost_wherever_the_file_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(store.os, "fsync", synced.append)
    file = LabelFile(tmp_path / "labels.jsonl")
    states = {0: file.labels()}
    for step in range(12):
        if step in (3, 7, 8):
            file.undo(time=NOW, who="ann" if step % 2 else "bob")
        else:
            file.add(Label("page", str(step % 4), WANTED if step % 3 else UNWANTED, NOW, "bob" if step % 2 else "ann"))
        states[file.path.stat().st_size] = file.labels()
    content = file.path.read_bytes()
    assert len(synced) == 12 + 1  # one for the name of the file
    cut = tmp_path / "cut.jsonl"
    for size in range(0, len(content) + 1, 7):
        cut.write_bytes(content[:size])
        whole = max(known for known in states if known <= size)
        again = LabelFile(cut)
        assert again.labels() == states[whole]
        assert cut.stat().st_size == size  # who reads changes nothing
        again.add(SITE)
        assert again.cut_off == content[whole:size]
        assert LabelFile(cut).labels() == [*states[whole], SITE]


def test_two_writers_see_each_other(tmp_path: Path) -> None:
    one, two = LabelFile(tmp_path / "labels.jsonl"), LabelFile(tmp_path / "labels.jsonl")
    one.add(SITE)
    two.add(PAGE)
    one.add(APART)
    assert two.undo(time=NOW, who="ann") == APART
    assert one.labels() == two.labels() == [SITE, PAGE]


WRITER = """
import sys
from pathlib import Path
from samehand.store.labels import Label, LabelFile
file = LabelFile(Path(sys.argv[1]))
for number in range(100000):
    file.add(Label("page", str(number), "wanted", "2026-11-17T20:00:00+00:00", sys.argv[2]))
    print(number, flush=True)
"""


def test_kill_9_loses_no_acknowledged_answer(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    for who in ("ann", "bob", "cid"):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), who], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline()) for _ in range(5)]
            os.kill(process.pid, signal.SIGKILL)
            told += [int(line) for line in process.stdout.read().splitlines()]
        names = {label.name for label in LabelFile(path).labels() if label.who == who}
        assert {str(number) for number in told} <= names
    LabelFile(path).add(SITE)
    assert LabelFile(path).labels()[-1] == SITE


def test_an_answer_that_cannot_be_written_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = labelled(tmp_path, SITE)
    before, write = file.path.read_bytes(), os.write
    monkeypatch.setattr(store.os, "write", lambda descriptor, data: write(descriptor, data[:5]))
    with pytest.raises(RunWriteError, match="the disk is full"):
        file.add(PAGE)
    assert (file.path.read_bytes(), file.labels()) == (before, [SITE])
    monkeypatch.undo()
    file.add(PAGE)
    assert LabelFile(file.path).labels() == [SITE, PAGE]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"unit": "host"}, "no unit"),
        ({"answer": "spam"}, "no answer about a site"),
        ({"answer": SAME}, "no answer about a site"),
        ({"unit": "pair", "name": "1 2"}, "no answer about a pair"),
        ({"unit": "page"}, "is not what names a page"),
        ({"unit": "cluster", "name": "-1"}, "is not what names a cluster"),
        ({"unit": "page", "name": "9" * 40}, "is not what names a page"),
        ({"unit": "pair", "name": "9 3", "answer": SAME}, "smaller number first"),
        ({"name": " "}, "names no site"),
        ({"name": "a\x1b[31m"}, "cannot be shown"),
        ({"who": "x" * 101}, "longer than 100"),
        ({"time": "yesterday"}, "no time of ISO 8601"),
        ({"time": "2026-11-17T20:00:00"}, "no time zone"),
    ],
)
def test_bad_labels_are_refused_by_writer_and_reader(change: dict[str, str], what: str, tmp_path: Path) -> None:
    bad = dataclasses.replace(SITE, **change)
    assert what in problem_of(bad)
    path = tmp_path / "labels.jsonl"
    with pytest.raises(UsageError, match="cannot be stored"):
        LabelFile(path).add(bad)
    content = json.dumps(dataclasses.asdict(SITE)) + "\n" + json.dumps(dataclasses.asdict(bad)) + "\n"
    path.write_text(content)
    with pytest.raises(RunError, match="line 2, is no label"):
        LabelFile(path).labels()
    with pytest.raises(RunError, match="line 2, is no label"):
        LabelFile(path).add(SITE)
    assert path.read_text() == content


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "x",
        "[" * 100_000,
        "{}",
        json.dumps({**dataclasses.asdict(SITE), "more": ""}),
        json.dumps({**dataclasses.asdict(SITE), "who": 7}),
        "",
    ],
)
def test_a_strange_file_is_one_sentence(line: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(RunError, match="line 1, is no label"):
        LabelFile(path).labels()


def test_an_undo_of_nothing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text(json.dumps(dataclasses.asdict(dataclasses.replace(SITE, answer=UNDO))) + "\n")
    with pytest.raises(RunError, match="takes back what nobody said"):
        LabelFile(path).labels()
    with pytest.raises(UsageError, match="call undo"):
        LabelFile(tmp_path / "other").add(dataclasses.replace(SITE, answer=UNDO))


def test_links_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", "."):
        with pytest.raises((RunError, RunWriteError)):
            LabelFile(tmp_path / name).add(SITE)
        with pytest.raises((RunError, RunWriteError)):
            LabelFile(tmp_path / name).labels()
    assert (tmp_path / "victim").read_text() == ""
