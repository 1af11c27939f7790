"""The forest kernel against a plain walk, and trees of strangers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.kernels.text.forest import Forests, are_sane, walk

FEATURES = 5


def forests_of(seed: int, trees: tuple[int, ...]) -> Forests:
    """Random trees: nodes are split one after the other, children stand at the end."""
    draw = np.random.Generator(np.random.PCG64(seed))
    roots, features, thresholds, left = [], [], [], []
    for _ in range(sum(trees)):
        roots.append(len(left))
        waiting = 1
        while waiting:
            waiting -= 1
            is_split = draw.random() < 0.4 and len(left) - roots[-1] < 40
            left.append(len(left) + waiting + 1 if is_split else 0)
            waiting += 2 * is_split
            features.append(int(draw.integers(FEATURES)))
            thresholds.append(float(draw.normal()))
    return Forests(
        np.cumsum([0, *trees]).astype(np.int32),
        np.array(roots, np.int32),
        np.array(features, np.uint8),
        np.array(thresholds, np.float32),
        np.array(left, np.int32),
        draw.normal(size=len(left)).astype(np.float32),
    )


def plain(row: list[float], forests: Forests, forest: int) -> tuple[float, dict[int, float]]:
    said, parts = 0.0, dict.fromkeys(range(FEATURES), 0.0)
    for tree in range(forests.bounds[forest], forests.bounds[forest + 1]):
        node = int(forests.roots[tree])
        while forests.left[node]:
            feature = int(forests.features[node])
            child = int(forests.left[node]) + (row[feature] > forests.thresholds[node])
            parts[feature] += float(forests.values[child] - forests.values[node])
            node = child
        said += float(forests.values[node])
    return said, parts


@given(st.integers(0, 10_000), st.lists(st.integers(0, 4), min_size=1, max_size=3), st.integers(0, 4))
def test_a_walk_equals_the_reference(seed: int, trees: list[int], number: int) -> None:
    forests = forests_of(seed, tuple(trees))
    rows = np.random.Generator(np.random.PCG64(seed)).normal(size=(number, FEATURES)).astype(np.float32)
    parts = np.zeros((number, len(trees), FEATURES), np.float32)
    said = walk(rows, forests, parts)
    for row in range(number):
        for forest in range(len(trees)):
            total, each = plain(rows[row].tolist(), forests, forest)
            assert said[row, forest] == pytest.approx(total)
            assert parts[row, forest].tolist() == pytest.approx(list(each.values()), abs=1e-5)


def test_trees_without_an_end_are_refused() -> None:
    good = forests_of(3, (2, 1))
    assert are_sane(good, FEATURES)
    inner = int(np.flatnonzero(good.left)[-1])
    for name, place, value in (
        ("left", inner, inner),
        ("left", inner, good.left.size - 1),
        ("left", inner, -1),
        ("roots", 0, good.left.size),
        ("roots", 0, -1),
        ("bounds", -1, 99),
        ("features", inner, FEATURES),
        ("thresholds", inner, np.nan),
        ("values", 0, np.inf),
    ):
        changed = getattr(good, name).copy()
        changed[place] = value
        assert not are_sane(good._replace(**{name: changed}), FEATURES), (name, value)
