"""The programs in examples/ run on the demo crawl, and their answers are true."""

import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import samehand

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL = """
spark.sql.shuffle.partitions 2
spark.default.parallelism 2
spark.sql.codegen.wholeStage false
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
"""
"""Spark for a few hundred pages: 200 partitions, which is its default, take minutes."""
Example = Callable[..., list[str]]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Example:
    """Runs an example in this process and returns what it prints."""

    def run(name: str, *arguments: object) -> list[str]:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out.splitlines()

    return run


@pytest.fixture(scope="module")
def crawl(demo_run: samehand.Run) -> str:
    path: str = demo_run.manifest["inputs"][0]["path"]
    return path


def test_examples_are_short() -> None:
    sizes = {path.name: len(path.read_text().splitlines()) for path in EXAMPLES.glob("*.py")}
    assert sorted(sizes) == ["analyst.py", "corpus_builder.py", "crawl_operator.py", "explore.py", "on_spark.py"]
    assert all(20 <= lines <= 50 for lines in sizes.values()), sizes


def test_crawl_operator(example: Example, crawl: str, demo_run: samehand.Run, tmp_path: Path) -> None:
    farms, mirrors = (demo_run.clusters().filter(class_=kind) for kind in ("link farm", "mirror"))
    farm_sites = {site for row in farms for site in demo_run.members(row["cluster_number"])["site"]}
    ours = min(farm_sites)
    (tmp_path / "ours.txt").write_text(f"{ours}\n")
    lines = example("crawl_operator.py", crawl, tmp_path / "run", tmp_path / "ours.txt")
    reasons = dict(line.split("\t") for line in lines)
    # A list names the host where a page does not stand on the domain itself.
    farms_named = {name.removeprefix("blog.") for name, reason in reasons.items() if reason.endswith("link farm")}
    assert farms_named == farm_sites - {ours}
    mirrored = {host for row in mirrors for host in demo_run.members(row["cluster_number"])["host"]}
    dropped = {name for name, reason in reasons.items() if reason.endswith("mirror")}
    assert len(dropped) == len(mirrored) - len(mirrors)


def test_corpus_builder(example: Example, demo_run: samehand.Run, tmp_path: Path) -> None:
    members = demo_run.replica_members()
    alone = sorted(set(demo_run.pages()["page_id"]) - set(members["page_id"]))[:5]
    groups = {number: demo_run.replica_members(number)["page_id"][:4] for number in (1, 2)}
    pages = [page_id for ids in (alone, *groups.values()) for page_id in ids]
    documents = tmp_path / "documents.jsonl"
    with documents.open("w") as file:
        for page_id in pages:
            row = {"id": f"doc {page_id}", "url": f"http://x.example/{page_id}", "text": demo_run.text(page_id)}
            file.write(json.dumps(row) + "\n")
    (line,) = example("corpus_builder.py", documents, tmp_path / "run", tmp_path / "kept.txt")
    assert line.startswith("7 documents kept: 6 replica, 2 survivor")
    kept = {int(line.split()[1]) for line in (tmp_path / "kept.txt").read_text().splitlines()}
    assert kept >= set(alone)
    assert [len(kept & set(ids)) for ids in groups.values()] == [1, 1]


def test_analyst(example: Example, demo_run: samehand.Run, tmp_path: Path) -> None:
    members = demo_run.members(1)
    page = tmp_path / "bad.html"
    page.write_bytes(demo_run.content(members[3]))
    lines = example("analyst.py", demo_run.path, page, members[3]["url"], tmp_path / "case")
    sites = {site for site in members["site"] if site is not None}
    assert f"{len(sites)} sites are of the same hand" in lines[0]
    assert {line.strip() for line in lines[1:]} == sites
    files = {path.name for path in (tmp_path / "case").iterdir()}
    assert files == {"block.rpz", "evidence.json", "report.html", "SHA256SUMS"}
    assert (tmp_path / "case" / "block.rpz").read_text().count("\n*.") == len(sites)
    page.write_text("<p>nothing like it</p>")
    assert example("analyst.py", demo_run.path, page, "http://x.example/", tmp_path / "none") == [
        f"No page of {demo_run.path} is like http://x.example/."
    ]


def test_explore(example: Example, demo_run: samehand.Run) -> None:
    for name in ("duckdb", "pandas", "polars"):
        pytest.importorskip(name)
    shown = "\n".join(example("explore.py", demo_run.path))
    assert repr(demo_run) in shown
    assert "link farm" in shown
    assert "parked_sites" in shown
    assert demo_run.members(1)["host"][0][:20] in shown


@pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed")
@pytest.mark.skipif(importlib.util.find_spec("pyspark") is None, reason="pyspark is not installed")
def test_on_spark(crawl: str, demo_run: samehand.Run, tmp_path: Path) -> None:
    # A process of its own: the tests of Spark have a session with other settings in this one.
    (tmp_path / "spark-defaults.conf").write_text(SMALL)
    command = [sys.executable, str(EXAMPLES / "on_spark.py"), crawl, str(tmp_path / "run"), "local[2]"]
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    run = samehand.open_run(tmp_path / "run")
    assert done.stdout.strip() == repr(run.clusters().head(5))
    assert run.clusters()["style_cluster_id"] == demo_run.clusters()["style_cluster_id"]
