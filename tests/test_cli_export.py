"""The command export: lists of parked sites and clusters, every document of a corpus, evidence on a cluster."""

import hashlib
import html.parser
import json
import random
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import samehand
from runs import Ended, copy_of, judge_run, kinds_of
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.exports.keep_drop import SURVIVORS
from samehand.methods import guard as guard_module
from samehand.store.tables import REPLICA_SIGNATURES

Command = Callable[..., Ended]


@pytest.fixture(autouse=True)
def _no_lists_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "_misp_list", lambda name: frozenset())


@pytest.fixture(scope="module")
def judged(demo: DemoFiles, demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo with verdicts on sites and providers. Nobody may change it."""
    run = copy_of(demo_run, tmp_path_factory.mktemp("judged") / "run")
    judge_run(run.path, nameservers=demo.nameservers)
    return run.path


def test_lists_of_parked_sites(demo: DemoFiles, judged: Path, tmp_path: Path, samehand_command: Command) -> None:
    ended = samehand_command("export", judged, "--format", "domains", "-o", tmp_path / "list")
    assert (ended.code, ended.out) == (0, "")
    names = (tmp_path / "list").read_text().split()
    assert ended.err.startswith(f"Written: {len(names)} names; {len(names)} new, 0 gone since the last list.")
    assert "Guard: shipped list 2" in ended.err
    kinds = kinds_of(demo, "domain")
    assert len(names) == 80
    assert {kinds[name] for name in names} <= {"parked", "farm", "generated"}
    zone = samehand_command("export", judged, "--format", "rpz", "--name-servers", "--serial", "7").out
    assert "@ SOA localhost. root.localhost. 7 " in zone
    assert "ns2.lotside.test.rpz-nsdname CNAME . ; parked" in zone
    assert "thesteadyharbour.example CNAME rpz-passthru.\n" in zone
    assert zone.count("\n*.") == len(names) + 1


def test_own_guard_dry_run_and_floods(judged: Path, tmp_path: Path, samehand_command: Command) -> None:
    names = samehand_command("export", judged, "--format", "domains").out.split()
    (tmp_path / "guard").write_text(f"# ours\n{names[0]}\n")
    path = tmp_path / "list"
    path.write_text("".join(f"{name}\n" for name in [*names[:-2], "gone.example"]))
    before = path.read_bytes()
    options = ("export", judged, "--format", "domains", "-o", path, "--guard", tmp_path / "guard")
    dry = samehand_command(*options, "--dry-run")
    assert dry.out.splitlines() == [f"+ {names[-2]}", f"+ {names[-1]}", f"- {names[0]}", "- gone.example"]
    assert f"Would write: {len(names) - 1} names; 2 new, 2 gone" in dry.err
    assert f"{names[0]}: guarded (own list)" in dry.err
    flood = samehand_command(*options, "--max-new", 1)
    assert (flood.code, path.read_bytes()) == (2, before)
    assert "2 names are new, more than --max-new 1: nothing was written" in flood.err
    assert samehand_command(*options, "--max-new", 2).code == 0
    assert path.read_text().split() == names[1:]
    path.write_bytes(b"\xff")
    assert "cannot be compared" in samehand_command(*options).err


@pytest.mark.parametrize(
    "form", ["rpz", "hosts", "adblock", "stix", "misp", "misp-warninglist", "csv", "jsonl", "parquet"]
)
def test_the_same_answers_give_the_same_bytes(
    judged: Path, form: str, tmp_path: Path, samehand_command: Command
) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for path in (first, second):
        assert samehand_command("export", judged, "--format", form, "-o", path).code == 0
    assert first.read_bytes() == second.read_bytes()
    again = samehand_command("export", judged, "--format", form, "-o", first)
    assert "0 new, 0 gone since the last list." in again.err


def test_clusters_and_seeds(judged: Path, tmp_path: Path, samehand_command: Command) -> None:
    run = samehand.open_run(judged)
    ended = samehand_command("export", judged, "--format", "jsonl", "--cluster", 1)
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert {row["name"] for row in rows} == set(run.members(1)["site"])
    assert {(row["cluster"], row["kind"], row["unit"]) for row in rows} == {(1, "farm", "site")}
    assert all(row["evidence"].startswith("cluster 1: 120 pages on 30 sites, similarity ") for row in rows)
    (tmp_path / "seeds").write_text(run.members(1)["url"][0])
    spread = samehand_command("export", judged, "--format", "domains", "--seeds", tmp_path / "seeds").out.split()
    assert set(spread) == {row["name"] for row in rows}
    assert run.export("domains", clusters=[1]).text.split() == spread


def test_the_bank_that_was_copied_is_in_the_cluster_and_not_in_the_list(
    tmp_path: Path, samehand_command: Command
) -> None:
    page = "".join(f"<div class={'-' * (n % 5)}x><p title='{'.' * (n % 7)}'>{{}}, !</p></div>" for n in range(35))
    hosts = ["www.chase.com", "login.weebly.com", "weebly.com", *(f"chase-login-{n}.com" for n in range(30))]
    rows = [{"url": f"http://{host}/", "html": page.replace("{}", f"word{n}")} for n, host in enumerate(hosts)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = samehand.scan(tmp_path / "pages.jsonl", tmp_path / "run", workers=1, signals="style")
    assert {"chase.com", "chase-login-7.com"} <= set(run.members(1)["site"])
    ended = samehand_command("export", run.path, "--format", "domains", "--cluster", 1)
    assert set(ended.out.split()) == {"login.weebly.com", *hosts[3:]}
    assert "Left out: 1 guarded, 1 shared host." in ended.err


def test_what_cannot_be_exported(style_run: samehand.Run, samehand_command: Command, tmp_path: Path) -> None:
    ended = samehand_command("export", style_run.path, "--format", "rpz")
    assert (ended.code, "samehand sites" in ended.err, "--cluster" in ended.err) == (2, True, True)
    assert "no cluster 999" in samehand_command("export", style_run.path, "--format", "rpz", "--cluster", 999).err
    assert "did you mean hosts" in samehand_command("export", style_run.path, "--format", "host").err
    assert "is no day" in samehand_command("export", style_run.path, "--format", "rpz", "--until", "tomorrow").err
    assert "--cluster N and -o" in samehand_command("export", style_run.path, "--format", "evidence").err
    with pytest.raises(samehand.UsageError, match="did you mean clusters"):
        style_run.export("rpz", cluster=[1])
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine").write_text("")
    ended = samehand_command("export", style_run.path, "--format", "evidence", "--cluster", 1, "-o", tmp_path / "x")
    assert "holds other files" in ended.err


# Spread.


def test_spread_refuses_tiny_evidence(tmp_path: Path, samehand_command: Command) -> None:
    tiny = "<html><body><h1>x</h1><p>a, b. c!</p></body></html>"
    rows = [{"url": f"http://s{n}.example/", "html": tiny} for n in range(30)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = samehand.scan(tmp_path / "pages.jsonl", tmp_path / "run", workers=1, signals="style")
    assert len(run.clusters()) == 1
    (tmp_path / "seeds").write_text("s3.example\n")
    ended = samehand_command("spread", run.path, "--seeds", tmp_path / "seeds", "--format", "jsonl")
    assert len(ended.out.splitlines()) == 1
    assert "WARNING: 29 pages on 29 sites have next to no markup" in ended.err
    assert "--tiny follows them" in ended.err
    ended = samehand_command("spread", run.path, "--seeds", tmp_path / "seeds", "--format", "jsonl", "--tiny")
    assert len(ended.out.splitlines()) == 30
    assert "WARNING" in ended.err
    assert len(run.export("domains", seeds=["s3.example"]).entries) == 1
    assert len(run.export("domains", seeds=["s3.example"], tiny=True).entries) == 30


# Keep and drop.


WORDS = """
anchor autumn basket beach bridge butter cabin camera candle carpet castle cheese church circus coffee copper cotton
dancer desert diamond dinner doctor dragon engine farmer father finger flower forest friend garden guitar hammer harbour
hunter island jacket jungle kitchen lantern leather letter library market meadow mirror monkey mother mountain museum
needle ocean orange orchard painter palace pepper pilot planet pocket potato prince prison rabbit ribbon river rocket
sailor saddle school shadow silver sister spider spring station summer teacher temple thunder ticket tiger tunnel
valley velvet village violin visitor waiter window winter wizard
"""


def words_of(seed: int) -> str:
    return " ".join(random.Random(seed).sample(WORDS.split(), 30))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """Texts 0 to 9; text 3 again twice, longer and older; an empty one; a short one."""
    folder = tmp_path_factory.mktemp("corpus")
    texts = [*(words_of(n) for n in range(10)), words_of(3) + " indeed", words_of(3), None, "short"]
    days = ["2024-01-05"] * 10 + ["2024-01-04", "2024-01-01", None, None]
    rows = {
        "id": [f"d{n}" for n in range(14)],
        "url": [f"http://s{n}.example/" for n in range(14)],
        "text": texts,
        "date": days,
    }
    pq.write_table(pa.table(rows), folder / "corpus.parquet", row_group_size=5)
    return samehand.scan(folder / "corpus.parquet", folder / "run", signals="replica", workers=1)


@pytest.mark.parametrize(
    ("survivor", "kept"), [("first", "d3"), ("longest", "d10"), ("oldest", "d11"), ("centre", None)]
)
def test_keep_and_drop(
    corpus: samehand.Run, survivor: str, kept: str | None, tmp_path: Path, samehand_command: Command
) -> None:
    path = tmp_path / "kept.parquet"
    ended = samehand_command("export", corpus.path, "--format", "keep-drop", "--survivor", survivor, "-o", path)
    assert ended.err.splitlines()[0] == "14 documents: 11 kept, 3 dropped."
    rows = pq.read_table(path).to_pylist()
    assert sorted(row["doc_id"] for row in rows) == sorted(f"d{n}" for n in range(14))
    reasons = {row["doc_id"]: row["reason"] for row in rows}
    group = {"d3", "d10", "d11"}
    (survived,) = [doc_id for doc_id in group if reasons[doc_id] == "survivor"]
    assert kept in (None, survived)
    assert reasons["d12"] == "rejected: empty_body"
    assert reasons["d13"] == "too few words to compare"
    assert {reasons[f"d{n}"] for n in range(10) if n != 3} == {"unique"}
    dropped = [row for row in rows if row["doc_id"] in group - {survived}]
    assert {(row["keep"], row["reason"], row["kept_doc_id"]) for row in dropped} == {(False, "replica", survived)}
    assert {row["kept_page_id"] for row in dropped} == {row["page_id"] for row in rows if row["doc_id"] == survived}


def test_keep_and_drop_in_every_form(corpus: samehand.Run, tmp_path: Path, samehand_command: Command) -> None:
    lines = samehand_command("export", corpus.path, "--format", "keep-drop").out.splitlines()
    for ending in ("parquet", "csv", "jsonl"):
        samehand_command("export", corpus.path, "--format", "keep-drop", "-o", tmp_path / f"k.{ending}")
    assert (tmp_path / "k.jsonl").read_text().splitlines() == lines
    source = Path(corpus.manifest["inputs"][0]["path"])
    query = "select count(*) from '{0}' d join '{1}' k on d.id = k.doc_id where k.keep"
    for ending in ("parquet", "csv", "jsonl"):
        reader = "read_json('{}')" if ending == "jsonl" else "'{}'"
        joined = query.replace("'{1}'", reader.format(tmp_path / f"k.{ending}")).format(source)
        assert duckdb.sql(joined).fetchall() == [(11,)]
    kept = polars.read_parquet(tmp_path / "k.parquet").filter(polars.col("keep"))
    assert polars.read_parquet(source).join(kept, left_on="id", right_on="doc_id").height == 11


@pytest.mark.parametrize("survivor", SURVIVORS)
def test_kept_and_dropped_are_all_documents(
    demo_run: samehand.Run, survivor: str, samehand_command: Command, tmp_path: Path
) -> None:
    path = tmp_path / "x.parquet"
    samehand_command("export", demo_run.path, "--format", "keep-drop", "--survivor", survivor, "-o", path)
    rows = pq.read_table(path)
    read = demo_run.manifest["stages"]["read"]
    assert rows.num_rows == read["pages"] + sum(read["rejected"].values())
    pages = {row["page_id"]: row for row in rows.to_pylist() if row["page_id"] is not None}
    assert len(pages) == read["pages"]
    groups: Counter[int] = Counter()
    for row in pages.values():
        if row["reason"] == "replica":
            other = pages[row["kept_page_id"]]
            assert (other["keep"], other["reason"], other["url"]) == (True, "survivor", row["kept_url"])
            assert other["replica_group_id"] == row["replica_group_id"]
        elif row["reason"] == "survivor":
            groups[row["replica_group_id"]] += 1
    assert set(groups.values()) == {1}
    assert len(groups) == len(demo_run.replicas())


def test_keep_and_drop_do_not_depend_on_workers(demo: DemoFiles, tmp_path: Path, samehand_command: Command) -> None:
    made = []
    for workers in (1, 2):
        run = samehand.scan(
            demo.crawl,
            tmp_path / f"run{workers}",
            signals="replica",
            workers=workers,
            settings=Settings(split_bytes=100_000),
        )
        samehand_command("export", run.path, "--format", "keep-drop", "-o", tmp_path / f"{workers}.parquet")
        made.append((tmp_path / f"{workers}.parquet").read_bytes())
    assert made[0] == made[1]
    assert len(run.folder.part_numbers(REPLICA_SIGNATURES)) > 1


def test_a_killed_keep_drop_leaves_no_half_file_and_goes_on(
    corpus: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    """Killed after the first rows are written: the old list stays whole, and the same command makes the new one."""
    path = tmp_path / "kept.jsonl"
    command = ["export", str(corpus.path), "--format", "keep-drop", "-o", str(path)]
    assert samehand_command(*command).code == 0
    whole = path.read_bytes()
    path.write_text("old\n")
    code = (
        "import os, signal, sys\nfrom samehand.cli import export\n"
        "def dying(file, batches):\n    file.write('{}')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        "export._write_lines = dying\nfrom samehand.cli.start import main\nsys.argv[0] = 'samehand'\nmain()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert path.read_text() == "old\n"
    assert samehand_command(*command).code == 0
    assert path.read_bytes() == whole


# Evidence.


class Tags(html.parser.HTMLParser):
    """Collects the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.update(name for name, _ in attrs)


OURS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "h1",
    "h2",
    "p",
    "pre",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
}


def test_evidence_on_a_cluster(judged: Path, tmp_path: Path, samehand_command: Command) -> None:
    ended = samehand_command("export", judged, "--format", "evidence", "--cluster", 2, "-o", tmp_path / "e.zip")
    assert "evidence on 25 pages" in ended.err
    assert samehand_command("export", judged, "--format", "evidence", "--cluster", 2, "-o", tmp_path / "e").code == 0
    with zipfile.ZipFile(tmp_path / "e.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "e").iterdir()}
    sums = dict(reversed(line.split("  ")) for line in files["SHA256SUMS"].decode().splitlines())
    assert sums == {name: hashlib.sha256(files[name]).hexdigest() for name in ("evidence.json", "report.html")}
    run = samehand.open_run(judged)
    facts = json.loads(files["evidence.json"])
    assert [page["url"] for page in facts["pages"]] == run.members(2)["url"]
    for page in facts["pages"]:
        assert page["sha256"] == hashlib.sha256(run.content(page["page_id"])).hexdigest()
        assert page["fetch_time"].startswith("2020-")
        assert page["warc_filename"]
        assert page["warc_record_length"] > 0
    assert len(facts["stretches"]) >= 20
    assert all(names for names in facts["name_servers"].values())
    again = samehand_command("export", judged, "--format", "evidence", "--cluster", 2, "-o", tmp_path / "f.zip")
    assert again.code == 0
    assert (tmp_path / "f.zip").read_bytes() == (tmp_path / "e.zip").read_bytes()


def test_evidence_escapes_every_text(tmp_path: Path, samehand_command: Command) -> None:
    evil = "</pre><script>alert(1)</script><img src=x onerror=y>\u202e\x1b[31m" * 8
    page = f"<html><body>{evil}<p class=a>{{}}</p></body></html>"
    rows = [{"url": f"http://s{n}.example/<script>{n}", "html": page.format(n)} for n in range(4)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = samehand.scan(tmp_path / "pages.jsonl", tmp_path / "run", workers=1, signals="style")
    assert samehand_command("export", run.path, "--format", "evidence", "--cluster", 1, "-o", tmp_path / "e").code == 0
    report = (tmp_path / "e" / "report.html").read_text()
    tags = Tags()
    tags.feed(report)
    assert set(tags.tags) <= OURS
    assert set(tags.attributes) <= {"lang", "charset", "http-equiv", "content"}
    assert "alert(1)" in report
    assert "\x1b" not in report
    assert "\u202e" not in report
    assert (tmp_path / "e" / "evidence.json").read_bytes().isascii()


def test_evidence_without_the_input(tmp_path: Path, samehand_command: Command) -> None:
    page = "<html><body>" + "<p class='a' id=\"b\">{}</p>, (x); " * 40
    rows = [{"url": f"http://s{n}.example/", "html": page.replace("{}", str(n))} for n in range(3)]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = samehand.scan(tmp_path / "pages.jsonl", tmp_path / "run", workers=1, signals="style")
    (tmp_path / "pages.jsonl").unlink()
    ended = samehand_command("export", run.path, "--format", "evidence", "--cluster", 1, "-o", tmp_path / "e")
    assert ended.code == 0
    assert "have no digest" in ended.err
    facts = json.loads((tmp_path / "e" / "evidence.json").read_text())
    assert [page["sha256"] for page in facts["pages"]] == [None] * 3
