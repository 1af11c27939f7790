"""Labels in verdicts: they decide their unit, spread with their way, stop where people say so, and obey the guard."""

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samehand
from runs import Ended
from samehand.answers.labels import LabelEffects
from samehand.base.errors import RunError
from samehand.methods.guard import NEVER, Guard, NameList
from samehand.methods.verdicts.links import Links
from samehand.methods.verdicts.policy import read_policy
from samehand.methods.verdicts.rows import actions_of, with_label
from samehand.store.labels import CLUSTER, DIFFERENT, SAME, SKIP, UNWANTED, WANTED, Label, LabelFile
from samehand.store.tables import VERDICT_PAGES, VERDICT_SITES

NOW = "2026-11-17T20:00:00Z"
Labelled = Callable[..., samehand.Run]


@pytest.fixture
def labelled(demo_run: samehand.Run, tmp_path: Path) -> Labelled:
    """A copy of the demo's run with these labels, judged anew."""

    def make(*labels: Label) -> samehand.Run:
        if not (tmp_path / "run").exists():
            shutil.copytree(demo_run.path, tmp_path / "run")
        run = samehand.open_run(tmp_path / "run")
        for label in labels:
            LabelFile.of(run.folder).add(label)
        return run

    return make


def rows_of(run: samehand.Run, unit: str, key: str) -> dict[str, dict[str, object]]:
    return {row[key]: row for row in run.verdicts(unit)}


def largest_cluster(run: samehand.Run, kind: str) -> dict[str, object]:
    """The largest cluster whose verdict is of a kind."""
    return max(run.verdicts("clusters", kind=kind), key=lambda row: row["pages"])


def test_a_label_decides_its_site_and_its_pages(demo_run: samehand.Run, labelled: Labelled) -> None:
    parked = next(row for row in demo_run.verdicts("sites") if row["action"] == "block")
    run = labelled(Label("site", parked["site"], WANTED, NOW))
    found = run.verdict(parked["site"])
    assert (found.label, found.label_how, found.probability, found.action) == (WANTED, "asked", 0.0, "keep")
    assert "A label by hand decides: wanted." in found.lines()
    pages = [row for row in run.verdicts("pages") if row["site"] == parked["site"]]
    assert {(row["action"], row["label_how"]) for row in pages} == {("keep", "site")}
    assert run.counts("verdicts")["labels"] == 1


def test_an_unwanted_site_is_blocked_whatever_the_evidence(demo_run: samehand.Run, labelled: Labelled) -> None:
    honest = next(row for row in demo_run.verdicts("sites", kind="real") if row["action"] == "keep")
    run = labelled(Label("site", honest["site"], UNWANTED, NOW, kind="farm"))
    found = run.verdict(honest["site"])
    assert (found.action, found.kind, found.probability) == ("block", "farm", 1.0)
    (listed,) = [row for row in run.export("domains").entries if row["name"].endswith(honest["site"])]
    assert listed["evidence"].startswith("A person labelled it as unwanted.")
    assert run.verdicts("sites", policy="corpus").filter(site=honest["site"])[0]["action"] == "review"
    page = next(row for row in run.verdicts("pages") if row["site"] == honest["site"])
    assert page["action"] == "drop"
    assert run.verdicts("pages", policy="block").filter(page_id=page["page_id"])[0]["action"] == "keep"


def test_a_label_spreads_along_tight_links_with_its_way(demo_run: samehand.Run, labelled: Labelled) -> None:
    cluster = largest_cluster(demo_run, "farm")
    members = demo_run.members(cluster["cluster_number"])
    sites = rows_of(demo_run, "sites", "site")
    home = next(row for row in members if row["page_id"] in {site["page_id"] for site in sites.values()})
    label = Label("site", next(name for name, row in sites.items() if row["page_id"] == home["page_id"]), UNWANTED, NOW)
    run = labelled(label)
    pages = {row["page_id"]: row for row in run.verdicts("pages")}
    spread = [row for row in pages.values() if row["label_how"] == "path"]
    assert spread
    inside = set(members["page_id"])
    for row in spread:
        assert row["page_id"] in inside
        steps, here = 0, row
        while here["page_id"] != home["page_id"]:
            here, steps = pages[here["label_via_page_id"]], steps + 1
            assert steps <= len(inside)
        assert 0 < row["label_similarity"] <= 1
        assert row["action"] != "keep"
    reached = [row for row in run.verdicts("sites") if row["label_how"] == "path"]
    assert {row["label_page_id"] for row in reached} <= {home["page_id"]}
    before = rows_of(demo_run, "sites", "site")
    for row in reached:  # nobody looked at them: evidence of their own decides whether they are blocked
        assert row["action"] == "review" or before[row["site"]]["action"] == "block"
        assert row["probability"] == before[row["site"]]["probability"]
    lines = run.verdict(spread[0]["url"]).lines()
    assert any(line.startswith("A label by hand spread to it: unwanted") for line in lines)


def test_different_hands_cut_the_way(demo_run: samehand.Run, labelled: Labelled) -> None:
    cluster = largest_cluster(demo_run, "farm")
    ids = demo_run.members(cluster["cluster_number"])["page_id"]
    run = labelled(Label("page", str(ids[0]), UNWANTED, NOW))
    reached = [row["page_id"] for row in run.verdicts("pages") if row["label_how"] in ("path", "identical")]
    other = reached[-1]
    run = labelled(Label.pair(ids[0], other, DIFFERENT, NOW))
    pages = {row["page_id"]: row for row in run.verdicts("pages")}
    assert pages[other]["label"] is None
    assert pages[ids[0]]["label_how"] == "asked"
    run = labelled(Label.pair(ids[0], other, SAME, NOW))
    assert {row["page_id"]: row["label"] for row in run.verdicts("pages")}[other] == UNWANTED


def test_a_cluster_label_decides_its_pages_and_most_of_its_sites(demo_run: samehand.Run, labelled: Labelled) -> None:
    cluster = largest_cluster(demo_run, "template")
    inside = set(demo_run.members(cluster["cluster_number"])["page_id"])
    label = Label("cluster", str(cluster["style_cluster_id"]), UNWANTED, NOW)
    told = LabelEffects(demo_run.folder).touched(label)
    run = labelled(label)
    pages = [row for row in run.verdicts("pages") if row["page_id"] in inside]
    assert {(row["label_how"], row["action"]) for row in pages} == {("cluster", "drop")}
    found = next(row for row in run.verdicts("clusters") if row["style_cluster_id"] == cluster["style_cluster_id"])
    assert (found["action"], found["label_how"]) == ("block", "asked")
    sites = [row for row in run.verdicts("sites") if row["label_how"] == "cluster"]
    assert told.sites == len(sites) > 0
    assert told.pages == len(inside)


@pytest.mark.parametrize("answer", [WANTED, UNWANTED])
def test_the_dry_run_says_what_happens(answer: str, demo_run: samehand.Run, labelled: Labelled) -> None:
    before_sites, before_pages = rows_of(demo_run, "sites", "site"), rows_of(demo_run, "pages", "page_id")
    names = [row["site"] for row in demo_run.verdicts("sites") if row["action"] != "keep"]
    labels = [Label("site", name, answer, NOW) for name in (names[0], names[-1])]
    told = [LabelEffects(demo_run.folder).touched(labels[0])]
    run = labelled(labels[0])
    told.append(LabelEffects(run.folder).touched(labels[1]))
    middle_sites, middle_pages = rows_of(run, "sites", "site"), rows_of(run, "pages", "page_id")
    run = labelled(labels[1])
    after_sites, after_pages = rows_of(run, "sites", "site"), rows_of(run, "pages", "page_id")

    def flips(old: dict[str, dict[str, object]], new: dict[str, dict[str, object]]) -> dict[object, int]:
        pairs = ((row["action"], new[name]["action"]) for name, row in old.items())
        return dict(Counter(pair for pair in pairs if pair[0] != pair[1]))

    assert told[0].site_flips == flips(before_sites, middle_sites)
    assert told[0].page_flips == flips(before_pages, middle_pages)
    assert told[1].site_flips == flips(middle_sites, after_sites)
    assert told[1].page_flips == flips(middle_pages, after_pages)


def test_labels_of_strangers_name_units_that_are_not_there(demo_run: samehand.Run, labelled: Labelled) -> None:
    strangers = [
        Label("page", str(1 << 62), UNWANTED, NOW),
        Label("site", "nowhere.example", UNWANTED, NOW),
        Label("cluster", "12345678901", UNWANTED, NOW),
        Label("provider", "nowhere.example", UNWANTED, NOW),
        Label.pair(5, 1 << 60, DIFFERENT, NOW),
    ]
    assert not any(LabelEffects(demo_run.folder).touched(label).is_known for label in strangers)
    run = labelled(*strangers, Label("page", "1", SKIP, NOW))
    assert run.verdicts("sites")["action"] == demo_run.verdicts("sites")["action"]
    assert run.counts("verdicts")["unknown_labels"] == 4


def test_the_guard_beats_evidence_and_labels(
    demo_run: samehand.Run, labelled: Labelled, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = [row["site"] for row in demo_run.verdicts("sites") if row["action"] == "block"]
    honest = next(row["site"] for row in demo_run.verdicts("sites") if row["action"] == "keep")
    guard = Guard([NameList("shipped list", NEVER, frozenset({blocked[0], honest}))], (), (), ())
    monkeypatch.setattr("samehand.methods.verdicts.judge.never_guard", lambda: guard)
    monkeypatch.setattr("samehand.methods.verdicts.method.never_guard", lambda: guard)
    run = labelled(Label("site", honest, UNWANTED, NOW), Label("site", blocked[0], UNWANTED, NOW))
    rows = rows_of(run, "sites", "site")
    assert {name: rows[name]["action"] for name in (blocked[0], honest)} == {blocked[0]: "review", honest: "review"}
    assert rows[honest]["guard"] == "shipped list"
    assert {row["guard"] for row in rows.values()} == {None, "shipped list"}
    for policy in ("crawl", "block"):
        assert not run.verdicts("sites", policy=policy).filter(site=honest, action="block")
    assert any("guard" in line for line in run.verdict(honest).lines())
    clusters = [row for row in run.verdicts("clusters") if row["guard"]]
    assert all(row["action"] != "block" for row in clusters)


def test_weights_change_by_refit_alone(
    demo_run: samehand.Run, labelled: Labelled, samehand_command: Callable[..., Ended]
) -> None:
    parked = [row["site"] for row in demo_run.verdicts("sites") if row["kind"] == "parked-ads"]
    prior = demo_run.verdict(1).prior
    run = labelled(*(Label("site", name, WANTED, NOW) for name in parked[:3]))
    assert run.verdict(1).prior == prior
    before = {row["site"]: row["action"] for row in run.verdicts("sites")}
    found = run.refit()
    assert found.about.startswith("Fitted to 0 unwanted sites and 3 wanted sites of ")
    old, new = found.weights["PARKED"]
    assert old - 1 < new < old  # a few hands move a weight a little
    after = {row["site"]: row["action"] for row in run.verdicts("sites")}
    assert set(found.flipped_sites) == {name for name in before if before[name] != after[name]}
    assert run.verdict(1).prior == pytest.approx(found.weights["prior"][1])
    again = run.refit()
    assert (again.weights, again.flipped_sites) == ({}, ())
    (run.path / "weights.toml").unlink()
    ended = samehand_command("verdicts", run.path, "--refit", "--top", "1")
    assert ended.code == 0
    assert "PARKED " in ended.err
    assert "sites that flip: " in ended.err
    for text in ("prior = 1", "x", "prior = 1.0\n[weights]\nNOPE = 1.0", "prior = 1.0\n[weights]\nPARKED = 1e9"):
        (run.path / "weights.toml").write_text(text)
        ended = samehand_command("explain", run.path, "1")
        assert (ended.code, "Remove it" in ended.err, ended.out) == (2, True, ""), ended


def test_a_refit_needs_labels(labelled: Labelled) -> None:
    with pytest.raises(RunError, match="no labels of sites"):
        labelled().refit()


def brute_force(pages: int, links: list[tuple[int, int, float]], seeds: list[int]) -> set[int]:
    reached = set(seeds)
    while more := {b for a, b, _ in links + [(b, a, w) for a, b, w in links] if a in reached and b not in reached}:
        reached |= more
    return reached


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.6, 0.7, 0.8, 1.0])), max_size=14),
    st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_links_reach_what_brute_force_reaches(
    links: list[tuple[int, int, float]], seeds: list[int], apart: tuple[int, int]
) -> None:
    links = [(a, b, w) for a, b, w in links if a != b]
    left, right, weight = (np.array([link[place] for link in links]) for place in range(3))
    made = Links.of(10, left.astype(np.int64), right.astype(np.int64), weight.astype(np.float32))
    found = made.reached(np.array(seeds))
    assert set(found.row.tolist()) | set(seeds) == brute_force(10, links, seeds)
    assert not set(found.row.tolist()) & set(seeds)
    strongest = {frozenset((a, b)): 0.0 for a, b, _ in links}
    for a, b, w in links:
        strongest[frozenset((a, b))] = max(w, strongest[frozenset((a, b))])
    via = dict(zip(found.row.tolist(), found.via.tolist(), strict=True))
    for row, label, similarity in zip(found.row.tolist(), found.label.tolist(), found.similarity.tolist(), strict=True):
        way, here = 1.0, row
        while here != seeds[label]:
            way, here = min(way, strongest[frozenset((here, via[here]))]), via[here]
        assert similarity == pytest.approx(way)
    if apart[0] != apart[1]:
        made.part(*apart)
        assert apart[1] not in made.reached(np.array([apart[0]])).row


def test_flips_of_clusters_equal_those_of_whole_tables(demo_run: samehand.Run) -> None:
    """What a person named is counted without evidence: the actions must be those that the tables would get."""
    folder = demo_run.folder
    effects = LabelEffects(folder)
    policy = read_policy(folder.settings().policy)
    for cluster_id in demo_run.clusters()["style_cluster_id"]:
        for answer in (WANTED, UNWANTED):
            label = Label(CLUSTER, str(cluster_id), answer, NOW)
            told, given = effects.touched(label), effects._ground.applied([label])
            for table, unit, flips in (
                (VERDICT_PAGES, "pages", told.page_flips),
                (VERDICT_SITES, "sites", told.site_flips),
            ):
                said = given.pages if unit == "pages" else given.sites
                rows = folder.read(table).take(pa.array(said.unit))
                after = actions_of(with_label(rows, said), unit, policy).to_pylist()
                pairs = zip(rows.column("action").to_pylist(), after, strict=True)
                assert flips == dict(Counter(pair for pair in pairs if pair[0] != pair[1]))
