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

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastwarc.warc import ArchiveIterator

import samehand
from runs import CountingEngine, copy_of, kinds_of, tables, truth_of
from samehand.base.errors import InputError, RunBusyError, RunMismatchError, RunWriteError
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.engine import local
from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_FINGERPRINTS, STYLE_MEMBERS

SPLIT = Settings(split_bytes=120_000)


@pytest.fixture(scope="module")
def split_run(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    return samehand.scan(
        str(demo.crawl), tmp_path_factory.mktemp("split") / "run", settings=SPLIT, workers=1, signals="style"
    )


def test_demo_clusters_agree_with_the_truth(demo: DemoFiles, demo_run: samehand.Run) -> None:
    """No cluster mixes two hands, and every hand of three pages and more is found, nearly whole."""
    hands = {url: row["hand"] for url, row in truth_of(demo).items()}
    clusters: dict[int, list[str]] = {}
    for member in demo_run.folder.read(STYLE_MEMBERS).to_pylist():
        clusters.setdefault(member["style_cluster_id"], []).append(hands[member["url"]])
    mixed = {cluster: Counter(found) for cluster, found in clusters.items() if len(set(found)) > 1}
    assert mixed == {}
    sizes = Counter(hands.values())
    largest = Counter()
    for found in clusters.values():
        largest[found[0]] = max(largest[found[0]], len(found))
    shares = {hand: largest[hand] / size for hand, size in sizes.items() if size >= 3}
    assert min(shares.values()) >= 0.5, shares
    assert sum(largest[hand] for hand in shares) / sum(sizes[hand] for hand in shares) >= 0.85, shares


def test_demo_rank_puts_hands_of_many_sites_first(demo: DemoFiles, demo_run: samehand.Run) -> None:
    kinds = kinds_of(demo)
    top = demo_run.clusters().head(6)
    assert {kinds[row["centre_url"]] for row in top} <= {"forum", "farm", "parked", "copy"}
    scores = demo_run.clusters()["score"]
    assert scores == sorted(scores, reverse=True)


def test_every_record_ends_as_a_page_a_reject_or_a_skip(demo: DemoFiles, demo_run: samehand.Run) -> None:
    with demo.crawl.open("rb") as handle:
        records = sum(1 for _ in ArchiveIterator(handle))
    read = demo_run.manifest["stages"]["read"]
    assert read["pages"] + sum(read["rejected"].values()) + sum(read["skipped"].values()) == records
    assert set(read["skipped"]) == {"request", "warcinfo", "metadata"}
    assert len(demo_run.pages()) == read["pages"]
    assert Counter(demo_run.rejects()["reason"]) == read["rejected"]


def test_members_hold_every_grouped_page_once(demo_run: samehand.Run) -> None:
    members = demo_run.folder.read(STYLE_MEMBERS)
    ids = members.column("page_id").to_pylist()
    assert len(ids) == len(set(ids))
    sizes = Counter(members.column("style_cluster_id").to_pylist())
    clusters = {row["style_cluster_id"]: row for row in demo_run.clusters()}
    assert {name: row["pages"] for name, row in clusters.items()} == {k: v for k, v in sizes.items() if v > 1}
    smallest: dict[int, int] = {}
    for row in members.to_pylist():
        cluster = row["style_cluster_id"]
        smallest[cluster] = min(row["page_id"], smallest.get(cluster, row["page_id"]))
        assert row["cluster_number"] == (clusters[cluster]["cluster_number"] if cluster in clusters else None)
    assert all(cluster == page for cluster, page in smallest.items())


def test_workers_do_not_change_a_byte(demo: DemoFiles, tmp_path: Path) -> None:
    """Whatever the method; one worker is this process, two are processes of their own."""
    one, two = (
        samehand.scan(str(demo.crawl), tmp_path / f"{n}", settings=SPLIT, workers=n, signals="all").path for n in (1, 2)
    )
    assert tables(one) == tables(two)
    assert len(list((two / "pages").iterdir())) > 8
    rooms = {"pages", "rejects", "style", "replica", "classes", "language", "phrases", "sites", "verdicts"}
    assert {name.split("/")[0] for name in tables(one)} == rooms


def test_splitting_does_not_change_the_pages(style_run: samehand.Run, split_run: samehand.Run) -> None:
    whole, split = (
        run.pages().table.drop_columns(["page_id"]).sort_by([("warc_record_offset", "ascending")])
        for run in (style_run, split_run)
    )
    assert whole.equals(split)
    assert sorted(style_run.clusters()["pages"]) == sorted(split_run.clusters()["pages"])


def scan_process(demo: DemoFiles, out: Path, workers: int = 2) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable,
        "-m",
        "samehand.cli.start",
        "-q",
        "scan",
        "--signals",
        "style",
        str(demo.crawl),
        "-o",
        str(out),
    ]
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
        samehand.scan(str(demo.crawl), out, settings=SPLIT, workers=1, signals="style")
        assert tables(out) == tables(split_run.folder.path)
        assert not list(out.rglob("*.writing"))
    assert unfinished >= 5, "too few kills came in time: the test shows little"


def test_interrupt_leaves_a_run_that_goes_on(demo: DemoFiles, split_run: samehand.Run, tmp_path: Path) -> None:
    process = scan_process(demo, tmp_path / "run")
    wait_for_parts(process, tmp_path / "run", 2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) in (130, 0)
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=1, signals="style")
    assert tables(tmp_path / "run") == tables(split_run.folder.path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_during_the_start_is_one_sentence(number: signal.Signals, demo: DemoFiles, tmp_path: Path) -> None:
    """The signals are set up before the slow imports: from then on, no moment prints a traceback."""
    command = [
        sys.executable,
        "-m",
        "samehand.cli.start",
        "scan",
        "--signals",
        "style",
        str(demo.crawl),
        "-o",
        str(tmp_path / "run"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        caught = 0
        while not caught >> (signal.SIGTERM - 1) & 1 and process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text()
            caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        process.send_signal(number)
        said = process.communicate(timeout=60)
    assert (process.returncode, *said) == (130, "", "Interrupted. Run the same command again to go on.\n")


def test_what_is_done_is_not_done_again(demo: DemoFiles, tmp_path: Path) -> None:
    """The same scan again does nothing. Another threshold groups anew, and reads nothing."""
    first, again, other = CountingEngine(), CountingEngine(), CountingEngine()
    samehand.scan(demo.crawl, tmp_path / "run", engine=first, signals="style")
    assert first.work == {"read": 1, "style": 1}
    assert samehand.scan(demo.crawl, tmp_path / "run", engine=again, signals="style").manifest["state"] == "done"
    assert again.work == {}
    run = samehand.scan(
        demo.crawl, tmp_path / "run", settings=Settings(cluster_threshold=0.9), engine=other, signals="style"
    )
    assert other.work == {"style": 1}
    assert run.settings.cluster_threshold == 0.9
    assert list(run.clusters()) == list(run.clusters(cut=0.9))


def test_other_inputs_or_settings_are_refused_and_force_starts_anew(
    demo: DemoFiles, style_run: samehand.Run, tmp_path: Path
) -> None:
    out = copy_of(style_run, tmp_path / "run").folder.path
    with pytest.raises(RunMismatchError, match="--force"):
        samehand.scan(str(demo.crawl), out, settings=Settings(shingle_bytes=32), workers=1, signals="style")
    (tmp_path / "a.html").write_bytes(b"<html><p>a page</p></html>")
    with pytest.raises(RunMismatchError, match="other inputs"):
        samehand.scan(str(tmp_path / "a.html"), out, workers=1, signals="style")
    (out / "mine.txt").write_text("keep")
    run = samehand.scan(str(tmp_path / "a.html"), out, workers=1, force=True, signals="style")
    assert len(run.pages()) == 1
    assert (out / "mine.txt").read_text() == "keep"


def test_two_writers_do_not_meet(demo: DemoFiles, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").locked(), pytest.raises(RunBusyError, match="Another process"):
        samehand.scan(str(demo.crawl), tmp_path / "run", workers=1, signals="style")


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
        samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=1, signals="style")
    monkeypatch.undo()
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run" / "done").iterdir()}
    assert kept
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=1, signals="style")
    now = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "run" / "done").iterdir()}
    assert {name: now[name] for name in kept} == kept
    assert tables(tmp_path / "run") == tables(split_run.folder.path)


def test_a_write_that_really_fails_is_one_clear_sentence(demo: DemoFiles, tmp_path: Path) -> None:
    """The operating system refuses files above a few kilobytes, in the workers too."""
    shell = f'ulimit -f 16; exec "$@" 2> "{tmp_path}/err"'
    command = [
        sys.executable,
        "-m",
        "samehand.cli.start",
        "scan",
        "--signals",
        "style",
        str(demo.crawl),
        "-o",
        str(tmp_path / "run"),
    ]
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
        samehand.scan(str(demo.crawl), tmp_path / "file" / "run", workers=1, signals="style")


WORKER_THAT_DIES = """
import os
from samehand.engine import tasks, worker
real = tasks.process_task
def process(folder, task, settings, on_progress):
    if task.unit.number == {number} and {condition}:
        open({note!r}, "a").write("died\\n")
        os.kill(os.getpid(), 9)
    return real(folder, task, settings, on_progress)
tasks.process_task = process
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
    run = samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=2, signals="style")
    if not always:
        assert tables(run.folder.path) == tables(split_run.folder.path)
        return
    assert (tmp_path / "deaths").read_text().count("died") == local.TRIES
    failure = run.manifest["failures"][0]
    assert "signal 9" in failure["reason"]
    assert run.manifest["stages"]["read"]["damaged"] == 1
    assert 0 < len(run.pages()) < len(split_run.pages())
    monkeypatch.undo()
    samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=2, signals="style")
    assert tables(run.folder.path) == tables(split_run.folder.path)


def test_a_parquet_file_that_ends_the_process_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is asked for, but a library that aborts over a bad table must not take the scan with it."""
    pq.write_table(pa.table({"url": ["http://a.example/"], "html": ["<p>(x) [y]</p>"]}), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text('{"url": "http://b.example/", "html": "<p>(x) [y] {z}</p>"}\n')
    code = WORKER_THAT_DIES.format(number=0, condition="os.abort()", note="")
    monkeypatch.setattr(local, "WORKER", (sys.executable, "-c", code))
    run = samehand.scan(
        [str(tmp_path / name) for name in ("a.parquet", "b.jsonl")], tmp_path / "run", workers=1, signals="style"
    )
    assert run.pages(["url"])["url"] == ["http://b.example/"]
    assert "signal 6" in run.manifest["failures"][0]["reason"]
    monkeypatch.undo()
    run = samehand.scan(
        [str(tmp_path / name) for name in ("a.parquet", "b.jsonl")], tmp_path / "run", workers=1, signals="style"
    )
    assert run.pages(["url"])["url"] == ["http://a.example/", "http://b.example/"]


def test_a_worker_that_cannot_start_is_one_sentence(
    demo: DemoFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "WORKER", (sys.executable, "-c", "raise SystemExit('out of \\x1b memory')"))
    with pytest.raises(samehand.SamehandError, match=r"could not start .exit code 1: out of .* memory"):
        samehand.scan(str(demo.crawl), tmp_path / "run", settings=SPLIT, workers=2, signals="style")


def test_nothing_readable_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.warc.gz").write_bytes(b"")
    with pytest.raises(InputError, match="empty_file"):
        samehand.scan(str(tmp_path / "empty.warc.gz"), tmp_path / "run", workers=1, signals="style")


def test_pages_can_be_kept(demo: DemoFiles, demo_run: samehand.Run, tmp_path: Path) -> None:
    copy = tmp_path / "crawl.warc.gz"
    copy.write_bytes(demo.crawl.read_bytes())
    run = samehand.scan(str(copy), tmp_path / "run", settings=Settings(keep_pages=True), workers=1, signals="style")
    copy.unlink()
    for page_id in run.pages(["page_id"])["page_id"][:40:7]:
        assert run.content(page_id) == demo_run.content(page_id)


def test_a_secret_key_stays_out_of_the_manifest(demo: DemoFiles, demo_run: samehand.Run, tmp_path: Path) -> None:
    run = samehand.scan(
        str(demo.crawl), tmp_path / "run", settings=Settings(key="hush hush"), workers=1, signals="style"
    )
    assert "hush" not in (run.folder.path / "run.json").read_text()
    assert run.settings.key == "hush hush"
    assert (run.folder.path / "key").stat().st_mode & 0o077 == 0
    ours, public = (r.folder.read(STYLE_FINGERPRINTS, ["fingerprint"]) for r in (run, demo_run))
    assert not ours.equals(public)


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_file_that_the_disk_has_no_room_for_is_one_sentence(size: int, tmp_path: Path) -> None:
    """Small contents fail when the file is closed, large ones when they are written."""
    code = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from samehand.base.errors import RunWriteError; from samehand.base.files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (5, 5))\n"
        f"try:\n    with write_whole(Path({str(tmp_path / 'file')!r})) as handle: handle.write(bytes({size}))\n"
        "except RunWriteError as error: sys.stdout.write(str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"Cannot write to {tmp_path}: File too large.")
    assert list(tmp_path.iterdir()) == []
