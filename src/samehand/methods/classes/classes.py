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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import distinct, is_among
from samehand.methods.classes.members import Members
from samehand.store.tables import CLASSES

MIRROR, IDENTICAL, COPY, FARM, TEMPLATE = "mirror", "identical", "copy", "link farm", "template"
SAME_TEXT, SAME_PATH, SAME_LINKS, INNER_LINKS, MADE_TEXT = 0.5, 0.5, 0.5, 0.25, 0.5
"""From these shares on: most pages are copies, most copies keep their path, most links of copies are the same, a
quarter of the links stays inside, most texts are made."""

SITE_WORDS, SITE_LINKS = 100, 5
"""A page with so many distinct words, or links to so many other hosts, is part of a site; others are placeholders."""

_AT_ONCE = 1 << 15
"""Members that are counted at a time, those of one cluster always together."""
_Rows = NDArray[np.int64]


def classify(cluster_ids: NDArray[np.int64], members: Members) -> pa.Table:
    """The class of each style cluster, with the figures behind it. A cluster's number is its place in `cluster_ids`.

    No figure of a cluster depends on other clusters, so some clusters are counted at a time.
    """
    order = np.argsort(members.cluster, kind="stable").astype(np.int32)
    starts = np.append(0, np.cumsum(np.bincount(members.cluster, minlength=cluster_ids.size)))
    tables, first = [CLASSES.fixed_schema.empty_table()], 0
    while first < cluster_ids.size:
        stop = max(first + 1, int(np.searchsorted(starts, starts[first] + _AT_ONCE, side="right")) - 1)
        tables.append(_judge(cluster_ids[first:stop], members.chosen(order[starts[first] : starts[stop]]), first))
        first = stop
    return pa.concat_tables(tables)


def _judge(cluster_ids: NDArray[np.int64], members: Members, first: int) -> pa.Table:
    """The rows of some clusters, whose numbers begin with `first`, from all of their members."""
    count, cluster = cluster_ids.size, members.cluster.astype(np.int64) - first
    pages = np.maximum(np.bincount(cluster, minlength=count), 1)
    is_home = members.path == 0
    copied = (members.text != 0) & (_different(members.host, cluster, members.text) > 1)
    in_place = copied & ~is_home & (_different(members.host, cluster, members.text, members.path) > 1)
    copies = np.bincount(cluster[copied], minlength=count)
    inner, outer, shared, inner_hosts = _links(members, cluster, copied, count)
    is_site = ((members.words >= SITE_WORDS) | (outer >= SITE_LINKS)) & copied
    judged = np.bincount(cluster[members.made >= 0], minlength=count)
    figures = {
        "same_text": copies / pages,
        "same_path": _shares(cluster, in_place, copies),
        "same_links": _shares(cluster, shared * copied, copies),
        "inner_links": _shares(cluster, inner, pages),
        "made_text": _shares(cluster, members.made > 0, judged),
    }
    figures = {name: np.round(values, 4) for name, values in figures.items()}
    sites = _shares(cluster, is_site, copies)
    homes = _shares(cluster, is_site & is_home, copies)
    columns = {"style_cluster_id": cluster_ids, "class": _classes(figures, sites, homes, inner_hosts), **figures}
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


def _different(values: NDArray[np.uint64], *keys: NDArray[np.integer]) -> _Rows:
    """For each row, how many different values the rows with the same keys have."""
    order = np.lexsort((values, *keys))
    is_new = np.ones(order.size, np.bool_)
    is_new[1:] = np.logical_or.reduce([key[order[1:]] != key[order[:-1]] for key in keys])
    starts, is_other = np.flatnonzero(is_new), is_new.copy()
    is_other[1:] |= values[order[1:]] != values[order[:-1]]
    found = np.empty(order.size, np.int64)
    if order.size:
        found[order] = np.repeat(np.add.reduceat(is_other, starts, dtype=np.int64), np.diff(starts, append=order.size))
    return found


def _shares(cluster: _Rows, values: NDArray[np.generic], whole: _Rows) -> NDArray[np.float64]:
    """The sum of values over each cluster, divided by `whole`; 0 where that is 0."""
    sums = np.bincount(cluster, weights=values.astype(np.float64), minlength=len(whole))
    return np.asarray(sums / np.maximum(whole, 1))


def _links(
    members: Members, cluster: _Rows, copied: NDArray[np.bool_], count: int
) -> tuple[NDArray[np.float64], _Rows, NDArray[np.float64], _Rows]:
    """For each page: the share of linked hosts that are other hosts of its cluster; how many hosts it links to that are
    none of the cluster's; the share of those that a copy of the page on another host links to as well. For each
    cluster: how many of its hosts are linked to by others of its hosts.

    A copy without such links has the same links as any other without.
    """
    rows = cluster.size
    page = np.repeat(np.arange(rows, dtype=np.int32), np.diff(members.link_starts))
    is_other = members.links != members.host[page]
    page, target = page[is_other], members.links[is_other]
    known, host = np.unique(members.host, return_inverse=True)
    place, width = np.minimum(np.searchsorted(known, target), known.size - 1), max(known.size, 1)
    pair = cluster[page] * width + place
    is_inside = (known[place] == target) & is_among(pair, distinct(cluster * width + host))
    inner = np.bincount(page[is_inside], minlength=rows) / np.maximum(np.bincount(page, minlength=rows), 1)
    inner_hosts = np.bincount(distinct(pair[is_inside]) // width, minlength=count)
    page, target = page[~is_inside], target[~is_inside]
    outer = np.bincount(page, minlength=rows)
    kept = copied[page]
    page, target = page[kept], target[kept]
    on_hosts = _different(members.host[page], cluster[page], members.text[page], target)
    shared = np.bincount(page[on_hosts > 1], minlength=rows)
    return inner, outer, np.where(outer > 0, shared / np.maximum(outer, 1), 1.0), inner_hosts
