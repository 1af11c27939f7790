"""What kind a style cluster is: the classes of the hidden style similarity paper (section 4.2), and one more.

* mirror: one site under several names. The same text on several hosts, under the same paths; or home pages, which say
  nothing about paths, that also link to the same hosts.
* identical: the same page on several hosts, with too little text and too few links to be a site: server messages,
  parked and empty pages.
* copy: the same text on several hosts, under other paths or with other links (the paper's Copy/Paste).
* link farm: pages of one template that link to each other's hosts, or whose text a machine made.
* template: the rest. The same template with different content is never called a duplicate.

Each class is suggested from figures, which are stored with it. Everything here works on whole columns.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.kernels.segments import segment_hashes
from samehand.kernels.text.wordsets import digest_sets
from samehand.store.tables import CLASSES

MIRROR, IDENTICAL, COPY, FARM, TEMPLATE = "mirror", "identical", "copy", "link farm", "template"
SAME_TEXT, SAME_PATH, SAME_LINKS, INNER_LINKS, MADE_TEXT = 0.5, 0.5, 0.5, 0.25, 0.5
"""From these shares on: most pages are copies, most copies keep their path, most links of copies are the same, a
quarter of the links stays inside, most texts are made."""

SITE_WORDS, SITE_LINKS = 100, 5
"""A page with so many distinct words, or links to so many other hosts, is part of a site; others are placeholders."""

ALIKE = 0.95
"""Pages with too few words for signatures have the same text if their few words are the same, and their styles are so
similar to the medoid's."""

_HOME = r"(?i)^(?:/(?:(?:index|default|home|welcome|start)\.\w{2,5}|(?:index|home)/?)?)?$"
_Rows = NDArray[np.int64]
_Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Members:
    """The pages of clusters as numbers: equal numbers stand for equal things, -1 for nothing."""

    cluster: _Rows
    host: _Rows
    text: _Rows
    path: _Rows
    words: NDArray[np.int32]
    made: NDArray[np.float64]
    """1 if a machine made the text, 0 if not, NaN if nobody judged it."""
    link_page: NDArray[np.int32]
    link_host: _Rows
    """One entry for each link: the place of the page, and the host, which is -1 if no page of a cluster is on it."""
    link_hash: _Hashes


def read_members(
    members: pa.Table,
    pages: Iterable[pa.RecordBatch],
    replicas: pa.Table,
    signatures: Iterable[pa.RecordBatch],
    clusters: pa.Table,
) -> Members:
    """Numbers for everything that classes depend on. A cluster's number is its row in `clusters`.

    `pages` (url, url_host_name), `signatures` (distinct_words, status, word_set, link_hosts) and `members`
    (style_cluster_id, page_id, similarity, made) have the same rows. Of pages and signatures there are hashes in memory
    and a batch.
    """
    hosts, paths = _joined((_of_pages(batch) for batch in pages), np.uint64, np.uint64)
    words, digests, counts, link_hash = _joined(
        (_of_signatures(batch) for batch in signatures), np.int32, np.uint64, np.int32, np.uint64
    )
    known, host = np.unique(hosts, return_inverse=True)
    place = np.minimum(np.searchsorted(known, link_hash), max(len(known) - 1, 0))
    return Members(
        cluster=_places(members.column("style_cluster_id").to_numpy(), clusters.column("style_cluster_id").to_numpy()),
        host=host.astype(np.int64),
        text=_texts(members, replicas, digests),
        path=_numbered(paths),
        words=words,
        made=members.column("made").to_numpy(),
        link_page=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        link_host=np.where(known[place] == link_hash, place, -1) if len(known) else np.zeros(0, np.int64),
        link_hash=link_hash,
    )


def _joined(batches: Iterable[tuple[NDArray[Any], ...]], *kinds: type) -> list[NDArray[Any]]:
    """Arrays of batches, each kind end to end."""
    columns: list[list[NDArray[Any]]] = [[np.zeros(0, kind)] for kind in kinds]
    for batch in batches:
        for column, found in zip(columns, batch, strict=True):
            column.append(found)
    return [np.concatenate(column) for column in columns]


def _of_pages(batch: pa.RecordBatch) -> tuple[_Hashes, _Hashes]:
    """Hashes of the hosts, and of the path and query of each page, which is 0 for home pages."""
    path = pc.replace_substring_regex(batch.column("url"), r"^[^/?#]*//[^/?#]*", "")
    path = pc.replace_substring_regex(path, r"#.*$", "")
    path = pc.if_else(pc.match_substring_regex(path, _HOME), None, path)
    hashes = segment_hashes(*text_buffers(pc.fill_null(path, "")))
    hashes[path.is_null().to_numpy(zero_copy_only=False)] = 0
    return hash_hosts(*text_buffers(pc.fill_null(batch.column("url_host_name"), ""))), hashes


def _of_signatures(batch: pa.RecordBatch) -> tuple[NDArray[np.int32], _Hashes, NDArray[np.int32], _Hashes]:
    """Numbers of words; digests of the words of pages that have few, 0 for others; numbers of links, and links."""
    sets, links = batch.column("word_set"), batch.column("link_hosts")
    starts = sets.offsets.to_numpy()
    digests = digest_sets(starts - starts[0], sets.flatten().to_numpy().astype(np.uint64))
    is_few = pc.equal(batch.column("status"), "few words").to_numpy(zero_copy_only=False)
    words = batch.column("distinct_words").to_numpy().astype(np.int32)
    return words, np.where(is_few, digests, np.uint64(0)), np.diff(links.offsets).astype(np.int32), links.flatten()


def _texts(members: pa.Table, replicas: pa.Table, digests: _Hashes) -> _Rows:
    """The text of each page: its group of near replicas, or its few words if it has too few for that."""
    place = _places(members.column("page_id").to_numpy(), replicas.column("page_id").to_numpy())
    names = np.append(replicas.column("replica_group_id").to_numpy(), -1)
    group = _numbered((names[place] + 1).astype(np.uint64))  # -1, the last, stands for none
    is_few = (digests != 0) & (members.column("similarity").to_numpy() >= ALIKE)
    return np.where(is_few, len(group) + _numbered(digests), group)


def _places(values: _Rows, known: _Rows) -> _Rows:
    """The place of each value among the known ones, which differ; -1 for none."""
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, values, sorter=order), max(len(known) - 1, 0))
    if not len(known):
        return np.full(len(values), -1, np.int64)
    return np.where(known[order[place]] == values, order[place], -1)


def _numbered(hashes: _Hashes) -> _Rows:
    """A number for each different hash, -1 for 0."""
    known, number = np.unique(hashes, return_inverse=True)
    return number.astype(np.int64) - int(len(known) > 0 and known[0] == 0)


def classify(clusters: pa.Table, members: Members) -> pa.Table:
    """The class of each style cluster, with the figures behind it."""
    count = len(clusters)
    pages = np.maximum(np.bincount(members.cluster, minlength=count), 1)
    has_text = members.text >= 0
    copied = has_text & (_different(members.host, members.cluster, members.text) > 1)
    in_place = (
        copied & (members.path >= 0) & (_different(members.host, members.cluster, members.text, members.path) > 1)
    )
    copies = np.bincount(members.cluster[copied], minlength=count)
    inner, outer, shared, inner_hosts = _links(members, copied, count)
    is_site = ((members.words >= SITE_WORDS) | (outer >= SITE_LINKS)) & copied
    judged = ~np.isnan(members.made)
    made = _shares(members.cluster, np.nan_to_num(members.made), np.bincount(members.cluster[judged], minlength=count))
    figures = {
        "same_text": copies / pages,
        "same_path": _shares(members.cluster, in_place, copies),
        "same_links": _shares(members.cluster, shared * copied, copies),
        "inner_links": _shares(members.cluster, inner, pages),
        "made_text": made,
    }
    figures = {name: np.round(values, 4) for name, values in figures.items()}
    sites = _shares(members.cluster, is_site, copies)
    homes = _shares(members.cluster, is_site & (members.path < 0), copies)
    columns = {
        "style_cluster_id": clusters.column("style_cluster_id"),
        "class": _classes(figures, sites, homes, inner_hosts),
        **figures,
    }
    return pa.table(columns).select(CLASSES.fixed_schema.names).cast(CLASSES.fixed_schema)


def _classes(
    figures: dict[str, NDArray[np.float64]],
    sites: NDArray[np.float64],
    homes: NDArray[np.float64],
    inner_hosts: _Rows,
) -> NDArray[np.str_]:
    """The first rule that holds decides. `sites` and `homes` are the shares of copies that are pages and home pages of
    sites. The names of one site may all link to its main name; farms link crosswise."""
    is_copied = figures["same_text"] >= SAME_TEXT
    is_site = sites >= SAME_TEXT
    same_links = figures["same_links"] >= SAME_LINKS
    is_farm = (figures["inner_links"] >= INNER_LINKS) | (figures["made_text"] >= MADE_TEXT)
    rules = [
        is_copied & (figures["same_path"] >= SAME_PATH),
        is_copied & (homes >= SAME_TEXT) & same_links & (inner_hosts <= 1),
        is_farm,
        is_copied & ~is_site,
        is_copied,
    ]
    return np.select(rules, [MIRROR, MIRROR, FARM, IDENTICAL, COPY], TEMPLATE)


def _different(values: _Rows, *keys: _Rows) -> _Rows:
    """For each row, how many different values the rows with the same keys have."""
    key = keys[0]
    for other in keys[1:]:
        key = np.unique(_paired(key, other), return_inverse=True)[1]
    width = int(values.max(initial=-1)) + 2
    of_key = np.unique(_paired(key, values)) // width
    return np.bincount(of_key, minlength=int(key.max(initial=-1)) + 1)[key]


def _paired(left: _Rows, right: _Rows) -> _Rows:
    """Both numbers as one. There are fewer than 2 ** 31 of each, so one number has room for them; `right` may be -1."""
    return left * (int(right.max(initial=-1)) + 2) + right + 1


def _shares(cluster: _Rows, values: NDArray[np.generic], whole: _Rows) -> NDArray[np.float64]:
    """The sum of values over each cluster, divided by `whole`; 0 where that is 0."""
    sums = np.bincount(cluster, weights=values.astype(np.float64), minlength=len(whole))
    return np.asarray(sums / np.maximum(whole, 1))


def _links(
    members: Members, copied: NDArray[np.bool_], count: int
) -> tuple[NDArray[np.float64], _Rows, NDArray[np.float64], _Rows]:
    """For each page: the share of linked hosts that are other hosts of its cluster; how many hosts it links to that are
    none of the cluster's; the share of those that a copy of the page on another host links to as well. For each
    cluster: how many of its hosts are linked to by others of its hosts.

    A copy without such links has the same links as any other without.
    """
    rows = len(members.cluster)
    page = members.link_page
    is_own = members.link_host == members.host[page]
    page, host, target = page[~is_own], members.link_host[~is_own], members.link_hash[~is_own]
    width = int(members.host.max(initial=-1)) + 1
    is_inside = np.isin(members.cluster[page] * width + host, members.cluster * width + members.host) & (host >= 0)
    total = np.bincount(page, minlength=rows)
    inner = np.bincount(page[is_inside], minlength=rows) / np.maximum(total, 1)
    linked = np.unique(members.cluster[page[is_inside]] * width + host[is_inside])
    inner_hosts = np.bincount(linked // max(width, 1), minlength=count)
    page, target = page[~is_inside], target[~is_inside]
    outer = np.bincount(page, minlength=rows)
    kept = copied[page]
    page, target = page[kept], target[kept]
    on_hosts = _different(members.host[page], members.cluster[page], members.text[page], _numbered(target))
    shared = np.bincount(page[on_hosts > 1], minlength=rows)
    return inner, outer, np.where(outer > 0, shared / np.maximum(outer, 1), 1.0), inner_hosts
