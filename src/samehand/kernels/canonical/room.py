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
SLOT_BITS = 10
SLOTS = 1 << SLOT_BITS
"""Tags that are remembered at most."""

# Places in `state`: lengths of both streams, elements that are empty so far, whether <body> was seen; of the current
# tag the number of its attributes, and what they say of its element.
VALUES, SKELETON, EMPTY, IN_BODY, COUNT, FACTS, STATES = range(7)
HIDDEN, HIDDEN_INPUT, HAS_ADDRESS, TINY = (np.uint64(1 << place) for place in range(4))
"""What attributes say of an element, as bits: nobody sees it, it is an input of type hidden, it leads somewhere, it is
a few pixels wide or high."""

_NAMES_SIZE = len(NAMES)


class Tag(NamedTuple):
    """A start tag: its element, whether that shows, and how many bytes the tag wrote behind both streams."""

    element: np.uint64
    shows: np.uint64
    values: np.uint64
    skeleton: np.uint64


TAG_COLUMNS = len(Tag._fields)


class Tags(NamedTuple):
    """Known tags by slot: BLOCK bytes of each one's text and of what it writes, and its TAG_COLUMNS."""

    texts: NDArray[np.uint8]
    values: NDArray[np.uint8]
    skeleton: NDArray[np.uint8]
    columns: NDArray[np.uint64]


class Streams(NamedTuple):
    """Room for both streams of a page, for what the pass remembers of it, and for the tags of all pages."""

    values: NDArray[np.uint8]
    skeleton: NDArray[np.uint8]
    state: NDArray[np.uint64]
    opened: NDArray[np.uint32]
    empty: NDArray[np.uint64]
    found: NDArray[np.uint64]
    tags: Tags


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
    tags: Tags


@nb.njit(cache=True, nogil=True)
def room_for(size: np.int64) -> Streams:
    """Room for the streams of a page of `size` bytes: neither is longer than the page.

    No tag is known, for none is all zeros.
    """
    return Streams(
        np.empty(size + 2 * BLOCK, np.uint8),
        np.empty(size + 2 * BLOCK, np.uint8),
        np.zeros(STATES, np.uint64),
        np.zeros(_NAMES_SIZE, np.uint32),
        np.zeros(3 * MOST_EMPTY, np.uint64),
        np.zeros(4 * MOST_ATTRIBUTES, np.uint64),
        Tags(
            np.zeros(SLOTS * BLOCK, np.uint8),
            np.empty(SLOTS * BLOCK, np.uint8),
            np.empty(SLOTS * BLOCK, np.uint8),
            np.zeros(SLOTS * TAG_COLUMNS, np.uint64),
        ),
    )
