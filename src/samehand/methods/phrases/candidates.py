"""Pages much of whose text is phrases of other pages, and the phrases that tell something about them.

A phrase is a 5-gram of words that at least three pages on two sites share. A passage is a longer stretch that they
share word for word: a quote, a licence, navigation. What touches a passage is left out. A phrase is telling if at least
half of the pages that hold it are candidates themselves: idioms and set phrases of a genre stand on many other pages.
"""

import dataclasses
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.memory import mapped_zeros, release
from samehand.kernels.phrases.groups import count_holders, covered_words
from samehand.kernels.phrases.runs import unbroken, without_passages
from samehand.kernels.phrases.windows import window_hashes
from samehand.methods.phrases.shared import SharedWindows, Windows, shared_windows
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, PHRASES_WORDS
from samehand.store.taken import taken_lists

PHRASE = 5
"""Words of a phrase."""
PASSAGE = 26
"""Words of a passage: a run of at most 25 shared words is short."""
LEAST_PAGES = 3
TELLING = 0.5
"""Part of the pages that hold a telling phrase and are candidates."""
ROUNDS = 4
"""How often candidates and telling phrases are found from each other; the third round changes little."""
LEAST_WORDS = 50
"""Shorter pages hold too few phrases to tell anything."""
_STRETCH_PAGES = 1 << 10
"""Pages whose words are in memory together: 5 million words at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Candidates:
    """Candidates and their telling phrases: those of page i are phrases[bounds[i]:bounds[i+1]], at these places."""

    rows: NDArray[np.int64]
    words: NDArray[np.int32]
    sites: NDArray[np.int32]
    bounds: NDArray[np.int64]
    phrases: NDArray[np.int32]
    places: NDArray[np.int32]
    held_by: NDArray[np.int32]
    """Pages of the run that hold each phrase."""

    def covered(self, telling: NDArray[np.bool_]) -> NDArray[np.int32]:
        """The words of each page that telling phrases cover."""
        return covered_words(self.phrases, self.places, self.bounds, telling, PHRASE)

    def chosen(self, pages: NDArray[np.bool_], telling: NDArray[np.bool_]) -> "Candidates":
        """Some of the pages with some of the phrases, which are numbered anew."""
        owner = np.repeat(np.arange(self.rows.size), np.diff(self.bounds))
        kept = pages[owner] & telling[self.phrases]
        sizes = np.bincount(owner[kept], minlength=self.rows.size)[pages]
        numbers, phrases = np.unique(self.phrases[kept], return_inverse=True)
        return Candidates(
            self.rows[pages],
            self.words[pages],
            self.sites[pages],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)]),
            phrases.astype(np.int32),
            self.places[kept],
            self.held_by[numbers],
        )


class PageStretch(NamedTuple):
    """Consecutive pages: the first row, the words, where those of a page begin, the sites of the pages."""

    first: int
    words: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    sites: NDArray[np.int32]


@dataclasses.dataclass(frozen=True, slots=True)
class StoredWords:
    """The words of all pages, end to end in a file that is mapped: those of row i begin at starts[i].

    They are passed over six times, and to unpack them from the table takes longer than most of these passes.
    """

    folder: RunFolder
    sites: NDArray[np.int32]
    starts: NDArray[np.int64]
    words: NDArray[np.uint32]

    @classmethod
    def of(cls, folder: RunFolder) -> "StoredWords":
        """The words in a run folder. A page without a host is a site of its own."""
        named = folder.read(PAGES, ["url_host_name", "url_host_private_domain"])
        site = pc.coalesce(named.column("url_host_private_domain"), named.column("url_host_name")).combine_chunks()
        codes = site.dictionary_encode().indices
        alone = pc.add(np.arange(len(site)), len(site)).cast(codes.type)
        rows = np.arange(len(site))
        starts, words = taken_lists(folder, PHRASES_WORDS, "word_hashes", rows, np.uint32)
        return cls(folder, pc.coalesce(codes, alone).to_numpy(), starts, words)

    def pages(self) -> Iterator[PageStretch]:
        """All pages, a stretch of them at a time."""
        for first in range(0, self.sites.size, _STRETCH_PAGES):
            starts = self.starts[first : first + _STRETCH_PAGES + 1]
            sites = self.sites[first : first + _STRETCH_PAGES].copy()
            yield PageStretch(first, np.array(self.words[starts[0] : starts[-1]]), starts - starts[0], sites)
            release(self.words)

    def phrases(self) -> Iterator[Windows]:
        """The 5-grams of all pages."""
        for first, words, bounds, sites in self.pages():
            yield Windows(first, window_hashes(words, bounds, PHRASE), bounds, sites)

    def numbered(self, shared: SharedWindows) -> NDArray[np.int32]:
        """The number of the shared 5-gram that begins at each word, -1 for none, in a file that is mapped."""
        numbers = mapped_zeros(self.folder.path, self.words.shape, np.int32)
        for windows in self.phrases():
            begin = self.starts[windows.first_row]
            numbers[begin : begin + windows.hashes.size] = shared.find(windows.hashes)
            release(numbers)
        return numbers

    def passages(self, numbers: NDArray[np.int32]) -> Iterator[Windows]:
        """The windows of PASSAGE words whose 5-grams are all shared."""
        for first, words, bounds, sites in self.pages():
            found = self.part_of(numbers, first, words.size)
            hashes = window_hashes(words, bounds, PASSAGE) * unbroken(found, bounds, PASSAGE - PHRASE + 1)
            yield Windows(first, hashes, bounds, sites)

    def part_of(self, numbers: NDArray[np.int32], first: int, words: int) -> NDArray[np.int32]:
        """The numbers of so many words, from the row `first` on, in memory."""
        begin = self.starts[first]
        found = np.array(numbers[begin : begin + words])
        release(numbers)
        return found


def find_candidates(folder: RunFolder, settings: Settings) -> Candidates:
    """The pages whose share of telling phrases reaches the bar, with these phrases."""
    stored = StoredWords.of(folder)
    shared = shared_windows(stored.phrases, stored.words.size, least_pages=LEAST_PAGES)
    numbers = stored.numbered(shared)
    passages = shared_windows(lambda: stored.passages(numbers), stored.words.size, least_pages=LEAST_PAGES)
    found = _first_candidates(stored, numbers, shared.pages, passages, settings.min_phrase_share)
    for _ in range(ROUNDS):
        every = np.ones(found.rows.size, np.bool_)
        holders, on_sites = count_holders(found.phrases, found.bounds, every, found.sites, found.held_by.size)
        telling = (holders >= LEAST_PAGES) & on_sites & (holders >= TELLING * found.held_by)
        found = found.chosen(found.covered(telling) >= settings.min_phrase_share * found.words, telling)
    return found


def _first_candidates(
    stored: StoredWords,
    numbers: NDArray[np.int32],
    held_by: NDArray[np.int32],
    passages: SharedWindows,
    least_share: float,
) -> Candidates:
    """The pages whose share of shared phrases, telling or not, reaches the bar."""
    nothing = np.zeros(0, np.int64)
    parts: list[tuple[NDArray[np.integer], ...]] = [(nothing,) * 5]
    for first, words, bounds, _ in stored.pages():
        found = stored.part_of(numbers, first, words.size)
        long = passages.find(window_hashes(words, bounds, PASSAGE))
        kept, covered = without_passages(found, long, bounds, PHRASE, PASSAGE)
        sizes = np.diff(bounds)
        is_candidate = (covered >= least_share * sizes) & (sizes >= LEAST_WORDS)
        at = np.flatnonzero((kept >= 0) & np.repeat(is_candidate, sizes))
        owner = np.repeat(np.arange(sizes.size), sizes)[at]
        number = np.bincount(owner, minlength=sizes.size)[is_candidate]
        rows = np.flatnonzero(is_candidate)
        parts.append((first + rows, sizes[rows], number, kept[at], at - bounds[owner]))
    rows, sizes, number, phrases, places = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Candidates(
        rows,
        sizes.astype(np.int32),
        stored.sites[rows],
        np.concatenate([np.zeros(1, np.int64), np.cumsum(number)]),
        phrases.astype(np.int32),
        places.astype(np.int32),
        held_by,
    )
