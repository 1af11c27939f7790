"""What is kept of each home page beside its tags, so that sites can be compared by more than their looks.

Words, links, title, where the page leads, and what kind of plain page it is (plain_pages.py): a few hundred bytes. Text
is kept as a sample of its pairs of neighbouring words, the SKETCH smallest of their hashes, which is the same choice
on every page. A site's own name is no text: parked pages show it wherever others say something. What is made of these
figures stands in site_evidence.py.
"""

import dataclasses
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.html import TAG_NAMES, Markup
from samehand.kernels.html.links import hash_hosts, link_hosts
from samehand.methods.sites.placeholders import Glance, plain_kind

SKETCH = 64
TARGETS = 16
"""Hosts kept of those a page links to, those with most links first."""
TEXT_BYTES, LEAD_BYTES, LINKS = 1 << 16, 1 << 14, 2_000
"""Text, source and links beyond these are not looked at: home pages that have a purpose show it before."""
HEAD = 200
"""Bytes at the beginning of the text that are its head: a page that has nothing to say shows its domain there."""
STEM = 5
"""Names that begin with as many equal letters may be one owner's."""
LEAST_NAME = 4
"""Shorter names of sites are words of the language too often to be left out of its text."""
NO_PAIR = np.uint32(0xFFFFFFFF)
"""Fills the sketches of pages with fewer pairs of words."""

FEATURE_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("words", pa.int32(), nullable=False),
        pa.field("text_sketch", pa.binary(4 * SKETCH), nullable=False),
        pa.field("title", pa.uint64(), nullable=False),
        pa.field("own_name", pa.bool_(), nullable=False),
        pa.field("headed", pa.bool_(), nullable=False),
        pa.field("stem", pa.uint32(), nullable=False),
        pa.field("links", pa.int32(), nullable=False),
        pa.field("query_links", pa.int32(), nullable=False),
        pa.field("targets", pa.list_(pa.field("item", pa.uint64(), nullable=False)), nullable=False),
        pa.field("target_links", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("lead", pa.uint64(), nullable=False),
        pa.field("plain", pa.string(), nullable=False),
    ]
)
"""What is kept of each page: `title` is 0 when there is none, its domain aside, `lead` when it leads nowhere,
`headed` says that the text begins with the domain, `stem` tells names apart by how they begin."""

_CJK = rb"[\xe3-\xed][\x80-\xbf]{2}"
_WORDS = re.compile(rb"(?:" + _CJK + rb"){1,2}|(?:\xe0[\xb8\xb9][\x80-\xbf]){1,4}|[a-z\x80-\xe2\xee-\xff]+")
"""Scripts without blanks have no words to be found without a dictionary: two characters count as one."""
_LEAD = re.compile(
    rb"<i?frame\b[^>]{0,1000}?\bsrc\s*=\s*[\"']?([^\"'\s>]{1,300})"
    rb"|http-equiv\s*=\s*[\"']?refresh[^>]{0,300}?url\s*=\s*[\"']?([^\"'\s>]{1,300})"
    rb"|location(?:\.href)?\s*=\s*[\"']([^\"']{1,300})|location\.(?:replace|assign)\(\s*[\"']([^\"']{1,300})",
    re.IGNORECASE,
)
_HOST = re.compile(rb"^\s*(?:https?:)?//([^/?#:\s]+)", re.IGNORECASE)
_PASSWORD = re.compile(rb"<input\b[^>]{0,300}?\btype\s*=\s*[\"']?password", re.IGNORECASE)
_LOADERS = tuple(TAG_NAMES.index(name) for name in ("script", "frame", "iframe", "object", "embed"))


class _Names(NamedTuple):
    """What a site calls itself; `shown` is its domain as people read it, where that has other letters than ASCII."""

    domain: bytes
    host: bytes
    label: bytes
    shown: bytes

    @classmethod
    def of(cls, host: str | None, domain: str | None) -> "_Names":
        domain, host = (domain or host or "").lower(), (host or "").lower()
        label = domain.split(".")[0]
        shown = _decoded(domain)
        return cls(domain.encode(), host.encode(), label.encode() if len(label) >= LEAST_NAME else b"", shown.encode())

    def taken_out(self, text: bytes) -> bytes:
        """The text, in small letters, without the site's names."""
        for name in (self.host, self.domain, self.shown, self.label):
            if name and name in text:
                text = text.replace(name, b" ")
        return text

    def named_in(self, text: bytes) -> bool:
        """Whether the text, in small letters, spells out the site's domain."""
        return bool(self.domain) and (self.domain in text or (bool(self.shown) and self.shown in text))


def _decoded(domain: str) -> str:
    """A name of other letters than ASCII as people read it; "" for all others."""
    if "xn--" not in domain:
        return ""
    try:
        return domain.encode("ascii").decode("idna")
    except UnicodeError:
        return ""


def page_features(
    pages: pa.RecordBatch | pa.Table, found: Markup, *, data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> pa.RecordBatch:
    """FEATURE_SCHEMA of pages (page_id, url_host_name, url_host_registered_domain, fetch_status).

    `found` is what `parse_pages` made of `data`, where the pages lie end to end.
    """
    hosts = link_hosts(data, offsets[:-1], found.link_offsets, found.link_starts, found.link_lengths)
    loads = np.concatenate([[0], np.cumsum(np.isin(found.tags, _LOADERS))])[found.tag_offsets]
    columns = ("page_id", "url_host_name", "url_host_registered_domain", "fetch_status")
    ids, names, domains, statuses = (pages.column(name).to_pylist() for name in columns)
    rows = []
    for row, (page_id, host, domain, status) in enumerate(zip(ids, names, domains, statuses, strict=True)):
        content = data[offsets[row] : offsets[row + 1]]
        page = _PageParts.of(found, row, content, hosts, bool(loads[row + 1] > loads[row]))
        rows.append({"page_id": page_id, **_features(page, _Names.of(host, domain), status)})
    return pa.RecordBatch.from_pylist(rows, schema=FEATURE_SCHEMA)


@dataclasses.dataclass(frozen=True, slots=True)
class _PageParts:
    """One page's share of what was found."""

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
        last = min(int(found.link_offsets[row + 1]), first + LINKS)
        spans = zip(found.link_starts[first:last].tolist(), found.link_lengths[first:last].tolist(), strict=True)
        return cls(
            source=content[:LEAD_BYTES].tobytes(),
            text=found.text[found.text_offsets[row] : found.text_offsets[row + 1]][:TEXT_BYTES].tobytes(),
            title=found.titles[found.title_offsets[row] : found.title_offsets[row + 1]][:TEXT_BYTES].tobytes(),
            hosts=hosts[first:last].tolist(),
            hrefs=[content[start : start + length].tobytes() for start, length in spans],
            loads=loads,
        )


def _features(page: _PageParts, names: _Names, status: int | None) -> dict[str, object]:
    lower = page.text.lower()
    words = _words(names.taken_out(lower))
    title = page.title.lower()
    title_words = [] if names.named_in(title) else _words(names.taken_out(title))
    targets, counts = _targets(page, names)
    lead = _lead(page.source, names) if len(words) < 40 else 0
    glance = Glance(
        title=page.title.decode("utf-8", "replace"),
        text=page.text[:8_000].decode("utf-8", "replace"),
        words=len(words),
        links=len(page.hrefs),
        foreign_links=sum(counts),
        leads=page.loads or lead != 0,
        password=bool(_PASSWORD.search(page.source)),
        fetch_status=status,
    )
    return {
        "words": len(words),
        "text_sketch": _sketch(words),
        "title": int(_pair_hashes(title_words).astype(np.uint64).sum()) if title_words else 0,
        "own_name": names.named_in(lower) or names.named_in(title),
        "headed": names.named_in(lower[:HEAD]),
        "stem": zlib.crc32(names.domain[:STEM]),
        "links": len(page.hrefs),
        "query_links": _query_links(page, names),
        "targets": targets[:TARGETS],
        "target_links": counts[:TARGETS],
        "lead": lead,
        "plain": plain_kind(glance),
    }


def _words(text: bytes) -> list[bytes]:
    """The words in order, without digits: those are prices, dates and tokens."""
    return _WORDS.findall(text)


def _pair_hashes(words: list[bytes]) -> NDArray[np.uint32]:
    """One hash for each word with the word before it."""
    numbers = np.fromiter(map(zlib.crc32, words), np.uint64, len(words))
    before = np.zeros(len(words), np.uint64)
    before[1:] = numbers[:-1]
    mixed = (numbers + before * np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xFF51AFD7ED558CCD)
    pairs: NDArray[np.uint32] = (mixed >> np.uint64(32)).astype(np.uint32)
    return pairs


def _sketch(words: list[bytes]) -> bytes:
    found = np.full(SKETCH, NO_PAIR, np.uint32)
    if words:
        smallest = np.unique(_pair_hashes(words))[:SKETCH]
        found[: smallest.size] = smallest
    return found.astype("<u4").tobytes()


def _targets(page: _PageParts, names: _Names) -> tuple[list[int], list[int]]:
    """Hosts that links leave for, most links first, and how many go there."""
    counts = Counter(page.hosts)
    if not counts:
        return [], []
    for own in (0, *_hash_names([names.host, names.domain, b"www." + names.domain]).tolist()):
        del counts[own]
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [host for host, _ in order], [count for _, count in order]


def _hash_names(names: Sequence[bytes]) -> NDArray[np.uint64]:
    bounds = np.cumsum([0, *map(len, names)])
    return hash_hosts(np.frombuffer(b"".join(names) + b"\0", np.uint8), bounds.astype(np.int64))


def _query_links(page: _PageParts, names: _Names) -> int:
    """Links that ask one and the same page of the site, each for something else: the page that is asked most."""
    asked: dict[bytes, set[bytes]] = {}
    for href in page.hrefs:
        path, mark, query = href.partition(b"?")
        if mark and (not _HOST.match(path) or names.domain in path.lower()):
            asked.setdefault(path, set()).add(query)
    most = max(map(len, asked.values()), default=0)
    return most if most > 2 else 0


def _lead(source: bytes, names: _Names) -> int:
    """A number for where the page sends its visitors: a host, or the path where that is on the same site."""
    found = _LEAD.search(source)
    if not found:
        return 0
    target = next(group for group in found.groups() if group)
    host = _HOST.match(target)
    place = host[1].lower() if host else b""
    if not place or place.removeprefix(b"www.") == names.domain:
        rest = target[host.end() :] if host else target
        place = b"/" + rest.partition(b"?")[0].strip(b"/")
    return int(_hash_names([place.replace(b"/", b"|")])[0])


class Features:
    """The stored figures of the home pages, as arrays; row i is row i of the table."""

    def __init__(self, table: pa.Table | pa.RecordBatch) -> None:
        packed = table.column("text_sketch").to_pylist()
        self.sketches = np.frombuffer(b"".join(packed), "<u4").reshape(-1, SKETCH)
        self.words, self.links, self.query_links = (
            table.column(name).to_numpy(zero_copy_only=False)
            if isinstance(table, pa.RecordBatch)
            else table.column(name).to_numpy()
            for name in ("words", "links", "query_links")
        )
        self.titles = np.array(table.column("title").to_pylist(), np.uint64)
        self.leads = np.array(table.column("lead").to_pylist(), np.uint64)
        self.stems = np.array(table.column("stem").to_pylist(), np.uint32)
        self.headed = np.array(table.column("headed").to_pylist(), np.bool_)
        self.own_names = np.array(table.column("own_name").to_pylist(), np.bool_)
        self.plain: list[str] = table.column("plain").to_pylist()
        self.targets: list[list[int]] = table.column("targets").to_pylist()
        self.target_links: list[list[int]] = table.column("target_links").to_pylist()

    def __len__(self) -> int:
        return len(self.plain)
