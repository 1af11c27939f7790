"""Growing runs: adding in steps gives what one scan gives, old names stay, and what changed is told."""

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator
from hypothesis import given
from hypothesis import strategies as st

import samehand
from runs import tables
from samehand.base.errors import RunMismatchError, UsageError
from samehand.cli.demo import DemoFiles
from samehand.methods.style.growth import growth_table
from samehand.sources import read_unit
from samehand.store.tables import STYLE_MEMBERS


@pytest.fixture(scope="module")
def steps(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The pages of the demo crawl in three files, in no order."""
    with demo.crawl.open("rb") as stream:
        records = [record.reader.read() for record in ArchiveIterator(stream, parse_http=True) if record.http_headers]
        stream.seek(0)
        urls = [
            record.headers["WARC-Target-URI"]
            for record in ArchiveIterator(stream, parse_http=True)
            if record.http_headers
        ]
    pages = [
        json.dumps({"url": url, "html": content.decode("utf-8", "replace")})
        for url, content in zip(urls, records, strict=True)
    ]
    random.Random(3).shuffle(pages)
    folder = tmp_path_factory.mktemp("steps")
    for number in range(3):
        (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress("\n".join(pages[number::3]).encode(), mtime=0))
    return sorted(folder.iterdir())


def answers(run: samehand.Run) -> dict[str, bytes]:
    """Every table but those that tell of the steps."""
    told = ("style/before.parquet", "style/growth.parquet")
    return {name: table for name, table in tables(run.folder.path).items() if name not in told}


def clusters_by_page(run: samehand.Run) -> dict[int, int]:
    return {row["page_id"]: row["style_cluster_id"] for row in run.folder.read(STYLE_MEMBERS).to_pylist()}


def test_adding_in_three_steps_equals_one_scan(steps: list[Path], tmp_path: Path) -> None:
    names = [str(step) for step in steps]
    whole = samehand.scan(names, tmp_path / "whole", workers=1, signals="all")
    grown = samehand.scan(names[0], tmp_path / "grown", workers=1, signals="all")
    before = clusters_by_page(grown)
    sizes: dict[int, int] = {}
    for cluster in before.values():
        sizes[cluster] = sizes.get(cluster, 0) + 1
    for name in names[1:]:
        grown = samehand.add(grown.folder.path, name, workers=1)
    assert answers(grown) == answers(whole)
    after = clusters_by_page(grown)
    kept = [after[page] == cluster for page, cluster in before.items() if sizes[cluster] > 1 and page == cluster]
    assert np.mean(kept) > 0.9  # a name goes only where clusters merge or part


def test_adding_reads_only_what_is_new_and_goes_on_after_a_kill(
    steps: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = samehand.scan(str(steps[0]), tmp_path / "run", workers=1, signals="style")
    looked: list[int] = []

    def reading(unit, settings):  # type: ignore[no-untyped-def]
        looked.append(unit.number)
        if unit.number == 2:
            raise KeyboardInterrupt
        return read_unit(unit, settings)

    monkeypatch.setattr("samehand.engine.tasks.read_unit", reading)
    with pytest.raises(KeyboardInterrupt):
        samehand.add(run.folder.path, [str(step) for step in steps[1:]], workers=1)
    assert looked == [1, 2]
    monkeypatch.undo()
    again = samehand.add(run.folder.path, [str(step) for step in steps[1:]], workers=1)
    assert set(again.folder.done.parts("pages")) == {0, 1, 2}
    assert again.manifest["growth"]["grew"] > 0  # compared with what was there before the first try
    assert answers(again) == answers(
        samehand.scan([str(step) for step in steps], tmp_path / "whole", workers=1, signals="style")
    )


def test_what_cannot_be_added_is_said(steps: list[Path], tmp_path: Path) -> None:
    copy = tmp_path / "a.jsonl.gz"
    copy.write_bytes(steps[0].read_bytes())
    run = samehand.scan(str(copy), tmp_path / "run", workers=1, signals="style")
    copy.write_bytes(steps[1].read_bytes())
    with pytest.raises(RunMismatchError, match="changed since"):
        samehand.add(run.folder.path, str(copy), workers=1)
    with pytest.raises(UsageError, match="save it to a file"):
        samehand.add(run.folder.path, "-", workers=1)


def test_command_tells_what_grew(steps: list[Path], tmp_path: Path, samehand_command: Callable[..., Any]) -> None:
    run = tmp_path / "run"
    assert samehand_command("-q", "scan", "--signals", "style", steps[0], "-o", run, "--workers", "1").code == 0
    added = samehand_command("add", run, steps[1], "--workers", "1", "--top", "3")
    assert added.code == 0
    assert added.out.split("\n")[0].split() == ["cluster", "kind", "before", "pages"]
    assert "grew" in added.err
    assert "since pages were added:" in samehand_command("status", run).out


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=24), st.integers(0, 24))
def test_growth_equals_a_plain_count(labels: list[tuple[int, int]], added: int) -> None:
    """Each page has an old and a new cluster; the last `added` pages are new."""
    pages = np.arange(len(labels))
    old = max(0, len(labels) - added)

    def named(numbers: list[int]) -> np.ndarray:
        return np.array([numbers.index(number) for number in numbers], np.int64)

    before, after = named([a for a, _ in labels[:old]]), named([b for _, b in labels])
    found = {row["style_cluster_id"]: row for row in growth_table(pages[:old], before, pages, after).to_pylist()}
    old_groups = {name: {p for p in range(old) if before[p] == name} for name in set(before.tolist())}
    old_groups = {name: group for name, group in old_groups.items() if len(group) > 1}
    new_groups = {name: {p for p in pages.tolist() if after[p] == name} for name in set(after.tolist())}
    new_groups = {name: group for name, group in new_groups.items() if len(group) > 1}
    for name, group in new_groups.items():
        was = sorted(old_name for old_name, old_group in old_groups.items() if group & old_group)
        if not was:
            kind = "new"
        elif len(was) > 1:
            kind = "merged"
        elif sum(bool(other & old_groups[was[0]]) for other in new_groups.values()) > 1:
            kind = "split"
        else:
            kind = "grew" if len(group) > len(old_groups[was[0]]) else ""
        assert (found[name]["kind"] if name in found else "") == kind
        if kind:
            assert found[name]["was"] == was
            assert found[name]["pages"] == len(group)
    assert set(found) <= set(new_groups)


def test_many_pages_against_a_run_are_what_each_alone_is(
    demo: DemoFiles, demo_run: samehand.Run, steps: list[Path], samehand_command: Callable[..., Any]
) -> None:
    urls = demo_run.pages(["url"])["url"][::60]
    queries = [(url, demo_run.content(url)) for url in urls]
    rows = [row for table in demo_run.like_each(queries, top=5) for row in table]
    for url, content in queries:
        alone = list(demo_run.like(content).pages.head(5))
        mine = [{key: row[key] for key in alone[0]} for row in rows if row["query"] == url]
        assert mine == alone
    told = samehand_command("like", demo_run.folder.path, steps[0], "--format", "jsonl", "--top", "1")
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert len({line["query"] for line in lines}) == len(lines) > 100
    assert {line["rank"] for line in lines} == {1}
