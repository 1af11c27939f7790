"""The facade: public names, signatures, docstrings and their examples; results; wrong arguments of every kind."""

import asyncio
import doctest
import html
import importlib
import inspect
import json
import pkgutil
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import api_page
import samehand
from dns_server import dns_server
from samehand.answers.likeness import Likeness
from samehand.answers.result import Result
from samehand.answers.sites import SiteAnswers

EVIL = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
Call = Callable[..., Any]


def documented() -> Iterator[tuple[str, Any]]:
    """Everything on docs/api.md that has a docstring."""
    for function in api_page.FUNCTIONS:
        yield function.__name__, function
    for kind in (samehand.Run, samehand.Settings, *api_page.RESULTS, *api_page.PARTS, *api_page.ENGINES):
        yield kind.__name__, kind
        for name, member in api_page.members_of(kind):
            yield f"{kind.__name__}.{name}", getattr(member, "__func__", member)


DOCUMENTED = dict(documented())
CALLED = {name: thing for name, thing in DOCUMENTED.items() if inspect.isfunction(thing)}


@pytest.fixture(scope="module")
def crawl(demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few pages of the demo as JSONL, with ids of their own."""
    path = tmp_path_factory.mktemp("crawl") / "pages.jsonl"
    rows = demo_run.members(1).head(6)
    pages = [{"id": f"doc-{row['page_id']}", "url": row["url"], "html": demo_run.content(row).decode()} for row in rows]
    path.write_text("".join(json.dumps(page) + "\n" for page in pages))
    return path


@pytest.fixture(scope="module")
def own_run(crawl: Path, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    """A run of these pages that calls may change."""
    return samehand.scan(crawl, tmp_path_factory.mktemp("own") / "run", signals="all", workers=1)


# Names, signatures, docstrings.


def test_import_is_light_and_dir_is_public() -> None:
    slow = ("numpy", "pyarrow", "numba", "click", "duckdb")
    code = f"import sys, samehand; print([n for n in {slow} if n in sys.modules]); print(dir(samehand))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded, names = done.stdout.splitlines()
    assert loaded == "[]"
    assert names == str(sorted([*samehand.__all__, "__version__"]))


def test_every_public_name_is_on_the_page() -> None:
    page = api_page.PAGE.read_text()
    for name in samehand.__all__:
        assert name in page, name


def test_every_error_can_be_caught_by_a_public_name() -> None:
    for module in pkgutil.walk_packages(samehand.__path__, "samehand."):
        if "spark" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    waiting: list[type] = [samehand.SamehandError]
    while waiting:
        error = waiting.pop()
        waiting += [found for found in error.__subclasses__() if found.__module__.startswith("samehand.")]
        assert any(
            base.__name__ in samehand.__all__ for base in error.__mro__ if base is not samehand.SamehandError
        ) or (error is samehand.SamehandError)


def test_the_page_is_made_from_the_docstrings() -> None:
    assert api_page.PAGE.read_text() == api_page.api_page(), "make docs writes it anew"


@pytest.mark.parametrize("name", CALLED)
def test_docstrings_name_every_parameter(name: str) -> None:
    parameters = [
        each for each in inspect.signature(CALLED[name]).parameters.values() if each.name not in ("self", "cls")
    ]
    sections = api_page.sections_of(CALLED[name])
    assert list(api_page.entries_of(sections.get("Args", ""))) == [each.name for each in parameters]
    assert ("Returns" in sections) == (inspect.signature(CALLED[name]).return_annotation is not None)
    for error in api_page.entries_of(sections.get("Raises", "")):
        assert error in samehand.__all__
    positional = [each for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert len(positional) <= 2


@pytest.mark.parametrize(
    "name", [name for name, thing in DOCUMENTED.items() if "Attributes" in api_page.sections_of(thing)]
)
def test_docstrings_name_every_field(name: str) -> None:
    fields = getattr(DOCUMENTED[name], "__dataclass_fields__", None)
    described = api_page.entries_of(api_page.sections_of(DOCUMENTED[name])["Attributes"])
    assert fields is None or list(described) == list(fields)


@pytest.mark.parametrize("name", [name for name, thing in DOCUMENTED.items() if ">>>" in (thing.__doc__ or "")])
def test_examples_in_docstrings_run(name: str, demo_run: samehand.Run, crawl: Path, tmp_path: Path) -> None:
    if "polars" in DOCUMENTED[name].__doc__:
        pytest.importorskip("polars")
    names = {"samehand": samehand, "run": demo_run, "crawl": crawl, "out": tmp_path / "run"}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(DOCUMENTED[name]) or "", names, name, None, 0)
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)


# What may be given.


def test_inputs_are_paths_texts_or_lists(crawl: Path, tmp_path: Path) -> None:
    runs = [
        samehand.scan(given, tmp_path / str(number), signals="replica", workers=1)
        for number, given in enumerate([crawl, str(crawl), [crawl], (str(crawl),), iter([crawl])])
    ]
    assert {len(run.pages()) for run in runs} == {6}
    assert [run.methods for run in runs] == [["replica", "verdicts"]] * 5


def test_a_page_is_named_in_many_ways(own_run: samehand.Run) -> None:
    row = own_run.pages()[2]
    names = [row, row["url"], row["doc_id"], row["page_id"], np.int64(row["page_id"]), f" {row['url']} "]
    assert len({own_run.content(name) for name in names}) == 1
    assert own_run.like(row).pages.table.equals(own_run.like(row["doc_id"]).pages.table)
    assert own_run.content(row["url_host_name"])
    assert "doc-" in own_run.like(row).pages[0]["doc_id"]


def test_members_of_all_clusters(demo_run: samehand.Run) -> None:
    members = demo_run.members()
    for number in (1, np.int64(2), 5):
        of_one = demo_run.members(number)
        assert sorted(of_one["page_id"]) == sorted(members.filter(cluster_number=int(number))["page_id"])
        assert of_one["similarity"] == sorted(of_one["similarity"], reverse=True)


def test_methods_are_computed_when_asked_for(crawl: Path, tmp_path: Path) -> None:
    run = samehand.scan(crawl, tmp_path / "run", workers=1, signals="style")
    assert run.methods == ["style"]
    with pytest.raises(samehand.RunError, match=r"no answers of the method replica.*compute\('replica'\)"):
        run.counts("replica")
    assert len(run.replicas()) == 1
    assert run.methods == ["style", "replica", "classes", "verdicts"]
    run.compute(["language", "replica"], workers=1, fake_threshold=0.9, replica_cosine=0.9)
    assert (run.settings.fake_threshold, run.settings.replica_cosine) == (0.9, 0.9)


def test_dns_is_asked_where_an_event_loop_runs_already(own_run: samehand.Run) -> None:
    sites = own_run.sites().sites["site"]

    async def cell() -> samehand.SiteAnswers:
        return own_run.sites(resolve=True)

    with dns_server({site: ["ns.park.net"] for site in sites}) as server:
        own_run.compute("sites", dns_resolvers=server.address, dns_rate=10_000)
        assert set(asyncio.run(cell()).sites["provider"]) == {"park.net"}


@pytest.mark.parametrize(
    "change", [{"shingle_bytes": 8}, {"max_page_bytes": 5000}, {"fake_treshold": 0.3}, {"min_words": 3}]
)
def test_settings_that_others_rely_on_stay(own_run: samehand.Run, change: dict[str, Any]) -> None:
    before = own_run.manifest
    with pytest.raises(samehand.SettingsError, match=next(iter(change))):
        own_run.compute("language", **change)
    assert own_run.manifest == before


# What may not be given: nothing but our errors, in one sentence.

WRONG: tuple[Any, ...] = (
    *(None, 5, -1, 1 << 70, 5.5, float("nan"), True, object(), np.float32(0.5)),
    *("", "nothing", "\0", "\ud800", "<", b"", b"\xff", [], [5], ["nothing"], {}, {"page_id": "x"}, iter(())),
)


def calls(run: samehand.Run, crawl: Path) -> dict[str, tuple[Call, dict[str, Any]]]:
    """Every public call with arguments that are right."""
    url = run.pages()["url"][0]
    page = run.content(url)
    scan = {"signals": "style", "settings": None, "workers": 1, "engine": None, "on_progress": None}
    compare = {"left": page, "right": page, "left_url": url, "right_url": url, "settings": None}
    style = {"cut": None, "families": False}
    return {
        "scan": (samehand.scan, {"inputs": crawl, "out": "out", **scan}),
        "add": (samehand.add, {"run": run.path, "inputs": crawl, "workers": 1, "engine": None, "on_progress": None}),
        "open_run": (samehand.open_run, {"path": run.path}),
        "compare": (samehand.compare, compare),
        "LocalEngine": (samehand.LocalEngine, {"workers": 1}),
        "SparkEngine": (samehand.SparkEngine, {"session": None}),
        "Settings": (samehand.Settings, {"cluster_threshold": 0.7, "key": "x", "keep_pages": True, "dimensions": 64}),
        "counts": (run.counts, {"method": "style"}),
        "compute": (run.compute, {"method": "style", "workers": 1, "engine": None, "on_progress": None}),
        "pages": (run.pages, {"columns": ["url"]}),
        "content": (run.content, {"page": url}),
        "text": (run.text, {"page": url}),
        "clusters": (run.clusters, style),
        "members": (run.members, {"number": 1, **style}),
        "like": (run.like, {"page": page, "url": url}),
        "like_each": (lambda **given: list(run.like_each(**given)), {"pages": [("x", page)], "top": 1}),
        "spread": (run.spread, {"seeds": [url], "cut": None}),
        "weakest_link": (run.weakest_link, {"page_ids": [0, 1]}),
        "explain": (run.explain, {"left": url, "right": url}),
        "replica_members": (run.replica_members, {"number": 1}),
        "language": (run.language, {"by": "host"}),
        "phrase_members": (run.phrase_members, {"number": 1}),
        "skeleton": (run.skeleton, {"number": 1}),
        "sites": (run.sites, {"nameservers": (), "resolve": False}),
        "sql": (run.sql, {"query": "select 1"}),
        "head": (run.pages().head, {"rows": 1}),
        "filter": (run.pages().filter, {"url": url, "page_id": 1, "fetch_status": None}),
        "[]": (run.pages().__getitem__, {"key": 0}),
    }


@pytest.mark.parametrize(
    "name",
    [
        *("scan", "add", "open_run", "compare", "LocalEngine", "SparkEngine", "Settings", "counts", "compute", "pages"),
        *("content", "text", "clusters", "members", "like", "like_each", "spread", "weakest_link", "explain"),
        *("replica_members", "language", "phrase_members", "skeleton", "sites", "sql", "head", "filter", "[]"),
    ],
)
def test_wrong_arguments_raise_our_errors(
    name: str, own_run: samehand.Run, crawl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, right = calls(own_run, crawl)[name]
    refused = 0
    for parameter in right:
        for wrong in WRONG:
            if (name, parameter) == ("SparkEngine", "session") and isinstance(wrong, str):
                continue  # a master: starting Spark is for the tests of Spark
            given = {**right, parameter: wrong}
            said = "fine"
            try:
                call(*given.values()) if name == "[]" else call(**given)
            except samehand.SamehandError as error:
                said = str(error)
                refused += 1
            assert said.isprintable(), f"{parameter}={wrong!r}: {said!r}"
    assert refused >= len(right)


def test_wrong_names_get_the_nearest_right_one(own_run: samehand.Run, crawl: Path, tmp_path: Path) -> None:
    for call, wanted in (
        (lambda: samehand.scan(crawl, tmp_path / "x", signals="replicas"), "did you mean replica?"),
        (lambda: samehand.Settings(clusterthreshold=1.0), "did you mean cluster_threshold?"),
        (lambda: samehand.Settings(0.7), "by name"),
        (lambda: own_run.pages(["host_name"]), "did you mean url_host_name?"),
        (lambda: own_run.clusters()["clusternumber"], "did you mean cluster_number?"),
        (lambda: own_run.clusters().filter(klass="x"), "There is no column 'klass'"),
        (lambda: own_run.counts("languages"), "did you mean language?"),
        (lambda: own_run.content(own_run.pages()["url"][0] + "x"), "did you mean"),
        (lambda: own_run.clusters()[99], "There is no row 99"),
        (lambda: samehand.scan(crawl, tmp_path / "x", engine="spark", signals="style"), "SparkEngine"),
        (
            lambda: samehand.scan(crawl, tmp_path / "x", engine=samehand.LocalEngine(), workers=2, signals="style"),
            "both given",
        ),
        (lambda: own_run.members(99), "There is no cluster 99"),
    ):
        with pytest.raises(samehand.UsageError) as raised:
            call()
        assert wanted in str(raised.value)
    assert not (tmp_path / "x").exists()


# Results.


@pytest.fixture
def result() -> Result:
    columns = {
        "url": [f"http://{EVIL}/{'long' * 40}", "b"],
        "pages": [1, None],
        "page_id": [7, 8],
        "raw": [b"\0", None],
    }
    return Result(pa.table(columns))


def test_results_are_sequences_of_rows(result: Result) -> None:
    assert len(result) == len(list(result)) == 2
    assert result[-1] == {"url": "b", "pages": None, "page_id": 8, "raw": None}
    assert result["pages"] == [1, None]
    assert result[:1].table.equals(result.head(1).table)
    assert len(result.filter(url="b", page_id=8)) == 1
    assert len(result.filter(page_id=9)) == 0


def test_what_was_crawled_is_harmless_wherever_it_is_shown(result: Result) -> None:
    sites = Result(pa.table({"site": [EVIL], "kind": ["parked-ads"]}))
    likeness = Likeness.of(pa.table({"similarity": pa.array([1.0], pa.float32()), "url": [EVIL]}), 1)
    for shown in (result, likeness, SiteAnswers(sites, sites, sites, {})):
        assert all(line.isprintable() for line in repr(shown).splitlines())
        assert "<img" not in shown._repr_html_()
        assert html.escape("<img") in shown._repr_html_()
        assert "\x1b" not in shown._repr_html_()


def test_results_show_as_tables(result: Result) -> None:
    lines = repr(result).splitlines()
    assert lines[0].split() == ["url", "pages", "raw", "page_id"]
    assert lines[0].index("pages") + len("pages") == lines[1].index(" 1 ") + 2
    assert "…" in lines[1]
    assert lines[-1] == "[2 rows]"
    many = Result(pa.table({f"column_{number}": list(range(30)) for number in range(40)}))
    assert repr(many).splitlines()[-1].startswith("[20 of 30 rows; more columns: column_")
    assert max(map(len, repr(many).splitlines()[:-1])) <= 150
    assert repr(Result(pa.table({"url": pa.array([], pa.string())}))) == "url\n[0 rows]"


def test_results_become_frames(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    frame = result.to_pandas()
    assert list(frame.columns) == result.columns
    assert (str(frame["pages"].dtype), frame["pages"][0]) == ("Int64", 1)
    assert result.to_polars().equals(polars.DataFrame(result))
    for name, convert in (("pandas", result.to_pandas), ("polars", result.to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(samehand.SamehandError, match=f"pip install {name}"):
            convert()


def test_answers_are_shown_in_a_few_lines(demo_run: samehand.Run) -> None:
    members = demo_run.members(1)
    explained = repr(demo_run.explain(members[0], members[1])).splitlines()
    assert [line.split()[0] for line in explained[:4]] == ["left", "right", "style", "words"]
    assert repr(demo_run).endswith("630 pages; style, replica, language, phrases, classes, sites, verdicts>")
    assert repr(demo_run.like(members[0])).startswith("120 of 630 pages share something with it.\nsmooth gap 1: from")
    assert "sites: " in repr(demo_run.sites()).splitlines()[0]


# Without us.


def test_other_tools_open_a_run(demo_run: samehand.Run, tmp_path: Path) -> None:
    folder = shutil.copytree(demo_run.path, tmp_path / "run")
    pages, clusters = str(folder / "pages/*.parquet"), str(folder / "style/clusters.parquet")
    wanted = len(demo_run.pages()), demo_run.clusters()["pages"]
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with duckdb.connect() as database:
        counted = database.execute(f"select count(*) from '{pages}'").fetchone()[0]
        assert (counted, [row[0] for row in database.execute(f"select pages from '{clusters}'").fetchall()]) == wanted
    assert (polars.read_parquet(pages).height, polars.read_parquet(clusters)["pages"].to_list()) == wanted
    assert (len(pandas.read_parquet(folder / "pages")), pandas.read_parquet(clusters)["pages"].tolist()) == wanted
    assert pq.read_table(clusters).column("pages").to_pylist() == wanted[1]
