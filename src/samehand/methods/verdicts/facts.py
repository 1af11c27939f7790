"""What the methods found, by page: one array per fact, in page_id order. A method that the run lacks says nothing.

About 25 bytes a page are in memory. URLs and texts are never all in memory: they are read a batch at a time.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import (
    CLASSES,
    LANGUAGE_PAGES,
    PAGES,
    REPLICA_MEMBERS,
    STYLE_CLUSTERS,
    STYLE_MEMBERS,
)

NONE = -1
"""No site, cluster or group."""


@dataclasses.dataclass(frozen=True, slots=True)
class PageFacts:
    """Facts by page. `site` numbers the sites in order of their first pages; `first_rows` are those pages."""

    site: NDArray[np.int32]
    first_rows: NDArray[np.int64]
    is_fake: NDArray[np.bool_]
    is_natural: NDArray[np.bool_]
    cluster: NDArray[np.int32]
    """Row of the style cluster in STYLE_CLUSTERS."""
    survivor: NDArray[np.int64]
    """Row of the first page of the replica group; NONE for a page that is in no group."""
    replica_sites: NDArray[np.int32]
    """Sites of the replica group of the page; 0 for none."""

    @property
    def sites(self) -> int:
        """How many sites there are."""
        return self.first_rows.size

    def per_site(self, pages: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many pages of the mask each site has."""
        return np.bincount(self.site[pages & (self.site != NONE)], minlength=self.sites)


def page_facts(folder: RunFolder) -> PageFacts:
    """Goes through the tables of a run once."""
    site, first_rows = _sites(folder)
    is_fake, is_natural = _texts(folder)
    survivor, replica_sites = _replicas(folder, site)
    return PageFacts(site, first_rows, is_fake, is_natural, _clusters(folder), survivor, replica_sites)


def numbered(folder: RunFolder, table: Table, columns: Sequence[str]) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """Batches of a table with a row per page, and the rows that each stands for."""
    first = 0
    for batch in folder.iterate(table, columns):
        yield slice(first, first + len(batch)), batch
        first += len(batch)


def site_hashes(pages: pa.RecordBatch) -> NDArray[np.uint64]:
    """A hash of the site of each page; 0 for a page without one."""
    sites = pc.coalesce(pages.column("url_host_private_domain"), pages.column("url_host_name"))
    return hash_hosts(*text_buffers(pc.fill_null(sites, "")))


def _sites(folder: RunFolder) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    hashes = np.zeros(len(folder.page_ids), np.uint64)
    for rows, batch in numbered(folder, PAGES, ["url_host_name", "url_host_private_domain"]):
        hashes[rows] = site_hashes(batch)
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size)
    site = rank[place]
    has_none = hashes == 0
    if not has_none.any():
        return site, first[order]
    # Pages without a host are of no site: the numbers behind theirs move up.
    none = site[np.argmax(has_none)]
    site = np.where(has_none, NONE, site - (site > none)).astype(np.int32)
    return site, np.delete(first[order], none)


def _texts(folder: RunFolder) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    fake, natural = (np.zeros(len(folder.page_ids), np.bool_) for _ in range(2))
    if folder.done.get("language") is not None:
        for rows, batch in numbered(folder, LANGUAGE_PAGES, ["verdict"]):
            for found, verdict in ((fake, "fake"), (natural, "natural")):
                found[rows] = pc.equal(batch.column("verdict"), verdict).to_numpy(zero_copy_only=False)
    return fake, natural


def _clusters(folder: RunFolder) -> NDArray[np.int32]:
    found = np.full(len(folder.page_ids), NONE, np.int32)
    if folder.done.get("style") is not None:
        members = folder.read(STYLE_MEMBERS, ["page_id", "cluster_number"])
        members = members.filter(pc.is_valid(members.column("cluster_number")))
        found[folder.page_ids.rows(members.column("page_id").to_numpy())] = members.column("cluster_number").to_numpy()
        found[found != NONE] -= 1
    return found


def _replicas(folder: RunFolder, site: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The survivor of each page's group is its first page: it stays the same when the run grows."""
    survivor = np.full(site.size, NONE, np.int64)
    sites = np.zeros(site.size, np.int32)
    if folder.done.get("replica") is not None:
        members = folder.read(REPLICA_MEMBERS, ["page_id", "replica_group_id"])
        rows = folder.page_ids.rows(members.column("page_id").to_numpy())
        survivor[rows] = folder.page_ids.rows(members.column("replica_group_id").to_numpy())
        pairs = np.unique(np.stack([survivor[rows], site[rows]], axis=1), axis=0)
        groups, counts = np.unique(pairs[:, 0], return_counts=True)
        if groups.size:
            sites[rows] = counts[np.searchsorted(groups, survivor[rows])]
    return survivor, sites


def cluster_classes(folder: RunFolder) -> list[str]:
    """The class of each style cluster, in the order of STYLE_CLUSTERS; empty texts if the run has no classes."""
    if folder.done.get("style") is None:
        return []
    ids = folder.read(STYLE_CLUSTERS, ["style_cluster_id"]).column("style_cluster_id").to_pylist()
    if folder.done.get("classes") is None:
        return [""] * len(ids)
    table = folder.read(CLASSES, ["style_cluster_id", "class"])
    known = dict(zip(table.column("style_cluster_id").to_pylist(), table.column("class").to_pylist(), strict=True))
    return [known.get(cluster, "") for cluster in ids]
