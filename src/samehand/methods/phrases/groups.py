"""Text groups: pages made from the same phrases.

A page and those that share STAR_PHRASES phrases with it are a star. Each phrase then belongs to the star that holds it
most often, and each page to the star whose phrases cover most of its words, if they are at least half of all phrases
that it shares with anyone. That is repeated, so pages find their group whichever star came first. No page is in a group
because of a chain of others: the phrases of the group itself have to cover it.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.kernels.phrases.groups import PARTS, branching, find_stars, join_groups
from samehand.methods.phrases.candidates import LEAST_PAGES, PHRASE, Candidates

STAR_PHRASES, GROUP_PHRASES = 3, 5
"""Phrases, apart from each other, that a page shares with the centre of its star, and with its group."""
LEAST_SPREAD = 4
"""Fifths of a page in which phrases of its group stand. Quotes and signatures stand in one place."""
MANY_PAGES, SMALL_PHRASES = 10, 7
"""A group of fewer pages has to show more: so many phrases in each page, and some in every fifth of it."""
OWN_PHRASES = 0.5
"""Part of a page's phrases that belong to its group."""
MOST_HOLDERS = 64
"""Pages of a phrase that stars look at: the first ones. The others join the groups that these make."""
GROWING, SETTLING = 4, 2
"""Rounds in which groups gather pages, and in which only pages stay that a group explains."""
BRANCHING = 0.02
"""Part of a group's phrases that go on in several ways. A template of fixed sentences has fewer."""
ONE_OWNER = 0.9
"""Part of the pages on one domain that makes them one owner's."""


@dataclasses.dataclass(frozen=True, slots=True)
class TextGroups:
    """The group of each candidate (its first candidate; -1 for none), the words its phrases cover, their number."""

    labels: NDArray[np.int32]
    covered: NDArray[np.int32]
    common: NDArray[np.int32]
    owners: NDArray[np.int32]
    """The group of each phrase, or -1."""
    is_branching: NDArray[np.bool_]
    """The phrases that go on in several ways within their group."""


def find_groups(found: Candidates, least_share: float) -> TextGroups:
    """Groups of at least three pages on two sites."""
    holders = _holders_of(found)
    labels = _stars(found, holders)
    shared = found.covered(np.ones(found.held_by.size, np.bool_))
    for number in range(GROWING + SETTLING):
        owners = _owners(found, labels, holders)
        labels, covered, common, spread = join_groups(
            found.phrases, found.places, found.bounds, found.words, owners, PHRASE
        )
        fits = common >= STAR_PHRASES
        if number >= GROWING:
            fits = (common >= GROUP_PHRASES) & (spread >= LEAST_SPREAD) & (covered >= OWN_PHRASES * shared)
            fits &= covered >= least_share * found.words
            pages = np.bincount(labels[fits], minlength=labels.size)
            fits &= (pages[labels] >= MANY_PAGES) | ((common >= SMALL_PHRASES) & (spread == PARTS))
        labels = _large_enough(np.where(fits, labels, -1).astype(np.int32), found.sites)
    labels = _first_members(labels)
    owners = _owners(found, labels, holders)
    branches = branching(found.phrases, found.places, found.bounds, owners)
    return TextGroups(labels, covered, common, owners, branches)


class _Holders(NamedTuple):
    """Each phrase with each page that holds it, once, sorted by phrase and page."""

    phrases: NDArray[np.int64]
    pages: NDArray[np.int64]


def _holders_of(found: Candidates) -> _Holders:
    page = np.repeat(np.arange(found.rows.size), np.diff(found.bounds))
    pairs = distinct(found.phrases.astype(np.int64) * found.rows.size + page)
    return _Holders(*np.divmod(pairs, max(1, found.rows.size)))


def _stars(found: Candidates, holders: _Holders) -> NDArray[np.int32]:
    """The star of each page, -1 for none. Pages with the most phrases are centres first."""
    phrases, pages = holders
    firsts = np.searchsorted(phrases, phrases)
    early = np.arange(phrases.size) - firsts < MOST_HOLDERS
    starts = np.searchsorted(phrases[early], np.arange(found.held_by.size + 1))
    order = np.argsort(-np.diff(found.bounds), kind="stable")
    return find_stars(
        found.phrases, found.places, found.bounds, order, starts, pages[early].astype(np.int32), STAR_PHRASES
    )


def _owners(found: Candidates, labels: NDArray[np.int32], holders: _Holders) -> NDArray[np.int32]:
    """The group that holds each phrase on most pages, and on LEAST_PAGES at least; -1 for none."""
    names = labels[holders.pages]
    is_grouped = names >= 0
    held = holders.phrases[is_grouped] * found.rows.size + names[is_grouped]
    pairs, counts = np.unique(held, return_counts=True)
    phrases, groups = np.divmod(pairs, max(1, found.rows.size))
    order = np.lexsort((groups, -counts, phrases))
    best = order[np.concatenate([np.ones(min(1, order.size), np.bool_), np.diff(phrases[order]) != 0])]
    best = best[counts[best] >= LEAST_PAGES]
    owners = np.full(found.held_by.size, -1, np.int32)
    owners[phrases[best]] = groups[best]
    return owners


def _large_enough(labels: NDArray[np.int32], sites: NDArray[np.int32]) -> NDArray[np.int32]:
    """Only groups of at least LEAST_PAGES pages on two sites stay."""
    grouped = np.flatnonzero(labels >= 0)
    places = np.unique(np.stack([labels[grouped], sites[grouped]]), axis=1)[0]
    pages, on = (np.bincount(names, minlength=labels.size) for names in (labels[grouped], places))
    stays = (pages >= LEAST_PAGES) & (on >= 2)
    return np.where((labels >= 0) & stays[labels], labels, -1).astype(np.int32)


def _first_members(labels: NDArray[np.int32]) -> NDArray[np.int32]:
    """Groups named by the first page in them."""
    names, first, places = np.unique(labels, return_index=True, return_inverse=True)
    return np.where(names < 0, -1, first)[places].astype(np.int32)
