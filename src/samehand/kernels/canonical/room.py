"""The room of a page while its canonical markup is made: its streams, and what the pass remembers of it."""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.canonical.names import Canon
from samehand.kernels.compaction import BLOCK
from samehand.kernels.html.tagnames import NAMES, Names

MOST_ATTRIBUTES = 32
MOST_EMPTY = 16

# Places in `state`: lengths of both streams, elements that are empty so far, whether <body> was seen; what is known of
# the current tag: its attributes, whether it is hidden, an input of type hidden, has an address, is tiny.
VALUES, SKELETON, EMPTY, IN_BODY, COUNT, IS_HIDDEN, HIDDEN_INPUT, HAS_ADDRESS, IS_TINY, STATES = range(10)

_NAMES_SIZE = len(NAMES)


class Streams(NamedTuple):
    """Room for both streams of a page, and for what the pass remembers of it."""

    values: NDArray[np.uint8]
    skeleton: NDArray[np.uint8]
    state: NDArray[np.uint64]
    opened: NDArray[np.uint32]
    empty: NDArray[np.uint64]
    found: NDArray[np.uint64]


class Page(NamedTuple):
    """The current page: its bytes up to `stop`, lookup tables, and Streams. All arrays are pointers."""

    source: NDArray[np.uint8]
    stop: np.uint64
    canon: Canon
    names: Names
    values: NDArray[np.uint8]
    skeleton: NDArray[np.uint8]
    state: NDArray[np.uint64]
    opened: NDArray[np.uint32]
    empty: NDArray[np.uint64]
    found: NDArray[np.uint64]


@nb.njit(cache=True, nogil=True)
def room_for(size: np.int64) -> Streams:
    """Room for the streams of a page of `size` bytes: neither is longer than the page."""
    return Streams(
        np.empty(size + 2 * BLOCK, np.uint8),
        np.empty(size + 2 * BLOCK, np.uint8),
        np.zeros(STATES, np.uint64),
        np.zeros(_NAMES_SIZE, np.uint32),
        np.zeros(3 * MOST_EMPTY, np.uint64),
        np.zeros(4 * MOST_ATTRIBUTES, np.uint64),
    )
