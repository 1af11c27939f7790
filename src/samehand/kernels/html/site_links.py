"""Where the links of a home page lead: away from the site or within it, to one host or many, with keywords or not."""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME
from samehand.kernels.html.links import host_start

MAX_LINKS = 2_000
"""Links beyond these are not read: a home page shows its purpose before."""
MAX_TARGETS = 16
"""Foreign hosts that are kept: those with the most links."""
LEAST_QUERIES = 3
"""Fewer queries to one page are no list of keywords."""

FOREIGN, OWN, QUERIES, TO_NAME, WORDS, TARGETS, COLUMNS = range(7)
"""Columns of what is counted: links to other sites; links within the site; different queries to the page that most of
them ask; links that tell other sites the site's own domain; links whose query holds several words, or words
that are not of ASCII; foreign hosts, at most MAX_TARGETS."""

_QUESTION, _SLASH, _DOT = np.uint8(0x3F), np.uint8(0x2F), np.uint8(0x2E)


class SiteLinks(NamedTuple):
    """What was counted; hashes of the foreign hosts, most links first, and the links to each."""

    counts: NDArray[np.int32]
    targets: NDArray[np.uint64]
    target_links: NDArray[np.int32]


@nb.njit(cache=True, nogil=True)
def site_links(
    data: NDArray[np.uint8],
    page_starts: NDArray[np.int64],
    link_offsets: NDArray[np.int64],
    link_starts: NDArray[np.int64],
    link_lengths: NDArray[np.int64],
    link_hosts: NDArray[np.uint64],
    domains: NDArray[np.uint8],
    domain_offsets: NDArray[np.int64],
) -> SiteLinks:
    """The links of each page. `link_hosts` has the hash of each link's host, 0 for relative links.

    The domains of the sites lie end to end, in lower case; an empty one owns nothing but relative links.
    """
    pages = page_starts.size
    found = SiteLinks(
        np.zeros((pages, COLUMNS), np.int32),
        np.zeros((pages, MAX_TARGETS), np.uint64),
        np.zeros((pages, MAX_TARGETS), np.int32),
    )
    hosts, paths = np.empty(MAX_LINKS, np.uint64), np.empty(MAX_LINKS, np.uint64)
    queries = np.empty(MAX_LINKS, np.uint64)
    for page in range(pages):
        domain = domains[domain_offsets[page] : domain_offsets[page + 1]]
        foreign, asked = 0, 0
        first = link_offsets[page]
        for link in range(first, min(link_offsets[page + 1], first + MAX_LINKS)):
            start = page_starts[page] + link_starts[link]
            href = data[start : start + link_lengths[link]]
            begin = host_start(href, int(np.int64(0)), href.size)
            stop = _host_stop(href, begin) if begin >= 0 else 0
            mark = _mark(href, stop)
            found.counts[page, WORDS] += _holds_words(href, mark)
            if link_hosts[link] and not (begin >= 0 and _is_below(href, begin, stop, domain)):
                hosts[foreign] = link_hosts[link]
                foreign += 1
                found.counts[page, TO_NAME] += domain.size > 0 and _tells(href, stop, domain)
                continue
            found.counts[page, OWN] += 1
            if mark < href.size:
                named = (
                    begin if begin >= 0 and stop - begin > domain.size + 4 else stop
                )  # a name below www is no page of it
                paths[asked], queries[asked] = _hash_bytes(href, named, mark), _hash_bytes(href, mark, href.size)
                asked += 1
        found.counts[page, FOREIGN] = foreign
        found.counts[page, QUERIES] = _most_queries(paths[:asked], queries[:asked])
        _put_targets(hosts[:foreign], found, page)
    return found


@helper
def _host_stop(href: NDArray[np.uint8], begin: int) -> int:
    stop = begin
    while stop < href.size and href[stop] not in (0x2F, 0x3A, 0x3F, 0x23, 0x5C) and href[stop] > 0x20:
        stop += 1
    return stop


@helper
def _is_below(href: NDArray[np.uint8], begin: int, stop: int, domain: NDArray[np.uint8]) -> bool:
    """Whether the host is the domain, or a name below it."""
    size = domain.size
    if size == 0 or stop - begin < size:
        return False
    if stop - begin > size and href[stop - size - 1] != _DOT:
        return False
    for place in range(size):
        byte = href[stop - size + place]
        if 0x41 <= byte <= 0x5A:
            byte += np.uint8(0x20)
        if byte != domain[place]:
            return False
    return True


@helper
def _tells(href: NDArray[np.uint8], start: int, domain: NDArray[np.uint8]) -> bool:
    """Whether the address behind the host has the bare domain as a value or as a step of its path.

    An address of the site ("u=http://domain/", as buttons to share have it) is none.
    """
    for begin in range(max(start, 2), href.size - domain.size + 1):
        before, end = href[begin - 1], begin + domain.size
        if before != 0x3D and (before != _SLASH or href[begin - 2] == _SLASH):
            continue
        if end < href.size and href[end] not in (0x26, 0x23, 0x2F, 0x3F, 0x3B):
            continue
        place = 0
        while place < domain.size and (href[begin + place] | np.uint8(0x20)) == (domain[place] | np.uint8(0x20)):
            place += 1
        if place == domain.size:
            return True
    return False


@helper
def _mark(href: NDArray[np.uint8], start: int) -> int:
    """The position of the question mark, or the end."""
    while start < href.size and href[start] != _QUESTION:
        start += 1
    return start


@helper
def _holds_words(href: NDArray[np.uint8], start: int) -> bool:
    """Whether a blank, or a character beyond ASCII, is in the query: keywords have them, numbers of pages have not."""
    for place in range(start, href.size):
        byte = href[place]
        if byte == 0x2B or byte >= 0x80:
            return True
        if byte != 0x25 or place + 2 >= href.size:
            continue
        if href[place + 1] >= 0x38 or (href[place + 1] == 0x32 and href[place + 2] == 0x30):
            return True
    return False


@helper
def _hash_bytes(href: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    state = FNV_BASIS
    for position in range(start, end):
        state = (state ^ np.uint64(href[position])) * FNV_PRIME
    return state


@helper
def _most_queries(paths: NDArray[np.uint64], queries: NDArray[np.uint64]) -> int:
    """Different queries to the path that has the most of them; 0 for fewer than LEAST_QUERIES."""
    order = np.argsort(queries)
    order = order[np.argsort(paths[order], kind="mergesort")]
    most, current = 0, 0
    for place in range(order.size):
        here = order[place]
        if place == 0 or paths[here] != paths[order[place - 1]]:
            current = 1
        elif queries[here] != queries[order[place - 1]]:
            current += 1
        most = max(most, current)
    return most if most >= LEAST_QUERIES else 0


@helper
def _put_targets(hosts: NDArray[np.uint64], found: SiteLinks, page: int) -> None:
    """Keeps the hosts with the most links, the smaller hash first among equals."""
    hosts.sort()
    targets, links, kept, place = found.targets[page], found.target_links[page], 0, 0
    while place < hosts.size:
        end = place
        while end < hosts.size and hosts[end] == hosts[place]:
            end += 1
        spot = kept if kept < MAX_TARGETS else MAX_TARGETS - 1
        if kept < MAX_TARGETS or end - place > links[spot]:
            while spot > 0 and links[spot - 1] < end - place:
                targets[spot], links[spot] = targets[spot - 1], links[spot - 1]
                spot -= 1
            targets[spot], links[spot] = hosts[place], end - place
            kept = min(kept + 1, MAX_TARGETS)
        place = end
    found.counts[page, TARGETS] = kept
