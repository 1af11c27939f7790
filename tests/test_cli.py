"""The command line: what it prints, where, and how it ends."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import samehand
from crawls import small_crawl, write_warc
from runs import truth_of
from samehand.base.settings import fields_of
from samehand.cli.demo import DemoFiles
from samehand.cli.main import cli

Command = Callable[..., "tuple[int, str, str]"]

HOSTILE_URL = "http://a.example/\x1b[2J\x07x"


@pytest.fixture
def run(demo_run: samehand.Run) -> Path:
    return demo_run.folder.path


def test_scan_prints_the_table_and_what_it_did(demo: DemoFiles, tmp_path: Path, samehand_command: Command) -> None:
    ended = samehand_command("scan", "--signals", "style", demo.crawl, "-o", tmp_path / "run", "--workers", "1")
    assert ended.code == 0
    headings = ended.out.splitlines()[0].split()
    assert headings == ["cluster", "pages", "hosts", "sites", "mean", "score", "centre"]
    assert "630 pages; 637 records skipped: 635 requests, 1 metadata record, 1 warcinfo record" in ended.err
    assert "Complete: every input was read.\n" in ended.err
    assert f"samehand show {tmp_path / 'run'} 1" in ended.err
    again = samehand_command("-q", "scan", "--signals", "style", demo.crawl, "-o", tmp_path / "run", "--workers", "1")
    assert (again.out, again.err) == (ended.out, "")


def test_clusters_in_every_format(run: Path, demo_run: samehand.Run, samehand_command: Command) -> None:
    rows = demo_run.clusters().table.to_pylist()
    lines = [json.loads(line) for line in samehand_command("clusters", run, "--format", "jsonl").out.splitlines()]
    assert [line["style_cluster_id"] for line in lines] == [row["style_cluster_id"] for row in rows]
    table = list(csv.DictReader(io.StringIO(samehand_command("clusters", run, "--format", "csv").out)))
    assert [int(row["pages"]) for row in table] == [row["pages"] for row in rows]
    assert len(samehand_command("clusters", run, "--top", "3").out.splitlines()) == 4
    assert len(samehand_command("clusters", run, "--top", "0").out.splitlines()) == len(rows) + 1


def test_clusters_of_redirects_are_counted_and_not_shown(tmp_path: Path, samehand_command: Command) -> None:
    moved = (
        b"<html><head><title>301 Moved Permanently</title></head><body><h1>301 Moved Permanently</h1>%s</body></html>"
    )
    where = b"<p>The document has moved <a href='https://www.example.com/'>here</a>.</p><hr><address>Apache</address>"
    pages = small_crawl() | {f"http://moved{site}.example/": moved % where for site in range(30)}
    crawl = write_warc(tmp_path / "crawl.warc", pages)
    ended = samehand_command("scan", crawl, "-o", tmp_path / "run", "--workers", "1")
    assert "redirect" not in ended.out
    assert (
        "1 cluster of pages that show no site (redirect, error, challenge, empty, shell, login) left out" in ended.err
    )
    first = int(ended.out.splitlines()[1].split()[0])
    assert first > 1
    assert f"samehand show {tmp_path / 'run'} {first} " in ended.err
    assert "redirect" in samehand_command("clusters", tmp_path / "run", "--top", "0").out
    assert "redirect" in samehand_command("clusters", tmp_path / "run", "--format", "csv").out


def test_clusters_as_parquet(run: Path, demo_run: samehand.Run) -> None:
    command = [sys.executable, "-m", "samehand.cli.start", "clusters", str(run), "--format", "parquet"]
    written = subprocess.run(command, capture_output=True, check=True).stdout
    assert pq.read_table(io.BytesIO(written)).equals(demo_run.clusters().table)


def test_other_cuts_and_families(run: Path, demo_run: samehand.Run, samehand_command: Command) -> None:
    def pages(*options: str) -> int:
        lines = samehand_command("clusters", run, "--format", "jsonl", *options).out.splitlines()
        return sum(json.loads(line)["pages"] for line in lines)

    assert pages("--cut", "0.6") == pages()
    assert pages("--cut", "0.95") < pages() <= pages("--cut", "0.35") <= pages("--families")
    ended = samehand_command("clusters", run, "--cut", "0.05")
    assert (ended.code, ended.out) == (2, "")
    assert "not between" in ended.err


def test_show_lists_members_hosts_and_the_weakest_link(
    run: Path, demo_run: samehand.Run, samehand_command: Command
) -> None:
    best = demo_run.clusters().table.to_pylist()[0]
    ended = samehand_command("show", run, best["cluster_number"], "--top", "0")
    assert f"{best['pages']} pages, {best['hosts']} hosts, {best['sites']} sites" in ended.out
    assert "weakest link" in ended.out
    assert best["centre_url"] in ended.out
    command = re.search(r"samehand (compare \d+ \d+) --run", ended.out)
    assert command
    explained = samehand_command(*command[1].split(), "--run", run).out
    assert "source of A" in explained
    assert "skeleton of both" in explained
    rows = samehand_command("show", run, best["cluster_number"], "--format", "jsonl").out.splitlines()
    similarities = [json.loads(row)["similarity"] for row in rows]
    assert len(rows) == best["pages"]
    assert similarities == sorted(similarities, reverse=True)
    assert similarities[0] == 1.0
    missing = samehand_command("show", run, "999999999999")
    assert (missing.code, "no cluster" in missing.err) == (2, True)


def test_like_names_the_gaps(run: Path, demo_run: samehand.Run, tmp_path: Path, samehand_command: Command) -> None:
    centre = demo_run.clusters().table.to_pylist()[0]
    ended = samehand_command("like", run, centre["centre_url"])
    assert "gap 1" in ended.out
    assert "         1.00  http://www." in ended.out
    copy = tmp_path / "copy.html"
    copy.write_bytes(demo_run.content(centre["centre_page_id"]))
    from_file = samehand_command("like", run, copy)
    assert from_file.out == ended.out == samehand_command("like", run, centre["centre_page_id"]).out
    unknown = samehand_command("like", run, "http://nowhere.example/")
    assert (unknown.code, "no page" in unknown.err) == (2, True)


def test_compare_files_and_pages_of_a_run(
    run: Path, demo_run: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    members = demo_run.members(1).table.to_pylist()
    left, right = members[0]["url"], members[1]["url"]
    ended = samehand_command("compare", left, right, "--run", run)
    assert ended.code == 0
    assert ended.out.startswith("Jaccard")
    assert "in A" in ended.out
    for name, url in (("a", left), ("b", right)):
        (tmp_path / name).write_bytes(demo_run.content(url))
    found = json.loads(samehand_command("compare", tmp_path / "a", tmp_path / "b", "--format", "jsonl").out)
    assert found["jaccard"] > 0.4
    assert found["estimate"] >= found["jaccard"] - 0.2  # canonical markup may raise it above the noise
    assert found["runs"]
    missing = samehand_command("compare", tmp_path / "a", left)
    assert (missing.code, "--run" in missing.err) == (2, True)


def test_spread_goes_from_a_seed_to_its_sisters(
    demo: DemoFiles, run: Path, tmp_path: Path, samehand_command: Command
) -> None:
    hands = {url: row["hand"] for url, row in truth_of(demo).items()}
    seed = next(url for url, hand in hands.items() if hand == "farm:loans")
    (tmp_path / "seeds.txt").write_text(f"# known\n{seed}\n\nhttp://nowhere.example/\n")
    ended = samehand_command("spread", run, "--seeds", tmp_path / "seeds.txt", "--format", "jsonl")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {hands[row["url"]] for row in rows} == {"farm:loans"}
    assert len(rows) > 60
    for row in rows:
        assert (row["path"][0], row["path"][-1]) == (seed, row["url"])
        assert len(row["path"]) == row["steps"] + 1
        assert row["weakest"] >= 0.6
    sites = samehand_command("spread", run, "--seeds", tmp_path / "seeds.txt", "--sites").out
    assert len(sites.splitlines()) > 15
    assert samehand_command("spread", run, "--seeds", tmp_path / "seeds.txt", "--cut", "0.01").code == 2
    (tmp_path / "none.txt").write_text("http://nowhere.example/\n")
    assert samehand_command("spread", run, "--seeds", tmp_path / "none.txt").code == 2


def test_status_says_what_was_rejected_and_why(run: Path, demo_run: samehand.Run, samehand_command: Command) -> None:
    ended = samehand_command("status", run)
    read = demo_run.manifest["stages"]["read"]
    records = read["pages"] + sum(read["skipped"].values()) + sum(read["rejected"].values())
    assert f"{records:,} records in 1 input" in ended.out
    for reason in (*read["skipped"], *read["rejected"]):
        assert reason in ended.out
    for method in ("style", "replica", "language", "phrases", "sites"):
        assert f"\n{method}: " in ended.out
    assert json.loads(samehand_command("status", run, "--format", "jsonl").out)["state"] == "done"
    assert samehand_command("status", run / "pages").code == 2


def test_damaged_input_ends_with_3_and_nothing_readable_with_4(
    demo: DemoFiles, tmp_path: Path, samehand_command: Command
) -> None:
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes(demo.crawl.read_bytes()[:-3000])
    ended = samehand_command("scan", "--signals", "style", cut, "-o", tmp_path / "run", "--workers", "1")
    assert (ended.code, "Incomplete: 1 damaged record was left out: samehand status" in ended.err) == (3, True)
    (tmp_path / "nothing.warc").write_bytes(b"")
    ended = samehand_command("scan", tmp_path / "nothing.warc", "-o", tmp_path / "none")
    assert (ended.code, ended.out) == (4, "")
    assert "empty_file" in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("scan",),
        ("scan", "missing.warc.gz", "-o", "run"),
        ("scan", "*.nothing", "-o", "run"),
        ("clusters", "no-run"),
        ("scan", "x", "-o", "run", "--cluster-threshold", "2"),
        ("scan", "x", "-o", "run", "--dimensions", "100"),
        ("scam",),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samehand_command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = samehand_command(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.strip()
    assert "Traceback" not in ended.err
    assert list(tmp_path.iterdir()) == []


def test_no_escape_code_reaches_the_terminal(tmp_path: Path, samehand_command: Command) -> None:
    html = "<div class='x'><p>(a), [b]; {c}</p></div>\n" * 30
    lines = [json.dumps({"url": f"{HOSTILE_URL}{n}", "html": html + f"<i>{n}</i>"}) for n in range(4)]
    (tmp_path / "pages.jsonl").write_text("\n".join(lines))
    run = tmp_path / "run"
    outputs = [samehand_command("scan", "--signals", "style", tmp_path / "pages.jsonl", "-o", run, "--workers", "1")]
    cluster = samehand.open_run(run).clusters().table.to_pylist()[0]
    (tmp_path / "seeds").write_bytes(cluster["centre_url"].encode())
    outputs += [
        samehand_command("clusters", run),
        samehand_command("clusters", run, "--format", "csv"),
        samehand_command("clusters", run, "--format", "jsonl"),
        samehand_command("show", run, cluster["cluster_number"]),
        samehand_command("like", run, cluster["centre_page_id"]),
        samehand_command("spread", run, "--seeds", tmp_path / "seeds"),
        samehand_command("status", run),
        samehand_command("like", run, "\x1b[2J"),
    ]
    for ended in outputs:
        assert "\x1b" not in ended.out + ended.err
        assert "\x07" not in ended.out + ended.err


def test_table_fits_an_80_column_terminal(run: Path, demo_run: samehand.Run) -> None:
    """A real pseudo-terminal of 80 columns: no line is longer, and every host is shown."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "samehand.cli.start", "clusters", str(run)]
    with os.fdopen(leader, "rb", buffering=0) as screen:
        process = subprocess.Popen(
            command, stdout=follower, stderr=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "80"}
        )
        os.close(follower)
        shown = b""
        while True:
            try:
                chunk = screen.read(4096)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        assert process.wait() == 0
    lines = shown.decode().splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 80
    hosts = [url.split("/")[2] for url in demo_run.clusters().table.slice(0, 20).column("centre_url").to_pylist()]
    assert all(host in shown.decode() for host in hosts)


def test_standard_input(demo: DemoFiles, style_run: samehand.Run, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "samehand.cli.start",
        "-q",
        "scan",
        "--signals",
        "style",
        "-",
        "-o",
        str(tmp_path / "run"),
        "--format",
        "csv",
    ]
    with demo.crawl.open("rb") as crawl:
        subprocess.run(command, stdin=crawl, stdout=subprocess.DEVNULL, check=True)
    assert samehand.open_run(tmp_path / "run").clusters().table.equals(style_run.clusters().table)


def test_a_closed_pipe_is_no_error(run: Path) -> None:
    shell = f"{sys.executable} -m samehand.cli.main clusters {run} --format jsonl --top 0 | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_help_imports_nothing_slow() -> None:
    """Importing numba, pyarrow and rich is what makes help slow. Counted, not timed: help of all commands at once."""
    code = (
        "import sys, click\n"
        "from samehand.cli.main import cli\n"
        "def show(command, name):\n"
        "    command.main([option], prog_name=name, standalone_mode=False)\n"
        "    for inner in getattr(command, 'commands', {}).values(): show(inner, inner.name)\n"
        "option = '--help'; show(cli, 'samehand')\n"
        "option = '--help-all'; show(cli.commands['scan'], 'scan')\n"
        "print(sorted({'numpy', 'numba', 'pyarrow', 'rich', 'fastwarc', 'warcio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Exit codes" in done.stdout
    assert "Usage: generate" in done.stdout


READING_COMMANDS = (
    *("status RUN", "clusters RUN", "show RUN 1", "show RUN 1 --format csv", "verdicts RUN", "verdicts RUN --pages"),
    *("explain RUN 1", "sites RUN", "sites RUN --clusters", "sites RUN --providers", "replicas RUN", "phrases RUN"),
    *("fake RUN", "fake RUN --hosts", "fake RUN --clusters"),
    *("export RUN --format hosts", "export RUN --format rpz", "export RUN --format keep-drop"),
)


@pytest.mark.parametrize("command", READING_COMMANDS)
def test_answers_import_nothing_slow(run: Path, command: str) -> None:
    """Counted, not timed: a command that reads answers needs no kernels, and pyarrow must not find pandas."""
    arguments = [str(run) if word == "RUN" else word for word in command.split()]
    code = (
        "import runpy, sys\n"
        f"sys.argv = ['samehand', *{arguments}]\n"
        "try: runpy.run_module('samehand.cli.start', run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    print(end.code, [name for name in ('numba', 'pandas', 'scipy') if sys.modules.get(name)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def test_every_command_and_every_setting_has_help(samehand_command: Command) -> None:
    for name, command in cli.commands.items():
        assert command.help, name
        assert samehand_command(name, "--help").code == 0
    texts = {name: samehand_command(name, "--help-all").out for name in ("scan", "sites", "label")}
    for field in fields_of():
        after = {"providers": "sites", "labels": "label"}.get(field.metadata["group"], "scan")
        if field.name != "key":
            assert f"--{field.name.replace('_', '-')}" in texts[after]


def test_key_file(demo: DemoFiles, tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "key").write_text("hush\n")
    ended = samehand_command(
        "scan",
        "--signals",
        "style",
        demo.crawl,
        "-o",
        tmp_path / "run",
        "--workers",
        "1",
        "--key-file",
        tmp_path / "key",
    )
    assert ended.code == 0
    assert samehand.open_run(tmp_path / "run").settings.key == "hush"
