"""One answer: the local engine with any number of workers and a Spark of several processes, row for row."""

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import samehand
from engines.conftest import executors_of, kill_one_executor
from engines.planted import SETTINGS, planted, write_run
from generated_pages import MIXED, written
from samehand.answers.sites import judge
from samehand.base.errors import SamehandError, UsageError
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.engine.engine import Engine
from samehand.engine.local import LocalEngine
from samehand.engine.progress import Progress, silent
from samehand.engine.spark import SparkEngine
from samehand.engine.spark.session import configured
from samehand.grouping.cuts import SUPPORT_SAMPLE
from samehand.methods.registry import methods
from samehand.methods.style.clusters import read_forest
from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_FINGERPRINTS, STYLE_MEMBERS, TABLES

SPLIT = Settings(split_bytes=200_000)
ENGINES = ("local-2", "spark")
SHUFFLED = ("style", "replica")
"""The methods that Spark groups by shuffles."""


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; Spark's is skipped, with the reason, where Spark cannot run."""
    if request.param == "spark":
        return SparkEngine(request.getfixturevalue("spark"))
    return LocalEngine(int(request.param.rpartition("-")[2]))


def scan_all(demo: DemoFiles, out: Path, engine: Engine, tell: Any = silent) -> samehand.Run:
    """All methods: three while pages are read, sites afterwards, with the name servers that the demo comes with."""
    signals = ("style", "replica", "language", "phrases")
    run = samehand.scan(str(demo.crawl), out, settings=SPLIT, engine=engine, signals=signals, on_progress=tell)
    judge(run, nameservers=demo.nameservers, engine=engine, on_progress=tell)
    return run


@pytest.fixture(scope="module")
def expected(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a single worker makes of the demo crawl."""
    return scan_all(demo, tmp_path_factory.mktemp("expected") / "run", LocalEngine(1)).path


def stored_tables(run: Path) -> dict[str, pa.Table]:
    """Every table of a run, rows as they are stored."""
    return {str(path.relative_to(run)): pq.read_table(path) for path in sorted(run.rglob("*.parquet"))}


def counted(run: Path) -> dict[str, Any]:
    """What run.json says was done, apart from how long it took."""
    stages = samehand.open_run(run).manifest["stages"]
    return {
        stage: {name: value for name, value in found.items() if "seconds" not in name}
        for stage, found in stages.items()
    }


def assert_same_run(run: Path, expected: Path) -> None:
    found, wanted = stored_tables(run), stored_tables(expected)
    assert sorted(found) == sorted(wanted)
    for name, table in wanted.items():
        assert found[name].schema.equals(table.schema), name
        assert found[name].equals(table), name
    assert counted(run) == counted(expected)
    assert not (run / "spark").exists()


def test_all_methods(engine: Engine, demo: DemoFiles, expected: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    run = scan_all(demo, tmp_path / "run", engine, told.append)
    assert_same_run(tmp_path / "run", expected)
    tables = stored_tables(expected)
    assert len([name for name in tables if name.startswith("pages/")]) > 3
    stated = {table.path for table in TABLES if not table.in_parts and table.method in methods()}
    written = {name for name, table in tables.items() if table.num_rows}
    none = {"style/before.parquet", "style/growth.parquet"}
    none |= {"phrases/members.parquet", "phrases/groups.parquet"}  # the demo has none: test_text_groups
    assert stated - written == none
    for name in methods():
        assert counted(expected)[name]
        steps = [progress for progress in told if progress.stage == "group" and progress.method == name]
        assert not steps or steps[-1].done == steps[-1].total
    # It is a run as any other.
    other = samehand.open_run(expected)
    assert run.members(1).table.equals(other.members(1).table)
    page = run.members(1).table.column("page_id")[0].as_py()
    assert run.like(page).pages.table.equals(other.like(page).pages.table)
    assert run.clusters(cut=0.4).table.equals(other.clusters(cut=0.4).table)
    for survivor in ("first", "longest", "oldest", "centre"):
        assert run.keep_drop(survivor).table.equals(other.keep_drop(survivor).table)


def test_text_groups(engine: Engine, tmp_path: Path) -> None:
    """The demo has none: a spinner and a template, on every engine."""
    source = written(tmp_path / "pages.jsonl", MIXED)
    split = Settings(split_bytes=20_000)
    one = samehand.scan(source, tmp_path / "one", settings=split, engine=LocalEngine(1), signals="phrases")
    assert len(one.phrases()) == 2
    samehand.scan(source, tmp_path / "run", settings=split, engine=engine, signals="phrases")
    assert_same_run(tmp_path / "run", one.path)


@pytest.fixture
def two_inputs(tmp_path: Path) -> list[str]:
    """Two files of pages of a few templates on many sites."""
    rng = np.random.default_rng(3)
    lines = []
    for number in range(160):
        template, text = number % 5, np.random.default_rng(number)
        words = " ".join("word" + "".join(text.choice(list("abcdefghij"), 5)) for _ in range(60))
        marks = "".join(np.random.default_rng(template).choice(list("!?;:,.()[]{}+*-/&%$#"), 300))
        html = f"<html><title>{words[:20]}</title><body><p class='{marks}'>{words}</p><a href='/x'>x</a></body></html>"
        lines.append(json.dumps({"url": f"http://site{number}.com/", "html": html, "id": f"n{number}"}) + "\n")
    rng.shuffle(lines)
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    paths[0].write_text("".join(lines[:100]))
    paths[1].write_text("".join(lines[100:]))
    return [str(path) for path in paths]


def test_an_addition(spark, two_inputs: list[str], tmp_path: Path) -> None:
    signals = ("style", "sites")
    whole = samehand.scan(two_inputs, tmp_path / "whole", workers=1, signals=signals)
    grown = samehand.scan(two_inputs[0], tmp_path / "grown", workers=1, signals=signals)
    samehand.add(grown.path, two_inputs[1], engine=SparkEngine(spark))
    growth = stored_tables(grown.path)["style/growth.parquet"]
    assert "grew" in growth.column("kind").to_pylist()
    for name in ("style/before.parquet", "style/growth.parquet"):
        (grown.path / name).unlink()
    assert_same_run(grown.path, whole.path)
    assert len(whole.clusters()) == 5


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Planted rows in four parts, one of them of a single page and one of none."""
    values = planted(1, crowd=1_600, worm=60)
    return write_run(tmp_path_factory.mktemp("planted") / "run", values, (900, 901))


@pytest.fixture(scope="module")
def wanted(synthetic: RunFolder) -> dict[str, tuple[dict[str, Any], dict[str, pa.Table]]]:
    """Counts and tables of the planted run, as one thread finds them."""
    return {name: group(LocalEngine(1), synthetic, name) for name in SHUFFLED}


def group(engine: Engine, folder: RunFolder, name: str, tell: Any = silent) -> tuple[dict[str, Any], dict[str, Any]]:
    """The counts and the tables of a method."""
    method = methods()[name]
    folder.remove(method.tables)
    counts = engine.group(method, folder, SETTINGS, tell)
    return counts, {table.name: folder.read(table) for table in method.tables}


def small_batches(engine: Engine) -> contextlib.AbstractContextManager[None]:
    """Spark hands over rows in batches that part twins, buckets and components."""
    if not isinstance(engine, SparkEngine):
        return contextlib.nullcontext()
    return configured(engine.session, "spark.sql.execution.arrow.maxRecordsPerBatch", 997)


def test_crowded_buckets_chains_families_and_twins(engine: Engine, synthetic: RunFolder, wanted) -> None:
    """On Spark an executor is killed in the middle."""
    killed: list[int] = []
    timer = threading.Timer(0.5, lambda: killed.append(kill_one_executor(engine.session)))

    def kill(progress: Progress) -> None:
        if progress.done == 1 and isinstance(engine, SparkEngine):
            timer.start()

    with small_batches(engine):
        assert group(engine, synthetic, "style", kill) == wanted["style"]
    if isinstance(engine, SparkEngine):
        timer.join()
        assert len(killed) == 1
        assert killed[0] not in executors_of(engine.session)


def test_crowded_buckets_chains_and_twins_of_documents(
    engine: Engine, synthetic: RunFolder, wanted, monkeypatch
) -> None:
    monkeypatch.setattr("samehand.engine.spark.components.FEW_LINKS", 0)  # rounds, however small the graph
    with small_batches(engine):
        assert group(engine, synthetic, "replica") == wanted["replica"]
    assert not (synthetic.path / "spark").exists()


def test_what_is_planted_gives_grouping_all_its_work(synthetic: RunFolder, wanted) -> None:
    counts, tables = wanted["style"]
    assert counts["large_buckets"] > 20
    assert counts["equal"] > 80
    assert counts["too_small"] > 20
    assert counts["clusters"] > 20
    assert counts["leader_cap_hits"] > 0
    # Links that need support, between groups of more pages than are asked for it; some do not get it.
    rows = len(synthetic.page_ids)
    labels, families = np.arange(rows), np.arange(rows)
    members = tables[STYLE_MEMBERS.name]
    places = synthetic.page_ids.rows(members.column("page_id").to_numpy())
    labels[places] = synthetic.page_ids.rows(members.column("style_cluster_id").to_numpy())
    families[places] = synthetic.page_ids.rows(members.column("style_family_id").to_numpy())
    forest = read_forest(synthetic)
    weak = forest[forest.similarities < SETTINGS.weak_link_below]
    sizes = np.bincount(labels)[labels]
    assert (sizes[weak.pairs] > SUPPORT_SAMPLE).all(axis=1).sum() > 10
    stood = families[weak.pairs[:, 0]] == families[weak.pairs[:, 1]]
    assert 0 < stood.sum() < len(weak)
    counts, tables = wanted["replica"]
    assert counts["leader_cap_hits"] > 0
    documents = tables["replica/groups"].column("documents").to_pylist()
    assert documents[0] > 64  # its medoid is judged by a sample
    assert len([size for size in documents if size > 4]) > 3  # the chain, in pieces
    assert {-1, -2} < set(tables["replica/members"].column("lexicon").to_pylist())
    assert {"lexicon", "words", "pairs"} == set(tables["replica/members"].column("found_by").to_pylist())
    assert tables["replica/shares"].num_rows > 20


def test_nothing_alike(spark, tmp_path: Path) -> None:
    alone = np.random.default_rng(5).integers(0, 1 << 31, (3, SETTINGS.dimensions), dtype=np.uint32)
    folder = write_run(tmp_path / "run", alone)
    local = group(LocalEngine(1), folder, "style")
    assert (local[0]["rows"], local[0]["checks"], local[0]["clusters"]) == (3, 0, 0)
    assert group(SparkEngine(spark), folder, "style") == local


def test_a_part_the_executors_cannot_read_is_said_in_one_sentence(spark, tmp_path) -> None:
    folder = write_run(tmp_path / "run", planted(3, crowd=8, worm=2))
    path = folder.part_path(STYLE_FINGERPRINTS, 1)
    data = bytearray(path.read_bytes())
    data[:-3000] = bytes(len(data) - 3000)  # its end, which says how many rows there are, is whole
    path.write_bytes(data)
    with pytest.raises(SamehandError, match="Spark cannot group the pages"):
        group(SparkEngine(spark), folder, "style")
    assert not (folder.path / "spark").exists()


def test_paths_and_uris_are_not_mixed(spark, demo, tmp_path) -> None:
    with pytest.raises(UsageError, match="give all inputs as URIs"):
        SparkEngine(spark).plan([str(demo.crawl), demo.crawl.as_uri()], tmp_path, SPLIT)


def test_inputs_given_as_uris(spark, demo, tmp_path) -> None:
    near = SparkEngine(spark).plan([str(demo.crawl)], tmp_path, SPLIT)
    far = SparkEngine(spark).plan([demo.crawl.as_uri()], tmp_path, SPLIT)
    assert near == LocalEngine(1).plan([str(demo.crawl)], tmp_path, SPLIT)
    assert [(unit.number, unit.start, unit.end) for unit in far.units] == [
        (unit.number, unit.start, unit.end) for unit in near.units
    ]
    assert [source.digest for source in far.sources] == [source.digest for source in near.sources]
