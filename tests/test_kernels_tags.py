"""The tag kernels equal their readable references: counts, collapsing, LCS with every cut-off, alignment, packing."""

import functools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samehand.base.buffers import read_only
from samehand.kernels import tags as kernel
from samehand.kernels.html.tagnames import END, UNKNOWN
from samehand.methods.sites import tags as structure
from samehand.methods.sites.tags import TagSequences

Sequence = list[int]
TAGS = st.sampled_from([1, 2, 3, 126, 127, 3 | END, 126 | END, 127 | END, 12 * UNKNOWN + 7, 31 * UNKNOWN | END])
LENGTHS = [0, 1, 63, 64, 65, 255, 256, 257, 511, 513, 700]


def sequences_of(*pages: Sequence) -> TagSequences:
    lengths = np.array([len(page) for page in pages], np.int64)
    offsets = read_only(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    tags = read_only(np.array([tag for page in pages for tag in page], np.uint16))
    return TagSequences(tags, offsets, lengths.astype(np.int32))


def longest_common(left: Sequence, right: Sequence) -> int:
    """The matrix of section 3.1, two rows of it at a time."""
    row = [0] * (len(left) + 1)
    for tag in right:
        before, row = row, [0]
        for place, other in enumerate(left):
            row.append(before[place] + 1 if tag == other else max(row[-1], before[place + 1]))
    return row[-1]


@st.composite
def similar_pages(draw: st.DrawFn) -> tuple[Sequence, Sequence]:
    """A page and the same one with pieces cut out, put in and repeated; at times two that share nothing but tags."""
    left = draw(st.lists(TAGS, max_size=40)) * draw(st.integers(1, 12))
    right = draw(st.sampled_from([left, left[::-1], left[3:], left + left[:5]])).copy()
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, max(0, len(right))))
        right[place : place + draw(st.integers(0, 9))] = draw(st.lists(TAGS, max_size=7))
    return left, right


def shared(left: Sequence, right: Sequence, needed: int) -> int:
    pages = structure.pages_of(sequences_of(left, right), np.arange(2))
    rows, carries = np.empty(len(right) + 1, np.uint32), np.empty(len(right) + 1, np.uint8)
    return int(kernel.shared_sequence(pages, kernel.make_centre(pages, 0), 1, needed, rows, carries))


@given(similar_pages())
def test_longest_common_subsequence_equals_the_matrix_at_every_cut_off(pair: tuple[Sequence, Sequence]) -> None:
    length = longest_common(*pair)
    for needed in {0, 1, length // 2, length - 1, length, length + 1, length + 50}:
        assert shared(*pair, max(0, needed)) == (length if needed <= length else -1)


@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("rows", [0, 1, 64, 257])
def test_longest_common_subsequence_at_the_edges_of_words_and_tiles(columns: int, rows: int) -> None:
    random = np.random.Generator(np.random.PCG64(columns * 1000 + rows))
    left, right = (random.integers(1, 6, size).tolist() for size in (columns, rows))
    length = longest_common(left, right)
    assert [shared(left, right, needed) for needed in (0, length, length + 1)] == [length, length, -1]


def test_longest_common_subsequence_equals_rapidfuzz_on_long_pages() -> None:
    distance = pytest.importorskip("rapidfuzz.distance", reason="rapidfuzz is not installed")
    random = np.random.Generator(np.random.PCG64(4))
    for _ in range(20):
        left = random.geometric(0.1, random.integers(300, 3000)).tolist()
        right = [tag for tag in left if random.random() < 0.8] + random.geometric(0.1, 200).tolist()
        length = distance.LCSseq.similarity(left, right)
        assert [shared(left, right, needed) for needed in (0, length, length + 1)] == [length, length, -1]


H1, H2, OL, UL, DIV = 13, 14, 27, 28, 38


@pytest.mark.parametrize(
    ("page", "decided", "distance"),
    [
        ([H1] * 10, kernel.R, 0.5),
        ([DIV] * 40, kernel.F, 0.5),
        ([OL, UL] * 20, kernel.B, 0.5),
        ([H2] * 20 + [H1] * 20, kernel.D, 0.5),
        ([H1, H2] * 15, kernel.D, 0.25),
    ],
)
def test_the_cheapest_measure_that_can_decides(page: Sequence, decided: int, distance: float) -> None:
    """A page moves only if it is nearer than the half that it is away."""
    pages = structure.pages_of(sequences_of([H1, H2] * 20, page), np.arange(2))
    nearest, distances = np.zeros(2, np.int32), np.full(2, 0.5)
    counts = kernel.move_nearer(pages, kernel.make_centre(pages, 0), np.array([1]), 7, nearest, distances)
    assert counts.tolist() == [number == decided for number in range(4)]
    assert (distances[1], nearest[1]) == (distance, 7 if distance < 0.5 else 0)


@given(st.lists(st.lists(TAGS, max_size=12), min_size=1, max_size=8))
def test_counts_equal_counting(pages: list[Sequence]) -> None:
    sequences = sequences_of(*pages)
    found = structure.pages_of(sequences, np.arange(len(pages)))
    for number, page in enumerate(pages):
        entries = slice(found.bounds[number], found.bounds[number + 1])
        assert dict(zip(found.names[entries].tolist(), found.counts[entries].tolist(), strict=True)) == Counter(page)
        lengths = Counter(min(10, length_of(tag) - 1) for tag in page)
        assert found.classes[number].tolist() == [lengths[place] for place in range(11)]


@functools.cache
@given(st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=5))
def test_columns_are_counted_by_page(pages: list[list[int]]) -> None:
    columns = np.full(kernel.ALL_TAGS, 2, np.uint8)
    columns[[1, 3]] = 0, 1
    found = sequences_of(*pages)
    counts = kernel.count_columns(read_only(found.tags), read_only(found.offsets), columns, 3)
    assert counts.tolist() == [
        [page.count(1), page.count(3), len(page) - page.count(1) - page.count(3)] for page in pages
    ]


def length_of(tag: int) -> int:
    from samehand.html import TAG_NAMES

    name = tag & (END - 1)
    return len(TAG_NAMES[name]) if name < len(TAG_NAMES) else name // UNKNOWN


@given(st.lists(st.lists(TAGS, max_size=3), max_size=12))
def test_equal_sequences_have_the_same_first(pages: list[Sequence]) -> None:
    sequences = sequences_of(*pages)
    arrays = sequences.tags, sequences.offsets[:-1].copy(), np.diff(sequences.offsets)
    hashes = kernel.hash_sequences(*arrays)
    firsts = kernel.first_equals(*arrays, hashes, np.argsort(hashes, kind="stable"))
    assert firsts.tolist() == [pages.index(page) for page in pages]


def test_sequences_whose_hashes_collide_stay_apart() -> None:
    pages = [[1], [2], [1], [1], [1, 1]]
    sequences = sequences_of(*pages)
    arrays = sequences.tags, sequences.offsets[:-1].copy(), np.diff(sequences.offsets)
    firsts = kernel.first_equals(*arrays, np.zeros(5, np.uint64), np.arange(5))
    assert firsts.tolist() == [0, 1, 2, 2, 4]


def read_back(left: Sequence, right: Sequence, pairs: NDArray[np.int64]) -> None:
    """Every place once and in order, and only equal tags side by side."""
    for side, page in enumerate((left, right)):
        assert [place for place in pairs[:, side].tolist() if place >= 0] == list(range(len(page)))
    assert all(left[i] == right[j] for i, j in pairs.tolist() if i >= 0 and j >= 0)


@given(similar_pages())
def test_alignment_follows_a_longest_common_subsequence(pair: tuple[Sequence, Sequence]) -> None:
    left, right = pair
    for pairs in (
        kernel.align(read_only(np.array(left, np.uint16)), read_only(np.array(right, np.uint16))),
        structure._alignment(np.array(left, np.uint16), np.array(right, np.uint16)),
    ):
        read_back(left, right, pairs)
        assert (pairs >= 0).all(axis=1).sum() == longest_common(left, right)


@given(st.lists(st.lists(st.integers(0, 0xFFFF) | TAGS, max_size=9), max_size=6))
def test_packed_sequences_come_back(pages: list[Sequence]) -> None:
    sequences = sequences_of(*pages)
    packed, bounds = kernel.pack(sequences.tags, sequences.offsets)
    escaped = [sum(1 if tag & (END - 1) < kernel.ESCAPE else 3 for tag in page) for page in pages]
    assert np.diff(bounds).tolist() == escaped
    tags, offsets = kernel.unpack(read_only(packed), read_only(bounds))
    assert tags.tolist() == sequences.tags.tolist()
    assert offsets.tolist() == sequences.offsets.tolist()


@given(st.binary(max_size=30), st.integers(0, 30))
def test_unpacking_survives_any_bytes(data: bytes, split: int) -> None:
    packed = np.frombuffer(data, np.uint8)
    tags, offsets = kernel.unpack(packed, read_only(np.array([0, min(split, packed.size), packed.size])))
    assert offsets[-1] == tags.size <= packed.size
