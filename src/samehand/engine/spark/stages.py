"""What the executors do when pages are grouped: the functions of `samehand.grouping` on the rows of a task.

Spark brings together what belongs together (equal pages, a bucket, a component) and puts rows into page_id order. A
task numbers its rows in that order, so ties are decided as they are among all rows at once. Tasks see their rows a
batch at a time and put whole buckets and components together to chunks of CHUNK_ROWS rows and more. Only what is larger
than that alone is in memory alone.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from samehand.base.errors import SamehandError
from samehand.engine.spark.chunks import (
    CHUNK_ROWS,
    group_starts,
    numbered,
    numbered_edges,
    pages_and_edges,
    whole_groups,
)
from samehand.engine.spark.common import Common
from samehand.engine.spark.kinds import KINDS, compared_documents, compared_pairs
from samehand.engine.spark.remote import batch_of
from samehand.grouping.comparable import shuffle_keys
from samehand.grouping.cuts import SUPPORT_SAMPLE
from samehand.grouping.edges import Edges, cut, spanning_forest
from samehand.grouping.forest import COUNTED, check_buckets, join_equal
from samehand.kernels.buckets import nothing_known
from samehand.methods.registry import methods
from samehand.methods.replica.groups import find_stars, group_documents, replica_forest
from samehand.methods.style.clusters import (
    cluster_figures,
    cluster_labels,
    find_grouped,
    firm_links,
    host_hashes,
    scores,
)
from samehand.store.tables import PAGES, REPLICA_SIGNATURES, TABLES

TWINS = "page_id long, twin_of long, similarity float"
CHECKED = "left long, right long, similarity float, counts array<long>"
FOREST = "component long, left long, right long, similarity float, label long, speaks boolean"
CLUSTERS = """page_id long, label long, similarity float, pages long, mean_similarity double, weakest_link float"""
FAMILIES = "page_id long, style_family_id long, in_family boolean"
DOCUMENTS = """page_id long, replica_group_id long, cosine float, jaccard float, linked_page_id long,
    linked_cosine float, lexicon long, found_by string, documents long, weakest_cosine float, mean_cosine float"""
SHARES = "page_id long, with_page_id long, jaccard float, containment float"
ADDRESSES = """page_id long, url string, doc_id string, host string, site string, host_hash long, site_hash long"""
STATUSES = "status string, is_capped boolean"
Batches = Iterator[pa.RecordBatch]
Parts = tuple[tuple[int, int], ...]
"""The numbers of parts, and the row of the first page of each among all pages of the run."""


# A method as a whole, in one task.


def group_whole(common: Common, name: str, batches: Iterable[pa.RecordBatch]) -> Batches:
    """The `group` of a method. Its tables are written whole or not at all, so a second attempt changes nothing."""
    from pyspark import TaskContext

    for _ in batches:
        context = TaskContext.get()
        try:
            folder, settings = common.unpacked()
            threads = context.cpus() if context else 1
            counts = methods()[name].group(folder, settings, threads=threads, on_progress=lambda done, total: None)
            yield batch_of(["done", counts])
        except SamehandError as error:
            yield batch_of(["failed", str(error)])


# Reading, and pages that are equal.


def read_pages(common: Common, name: str, parts: Parts, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Places in `parts` to the pages of these parts: `kinds.PAGES`."""
    folder, settings = common.unpacked()
    for number, first_row in _chosen(parts, batches):
        yield from KINDS[name].read(folder, number, first_row, settings)


def read_addresses(common: Common, parts: Parts, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Places in `parts` to ADDRESSES."""
    folder, _ = common.unpacked()
    columns = ["page_id", "url", "doc_id", "url_host_name", "url_host_private_domain"]
    for number, _ in _chosen(parts, batches):
        for batch in folder.iterate_part(PAGES, number, columns):
            host = batch.column("url_host_name")
            site = pc.coalesce(batch.column("url_host_private_domain"), host)
            hashes = [hashed.view(np.int64) for hashed in host_hashes(batch)]
            yield pa.record_batch([*batch.columns[:3], host, site, *map(pa.array, hashes)], names=_names(ADDRESSES))


def read_statuses(common: Common, parts: Parts, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Places in `parts` to the STATUSES of documents."""
    folder, _ = common.unpacked()
    for number, _ in _chosen(parts, batches):
        for batch in folder.iterate_part(REPLICA_SIGNATURES, number, ["status", "markup_flags"]):
            capped = pc.not_equal(batch.column("markup_flags"), 0)
            yield pa.record_batch([batch.column("status"), capped], names=_names(STATUSES))


def _chosen(parts: Parts, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int]]:
    for batch in batches:
        for place in batch.column(0).to_pylist():
            yield parts[place]


def _names(schema: str) -> list[str]:
    return [column.split()[0] for column in schema.split(",")]


def join_twins(common: Common, name: str, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Pages by identity and page_id to TWINS: the pages that are the same as a smaller one, the smallest of all.

    A twin is not searched for. If even the same pages do not reach the threshold for edges, the similarity is null, and
    there is no edge.
    """
    _, settings = common.unpacked()
    kind = KINDS[name]
    first: pa.RecordBatch | None = None
    for batch in filter(len, batches):
        rows = pa.concat_batches([first, batch]) if first else batch
        identity, page_ids = (rows.column(column).to_numpy() for column in ("identity", "page_id"))
        things = kind.compared(rows, settings)
        joined, is_alone = join_equal(things, identity.view(np.uint64), kind.rule(settings).edge_threshold)
        starts = group_starts(rows, ["identity"])
        smallest = np.repeat(starts, np.diff(np.append(starts, len(rows))))
        similarities = np.full(len(rows), np.nan, np.float32)
        similarities[joined.pairs[:, 1]] = joined.similarities
        twins = np.flatnonzero(~is_alone)
        found = pa.array(similarities[twins], mask=np.isnan(similarities[twins]))
        yield pa.record_batch([page_ids[twins], page_ids[smallest[twins]], found], names=_names(TWINS))
        first = rows.slice(smallest[-1], 1)


# Edges: pages that share a bucket, and their forest.


def check_met(common: Common, name: str, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Pages by probe, bucket and page_id to CHECKED: a forest of edges, and then the counts.

    A bucket is checked whole: 280 bytes for each page of style, the words of each document of replica.
    """
    _, settings = common.unpacked()
    kind = KINDS[name]
    gathered = _Gathered()
    counts = np.zeros(COUNTED, np.int64)
    for rows, starts in whole_groups(batches, ["probe", "bucket"]):
        buckets = np.repeat(np.arange(len(starts), dtype=np.uint64), np.diff(np.append(starts, len(rows))))
        keys = (buckets << np.uint64(32)) | np.arange(len(rows), dtype=np.uint64)
        things = kind.compared(rows, settings)
        edges, found = check_buckets(things, keys, kind.rule(settings), nothing_known(len(rows)))
        page_ids = rows.column("page_id").to_numpy()
        gathered.add(page_ids[edges.pairs[:, 0]], page_ids[edges.pairs[:, 1]], edges.similarities)
        counts += found
    left, right, similarities = gathered.forest()
    nothing = pa.nulls(len(left), pa.list_(pa.int64()))
    yield pa.record_batch({"left": left, "right": right, "similarity": similarities, "counts": nothing})
    last = {"left": [-1], "right": [-1], "similarity": pa.array([0.0], pa.float32()), "counts": [counts.tolist()]}
    yield pa.record_batch(last)


class _Gathered:
    """Edges between page_ids, folded into their forest when there are many more than it has."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []
        self._limit = 1 << 20

    def add(self, left: NDArray[np.int64], right: NDArray[np.int64], similarities: NDArray[np.float32]) -> None:
        self._parts.append((left, right, similarities))
        if sum(len(part[0]) for part in self._parts) > self._limit:
            self._limit = max(1 << 20, 2 * len(self.forest()[0]))

    def forest(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        if not self._parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
        page_ids, edges = numbered(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
        forest = spanning_forest([edges], len(page_ids))
        self._parts = [(page_ids[forest.pairs[:, 0]], page_ids[forest.pairs[:, 1]], forest.similarities)]
        return self._parts[0]


def make_forests(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Edges of whole loose components to FOREST. Memory: some 50 bytes for each edge of a component.

    There is a row for each edge of the forest and one, without a `right`, for each page. Their labels are the tight
    components, null for a page that is alone there and for an edge between two of them.
    """
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"]):
        page_ids, edges = numbered_edges(rows)
        of_page = np.empty(len(page_ids), np.int64)
        of_page[edges.pairs[:, 0]] = of_page[edges.pairs[:, 1]] = rows.column("component").to_numpy()
        forest = spanning_forest([edges], len(page_ids))
        labels = cut(forest, len(page_ids), settings.cluster_threshold)
        left, right = forest.pairs[:, 0], forest.pairs[:, 1]
        inside = pa.array(page_ids[labels[left]], mask=labels[left] != labels[right])
        columns = [of_page[left], page_ids[left], page_ids[right], forest.similarities, inside]
        yield pa.record_batch([*columns, pa.nulls(len(left), pa.bool_())], names=_names(FOREST))
        label = pa.array(page_ids[labels], mask=np.bincount(labels, minlength=len(labels))[labels] == 1)
        none = pa.nulls(len(page_ids), pa.int64()), pa.nulls(len(page_ids), pa.float32())
        judged = (forest.similarities < np.float32(settings.weak_link_below)) | (labels[left] != labels[right])
        speaks = _speaking(page_ids, labels, forest.pairs[judged])
        yield pa.record_batch([of_page, page_ids, *none, label, speaks], names=_names(FOREST))


def _speaking(page_ids: NDArray[np.int64], labels: NDArray[np.int32], judged: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The pages that `firm_links` looks at: the ends of the links it judges, and a sample of the groups at the ends."""
    speaks = np.zeros(len(page_ids), np.bool_)
    speaks[judged] = True
    members = np.flatnonzero(np.isin(labels, labels[judged]))
    draws = shuffle_keys(page_ids[members]) >> np.uint64(32)
    members = members[np.lexsort((draws, labels[members]))]
    names = labels[members]
    speaks[members[np.arange(len(names)) - np.searchsorted(names, names) < SUPPORT_SAMPLE]] = True
    return speaks


# Groups within components. Rows are the pages of a component and the edges between them, which have a `right`.


def find_clusters(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Whole tight components to CLUSTERS: 340 bytes for each page. The row of a medoid has the cluster's figures."""
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"]):
        pages, forest = pages_and_edges(rows)
        page_ids = pages.column("page_id").to_numpy()
        sketches = KINDS["style"].compared(pages, settings)
        labels = cluster_labels(sketches, len(sketches), forest, settings.cluster_threshold, settings)
        groups = find_grouped(sketches, labels)
        similarities = np.ones(len(sketches), np.float32)
        similarities[groups.members] = groups.similarities
        places = pc.index_in(pa.array(np.arange(len(sketches), dtype=np.int32)), pa.array(groups.medoids))
        figures = [pa.array(figure).take(places) for figure in cluster_figures(groups, labels, forest).values()]
        yield pa.record_batch([page_ids, page_ids[labels], similarities, *figures], names=_names(CLUSTERS))


def find_families(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Whole loose components to FAMILIES. Rows are the forest of each, and the pages that speak for its links.

    Memory: some 50 bytes for each page of a component, 340 for those that speak.
    """
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"]):
        edges = rows.filter(rows.column("right").is_valid())
        page_ids, forest = numbered_edges(edges)
        speaking = rows.filter(rows.column("right").is_null())
        is_weak = forest.similarities < np.float32(settings.weak_link_below)
        is_judged = is_weak | _are_between(speaking, edges)
        pages, judged = pages_and_edges(pa.concat_batches([speaking, edges.filter(pa.array(is_judged))]))
        _, labels = np.unique(pages.column("label").to_numpy(), return_inverse=True)
        sketches = KINDS["style"].compared(pages, settings)
        kept = firm_links(sketches, spanning_forest([judged], len(pages)), labels.astype(np.int32), settings)
        places = np.searchsorted(page_ids, pages.column("page_id").to_numpy()).astype(np.int32)
        stood = Edges.of(places[kept.pairs[:, 0]], places[kept.pairs[:, 1]], kept.similarities)
        firm = forest[~is_judged]
        both = Edges(
            np.concatenate([firm.packed, stood.packed]), np.concatenate([firm.similarities, stood.similarities])
        )
        families = cut(both, len(page_ids), settings.family_threshold)
        in_family = np.bincount(families, minlength=len(page_ids))[families] > 1
        yield pa.record_batch([page_ids, page_ids[families], in_family], names=_names(FAMILIES))


def _are_between(pages: pa.RecordBatch, edges: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which edges lead from one group (`label`) to another. The ends of those are among the pages."""
    ends = [pc.index_in(edges.column(name), pages.column("page_id")) for name in ("left", "right")]
    left, right = (pages.column("label").take(places) for places in ends)
    found: NDArray[np.bool_] = pc.fill_null(pc.not_equal(left, right), False).to_numpy(zero_copy_only=False)
    return found


def find_documents(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Whole components to DOCUMENTS: those in groups. The row of a medoid has the group's figures."""
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"]):
        by_cosine = pc.fill_null(rows.column("is_cosine"), True)
        pages, cosines = pages_and_edges(rows.filter(by_cosine))
        _, pairs = pages_and_edges(rows.filter(pc.or_(rows.column("right").is_null(), pc.invert(by_cosine))))
        signatures = pc.fill_null(pages.column("buckets").flatten(), 0).to_numpy().reshape(len(pages), -1)
        keys = np.column_stack([signatures, pc.fill_null(pages.column("identity"), 0).to_numpy()]).view(np.uint64)
        forest = replica_forest(
            spanning_forest([cosines], len(pages)), spanning_forest([pairs], len(pages)), len(pages), settings
        )
        documents = compared_documents(pages, settings)
        members, groups = group_documents(
            pages.column("page_id").to_numpy(), documents, keys.__getitem__, forest, settings
        )
        places = pc.index_in(members.column("page_id"), groups.column("centre_page_id").combine_chunks())
        for name in ("documents", "weakest_cosine", "mean_cosine"):
            members = members.append_column(name, groups.column(name).take(places))
        yield from members.select(_names(DOCUMENTS)).to_batches()


def find_shares(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Whole components of documents that share neighbouring words to SHARES."""
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"]):
        pages, edges = pages_and_edges(rows)
        page_ids = pages.column("page_id").to_numpy()
        sketches = compared_pairs(pages, settings)
        left, right = find_stars(sketches, spanning_forest([edges], len(pages)))
        yield pa.record_batch([page_ids[left], page_ids[right], *sketches.estimates(left, right)], names=_names(SHARES))


# Answers.


def score_clusters(batches: Iterable[pa.RecordBatch]) -> Batches:
    """Clusters with their scores."""
    for batch in batches:
        found = scores(*(batch.column(name).to_numpy() for name in ("mean_similarity", "sites")))
        yield batch.append_column("score", pa.array(found))


def write_table(common: Common, name: str, scratch: str, batches: Iterable[pa.RecordBatch]) -> Batches:
    """One table out of the files below `scratch`, which are in order. The column that they lack is the rank."""
    folder, settings = common.unpacked()
    table = next(table for table in TABLES if table.name == name)
    for _ in batches:
        count = 0
        with folder.writer(table, settings) as writer:
            for path in sorted(Path(scratch).glob("*.parquet"), key=lambda path: (len(path.name), path.name)):
                for batch in pq.ParquetFile(path).iter_batches(CHUNK_ROWS):
                    for column in set(writer.schema.names) - set(batch.schema.names):
                        batch = batch.append_column(column, pa.array(count + 1 + np.arange(len(batch))))
                    writer.write(batch)
                    count += len(batch)
        yield batch_of(["done", {"rows": count}])
