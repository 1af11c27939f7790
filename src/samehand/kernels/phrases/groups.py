"""Pages by the phrases that they share: which phrases tell something, stars around pages, and groups.

The phrases of page i are phrases[bounds[i]:bounds[i+1]], in order; `places` are the words where they begin. A stretch
of phrases that follow each other word by word counts as one phrase, and as one more for each STRETCH words of it.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.phrases.windows import MANY

STRETCH = 10
PARTS = 5
"""Parts of a page, to see whether phrases stand all over it or in one place."""


@nb.njit(cache=True, nogil=True)
def count_holders(
    phrases: NDArray[np.int32],
    bounds: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    sites: NDArray[np.int32],
    count: int,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """How many of the chosen pages hold each phrase, and whether they are on several sites."""
    holders, last, site = np.zeros(count, np.int32), np.full(count, -1, np.int32), np.zeros(count, np.int32)
    for page in range(bounds.size - 1):
        if chosen[page]:
            for place in range(bounds[page], bounds[page + 1]):
                phrase = phrases[place]
                if last[phrase] != page:
                    site[phrase] = sites[page] if last[phrase] < 0 or site[phrase] == sites[page] else MANY
                    last[phrase] = page
                    holders[phrase] += 1
    return holders, site == MANY


@nb.njit(cache=True, nogil=True)
def covered_words(
    phrases: NDArray[np.int32],
    places: NDArray[np.int32],
    bounds: NDArray[np.int64],
    telling: NDArray[np.bool_],
    size: int,
) -> NDArray[np.int32]:
    """The words of each page that telling phrases cover."""
    covered = np.zeros(bounds.size - 1, np.int32)
    for page in range(bounds.size - 1):
        end = 0
        for place in range(bounds[page], bounds[page + 1]):
            if telling[phrases[place]]:
                covered[page] += places[place] + size - max(end, places[place])
                end = places[place] + size
    return covered


@nb.njit(cache=True, nogil=True)
def find_stars(
    phrases: NDArray[np.int32],
    places: NDArray[np.int32],
    bounds: NDArray[np.int64],
    order: NDArray[np.int64],
    holder_bounds: NDArray[np.int64],
    holders: NDArray[np.int32],
    least: int,
) -> NDArray[np.int32]:
    """Stars of three pages and more: a page and those that share `least` phrases with it. -1 for pages in none.

    `order` are the pages that may be centres. A page in a star is no centre any more. The pages that hold phrase p are
    holders[holder_bounds[p]:holder_bounds[p+1]].
    """
    pages = bounds.size - 1
    labels = np.full(pages, -1, np.int32)
    common, last, begin = np.zeros(pages, np.int32), np.zeros(pages, np.int32), np.zeros(pages, np.int32)
    met, seen = np.empty(pages, np.int32), np.full(holder_bounds.size - 1, -1, np.int32)
    for centre in order:
        if labels[centre] >= 0:
            continue
        count = 0
        for place in range(bounds[centre], bounds[centre + 1]):
            word = places[place]
            if seen[phrases[place]] == centre:
                continue
            seen[phrases[place]] = centre
            for holder in range(holder_bounds[phrases[place]], holder_bounds[phrases[place] + 1]):
                page = holders[holder]
                if labels[page] >= 0 or page == centre:
                    continue
                if common[page] == 0:
                    met[count] = page
                    count += 1
                if common[page] == 0 or word > last[page] + 1 or word - begin[page] >= STRETCH:
                    common[page] += 1
                    begin[page] = word
                last[page] = word
        near = 0
        for page in met[:count]:
            near += common[page] >= least
        for page in met[:count]:
            if near >= 2 and common[page] >= least:
                labels[page] = centre
            common[page] = 0
        if near >= 2:
            labels[centre] = centre
    return labels


@nb.njit(cache=True, nogil=True)
def join_groups(
    phrases: NDArray[np.int32],
    places: NDArray[np.int32],
    bounds: NDArray[np.int64],
    lengths: NDArray[np.int32],
    owners: NDArray[np.int32],
    size: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """For each page the group whose phrases cover most of its words (-1 for none), these words, the number of different
    phrases, and how many of the PARTS equal parts of the page they stand in.

    `owners` is the group of each phrase, a page number, or -1. `lengths` are the words of the pages.
    """
    pages = bounds.size - 1
    labels, words = np.full(pages, -1, np.int32), np.zeros(pages, np.int32)
    number, spread = np.zeros(pages, np.int32), np.zeros(pages, np.int32)
    covered, common, parts = np.zeros(pages, np.int32), np.zeros(pages, np.int32), np.zeros(pages, np.int32)
    last, begin, part = np.zeros(pages, np.int32), np.zeros(pages, np.int32), np.zeros(pages, np.int32)
    seen = np.full(owners.size, -1, np.int32)
    for page in range(pages):
        for place in range(bounds[page], bounds[page + 1]):
            group, word = owners[phrases[place]], places[place]
            if group < 0:
                continue
            end = last[group] + size if covered[group] else 0
            is_apart = common[group] == 0 or word > last[group] + 1 or word - begin[group] >= STRETCH
            if is_apart and seen[phrases[place]] != page:
                common[group] += 1
                begin[group] = word
            for inside in range(max(end, word), word + size):
                now = np.int64(inside) * PARTS // lengths[page]
                if covered[group] == 0 or part[group] != now:
                    parts[group] += 1
                    part[group] = now
                covered[group] += 1
            seen[phrases[place]] = page
            last[group] = word
        for place in range(bounds[page], bounds[page + 1]):
            group = owners[phrases[place]]
            if group >= 0 and covered[group]:
                if covered[group] > words[page] or (covered[group] == words[page] and group < labels[page]):
                    labels[page], words[page] = group, covered[group]
                    number[page], spread[page] = common[group], parts[group]
                covered[group] = common[group] = parts[group] = 0
    return labels, words, number, spread


@nb.njit(cache=True, nogil=True)
def branching(
    phrases: NDArray[np.int32], places: NDArray[np.int32], bounds: NDArray[np.int64], owners: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """The phrases that go on in different ways, word by word, to other phrases of their group."""
    after = np.full(owners.size, -1, np.int32)
    found = np.zeros(owners.size, np.bool_)
    for page in range(bounds.size - 1):
        for place in range(bounds[page], bounds[page + 1] - 1):
            phrase, following = phrases[place], phrases[place + 1]
            is_next = places[place + 1] == places[place] + 1
            if is_next and owners[phrase] >= 0 and owners[phrase] == owners[following]:
                found[phrase] |= after[phrase] >= 0 and after[phrase] != following
                after[phrase] = following
    return found
