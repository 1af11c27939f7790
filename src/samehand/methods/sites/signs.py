"""What a page shows by itself, as arrays over a batch of pages: counts of words, links and tags, and wording.

kinds.py decides by these. Everything is counted in kernels; only pages with next to no text are read by leads.py.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end, read_only
from samehand.html import TAG_NAMES, Markup, link_hosts
from samehand.kernels.html import site_links as link_columns
from samehand.kernels.html.links import hash_hosts
from samehand.kernels.html.site_links import SiteLinks, site_links
from samehand.kernels.tags import ALL_TAGS, count_columns
from samehand.kernels.text import site_words as word_columns
from samehand.kernels.text.phrases import Found
from samehand.kernels.text.site_words import Names, SiteWords, call_it_domain, site_words
from samehand.methods.sites.leads import NO_LEAD, Lead, find_lead, tells_own_name
from samehand.methods.sites.phrases import Phrases, fold, folded, source_signs, wording

MAX_TEXT_BYTES, MAX_SOURCE_BYTES, MAX_TITLE_BYTES = 1 << 16, 1 << 17, 1 << 10
"""Text, source and title beyond these are not read: a home page shows its purpose before."""
FEW_WORDS = 60
"""Pages with fewer words are looked at for a lead."""
BARE_WORDS = 12
"""A page with fewer words shows nothing of its own."""
MIN_NAME_LETTERS = 4
"""Shorter names of sites are often words of the language, so they stay in the text."""
_COUNTED = (
    "a",
    "script",
    "iframe",
    "frame",
    "frameset",
    "form",
    "input",
    "img",
    "p",
    "li",
    "h1",
    "link",
    "object",
    "embed",
)


LEAST_KEYWORDS, MOST_OF = 4, 0.6
"""So many links, and this share of all links, make a list of keywords."""
_DOMAIN = np.frombuffer(b"domain", np.uint8)


@dataclasses.dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Signs:
    """The signs of pages; row i of each array is page i. Wording has a column for each class of phrases."""

    domains: Sequence[str]
    status: NDArray[np.int64]
    source_bytes: NDArray[np.int64]
    text_bytes: NDArray[np.int64]
    title_bytes: NDArray[np.int64]
    text_words: SiteWords
    title_words: SiteWords
    site_links: SiteLinks
    tags: dict[str, NDArray[np.int64]]
    leads: Sequence[Lead]
    how: NDArray[np.int64]
    leads_away: NDArray[np.bool_]
    lead_tells_name: NDArray[np.bool_]
    told_name: NDArray[np.bool_]
    is_market: NDArray[np.bool_]
    in_title: Found
    in_text: Found
    in_source: Found
    wording: Phrases
    source: Phrases

    def __len__(self) -> int:
        return self.status.size

    @property
    def words(self) -> NDArray[np.int32]:
        """Words of the visible text, the site's own names left out."""
        return self.text_words.counts[:, word_columns.WORDS]

    @property
    def prose(self) -> NDArray[np.int32]:
        """Words in lines of running text."""
        return self.text_words.counts[:, word_columns.PROSE]

    @property
    def links(self) -> NDArray[np.int32]:
        """Links, within the site and away from it."""
        return self.foreign_links + self.own_links

    @property
    def foreign_links(self) -> NDArray[np.int32]:
        """Links to other sites."""
        return self.site_links.counts[:, link_columns.FOREIGN]

    @property
    def own_links(self) -> NDArray[np.int32]:
        """Links within the site."""
        return self.site_links.counts[:, link_columns.OWN]

    @property
    def query_links(self) -> NDArray[np.int32]:
        """Different queries to the page of the site that most of them ask."""
        return self.site_links.counts[:, link_columns.QUERIES]

    @property
    def named(self) -> NDArray[np.bool_]:
        """Whether the domain is spelled out in the title or the text."""
        return self.named_in_title | self.named_in_text

    @property
    def named_in_title(self) -> NDArray[np.bool_]:
        """Whether the domain is spelled out in the title."""
        return self.title_words.counts[:, word_columns.NAMED] > 0

    @property
    def named_in_text(self) -> NDArray[np.bool_]:
        """Whether the domain is spelled out in the text."""
        return self.text_words.counts[:, word_columns.NAMED] > 0

    @property
    def title_is_name(self) -> NDArray[np.bool_]:
        """Whether the title is the domain and nothing else."""
        bare: NDArray[np.bool_] = self.title_words.counts[:, word_columns.WORDS] == 0
        return self.named_in_title & bare

    @property
    def about_name(self) -> NDArray[np.bool_]:
        """Whether the domain is spelled out in the title, or the text begins with it."""
        begins: NDArray[np.bool_] = self.text_words.counts[:, word_columns.STARTS_NAMED] > 0
        return self.named_in_title | begins

    @property
    def keyword_links(self) -> NDArray[np.int32]:
        """Links that ask one page of the site for keywords, or links to the other site that most of them lead to."""
        most: NDArray[np.int32] = np.maximum(self.query_links, self.site_links.target_links[:, 0])
        return most

    @property
    def wordy_links(self) -> NDArray[np.int32]:
        """Links whose query holds words."""
        return self.site_links.counts[:, link_columns.WORDS]

    @property
    def telling_links(self) -> NDArray[np.int32]:
        """Links that tell another site the own domain."""
        return self.site_links.counts[:, link_columns.TO_NAME]

    @property
    def feeds(self) -> NDArray[np.bool_]:
        """Whether a page loads a feed of parked domains, or leads to parking or a market and has nothing else to say.

        Honest pages may speak of parking and link to markets. A market is none of them.
        """
        led = np.array([lead.to_parking for lead in self.leads], np.bool_)
        named = led | (self.shows("source-feed-weak") > 0) | (self.shows("source-parking-host") > 0)
        said = sum(self.said(name) for name in ("parked", "parked-weak", "sale", "sale-weak", "this-domain"))
        bare = (self.about_name & (said > 0)) | (self.words < BARE_WORDS)
        fed: NDArray[np.bool_] = ((self.shows("source-feed") > 0) | (named & bare)) & ~self.is_market
        return fed

    def title(self, name: str) -> NDArray[np.uint8]:
        """Different phrases of a class in the title."""
        return self.in_title.counts[:, self.wording.classes.index(name)]

    def text(self, name: str) -> NDArray[np.uint8]:
        """Different phrases of a class in the text."""
        return self.in_text.counts[:, self.wording.classes.index(name)]

    def said(self, name: str) -> NDArray[np.int64]:
        """Different phrases of a class in title and text together."""
        return self.title(name).astype(np.int64) + self.text(name)

    def titled(self, name: str) -> NDArray[np.float64]:
        """The share of the title that the longest phrase of a class makes up."""
        column = self.wording.classes.index(name)
        shares: NDArray[np.float64] = self.in_title.longest[:, column] / np.maximum(1, self.title_bytes)
        return shares

    def whole(self, name: str) -> NDArray[np.float64]:
        """The share of the text that the longest phrase of a class makes up."""
        column = self.wording.classes.index(name)
        shares: NDArray[np.float64] = self.in_text.longest[:, column] / np.maximum(1, self.text_bytes)
        return shares

    def shows(self, name: str) -> NDArray[np.uint8]:
        """Different signs of a class in the source."""
        return self.in_source.counts[:, self.source.classes.index(name)]


def page_signs(
    pages: pa.RecordBatch | pa.Table,
    found: Markup,
    *,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    hosts: NDArray[np.uint64] | None = None,
    phrases: tuple[Phrases, Phrases] | None = None,
) -> Signs:
    """The signs of pages (url_host_name, url_host_private_domain, fetch_status).

    `found` is what `parse_pages` made of `data`, in which the pages lie end to end, and `hosts` are its `link_hosts`.
    """
    texts, sources = phrases or (wording(), source_signs())
    own_hosts, domains, statuses = (
        pages.column(name).to_pylist() for name in ("url_host_name", "url_host_private_domain", "fetch_status")
    )
    own = [(domain or host or "").lower() for host, domain in zip(own_hosts, domains, strict=True)]
    names = _names(own_hosts, own)
    domain_data, domain_offsets = end_to_end([name.encode() for name in own])
    text, text_offsets = folded(found.text, found.text_offsets, MAX_TEXT_BYTES)
    title, title_offsets = folded(found.titles, found.title_offsets, MAX_TITLE_BYTES)
    text_words, title_words = site_words(text, text_offsets, names), site_words(title, title_offsets, names)
    text, text_offsets = call_it_domain(text, text_offsets, names, _DOMAIN, text_words.counts)
    title, title_offsets = call_it_domain(title, title_offsets, names, _DOMAIN, title_words.counts)
    named = frozenset(sources.phrases)
    leads, told = _leads(data, offsets, [name.encode() for name in own], text_words.counts[:, word_columns.WORDS])
    return Signs(
        domains=own,
        status=np.array([status or 0 for status in statuses], np.int64),
        source_bytes=np.diff(offsets),
        text_bytes=np.diff(text_offsets),
        title_bytes=np.diff(title_offsets),
        text_words=text_words,
        title_words=title_words,
        site_links=site_links(
            data,
            offsets[:-1],
            found.link_offsets,
            found.link_starts,
            found.link_lengths,
            link_hosts(data, offsets, found) if hosts is None else hosts,
            domain_data,
            domain_offsets,
        ),
        tags=_tag_counts(found),
        leads=leads,
        how=np.array([lead.how for lead in leads], np.int64),
        leads_away=np.array([lead.host != b"" for lead in leads], np.bool_),
        lead_tells_name=np.array([lead.tells_name for lead in leads], np.bool_),
        told_name=told,
        is_market=np.array([name in named for name in own], np.bool_),
        in_title=texts.find(title, title_offsets, most=MAX_TITLE_BYTES),
        in_text=texts.find(text, text_offsets, most=MAX_TEXT_BYTES),
        in_source=sources.find(data, offsets, most=MAX_SOURCE_BYTES),
        wording=texts,
        source=sources,
    )


def _names(hosts: Sequence[str | None], domains: Sequence[str]) -> Names:
    """What sites call themselves: host and domain, and its first label if it is no word."""
    names: list[bytes] = []
    ends = [0]
    for host, domain in zip(hosts, domains, strict=True):
        spelled, label = _spelled(host, domain)
        names += spelled
        ends.append(len(names))
        names += label
        ends.append(len(names))
    return Names(*end_to_end(names), np.array(ends, np.int64))


@functools.lru_cache(maxsize=1 << 12)
def _spelled(host: str | None, domain: str) -> tuple[list[bytes], list[bytes]]:
    """The names that spell out a domain, and its first label if that is no word. Pages of a site are often together."""
    spelled = [fold(name) for name in dict.fromkeys(((host or "").lower(), domain, _decoded(domain))) if name]
    label = fold(domain.split(".")[0])
    return [name.encode() for name in spelled], [label.encode()] if len(label) >= MIN_NAME_LETTERS else []


def _decoded(domain: str) -> str:
    """A punycode domain in Unicode; "" for any other domain."""
    if "xn--" not in domain:
        return ""
    try:
        return domain.encode("ascii").decode("idna")
    except UnicodeError:
        return ""


def _tag_counts(found: Markup) -> dict[str, NDArray[np.int64]]:
    """How often each page has the tags that count."""
    columns = _tag_columns()
    counts = count_columns(read_only(found.tags), read_only(found.tag_offsets), columns, len(_COUNTED) + 1)
    return {name: counts[:, place] for place, name in enumerate(_COUNTED)}


@functools.cache
def _tag_columns() -> NDArray[np.uint8]:
    """The place of each tag in _COUNTED; one behind for all others."""
    columns = np.full(ALL_TAGS, len(_COUNTED), np.uint8)
    columns[[TAG_NAMES.index(name) for name in _COUNTED]] = np.arange(len(_COUNTED))
    return columns


def _leads(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], domains: Sequence[bytes], words: NDArray[np.int32]
) -> tuple[list[Lead], NDArray[np.bool_]]:
    """The leads of pages with few words."""
    leads, told = [Lead()] * words.size, np.zeros(words.size, np.bool_)
    for page in np.flatnonzero(words < FEW_WORDS).tolist():
        source = data[offsets[page] : offsets[page + 1]][: 1 << 14].tobytes()
        leads[page] = find_lead(source, domains[page])
        told[page] = leads[page].tells_name or tells_own_name(source, domains[page])
    return leads, told


def lead_hashes(leads: Sequence[Lead]) -> NDArray[np.uint64]:
    """A hash of where each page leads: the host, or the path on the same site; 0 for a page that does not."""
    places = [lead.host or b"|" + lead.path.replace(b"/", b"|") if lead.how != NO_LEAD else b"" for lead in leads]
    hashes: NDArray[np.uint64] = hash_hosts(*end_to_end(places))
    return hashes


def keyword_lists(signs: Signs) -> NDArray[np.bool_]:
    """Whether most links ask one page of the site for keywords, or lead to one other site."""
    most = signs.keyword_links
    return (most >= LEAST_KEYWORDS) & (most >= MOST_OF * signs.links)


def told_lists(signs: Signs) -> NDArray[np.bool_]:
    """Whether most links tell one other site the own domain."""
    told = np.minimum(signs.telling_links, signs.site_links.target_links[:, 0])
    return (told >= LEAST_KEYWORDS) & (told >= MOST_OF * signs.links)
