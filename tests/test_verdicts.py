"""Verdicts on the demo: what was planted is named, honest sites are kept, and views change nothing."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import samehand
from runs import Ended
from samehand.base.errors import UsageError
from samehand.cli.demo import DemoFiles
from samehand.methods.verdicts.model import read_weights
from samehand.store.tables import VERDICT_PAGES, VERDICT_SITES


@pytest.fixture(scope="module")
def truth(demo: DemoFiles) -> dict[str, str]:
    with open(demo.truth, encoding="utf-8") as handle:
        return {row["url"]: row["kind"] for row in csv.DictReader(handle)}


def test_every_page_has_one_verdict(demo_run: samehand.Run) -> None:
    pages = demo_run.verdicts("pages")
    assert sorted(pages["page_id"]) == sorted(demo_run.pages(["page_id"])["page_id"])
    counts = demo_run.counts("verdicts")
    assert Counter(pages["action"]) == counts["page_actions"]
    assert Counter(demo_run.verdicts("sites")["kind"]) == counts["site_kinds"]


def test_planted_pages_are_named_and_honest_ones_kept(demo_run: samehand.Run, truth: dict[str, str]) -> None:
    kinds: dict[str, Counter[str]] = {}
    for row in demo_run.verdicts("pages"):
        kinds.setdefault(truth.get(row["url"], ""), Counter())[row["kind"], row["action"]] += 1
    assert {kind for kind, _ in kinds["parked"]} <= {"parked-ads", "for-sale"}
    for kind in ("honest", "forum"):
        others = {found for found in kinds[kind] if found != ("empty", "drop")}  # one honest page holds nothing
        assert all(action == "keep" for _, action in others), kinds[kind]
    assert all(kind in ("generated", "farm") and action != "keep" for kind, action in kinds["fake"]), kinds["fake"]


def test_a_replica_names_its_survivor(demo_run: samehand.Run) -> None:
    pages = {row["page_id"]: row for row in demo_run.verdicts("pages")}
    repeated = [row for row in pages.values() if row["survivor_page_id"] is not None]
    assert len(repeated) == demo_run.counts("replica")["grouped_documents"] - demo_run.counts("replica")["groups"]
    assert all(pages[row["survivor_page_id"]]["survivor_page_id"] is None for row in repeated)


def test_the_sum_of_a_verdict_is_what_is_stored(demo_run: samehand.Run) -> None:
    weights = read_weights()
    for unit, name in (("sites", "site"), ("pages", "url")):
        row = demo_run.verdicts(unit)[0]
        found = demo_run.verdict(row[name])
        assert found.log_odds == pytest.approx(weights.prior + sum(found.groups.values()), abs=1e-3)
        assert found.kind == row["kind"]
        assert f"{found.log_odds:+6.2f}" in found.lines()[-1]
    assert demo_run.verdict(1).name == "cluster 1"


def test_another_policy_changes_actions_and_nothing_stored(demo_run: samehand.Run) -> None:
    before = (demo_run.path / VERDICT_PAGES.path).read_bytes()
    crawl, block = demo_run.verdicts("pages"), demo_run.verdicts("pages", policy="block")
    assert set(block["action"]) == {"keep"}
    assert "drop" in crawl["action"]
    assert demo_run.verdicts("sites", policy="crawl")["action"] == demo_run.verdicts("sites")["action"]
    assert (demo_run.path / VERDICT_PAGES.path).read_bytes() == before


def test_wrong_names_are_one_sentence(demo_run: samehand.Run) -> None:
    with pytest.raises(UsageError, match="did you mean sites"):
        demo_run.verdicts("site")
    with pytest.raises(UsageError, match="did you mean parked-ads"):
        demo_run.verdicts("sites", kind="parked-ad")
    with pytest.raises(UsageError, match="no page, site, provider or cluster"):
        demo_run.verdict("nowhere.example")
    with pytest.raises(UsageError, match="no page, site, provider or cluster"):
        demo_run.verdict(10_000)


def test_the_command_line(samehand_command: Callable[..., Ended], demo_run: samehand.Run) -> None:
    ended = samehand_command("verdicts", demo_run.path, "--clusters", "--top", "2")
    assert ended.code == 0
    assert ended.out.splitlines()[0].split() == ["cluster", "action", "kind", "probability", "pages", "sites"]
    listed = samehand_command(
        "verdicts", demo_run.path, "--pages", "--action", "drop", "--format", "jsonl", "--top", "0"
    )
    assert len(listed.out.splitlines()) == demo_run.counts("verdicts")["page_actions"]["drop"]
    told = samehand_command("explain", demo_run.path, "1", "--format", "jsonl")
    assert json.loads(told.out)["kind"] == demo_run.verdict(1).kind
    lines = samehand_command("explain", demo_run.path, "1").out.splitlines()
    assert lines[0].startswith("cluster 1: ")


def test_without_sites_replicas_and_texts_are_judged(demo: DemoFiles, tmp_path: Path) -> None:
    run = samehand.scan(demo.crawl, tmp_path / "run", signals="replica", workers=1)
    kinds = Counter(run.verdicts("pages")["kind"])
    assert set(kinds) == {"real", "replica"}
    assert run.folder.read(VERDICT_SITES).num_rows == 232
    assert set(run.verdicts("sites")["action"]) == {"keep"}
    style = samehand.scan(demo.crawl, tmp_path / "style", signals="style", workers=1)
    assert "verdicts" not in style.methods


def test_mail_is_judged_without_sites(tmp_path: Path) -> None:
    """Replicas of mail are named, though no mail has a site."""
    (tmp_path / "mail").mkdir()
    for number in range(3):
        body = " ".join(f"word{chr(97 + place)}{chr(97 + place % 7)}" for place in range(26)) + f" {number}"
        (tmp_path / "mail" / f"{number}.eml").write_text(f"Subject: offer\nFrom: a@b.example\n\n{body}\n")
    settings = samehand.Settings(profile="mail")
    run = samehand.scan(tmp_path / "mail", tmp_path / "run", signals="replica", settings=settings, workers=1)
    assert Counter(run.verdicts("pages")["kind"]) == {"real": 1, "replica": 2}
    assert len(run.verdicts("sites")) == 0
