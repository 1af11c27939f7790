"""How many tokens of each text are among wanted ones: the kernel against a readable count."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text.word_shapes import among

hashes = st.sampled_from([0, 1, 2, 1 << 52, (1 << 52) + 1, (1 << 64) - 1]) | st.integers(0, (1 << 64) - 1)


@given(st.lists(st.lists(hashes, max_size=12), max_size=4), st.sets(hashes, max_size=8))
@settings(max_examples=60, deadline=None)
def test_it_counts_wanted_tokens(texts, wanted):
    tokens = np.array([token for text in texts for token in text], np.uint64)
    bounds = np.cumsum([0, *map(len, texts)])
    found, distinct = among(tokens, np.array(sorted(wanted), np.uint64), bounds)
    assert found.tolist() == [sum(token in wanted for token in text) for text in texts]
    assert distinct.tolist() == [len(wanted & set(text)) for text in texts]
