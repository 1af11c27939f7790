"""What the methods found, by page: one array per fact, in page_id order. A method that the run lacks says nothing.

About 30 bytes a page are in memory. URLs and texts are never all in memory: they are read a batch at a time.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import distinct, text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import (
    CLASSES,
    LANGUAGE_PAGES,
    PAGES,
    PHRASES_GROUPS,
    PHRASES_MEMBERS,
    REPLICA_MEMBERS,
    SITE_PAGES,
    STYLE_CLUSTERS,
    STYLE_MEMBERS,
)

NONE = -1
"""No site, cluster or group."""
ALTERNATIVES = "alternatives"
"""The kind of text groups whose phrases go on in several ways: spun text, or that of a grammar."""


@dataclasses.dataclass(frozen=True, slots=True)
class PageFacts:
    """Facts by page. `site` numbers the sites in order of their first pages; `first_rows` are those pages."""

    site: NDArray[np.int32]
    first_rows: NDArray[np.int64]
    kind: NDArray[np.int8]
    """Place of the kind of the page by itself in `kind_names`; 0 for none."""
    kind_names: list[str]
    purpose: NDArray[np.uint8]
    prose: NDArray[np.int32]
    is_fake: NDArray[np.bool_]
    is_natural: NDArray[np.bool_]
    has_phrases: NDArray[np.bool_]
    """Whether the text is made of phrases with alternatives that pages of other sites have too."""
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

    def is_replica(self, rows: slice) -> NDArray[np.bool_]:
        """Whether pages repeat an earlier one."""
        survivor = self.survivor[rows]
        return np.asarray((survivor != NONE) & (survivor != np.arange(rows.start, rows.stop)))


def page_facts(folder: RunFolder) -> PageFacts:
    """Goes through the tables of a run once."""
    site, first_rows = _sites(folder)
    kind, names, purpose, prose = _page_kinds(folder)
    is_fake, is_natural = _texts(folder)
    survivor, replica_sites = _replicas(folder, site)
    return PageFacts(
        site=site,
        first_rows=first_rows,
        kind=kind,
        kind_names=names,
        purpose=purpose,
        prose=prose,
        is_fake=is_fake,
        is_natural=is_natural,
        has_phrases=_phrases(folder),
        cluster=_clusters(folder),
        survivor=survivor,
        replica_sites=replica_sites,
    )


def numbered(folder: RunFolder, table: Table, columns: Sequence[str]) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """Batches of a table with a row per page, and the rows that each stands for."""
    first = 0
    for batch in folder.iterate(table, columns):
        yield slice(first, first + len(batch)), batch
        first += len(batch)


def site_names(pages: pa.RecordBatch) -> pa.Array:
    """The site of each page; null for a page without a host."""
    return pc.coalesce(pages.column("url_host_private_domain"), pages.column("url_host_name"))


def _sites(folder: RunFolder) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    hashes = np.zeros(len(folder.page_ids), np.uint64)
    for rows, batch in numbered(folder, PAGES, ["url_host_name", "url_host_private_domain"]):
        hashes[rows] = hash_hosts(*text_buffers(site_names(batch)))
    found, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    order = np.argsort(np.where(found == 0, hashes.size, first), kind="stable")
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size)
    site = np.where(hashes == 0, NONE, rank[place]).astype(np.int32)
    return site, first[order][found[order] != 0]


def _page_kinds(
    folder: RunFolder,
) -> tuple[NDArray[np.int8], list[str], NDArray[np.uint8], NDArray[np.int32]]:
    """Kind, signs of purpose and words of prose of each page by itself."""
    pages = len(folder.page_ids)
    kind, purpose, prose = np.zeros(pages, np.int8), np.zeros(pages, np.uint8), np.zeros(pages, np.int32)
    names = [""]
    if folder.done.get("sites") is not None:
        for rows, batch in numbered(folder, SITE_PAGES, ["kind", "purpose", "prose"]):
            coded = batch.column("kind").dictionary_encode()
            known = coded.dictionary.to_pylist()
            names += [name for name in known if name not in names]
            places = np.array([names.index(name) for name in known], np.int8)
            kind[rows] = places[coded.indices.to_numpy()]
            purpose[rows], prose[rows] = (batch.column(name).to_numpy() for name in ("purpose", "prose"))
    return kind, names, purpose, prose


def _texts(folder: RunFolder) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    fake, natural = (np.zeros(len(folder.page_ids), np.bool_) for _ in range(2))
    if folder.done.get("language") is not None:
        for rows, batch in numbered(folder, LANGUAGE_PAGES, ["verdict"]):
            for found, verdict in ((fake, "fake"), (natural, "natural")):
                found[rows] = pc.equal(batch.column("verdict"), verdict).to_numpy(zero_copy_only=False)
    return fake, natural


def _phrases(folder: RunFolder) -> NDArray[np.bool_]:
    found = np.zeros(len(folder.page_ids), np.bool_)
    if folder.done.get("phrases") is not None:
        groups = folder.read(PHRASES_GROUPS, ["text_group_id", "group_kind"])
        made = groups.filter(pc.equal(groups.column("group_kind"), ALTERNATIVES)).column("text_group_id")
        members = folder.read(PHRASES_MEMBERS, ["page_id", "text_group_id"])
        inside = members.filter(pc.is_in(members.column("text_group_id"), made.combine_chunks()))
        found[folder.page_ids.rows(inside.column("page_id").to_numpy())] = True
    return found


def _clusters(folder: RunFolder) -> NDArray[np.int32]:
    found = np.zeros(len(folder.page_ids), np.int32)
    if folder.done.get("style") is not None:
        members = folder.read(STYLE_MEMBERS, ["page_id", "cluster_number"])
        members = members.filter(pc.is_valid(members.column("cluster_number")))
        found[folder.page_ids.rows(members.column("page_id").to_numpy())] = members.column("cluster_number").to_numpy()
    return found + np.int32(NONE)


def _replicas(folder: RunFolder, site: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The survivor of each page's group is its first page: it stays the same when the run grows."""
    survivor = np.full(site.size, NONE, np.int64)
    sites = np.zeros(site.size, np.int32)
    if folder.done.get("replica") is not None:
        members = folder.read(REPLICA_MEMBERS, ["page_id", "replica_group_id"])
        rows = folder.page_ids.rows(members.column("page_id").to_numpy())
        survivor[rows] = folder.page_ids.rows(members.column("replica_group_id").to_numpy())
        width = int(site.max(initial=NONE)) + 2  # a page without a site has NONE, which is -1
        pairs = distinct(survivor[rows] * width + site[rows] + 1)
        groups, counts = np.unique(pairs // width, return_counts=True)
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
