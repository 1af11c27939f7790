"""A page's own host name is content, not style.

A parked page shows its domain again and again. On a page of a few hundred bytes of noise, the dots of a name under
co.uk would make another template of it. So small pages leave out the dots and hyphens of their own host name.

A page whose URL is not known may stand on any host. It is compared with each page of a run as if it stood on that
page's host: `hosts_named_in` finds the hosts for which that makes a difference.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers

NAME_COLUMNS = ("url_host_name", "url_host_private_domain")
_HOST_LIKE = re.compile(rb"[A-Za-z0-9._-]{3,}")
_LONGEST_NAME = 253


def mask_own_hosts(pages: pa.RecordBatch, max_page_bytes: int) -> dict[int, bytes]:
    """The pages of at most `max_page_bytes` that name their own host, by row, with that name masked."""
    sizes = np.diff(column_buffers(pages.column("content"))[1])
    small = np.flatnonzero((sizes > 0) & (sizes <= max_page_bytes))
    if not small.size:
        return {}
    contents = pages.column("content").take(pa.array(small)).to_pylist()
    hosts, sites = (pages.column(name).take(pa.array(small)).to_pylist() for name in NAME_COLUMNS)
    found = {}
    for row, content, host, site in zip(small.tolist(), contents, hosts, sites, strict=True):
        masked = mask_host(content, host, site)
        if masked is not content:
            found[row] = masked
    return found


def mask_host(content: bytes, host: str | None, site: str | None) -> bytes:
    """The content without the dots and hyphens of a host's names; the same object if it has none of them."""
    for tail in _tails(host, site):
        if tail in content:
            content = content.replace(tail, tail.translate(None, b".-"))
    return content


def kept_places(content: bytes, host: str | None, site: str | None) -> NDArray[np.int64]:
    """For each byte of the masked content, its place in the content."""
    places = np.arange(len(content), dtype=np.int64)
    for tail in _tails(host, site):
        dropped = [i for i, byte in enumerate(tail) if byte in b".-"]
        starts = [found.start() for found in re.finditer(re.escape(tail), content)]
        places = np.delete(places, [start + i for start in starts for i in dropped])
        content = content.replace(tail, tail.translate(None, b".-"))
    return places


def _tails(host: str | None, site: str | None) -> Iterator[bytes]:
    """The names of a host without their first letter, because that may be a capital in the text."""
    for name in {(host or "").removeprefix("www."): None, site or "": None}:
        if tail := name[1:].encode("ascii", "ignore"):
            yield tail


def hosts_named_in(content: bytes, hosts: pa.ChunkedArray, sites: pa.ChunkedArray) -> pa.Table:
    """The different pairs of host and site, of those in two columns, that `mask_host` would mask in the content."""
    pairs = pa.table({"host": hosts, "site": sites}).group_by(["host", "site"]).aggregate([])
    bare = pc.replace_substring_regex(pairs.column("host"), "^www[.]", "")
    tails = [pc.utf8_slice_codeunits(pc.fill_null(names, ""), 1) for names in (bare, pairs.column("site"))]
    lengths = {length for column in tails for length in pc.unique(pc.utf8_length(column)).to_pylist()}
    stretches = {found[0].decode() for found in _HOST_LIKE.finditer(content)}
    possible = pa.array(sorted(_substrings(stretches, lengths - {0})), pa.string())
    named = pc.or_(*(pc.is_in(column, possible) for column in tails))
    return pairs.filter(named)


def _substrings(texts: Iterable[str], lengths: Iterable[int]) -> set[str]:
    return {
        text[start : start + length]
        for text in texts
        for length in lengths
        if length <= _LONGEST_NAME
        for start in range(len(text) - length + 1)
    }
