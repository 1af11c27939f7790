"""Clustering equals plain farthest-point-first, whatever it leaves out; figures of clusters; counts of distances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import SettingsError
from samehand.methods.sites import centres as kcentre
from samehand.methods.sites.centres import Calls, KCentres, cluster_figures, k_centres
from samehand.methods.sites.tags import TagSequences
from test_structure import longest_common

Page = list[int]


def sequences_of(pages: list[Page]) -> TagSequences:
    lengths = np.array([len(page) for page in pages], np.int64)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    tags = np.array([tag for page in pages for tag in page], np.uint16)
    return TagSequences(tags, offsets, lengths.astype(np.int32))


@st.composite
def provider(draw: st.DrawFn) -> list[Page]:
    """Pages of a few templates with small changes, repeats, and some of their own."""
    page = st.lists(st.integers(1, 6), max_size=14)
    templates = draw(st.lists(page, min_size=1, max_size=4))
    pages = []
    for _ in range(draw(st.integers(0, 14))):
        made = list(draw(st.sampled_from(templates) | page))
        for _ in range(draw(st.integers(0, 2))):
            place = draw(st.integers(0, len(made)))
            made[place : place + draw(st.integers(0, 2))] = draw(st.lists(st.integers(1, 6), max_size=2))
        pages.append(made)
    return pages


def distance(left: Page, right: Page) -> float:
    longer = max(len(left), len(right))
    return 1.0 - longest_common(left, right) / longer if longer else 0.0


def farthest_point_first(pages: list[Page], k: int, stop: float) -> tuple[list[int], list[int], list[float]]:
    """Gonzalez' algorithm: every distance is computed, none is bounded, nothing is collapsed."""
    centres: list[int] = []
    nearest = [0] * len(pages)
    distances = [np.inf] * len(pages)
    while len(centres) < k and max(distances, default=-1) > stop:
        centre = distances.index(max(distances))
        for row, page in enumerate(pages):
            found = distance(pages[centre], page)
            if found < distances[row]:
                distances[row], nearest[row] = found, len(centres)
        centres.append(centre)
    return centres, nearest, distances


@given(provider(), st.integers(1, 6), st.sampled_from([0.0, 0.0, 0.1, 0.5]))
def test_clusters_are_those_of_plain_farthest_point_first(pages: list[Page], k: int, stop: float) -> None:
    found = k_centres(sequences_of(pages), np.arange(len(pages)), k=k, stop_radius=stop)
    centres, nearest, distances = farthest_point_first(pages, k, stop)
    assert found.centres.tolist() == centres
    assert found.assignment.tolist() == nearest
    assert found.distances.tolist() == distances
    assert found.radius == max(distances, default=0.0)
    assert found.distinct == len(set(map(tuple, pages)))


@given(provider(), st.integers(1, 5))
def test_rows_may_be_some_pages_in_any_order(pages: list[Page], k: int) -> None:
    rows = np.arange(len(pages))[1::2]
    straight = k_centres(sequences_of(pages), rows, k=k)
    turned = k_centres(sequences_of(pages), rows[::-1], k=k)
    alone = k_centres(sequences_of(pages[1::2]), np.arange(rows.size), k=k)
    assert straight.centres.tolist() == turned.centres.tolist() == rows[alone.centres].tolist()
    assert straight.assignment.tolist() == turned.assignment.tolist()[::-1] == alone.assignment.tolist()
    assert straight.distances.tolist() == turned.distances.tolist()[::-1] == alone.distances.tolist()


@given(provider(), st.integers(1, 5))
def test_every_pair_of_a_page_and_a_centre_is_counted_once(pages: list[Page], k: int) -> None:
    found = k_centres(sequences_of(pages), np.arange(len(pages)), k=k)
    calls, centres = found.calls, found.centres.size
    between_centres = centres * (centres - 1) // 2
    assert calls.r + calls.f + calls.b + calls.d + calls.skipped == centres * found.distinct + between_centres


def random_pages(count: int) -> list[Page]:
    random = np.random.Generator(np.random.PCG64(7))
    return [(1 + random.geometric(0.4, random.integers(5, 40)) % 9).tolist() for _ in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sequences = sequences_of(random_pages(300))
    rows = np.arange(300)
    expected = k_centres(sequences, rows, k=8)
    monkeypatch.setattr(kcentre, "_CHUNK", 7)
    found = k_centres(sequences, rows, k=8, threads=threads)
    assert found.centres.tolist() == expected.centres.tolist()
    assert found.distances.tolist() == expected.distances.tolist()
    assert found.assignment.tolist() == expected.assignment.tolist()
    assert found.calls == expected.calls


def test_equal_pages_and_pages_near_their_centre_are_not_looked_at() -> None:
    first, far = [1, 2] * 20, [3, 4] * 20
    pages = [first, far, [5, *first[1:]]]
    found = k_centres(sequences_of([*pages, *pages]), np.arange(6), k=2)
    assert found.distinct == 3
    assert found.calls == Calls(d=3 + 1 + 1, skipped=2)  # the first centre's, between centres, the new one itself


def test_figures_of_clusters() -> None:
    found = KCentres(
        centres=np.array([4, 0]),
        assignment=np.array([1, 0, 0, 1, 0], np.int32),
        distances=np.array([0.0, 0.5, 0.25, 0.1, 0.0]),
        radius=0.5,
        calls=Calls(),
        distinct=5,
    )
    figures = cluster_figures(found)
    assert figures.sizes.tolist() == [3, 2]
    assert figures.means.tolist() == [0.25, 0.05]
    assert figures.radii.tolist() == [0.5, 0.1]
    assert figures.average_radius == pytest.approx((3 * 0.5 + 2 * 0.1) / 5)


def test_nothing_to_cluster() -> None:
    found = k_centres(sequences_of([[1]]), np.array([], np.int64))
    assert (found.centres.size, found.assignment.size, found.radius, found.distinct) == (0, 0, 0.0, 0)
    assert cluster_figures(found).average_radius == 0.0


def test_at_least_one_cluster() -> None:
    with pytest.raises(SettingsError, match="choose 1 or more"):
        k_centres(sequences_of([[1]]), np.array([0]), k=0)
