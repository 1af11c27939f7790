"""The joints between reading, methods, run folder and command line: the right pages, the right state, or one sentence.

The tests stand in the order of the findings that they guard against.
"""

import dataclasses
import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samehand
from crawls import awkward_pages, page, small_crawl, write_warc
from runs import CountingEngine, copy_of, tables
from samehand.answers.lexicons import learn_lexicon
from samehand.answers.pages import page_of
from samehand.base import settings as settings_module
from samehand.base.errors import InputError, RunBusyError, SamehandError, UsageError
from samehand.base.setting import GROUPS
from samehand.base.settings import Settings
from samehand.sources import read_unit
from samehand.store.folder import RunFolder
from samehand.store.tables import NAMESERVERS, TABLES

Command = Callable[..., Any]
LATER = ("replica", "language", "phrases", "sites")
"""The methods that a command adds to a run: they read its pages again."""


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_warc(tmp_path_factory.mktemp("crawl") / "crawl.warc", small_crawl())


@pytest.fixture(scope="module")
def run(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """A small run with all methods. Nobody may change it."""
    return samehand.scan(crawl, tmp_path_factory.mktemp("all") / "run", signals="all", workers=1)


def files_of(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """All files of a folder: what they hold, when they changed, and which they are."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# 1. Other pages, silently.


@pytest.fixture
def large(tmp_path: Path) -> tuple[Path, samehand.Run]:
    """A file of three megabytes, and its style."""
    pages = {f"http://s{n}.example/": page(n % 3, f"s{n}.example", n, words=300, rows=25) for n in range(70)}
    file = write_warc(tmp_path / "large.warc", pages)
    assert file.stat().st_size > 2_300_000
    return file, samehand.scan(file, tmp_path / "run", workers=1, signals="style")


def change_the_middle(file: Path) -> bytes:
    """Other letters in one page in the middle. Length, first and last megabyte stay. Returns what was there."""
    before = file.read_bytes()
    middle = before.index(b" people ", len(before) // 2)
    file.write_bytes(before[:middle] + b" nobody " + before[middle + 8 :])
    return before


@pytest.mark.parametrize("method", LATER)
def test_a_page_that_changed_in_the_middle_is_noticed(large: tuple[Path, samehand.Run], method: str) -> None:
    file, run = large
    before = change_the_middle(file)
    with pytest.raises(InputError, match=r"large\.warc.*changed since the scan"):
        run.compute(method, workers=1)
    run = samehand.open_run(run.path)
    assert method not in run.methods
    assert len(run.clusters())
    file.write_bytes(before)
    run.compute(method, workers=1)
    assert method in run.methods


def test_a_changed_page_is_noticed_by_whatever_reads_it(large: tuple[Path, samehand.Run]) -> None:
    file, run = large
    urls = run.pages(["url"])["url"]
    texts = {url: run.content(url) for url in urls}
    change_the_middle(file)
    with pytest.raises(InputError, match=r"large\.warc"):
        learn_lexicon([str(run.path)], profile="web", low=0.2, high=0.4)
    with pytest.raises(InputError, match=r"large\.warc"):
        samehand.scan(file, run.path, signals="style,replica", workers=1)
    noticed = []
    for url in urls:
        try:
            assert run.content(url) == texts[url]
        except InputError as error:
            noticed.append(str(error))
    assert len(noticed) == 1
    assert "large.warc changed" in noticed[0]


@pytest.mark.parametrize("method", LATER)
@pytest.mark.parametrize("change", ["replaced", "deleted"])
def test_an_input_that_is_another_is_named(tmp_path: Path, method: str, change: str) -> None:
    """Another file with as many pages, or none: nothing is computed, and the file is named."""
    file = write_warc(tmp_path / "a.warc", small_crawl())
    other = write_warc(tmp_path / "b.warc", small_crawl(seed=2))
    run = samehand.scan([file, other], tmp_path / "run", workers=1, signals="style")
    before = tables(run.path, "pages", "style")
    other.unlink()
    if change == "replaced":
        write_warc(other, small_crawl(seed=3))
    with pytest.raises(InputError, match=r"b\.warc changed or went since the scan") as error:
        run.compute(method, workers=1)
    assert "a.warc" not in str(error.value)
    with pytest.raises(InputError, match=r"b\.warc"):
        run.content(run.pages()["url"][-1])
    assert tables(run.path, "pages", "style") == before
    assert samehand.open_run(run.path).methods == ["style"]


# 2. Kept pages.


def test_kept_pages_serve_every_method_without_the_inputs(
    crawl: Path, run: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    (tmp_path / "in").mkdir()
    file = shutil.copy(crawl, tmp_path / "in" / "crawl.warc")
    kept = samehand.scan(file, tmp_path / "run", settings=Settings(keep_pages=True), workers=1, signals="style")
    shutil.rmtree(tmp_path / "in")
    for method in LATER:
        kept.compute(method, workers=1)
    rooms = ("style", "replica", "language", "phrases", "classes", "sites", "verdicts")
    assert tables(kept.path, *rooms) == tables(run.path, *rooms)
    urls = run.pages()["url"]
    assert [kept.content(url) for url in urls] == [run.content(url) for url in urls]
    assert kept.explain(urls[0], urls[1]) == run.explain(urls[0], urls[1])
    learned = [learn_lexicon([str(each.path)], profile="web", low=0.0, high=1.0).words.tolist() for each in (kept, run)]
    assert learned[0] == learned[1] != []
    more = write_warc(tmp_path / "more.warc", small_crawl(seed=2))
    grown = samehand.add(kept.path, more, workers=1)
    assert len(grown.pages()) == 2 * len(urls)
    more.unlink()
    assert samehand_command("compare", urls[0], urls[1], "--run", kept.path).code == 0


# 3. A page is like itself.


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> tuple[samehand.Run, dict[str, bytes]]:
    pages, types = awkward_pages()
    folder = tmp_path_factory.mktemp("awkward")
    file = write_warc(folder / "awkward.warc", {**pages, **small_crawl()}, types)
    run = samehand.scan(file, folder / "run", workers=1, signals="style")
    assert set(pages) <= set(run.pages()["url"])
    assert len(pages["http://my-own-name.co.example/large"]) > run.settings.host_mask_max_page_bytes
    return run, pages


def similarity(found: Any, url: str) -> list[float]:
    return [row["similarity"] for row in found.pages if row["url"] == url]


def test_every_page_is_like_itself_through_every_door(awkward: tuple[samehand.Run, dict[str, bytes]]) -> None:
    run, pages = awkward
    ids = dict(zip(run.pages()["url"], run.pages()["page_id"], strict=True))
    for url, body in pages.items():
        stored = run.content(url)
        doors = {
            "URL": run.like(url),
            "page_id": run.like(np.int64(ids[url])),
            "bytes with URL": run.like(body, url=url),
            "bytes": run.like(body),
            "stored bytes with URL": run.like(stored, url=url),
            "stored bytes": run.like(stored),
        }
        assert {name: similarity(found, url) for name, found in doors.items()} == {name: [1.0] for name in doors}, url
        for known in (url, None):
            compared = samehand.compare(body, body, left_url=known, right_url=known)
            assert (compared.jaccard, compared.dice, compared.estimate) == (1.0, 1.0, 1.0), url
        words = run.explain(url, url)
        assert (words.style.jaccard, words.style.estimate) == (1.0, 1.0), url


def test_every_page_is_like_itself_on_the_command_line(
    awkward: tuple[samehand.Run, dict[str, bytes]], tmp_path: Path, samehand_command: Command
) -> None:
    run, pages = awkward
    file = tmp_path / "page.html"
    for url, body in pages.items():
        file.write_bytes(body)
        doors = (["like", run.path, url], ["like", run.path, file, "--url", url], ["like", run.path, file])
        for door in doors:
            ended = samehand_command(*door, "--format", "jsonl", "--top", "0")
            rows = [json.loads(line) for line in ended.out.splitlines()]
            assert [row["similarity"] for row in rows if row["url"] == url] == [1.0], (door, ended.err)
        for sides in ([url, file, "--url", "http://x.example/", "--url", url], [url, url]):
            ended = samehand_command("compare", *sides, "--run", run.path, "--format", "jsonl")
            assert json.loads(ended.out)["estimate"] == 1.0, (sides, ended.err)


def test_every_page_of_the_demo_is_like_itself(demo_run: samehand.Run) -> None:
    """All of them with their URLs, in one pass; some without."""
    urls = demo_run.pages(["url"])["url"]
    contents = {url: demo_run.content(url) for url in urls}
    placed = ((url, page_of(contents[url], url, demo_run.settings)) for url in urls)
    own = {
        row["query"]: row["similarity"]
        for table in demo_run.like_each(placed, top=len(urls))
        for row in table
        if row["query"] == row["url"]
    }
    assert own == dict.fromkeys(urls, 1.0)
    for url in urls[::15]:
        assert similarity(demo_run.like(contents[url]), url) == [1.0], url


# 4. Views.

VIEWS = (
    ("replicas", "RUN", "--group", "1"),
    ("replicas", "RUN", "--members"),
    ("replicas", "RUN", "--top", "2", "--format", "csv"),
    ("fake", "RUN", "--hosts"),
    ("fake", "RUN", "--top", "1", "--format", "jsonl"),
    ("sites", "RUN"),
    ("export", "RUN", "--format", "domains"),
    ("clusters", "RUN", "--cut", "0.8", "--format", "jsonl"),
    ("clusters", "RUN", "--families"),
    ("show", "RUN", "1"),
    ("show", "RUN", "1", "--cut", "0.5", "--top", "1"),
    ("like", "RUN", "shop10.example"),
    ("spread", "RUN", "--seeds", "SEEDS"),
    ("compare", "http://shop10.example/", "http://shop11.example/", "--run", "RUN"),
    ("status", "RUN"),
)


def asked(view: tuple[str, ...], run: Path, seeds: Path) -> list[str]:
    return [{"RUN": str(run), "SEEDS": str(seeds)}.get(word, word) for word in view]


def test_views_change_nothing(run: samehand.Run, tmp_path: Path, samehand_command: Command) -> None:
    copy = copy_of(run, tmp_path / "run").path
    (tmp_path / "seeds").write_text("shop10.example\n")
    samehand.open_run(copy).compute("replica", randomised_lexicons=4, workers=1)
    before = files_of(copy)
    for view in VIEWS:
        ended = samehand_command(*asked(view, copy, tmp_path / "seeds"))
        assert ended.code == 0, (view, ended.err)
        assert files_of(copy) == before, view
    opened = samehand.open_run(copy)
    for ask in (opened.replicas, opened.language, opened.sites, opened.clusters, opened.replica_members):
        ask()
    assert files_of(copy) == before
    assert opened.settings.randomised_lexicons == 4


def test_who_does_not_hold_the_lock_writes_nothing(
    run: samehand.Run, crawl: Path, tmp_path: Path, samehand_command: Command
) -> None:
    """While another process writes, views answer, and whatever would change settings or tables is refused."""
    copy = copy_of(run, tmp_path / "run").path
    (tmp_path / "seeds").write_text("shop10.example\n")
    servers = tmp_path / "ns.csv"
    servers.write_text("domain,ns\nshop10.example,ns1.host.example\n")
    before = files_of(copy)
    writing = (
        ("replicas", copy, "-K", "4"),
        ("fake", copy, "--model", Path(samehand.__file__).parent / "data" / "english.lm", "--workers", "1"),
        ("sites", copy, "--min-sites", "9"),
        ("sites", copy, servers),
        ("add", copy, crawl),
        ("scan", crawl, "-o", copy, "--cluster-threshold", "0.9"),
    )
    with RunFolder(copy).locked():
        for command in writing:
            ended = samehand_command("-q", *command)
            assert (ended.code, ended.out) == (2, ""), command
            assert "Another process is writing" in ended.err
        with pytest.raises(RunBusyError):
            samehand.open_run(copy).compute("replica", randomised_lexicons=3)
        for view in VIEWS:
            assert samehand_command(*asked(view, copy, tmp_path / "seeds")).code == 0, view
    assert files_of(copy) == before


# 5. New settings.


def test_a_new_setting_at_its_default_leaves_old_runs_as_they_are(
    run: samehand.Run, crawl: Path, tmp_path: Path
) -> None:
    """Settings at their defaults are not in run.json. Named there, by another version, they make no difference."""
    copy = copy_of(run, tmp_path / "run").path
    manifest = json.loads((copy / "run.json").read_text())
    assert manifest["settings"] == {}
    manifest["settings"] = {name: value for name, value in Settings().as_dict().items() if name != "key"}
    (copy / "run.json").write_text(json.dumps(manifest))
    engine = CountingEngine()
    again = samehand.scan(crawl, copy, signals="all", engine=engine)
    assert engine.work == {}
    for method in LATER:
        again.compute(method, engine=engine)
    assert engine.work == {}
    assert tables(copy) == tables(run.path)


def test_digests_know_only_settings_that_are_not_at_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {"dimensions": 64, "min_words": 7}
    groups = [(group,) for group in GROUPS]
    before = [Settings(**changed).digest(*names) for names in groups]
    newer = dataclasses.make_dataclass(
        "Newer",
        [("brand_new", int, dataclasses.field(default=5, metadata=Settings.__dataclass_fields__["probes"].metadata))],
        bases=(Settings,),
        frozen=True,
        kw_only=True,
    )
    monkeypatch.setattr(settings_module, "Settings", newer)
    assert "brand_new" in newer(**changed).as_dict()
    assert [newer(**changed).digest(*names) for names in groups] == before
    other = newer(**changed, brand_new=6)
    assert [other.digest(*names) for names in groups] != before


# 6. Names of columns.


OWN_VALUES = {"kind", "verdict", "reason", "score", "evidence", "jaccard", "probability"}
"""What each method says in its own words: no key of a join."""


def test_a_column_name_has_one_type_and_one_meaning() -> None:
    meanings: dict[str, set[str]] = {}
    types: dict[str, set[str]] = {}
    for table in TABLES:
        for column, field in zip(table.columns, table.fixed_schema, strict=True):
            meanings.setdefault(column.name, set()).add(column.about)
            types.setdefault(column.name, set()).add(str(field.type))
    # Evidence is named signs with their texts in sites, and weighed items in verdicts.
    assert {name for name, found in types.items() if len(found) > 1} == {"evidence"}
    assert {name for name, found in meanings.items() if len(found) > 1} == OWN_VALUES
    assert not {"cluster_id", "family_id", "group_id", "domains", "family", "fake", "equality"} & set(types)
    answers = {column.name for table in TABLES if table != NAMESERVERS for column in table.columns}
    assert "domain" not in answers


def test_a_run_folder_inside_its_input_is_refused(tmp_path: Path) -> None:
    (tmp_path / "crawl" / "site.test").mkdir(parents=True)
    (tmp_path / "crawl" / "site.test" / "index.html").write_text("<html><p>(a), [b]; {c}</p>")
    with pytest.raises(UsageError, match="lies inside the input"):
        samehand.scan(tmp_path / "crawl", tmp_path / "crawl" / "run", signals="style")
    assert not (tmp_path / "crawl" / "run").exists()


# 7. Mail, no pages, half-made runs.


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mail")
    (folder / "box").mkdir()
    for number in range(4):
        (folder / "box" / f"{number}.eml").write_text(
            f"From: a{number}@x.example\nTo: b@y.example\nSubject: offer\nMessage-ID: <{number}@x.example>\n\n"
            "Buy the cheap watches from our shop because they are the best watches that people can find this time.\n"
        )
    return folder


def test_a_mail_run_answers_every_command(mail: Path, tmp_path: Path, samehand_command: Command) -> None:
    run = tmp_path / "run"
    seeds = tmp_path / "seeds"
    seeds.write_text("x.example\n")
    assert samehand_command("-q", "replicas", mail / "box", "-o", run, "--profile", "mail").code == 0
    for command in (["clusters", run], ["show", run, "1"], ["like", run, "0"], ["spread", run, "--seeds", seeds]):
        ended = samehand_command(*command)
        assert (ended.code, ended.out) == (2, "")
        assert "holds mail, and style is a method for web pages. It has: replica, verdicts." in ended.err
    for command in (["sites", run], ["label", run]):
        ended = samehand_command(*command)
        assert (ended.code, ended.out) == (2, "")
        assert "holds mail" in ended.err
    assert samehand_command("replicas", run, "--group", "1").out.startswith("group 1: 4 documents")
    judged = samehand_command("fake", run, "--format", "jsonl")
    assert [json.loads(line)["verdict"] for line in judged.out.splitlines()] == ["too short"] * 4
    shutil.copytree(mail / "box", tmp_path / "more")
    added = samehand_command("add", run, tmp_path / "more")
    assert added.code == 0
    assert "8 pages" in added.err
    status = samehand_command("status", run).out
    assert "replica: 1 group of 8 near replicas" in status
    assert "language: text of 8 pages judged: 8 too short" in status
    assert "style" not in status


def test_a_scan_without_pages_leaves_a_run_that_answers_and_grows(
    crawl: Path, tmp_path: Path, samehand_command: Command
) -> None:
    empty, run = tmp_path / "empty.warc", tmp_path / "run"
    head = "WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"
    empty.write_text(head, newline="")
    (tmp_path / "seeds").write_text("x.example\n")
    scanned = samehand_command("scan", empty, "-o", run)
    assert (scanned.code, scanned.out) == (4, "")
    assert "No page was found in 1 inputs: 1 warcinfo." in scanned.err
    assert "0 pages; 1 record skipped" in samehand_command("status", run).out
    for command in (
        ["clusters", run],
        ["clusters", run, "--families"],
        ["clusters", run, "--cut", "0.7"],
        ["like", run, crawl],
        ["replicas", run],
        ["replicas", run, "--members"],
        ["fake", run],
        ["fake", run, "--hosts"],
        ["sites", run],
        ["sites", run, "--providers"],
        ["label", run],
    ):
        ended = samehand_command(*command)
        assert ended.code == 0, (command, ended.err)
        assert len(ended.out.splitlines()) <= 1  # the head of an empty table
    for command in (
        ["show", run, "1"],
        ["like", run, "0"],
        ["like", run, "x.example"],
        ["spread", run, "--seeds", tmp_path / "seeds"],
        ["replicas", run, "--group", "1"],
        ["compare", "0", "1", "--run", run],
    ):
        ended = samehand_command(*command)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1), command
    added = samehand_command("add", run, crawl)
    assert added.code == 0, added.err
    assert "36 pages" in samehand_command("status", run).out
    assert len(samehand.open_run(run).clusters()) == 3


def stopped_at(unit: int, monkeypatch: pytest.MonkeyPatch, work: Callable[[], Any]) -> None:
    """Does some work that is interrupted when it comes to this unit."""

    def read(found: Any, settings: Settings) -> Any:
        if found.number == unit:
            raise KeyboardInterrupt
        return read_unit(found, settings)

    with monkeypatch.context() as patched:
        patched.setattr("samehand.engine.tasks.read_unit", read)
        with pytest.raises(KeyboardInterrupt):
            work()


@pytest.mark.parametrize("how", ["nothing read", "half read", "half added", "records removed", "method half made"])
def test_a_half_made_run_says_how_to_go_on(
    how: str, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samehand_command: Command
) -> None:
    run, more = tmp_path / "run", write_warc(tmp_path / "more.warc", small_crawl(seed=2))
    (tmp_path / "seeds").write_text("shop10.example\n")
    if how in ("nothing read", "half read"):
        unit = 0 if how == "nothing read" else 1
        stopped_at(unit, monkeypatch, lambda: samehand.scan([crawl, more], run, workers=1, signals="style"))
    else:
        samehand.scan(crawl, run, workers=1, signals="all")
    if how == "half added":
        stopped_at(1, monkeypatch, lambda: samehand.add(run, more, workers=1))
    if how == "records removed":
        (run / "done" / "pages-000000.json").unlink()
    if how == "method half made":
        compute = functools.partial(samehand.open_run(run).compute, "replica", randomised_lexicons=3, workers=1)
        stopped_at(0, monkeypatch, compute)
    commands = [["clusters"], ["clusters", "--cut", "0.8"], ["show", "1"], ["like", "shop10.example"], ["like", crawl]]
    commands += [["spread", "--seeds", tmp_path / "seeds"], ["replicas"], ["fake"], ["sites"], ["label"]]
    if how == "method half made":
        assert "replica: not complete" in samehand_command("status", run).out
        assert "class" not in samehand.open_run(run).clusters().columns
        assert samehand_command("replicas", run).code == 0
        assert samehand.open_run(run).settings.randomised_lexicons == 3
        assert "class" in samehand.open_run(run).clusters().columns
        return
    for name, *rest in commands:
        ended = samehand_command(name, run, *rest)
        assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1), (name, ended)
        assert "is not finished" in ended.err
        assert "Run the same scan or add again" in ended.err
    status = samehand_command("status", run)
    assert status.code == 0
    assert "of 1 units" in status.out or "of 2 units" in status.out
    if how == "half added":
        samehand.add(run, more, workers=1)
    else:
        samehand.scan(crawl if how == "records removed" else [crawl, more], run, workers=1, signals="style")
    assert samehand_command("clusters", run).code == 0


# 8. Every method on the engine that is asked for.


@pytest.mark.parametrize("method", LATER)
def test_methods_run_on_the_engine_that_is_asked_for(run: samehand.Run, tmp_path: Path, method: str) -> None:
    style_only = copy_of(run, tmp_path / "run")
    manifest = style_only.manifest
    for name in (*LATER, "classes"):
        shutil.rmtree(style_only.path / name)
        for record in (style_only.path / "done").glob(f"{name}*.json"):
            record.unlink()
    style_only.folder.save_manifest(
        manifest | {"methods": ["style"], "stages": {name: manifest["stages"][name] for name in ("read", "style")}}
    )
    engine = CountingEngine()
    style_only.compute(method, engine=engine)
    assert engine.work == {"read": 1, method: 1, "verdicts": 1} | ({"classes": 1} if method == "replica" else {})


# 9. The facade.


def test_inputs_are_paths_strings_or_lists_of_them(crawl: Path, tmp_path: Path) -> None:
    for number, inputs in enumerate((crawl, str(crawl), [crawl], (str(crawl),), [crawl, str(crawl)])):
        assert len(samehand.scan(inputs, tmp_path / str(number), workers=1, signals="style").pages()) == 36


@pytest.mark.parametrize("inputs", [None, 5, b"crawl.warc", [b"crawl.warc"], [None], [], {"a": 1}.values(), object()])
def test_inputs_of_other_types_are_refused(inputs: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="give a path"):
        samehand.scan(inputs, tmp_path / "run", signals="style")
    with pytest.raises(UsageError, match="give a path"):
        samehand.add(tmp_path, inputs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("signals", "said"),
    [
        ("stile", "did you mean style"),
        (["style", "replicas"], "did you mean replica"),
        ("style,langauge", "did you mean language"),
        ("", "No method is named"),
        (5, ": give a "),
        ([5], ": give a "),
        (None, ": give a "),
    ],
)
def test_a_misspelt_signal_leaves_no_folder(crawl: Path, tmp_path: Path, signals: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        samehand.scan(crawl, tmp_path / "run", signals=signals)
    assert not (tmp_path / "run").exists()


def test_other_misuse_gets_one_of_our_errors(run: samehand.Run, crawl: Path, tmp_path: Path) -> None:
    pages: Any = run.pages()["url"]
    misuses: list[Callable[[], Any]] = [
        lambda: samehand.scan(crawl, None, signals="style"),
        lambda: samehand.scan(crawl, 7, signals="style"),
        lambda: samehand.scan(crawl, tmp_path / "run", settings={"probes": 5}, signals="style"),
        lambda: samehand.scan(crawl, tmp_path / "run", workers=0, signals="style"),
        lambda: samehand.scan(tmp_path / "missing.warc", tmp_path / "run", signals="style"),
        lambda: samehand.open_run(None),
        lambda: samehand.open_run(tmp_path),
        lambda: run.content(None),
        lambda: run.content(True),
        lambda: run.content(1.5),
        lambda: run.content(-1),
        lambda: run.content(1 << 80),
        lambda: run.content(np.uint64((1 << 64) - 1)),
        lambda: run.content("http://nowhere.example/"),
        lambda: run.members(0),
        lambda: run.members(99),
        lambda: run.members("1"),
        lambda: run.members(None, cut=0.7),
        lambda: run.replica_members(99),
        lambda: run.like(None),
        lambda: run.like(""),
        lambda: run.language("pages"),
        lambda: run.compute("replicas"),
        lambda: run.compute("replica", lexicons=4),
        lambda: run.compute("replica", randomised_lexicons="4"),
        lambda: run.pages(["uri"]),
        lambda: run.clusters()["class_"],
        lambda: run.clusters().filter(score="high"),
        lambda: run.clusters(cut=2.0),
        lambda: run.explain(pages[0], 1 << 70),
        lambda: samehand.compare(None, b""),
    ]
    for number, misuse in enumerate(misuses):
        with pytest.raises(SamehandError) as error:
            pytest.fail(f"{number}: {misuse()!r}")
        assert str(error.value).endswith((".", "?", str(tmp_path))), (number, str(error.value))
    assert not (tmp_path / "run").exists()
    assert len(samehand.open_run(run.path).pages()) == 36


def test_whole_numbers_of_numpy_are_whole_numbers(run: samehand.Run) -> None:
    for number in run.pages().table.column("page_id").to_numpy()[:3]:
        assert run.content(number) == run.content(int(number))
        assert list(run.like(number).pages) == list(run.like(int(number)).pages)
    assert list(run.members(np.int64(1))) == list(run.members(1))
    assert list(run.replica_members(np.int32(1))) == list(run.replica_members(1))


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert set(dir(samehand)) == {*samehand.__all__, "__version__"}
    assert {"scan", "add", "open_run", "compare", "Run", "Settings", "SamehandError"} <= set(dir(samehand))
    assert all(hasattr(samehand, name) for name in dir(samehand) if name != "SparkEngine")
    with pytest.raises(AttributeError, match="Any"):
        samehand.Any  # noqa: B018
