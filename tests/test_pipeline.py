"""The whole way: one answer whatever the workers, whatever was killed, whatever the input did."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator

import samehand
from runs import copy_of, kinds_of, tables, truth_of
from samehand.base.errors import InputError, RunBusyError, RunMismatchError, RunWriteError
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.engine import local, tasks
from samehand.methods.registry import SIGNALS
from samehand.store.folder import RunFolder

SPLIT = Settings(split_bytes=120_000)


@pytest.fixture(scope="module")
def split_run(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    return samehand.scan(str(demo.crawl), tmp_path_factory.mktemp("split") / "run", settings=SPLIT, workers=1)


def test_demo_clusters_agree_with_the_truth(demo: DemoFiles, demo_run: samehand.Run) -> None:
    """No cluster mixes two hands, and every hand of three pages and more is found, nearly whole."""
    hands = {url: row["hand"] for url, row in truth_of(demo).items()}
    members = demo_run.folder.read_table("style/members.parquet").to_pylist()
    clusters: dict[int, list[str]] = {}
    for member in members:
        clusters.setdefault(member["cluster_id"], []).append(hands[member["url"]])
    mixed = {cluster: Counter(found) for cluster, found in clusters.items() if len(set(found)) > 1}
    assert mixed == {}
    sizes = Counter(hands.values())
    largest = Counter()
    for found in clusters.values():
        largest[found[0]] = max(largest[found[0]], len(found))
    shares = {hand: largest[hand] / size for hand, size in sizes.items() if size >= 3}
    assert min(shares.values()) >= 0.5, shares
    assert sum(largest[hand] for hand in shares) / sum(sizes[hand] for hand in shares) >= 0.85, shares


def test_demo_rank_puts_hands_of_many_domains_first(demo: DemoFiles, demo_run: samehand.Run) -> None:
    kinds = kinds_of(demo)
    top = demo_run.clusters().slice(0, 6).to_pylist()
    assert {kinds[row["centre_url"]] for row in top} <= {"forum", "farm", "parked", "copy"}
    scores = demo_run.clusters().column("score").to_pylist()
    assert scores == sorted(scores, reverse=True)


def test_every_record_ends_as_a_page_a_reject_or_a_skip(demo: DemoFiles, demo_run: samehand.Run) -> None:
    with demo.crawl.open("rb") as handle:
        records = sum(1 for _ in ArchiveIterator(handle))
    read = demo_run.manifest["stages"]["read"]
    assert read["pages"] + read["rejects"] + sum(read["skipped"].values()) == records
    assert set(read["skipped"]) == {"request", "warcinfo", "metadata"}
    assert demo_run.pages().num_rows == read["pages"]
    assert demo_run.rejects().num_rows == read["rejects"]
    assert Counter(demo_run.rejects().column("reason").to_pylist()) == read["reasons"]


def test_members_hold_every_grouped_page_once(demo_run: samehand.Run) -> None:
    members = demo_run.folder.read_table("style/members.parquet")
    assert members.column_names == ["url", "page_id", "cluster_id", "family_id", "similarity"]
    ids = members.column("page_id").to_pylist()
    assert len(ids) == len(set(ids))
    sizes = Counter(members.column("cluster_id").to_pylist())
    clusters = demo_run.clusters().to_pylist()
    assert {row["cluster_id"]: row["pages"] for row in clusters} == {k: v for k, v in sizes.items() if v > 1}
    smallest: dict[int, int] = {}
    for row in members.to_pylist():
        smallest[row["cluster_id"]] = min(row["page_id"], smallest.get(row["cluster_id"], row["page_id"]))
    assert all(cluster == page for cluster, page in smallest.items())


def test_workers_do_not_change_a_byte(demo: DemoFiles, tmp_path: Path) -> None:
    """Whatever the method; one worker is this process, two are processes of their own."""
    one, two = (
        samehand.scan(str(demo.crawl), tmp_path / f"{n}", settings=SPLIT, workers=n, signals=tuple(SIGNALS)).folder.path
        for n in (1, 2)
    )
    assert tables(one) == tables(two)
    assert len(list((two / "pages").iterdir())) > 8
    assert {name.split("/")[0] for name in tables(one)} >= {"pages", "style", "replica", "language"}


def test_splitting_does_not_change_the_pages(style_run: samehand.Run, split_run: samehand.Run) -> None:
    whole, split = (
        run.pages().drop_columns(["page_id"]).sort_by([("warc_record_offset", "ascending")])
        for run in (style_run, split_run)
    )
    assert whole.equals(split)
    assert sorted(style_run.clusters().column("pages").to_pylist()) == sorted(
        split_run.clusters().column("pages").to_pylist()
    )


def scan_process(demo: DemoFiles, out: Path, workers: int = 2) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "samehand.cli.main", "-q", "scan", str(demo.crawl), "-o", str(out)]
    command += ["--split-bytes", "120000", "--workers", str(workers)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)


def wait_for_parts(process: "subprocess.Popen[bytes]", out: Path, parts: int) -> None:
    """Until so many parts are done, or the process has ended."""
    while process.poll() is None and len(list(out.glob("done/pages-*.json"))) < parts:
        time.sleep(0.005)


def test_killed_at_any_moment_and_run_again_gives_the_same_bytes(
    demo: DemoFiles, split_run: samehand.Run, tmp_path: Path
) -> None:
    """kill -9 at ten random stages, with and without worker processes, each followed by a run to the end."""
    moments, parts = random.Random(11), len(list((split_run.folder.path / "pages").iterdir()))
    unfinished = 0
    for attempt in range(10):
        out = tmp_path / f"run-{attempt}"
        process = scan_process(demo, out, workers=1 + attempt % 2)
        wait_for_parts(process, out, moments.randint(1, parts))
        time.sleep(moments.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        unfinished += not (out / "done" / "style.json").exists()
        samehand.scan(str(demo.crawl), out, settings=SPLIT, workers=1)
        assert tables(out) == tables(split_run.folder.path)
        assert not list(out.rglob("*.writing"))
    assert unfinished >= 5, "too few kills came in time: the test shows little"


def test_interrupt_leaves_a_run_that_goes_on(demo: DemoFiles, split_run: samehand.Run, tmp_path: Path) -> None:
    process = scan_process(demo, tmp_path / "run")
    wait_for_parts(process, tmp_path / "run", 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) in (130, 0)
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=1)
    assert tables(tmp_path / "run") == tables(split_run.folder.path)


def test_a_second_scan_reads_nothing(
    demo: DemoFiles, style_run: samehand.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of(style_run, tmp_path / "run")

    def refuse(*_: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(tasks, "process_task", refuse)
    monkeypatch.setattr(local, "find_forest", refuse)
    again = samehand.scan(str(demo.crawl), tmp_path / "run", workers=1)
    assert again.manifest["state"] == "done"


def test_other_thresholds_group_anew_without_reading(
    demo: DemoFiles, style_run: samehand.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of(style_run, tmp_path / "run")
    monkeypatch.setattr(tasks, "process_task", lambda *_: pytest.fail("read again"))
    run = samehand.scan(str(demo.crawl), tmp_path / "run", settings=Settings(cluster_threshold=0.9), workers=1)
    assert run.settings.cluster_threshold == 0.9
    assert run.clusters().equals(run.clusters(cut=0.9))


def test_other_inputs_or_settings_are_refused_and_force_starts_anew(
    demo: DemoFiles, style_run: samehand.Run, tmp_path: Path
) -> None:
    out = copy_of(style_run, tmp_path / "run").folder.path
    with pytest.raises(RunMismatchError, match="--force"):
        samehand.scan(str(demo.crawl), out, settings=Settings(shingle_bytes=32), workers=1)
    (tmp_path / "a.html").write_bytes(b"<html><p>a page</p></html>")
    with pytest.raises(RunMismatchError, match="other inputs"):
        samehand.scan(str(tmp_path / "a.html"), out, workers=1)
    (out / "mine.txt").write_text("keep")
    run = samehand.scan(str(tmp_path / "a.html"), out, workers=1, force=True)
    assert run.pages().num_rows == 1
    assert (out / "mine.txt").read_text() == "keep"


def test_two_writers_do_not_meet(demo: DemoFiles, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").locked(), pytest.raises(RunBusyError, match="Another process"):
        samehand.scan(str(demo.crawl), tmp_path / "run", workers=1)


def test_a_full_disk_loses_nothing(
    demo: DemoFiles, split_run: samehand.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, left = os.fsync, [25]

    def fsync(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(RunWriteError, match="disk is full"):
        samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=1)
    monkeypatch.undo()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run" / "done").iterdir()}
    assert kept
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=1)
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run" / "done").iterdir()}
    assert {name: now[name] for name in kept} == kept
    assert tables(tmp_path / "run") == tables(split_run.folder.path)


def test_a_write_that_really_fails_is_one_clear_sentence(demo: DemoFiles, tmp_path: Path) -> None:
    """The operating system refuses files above a few kilobytes, in the workers too."""
    shell = f'ulimit -f 16; exec "$@" 2> "{tmp_path}/err"'
    command = [sys.executable, "-m", "samehand.cli.main", "scan", str(demo.crawl), "-o", str(tmp_path / "run")]
    done = subprocess.run(
        ["bash", "-c", shell, "bash", *command, "--workers", "2", "--split-bytes", "120000"], check=False
    )
    said = (tmp_path / "err").read_text()
    assert done.returncode == 2
    assert "Cannot write to" in said
    assert "run the same command again" in said
    assert "Traceback" not in said


def test_an_unusable_folder_is_one_clear_sentence(demo: DemoFiles, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunWriteError, match="Cannot write"):
        samehand.scan(str(demo.crawl), tmp_path / "file" / "run", workers=1)


WORKER_THAT_DIES = """
import json, os, sys
from samehand.engine import tasks, worker
real = tasks.process_task
def process(folder, task, settings, tell):
    if task.unit.number == {number} and {condition}:
        open({note!r}, "a").write("died\\n")
        os.kill(os.getpid(), 9)
    return real(folder, task, settings, tell)
worker.process_task = process
worker.main()
"""


@pytest.mark.parametrize("always", [False, True])
def test_one_bad_worker_loses_no_other_work(
    demo: DemoFiles, split_run: samehand.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, always: bool
) -> None:
    note = str(tmp_path / "deaths")
    condition = "True" if always else f"not os.path.exists({note!r})"
    code = WORKER_THAT_DIES.format(number=3, condition=condition, note=note)
    monkeypatch.setattr(local, "WORKER", (sys.executable, "-c", code))
    run = samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=2)
    if not always:
        assert tables(run.folder.path) == tables(split_run.folder.path)
        return
    assert (tmp_path / "deaths").read_text().count("died") == local.TRIES
    failure = run.manifest["failures"][0]
    assert "signal 9" in failure["reason"]
    assert run.manifest["stages"]["read"]["damaged"] == 1
    assert 0 < run.pages().num_rows < split_run.pages().num_rows
    monkeypatch.undo()
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=2)
    assert tables(run.folder.path) == tables(split_run.folder.path)


def test_nothing_readable_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.warc.gz").write_bytes(b"")
    with pytest.raises(InputError, match="empty_file"):
        samehand.scan(str(tmp_path / "empty.warc.gz"), tmp_path / "run", workers=1)


def test_pages_can_be_kept(demo: DemoFiles, demo_run: samehand.Run, tmp_path: Path) -> None:
    copy = tmp_path / "crawl.warc.gz"
    copy.write_bytes(demo.crawl.read_bytes())
    run = samehand.scan(str(copy), tmp_path / "run", settings=Settings(keep_pages=True), workers=1)
    copy.unlink()
    for page_id in run.pages(["page_id"]).column("page_id").to_pylist()[:40:7]:
        assert run.content(page_id) == demo_run.content(page_id)


def test_a_secret_key_stays_out_of_the_manifest(demo: DemoFiles, demo_run: samehand.Run, tmp_path: Path) -> None:
    run = samehand.scan(str(demo.crawl), tmp_path / "run", settings=Settings(key="hush hush"), workers=1)
    assert "hush" not in (run.folder.path / "run.json").read_text()
    assert run.settings.key == "hush hush"
    assert (run.folder.path / "key").stat().st_mode & 0o077 == 0
    ours, public = (r.folder.read_parts("style/fingerprints", ["fingerprint"]) for r in (run, demo_run))
    assert not ours.equals(public)
