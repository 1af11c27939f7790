"""Grouping equals brute force: edges, forest, cuts, chains and medoids, on random and on adversarial sketches."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import reference
from samehand.grouping.cuts import (
    BRIDGE_SHARE,
    LINK_SHARE,
    SUPPORT_SAMPLE,
    join_twins,
    split_chains,
    supported,
    without_bridges,
)
from samehand.grouping.edges import Edges, cut, in_groups, spanning_forest
from samehand.grouping.forest import CheckCounts, CheckRule, check_buckets, find_forest, join_equal
from samehand.grouping.medoids import find_medoids, regrouped
from samehand.grouping.probes import Buckets, ProbePlan, miss_probability, plan_probes
from samehand.grouping.sketches import NARROW, Sketches, lanes_of, sketch_words
from samehand.kernels import sketches as kernel
from samehand.kernels.buckets import keys_in_parts, nothing_known, sort_by_bucket

EMPTY = reference.EMPTY
DIMENSIONS = 16


@st.composite
def sketch_rows(draw: st.DrawFn) -> list[list[int]]:
    """A few templates, pages that copy them with some values changed or emptied, and repeats."""
    value = st.integers(0, 3)
    templates = draw(st.lists(st.lists(value, min_size=DIMENSIONS, max_size=DIMENSIONS), min_size=1, max_size=3))
    rows = []
    for _ in range(draw(st.integers(0, 14))):
        row = list(draw(st.sampled_from(templates)))
        for position in draw(st.lists(st.integers(0, DIMENSIONS - 1), max_size=10)):
            row[position] = draw(st.sampled_from([EMPTY, 4, 5, 6, 7, 8]))
        rows.append(row)
    return rows


def sketches(rows: list[list[int]] | NDArray[np.uint32], floor: int = 1, bits: int = NARROW) -> Sketches:
    values = np.array(rows, np.uint32).reshape(len(rows), DIMENSIONS)
    lanes = lanes_of(DIMENSIONS, bits=bits, floor=floor)
    page_ids, comparable = 10 + np.arange(len(rows)), np.ones(len(rows), np.bool_)
    return Sketches(sketch_words(values, bits), kernel.count_filled(values), lanes, page_ids, comparable)


def forest_of(
    rows: list[list[int]] | NDArray[np.uint32],
    plan: ProbePlan,
    *,
    floor: int = 1,
    bits: int = NARROW,
    threads: int | None = None,
    **changes: float,
) -> tuple[Edges, CheckCounts]:
    values = np.array(rows, np.uint32).reshape(len(rows), DIMENSIONS)
    buckets = Buckets(plan.columns(values), kernel.hash_rows(values))
    return find_forest(sketches(rows, floor, bits), buckets, rule=rule(**changes), threads=threads)


def rule(**changes: float) -> CheckRule:
    return CheckRule(
        **{
            "edge_threshold": 0.2,
            "leader_threshold": 0.6,
            "exhaustive_bucket_size": 64,
            "max_leaders": 4,
            **changes,
        }
    )


def all_probes(dimensions: int = DIMENSIONS) -> ProbePlan:
    return plan_probes(dimensions, 0.2, miss=0.01, probes=dimensions)


@given(sketch_rows())
def test_with_all_probes_the_cuts_are_those_of_all_pairs(rows: list[list[int]]) -> None:
    """Brute force: every pair compared, no probes, no buckets, no forest."""
    forest, _ = forest_of(rows, all_probes(), edge_threshold=0.05)
    similarity = {
        pair: reference.similarity(rows[pair[0]], rows[pair[1]]) for pair in itertools.combinations(range(len(rows)), 2)
    }
    for threshold in (0.05, 0.2, 0.35, 0.6, 1.0):
        wanted = [pair for pair, value in similarity.items() if np.float32(value) >= np.float32(threshold)]
        assert cut(forest, len(rows), threshold).tolist() == reference.components(wanted, len(rows))


@given(sketch_rows(), st.integers(2, 6), st.integers(1, 3), st.integers(1, DIMENSIONS))
def test_leader_rule_equals_reference(
    rows: list[list[int]], exhaustive_bucket_size: int, max_leaders: int, probes: int
) -> None:
    rows = [row for row, _ in itertools.groupby(sorted(rows))]  # equal rows are collapsed before
    plan = plan_probes(DIMENSIONS, 0.2, miss=0.01, probes=probes)
    forest, _ = forest_of(rows, plan, threads=2, exhaustive_bucket_size=exhaustive_bucket_size, max_leaders=max_leaders)
    edges = reference.checked_edges(
        rows,
        plan.subsets[:, 0].tolist(),
        edge_threshold=0.2,
        leader_threshold=0.6,
        exhaustive_bucket_size=exhaustive_bucket_size,
        max_leaders=max_leaders,
    )
    for pair, value in zip(forest.pairs.tolist(), forest.similarities.tolist(), strict=True):
        assert edges[tuple(pair)] == pytest.approx(value)
    for threshold in (0.2, 0.4, 0.6, 0.9):
        wanted = [pair for pair, value in edges.items() if np.float32(value) >= np.float32(threshold)]
        assert cut(forest, len(rows), threshold).tolist() == reference.components(wanted, len(rows))


@given(sketch_rows(), st.sampled_from([1, 2, 4]))
def test_threads_do_not_change_the_forest(rows: list[list[int]], threads: int) -> None:
    one, _ = forest_of(rows, all_probes(), exhaustive_bucket_size=3, threads=1)
    many, _ = forest_of(rows, all_probes(), exhaustive_bucket_size=3, threads=threads)
    assert one.pairs.tolist() == many.pairs.tolist()
    assert one.similarities.tolist() == many.similarities.tolist()


@given(sketch_rows(), st.permutations(range(4)))
def test_forest_of_parts_is_the_forest_of_all(rows: list[list[int]], order: list[int]) -> None:
    whole, _ = forest_of(rows, all_probes())
    pairs = list(itertools.combinations(range(len(rows)), 2))
    values = [reference.similarity(rows[a], rows[b]) for a, b in pairs]
    kept = [(pair, value) for pair, value in zip(pairs, values, strict=True) if value >= 0.2]
    parts = [
        Edges.of(
            np.array([left for (left, _), _ in kept[i::4]], np.int32),
            np.array([right for (_, right), _ in kept[i::4]], np.int32),
            np.array([v for _, v in kept[i::4]], np.float32),
        )
        for i in order
    ]
    merged = spanning_forest([spanning_forest(parts[:2], len(rows)), *parts[2:]], len(rows))
    assert merged.similarities.sum() == pytest.approx(whole.similarities.sum())
    for threshold in (0.2, 0.5, 0.8):
        assert (cut(merged, len(rows), threshold) == cut(whole, len(rows), threshold)).all()


@given(sketch_rows(), st.sampled_from([0.0, 0.5, 0.7, 1.0]))
def test_chains_are_split_until_every_group_coheres(rows: list[list[int]], min_centre_ratio: float) -> None:
    given_sketches = sketches(rows)
    forest, _ = forest_of(rows, all_probes())
    before = cut(forest, len(rows), 0.4)
    after, judged = split_chains(given_sketches, forest, before, threshold=0.4, least=0.4 * min_centre_ratio)
    groups = find_medoids(given_sketches, np.arange(len(rows), dtype=np.int32), after)
    several = in_groups(after)
    wanted, found = find_medoids(given_sketches, several, after[several]), regrouped(given_sketches, after, judged)
    for field in dataclasses.fields(found):
        assert getattr(found, field.name).tolist() == getattr(wanted, field.name).tolist()
    assert (groups.similarities >= np.float32(0.4 * min_centre_ratio)).all()
    for label in set(after.tolist()):
        members = np.flatnonzero(after == label)
        assert label == members.min()  # named by the smallest
        assert len(set(before[members].tolist())) == 1  # split, never merged
    if min_centre_ratio == 0.0:
        assert (after == before).all()


@given(sketch_rows(), st.sampled_from([0.0, 0.3, 0.6, 1.0]), st.sampled_from([0.0, 0.1, 0.3]))
def test_low_links_stand_when_their_groups_are_alike(rows: list[list[int]], firm: float, support: float) -> None:
    given_sketches = sketches(rows)
    forest, _ = forest_of(rows, all_probes(), edge_threshold=0.05)
    labels = cut(forest, len(rows), 0.6)
    kept = supported(given_sketches, forest, labels, weak_below=firm, min_support=support)
    expected = []
    for (left, right), value in zip(forest.pairs.tolist(), forest.similarities.tolist(), strict=True):
        sides = [np.flatnonzero(labels == labels[end]).tolist() for end in (left, right)]
        pairs = [pair for pair in itertools.product(*sides) if pair != (left, right)]
        others = [1.0 if a == b else reference.similarity(rows[a], rows[b]) for a, b in pairs]
        mean = sum(others) / len(others) if others else 0.0
        if max(map(len, sides)) > SUPPORT_SAMPLE or abs(mean - support) < 1e-6:
            return  # a sample decides, or rounding does
        if value >= np.float32(firm) or mean >= support:
            expected.append([left, right])
    assert kept.pairs.tolist() == expected


@given(sketch_rows())
def test_bridges_are_links_that_few_pages_speak_for(rows: list[list[int]]) -> None:
    given_sketches = sketches(rows)
    forest, _ = forest_of(rows, all_probes(), edge_threshold=0.05)
    labels = cut(forest, len(rows), 0.6)
    groups = {label: np.flatnonzero(labels == label).tolist() for label in set(labels.tolist())}
    if max(map(len, groups.values()), default=0) > SUPPORT_SAMPLE:
        return  # a sample decides

    def are_alike(one: int, other: int, least: np.float32) -> bool:
        pairs = np.array([*itertools.product(groups[one], groups[other])], np.int32)
        reached = given_sketches.similarities(pairs[:, 0].copy(), pairs[:, 1].copy()) >= least
        return bool(2 * reached.sum() >= len(pairs))

    links = [(*labels[pair].tolist(), value) for pair, value in zip(forest.pairs, forest.similarities, strict=True)]
    links = [link for link in links if link[0] != link[1] and are_alike(*link[:2], LINK_SHARE * link[2])]
    best = {label: next((link for link in links if label in link[:2]), None) for label in groups}
    kept = []
    for link in links:
        ends = [(link[0], link[1]), (link[1], link[0])]
        goals = [sum(best[near][:2]) - near for near, _ in ends]
        asked = [(far, goal) for (near, far), goal in zip(ends, goals, strict=True) if best[near] is not link]
        if all(len(groups[far]) == 1 or are_alike(far, goal, BRIDGE_SHARE * link[2]) for far, goal in asked):
            kept.append(sorted(link[:2]))
    found = without_bridges(given_sketches, forest, labels)
    ends = labels[found.pairs]
    assert [sorted(pair) for pair in ends[ends[:, 0] != ends[:, 1]].tolist()] == kept
    inside = labels[forest.pairs[:, 0]] == labels[forest.pairs[:, 1]]
    assert len(found) == len(kept) + inside.sum()


def test_one_lucky_link_does_not_join_two_families() -> None:
    """Two tight clusters with nothing in common, but for one page of each that share some of their values."""
    left = [[100 + d if d != i else 1 for d in range(DIMENSIONS)] for i in range(8)]
    right = [[200 + d if d != i else 2 for d in range(DIMENSIONS)] for i in range(8)]
    right[0][13:] = left[0][13:]
    both = sketches(left + right)
    forest, _ = forest_of(left + right, all_probes(), edge_threshold=0.1)
    labels = cut(forest, 16, 0.6)
    assert len(set(cut(forest, 16, 0.1).tolist())) == 1
    firm = supported(both, forest, labels, weak_below=0.25, min_support=0.08)
    assert len(set(cut(firm, 16, 0.1).tolist())) == 2


def test_a_worm_is_cut_and_a_bunch_is_not() -> None:
    """The paper's figure 3: neighbours of a worm are similar, its ends have nothing in common."""
    worm = [[s + (d - s) % DIMENSIONS for d in range(DIMENSIONS)] for s in range(0, 48, 4)]
    bunch = [[70_000 + d if d != i else 80_000 + i for d in range(DIMENSIONS)] for i in range(9)]
    rows = worm + bunch
    given_sketches = sketches(rows)
    forest, _ = forest_of(rows, all_probes())
    chained = cut(forest, len(rows), 0.4)
    after, _ = split_chains(given_sketches, forest, chained, threshold=0.4, least=0.28)
    assert set(after[len(worm) :].tolist()) == {len(worm)}
    assert set(chained[: len(worm)].tolist()) == {0}
    assert len(set(after[: len(worm)].tolist())) > 1


@given(sketch_rows(), st.integers(2, 8), st.integers(1, 3), st.sampled_from([1, 2, 4]))
def test_what_is_known_changes_no_forest(
    rows: list[list[int]], exhaustive_bucket_size: int, max_leaders: int, threads: int
) -> None:
    """Every probe checked as if it were the first, all edges at once."""
    limits = rule(exhaustive_bucket_size=exhaustive_bucket_size, max_leaders=max_leaders)
    values, plan = np.array(rows, np.uint32).reshape(len(rows), DIMENSIONS), all_probes()
    buckets = Buckets(plan.columns(values), kernel.hash_rows(values))
    things = sketches(rows)
    found, counts = find_forest(things, buckets, rule=limits, threads=threads)
    joined, is_alone = join_equal(things, buckets.identity, limits.edge_threshold)
    parts, compared = [joined], 0
    for column in buckets.columns:
        keys, _ = keys_in_parts(column, is_alone, 0, np.empty(len(rows), np.uint64))
        edges, counted = check_buckets(things, sort_by_bucket(keys), limits, nothing_known(len(rows)))
        parts.append(edges)
        compared += int(counted[4])
    wanted = spanning_forest(parts, len(rows))
    assert found.packed.tolist() == wanted.packed.tolist()
    assert found.similarities.tolist() == wanted.similarities.tolist()
    assert counts.compared <= compared == counts.checks


def test_template_mates_that_meet_in_every_probe_are_compared_once() -> None:
    for size, compared in ((40, 40 * 39 // 2), (400, 399)):  # all pairs of a small bucket, one leader of a large one
        values = np.tile(np.arange(DIMENSIONS, dtype=np.uint32), (size, 1))
        values[:, -1] = 1000 + np.arange(size)
        forest, counts = forest_of(values, all_probes())
        assert (counts.compared, counts.checks) == (compared, 15 * compared)
        assert set(cut(forest, size, 0.8).tolist()) == {0}


@given(sketch_rows())
def test_medoid_is_the_member_nearest_to_all(rows: list[list[int]]) -> None:
    groups = find_medoids(sketches(rows), np.arange(len(rows), dtype=np.int32), np.zeros(len(rows), np.int32))
    if rows:
        sums = [sum(reference.similarity(a, b) for b in rows if b is not a) for a in rows]
        assert sums[groups.medoids[0]] == pytest.approx(max(sums), abs=1e-5)


def test_rows_too_small_to_compare_are_joined_by_equality_alone() -> None:
    rows = [[EMPTY] * 15 + [1]] * 4 + [[EMPTY] * 16] * 2
    small = dataclasses.replace(sketches(rows), comparable=np.zeros(6, np.bool_))
    buckets = Buckets(all_probes().columns(np.array(rows, np.uint32)), np.array([7, 8, 7, 0, 0, 8], np.uint64))
    forest, counts = find_forest(small, buckets, rule=rule())
    assert forest.pairs.tolist() == [[0, 2], [1, 5]]
    assert (counts.too_small, counts.equal, counts.checks) == (6, 2, 0)


def test_paper_estimator_keeps_equal_small_pages_apart() -> None:
    rows = [[1, 2] + [EMPTY] * 14] * 2
    forest, _ = forest_of(rows, all_probes(), floor=DIMENSIONS)
    assert len(forest.pairs) == 0
    forest, _ = forest_of(rows, all_probes())
    assert forest.pairs.tolist() == [[0, 1]]


@pytest.mark.parametrize("alike", [False, True])
def test_a_giant_bucket_costs_linear_work(alike: bool) -> None:
    """An adversary puts all pages into one bucket of one probe: checks grow with pages, not with pairs."""
    draw = np.random.default_rng(5)
    checks = {}
    for size in (2000, 4000):
        values = draw.integers(10, 1 << 31, (size, DIMENSIONS)).astype(np.uint32)
        if alike:
            values[:, 4:] = np.arange(12)
        values[:, 0] = 1
        _, counts = forest_of(values, all_probes(), max_leaders=8)
        checks[size] = counts.checks
        assert counts.checks <= 8 * size * counts.large_buckets
        assert (counts.leader_cap_hits > 0) != alike
    assert checks[4000] <= 2.1 * checks[2000]


def test_identical_pages_are_never_compared() -> None:
    values = np.tile(np.arange(DIMENSIONS, dtype=np.uint32), (5000, 1))
    forest, counts = forest_of(values, all_probes())
    assert (counts.checks, len(forest.pairs)) == (0, 4999)
    assert set(cut(forest, 5000, 1.0).tolist()) == {0}


def test_miss_probability_is_the_share_of_probe_sets_without_a_match() -> None:
    for matches, probes in itertools.product(range(7), range(1, 7)):
        sets = list(itertools.combinations(range(6), probes))
        missed = sum(all(dimension >= matches for dimension in chosen) for chosen in sets)
        assert miss_probability(6, matches, probes) == pytest.approx(missed / len(sets))


def test_probes_are_the_fewest_that_keep_the_promise() -> None:
    plan = plan_probes(128, 35 / 128, miss=0.01)
    probes = len(plan.subsets)
    assert plan.miss(35 / 128) <= 0.01 < miss_probability(128, 35, probes - 1)
    assert len(np.unique(plan.subsets)) == probes
    assert plan_probes(128, 0.001, miss=1e-9).subsets.shape == (128, 1)


def test_paper_says_p_t_512_misses_less_than_one_in_a_hundred() -> None:
    for probes in range(4, 129):
        matches = math.ceil(512 / probes)
        if matches <= 128:
            assert miss_probability(128, matches, probes) < 0.02


def test_subsets_of_several_dimensions_need_agreement_on_all() -> None:
    rows = [[1] * 16, [1] * 8 + [2] * 8, [1] * 15 + [3]]
    plan = plan_probes(16, 0.5, miss=0.01, probes=40, probe_dimensions=2)
    assert plan.subsets.shape == (40, 2)
    forest, _ = forest_of(rows, plan)
    assert cut(forest, 3, 0.4).tolist() == [0, 0, 0]


def test_a_bucket_of_200_000_pages_takes_linear_work() -> None:
    """Identical pages are collapsed, near-identical ones are compared with a few leaders each."""
    draw = np.random.default_rng(6)
    checks = {}
    for size in (100_000, 200_000):
        values = np.tile(np.arange(DIMENSIONS, dtype=np.uint32), (size, 1))
        near = np.flatnonzero(np.arange(size) % 2)
        values[near, draw.integers(1, DIMENSIONS, near.size)] = 1000 + near
        forest, counts = forest_of(values, plan_probes(DIMENSIONS, 0.2, miss=0.01, probes=2))
        assert counts.equal == size // 2 - 1
        assert counts.large_buckets >= 1
        assert set(cut(forest, size, 0.6).tolist()) == {0}
        checks[size] = counts.checks
    assert checks[200_000] <= 2.1 * checks[100_000]
    assert checks[200_000] <= 4 * 200_000


def test_a_bridge_does_not_join_two_groups() -> None:
    """Pages that hold both templates: the better of their two links stays, and links among alike groups stay."""
    draw = np.random.Generator(np.random.PCG64(3))
    left, right = draw.integers(0, 1 << 30, (2, DIMENSIONS), dtype=np.uint32)
    both = np.concatenate([left[: DIMENSIONS // 2], right[DIMENSIONS // 2 :]])
    rows = np.stack([*[left] * 3, *[right] * 3, both, both])
    rows[[1, 4, 7], [0, 1, 2]] = [7, 8, 9]
    things, labels = sketches(rows), np.array([0, 0, 0, 3, 3, 3, 6, 6], np.int32)
    links = Edges.of(np.array([0, 3], np.int32), np.array([6, 6], np.int32), np.array([0.5, 0.4], np.float32))
    forest = spanning_forest([links], len(rows))
    assert without_bridges(things, forest, labels).pairs.tolist() == [[0, 6]]
    alike = np.array([0, 0, 2, 3, 3, 3, 6, 6], np.int32)  # two groups of one template around the bridge
    links = Edges.of(np.array([0, 2], np.int32), np.array([6, 6], np.int32), np.array([0.5, 0.4], np.float32))
    assert len(without_bridges(things, spanning_forest([links], len(rows)), alike)) == 2


def test_twins_join_a_group_and_make_no_chain() -> None:
    pairs = np.array([[2, 3], [0, 2], [2, 4], [4, 5], [6, 7]], np.int32)
    links = Edges.of(pairs[:, 0], pairs[:, 1], np.array([0.95, 0.9, 0.85, 0.84, 0.5], np.float32))
    before = np.array([0, 1, 2, 2, 4, 5, 6, 7], np.int32)
    assert join_twins(links, before, least=0.8).tolist() == [0, 1, 0, 0, 0, 5, 6, 7]
    assert join_twins(links, before, least=0.92).tolist() == before.tolist()
    assert before.tolist() == [0, 1, 2, 2, 4, 5, 6, 7]
