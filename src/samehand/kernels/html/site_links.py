"""Where the links of a home page lead: away from the site or within it, to one host or many, with keywords or not."""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME
from samehand.kernels.html.links import find_in_link, host_start
from samehand.kernels.pointers import pointer

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


class Domain(NamedTuple):
    """The domain of a site, lent to small functions: so many bytes of the names, from `start` on."""

    names: NDArray[np.uint8]
    start: int
    size: int


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
    source, names = pointer(data), pointer(domains)
    for page in range(pages):
        domain = Domain(names, domain_offsets[page], domain_offsets[page + 1] - domain_offsets[page])
        foreign, asked = 0, 0
        first = link_offsets[page]
        for link in range(first, min(link_offsets[page + 1], first + MAX_LINKS)):
            start = page_starts[page] + link_starts[link]
            end = start + link_lengths[link]
            begin = host_start(source, start, end)
            stop = _host_stop(source, begin, end) if begin >= 0 else start
            mark = find_in_link(source, stop, end, _QUESTION, data.size)
            found.counts[page, WORDS] += _holds_words(source, mark, end)
            if link_hosts[link] and not (begin >= 0 and _is_below(source, begin, stop, domain)):
                hosts[foreign] = link_hosts[link]
                foreign += 1
                found.counts[page, TO_NAME] += domain.size > 0 and _tells(source, start, stop, end, domain)
                continue
            found.counts[page, OWN] += 1
            if mark < end:
                is_name = begin >= 0 and stop - begin > domain.size + 4  # a name below www is no page of it
                paths[asked] = _hash_bytes(source, begin if is_name else stop, mark)
                queries[asked] = _hash_bytes(source, mark, end)
                asked += 1
        found.counts[page, FOREIGN] = foreign
        found.counts[page, QUERIES] = _most_queries(paths[:asked], queries[:asked])
        _put_targets(hosts[:foreign], found, page)
    return found


@helper
def _host_stop(source: NDArray[np.uint8], begin: int, end: int) -> int:
    stop = begin
    while stop < end and source[stop] not in (0x2F, 0x3A, 0x3F, 0x23, 0x5C) and source[stop] > 0x20:
        stop += 1
    return stop


@helper
def _is_below(source: NDArray[np.uint8], begin: int, stop: int, domain: Domain) -> bool:
    """Whether the host is the domain, or a name below it."""
    own = stop - domain.size
    if domain.size == 0 or own < begin:
        return False
    if own > begin and source[own - 1] != _DOT:
        return False
    for place in range(domain.size):
        byte = source[own + place]
        if 0x41 <= byte <= 0x5A:
            byte += np.uint8(0x20)
        if byte != domain.names[domain.start + place]:
            return False
    return True


@helper
def _tells(source: NDArray[np.uint8], start: int, stop: int, end: int, domain: Domain) -> bool:
    """Whether the address behind the host, which ends at `stop`, has the bare domain as a value or a step of its path.

    An address of the site ("u=http://domain/", as buttons to share have it) is none.
    """
    for begin in range(max(stop, start + 2), end - domain.size + 1):
        before, behind = source[begin - 1], begin + domain.size
        if before != 0x3D and (before != _SLASH or source[begin - 2] == _SLASH):
            continue
        if behind < end and source[behind] not in (0x26, 0x23, 0x2F, 0x3F, 0x3B):
            continue
        place = 0
        while place < domain.size and (source[begin + place] | 0x20) == (domain.names[domain.start + place] | 0x20):
            place += 1
        if place == domain.size:
            return True
    return False


@helper
def _holds_words(source: NDArray[np.uint8], start: int, end: int) -> bool:
    """Whether a blank, or a character beyond ASCII, is in the query: keywords have them, numbers of pages have not."""
    for place in range(start, end):
        byte = source[place]
        if byte == 0x2B or byte >= 0x80:
            return True
        if byte != 0x25 or place + 2 >= end:
            continue
        if source[place + 1] >= 0x38 or (source[place + 1] == 0x32 and source[place + 2] == 0x30):
            return True
    return False


@helper
def _hash_bytes(source: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    state = FNV_BASIS
    for position in range(start, end):
        state = (state ^ np.uint64(source[position])) * FNV_PRIME
    return state


@helper
def _most_queries(paths: NDArray[np.uint64], queries: NDArray[np.uint64]) -> int:
    """Different queries to the path that has the most of them; 0 for fewer than LEAST_QUERIES."""
    if paths.size < LEAST_QUERIES:
        return 0
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
