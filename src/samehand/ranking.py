"""From a forest to the answers of a run: members, clusters and families, each cluster with its figures and rank.

The rank is the paper's (section 4.2, table 1): mean similarity to the centre x number of domains.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.grouping import Edges, Groups, Sketches, cut, find_centres, in_groups, split_chains, supported
from samehand.run import RunFolder
from samehand.settings import Settings

EDGES, MEMBERS, CLUSTERS = "style/edges.parquet", "style/members.parquet", "style/clusters.parquet"
_PAGE_COLUMNS = ["page_id", "url", "url_host_name", "url_host_private_domain"]


def group_style(folder: RunFolder, sketches: Sketches, forest: Edges, settings: Settings) -> dict[str, int]:
    """Writes edges, members and clusters; returns their counts."""
    pages = folder.read_parts("pages", _PAGE_COLUMNS)
    page_ids = pages.column("page_id").to_numpy()
    folder.write_table(EDGES, edges_to_table(forest, page_ids))
    families = family_labels(sketches, forest, settings.loose, settings)
    labels = cluster_labels(sketches, forest, settings.tight, settings)
    clusters = find_grouped(sketches, labels)
    folder.write_table(MEMBERS, _members_table(pages, clusters, labels, families))
    table = summarise(pages, clusters, labels, families=families, forest=forest)
    folder.write_table(CLUSTERS, table)
    return {
        "clusters": table.num_rows,
        "clustered_pages": int(clusters.members.size),
        "families": int(np.count_nonzero(np.unique(families, return_counts=True)[1] > 1)),
    }


def family_labels(sketches: Sketches, forest: Edges, threshold: float, settings: Settings) -> NDArray[np.int64]:
    """Families at `threshold`: components of the forest, without low links that nothing else speaks for."""
    rows = len(sketches.values)
    tight = cut(forest, rows, settings.tight)
    firm = supported(sketches, forest, tight, firm=settings.firm, support=settings.support)
    return cut(firm, rows, threshold)


def cluster_labels(sketches: Sketches, forest: Edges, threshold: float, settings: Settings) -> NDArray[np.int64]:
    """Clusters at `threshold`: components of the forest, without what is only chained to them."""
    labels = cut(forest, len(sketches.values), threshold)
    return split_chains(sketches, forest, labels, threshold=threshold, least=settings.cohesion * threshold)


def find_grouped(sketches: Sketches, labels: NDArray[np.int64]) -> Groups:
    """The groups of two rows and more."""
    rows = in_groups(labels)
    return find_centres(sketches, rows, labels[rows])


def edges_to_table(forest: Edges, page_ids: NDArray[np.int64]) -> pa.Table:
    """The forest in terms of page ids, strongest first."""
    return pa.table(
        {
            "left_page_id": page_ids[forest.pairs[:, 0]],
            "right_page_id": page_ids[forest.pairs[:, 1]],
            "similarity": forest.similarities,
        }
    )


def edges_from_table(table: pa.Table, page_ids: NDArray[np.int64]) -> Edges:
    """The stored forest in terms of rows again."""
    sides = [np.searchsorted(page_ids, table.column(name).to_numpy()) for name in ("left_page_id", "right_page_id")]
    return Edges(np.stack(sides, axis=1).astype(np.int64), table.column("similarity").to_numpy())


def _members_table(
    pages: pa.Table, clusters: Groups, labels: NDArray[np.int64], families: NDArray[np.int64]
) -> pa.Table:
    """Every page that is in a family, once. A page alone in its cluster is its own centre."""
    page_ids = pages.column("page_id").to_numpy()
    similarities = np.ones(len(page_ids), np.float32)
    similarities[clusters.members] = clusters.similarities
    rows = in_groups(families)
    return pa.table(
        {
            "url": pages.column("url").take(pa.array(rows)),
            "page_id": page_ids[rows],
            "cluster_id": page_ids[labels[rows]],
            "family_id": page_ids[families[rows]],
            "similarity": similarities[rows],
        }
    )


def summarise(
    pages: pa.Table, groups: Groups, labels: NDArray[np.int64], *, families: NDArray[np.int64], forest: Edges
) -> pa.Table:
    """One row per group, highest score first; equal scores by cluster_id."""
    page_ids = pages.column("page_id").to_numpy()
    sizes = groups.sizes()
    means = np.round(groups.sums(groups.similarities.astype(np.float64)) / sizes, 6)
    hosts = _distinct(pages.column("url_host_name"), groups)
    domains = _distinct(pc.coalesce(pages.column("url_host_private_domain"), pages.column("url_host_name")), groups)
    columns: dict[str, Any] = {
        "cluster_id": page_ids[groups.labels],
        "family_id": page_ids[families[groups.labels]],
        "pages": sizes,
        "hosts": hosts,
        "domains": domains,
        "mean_similarity": means,
        "weakest_link": _weakest_links(groups, labels, forest),
        "score": np.round(means * domains, 6),
        "centre_page_id": page_ids[groups.centres],
        "centre_url": pages.column("url").take(pa.array(groups.centres)),
    }
    return pa.table(columns).sort_by([("score", "descending"), ("cluster_id", "ascending")])


def _distinct(values: pa.ChunkedArray, groups: Groups) -> NDArray[np.int64]:
    """How many different values the members of each group have; unknown ones count as one."""
    codes = pc.fill_null(values, "").take(pa.array(groups.members)).combine_chunks().dictionary_encode()
    indices = codes.indices.to_numpy() if not isinstance(codes, pa.ChunkedArray) else codes.chunk(0).indices.to_numpy()
    numbers = np.repeat(np.arange(groups.labels.size), groups.sizes())
    pairs = np.unique(numbers * (int(indices.max(initial=0)) + 1) + indices)
    return np.bincount(pairs // (int(indices.max(initial=0)) + 1), minlength=groups.labels.size)


def _weakest_links(groups: Groups, labels: NDArray[np.int64], forest: Edges) -> NDArray[np.float32]:
    """The least similarity among the forest's links within each group: where it would part first."""
    inside = labels[forest.pairs[:, 0]] == labels[forest.pairs[:, 1]]
    numbers = np.searchsorted(groups.labels, labels[forest.pairs[inside, 0]])
    weakest = np.ones(groups.labels.size, np.float32)
    np.minimum.at(weakest, numbers, forest.similarities[inside])
    return weakest
