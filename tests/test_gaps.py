"""Gaps in a similarity curve are found where no page lies, and nowhere else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samehand.methods.style.gaps import CROWD, WIDTH, find_gaps


def curve(*steps: tuple[int, float, float]) -> np.ndarray:
    """Pages spread evenly within each step: (count, from, to)."""
    return np.concatenate([np.linspace(start, end, count) for count, start, end in steps]).astype(np.float32)


def test_figure_4_two_templates_and_the_rest() -> None:
    gaps = find_gaps(curve((200, 1.0, 0.8), (500, 0.5, 0.4), (300, 0.04, 0.01)))
    assert [(gap.name, gap.pages) for gap in gaps] == [("sharp gap 1", 200), ("sharp gap 2", 700)]
    assert (round(gaps[0].above, 2), round(gaps[0].below, 2)) == (0.8, 0.5)


def test_a_few_pages_inside_make_a_gap_smooth() -> None:
    gaps = find_gaps(curve((500, 1.0, 0.8), (5, 0.75, 0.55), (500, 0.5, 0.4)))
    assert (gaps[0].name, gaps[0].inside > 0) == ("smooth gap 1", True)
    assert 500 <= gaps[0].pages <= 505


def test_a_steady_slope_has_none_but_its_end() -> None:
    gaps = find_gaps(curve((1000, 1.0, 0.3)))
    assert [gap.pages for gap in gaps] == [1000]
    assert gaps[0].below == 0.0


def test_no_pages_no_gaps() -> None:
    assert find_gaps(np.zeros(0, np.float32)) == ()


@given(st.lists(st.integers(1, 128).map(lambda n: n / 128), max_size=60))
def test_every_gap_is_as_wide_and_as_empty_as_promised(similarities: list[float]) -> None:
    values = np.array(sorted(similarities, reverse=True), np.float32)
    last = 0
    for gap in find_gaps(values):
        assert gap.above - gap.below >= WIDTH - 1e-6
        assert values[gap.pages - 1] == np.float32(gap.above)
        within = np.count_nonzero((values < np.float32(gap.above)) & (values > np.float32(gap.below)))
        assert within == gap.inside or np.count_nonzero(values == np.float32(gap.above)) > 1
        assert gap.inside <= CROWD * gap.pages
        assert gap.pages > last
        last = gap.pages
