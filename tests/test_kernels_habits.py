"""Whether a text keeps to its labels for a while: the kernel against its definition."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import habits as kernel

KINDS = 4


def found_of(texts):
    """What the kernel finds in texts of labels, 0 for none."""
    labels = np.array([label for text in texts for label in text], np.uint8)
    places = np.flatnonzero(labels)
    bounds = np.searchsorted(places, np.cumsum([0, *map(len, texts)]))
    return kernel.label_gains(labels[places] - np.uint8(1), places, KINDS, bounds)


def gains_of(labels):
    """The columns of one text, as they are defined."""
    counts = Counter(label for label in labels if label)
    number = sum(counts.values())
    sums = [0.0, 0.0]
    for place, label in enumerate(labels):
        for column, (first, last) in enumerate((kernel.NEAR, kernel.WIDE)):
            window = [labels[i] for i in range(max(0, place - last + 1), place - first + 1) if labels[i]]
            if label and window:
                p = (counts[label] - 0.5) / (number - 1 + 0.5 * KINDS)
                q = (window.count(label) + 2 * p) / (len(window) + 2)
                sums[column] += math.log(q / p)
    return [number, *sums, -sum(n / number * math.log(n / number) for n in counts.values())]


@given(st.lists(st.lists(st.integers(0, KINDS), max_size=150), max_size=4))
@settings(max_examples=60, deadline=None)
def test_it_equals_its_definition(texts):
    found = found_of(texts)
    wanted = np.array([gains_of(text) for text in texts]).reshape(-1, kernel.COLUMNS)
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert not texts or (found == np.concatenate([found_of([text]) for text in texts])).all()


def test_who_keeps_to_a_label_gains_and_who_mixes_does_not():
    keeps, mixes = found_of([[1] * 100 + [2] * 100, [1, 2] * 100])
    assert keeps[1] / keeps[0] > 0.4
    assert mixes[1] / mixes[0] == pytest.approx(0, abs=0.1)
    assert keeps[3] == pytest.approx(math.log(2))
