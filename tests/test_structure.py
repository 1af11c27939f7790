"""Structure of pages: what is kept of them, the four measures and their order, the metric, comparisons for people."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import SettingsError
from samehand.base.settings import Settings
from samehand.html import Markup, parse_pages, tag_names
from samehand.methods.sites import tags as structure
from samehand.methods.sites.tags import StructureComparison, TagSequences, compare_structure, tag_sequences

NAMES = st.sampled_from(["a", "b", "p", "tt", "div", "span", "section", "blockquote", "my-widget", "my-other-widget"])
PAGES = st.lists(st.tuples(NAMES, st.booleans()), max_size=25).map(
    lambda tags: "text".join(f"</{name}>" if is_end else f"<{name} class=x>" for name, is_end in tags).encode()
)


def parsed(*pages: bytes) -> Markup:
    offsets = np.cumsum([0, *map(len, pages)])
    return parse_pages(np.frombuffer(b"".join(pages), np.uint8), offsets)


def longest_common(left: list[str], right: list[str]) -> int:
    row = [0] * (len(left) + 1)
    for tag in right:
        before, row = row, [0]
        for place, other in enumerate(left):
            row.append(before[place] + 1 if tag == other else max(row[-1], before[place + 1]))
    return row[-1]


def measures(left: list[str], right: list[str]) -> list[float]:
    """R, F, B and D by their definitions."""
    by_length = [Counter(min(11, len(tag.removeprefix("/"))) for tag in page) for page in (left, right)]
    shared = [
        min(len(left), len(right)),
        (by_length[0] & by_length[1]).total(),
        (Counter(left) & Counter(right)).total(),
        longest_common(left, right),
    ]
    longer = max(len(left), len(right))
    return [1 - common / longer if longer else 0.0 for common in shared]


def found(compared: StructureComparison) -> list[float]:
    return [compared.r, compared.f, compared.b, compared.d]


@given(PAGES, PAGES)
def test_measures_equal_their_definitions_and_stand_in_order(left: bytes, right: bytes) -> None:
    compared = compare_structure(left, right)
    assert found(compared) == measures(tag_names(left), tag_names(right))
    assert found(compared) == sorted(found(compared))
    assert (compared.left_tags, compared.right_tags) == (len(tag_names(left)), len(tag_names(right)))
    assert found(compare_structure(right, left)) == found(compared)


@given(PAGES, PAGES)
def test_alignment_shows_both_pages_and_only_equal_tags_side_by_side(left: bytes, right: bytes) -> None:
    compared = compare_structure(left, right)
    assert [name for name, _ in compared.alignment if name is not None] == tag_names(left)
    assert [name for _, name in compared.alignment if name is not None] == tag_names(right)
    assert all(a == b for a, b in compared.alignment if a is not None and b is not None)


@given(st.lists(PAGES, min_size=3, max_size=5))
def test_distance_is_a_metric(pages: list[bytes]) -> None:
    sequences = tag_sequences(parsed(*pages))
    everyone = np.arange(len(pages))
    d = np.array([structure.distances_to(sequences, row, everyone) for row in everyone])
    assert (d == d.T).all()
    for a, b in itertools.product(everyone, repeat=2):
        assert (d[a, b] == 0) == (tag_names(pages[a]) == tag_names(pages[b]))
        assert 0 <= d[a, b] <= 1
        assert (d[a, b] <= d[a] + d[:, b] + 1e-12).all()


@given(st.lists(PAGES, min_size=2, max_size=6), st.floats(0, 1))
def test_distances_within_a_limit_are_those_of_all_pages_up_to_it(pages: list[bytes], within: float) -> None:
    sequences = tag_sequences(parsed(*pages))
    rows = np.arange(1, len(pages))
    every = structure.distances_to(sequences, 0, rows)
    near = structure.distances_to(sequences, 0, rows, within=within)
    assert near.tolist() == [d if d <= within else np.inf for d in every.tolist()]


def test_start_and_end_tags_differ_and_attributes_do_not_count() -> None:
    compared = compare_structure(b"<div id=a><p>x</p></div>", b"<div id=b><p>y<p></div>")
    assert compared.alignment == [
        ("div", "div"),
        ("p", "p"),
        ("/p", None),
        (None, "p"),
        ("/div", "/div"),
    ]
    assert (compared.r, compared.f, compared.b, compared.d) == (0, 0, 0.25, 0.25)


@pytest.mark.parametrize(("left", "right", "distance"), [(b"", b"text", 0.0), (b"", b"<p>", 1.0), (b"<p>", b"<p>", 0)])
def test_pages_without_tags(left: bytes, right: bytes, distance: float) -> None:
    assert found(compare_structure(left, right)) == [distance] * 4


def test_long_pages_are_cut_and_counted() -> None:
    pages = [b"<p>" * 7, b"<b>" * 3, b"", b"<i>" * 4]
    sequences = tag_sequences(parsed(*pages), max_tags=3)
    assert sequences.offsets.tolist() == [0, 3, 6, 6, 9]
    assert sequences.counts.tolist() == [7, 3, 0, 4]
    assert sequences.cut == 2
    assert sequences.tags.tolist() == tag_sequences(parsed(b"<p><p><p><b><b><b><i><i><i>")).tags.tolist()
    compared = compare_structure(pages[0], b"<p>" * 3, max_tags=3)
    assert (compared.d, compared.cut, len(compared.alignment)) == (0.0, True, 3)


@pytest.mark.parametrize("max_tags", [0, 50_001])
def test_impossible_cuts_are_refused(max_tags: int) -> None:
    with pytest.raises(SettingsError, match="choose a value from 1 to 50000"):
        Settings(max_tags=max_tags)


@given(st.lists(PAGES, max_size=5), st.integers(1, 9))
def test_stored_sequences_come_back(pages: list[bytes], max_tags: int) -> None:
    markup = parsed(*pages)
    batch = structure.structure_batch(pa.array(range(len(pages)), pa.int64()), markup, max_tags=max_tags)
    twice = pa.Table.from_batches([batch, batch.slice(1)] if pages else [batch], structure.STRUCTURE_SCHEMA)
    back = TagSequences.of(twice)
    kept = tag_sequences(markup, max_tags=max_tags)
    parts = [kept.tags[kept.offsets[row] : kept.offsets[row + 1]].tolist() for row in range(len(pages))]
    again = [back.tags[back.offsets[row] : back.offsets[row + 1]].tolist() for row in range(twice.num_rows)]
    assert again == parts + parts[1:]
    assert back.counts.tolist() == (kept.counts.tolist() + kept.counts.tolist()[1:])


@given(st.lists(PAGES, min_size=1, max_size=4), st.lists(st.integers(0, 3), max_size=12))
def test_equal_pages_are_collapsed_onto_the_smallest_row(pages: list[bytes], chosen: list[int]) -> None:
    contents = [pages[number % len(pages)] for number in chosen]
    rows = np.arange(len(contents))[::-1].copy()
    distinct = structure.distinct_pages(tag_sequences(parsed(*contents)), rows)
    names = [tag_names(content) for content in contents]
    assert distinct.rows[distinct.places].tolist() == [names.index(names[row]) for row in rows]
    assert distinct.rows.tolist() == sorted({names.index(name) for name in names})


def test_hostile_pages_are_compared_within_bounds() -> None:
    """Names that no table knows, all different, and none equal: bit tables are as large as they get."""
    left = b"".join(b"<x%d>" % number for number in range(3000))
    right = b"".join(b"<y%d>" % number for number in range(3000))
    compared = compare_structure(left, right)
    assert compared.r == compared.f == 0
    assert len(compared.alignment) == 6000 - sum(None not in pair for pair in compared.alignment)
