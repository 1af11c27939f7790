"""One answer: the local engine with any number of workers and a Spark of several processes, row for row."""

import contextlib
import dataclasses
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import samehand
from engines.conftest import executors_of, kill_one_executor
from engines.fingerprints import SETTINGS, planted, write_run
from samehand.base.errors import RunError, SamehandError, UsageError
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.engine.local import LocalEngine
from samehand.engine.pipeline import Engine
from samehand.engine.spark import SparkEngine
from samehand.engine.spark.session import configured
from samehand.engine.tasks import Progress
from samehand.grouping.cuts import SUPPORT_SAMPLE
from samehand.store.folder import RunFolder

SPLIT = Settings(split_bytes=200_000)
SIGNALS = ("style", "replica")
ENGINES = ("local-1", "local-2", "local-4", "spark")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn; Spark's is skipped, with the reason, where Spark cannot run."""
    if request.param == "spark":
        return SparkEngine(request.getfixturevalue("spark"))
    return LocalEngine(int(request.param.rpartition("-")[2]))


@pytest.fixture(scope="module")
def expected(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a single worker makes of the demo crawl."""
    out = tmp_path_factory.mktemp("expected") / "run"
    samehand.scan(str(demo.crawl), out, settings=SPLIT, engine=LocalEngine(1), signals=SIGNALS)
    return out


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Any]:
    """Planted fingerprints in three parts, and their groups as one thread finds them."""
    values = planted(1, crowd=2_500, worm=60)
    folder = write_run(tmp_path_factory.mktemp("planted") / "run", np.array_split(values, [900, 901]))
    return folder, LocalEngine(1).group_styles(folder, SETTINGS, lambda _: None)


def tables(run: Path) -> dict[str, pa.Table]:
    """Every table of a run, rows as they are stored."""
    return {str(path.relative_to(run)): pq.read_table(path) for path in sorted(run.rglob("*.parquet"))}


def facts(run: Path) -> dict[str, Any]:
    """What run.json says was done, apart from how long it took."""
    stages = samehand.open_run(run).manifest["stages"]
    return {
        stage: {name: value for name, value in found.items() if "seconds" not in name}
        for stage, found in stages.items()
    }


def assert_same_run(run: Path, expected: Path) -> None:
    found, wanted = tables(run), tables(expected)
    assert sorted(found) == sorted(wanted)
    for name, table in wanted.items():
        assert found[name].equals(table), name
    assert facts(run) == facts(expected)


def assert_same_groups(found: Any, wanted: Any) -> None:
    """Whether dataclasses of arrays are equal in every bit and type."""
    for field in dataclasses.fields(wanted):
        left, right = getattr(found, field.name), getattr(wanted, field.name)
        if dataclasses.is_dataclass(right):
            assert_same_groups(left, right)
        else:
            assert np.asarray(left).dtype == np.asarray(right).dtype, field.name
            assert np.array_equal(left, right), field.name


def small_batches(engine: Engine) -> contextlib.AbstractContextManager[None]:
    """Spark hands over rows in batches that part twins, buckets and components."""
    if not isinstance(engine, SparkEngine):
        return contextlib.nullcontext()
    return configured(engine.session, "spark.sql.execution.arrow.maxRecordsPerBatch", 997)


def test_a_scan(engine: Engine, demo: DemoFiles, expected: Path, tmp_path: Path) -> None:
    told: list[Progress] = []
    run = samehand.scan(
        str(demo.crawl), tmp_path / "run", settings=SPLIT, engine=engine, signals=SIGNALS, progress=told.append
    )
    assert_same_run(tmp_path / "run", expected)
    assert len(list((tmp_path / "run" / "pages").iterdir())) > 3
    assert {"style/members.parquet", "style/edges.parquet", "replica/members.parquet"} <= set(tables(expected))
    assert [progress.done for progress in told if progress.stage == "group"][-1:] == [told[-1].total]
    assert not (tmp_path / "run" / "style" / "spark").exists()
    # It is a run as any other.
    opened, other = samehand.open_run(tmp_path / "run"), samehand.open_run(expected)
    best = run.clusters().column("cluster_id")[0].as_py()
    assert opened.members(best).equals(other.members(best))
    page = opened.members(best).column("page_id")[0].as_py()
    assert opened.like(page).pages.equals(other.like(page).pages)
    assert opened.clusters(cut=0.4).equals(other.clusters(cut=0.4))


def test_crowded_buckets_worms_families_and_twins(engine: Engine, synthetic, monkeypatch) -> None:
    monkeypatch.setattr("samehand.engine.spark.components.FEW_LINKS", 0)  # rounds, however small the graph
    folder, (wanted, counts) = synthetic
    with small_batches(engine):
        grouped, found = engine.group_styles(folder, SETTINGS, lambda _: None)
    assert found == counts
    assert_same_groups(grouped, wanted)
    assert counts.large_buckets > 20
    assert counts.equal > 80
    assert counts.too_small > 20
    assert len(wanted.clusters.labels) > 20
    # Links that need support, between groups of more pages than are asked for it; some do not get it.
    weak = wanted.forest[wanted.forest.similarities < SETTINGS.weak_link_below]
    sizes = np.bincount(wanted.labels)[wanted.labels]
    assert (sizes[weak.pairs] > SUPPORT_SAMPLE).all(axis=1).sum() > 10
    stood = wanted.families[weak.pairs[:, 0]] == wanted.families[weak.pairs[:, 1]]
    assert 0 < stood.sum() < len(weak)


def test_nothing_alike(engine: Engine, tmp_path: Path) -> None:
    alone = np.random.default_rng(5).integers(0, 1 << 31, (3, SETTINGS.dimensions), dtype=np.uint32)
    folder = write_run(tmp_path / "run", [alone])
    grouped, counts = engine.group_styles(folder, SETTINGS, lambda _: None)
    assert (counts.rows, counts.checks, len(grouped.forest), grouped.clusters.members.size) == (3, 0, 0, 0)
    assert grouped.labels.tolist() == grouped.families.tolist() == [0, 1, 2]


def test_an_executor_killed_in_the_middle_of_grouping(spark, synthetic) -> None:
    killed: list[int] = []
    timer = threading.Timer(0.5, lambda: killed.append(kill_one_executor(spark)))

    def kill(progress: Progress) -> None:
        if progress.done == 1:
            timer.start()

    grouped, counts = SparkEngine(spark).group_styles(synthetic[0], SETTINGS, kill)
    timer.join()
    assert len(killed) == 1
    assert killed[0] not in executors_of(spark)
    assert counts == synthetic[1][1]
    assert_same_groups(grouped, synthetic[1][0])


def test_a_part_the_executors_cannot_read_is_said_in_one_sentence(spark, tmp_path) -> None:
    folder = write_run(tmp_path / "run", [planted(3, crowd=8, worm=2)])
    path = folder.part_paths("style/fingerprints")[0]
    data = bytearray(path.read_bytes())
    data[:-3000] = bytes(len(data) - 3000)  # its end, which says how many rows there are, is whole
    path.write_bytes(data)
    with pytest.raises(SamehandError, match="Spark cannot group the pages"):
        SparkEngine(spark).group_styles(folder, SETTINGS, lambda _: None)
    assert not (folder.path / "style" / "spark").exists()
    path.write_bytes(data[:-100])
    with pytest.raises(RunError, match="damaged"):
        SparkEngine(spark).group_styles(folder, SETTINGS, lambda _: None)


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
