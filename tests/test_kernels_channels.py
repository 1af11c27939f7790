"""The similarity of both channels equals the rules of docs/style.md, pair by pair and one to all."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from samehand.grouping.sketches import NARROW, NARROWEST, lanes_of, sketch_words
from samehand.kernels import buckets, channels, sketches
from samehand.kernels.channels import StyleRows
from samehand.methods.style.fingerprints import halves

DIMENSIONS, MARKUP, POOR = 16, 32, 6


def combined(noise: float, markup: float, skeleton: float, poor_pages: int, is_tiny: bool, is_small: bool) -> float:
    knots = [(0.0, 0.0), (0.25, 0.14), (0.38, 0.245), (0.58, 0.60), (1.0, 1.0)]
    trusted = noise if markup >= 0.15 or poor_pages == 2 else min(noise, 2.5 * markup)
    if is_tiny:
        return trusted
    (x0, y0), (x1, y1) = next(pair for pair in itertools.pairwise(knots) if markup <= pair[1][0])
    alone = 0.6 + (skeleton - 0.56) / 0.44 * 0.4 if skeleton >= np.float32(0.56) else 0.0
    alone = max(y0 + (markup - x0) / (x1 - x0) * (y1 - y0), alone)
    if is_small and alone < np.float32(0.8):
        alone = min(alone, 0.5)
    return max(trusted, alone) if alone >= np.float32(0.6) or not poor_pages else trusted


SHARES = st.integers(0, 128).map(lambda matches: float(np.float32(matches / 128)))


@given(SHARES, SHARES, SHARES, st.integers(0, 2), st.booleans(), st.booleans())
def test_combined_equals_reference(
    noise: float, markup: float, skeleton: float, poor_pages: int, is_tiny: bool, is_small: bool
) -> None:
    found = channels.combined(
        np.float32(noise), np.float32(markup), np.float32(skeleton), poor_pages, is_tiny, is_small
    )
    assert found == pytest.approx(combined(noise, markup, skeleton, poor_pages, is_tiny, is_small), abs=1e-6)


def test_markup_alone_is_worth_less_than_noise() -> None:
    assert channels.worth(np.float32(0.25)) == pytest.approx(0.14)
    assert channels.worth(np.float32(0.58)) == pytest.approx(0.60)
    assert channels.worth(np.float32(1.0)) == 1.0


def rows_of(noise: np.ndarray, markup: np.ndarray) -> StyleRows:
    lanes, markup_lanes = lanes_of(DIMENSIONS, bits=NARROW), lanes_of(MARKUP // 2, bits=NARROWEST)
    return StyleRows(
        sketch_words(noise),
        sketches.count_filled(noise),
        lanes,
        *(part for half in halves(markup) for part in (sketch_words(half, NARROWEST), sketches.count_filled(half))),
        markup_lanes,
        POOR,
        *channels.full_tables(lanes, markup_lanes, POOR),
    )


@st.composite
def tables(draw: st.DrawFn, dimensions: int) -> np.ndarray:
    value = st.sampled_from([0, 1, 14, 15, 16, 30, 255, 256, reference.EMPTY, reference.EMPTY])
    rows = st.lists(value, min_size=dimensions, max_size=dimensions)
    return np.array(draw(st.lists(rows, min_size=3, max_size=3)), np.uint32)


@given(tables(DIMENSIONS), tables(MARKUP), st.booleans())
def test_rows_equal_reference(noise: np.ndarray, markup: np.ndarray, is_full: bool) -> None:
    if is_full:  # those are looked up in tables
        noise, markup = (np.where(values == reference.EMPTY, 7, values).astype(np.uint32) for values in (noise, markup))
    table = rows_of(noise, markup)
    across = channels.cross_similarities(table, table)
    for left, right in np.ndindex(3, 3):
        filled = [[np.count_nonzero(half[row] != reference.EMPTY) for half in halves(markup)] for row in (left, right)]
        found = [reference.matches(half[left], half[right], bits=4) for half in halves(markup)]
        whole = sum(matches for matches, _ in found) / max(1, sum(either for _, either in found))
        skeleton = found[1][0] / max(1, found[1][1]) if min(side[1] for side in filled) >= POOR / 2 else 0.0
        poor = sum(sum(side) < 2 * POOR for side in filled)
        is_tiny = min(sum(side) for side in filled) < POOR
        is_small = min(sum(side) for side in filled) < 3 * POOR
        wanted = combined(reference.similarity(noise[left], noise[right]), whole, skeleton, poor, is_tiny, is_small)
        pair = np.array([left], np.int32), np.array([right], np.int32)
        assert buckets.similarities_of_pairs(table, *pair)[0] == pytest.approx(wanted, abs=1e-5)
        assert across[left, right] == pytest.approx(wanted, abs=1e-5)


@given(tables(MARKUP))
def test_half_bytes(values: np.ndarray) -> None:
    found = sketches.narrowest(values)
    halves = [[15 if value == reference.EMPTY else value % 15 for value in row] for row in values.tolist()]
    assert found.tolist() == [[row[i] | row[i + 1] << 4 for i in range(0, MARKUP, 2)] for row in halves]
