"""What kind of cluster a style cluster is: the four classes of the hidden style similarity paper (section 4.2).

* mirror: the same text on several hosts, mostly under the same paths. Home pages say nothing about paths.
* link farm: pages of one template that link to each other's hosts.
* copy: the same text on several hosts, under other paths (the paper's Copy/Paste).
* template: the rest. The same template with different content is never called a duplicate.

Each class is suggested from three figures, which are stored with it: the share of pages whose text stands on another
host of the cluster too (`same_text`), the share of those that stand there under the same path (`same_path`), and the
mean share of the hosts a page links to that are other hosts of the cluster (`inner_links`).
"""

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.home_pages import INSIDE, path_kind, split_path
from samehand.store.tables import CLASSES

MIRROR, COPY, FARM, TEMPLATE = "mirror", "copy", "link farm", "template"
SAME_TEXT, SAME_PATH, INNER_LINKS = 0.5, 0.5, 0.25
"""From these shares on: most pages are copies, most copies keep their path, a quarter of the links stays inside."""

FIGURES = ("same_text", "same_path", "inner_links")


@dataclass(frozen=True, slots=True)
class _Member:
    host: str
    number: int
    path: str
    replica: int | None
    links: frozenset[int]


def classify(
    clusters: pa.Table, members: pa.Table, *, pages: pa.Table, replicas: pa.Table, links: pa.Table
) -> pa.Table:
    """The class of each style cluster, with the figures behind it.

    `pages` (url, url_host_name) and `links` (link_hosts) have a row for each row of `members`.
    """
    by_cluster = _members_by_cluster(members, pages, replicas, links)
    ids = clusters.column("style_cluster_id").to_pylist()
    figures = [_figures(by_cluster[cluster]) for cluster in ids]
    rows = [
        {"style_cluster_id": cluster, "class": _class_of(*figure), **dict(zip(FIGURES, figure, strict=True))}
        for cluster, figure in zip(ids, figures, strict=True)
    ]
    return pa.Table.from_pylist(rows, CLASSES.fixed_schema)


def _members_by_cluster(
    members: pa.Table, pages: pa.Table, replicas: pa.Table, links: pa.Table
) -> dict[int, list[_Member]]:
    hosts = pc.fill_null(pages.column("url_host_name"), "")
    numbers = hash_hosts(*text_buffers(hosts.combine_chunks()))
    groups = dict(
        zip(replicas.column("page_id").to_pylist(), replicas.column("replica_group_id").to_pylist(), strict=True)
    )
    found: dict[int, list[_Member]] = defaultdict(list)
    for cluster, page_id, url, host, number, targets in zip(
        members.column("style_cluster_id").to_pylist(),
        members.column("page_id").to_pylist(),
        pages.column("url").to_pylist(),
        hosts.to_pylist(),
        numbers.tolist(),
        links.column("link_hosts").to_pylist(),
        strict=True,
    ):
        found[cluster].append(_Member(host, number, _inner_path(url), groups.get(page_id), frozenset(targets)))
    return found


def _inner_path(url: str) -> str:
    """Path and query; "" for a home page."""
    path, query = split_path(url)
    return f"{path}?{query}" if query or path_kind(path) == INSIDE else ""


def _figures(members: list[_Member]) -> tuple[float, float, float]:
    """same_text, same_path, inner_links."""
    hosts_of_text: dict[int, set[str]] = defaultdict(set)
    hosts_of_path: dict[tuple[int, str], set[str]] = defaultdict(set)
    for member in members:
        if member.replica is not None:
            hosts_of_text[member.replica].add(member.host)
            hosts_of_path[member.replica, member.path].add(member.host)
    copied = [m for m in members if m.replica is not None and len(hosts_of_text[m.replica]) > 1]
    in_place = [m for m in copied if m.path and m.replica is not None and len(hosts_of_path[m.replica, m.path]) > 1]
    inside = {member.number for member in members}
    shares = [
        len((member.links & inside) - {member.number}) / len(member.links - {member.number})
        for member in members
        if member.links - {member.number}
    ]
    return (
        round(len(copied) / len(members), 4),
        round(len(in_place) / len(copied), 4) if copied else 0.0,
        round(sum(shares) / len(members), 4),
    )


def _class_of(same_text: float, same_path: float, inner_links: float) -> str:
    if same_text >= SAME_TEXT and same_path >= SAME_PATH:
        return MIRROR
    if inner_links >= INNER_LINKS:
        return FARM
    return COPY if same_text >= SAME_TEXT else TEMPLATE
