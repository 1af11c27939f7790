"""From a forest to the answers of a run: members, clusters and families, each cluster with its figures and rank.

The rank is the paper's (section 4.2, table 1): mean similarity to the medoid × number of sites. URLs are never all in
memory: pages are gone through a batch at a time, and hosts and sites are counted by their hashes.
"""

import dataclasses
import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import distinct, text_buffers
from samehand.base.settings import Settings
from samehand.grouping.comparable import Comparable
from samehand.grouping.cuts import split_chains, supported, without_bridges
from samehand.grouping.edges import Edges, cut, in_groups
from samehand.grouping.medoids import Groups, find_medoids, regrouped
from samehand.kernels.html.links import hash_hosts
from samehand.kernels.segments import distinct_values
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, STYLE_CLUSTERS, STYLE_EDGES, STYLE_MEMBERS

_Found = TypeVar("_Found")
_STRETCH = 1 << 20
_AHEAD = 3
"""Parts of pages that are read before they are needed."""


@dataclasses.dataclass(frozen=True, slots=True)
class Grouped:
    """Pages in families and clusters. Rows stand in page_id order; labels are the smallest row of a group."""

    page_ids: NDArray[np.int64]
    forest: Edges
    families: NDArray[np.int32]
    labels: NDArray[np.int32]
    clusters: Groups


def group_rows(things: Comparable, page_ids: NDArray[np.int64], forest: Edges, settings: Settings) -> Grouped:
    """Both cuts of a forest, and the centres of its clusters."""
    rows = len(page_ids)
    with ThreadPoolExecutor(1) as pool:
        families = pool.submit(family_labels, things, rows, forest, settings.family_threshold, settings)
        labels, before = _split(things, rows, forest, settings.cluster_threshold, settings)
        return Grouped(page_ids, forest, families.result(), labels, regrouped(things, labels, before))


def family_labels(
    things: Comparable, rows: int, forest: Edges, threshold: float, settings: Settings
) -> NDArray[np.int32]:
    """Families at `threshold`: components of the forest, without low links that nothing else speaks for."""
    tight = cut(forest, rows, settings.cluster_threshold)
    return cut(firm_links(things, forest, tight, settings), rows, threshold)


def firm_links(things: Comparable, forest: Edges, tight: NDArray[np.int32], settings: Settings) -> Edges:
    """The links that families are made of: those with support, without bridges. `tight` are components of pages.

    The preset "paper" knows neither.
    """
    if settings.estimator == "paper":
        return forest
    firm = supported(things, forest, tight, weak_below=settings.weak_link_below, min_support=settings.weak_link_support)
    return without_bridges(things, firm, tight)


def cluster_labels(
    things: Comparable, rows: int, forest: Edges, threshold: float, settings: Settings
) -> NDArray[np.int32]:
    """Clusters at `threshold`: components of the forest, without what is only chained to them."""
    return _split(things, rows, forest, threshold, settings)[0]


def _split(
    things: Comparable, rows: int, forest: Edges, threshold: float, settings: Settings
) -> tuple[NDArray[np.int32], Groups]:
    labels = cut(forest, rows, threshold)
    return split_chains(things, forest, labels, threshold=threshold, least=settings.min_centre_ratio * threshold)


def find_grouped(things: Comparable, labels: NDArray[np.int32]) -> Groups:
    """The groups of two rows and more."""
    things.release()
    rows = in_groups(labels)
    return find_medoids(things, rows, labels[rows])


def write_grouped(folder: RunFolder, grouped: Grouped, settings: Settings) -> dict[str, int]:
    """Writes edges, members and clusters; returns their counts. Edges are written while pages are read."""
    in_families = np.zeros(len(grouped.page_ids), np.bool_)
    in_families[in_groups(grouped.families)] = True
    with ThreadPoolExecutor(1) as pool:
        edges = pool.submit(_write_edges, folder, grouped, settings)
        clusters = summarise(PageFacts.of(folder, grouped.clusters.medoids), grouped)
        _write_members(folder, grouped, in_families, clusters, settings)
        edges.result()
    folder.write(STYLE_CLUSTERS, clusters)
    return {
        "clusters": clusters.num_rows,
        "clustered_pages": int(grouped.clusters.members.size),
        "families": int(distinct(grouped.families[in_families]).size),
    }


def _write_edges(folder: RunFolder, grouped: Grouped, settings: Settings) -> None:
    """The forest in terms of page ids, strongest first."""
    forest = grouped.forest
    with folder.writer(STYLE_EDGES, settings) as writer:
        for start in range(0, len(forest), _STRETCH):
            pairs = grouped.page_ids[forest.pairs[start : start + _STRETCH]]
            columns = [pairs[:, 0].copy(), pairs[:, 1].copy(), forest.similarities[start : start + _STRETCH]]
            writer.write(pa.table(columns, schema=writer.schema))


def read_forest(folder: RunFolder) -> Edges:
    """The stored forest in terms of rows."""
    table = folder.read(STYLE_EDGES)
    left, right = (_rows(folder, table.column(name)) for name in ("left_page_id", "right_page_id"))
    return Edges.of(left, right, table.column("similarity").to_numpy())


def _rows(folder: RunFolder, ids: pa.ChunkedArray) -> NDArray[np.int32]:
    return folder.page_ids.rows(ids.to_numpy()).astype(np.int32)


def _write_members(
    folder: RunFolder, grouped: Grouped, in_families: NDArray[np.bool_], clusters: pa.Table, settings: Settings
) -> None:
    """Every page that is in a family, once. A page alone in its cluster is its own centre."""
    similarities = np.ones(len(grouped.page_ids), np.float32)
    similarities[grouped.clusters.members] = grouped.clusters.similarities
    numbers = np.zeros(len(grouped.page_ids), np.int32)
    numbers[folder.page_ids.rows(cluster_numbers(clusters).to_numpy())] = np.arange(1, len(clusters) + 1)

    def members_in(first: int, batch: pa.RecordBatch) -> pa.Table:
        rows = first + np.flatnonzero(in_families[first : first + len(batch)])
        places, labels = pa.array(rows - first), grouped.labels[rows]
        columns = {
            "url": batch.column("url").take(places),
            "doc_id": batch.column("doc_id").take(places),
            "page_id": grouped.page_ids[rows],
            "cluster_number": pa.array(numbers[labels].astype(np.int64), mask=numbers[labels] == 0),
            "style_cluster_id": grouped.page_ids[labels],
            "style_family_id": grouped.page_ids[grouped.families[rows]],
            "similarity": similarities[rows],
        }
        return pa.table(columns)

    with folder.writer(STYLE_MEMBERS, settings) as writer:
        for tables in _by_part(folder, ["url", "doc_id"], members_in):
            for table in tables:
                writer.write(table)


def cluster_numbers(clusters: pa.Table) -> pa.Array:
    """The ids of clusters by their numbers: the first is that of cluster 1."""
    return clusters.column("style_cluster_id").combine_chunks()


def numbers_of(ids: pa.Array, numbered: pa.Array) -> pa.Array:
    """The number of each id, null for one that has none. `numbered` are ids in order of their numbers, from 1."""
    return pc.add(pc.index_in(ids, value_set=numbered).cast(pa.int64()), 1)


def _by_part(
    folder: RunFolder, columns: list[str], work: Callable[[int, pa.RecordBatch], _Found]
) -> Iterator[list[_Found]]:
    """What work finds in batches of pages, given the row each begins at: part by part in order, a few parts ahead."""

    def in_part(number: int, first: int) -> list[_Found]:
        found = []
        for batch in folder.iterate_part(PAGES, number, columns):
            found.append(work(first, batch))
            first += len(batch)
        return found

    numbers, starts = folder.part_numbers(PAGES), folder.page_ids.starts.tolist()
    coming: deque[Future[list[_Found]]] = deque()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, first in zip(numbers, starts[:-1], strict=True):
            coming.append(pool.submit(in_part, number, first))
            if len(coming) > _AHEAD:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()


def host_hashes(pages: pa.RecordBatch) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hashes of the hosts and of the sites of pages."""
    host = pc.fill_null(pages.column("url_host_name"), "")
    site = pc.fill_null(pages.column("url_host_private_domain"), host)
    return hash_hosts(*text_buffers(host)), hash_hosts(*text_buffers(site))


@dataclasses.dataclass(frozen=True, slots=True)
class PageFacts:
    """What figures of clusters need of pages: hashes of hosts and sites of all, and the addresses of the medoids."""

    hosts: NDArray[np.uint64]
    sites: NDArray[np.uint64]
    centre_urls: pa.Array

    @classmethod
    def of(cls, folder: RunFolder, medoids: NDArray[np.int32]) -> "PageFacts":
        """Goes through the pages of a run once."""
        rows = len(folder.page_ids)
        hosts, sites = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
        order = np.argsort(medoids, kind="stable")
        asked = medoids[order]

        def enter(first: int, batch: pa.RecordBatch) -> pa.Array:
            hosts[first : first + len(batch)], sites[first : first + len(batch)] = host_hashes(batch)
            here = asked[slice(*np.searchsorted(asked, [first, first + len(batch)]))]
            return batch.column("url").take(pa.array(here - first))

        parts = _by_part(folder, ["url", "url_host_name", "url_host_private_domain"], enter)
        urls = [pa.array([], pa.string()), *itertools.chain.from_iterable(parts)]
        places = np.empty_like(order)
        places[order] = np.arange(order.size)
        return cls(hosts, sites, pa.concat_arrays(urls).take(pa.array(places)))


def summarise(pages: PageFacts, grouped: Grouped) -> pa.Table:
    """One row per cluster, highest score first; equal scores by id."""
    groups, page_ids = grouped.clusters, grouped.page_ids
    with ThreadPoolExecutor() as pool:
        counted = pool.map(lambda of: distinct_values(of, groups.members, groups.starts), (pages.hosts, pages.sites))
        figures = cluster_figures(groups, grouped.labels, grouped.forest)
        hosts, sites = counted
    columns: dict[str, Any] = {
        "style_cluster_id": page_ids[groups.labels],
        "style_family_id": page_ids[grouped.families[groups.labels]],
        "pages": figures["pages"],
        "hosts": hosts,
        "sites": sites,
        "mean_similarity": figures["mean_similarity"],
        "weakest_link": figures["weakest_link"],
        "score": scores(figures["mean_similarity"], sites),
        "centre_page_id": page_ids[groups.medoids],
        "centre_url": pages.centre_urls,
    }
    ranked = pa.table(columns).sort_by([("score", "descending"), ("style_cluster_id", "ascending")])
    return ranked.add_column(0, "cluster_number", pa.array(np.arange(1, ranked.num_rows + 1)))


def cluster_figures(groups: Groups, labels: NDArray[np.int32], forest: Edges) -> dict[str, NDArray[Any]]:
    """Size, mean similarity to the medoid and weakest link of each cluster.

    The weakest link is the least similarity among the forest's links within the cluster: where it would part first.
    """
    inside = labels[forest.pairs[:, 0]] == labels[forest.pairs[:, 1]]
    numbers = np.searchsorted(groups.labels, labels[forest.pairs[inside, 0]])
    weakest = np.ones(groups.labels.size, np.float32)
    np.minimum.at(weakest, numbers, forest.similarities[inside])
    means = np.round(groups.sums(groups.similarities.astype(np.float64)) / groups.sizes(), 6)
    return {"pages": groups.sizes(), "mean_similarity": means, "weakest_link": weakest}


def scores(mean_similarities: NDArray[np.float64], sites: NDArray[np.int64]) -> NDArray[np.float64]:
    """What clusters are ranked by."""
    return np.round(mean_similarities * sites, 6)
