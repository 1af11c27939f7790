"""What is stored of each page so that sites can be compared by more than their tags: a few hundred bytes.

Words, links, title, where it leads, ids of its owner, its signs of purpose, and what kind of page it is by itself
(kinds.py). The text is kept as a bottom-k sketch: the smallest hashes of its pairs of neighbouring words, which are a
random sample that is the same on every page. evidence.py compares these figures.
"""

import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.html import Markup
from samehand.kernels.html import site_links as link_columns
from samehand.kernels.html.owner_ids import owner_ids
from samehand.kernels.text import site_words as word_columns
from samehand.kernels.text.site_words import NO_PAIR, SKETCH_SIZE
from samehand.methods.sites.kinds import RULES, page_rules
from samehand.methods.sites.purpose import purpose_bits
from samehand.methods.sites.signs import MAX_SOURCE_BYTES, Signs, lead_hashes, page_signs
from samehand.store.tables import SITE_PAGES

MAX_TITLE = 300
"""Characters of the title that are stored."""
PREFIX_LETTERS = 5
"""Names with an equal prefix of so many letters may belong to one owner."""
MAX_PHRASES = 6
"""Phrases that are named as the evidence of a page."""

_OF_TAGS = ("tag_count", "tags", "markup_flags")
FEATURE_SCHEMA = pa.schema([field for field in SITE_PAGES.fixed_schema if field.name not in _OF_TAGS])
"""`title_key` is a hash of the title without the site's name; 0 if nothing is left of it, or if it spells out the
domain. `redirect_target` is 0 for a page that sends visitors nowhere. `domain_prefix` is a hash of the first letters of
the domain."""


def page_features(
    pages: pa.RecordBatch | pa.Table,
    found: Markup,
    *,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    hosts: NDArray[np.uint64] | None = None,
) -> pa.RecordBatch:
    """FEATURE_SCHEMA of pages (page_id, url_host_name, url_host_private_domain, fetch_status).

    `found` is what `parse_pages` made of `data`, in which the pages lie end to end, and `hosts` are its `link_hosts`.
    """
    signs = page_signs(pages, found, data=data, offsets=offsets, hosts=hosts)
    rules = page_rules(signs)
    sums, named = signs.title_words.sums, signs.named_in_title
    ids, id_offsets = owner_ids(data, offsets, MAX_SOURCE_BYTES)
    columns: dict[str, Any] = {
        "page_id": pages.column("page_id"),
        "words": signs.words,
        "prose": signs.prose,
        "text_sketch": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(4 * SKETCH_SIZE), len(signs), [None, pa.py_buffer(signs.text_words.sketches.astype("<u4"))]
        ),
        "title": list(_titles(found)),
        "title_key": np.where(named, np.uint64(0), sums),
        "own_name": signs.named,
        "starts_with_domain": signs.text_words.counts[:, word_columns.STARTS_NAMED] > 0,
        "domain_prefix": [zlib.crc32(domain.encode()[:PREFIX_LETTERS]) for domain in signs.domains],
        "links": signs.links,
        "query_links": signs.query_links,
        "targets": _lists(signs.site_links.targets, signs.site_links.counts[:, link_columns.TARGETS]),
        "target_links": _lists(signs.site_links.target_links, signs.site_links.counts[:, link_columns.TARGETS]),
        "redirect_target": lead_hashes(signs.leads),
        "owner_ids": pa.ListArray.from_arrays(pa.array(id_offsets, pa.int32()), pa.array(ids)),
        "purpose": purpose_bits(signs),
        "kind": [RULES[rule].kind if rule >= 0 else "" for rule in rules.tolist()],
        "rule": [RULES[rule].name if rule >= 0 else "" for rule in rules.tolist()],
        "wording": list(_wording(signs, rules)),
    }
    return pa.record_batch(
        [_column(columns[field.name], field.type) for field in FEATURE_SCHEMA], schema=FEATURE_SCHEMA
    )


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    found = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else pa.array(values)
    return found.cast(kind)


def _titles(found: Markup) -> Iterator[str]:
    data = found.titles.tobytes()
    bounds = found.title_offsets.tolist()
    for start, end in itertools.pairwise(bounds):
        yield " ".join(data[start : min(end, start + 8 * MAX_TITLE)].decode("utf-8", "replace").split())[:MAX_TITLE]


def _lists(rows: NDArray[np.generic], counts: NDArray[np.int32]) -> pa.ListArray:
    """The first `counts` values of each row."""
    kept = np.arange(rows.shape[1]) < counts[:, None]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(rows[kept]))


def _wording(signs: Signs, rules: NDArray[np.int64]) -> Iterator[list[str]]:
    """For a page of some kind or purpose, the phrases that were found first, each with its class."""
    named: dict[int, dict[str, None]] = {page: {} for page in np.flatnonzero(rules >= 0).tolist()}
    places = ((signs.in_title, signs.wording), (signs.in_text, signs.wording), (signs.in_source, signs.source))
    for found, phrases in places:
        rows, columns = np.nonzero(found.counts * (rules >= 0)[:, None])
        for page, column, first in zip(
            *(which.tolist() for which in (rows, columns, found.first[rows, columns])), strict=True
        ):
            if phrases.classes[column] in RULES[rules[page]].classes:
                named[page][f"{phrases.classes[column]}: {phrases.phrases[first]}"] = None
    for page in range(len(rules)):
        yield list(named.get(page, ()))[:MAX_PHRASES]


class Lists:
    """A column of lists of numbers. A list is made when it is asked for, so all of them take little memory."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._values = pc.list_flatten(column).to_numpy()
        self._ends = np.cumsum(pc.list_value_length(column).to_numpy())

    def __getitem__(self, row: int) -> list[int]:
        numbers: list[int] = self._values[self._ends[row - 1] if row else 0 : self._ends[row]].tolist()
        return numbers


class Features:
    """The stored figures of home pages as arrays. Row i is row i of the table."""

    def __init__(self, table: pa.Table) -> None:
        sketches = b"".join(table.column("text_sketch").to_pylist())
        self.sketches = np.frombuffer(sketches, "<u4").reshape(-1, SKETCH_SIZE)
        self.words = table.column("words").to_numpy()
        self.prose = table.column("prose").to_numpy()
        self.titles: list[str] = table.column("title").to_pylist()
        self.title_keys = table.column("title_key").to_numpy()
        self.own_names = table.column("own_name").to_numpy()
        self.starts_with_domain = table.column("starts_with_domain").to_numpy()
        self.domain_prefixes = table.column("domain_prefix").to_numpy()
        self.links = table.column("links").to_numpy()
        self.query_links = table.column("query_links").to_numpy()
        self.targets = Lists(table.column("targets"))
        self.target_links = Lists(table.column("target_links"))
        self.redirect_targets = table.column("redirect_target").to_numpy()
        self.owner_ids = Lists(table.column("owner_ids"))
        self.purposes = table.column("purpose").to_numpy()
        self.kinds: list[str] = table.column("kind").to_pylist()
        self.rules: list[str] = table.column("rule").to_pylist()
        self.wording: list[list[str]] = table.column("wording").to_pylist()


__all__ = ["FEATURE_SCHEMA", "NO_PAIR", "SKETCH_SIZE", "Features", "page_features"]
