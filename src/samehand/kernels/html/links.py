"""Hosts of links: the raw values of href attributes to a 64-bit hash of each host.

Hashes are enough to tell whether two pages link to the same host. Relative links have no host.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME, finish
from samehand.kernels.html.blocks import BLOCK, find_byte
from samehand.kernels.html.entities import References, copy_span
from samehand.kernels.html.page import EXPANSION
from samehand.kernels.pointers import lend, pointer

LONGEST_HEAD = 2048
"""Bytes of an address that are searched for its host. A host of 253 letters fits, each written as a reference."""

_AMPERSAND = np.uint8(0x26)


@helper
def _hash_host(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """FNV-1a of the lower-cased host at `start`. A slash, backslash, question mark, number sign or blank ends it."""
    state = FNV_BASIS
    is_port = False
    for position in range(start, end):
        byte = data[position]
        if byte in (0x2F, 0x3F, 0x23, 0x5C) or byte <= 0x20:
            break
        if byte == 0x40:  # what is before an @ is a user and a password
            state, is_port = FNV_BASIS, False
            continue
        is_port |= byte == 0x3A
        if 0x41 <= byte <= 0x5A:
            byte += np.uint8(0x20)
        if not is_port:
            state = (state ^ np.uint64(byte)) * FNV_PRIME
    return np.uint64(0) if state == FNV_BASIS else finish(state)


@helper
def host_start(data: NDArray[np.uint8], start: int, end: int) -> int:
    """The position of the host in an absolute address (http://, https:// or //); -1 if there is none."""
    while start < end and data[start] <= 0x20:
        start += 1
    if start < end and (data[start] | 0x20) == 0x68:
        is_http = end - start > 4 and (data[start + 1] | 0x20) == 0x74
        if not (is_http and (data[start + 2] | 0x20) == 0x74 and (data[start + 3] | 0x20) == 0x70):
            return -1
        start += 4 + int((data[start + 4] | 0x20) == 0x73)
        if start >= end or data[start] != 0x3A:
            return -1
        start += 1
    if start + 2 < end and data[start] == 0x2F and data[start + 1] == 0x2F:
        return start + 2
    return -1


@helper
def _host_of(data: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    begin = host_start(data, start, end)
    return _hash_host(data, begin, end) if begin >= 0 else np.uint64(0)


@helper
def find_in_link(source: NDArray[np.uint8], start: int, end: int, byte: np.uint8, size: int) -> int:
    """The first position of a byte in an address, or its end. Nothing behind the `size` bytes of the data is read."""
    if end + BLOCK <= size:
        return int(np.int64(find_byte(source, np.uint64(start), np.uint64(end), byte)))
    while start < end and source[start] != byte:
        start += 1
    return start


@nb.njit(cache=True, nogil=True)
def link_hosts(
    data: NDArray[np.uint8],
    page_starts: NDArray[np.int64],
    link_offsets: NDArray[np.int64],
    link_starts: NDArray[np.int64],
    link_lengths: NDArray[np.int64],
    references: References,
) -> NDArray[np.uint64]:
    """The hash of each link's host, 0 for relative links. The links of page i begin at link_offsets[i]."""
    hosts = np.zeros(link_starts.size, np.uint64)
    head = np.empty(EXPANSION * LONGEST_HEAD + 1, np.uint8)
    source, decoded, tables = pointer(data), pointer(head), lend(references)
    for page in range(page_starts.size):
        for link in range(link_offsets[page], link_offsets[page + 1]):
            start = page_starts[page] + link_starts[link]
            end = start + min(link_lengths[link], LONGEST_HEAD)
            if find_in_link(source, start, end, _AMPERSAND, data.size) < end:
                stop = copy_span(source, np.uint64(start), np.uint64(end), True, True, tables, decoded, np.uint64(0))
                hosts[link] = _host_of(decoded, int(np.int64(0)), int(np.int64(stop)))
            else:
                hosts[link] = _host_of(source, start, end)
    return hosts


@nb.njit(cache=True, nogil=True)
def hash_hosts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The same hash for host names that lie end to end."""
    hosts = np.zeros(offsets.size - 1, np.uint64)
    for host in range(offsets.size - 1):
        hosts[host] = _hash_host(pointer(data), offsets[host], offsets[host + 1])
    return hosts
