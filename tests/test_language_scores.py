"""Fake text on the spine: every page has a score, whatever the workers; sums add up; hostile pages get an answer."""

import csv
import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from samehand.demo import DemoFiles
from samehand.methods.language.signal import _shortened

import samehand
from language_corpus import article, chained, trained
from samehand.base.errors import RunError
from samehand.base.settings import Settings
from samehand.methods.language.detector import SHIPPED_DETECTOR, SHIPPED_MODEL
from samehand.methods.language.scores import SCORES, sums_by_cluster, sums_by_host, worst_first

Command = Callable[..., "tuple[int, str, str]"]
SIGNALS = ("style", "language")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "own.lm"
    path.write_bytes(trained())
    return path


@pytest.fixture(scope="module")
def run(demo: DemoFiles, model: Path, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    settings = Settings(language_model=str(model))
    out = tmp_path_factory.mktemp("language") / "run"
    return samehand.scan(str(demo.crawl), out, settings=settings, workers=1, signals=SIGNALS)


def tables(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def pages_of(folder: Path, texts: dict[str, str]) -> str:
    for host, text in texts.items():
        (folder / host).mkdir(parents=True)
        (folder / host / "1.html").write_text(f"<html><body>{text}</body></html>", errors="surrogatepass")
    return str(folder)


def test_every_page_has_one_score(run: samehand.Run) -> None:
    scores = run.folder.read_table(SCORES)
    assert scores.column_names[:5] == ["url", "page_id", "judged_words", "fake_probability", "verdict"]
    assert scores.column("page_id").to_pylist() == run.pages(["page_id"]).column("page_id").to_pylist()
    for row in scores.to_pylist():
        fake = row["fake_probability"]
        assert (fake is None) == (row["verdict"] in ("too short", "unknown language", "not judged"))
        assert fake is None or (fake >= 0.5) == (row["verdict"] == "fake")
        assert row["reasons"]


def test_markov_pages_of_the_demo_are_the_worst(demo: DemoFiles, run: samehand.Run) -> None:
    with demo.truth.open(newline="") as handle:
        kinds = {row["url"]: row["kind"] for row in csv.DictReader(handle)}
    found = worst_first(run.folder).to_pylist()
    assert {kinds[row["url"]] for row in found[:10]} == {"markov"}
    verdicts = Counter((kinds[row["url"]], row["verdict"]) for row in found)
    assert verdicts["markov", "fake"] >= 0.8 * sum(number for (kind, _), number in verdicts.items() if kind == "markov")
    natural = [number for (kind, verdict), number in verdicts.items() if kind == "honest" and verdict == "natural"]
    assert sum(natural) > 5 * verdicts["honest", "fake"]


def test_worst_first_and_no_answer_last(run: samehand.Run) -> None:
    fakes = worst_first(run.folder).column("fake_probability").to_pylist()
    known = [fake for fake in fakes if fake is not None]
    assert fakes == sorted(known, reverse=True) + [None] * (len(fakes) - len(known))


def test_sums_are_those_of_the_pages(run: samehand.Run) -> None:
    rows = run.folder.read_table(SCORES).to_pylist()
    by_host = Counter(row["host"] for row in rows)
    fakes = Counter(row["host"] for row in rows if row["verdict"] == "fake")
    sums = sums_by_host(run.folder).to_pylist()
    assert {row["host"]: (row["pages"], row["fake_pages"]) for row in sums} == {
        host: (number, fakes[host]) for host, number in by_host.items()
    }
    assert [row["fake_pages"] for row in sums] == sorted(fakes[host] for host in by_host)[::-1]
    members = run.folder.read_table("style/members.parquet", ["page_id", "cluster_id"]).to_pylist()
    clusters = Counter(row["cluster_id"] for row in members if row["cluster_id"] is not None)
    assert {row["cluster_id"]: row["pages"] for row in sums_by_cluster(run.folder).to_pylist()} == clusters


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_do_not_change_a_byte(
    demo: DemoFiles, model: Path, run: samehand.Run, tmp_path: Path, workers: int
) -> None:
    settings = Settings(language_model=str(model), split_bytes=200_000)
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=settings, workers=workers, signals=SIGNALS)
    scores = samehand.open_run(tmp_path / "run").folder.read_table(SCORES).drop_columns(["page_id"])
    assert scores.equals(run.folder.read_table(SCORES).drop_columns(["page_id"]))


def test_added_later_is_the_same_as_at_once(
    demo: DemoFiles, model: Path, run: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    samehand.scan(str(demo.crawl), tmp_path / "run", workers=1)
    ended = samehand_command("fake", tmp_path / "run", "--workers", "1", "--model", model)
    assert ended.code == 0
    assert tables(tmp_path / "run") == tables(run.folder.path)


def test_the_model_stays_in_the_run(demo: DemoFiles, tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "own.lm").write_bytes(trained())
    samehand.scan(str(demo.crawl), tmp_path / "run", workers=1)
    assert samehand_command("fake", tmp_path / "run", "--model", tmp_path / "own.lm").code == 0
    before = tables(tmp_path / "run")
    (tmp_path / "own.lm").unlink()
    assert samehand_command("fake", tmp_path / "run").code == 0
    assert tables(tmp_path / "run") == before


def test_a_foreign_model_changes_nothing(run: samehand.Run, tmp_path: Path, samehand_command: Command) -> None:
    before, told = tables(run.folder.path), run.folder.manifest()
    (tmp_path / "bad.lm").write_bytes(trained()[:5000])
    ended = samehand_command("fake", run.folder.path, "--model", tmp_path / "bad.lm")
    assert (ended.code, ended.err.count("\n")) == (4, 1)
    assert (tables(run.folder.path), run.folder.manifest()) == (before, told)


def test_lists_of_the_command(run: samehand.Run, samehand_command: Command) -> None:
    path = run.folder.path
    rows = [json.loads(line) for line in samehand_command("fake", path, "--format", "jsonl").out.splitlines()]
    assert len(rows) == run.manifest["stages"]["read"]["pages"]
    assert set(rows[0]) >= {"url", "page_id", "judged_words", "fake_probability", "verdict", "reasons"}
    assert len(samehand_command("fake", path, "--top", "4").out.splitlines()) == 5
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
    rows = {row["host"]: row for row in run.folder.read_table(SCORES).to_pylist()}
    verdicts = {host: row["verdict"] for host, row in rows.items()}
    assert {host for host, verdict in verdicts.items() if verdict == "fake"} <= {"made.test", "same.test"}
    assert verdicts["made.test"] == "fake"
    assert verdicts["natural.test"] == verdicts["long.test"] == "natural"
    assert verdicts["greek.test"] == "unknown language"
    assert verdicts["nospaces.test"] in ("too short", "unknown language")
    assert [host for host, row in rows.items() if row["is_cut"]] == [
        row for row in rows if row in ("long.test", "nospaces.test", "same.test")
    ]
    assert "judged by their beginning" in samehand_command("fake", tmp_path / "run").err


def test_settings_of_the_run_decide(model: Path, tmp_path: Path) -> None:
    crawl = pages_of(tmp_path / "crawl", {"natural.test": article(5000), "made.test": chained(1)})
    base = Settings(language_model=str(model))
    for name, settings, wanted in (
        ("short", dataclasses.replace(base, min_judged_words=100_000), {"too short"}),
        ("all", dataclasses.replace(base, fake_threshold=0.0), {"fake"}),
        ("none", dataclasses.replace(base, fake_threshold=1.0), {"natural"}),
    ):
        run = samehand.scan(crawl, tmp_path / name, settings=settings, workers=1, signals=SIGNALS)
        assert set(run.folder.read_table(SCORES).column("verdict").to_pylist()) == wanted


def test_parts_of_other_pages_are_refused(run: samehand.Run, tmp_path: Path) -> None:
    import shutil

    from samehand.methods.language.scores import write_scores
    from samehand.store.folder import RunFolder

    shutil.copytree(run.folder.path, tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    part = folder.part_paths("language/pages")[0]
    folder.write_table(str(part.relative_to(folder.path)), folder.read_parts("language/pages").slice(1))
    with pytest.raises(RunError, match="--force"):
        write_scores(folder)


def test_texts_are_shortened_where_they_are_long() -> None:
    data = np.frombuffer(b"aaabbbbbcc", np.uint8)
    shorter, offsets, is_cut = _shortened(data, np.array([0, 3, 8, 10]), 3)
    assert (shorter.tobytes(), offsets.tolist(), is_cut.tolist()) == (b"aaabbbcc", [0, 3, 6, 8], [False, True, False])
    assert _shortened(data, np.array([0, 3]), 3)[0] is data


@pytest.fixture(scope="module")
def shipped_verdicts(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> Counter[tuple[str, str]]:
    """Kinds of the demo's pages and what the shipped detector says of them."""
    if not (SHIPPED_MODEL.is_file() and SHIPPED_DETECTOR.is_file()):
        pytest.skip("the English model is not there: python -m evaluation.english_model makes it")
    out = tmp_path_factory.mktemp("shipped") / "run"
    run = samehand.scan(str(demo.crawl), out, workers=1, signals=SIGNALS)
    with demo.truth.open(newline="") as handle:
        kinds = {row["url"]: row["kind"] for row in csv.DictReader(handle)}
    rows = run.folder.read_table(SCORES, ["url", "verdict"]).to_pylist()
    return Counter((kinds[row["url"]], row["verdict"]) for row in rows)


def test_the_shipped_detector_calls_no_honest_page_fake(shipped_verdicts: Counter[tuple[str, str]]) -> None:
    for kind in ("honest", "forum", "mirror", "copy"):
        assert shipped_verdicts[kind, "fake"] == 0


@pytest.mark.xfail(strict=True, reason="chains of 300 words, from a toy grammar whose honest pages are random too")
def test_the_shipped_detector_finds_the_chains_of_the_demo(shipped_verdicts: Counter[tuple[str, str]]) -> None:
    assert shipped_verdicts["markov", "natural"] == 0
