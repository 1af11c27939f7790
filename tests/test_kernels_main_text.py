"""The main text is the stretch of blocks with the largest sum, found by looking at all stretches."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samehand.kernels.text.main_text import COST, LEAST_BYTES, in_main_text

BLOCKS = st.lists(st.tuples(st.sampled_from([0, 1, 59, 60, 61, 249, 250, 251, 900]), st.booleans()), max_size=8)


def best_stretch(blocks: list[tuple[int, bool]]) -> list[bool]:
    worth = [size if is_text and size >= LEAST_BYTES else -COST for size, is_text in blocks]
    stretches = [(0, 0), *itertools.combinations(range(len(blocks) + 1), 2)]
    first, last = max(stretches, key=lambda ends: (sum(worth[slice(*ends)]), -ends[1], ends[0]))
    return [first <= place < last and is_text for place, (_, is_text) in enumerate(blocks)]


@given(st.lists(BLOCKS, max_size=4))
def test_main_text_equals_reference(pages: list[list[tuple[int, bool]]]) -> None:
    sizes = [[size for size, _ in blocks] for blocks in pages]
    ends = np.array([end for each in sizes for end in itertools.accumulate(each)], np.int64)
    is_text = np.array([is_text for blocks in pages for _, is_text in blocks], np.bool_)
    offsets = np.array([0, *itertools.accumulate(map(len, pages))], np.int64)
    wanted = [is_main for blocks in pages for is_main in best_stretch(blocks)]
    assert in_main_text(ends, is_text, offsets).tolist() == wanted
