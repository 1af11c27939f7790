"""Pages to fingerprints of their canonical markup.

The first half of the dimensions is for the shingles of the values, the second for those of the skeleton.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.canonical.names import Tables
from samehand.kernels.canonical.room import SKELETON, VALUES, room_for
from samehand.kernels.canonical.streams import canonical_page
from samehand.kernels.compaction import BLOCK
from samehand.kernels.noise import EMPTY, fingerprint_noise
from samehand.kernels.segments import longest_segment, readable_segment

SHINGLE_BYTES = 16
"""Windows of 8 or 12 bytes make strangers alike."""


@nb.njit(cache=True, nogil=True)
def fingerprint_markup(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    tables: Tables,
    entering: NDArray[np.uint64],
    leaving: NDArray[np.uint64],
    masks: NDArray[np.uint64],
) -> NDArray[np.uint32]:
    """Fingerprints of pages: page i is data[offsets[i]:offsets[i+1]]."""
    pages = offsets.size - 1
    longest = longest_segment(offsets)
    room = room_for(longest)
    copied = np.zeros(longest + BLOCK, np.uint8)
    fingerprints = np.full((pages, masks.size), np.uint32(EMPTY), np.uint32)
    for page in range(pages):
        canonical_page(readable_segment(data, offsets[page], offsets[page + 1], copied), tables, room)
        values, skeleton = room.values[: room.state[VALUES]], room.skeleton[: room.state[SKELETON]]
        for half, stream in ((0, values), (1, skeleton)):
            own = slice(half * masks.size // 2, (half + 1) * masks.size // 2)
            fingerprint_noise(stream, entering, leaving, masks[own], SHINGLE_BYTES, fingerprints[page, own])
    return fingerprints


@nb.njit(cache=True, nogil=True)
def page_streams(content: NDArray[np.uint8], tables: Tables) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Both streams of one page."""
    room = room_for(np.int64(content.size))
    copied = np.zeros(content.size + BLOCK, np.uint8)
    copied[: content.size] = content
    canonical_page(copied[: content.size], tables, room)
    return room.values[: room.state[VALUES]].copy(), room.skeleton[: room.state[SKELETON]].copy()
