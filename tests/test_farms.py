"""Farms, and hands that no rule was made for: what is accused, and what must not be."""

from pathlib import Path

import numpy as np
import pytest
from evaluation.sites_hands import by_hand, made_hands
from evaluation.sites_unseen import is_found, page_kinds

import samehand
from runs import copy_of, kinds_of
from samehand.cli.demo import DemoFiles
from samehand.methods.sites import farms
from samehand.methods.sites.verdicts import ACCUSING, FARM
from samehand.store.tables import CLASSES, PROVIDERS, SITE_CLUSTERS, SITES, VERDICT_PAGES, VERDICT_SITES


def test_the_farms_of_the_demo_are_found_and_nothing_else(demo: DemoFiles, demo_run: samehand.Run) -> None:
    kinds = kinds_of(demo, "domain")
    called = {row["site"]: row["kind"] == FARM for row in demo_run.folder.read(SITES, ["site", "kind"]).to_pylist()}
    assert {kinds[site] for site, is_farm in called.items() if is_farm} == {"farm", "fake"}
    assert all(is_farm for site, is_farm in called.items() if kinds[site] in ("farm", "fake"))


@pytest.mark.parametrize("later", [("replica", "phrases", "language"), ("language", "phrases", "replica")])
def test_sites_computed_first_end_as_in_a_scan_of_all(
    demo_run: samehand.Run, style_run: samehand.Run, tmp_path: Path, later: tuple[str, ...]
) -> None:
    """Farms are found by the texts and copies of other methods, which may be computed after the sites."""
    run = copy_of(style_run, tmp_path / "run")
    for method in ("sites", *later):
        run.compute(method, workers=1)
    for table in (CLASSES, SITES, SITE_CLUSTERS, PROVIDERS, VERDICT_PAGES, VERDICT_SITES):
        assert run.folder.read(table).equals(demo_run.folder.read(table)), table.name


def facts(sites: int, *, pages: int = 2, **flags: bool) -> farms._Pages:
    """Sites with one template, all of whose pages have these flags."""
    count = sites * pages
    shown = {name: np.full(count, flags.get(name, False)) for name in ("made", "copied", "natural")}
    return farms._Pages(np.repeat(np.arange(sites), pages), np.zeros(count, np.int64), **shown)


@pytest.mark.parametrize(
    ("flags", "is_linked", "sites", "found"),
    [
        ({"made": True}, False, 5, 5),
        ({"made": True}, False, 4, 0),
        ({"copied": True}, True, 6, 6),
        ({"copied": True}, False, 6, 0),
        ({"copied": True, "natural": True}, True, 6, 0),
        ({"natural": True}, True, 9, 0),
        ({}, True, 9, 0),
    ],
)
def test_a_template_alone_accuses_nobody(flags: dict[str, bool], is_linked: bool, sites: int, found: int) -> None:
    pages = facts(sites, **flags)
    names = [f"{chr(97 + number)}farmsite.test" for number in range(sites)]
    sizes = np.full(sites, 2)
    rows = np.arange(2 * sites)
    assert len(farms._farm_of(rows, pages, sizes, names, is_linked=is_linked)) == found
    alike = [f"brand{number}.test" for number in range(sites)]
    assert not farms._farm_of(rows, pages, sizes, alike, is_linked=is_linked)


def test_no_honest_hand_is_accused_and_most_landers_are_found() -> None:
    hands = {hand: page_kinds(pages) for hand, pages in by_hand(made_hands()).items()}
    accused = {hand for (kind, hand), said in hands.items() if kind == "real" and set(said) & set(ACCUSING)}
    assert not accused
    landers = [(kind, said) for (kind, _), said in hands.items() if kind in ("for-sale", "parked-ads")]
    assert sum(is_found(kind, said[0]) for kind, said in landers) >= 0.75 * len(landers)
