"""Reading on Spark: the same parts as the local engine writes, byte for byte, whatever dies on the way."""

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engines.conftest import executors_of, kill_one_executor
from samehand.base.errors import RunWriteError, SamehandError, UsageError
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.engine.local import LocalEngine
from samehand.engine.progress import Progress
from samehand.engine.spark import SparkEngine, connect
from samehand.engine.spark.remote import remote_inputs
from samehand.engine.tasks import READ, Task, TaskOutcome
from samehand.sources import Unit, find_sources, plan_units
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES

SETTINGS = Settings(split_bytes=200_000)
TABLES = ("pages", "rejects", "style/fingerprints")
NAMES = {"pages": ["source_path", "warc_filename"], "rejects": ["source_path"]}


def tasks_of(units: Sequence[Unit]) -> list[Task]:
    return [Task(unit, (READ, "style")) for unit in units]


def folder_in(path: Path) -> RunFolder:
    path.mkdir()
    return RunFolder(path)


def read(engine: Any, folder: RunFolder, tasks: Sequence[Task], tell: Any = lambda _: None) -> list[TaskOutcome]:
    outcomes = list(engine.read(folder, tasks, SETTINGS, tell))
    return sorted(outcomes, key=lambda outcome: outcome.task.unit.number)


def parts(folder: RunFolder) -> dict[str, bytes]:
    files = (path for table in TABLES for path in (folder.path / table).iterdir())
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in files}


def records(outcomes: Sequence[TaskOutcome]) -> list[dict[str, Any] | None]:
    """What the outcomes say, apart from how long it took."""
    return [outcome.record and {**outcome.record, "seconds": 0} for outcome in outcomes]


@pytest.fixture(scope="module")
def units(demo: DemoFiles) -> list[Unit]:
    return plan_units(find_sources([str(demo.crawl)])[0], SETTINGS.split_bytes)


@pytest.fixture(scope="module")
def local(units: list[Unit], tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, list[TaskOutcome]]:
    folder = folder_in(tmp_path_factory.mktemp("local") / "run")
    return folder, read(LocalEngine(1), folder, tasks_of(units))


def test_parts_and_outcomes_are_those_of_the_local_engine(spark, units, local, tmp_path) -> None:
    told: list[Progress] = []
    folder = folder_in(tmp_path / "run")
    outcomes = read(SparkEngine(spark), folder, tasks_of(units), told.append)
    assert len(units) > 3
    assert records(outcomes) == records(local[1])
    assert parts(folder) == parts(local[0])
    assert sorted(progress.unit for progress in told) == [unit.number for unit in units]
    assert not list(folder.path.rglob("*.writing"))


def test_one_executor_killed_in_the_middle(spark, units, local, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("samehand.engine.spark.reading._POLL_SECONDS", 0.02)
    copies = [dataclasses.replace(unit, number=unit.number + 100 * copy) for copy in range(5) for unit in units]
    folder = folder_in(tmp_path / "run")
    killed: list[int] = []

    def kill_once(_: Progress) -> None:
        if not killed:
            killed.append(kill_one_executor(spark))
            assert len(list((folder.path / "done").glob("pages-*.json"))) < len(copies), "killed too late"

    outcomes = read(SparkEngine(spark), folder, tasks_of(copies), kill_once)
    assert len(killed) == 1
    assert killed[0] not in executors_of(spark)
    assert records(outcomes)[: len(units)] == records(local[1])
    written, expected = parts(folder), parts(local[0])
    assert {name: written[name] for name in expected} == expected
    assert len(written) == 5 * len(expected)


def test_a_source_that_vanished_is_counted_as_by_the_local_engine(spark, demo, tmp_path) -> None:
    shutil.copyfile(demo.crawl, tmp_path / "gone.warc.gz")
    gone = plan_units(find_sources([str(tmp_path / "gone.warc.gz")])[0], 1 << 40)
    (tmp_path / "gone.warc.gz").unlink()
    here, there = folder_in(tmp_path / "local"), folder_in(tmp_path / "spark")
    outcomes = read(SparkEngine(spark), there, tasks_of(gone))
    assert records(outcomes) == records(read(LocalEngine(1), here, tasks_of(gone)))
    assert outcomes[0].record is not None
    assert outcomes[0].record["rejected"] == {"unreadable_file": 1}
    assert parts(there) == parts(here)


def test_a_unit_that_no_worker_survives_fails_alone(spark, units, local, tmp_path) -> None:
    # A kind that no reader knows is an error in the worker, every time, as a crash of it would be.
    poison = dataclasses.replace(units[0], number=50, source=dataclasses.replace(units[0].source, kind="poison"))
    folder = folder_in(tmp_path / "run")
    *outcomes, failed = read(SparkEngine(spark), folder, tasks_of([*units, poison]))
    assert records(outcomes) == records(local[1])
    assert parts(folder) == parts(local[0])
    assert failed.record is None
    assert "poison" in failed.failure


def test_a_folder_that_cannot_be_written_is_said_once(spark, units, tmp_path) -> None:
    folder = folder_in(tmp_path / "run")
    (folder.path / "pages").write_text("in the way")
    with pytest.raises(RunWriteError, match="Cannot write to"):
        read(SparkEngine(spark), folder, tasks_of(units[:2]))


def test_a_folder_the_executors_do_not_have_is_said(spark, units, tmp_path) -> None:
    with pytest.raises(RunWriteError, match="share"):
        read(SparkEngine(spark), RunFolder(tmp_path / "nowhere"), tasks_of(units[:1]))


def without_names(folder: RunFolder, table: str) -> pa.Table:
    tables = (pq.read_table(path) for path in sorted((folder.path / table).iterdir()))
    return pa.concat_tables(tables).drop_columns(NAMES.get(table, []))


@pytest.mark.parametrize("place", ["file://{folder}/crawls", "viewfs://test/crawls"])
def test_inputs_on_any_file_system(spark, spark_folder, place, demo, units, local, tmp_path) -> None:
    shutil.copyfile(demo.crawl, spark_folder / "crawls" / "a [1] crawl.warc.gz")
    (spark_folder / "crawls" / "b.txt").write_text("no crawl")
    given = place.format(folder=spark_folder)
    sources, remote, rejects = remote_inputs(spark, [given, f"{given}/*.gz"], settings=SETTINGS)
    assert [(unit.number, unit.start, unit.end) for unit in remote] == [
        (unit.number, unit.start, unit.end) for unit in units
    ]
    assert [(source.kind, source.digest) for source in sources] == [(units[0].source.kind, units[0].source.digest)]
    assert [reject.reason for reject in rejects] == ["unknown_format"]
    folder = folder_in(tmp_path / "run")
    outcomes = read(SparkEngine(spark), folder, tasks_of(remote))
    assert [outcome.record and outcome.record["unit"] for outcome in outcomes] == [unit.as_dict() for unit in remote]
    for table in TABLES:
        assert without_names(folder, table).equals(without_names(local[0], table))
    names = pq.read_table(folder.part_path(PAGES, 0), columns=["source_path"]).column(0).unique().to_pylist()
    assert names == [sources[0].name]
    assert folder.done.get("pages-000000") == outcomes[0].record


def test_a_path_that_is_not_there_is_a_mistake_of_usage(spark, tmp_path) -> None:
    with pytest.raises(UsageError, match="finds nothing"):
        remote_inputs(spark, [f"file://{tmp_path}/nothing.warc.gz"], settings=SETTINGS)


def test_without_java_one_sentence_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SamehandError, match=r"samehand\[spark\].*openjdk-17-jre-headless"):
        connect("local[1]")
