"""Bytes moved together, by the instruction that some processors have and by the shuffles of the others."""

import platform

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.kernels import compaction
from samehand.kernels.pointers import pointer

WAYS = [False, pytest.param(True, marks=pytest.mark.skipif(platform.machine() != "x86_64", reason="not an x86-64"))]


def _compiled(by_shuffles):
    """A kernel that compacts a block in one of both ways, whatever this processor has."""

    @nb.njit
    def compacted(block, kept, blanks, out):
        compaction.compact_block(
            pointer(block), np.uint64(0), np.uint64(kept), np.uint64(blanks), pointer(out), np.uint64(1)
        )

    with pytest.MonkeyPatch.context() as chosen:
        chosen.setattr(compaction, "_shuffles", lambda _context: by_shuffles)
        compacted(np.zeros(64, np.uint8), np.uint64(0), np.uint64(0), np.zeros(129, np.uint8))
    return compacted


@pytest.fixture(scope="module", params=WAYS, ids=lambda by_shuffles: "shuffles" if by_shuffles else "instruction")
def compact(request):
    return _compiled(request.param)


@given(
    block=st.binary(min_size=64, max_size=64),
    kept=st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 1 << 63, 2**64 - 1, 0xFF00FF]),
    blanks=st.integers(0, 2**64 - 1),
)
def test_kept_bytes_are_moved_together(compact, block, kept, blanks):
    out = np.full(129, 255, np.uint8)
    compact(np.frombuffer(block, np.uint8), np.uint64(kept), np.uint64(blanks), out)
    expected = bytes(32 if blanks >> place & 1 else byte for place, byte in enumerate(block) if kept >> place & 1)
    assert out[0] == 255, "nothing before the place is touched"
    assert out[1 : 1 + len(expected)].tobytes() == expected
    assert (out[65:] == 255).all(), "nothing behind the block is touched"
