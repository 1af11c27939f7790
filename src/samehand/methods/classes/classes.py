"""What kind of cluster a style cluster is: the four classes of the hidden style similarity paper (section 4.2).

* Mirror: the same text on several hosts, mostly under the same paths. Home pages say nothing about paths.
* Link farm: pages of one template that link to each other's hosts.
* Copy/Paste: the same text on several hosts, elsewhere.
* Template: the rest. The same template with different content is never called a duplicate.

Each class is suggested from three figures, which are stored with it: the share of pages whose text stands on another
host of the cluster too (`same_text`), the share of those that stand there under the same path (`same_path`), and the
mean share of the hosts a page links to that are other hosts of the cluster (`inner_links`).
"""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.buffers import column_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.home_pages import INSIDE, path_kind, split_path

MIRROR, COPY, FARM, TEMPLATE = "Mirror", "Copy/Paste", "Link farm", "Template"
SAME_TEXT, SAME_PATH, INNER_LINKS = 0.5, 0.5, 0.25
"""From these shares on: most pages are copies, most copies keep their path, a quarter of the links stays inside."""

COLUMNS = ("class", "same_text", "same_path", "inner_links")


@dataclass(frozen=True, slots=True)
class _Member:
    host: str
    number: int
    path: str
    replica: int | None
    links: frozenset[int]


def classified(
    clusters: pa.Table, members: pa.Table, *, pages: pa.Table, replicas: pa.Table, links: pa.Table
) -> pa.Table:
    """The table of clusters with class and figures for each."""
    by_cluster = _members_by_cluster(clusters, members, pages, replicas, links)
    figures = [_figures(by_cluster[cluster]) for cluster in clusters.column("cluster_id").to_pylist()]
    kept = clusters.select([name for name in clusters.column_names if name not in COLUMNS])
    columns = {
        "class": pa.array([_class_of(*figure) for figure in figures], pa.string()),
        "same_text": pa.array([figure[0] for figure in figures], pa.float64()),
        "same_path": pa.array([figure[1] for figure in figures], pa.float64()),
        "inner_links": pa.array([figure[2] for figure in figures], pa.float64()),
    }
    for name, column in columns.items():
        kept = kept.append_column(name, column)
    return kept


def _members_by_cluster(
    clusters: pa.Table, members: pa.Table, pages: pa.Table, replicas: pa.Table, links: pa.Table
) -> dict[int, list[_Member]]:
    wanted = members.filter(pc.is_in(members.column("cluster_id"), clusters.column("cluster_id").combine_chunks()))
    rows = np.searchsorted(pages.column("page_id").to_numpy(), wanted.column("page_id").to_numpy())
    chosen = pages.take(pa.array(rows))
    hosts = pc.fill_null(chosen.column("url_host_name"), "").to_pylist()
    numbers = hash_hosts(*column_buffers(pa.array([host.encode() for host in hosts], pa.large_binary())))
    groups = dict(zip(replicas.column("page_id").to_pylist(), replicas.column("group_id").to_pylist(), strict=True))
    found: dict[int, list[_Member]] = defaultdict(list)
    for cluster, page_id, url, host, number, targets in zip(
        wanted.column("cluster_id").to_pylist(),
        wanted.column("page_id").to_pylist(),
        chosen.column("url").to_pylist(),
        hosts,
        numbers.tolist(),
        links.column("link_hosts").take(pa.array(rows)).to_pylist(),
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
