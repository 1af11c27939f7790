"""Kernels that put numbers into order equal what Python does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samehand.kernels import sorting

VALUES = st.lists(st.sampled_from([0, 1, 2, 2047, 2048, 1 << 33, (1 << 33) + 1, 1 << 63, (1 << 64) - 1]), max_size=40)


@given(VALUES)
def test_order_is_by_value_then_by_place(values: list[int]) -> None:
    wanted = sorted(range(len(values)), key=lambda place: (values[place], place))
    assert sorting.stable_order(np.array(values, np.uint64)).tolist() == wanted


@given(VALUES)
def test_twins_are_later_places_of_a_value(values: list[int]) -> None:
    numbers = np.array(values, np.uint64)
    firsts, later = sorting.twins(numbers, sorting.stable_order(numbers))
    wanted = [(values.index(value), place) for place, value in enumerate(values) if value]
    assert sorted(zip(firsts.tolist(), later.tolist(), strict=True)) == sorted(
        pair for pair in wanted if len({*pair}) > 1
    )
