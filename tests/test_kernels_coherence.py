"""How words fit the subject of those before them: the kernel against its definition."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import coherence as kernel

WORDS, SIZE = 12, 5


def fit_of(ids, topics, weights):
    """The columns of one text, as they are defined."""
    row = np.zeros(kernel.FIT_COLUMNS)
    told = [word < WORDS and weights[word] > 0 for word in ids]
    for place, word in enumerate(ids):
        if not told[place]:
            continue
        for column, (first, last) in enumerate(((kernel.NEAR, kernel.FAR), (kernel.FAR, kernel.BEYOND))):
            before = [i for i in range(max(0, place - last + 1), place - first + 1) if told[i]]
            total = sum((topics[ids[i]].astype(int) for i in before), np.zeros(SIZE, int))
            own, norm = (topics[word].astype(int) ** 2).sum(), (total**2 >> 4).sum()
            if own and norm:
                row[column] += weights[word] * (topics[word].astype(int) @ total) / np.sqrt(own * norm * 16)
        row[2] += weights[word]
    return row


@given(st.lists(st.lists(st.integers(0, WORDS + 2), max_size=200), max_size=3), st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None)
def test_it_equals_its_definition(texts, seed):
    draw = np.random.Generator(np.random.PCG64(seed))
    topics = draw.integers(-127, 128, (WORDS, SIZE)).astype(np.int8)
    weights = np.maximum(0, draw.normal(1, 1, WORDS)).astype(np.float32)
    bounds = np.cumsum([0, *map(len, texts)])
    ids = np.array([word for text in texts for word in text], np.int32)
    found = kernel.topic_fit(ids, topics, weights, bounds)
    wanted = np.array([fit_of(text, topics, weights) for text in texts]).reshape(-1, kernel.FIT_COLUMNS)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    alone = [kernel.topic_fit(ids[a:b], topics, weights, np.array([0, b - a])) for a, b in itertools.pairwise(bounds)]
    assert not texts or (found == np.concatenate(alone)).all()


def test_the_largest_sums_fit_into_32_bits():
    topics = np.full((1, 64), 127, np.int8)
    found = kernel.topic_fit(np.zeros(400, np.int32), topics, np.ones(1, np.float32), np.array([0, 400]))
    np.testing.assert_allclose(found[0], [400 - kernel.NEAR, 400 - kernel.FAR, 400], atol=1e-3)
