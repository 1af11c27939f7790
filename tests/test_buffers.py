"""Arrays of numbers: the different ones, and which are among others, as numpy's slower functions say it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.buffers import distinct, is_among

NUMBERS = st.lists(st.integers(-3, 12), max_size=20).map(lambda values: np.array(values, np.int64))


@given(NUMBERS)
def test_different_numbers(values: np.ndarray) -> None:
    assert distinct(values).tolist() == np.unique(values).tolist()


@given(NUMBERS, NUMBERS)
def test_numbers_among_others(values: np.ndarray, others: np.ndarray) -> None:
    assert is_among(values, np.sort(others)).tolist() == np.isin(values, others).tolist()
