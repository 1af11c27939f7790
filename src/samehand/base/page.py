"""Page, Reject and Skip: what every record that is read becomes. Their Arrow schemas, and the domains of a URL.

Columns that Common Crawl's columnar index has carry its names, so that its queries work on a run folder.
"""

import base64
import dataclasses
import functools
import hashlib
import importlib.resources
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import ada_url
import pyarrow as pa
from publicsuffixlist import PSLFILE, PublicSuffixList

PLAIN_TEXT = "text/plain"
"""`content_mime_detected` of a page that is text without markup, as corpora hold it. All other pages are HTML."""
MISSING_URL, BROKEN_URL, IP_URL, DOMAIN_URL, SUFFIX_URL = "missing", "broken", "ip", "domain", "suffix"


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One HTML page. (`source_path`, `warc_record_offset`) is the place where its bytes are found again.

    `source_path` is the file as the user named it, with the member or the file below it where the input is a WACZ or a
    folder. `warc_filename` is the same for records of WARC, ARC and WACZ, and None for all others. `doc_id` is the
    user's own name for the page.
    """

    url: str
    content: bytes
    source_path: str
    warc_record_offset: int
    warc_record_length: int = 0
    fetch_time: datetime | None = None
    fetch_status: int | None = None
    content_digest: str | None = None
    content_mime_detected: str = "text/html"
    content_charset: str | None = None
    content_truncated: str | None = None
    doc_id: str | None = None
    warc_filename: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Reject:
    """One record that could have been a page, and why it is none. `damaged` says that the input is broken."""

    source_path: str
    warc_record_offset: int
    reason: str
    bytes: int = 0
    url: str = ""
    detail: str = ""
    damaged: bool = False
    doc_id: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Skip:
    """One record that is no page by nature, such as a crawler's request. `reason` says what it is."""

    source_path: str
    warc_record_offset: int
    reason: str


Outcome = Page | Reject | Skip


PAGE_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("doc_id", pa.string()),
        pa.field("url", pa.string(), nullable=False),
        pa.field("url_kind", pa.string(), nullable=False),
        pa.field("url_host_name", pa.string()),
        pa.field("url_host_registered_domain", pa.string()),
        pa.field("url_host_private_domain", pa.string()),
        pa.field("fetch_time", pa.timestamp("ms", tz="UTC")),
        pa.field("fetch_status", pa.int16()),
        pa.field("content_digest", pa.string()),
        pa.field("content_mime_detected", pa.string()),
        pa.field("content_charset", pa.string()),
        pa.field("content_truncated", pa.string()),
        pa.field("content_length", pa.int64(), nullable=False),
        pa.field("content_crc32", pa.uint32(), nullable=False),
        pa.field("source_path", pa.string(), nullable=False),
        pa.field("warc_filename", pa.string()),
        pa.field("warc_record_offset", pa.int64(), nullable=False),
        pa.field("warc_record_length", pa.int64(), nullable=False),
    ]
)
CONTENT_FIELD = pa.field("content", pa.large_binary(), nullable=False)
"""The bytes of a page: the last column of the batches that methods get. It is stored only with keep_pages."""

REJECT_SCHEMA = pa.schema(
    [
        pa.field("doc_id", pa.string(), nullable=False),
        pa.field("url", pa.string(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
        pa.field("damaged", pa.bool_(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("source_path", pa.string(), nullable=False),
        pa.field("warc_record_offset", pa.int64(), nullable=False),
    ]
)


_PLAIN_HOST = re.compile(r"https?://((?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+[a-z]+)(?:[/?#]|\Z)")
"""A host that every parser reads alike: lower-case letters, digits and single hyphens, with letters as last label."""


class Host(NamedTuple):
    """The host and the domains of a URL. `kind` says which of them there are."""

    kind: str
    name: str | None = None
    registered_domain: str | None = None
    private_domain: str | None = None


def host_of(url: str) -> Host:
    """Host and domains of `url`, parsed as browsers do (WHATWG). Never raises: `kind` says what is missing."""
    plain = _PLAIN_HOST.match(url)
    if plain:
        return _host_of_name(plain[1])
    if not url:
        return Host(MISSING_URL)
    try:
        parsed = ada_url.parse_url(url, ("hostname", "host_type"))
    except ValueError:
        return Host(BROKEN_URL)
    name = parsed["hostname"].rstrip(".")
    if not name:
        return Host(BROKEN_URL)
    if parsed["host_type"] != ada_url.HostType.DEFAULT:
        return Host(IP_URL, name.strip("[]"))
    return _host_of_name(name)


@functools.lru_cache(maxsize=1 << 16)
def _host_of_name(name: str) -> Host:
    with_private_rules, without = _suffix_lists()
    private = with_private_rules.privatesuffix(name)
    return Host(DOMAIN_URL if private else SUFFIX_URL, name, without.privatesuffix(name), private)


@functools.cache
def _suffix_lists() -> tuple[PublicSuffixList, PublicSuffixList]:
    """With private rules foo.blogspot.com is a domain of its own, without them it belongs to blogspot.com.

    The private rules are those of the suffix list and of data/shared_hosts.txt.
    """
    shared = importlib.resources.files("samehand") / "data" / "shared_hosts.txt"
    rules = f"{Path(PSLFILE).read_text(encoding='utf-8')}\n{shared.read_text(encoding='utf-8').replace('#', '//')}"
    return PublicSuffixList(rules.splitlines()), PublicSuffixList(only_icann=True)


def is_shared_domain(name: str) -> bool:
    """Whether strangers own names below `name`: a public suffix, or a domain with public suffixes below it.

    The private rules of the suffix list count too, so github.io and amazonaws.com are shared domains.
    """
    return _suffix_lists()[0].is_public(name) or name in _above_suffixes()


def public_suffix(name: str) -> str:
    """The public suffix that a name stands below, or is; "" if it has none. The private rules do not count."""
    return str(_suffix_lists()[1].publicsuffix(name) or "")


@functools.lru_cache(maxsize=1 << 12)
def is_below_public_suffix(name: str) -> bool:
    """Whether `name` is a domain name that ends in a suffix of the list, such as example.org, and is none itself."""
    suffix = _suffix_lists()[1].publicsuffix(name.lower(), accept_unknown=False)
    return suffix is not None and suffix != name.lower()


@functools.cache
def _above_suffixes() -> frozenset[str]:
    """The names above the public suffixes. A rule *.compute.amazonaws.com makes compute.amazonaws.com one of them."""
    with open(PSLFILE, encoding="utf-8") as rules:
        names = [line.split()[0] for line in rules if line.strip() and not line.startswith(("//", "!"))]
    return frozenset(
        ".".join(labels[place:])
        for labels in (name.encode("idna").decode().split(".") for name in names)
        for place in range(1, len(labels))
    )


def rejects_to_batch(rejects: Sequence[Reject]) -> pa.RecordBatch:
    """Rejects as an Arrow batch."""
    arrays = [pa.array([getattr(reject, field.name) for reject in rejects], field.type) for field in REJECT_SCHEMA]
    return pa.record_batch(arrays, schema=REJECT_SCHEMA)


def digest_of(content: bytes | memoryview) -> str:
    """SHA-1 in base 32, as in WARC-Payload-Digest and in Common Crawl's index."""
    return base64.b32encode(hashlib.sha1(content, usedforsecurity=False).digest()).decode("ascii")
