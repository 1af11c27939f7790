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

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
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


@dataclass(frozen=True, slots=True)
class Members:
    """The pages of clusters as numbers: equal numbers stand for equal things, -1 for nothing."""

    cluster: _Rows
    host: _Rows
    text: _Rows
    path: _Rows
    words: _Rows
    made: NDArray[np.float64]
    """1 if a machine made the text, 0 if not, NaN if nobody judged it."""
    link_page: _Rows
    link_host: _Rows
    """One entry for each link: the place of the page, and the host, which is -1 if no page of a cluster is on it."""
    link_hash: NDArray[np.uint64]


def numbered(values: pa.ChunkedArray | pa.Array | NDArray[np.generic]) -> _Rows:
    """A number for each different value, -1 for null."""
    array = pa.array(values) if isinstance(values, np.ndarray) else values
    whole = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    indices = whole.dictionary_encode().indices
    return np.asarray(pc.fill_null(indices, -1).to_numpy(zero_copy_only=False), np.int64)


def read_members(
    members: pa.Table, pages: pa.Table, replicas: pa.Table, signatures: pa.Table, clusters: pa.Table
) -> Members:
    """Numbers for everything that classes depend on. A cluster's number is its row in `clusters`.

    `pages` (url, url_host_name), `signatures` (distinct_words, status, word_set, link_hosts) and `members`
    (style_cluster_id, page_id, similarity, made) have the same rows.
    """
    ids = clusters.column("style_cluster_id").combine_chunks()
    names = pc.fill_null(pages.column("url_host_name"), "").combine_chunks()
    hashes = hash_hosts(*text_buffers(names))
    known, host = np.unique(hashes, return_inverse=True)
    lists = signatures.column("link_hosts").combine_chunks()
    link_hash = lists.flatten().to_numpy()
    link_page = np.repeat(np.arange(len(lists)), np.diff(lists.offsets.to_numpy()))
    place = np.minimum(np.searchsorted(known, link_hash), max(len(known) - 1, 0))
    link_host = np.where(known[place] == link_hash, place, -1) if len(known) else np.zeros(0, np.int64)
    return Members(
        cluster=pc.index_in(members.column("style_cluster_id"), ids).to_numpy().astype(np.int64),
        host=host.astype(np.int64),
        text=_texts(members, replicas, signatures),
        path=_paths(pages.column("url")),
        words=signatures.column("distinct_words").to_numpy(),
        made=members.column("made").to_numpy(),
        link_page=link_page,
        link_host=link_host,
        link_hash=link_hash,
    )


def _texts(members: pa.Table, replicas: pa.Table, signatures: pa.Table) -> _Rows:
    """The text of each page: its group of near replicas, or its few words if it has too few for that."""
    place = pc.index_in(members.column("page_id"), replicas.column("page_id").combine_chunks())
    group = numbered(replicas.column("replica_group_id").take(place))
    sets = signatures.column("word_set").combine_chunks()
    starts = sets.offsets.to_numpy()
    digests = digest_sets(starts - starts[0], sets.flatten().to_numpy().astype(np.uint64))
    is_few = pc.equal(signatures.column("status"), "few words").to_numpy(zero_copy_only=False)
    is_few = is_few & (members.column("similarity").to_numpy() >= ALIKE)
    return np.where(is_few, len(group) + numbered(digests), group)


def _paths(urls: pa.ChunkedArray) -> _Rows:
    """The path and query of each page; -1 for home pages."""
    path = pc.replace_substring_regex(urls, r"^[^/?#]*//[^/?#]*", "")
    path = pc.replace_substring_regex(path, r"#.*$", "")
    return numbered(pc.if_else(pc.match_substring_regex(path, _HOME), None, path))


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
        _, key = np.unique(np.stack([key, other]), axis=1, return_inverse=True)
    both = np.unique(np.stack([key, values]), axis=1)
    return np.bincount(both[0], minlength=int(key.max(initial=-1)) + 1)[key]


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
    inside = np.unique(np.stack([members.cluster, members.host]), axis=1)
    is_inside = _among(np.stack([members.cluster[page], host]), inside) & (host >= 0)
    total = np.bincount(page, minlength=rows)
    inner = np.bincount(page[is_inside], minlength=rows) / np.maximum(total, 1)
    linked = np.unique(np.stack([members.cluster[page[is_inside]], host[is_inside]]), axis=1)
    inner_hosts = np.bincount(linked[0], minlength=count)
    page, target = page[~is_inside], target[~is_inside]
    outer = np.bincount(page, minlength=rows)
    kept = copied[page]
    page, target = page[kept], target[kept]
    _, number = np.unique(target, return_inverse=True)
    on_hosts = _different(members.host[page], members.cluster[page], members.text[page], number.astype(np.int64))
    shared = np.bincount(page[on_hosts > 1], minlength=rows)
    return inner, outer, np.where(outer > 0, shared / np.maximum(outer, 1), 1.0), inner_hosts


def _among(columns: _Rows, known: _Rows) -> NDArray[np.bool_]:
    """Whether each column is one of the known ones."""
    _, number = np.unique(np.concatenate([known, columns], axis=1), axis=1, return_inverse=True)
    return np.isin(number[known.shape[1] :], number[: known.shape[1]])
