"""Windows of words, and how many pages and sites hold each: a table that pages are counted into one after the other.

The words of page i are words[bounds[i]:bounds[i+1]]. The hash of a window is never 0, and 0 stands for no window. The
table is open-addressed: an entry has the hash, the last page that held the window, the number of pages, and the site
of all of them, or MANY.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.hashing import MURMUR, finish

MANY = -1
_ONE = np.uint64(1)
_MOST = np.uint8(255)

Entries = tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Hashes, last pages, numbers of pages, sites."""


@nb.njit(cache=True, nogil=True)
def window_hashes(words: NDArray[np.uint32], bounds: NDArray[np.int64], size: int) -> NDArray[np.uint64]:
    """The hash of the `size` words that begin at each word, rolled along (Karp, Rabin); 0 where a page ends before."""
    hashes = np.zeros(words.size, np.uint64)
    leaving = _ONE
    for _ in range(size):
        leaving *= MURMUR
    for page in range(bounds.size - 1):
        begin, end = bounds[page], bounds[page + 1]
        state = np.uint64(0)
        for word in range(begin, end):
            state = state * MURMUR + np.uint64(words[word]) + _ONE
            first = word - size + 1
            if first > begin:
                state -= (np.uint64(words[first - 1]) + _ONE) * leaving
            if first >= begin:
                hashes[first] = max(finish(state), _ONE)
    return hashes


@nb.njit(cache=True, nogil=True)
def note_windows(hashes: NDArray[np.uint64], seen: NDArray[np.uint8]) -> None:
    """Counts windows by the lower bits of their hashes, up to 255: no window occurs more often than `seen` says."""
    last = np.uint64(seen.size - 1)
    for value in hashes:
        if value != 0:
            seen[value & last] += np.uint8(seen[value & last] < _MOST)


@nb.njit(cache=True, nogil=True)
def keep_windows(
    hashes: NDArray[np.uint64], seen: NDArray[np.uint8], least: int, parts: int, part: int
) -> NDArray[np.uint64]:
    """The windows that may occur `least` times and whose hashes fall into `part` of `parts`; 0 for the others."""
    kept = np.zeros(hashes.size, np.uint64)
    last = np.uint64(seen.size - 1)
    for place in range(hashes.size):
        value = hashes[place]
        if value != 0 and seen[value & last] >= least and (value >> np.uint64(40)) % np.uint64(parts) == part:
            kept[place] = value
    return kept


@nb.njit(cache=True, nogil=True)
def count_windows(
    hashes: NDArray[np.uint64],
    bounds: NDArray[np.int64],
    sites: NDArray[np.int32],
    first_row: int,
    begin: int,
    entries: Entries,
    filled: NDArray[np.int64],
) -> int:
    """Counts the windows of pages into the table, from page `begin` on; returns the first page it had no room for."""
    keys, last_page, pages, site = entries
    last = np.uint64(keys.size - 1)
    for page in range(begin, bounds.size - 1):
        if 2 * (filled[0] + bounds[page + 1] - bounds[page]) > keys.size:
            return page
        row = first_row + page
        for place in range(bounds[page], bounds[page + 1]):
            value = hashes[place]
            if value == 0:
                continue
            slot = value & last
            while keys[slot] != 0 and keys[slot] != value:
                slot = (slot + _ONE) & last
            if keys[slot] == 0:
                keys[slot], last_page[slot], pages[slot], site[slot] = value, row, 1, sites[page]
                filled[0] += 1
            elif last_page[slot] != row:
                last_page[slot] = row
                pages[slot] += 1
                if site[slot] != sites[page]:
                    site[slot] = MANY
    return bounds.size - 1


@nb.njit(cache=True, nogil=True)
def move_entries(entries: Entries, target: Entries) -> None:
    """Puts the entries of a table into a larger one."""
    last = np.uint64(target[0].size - 1)
    for old in range(entries[0].size):
        if entries[0][old] != 0:
            slot = entries[0][old] & last
            while target[0][slot] != 0:
                slot = (slot + _ONE) & last
            target[0][slot], target[1][slot] = entries[0][old], entries[1][old]
            target[2][slot], target[3][slot] = entries[2][old], entries[3][old]


@nb.njit(cache=True, nogil=True)
def window_slots(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """A table to look up the place of a window among `keys`: hashes, and their places."""
    size = 16
    while size < 2 * keys.size:
        size *= 2
    last = np.uint64(size - 1)
    slots, places = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    for place in range(keys.size):
        slot = keys[place] & last
        while slots[slot] != 0:
            slot = (slot + _ONE) & last
        slots[slot], places[slot] = keys[place], place
    return slots, places


@nb.njit(cache=True, nogil=True)
def find_windows(hashes: NDArray[np.uint64], slots: NDArray[np.uint64], places: NDArray[np.int32]) -> NDArray[np.int32]:
    """The place of each window in the table; -1 for a window that is not in it."""
    found = np.full(hashes.size, -1, np.int32)
    last = np.uint64(slots.size - 1)
    for place in range(hashes.size):
        value = hashes[place]
        slot = value & last
        while value != 0 and slots[slot] != 0:
            if slots[slot] == value:
                found[place] = places[slot]
                break
            slot = (slot + _ONE) & last
    return found
