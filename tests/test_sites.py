"""Sites of a run judged: the demo comes out as it was made, name servers are kept, DNS is asked once, nothing twice."""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import samehand
from dns_server import dns_server
from runs import Judged, judge_run, kinds_of, tables
from samehand.base.errors import InputError, RunError, UsageError
from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.methods.labelling import SiteLabelling
from samehand.methods.page_batch import PageBatch
from samehand.methods.sites import judge as parked
from samehand.methods.sites.method import METHOD
from samehand.methods.sites.tags import TagSequences, tag_sequences
from samehand.methods.sites.verdicts import PARKED_KINDS, VERDICT_ORDER
from samehand.store.files import DNS_CACHE
from samehand.store.folder import RunFolder
from samehand.store.tables import PROVIDERS, SITE_CLUSTERS, SITE_PAGES, SITES

PARKING = {"parkwell.example", "lotside.test"}


@pytest.fixture(scope="module")
def run(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    out = tmp_path_factory.mktemp("parked") / "run"
    return samehand.scan(str(demo.crawl), out, workers=1, signals=("style", "sites"))


@pytest.fixture(scope="module")
def found(demo: DemoFiles, run: samehand.Run) -> Judged:
    return judge_run(run.path, nameservers=[demo.nameservers])


def test_parked_sites_of_the_demo_are_parked_and_honest_ones_are_not(demo: DemoFiles, found: Judged) -> None:
    kinds, verdicts = kinds_of(demo, "domain"), defaultdict(Counter)
    for row in found.verdicts.sites.to_pylist():
        verdicts[kinds[row["site"]]][row["kind"] in PARKED_KINDS] += 1
    assert set(verdicts["parked"]) == {True}
    for honest in ("honest", "forum", "copy", "mirror"):
        assert verdicts[honest][True] == 0


def test_both_parking_providers_of_the_demo_are_parked_and_no_other(found: Judged) -> None:
    rows = {row["provider"]: row for row in found.verdicts.providers.to_pylist()}
    assert {name for name, row in rows.items() if row["verdict"] == "parked"} == PARKING
    assert rows["lotside.test"]["nameservers"] == ["ns1.lotside.test", "ns2.lotside.test"]
    assert rows["lotside.test"]["calls_d"] > 0
    assert Counter(row["verdict"] for row in rows.values()) == found.counts["providers"]


def test_tables_stand_in_the_run_with_their_schemas_parked_first(run: samehand.Run, found: Judged) -> None:
    for stored in (SITES, SITE_CLUSTERS, PROVIDERS):
        table = pq.read_table(run.path / stored.path)
        assert table.schema == stored.fixed_schema
        column, order = ("verdict", VERDICT_ORDER) if stored is PROVIDERS else ("kind", parked.ORDER)
        said = table.column(column).to_pylist()
        assert said == sorted(said, key=order.index)
    sizes = [row["sites"] for row in found.verdicts.providers.to_pylist() if row["verdict"] == "ok"]
    assert sizes == sorted(sizes, reverse=True)


def test_every_site_has_evidence_and_a_probability(demo: DemoFiles, found: Judged) -> None:
    for row in found.verdicts.sites.to_pylist():
        assert row["evidence"], row
        assert 0 < row["probability"] < 1
        assert row["reason"]
    kinds = kinds_of(demo, "domain")
    styles = [row["style_cluster_id"] for row in found.verdicts.sites.to_pylist() if kinds[row["site"]] == "parked"]
    assert sum(style is not None for style in styles) > len(styles) / 2


def test_a_run_without_the_signal_gets_it(demo: DemoFiles, run: samehand.Run, found: Judged, tmp_path: Path) -> None:
    samehand.scan(str(demo.crawl), tmp_path / "run", workers=1, signals="style")
    judge_run(tmp_path / "run", nameservers=[demo.nameservers])
    assert tables(tmp_path / "run", "sites") == tables(run.path, "sites")


def test_nothing_is_judged_twice_and_name_servers_are_remembered(
    run: samehand.Run, found: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.delattr(parked, "judge")  # who judges again fails
        again = judge_run(run.path)
    assert again.servers is None
    assert again.verdicts.sites.equals(found.verdicts.sites)
    assert again.counts == found.counts


def test_other_settings_and_lost_tables_are_judged_anew(demo: DemoFiles, tmp_path: Path) -> None:
    run = samehand.scan(str(demo.crawl), tmp_path / "run", workers=1, signals="style")
    first = judge_run(run.path, nameservers=[demo.nameservers])
    strict = judge_run(run.path, settings={"max_mean_distance": 0.001})
    assert strict.counts["clusters"] > first.counts["clusters"]
    (run.path / SITES.path).unlink()
    last = judge_run(run.path, settings={"max_mean_distance": 0.25})
    assert last.verdicts.sites.equals(first.verdicts.sites)


def test_without_name_servers_sites_are_judged_in_a_pool(demo: DemoFiles, tmp_path: Path) -> None:
    run = samehand.scan(str(demo.crawl), tmp_path / "run", workers=1, signals="style")
    found = judge_run(run.path)
    kinds = kinds_of(demo, "domain")
    said = {row["site"]: row["kind"] for row in found.verdicts.sites.to_pylist()}
    assert {said[site] for site, kind in kinds.items() if kind == "parked" and site in said} <= set(PARKED_KINDS)
    assert sum(found.counts["providers"].values()) == 0
    assert found.counts["without_servers"] == len(said)


@pytest.mark.parametrize("known", [True, False])
def test_equal_shells_are_found_with_and_without_name_servers(known: bool, tmp_path: Path) -> None:
    names = [f"{a}{b}.com" for a in ("red", "blue", "tall", "old", "wide") for b in ("lamp", "boat", "tree")]
    shell = "<html><title>{}</title><script src=http://fill.example/s.js></script><div id=x></div>"
    rows = [{"url": f"http://{name}/", "html": shell.format(name)} for name in names]
    rows += [{"url": f"http://nameless-{name}/", "html": shell.format("")} for name in names]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ns.csv").write_text("domain,ns\n" + "".join(f"{name},ns1.host.example\n" for name in names))
    run = samehand.scan(str(tmp_path / "pages.jsonl"), tmp_path / "run", workers=1, signals="style")
    files = [str(tmp_path / "ns.csv")] if known else []
    found = judge_run(run.path, nameservers=files).verdicts.sites.to_pylist()
    kinds = {row["site"]: (row["kind"], row["site_cluster_id"] is None) for row in found}
    assert all(kinds[name] == ("parked-ads", False) for name in names)
    assert all(
        kinds[f"nameless-{name}"] == ("shell", True) for name in names
    )  # kinds that show no site join no cluster


def test_dns_is_asked_for_what_no_file_knows_and_only_once(demo: DemoFiles, tmp_path: Path) -> None:
    run = samehand.scan(str(demo.crawl), tmp_path / "run", workers=1, signals="style")
    with demo.nameservers.open(newline="") as handle:
        pairs = [(row["domain"], row["ns"]) for row in csv.DictReader(handle)]
    plan: dict[str, list[str]] = defaultdict(list)
    for domain, ns in pairs:
        plan[domain].append(ns)
    some = {domain for domain in plan if domain < "g"}
    (tmp_path / "some.csv").write_text("domain,ns\n" + "".join(f"{d},{ns}\n" for d, ns in pairs if d in some))
    told: list[int] = []
    with dns_server(plan) as server:
        settings = {"dns_resolvers": f" {server.address} ,", "dns_rate": 10_000.0, "dns_timeout": 10.0}
        found = judge_run(
            run.path,
            settings=settings,
            nameservers=[tmp_path / "some.csv"],
            resolve=True,
            on_dns_progress=lambda progress: told.append(progress.done),
        )
        asked = server.asked()
        judge_run(run.path, settings=settings, nameservers=[tmp_path / "some.csv"], resolve=True)
        assert server.asked() == asked
    assert not set(asked) & some
    assert told[-1] == len(asked)
    assert found.servers is not None
    assert found.servers.outcomes == {"ok": len(asked)}
    lines = (run.path / DNS_CACHE).read_text().splitlines()
    assert sorted(json.loads(line)["domain"] for line in lines) == asked
    providers = found.verdicts.providers.to_pylist()
    assert {row["provider"] for row in providers if row["verdict"] == "parked"} == PARKING


def test_what_failed_is_asked_again_only_with_retry(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": "http://a.com/", "html": "<html><p>words</p>"}) + "\n")
    run = samehand.scan(str(tmp_path / "pages.jsonl"), tmp_path / "run", workers=1, signals="style")
    with dns_server({"a.com": "refused"}) as server:
        settings = {"dns_resolvers": server.address, "dns_rate": 10_000.0, "dns_timeout": 10.0, "dns_tries": 1}
        judge_run(run.path, settings=settings, resolve=True)
        server.plan["a.com"] = ["ns.park.net"]
        still = judge_run(run.path, settings=settings, resolve=True)
        found = judge_run(run.path, settings=settings, retry=True)
        assert server.asked() == ["a.com"] * 2
    assert still.counts["without_servers"] == 1
    assert found.verdicts.sites.column("provider").to_pylist() == ["park.net"]


def test_what_cannot_be_judged_is_refused(demo: DemoFiles, run: samehand.Run, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        judge_run(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        judge_run(run.path, nameservers=[tmp_path / "none.csv"])
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "1.eml").write_bytes(b"Subject: hello\n\nsome words of a letter that stand here\n")
    mail = samehand.scan(
        tmp_path / "box", tmp_path / "mail", settings=Settings(profile="mail"), workers=1, signals="replica"
    )
    with pytest.raises(UsageError, match="holds mail"):
        judge_run(mail.path)


def test_sites_below_a_private_suffix_are_judged_apart_and_use_its_name_servers(tmp_path: Path) -> None:
    page = "<title>{0}</title><h1>{0}</h1><p>Related searches</p><a href='http://click.test/?{0}'>loans</a>"
    urls = [f"http://park{n}.github.io/" for n in range(6)]
    rows = [{"url": url, "html": page.format(url.split("/")[2])} for url in urls]
    (tmp_path / "pages.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "ns.csv").write_text("domain,ns\ngithub.io,ns1.park.net\npark3.github.io,ns.other.net\n")
    run = samehand.scan(str(tmp_path / "pages.jsonl"), tmp_path / "run", workers=1, signals="style")
    found = judge_run(run.path, nameservers=[tmp_path / "ns.csv"])
    sites = found.verdicts.sites.to_pylist()
    assert [row["site"] for row in sites] == [f"park{n}.github.io" for n in range(6)]
    assert {(row["provider"], row["kind"]) for row in sites} == {("park.net", "parked-ads")}
    assert [row["title"] for row in sites] == [row["site"] for row in sites]


def test_pages_without_a_host_are_no_sites(tmp_path: Path) -> None:
    (tmp_path / "pages.jsonl").write_text(json.dumps({"url": "", "html": "<html><p>x</p>"}) + "\n")
    run = samehand.scan(str(tmp_path / "pages.jsonl"), tmp_path / "run", workers=1, signals="style")
    found = judge_run(run.path)
    assert found.verdicts.sites.num_rows == 0
    assert sum(found.counts["sites"].values()) == 0


def test_the_stage_keeps_tags_figures_and_limits() -> None:
    contents = [b"<html><body>" + b"<p>word</p>" * 30, b""]
    pages = [Page(f"http://a{n}.com/", content, "x", n) for n, content in enumerate(contents)]
    settings = Settings(max_tags=10, max_tokens=100)
    batch = PageBatch(pages_to_batch(pages, 5), settings)
    stored = METHOD.stage(RunFolder(Path()), settings).batch(batch)
    assert stored.schema.equals(SITE_PAGES.fixed_schema)
    assert stored.column("page_id").to_pylist() == [5, 6]
    assert stored.column("tag_count").to_pylist() == [62, 0]
    sequences = TagSequences.of(pa.Table.from_batches([stored]))
    assert sequences.cut == 1
    assert batch.markup is not None
    np.testing.assert_array_equal(sequences.tags, tag_sequences(batch.markup, max_tags=10).tags)
    assert stored.column("words").to_pylist() == [30, 0]


def test_mail_has_rows_without_structure() -> None:
    settings = Settings(profile="mail")
    stored = METHOD.stage(RunFolder(Path()), settings).batch(
        PageBatch(pages_to_batch([Page("", b"a < b", "x", 0)], 0), settings)
    )
    assert stored.column("tag_count").to_pylist() == [0]


def test_labels_of_sites(demo: DemoFiles, run: samehand.Run, found: Judged) -> None:
    kinds = kinds_of(demo, "domain")
    sites = SiteLabelling(run.folder, seed=3)
    names = {row["page_id"]: row["site"] for row in found.verdicts.sites.to_pylist()}
    while question := sites.labelling.ask():
        word = "bad" if kinds[names[question.page_id]] == "parked" else "good"
        sites.answer(question, word, time="2026-11-17T20:00:00Z", who="ann")
    counts = sites.labelling.counts()
    assert counts.open == 0
    assert counts.looks < counts.pages
    labels = sites.labelling.labels().to_pylist()
    wrong = [row for row in labels if (kinds[names[row["page_id"]]] == "parked") != (row["label"] == "unwanted")]
    assert wrong == []
    assert {row["how"] for row in labels} >= {"asked", "group"}
    again = SiteLabelling(run.folder, seed=3)
    assert again.labelling.labels().equals(sites.labelling.labels())
    last = again.undo(time="2026-11-17T20:00:01Z", who="ann")
    assert last is not None
    question = again.labelling.ask()
    assert question is not None
    assert names[question.page_id] == last.name
