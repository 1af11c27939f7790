"""SQL over a run: every complete table, no file, nothing written; one sentence where it cannot be answered."""

import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import samehand
from samehand.store.tables import STYLE_CLUSTERS, TABLES

pytest.importorskip("duckdb", reason="DuckDB is not installed")


@pytest.fixture(scope="module")
def run(demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """The demo in a folder whose name is hard to quote."""
    folder = tmp_path_factory.mktemp("sql") / 'it\'s a "run"; -- [*] 100%'
    return samehand.open_run(shutil.copytree(demo_run.path, folder))


def test_every_table_can_be_asked(run: samehand.Run) -> None:
    there = [table for table in TABLES if run.folder.has(table)]
    names = [table.name.replace("/", "_") for table in there]
    assert run.sql("show tables")["name"] == sorted(names)
    for name, table in zip(names, there, strict=True):
        if table.in_parts:
            rows = sum(pq.read_metadata(path).num_rows for path in (run.path / table.path).glob("part-*.parquet"))
        else:
            rows = pq.read_metadata(run.path / table.path).num_rows
        assert run.sql(f"select count(*) as n from {name}")["n"] == [rows]
    stored = run.sql("select * from style_clusters order by cluster_number")
    assert stored.table.equals(run.folder.read(STYLE_CLUSTERS).cast(stored.table.schema))


def test_answers_are_plain(run: samehand.Run) -> None:
    found = run.sql(
        "select sum(pages) as pages, 1 as a, 2 as a, 3 as a_2, sum(1000000000000000000000000000000::hugeint) as huge "
        "from style_clusters"
    )
    assert found.columns == ["pages", "a", "a_2", "a_2_2", "huge"]
    assert found["pages"] == [sum(run.clusters()["pages"])]
    assert isinstance(found["pages"][0], int)
    assert [found[name] for name in ("a", "a_2", "a_2_2")] == [[1], [2], [3]]
    assert found["huge"][0] == len(run.clusters()) * 10**30


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from read_text('{run}/run.json')",
        "select * from read_blob('{run}/run.json')",
        "select * from read_parquet('{run}/style/clusters.parquet')",
        "select * from glob('{run}/*')",
        "copy (select 1) to '{run}/made'",
        "copy style_clusters to '{here}/made.parquet'",
        "copy style_clusters from '{run}/style/clusters.parquet'",
        "attach '{here}/made.db' as made",
        "attach '{here}/made.db' as made; create table made.x as select 1",
        "export database '{here}/made'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "set allowed_directories = ['/']",
        "set temp_directory = '{here}/made'",
        "set python_enable_replacements = true",
        "pragma enable_profiling='json'",
        "set log_query_path = '{here}/made'",
        "create secret s (type s3)",
        "select * from secret",
        "insert into style_clusters select * from style_clusters",
        "delete from style_clusters",
        "select getenv('HOME')",
    ],
)
def test_nothing_else_is_read_or_written(run: samehand.Run, tmp_path: Path, query: str) -> None:
    secret = run.clusters().table  # a variable of the program
    before = {path: path.stat().st_mtime_ns for path in run.path.rglob("*")}
    quoted = str(run.path).replace("'", "''")
    with pytest.raises(samehand.UsageError) as raised:
        run.sql(query.replace("{run}", quoted).replace("{here}", str(tmp_path)))
    assert str(raised.value).startswith("DuckDB cannot answer that: ")
    assert str(raised.value).isprintable()
    assert {path: path.stat().st_mtime_ns for path in run.path.rglob("*")} == before
    assert list(tmp_path.iterdir()) == []
    assert secret.num_rows


def test_wrong_queries_get_one_sentence(run: samehand.Run) -> None:
    for query, wanted in {
        "selec": 'syntax error at or near "selec".',
        "select * from style_cluster": 'Did you mean "style_clusters"? The tables are: pages, rejects, ',
        "select clusternumber from style_clusters": "clusternumber",
        "select cast('\x1b[31m\n' as int)": "\\x1b[31m",
        "create table t as select 1": "give a select",
        "": "give a select",
        f"select '{'x' * 5000}'::int": "…",
    }.items():
        with pytest.raises(samehand.UsageError) as raised:
            run.sql(query)
        assert wanted in str(raised.value)
        assert str(raised.value).isprintable()
        assert len(str(raised.value)) < 800


def test_tables_of_a_method_that_is_not_complete_are_not_there(demo_run: samehand.Run, tmp_path: Path) -> None:
    run = samehand.open_run(shutil.copytree(demo_run.path, tmp_path / "run"))
    run.folder.done.remove("style")
    with pytest.raises(samehand.UsageError, match="Table with name style_clusters does not exist"):
        run.sql("select * from style_clusters")
    (run.path / "replica/groups.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(samehand.SamehandError) as raised:
        run.sql("select * from replica_groups")
    assert str(raised.value).isprintable()


def test_duckdb_is_an_extra(run: samehand.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(samehand.SamehandError, match=r"pip install 'samehand\[sql\]'"):
        run.sql("select 1")


def test_duckdb_takes_a_result(run: samehand.Run) -> None:
    import duckdb

    clusters = run.clusters()
    with duckdb.connect() as database:
        database.register("clusters", clusters)
        assert database.execute("select count(*) from clusters").fetchone() == (len(clusters),)
