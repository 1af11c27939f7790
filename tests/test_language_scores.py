"""Fake text on the spine: every page has a score, whatever the workers; sums add up; hostile pages get an answer."""

import csv
import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import samehand
from language_corpus import article, chained, trained
from runs import copy_of, tables, truth_of
from samehand.base.errors import RunError
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.methods.language.scores import LEAST_JUDGED, natural_bar, sums_by_cluster, sums_by_host, worst_first
from samehand.methods.language.stage import _shortened
from samehand.store.tables import LANGUAGE_PAGES, STYLE_MEMBERS

Command = Callable[..., "tuple[int, str, str]"]
SIGNALS = ("style", "language")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "own.lm"
    path.write_bytes(trained())
    return path


@pytest.fixture(scope="module")
def run(demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """The demo, judged by the shipped detector."""
    return copy_of(demo_run, tmp_path_factory.mktemp("language") / "run")


def pages_of(folder: Path, texts: dict[str, str]) -> str:
    for host, text in texts.items():
        (folder / host).mkdir(parents=True)
        (folder / host / "1.html").write_text(f"<html><body>{text}</body></html>", errors="surrogatepass")
    return str(folder)


def test_every_page_has_one_score(run: samehand.Run) -> None:
    scores = run.folder.read(LANGUAGE_PAGES)
    assert scores.column_names[:5] == ["url", "doc_id", "page_id", "host", "site"]
    assert scores.column("page_id").to_pylist() == run.pages(["page_id"])["page_id"]
    for row in scores.to_pylist():
        assert (row["fake_probability"] is None) == (row["verdict"] not in ("natural", "fake"))
        assert row["fake_probability"] is None or (row["fake_probability"] >= 0.5) == (row["verdict"] == "fake")
        assert row["reasons"]


def test_the_machine_made_pages_of_the_demo_are_the_fakes(demo: DemoFiles, run: samehand.Run) -> None:
    """All of them and nothing else is called fake, and stuffing is told from the rest."""
    rows, truth = run.folder.read(LANGUAGE_PAGES).to_pylist(), truth_of(demo)
    fakes = [row for row in worst_first(run.folder).to_pylist() if row["verdict"] == "fake"]
    made = {url for url, row in truth.items() if row["kind"] == "fake"}
    assert {row["url"] for row in fakes} == made
    found = Counter((truth[row["url"]]["note"], row["fake_kind"]) for row in rows if row["url"] in made)
    assert found["keyword-stuffed patchwork", "stuffing"] == 8
    assert found["word salad", "word salad"] == 4
    chains = {kind for note, kind in found if note not in ("keyword-stuffed patchwork", "word salad")}
    assert chains <= {"chain", "patchwork"}  # chains of a small source are patchworks of it


def test_worst_first_and_no_answer_last(run: samehand.Run) -> None:
    fakes = worst_first(run.folder).column("fake_probability").to_pylist()
    known = [fake for fake in fakes if fake is not None]
    assert fakes == sorted(known, reverse=True) + [None] * (len(fakes) - len(known))


def test_sums_are_those_of_the_pages(run: samehand.Run) -> None:
    rows = run.folder.read(LANGUAGE_PAGES).to_pylist()
    by_host = Counter(row["host"] for row in rows)
    fakes = Counter(row["host"] for row in rows if row["verdict"] == "fake")
    sums = sums_by_host(run.folder).to_pylist()
    assert {row["host"]: (row["pages"], row["fake_pages"]) for row in sums} == {
        host: (number, fakes[host]) for host, number in by_host.items()
    }
    assert [row["fake_pages"] for row in sums] == sorted(fakes[host] for host in by_host)[::-1]
    members = run.folder.read(STYLE_MEMBERS, ["style_cluster_id", "cluster_number"]).to_pylist()
    clusters = Counter(row["style_cluster_id"] for row in members if row["cluster_number"] is not None)
    assert {row["style_cluster_id"]: row["pages"] for row in sums_by_cluster(run.folder).to_pylist()} == clusters


def test_splitting_does_not_change_a_score(demo: DemoFiles, run: samehand.Run, tmp_path: Path) -> None:
    settings = Settings(split_bytes=200_000)
    split = samehand.scan(str(demo.crawl), tmp_path / "run", settings=settings, workers=1, signals=SIGNALS)
    scores = split.folder.read(LANGUAGE_PAGES).drop_columns(["page_id"])
    assert scores.equals(run.folder.read(LANGUAGE_PAGES).drop_columns(["page_id"]))


def test_added_later_is_the_same_as_at_once(
    style_run: samehand.Run, run: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    copy_of(style_run, tmp_path / "run")
    assert samehand_command("fake", tmp_path / "run", "--workers", "1").code == 0
    assert tables(tmp_path / "run", "language") == tables(run.path, "language")


def test_the_model_stays_in_the_run(style_run: samehand.Run, tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "own.lm").write_bytes(trained())
    copy_of(style_run, tmp_path / "run")
    assert samehand_command("fake", tmp_path / "run", "--model", tmp_path / "own.lm").code == 0
    before = tables(tmp_path / "run")
    (tmp_path / "own.lm").unlink()
    assert samehand_command("fake", tmp_path / "run").code == 0
    assert tables(tmp_path / "run") == before


def test_a_foreign_model_changes_nothing(run: samehand.Run, tmp_path: Path, samehand_command: Command) -> None:
    before, told = tables(run.path), run.folder.manifest()
    (tmp_path / "bad.lm").write_bytes(trained()[:5000])
    ended = samehand_command("fake", run.path, "--model", tmp_path / "bad.lm")
    assert (ended.code, ended.err.count("\n")) == (4, 1)
    assert (tables(run.path), run.folder.manifest()) == (before, told)


def test_lists_of_the_command(run: samehand.Run, samehand_command: Command) -> None:
    path = run.path
    rows = [json.loads(line) for line in samehand_command("fake", path, "--format", "jsonl").out.splitlines()]
    assert len(rows) == run.manifest["stages"]["read"]["pages"]
    assert set(rows[0]) >= {"url", "page_id", "judged_words", "fake_probability", "verdict", "reasons"}
    assert len(samehand_command("fake", path, "--top", "4").out.splitlines()) == 9  # each with its reason below
    hosts = list(csv.DictReader(samehand_command("fake", path, "--hosts", "--format", "csv").out.splitlines()))
    assert int(hosts[0]["fake_pages"]) > 0
    assert samehand_command("fake", path, "--clusters").out.splitlines()[0].split()[:3] == ["fake", "judged", "pages"]
    assert samehand_command("fake", path, "--clusters", "--hosts").code == 2
    assert samehand_command("fake", path.parent).code == 2


def test_hostile_texts_get_an_answer(model: Path, tmp_path: Path, samehand_command: Command) -> None:
    texts = {
        "empty.test": "",
        "same.test": "word " * 200_000,
        "nospaces.test": "abcdefgh" * 50_000,
        "control.test": "".join(chr(code) for code in range(1, 32)) * 500,
        "greek.test": "αβγ δεζ ηθι κλμ. " * 200,
        "made.test": chained(1),
        "natural.test": article(5000),
        "long.test": article(5001, 400),
    }
    settings = Settings(language_model=str(model), max_text_bytes=20_000)
    crawl = pages_of(tmp_path / "crawl", texts)
    run = samehand.scan(crawl, tmp_path / "run", settings=settings, workers=1, signals=SIGNALS)
    rows = {row["host"]: row for row in run.folder.read(LANGUAGE_PAGES).to_pylist()}
    verdicts = {host: row["verdict"] for host, row in rows.items()}
    assert [host for host, verdict in verdicts.items() if verdict == "fake"] == ["made.test"]
    assert verdicts["natural.test"] == verdicts["long.test"] == "natural"
    assert verdicts["greek.test"] == verdicts["same.test"] == "not prose"
    assert verdicts["nospaces.test"] == "too short"
    assert [host for host, row in rows.items() if row["is_cut"]] == ["long.test"]
    assert "texts were cut" in samehand_command("fake", tmp_path / "run").err


def test_settings_of_the_run_decide(model: Path, tmp_path: Path) -> None:
    crawl = pages_of(tmp_path / "crawl", {"natural.test": article(5000), "made.test": chained(1)})
    base = Settings(language_model=str(model))
    for name, settings, wanted in (
        ("short", dataclasses.replace(base, min_judged_words=100_000), {"too short"}),
        ("all", dataclasses.replace(base, fake_threshold=0.0), {"fake"}),
        ("none", dataclasses.replace(base, fake_threshold=1.0), {"natural"}),
    ):
        run = samehand.scan(crawl, tmp_path / name, settings=settings, workers=1, signals=SIGNALS)
        assert set(run.folder.read(LANGUAGE_PAGES).column("verdict").to_pylist()) == wanted


def test_a_collection_can_set_the_bar(
    run: samehand.Run, tmp_path: Path, samehand_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most one in a hundred of the pages that the bar is set on is called fake by it."""
    folder = copy_of(run, tmp_path / "run").folder.path
    few = samehand_command("fake", folder, "--calibrate-on", folder)
    assert few.code != 0
    assert str(LEAST_JUDGED) in few.err
    monkeypatch.setattr("samehand.methods.language.scores.LEAST_JUDGED", 50)
    judged = run.folder.read(LANGUAGE_PAGES).column("fake_probability").drop_null().to_pylist()
    bar = natural_bar(run.folder)
    assert sum(chance >= bar for chance in judged) <= 0.01 * len(judged)
    ended = samehand_command("fake", folder, "--calibrate-on", folder, "--format", "jsonl")
    assert f"{bar:.3f}" in ended.err
    rows = [json.loads(line) for line in ended.out.splitlines()]
    shown = [row for row in rows if row["fake_probability"] and abs(row["fake_probability"] - bar) > 1e-6]  # rounded
    assert len(shown) > 50
    assert all((row["verdict"] == "fake") == (row["fake_probability"] >= bar) for row in shown)


def test_parts_of_other_pages_are_refused(run: samehand.Run, tmp_path: Path) -> None:
    folder = copy_of(run, tmp_path / "run").folder
    part = folder.part_path(LANGUAGE_PAGES, 0)
    pq.write_table(folder.read_part(LANGUAGE_PAGES, 0).slice(1), part)
    with pytest.raises(RunError, match="--force"):
        worst_first(folder)


def test_texts_are_shortened_where_they_are_long() -> None:
    data = np.frombuffer(b"aaabbbbbcc", np.uint8)
    shorter, offsets, is_cut = _shortened(data, np.array([0, 3, 8, 10]), 3)
    assert (shorter.tobytes(), offsets.tolist(), is_cut.tolist()) == (b"aaabbbcc", [0, 3, 6, 8], [False, True, False])
    assert _shortened(data, np.array([0, 3]), 3)[0] is data
