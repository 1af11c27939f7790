"""What is stored of each page so that sites can be compared by more than their tags: a few hundred bytes.

Words, links, title, redirect target, and the kind of placeholder (placeholders.py). The text is kept as a bottom-k
sketch: the smallest hashes of its word bigrams, which are a random sample that is the same on every page. The site's
own name is left out of the text, because parked pages print it where other pages print something of their own.
evidence.py compares these figures.
"""

import dataclasses
import re
import zlib
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.html import TAG_NAMES, Markup, link_hosts
from samehand.kernels.html.links import hash_hosts
from samehand.methods.sites.placeholders import PageSummary, placeholder_kind
from samehand.store.tables import SITE_PAGES

SKETCH_SIZE = 64
MAX_TARGETS = 16
"""Linked hosts that are stored: those with the most links."""
MAX_TEXT_BYTES, MAX_SOURCE_BYTES, MAX_LINKS = 1 << 16, 1 << 14, 2_000
"""Text, source and links beyond these are not read: a home page shows its purpose before."""
MAX_TITLE = 300
"""Characters of the title that are stored."""
START_BYTES = 200
"""The start of the text: a page that has nothing to say prints its domain there."""
PREFIX_LETTERS = 5
"""Names with an equal prefix of so many letters may belong to one owner."""
MIN_NAME_LETTERS = 4
"""Shorter names of sites are often words of the language, so they stay in the text."""
NO_BIGRAM = np.uint32(0xFFFFFFFF)
"""Fills the sketches of pages with fewer word bigrams."""

_OF_TAGS = ("tag_count", "tags", "markup_flags")
FEATURE_SCHEMA = pa.schema([field for field in SITE_PAGES.fixed_schema if field.name not in _OF_TAGS])
"""`title_key` is a hash of the title without the site's name; 0 if nothing is left of it, or if it spells out the
domain. `redirect_target` is 0 for a page that sends visitors nowhere. `domain_prefix` is a hash of the first letters of
the domain."""

_CJK = rb"[\xe3-\xed][\x80-\xbf]{2}"
_WORDS = re.compile(rb"(?:" + _CJK + rb"){1,2}|(?:\xe0[\xb8\xb9][\x80-\xbf]){1,4}|[a-z\x80-\xe2\xee-\xff]+")
"""Scripts without blanks need a dictionary to find words: there, two characters count as a word."""
_REDIRECT = re.compile(
    rb"<i?frame\b[^>]{0,1000}?\bsrc\s*=\s*[\"']?([^\"'\s>]{1,300})"
    rb"|http-equiv\s*=\s*[\"']?refresh[^>]{0,300}?url\s*=\s*[\"']?([^\"'\s>]{1,300})"
    rb"|location(?:\.href)?\s*=\s*[\"']([^\"']{1,300})|location\.(?:replace|assign)\(\s*[\"']([^\"']{1,300})",
    re.IGNORECASE,
)
_HOST = re.compile(rb"^\s*(?:https?:)?//([^/?#:\s]+)", re.IGNORECASE)
_PASSWORD = re.compile(rb"<input\b[^>]{0,300}?\btype\s*=\s*[\"']?password", re.IGNORECASE)
_LOADERS = tuple(TAG_NAMES.index(name) for name in ("script", "frame", "iframe", "object", "embed"))


class _Names(NamedTuple):
    """What a site calls itself: its domain, host and first label, and the domain in Unicode if it is in punycode."""

    domain: bytes
    host: bytes
    label: bytes
    unicode: bytes

    @classmethod
    def of(cls, host: str | None, domain: str | None) -> "_Names":
        domain, host = (domain or host or "").lower(), (host or "").lower()
        label = domain.split(".")[0]
        label = label if len(label) >= MIN_NAME_LETTERS else ""
        return cls(domain.encode(), host.encode(), label.encode(), _decoded(domain).encode())

    def removed_from(self, text: bytes) -> bytes:
        """The text, which is in lower case, without the names."""
        for name in (self.host, self.domain, self.unicode, self.label):
            if name and name in text:
                text = text.replace(name, b" ")
        return text

    def spelled_out_in(self, text: bytes) -> bool:
        """Whether the text, which is in lower case, contains the domain."""
        return bool(self.domain) and (self.domain in text or (bool(self.unicode) and self.unicode in text))


def _decoded(domain: str) -> str:
    """A punycode domain in Unicode; "" for any other domain."""
    if "xn--" not in domain:
        return ""
    try:
        return domain.encode("ascii").decode("idna")
    except UnicodeError:
        return ""


def page_features(
    pages: pa.RecordBatch | pa.Table, found: Markup, *, data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> pa.RecordBatch:
    """FEATURE_SCHEMA of pages (page_id, url_host_name, url_host_private_domain, fetch_status).

    `found` is what `parse_pages` made of `data`, in which the pages lie end to end.
    """
    hosts = link_hosts(data, offsets, found)
    loads = np.concatenate([[0], np.cumsum(np.isin(found.tags, _LOADERS))])[found.tag_offsets]
    columns = ("page_id", "url_host_name", "url_host_private_domain", "fetch_status")
    ids, names, domains, statuses = (pages.column(name).to_pylist() for name in columns)
    rows = []
    for row, (page_id, host, domain, status) in enumerate(zip(ids, names, domains, statuses, strict=True)):
        content = data[offsets[row] : offsets[row + 1]]
        page = _PageParts.of(found, row, content, hosts, bool(loads[row + 1] > loads[row]))
        rows.append({"page_id": page_id, **_features(page, _Names.of(host, domain), status)})
    return pa.RecordBatch.from_pylist(rows, schema=FEATURE_SCHEMA)


@dataclasses.dataclass(frozen=True, slots=True)
class _PageParts:
    """What the markup pass found on one page. `loads` says that the page loads scripts, frames or objects."""

    source: bytes
    text: bytes
    title: bytes
    hosts: list[int]
    hrefs: list[bytes]
    loads: bool

    @classmethod
    def of(
        cls, found: Markup, row: int, content: NDArray[np.uint8], hosts: NDArray[np.uint64], loads: bool
    ) -> "_PageParts":
        first = int(found.link_offsets[row])
        last = min(int(found.link_offsets[row + 1]), first + MAX_LINKS)
        spans = zip(found.link_starts[first:last].tolist(), found.link_lengths[first:last].tolist(), strict=True)
        return cls(
            source=content[:MAX_SOURCE_BYTES].tobytes(),
            text=found.text[found.text_offsets[row] : found.text_offsets[row + 1]][:MAX_TEXT_BYTES].tobytes(),
            title=found.titles[found.title_offsets[row] : found.title_offsets[row + 1]][:MAX_TEXT_BYTES].tobytes(),
            hosts=hosts[first:last].tolist(),
            hrefs=[content[start : start + length].tobytes() for start, length in spans],
            loads=loads,
        )


def _features(page: _PageParts, names: _Names, status: int | None) -> dict[str, object]:
    text, lower_title = page.text.lower(), page.title.lower()
    title = page.title.decode("utf-8", "replace")
    words = _WORDS.findall(names.removed_from(text))
    targets, counts = _targets(page, names)
    redirect_target = _redirect_target(page.source, names) if len(words) < 40 else 0
    summary = PageSummary(
        title=title,
        text=page.text[:8_000].decode("utf-8", "replace"),
        words=len(words),
        links=len(page.hrefs),
        foreign_links=sum(counts),
        leads_on=page.loads or redirect_target != 0,
        password=bool(_PASSWORD.search(page.source)),
        fetch_status=status,
    )
    return {
        "words": len(words),
        "text_sketch": _sketch(words),
        "title": " ".join(title.split())[:MAX_TITLE],
        "title_key": _title_key(lower_title, names),
        "own_name": names.spelled_out_in(text) or names.spelled_out_in(lower_title),
        "starts_with_domain": names.spelled_out_in(text[:START_BYTES]),
        "domain_prefix": zlib.crc32(names.domain[:PREFIX_LETTERS]),
        "links": len(page.hrefs),
        "query_links": _query_links(page, names),
        "targets": targets[:MAX_TARGETS],
        "target_links": counts[:MAX_TARGETS],
        "redirect_target": redirect_target,
        "placeholder_kind": placeholder_kind(summary),
    }


def _title_key(title: bytes, names: _Names) -> int:
    words = [] if names.spelled_out_in(title) else _WORDS.findall(names.removed_from(title))
    return int(_bigram_hashes(words).astype(np.uint64).sum())


def _bigram_hashes(words: list[bytes]) -> NDArray[np.uint32]:
    """One hash for each word with the word before it."""
    numbers = np.fromiter(map(zlib.crc32, words), np.uint64, len(words))
    before = np.zeros(len(words), np.uint64)
    before[1:] = numbers[:-1]
    mixed = (numbers + before * np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xFF51AFD7ED558CCD)
    bigrams: NDArray[np.uint32] = (mixed >> np.uint64(32)).astype(np.uint32)
    return bigrams


def _sketch(words: list[bytes]) -> bytes:
    found = np.full(SKETCH_SIZE, NO_BIGRAM, np.uint32)
    smallest = np.unique(_bigram_hashes(words))[:SKETCH_SIZE]
    found[: smallest.size] = smallest
    return found.astype("<u4").tobytes()


def _targets(page: _PageParts, names: _Names) -> tuple[list[int], list[int]]:
    """Hashes of the foreign hosts that the page links to, most links first, and the number of links to each."""
    counts = Counter(page.hosts)
    if not counts:
        return [], []
    for own in (0, *_host_hashes(names.host, names.domain, b"www." + names.domain)):
        del counts[own]
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [host for host, _ in order], [count for _, count in order]


def _host_hashes(*hosts: bytes) -> list[int]:
    hashes: list[int] = hash_hosts(*end_to_end(hosts)).tolist()
    return hashes


def _query_links(page: _PageParts, names: _Names) -> int:
    """Different queries to the page of the site that the most links ask; 0 for two or fewer."""
    queries: dict[bytes, set[bytes]] = {}
    for href in page.hrefs:
        path, mark, query = href.partition(b"?")
        if mark and (not _HOST.match(path) or names.domain in path.lower()):
            queries.setdefault(path, set()).add(query)
    most = max(map(len, queries.values()), default=0)
    return most if most > 2 else 0


def _redirect_target(source: bytes, names: _Names) -> int:
    """Hash of the host that the page sends its visitors to, or of the path if that is on the same site."""
    found = _REDIRECT.search(source)
    if not found:
        return 0
    target = next(group for group in found.groups() if group)
    host = _HOST.match(target)
    place = host[1].lower() if host else b""
    if not place or place.removeprefix(b"www.") == names.domain:
        rest = target[host.end() :] if host else target
        place = b"/" + rest.partition(b"?")[0].strip(b"/")
    return _host_hashes(place.replace(b"/", b"|"))[0]


class Features:
    """The stored figures of home pages as arrays. Row i is row i of the table."""

    def __init__(self, table: pa.Table) -> None:
        sketches = b"".join(table.column("text_sketch").to_pylist())
        self.sketches = np.frombuffer(sketches, "<u4").reshape(-1, SKETCH_SIZE)
        self.words = table.column("words").to_numpy()
        self.titles: list[str] = table.column("title").to_pylist()
        self.title_keys = table.column("title_key").to_numpy()
        self.own_names = table.column("own_name").to_numpy()
        self.starts_with_domain = table.column("starts_with_domain").to_numpy()
        self.domain_prefixes = table.column("domain_prefix").to_numpy()
        self.links = table.column("links").to_numpy()
        self.query_links = table.column("query_links").to_numpy()
        self.targets: list[list[int]] = table.column("targets").to_pylist()
        self.target_links: list[list[int]] = table.column("target_links").to_pylist()
        self.redirect_targets = table.column("redirect_target").to_numpy()
        self.placeholder_kinds: list[str] = table.column("placeholder_kind").to_pylist()
