"""Windows of words that several pages on several sites share: counted exactly, in passes over the pages.

A first pass counts windows by the lower bits of their hashes, a byte each. That leaves out nearly all that occur once
or twice. Those left are counted in a table, a part of them at a time, so that the table stays within bounds.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.phrases.windows import (
    MANY,
    Entries,
    count_windows,
    find_windows,
    keep_windows,
    move_entries,
    note_windows,
    window_slots,
)

MOST_SEEN = 1 << 30
"""Bytes of the first pass, at most."""
MOST_COUNTED = 1 << 24
"""Occurrences that one pass counts exactly: at most 640 MB."""
_FIRST_SIZE = 1 << 12


@dataclasses.dataclass(frozen=True, slots=True)
class Windows:
    """The windows of consecutive pages: their hashes (0: none), where those of a page begin, the sites of the pages."""

    first_row: int
    hashes: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    sites: NDArray[np.int32]


Read = Callable[[], Iterator[Windows]]
"""Reads the windows of all pages, from the first on."""


@dataclasses.dataclass(frozen=True, slots=True)
class SharedWindows:
    """Windows by number, sorted by hash, and how many pages hold each."""

    keys: NDArray[np.uint64]
    pages: NDArray[np.int32]
    slots: tuple[NDArray[np.uint64], NDArray[np.int32]]

    @classmethod
    def of(cls, keys: NDArray[np.uint64], pages: NDArray[np.int32]) -> "SharedWindows":
        """From hashes in any order."""
        order = np.argsort(keys)
        return cls(keys[order], pages[order], window_slots(keys[order]))

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The number of each window, -1 for those that are not shared."""
        return find_windows(hashes, *self.slots)


def shared_windows(read: Read, words: int, *, least_pages: int) -> SharedWindows:
    """The windows that so many pages on two sites hold. `words` are those of all pages."""
    size = 1 << 16
    while size < min(2 * words, MOST_SEEN):
        size *= 2
    seen = np.zeros(size, np.uint8)
    for windows in read():
        note_windows(windows.hashes, seen)
    often = seen[seen >= least_pages]
    parts = 1 + int(often.sum(dtype=np.int64)) // MOST_COUNTED
    found = [_counted(read, seen, least_pages, parts, part, often.size // parts) for part in range(parts)]
    keys, pages = (np.concatenate(column) for column in zip(*found, strict=True))
    return SharedWindows.of(keys, pages)


def _counted(
    read: Read, seen: NDArray[np.uint8], least_pages: int, parts: int, part: int, expected: int
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Hashes and pages of the shared windows in one part of the hashes. The table has room for `expected` at once."""
    size = _FIRST_SIZE
    while size < 2 * expected:
        size *= 2
    entries, filled = _entries(size), np.zeros(1, np.int64)
    for windows in read():
        kept = keep_windows(windows.hashes, seen, least_pages, parts, part)
        done, last = 0, windows.bounds.size - 1
        while (
            done := count_windows(kept, windows.bounds, windows.sites, windows.first_row, done, entries, filled)
        ) < last:
            larger = _entries(2 * entries[0].size)
            move_entries(entries, larger)
            entries = larger
    keys, _, pages, site = entries
    is_shared = (keys != 0) & (pages >= least_pages) & (site == MANY)
    return keys[is_shared], pages[is_shared]


def _entries(size: int) -> Entries:
    return np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
