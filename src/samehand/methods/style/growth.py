"""What became of the clusters of a run when pages were added to it: new, grown, merged, split.

A cluster is named after its smallest page, and added pages have larger numbers: so a cluster that grows keeps its
name, and one that merges with another has the smaller of both.
"""

from collections import Counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.style.clusters import cluster_numbers, numbers_of
from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_BEFORE, STYLE_CLUSTERS, STYLE_GROWTH, STYLE_MEMBERS

_SCHEMA = pa.schema([field for field in STYLE_GROWTH.fixed_schema if field.name != "cluster_number"])
NEW, GREW, MERGED, SPLIT = "new", "grew", "merged", "split"


def remember_members(folder: RunFolder) -> None:
    """Keeps the clusters as they are, to be compared with what they will be."""
    folder.write(STYLE_BEFORE, folder.read(STYLE_MEMBERS, STYLE_BEFORE.fixed_schema.names))


def write_growth(folder: RunFolder) -> dict[str, int]:
    """Compares the clusters with those remembered; writes the ones that changed and returns how many of each kind."""
    before, after = folder.read(STYLE_BEFORE), folder.read(STYLE_MEMBERS, STYLE_BEFORE.fixed_schema.names)
    columns = [table.column(name).to_numpy() for table in (before, after) for name in ("page_id", "style_cluster_id")]
    table = growth_table(*columns)
    numbers = numbers_of(
        table.column("style_cluster_id").combine_chunks(), cluster_numbers(folder.read(STYLE_CLUSTERS))
    )
    folder.write(STYLE_GROWTH, table.add_column(0, "cluster_number", numbers))
    kinds = Counter(table.column("kind").to_pylist())
    return {kind: kinds[kind] for kind in (NEW, GREW, MERGED, SPLIT)}


def growth_table(
    old_pages: NDArray[np.int64], old_names: NDArray[np.int64], pages: NDArray[np.int64], names: NDArray[np.int64]
) -> pa.Table:
    """The clusters of two pages and more that are not what they were, most grown first."""
    old_pages, old_names = _grouped(old_pages, old_names)
    pages, names = _grouped(pages, names)
    if not names.size:
        return _SCHEMA.empty_table()
    place = np.minimum(np.searchsorted(old_pages, pages), max(old_pages.size - 1, 0))
    was_in = old_pages[place] == pages if old_pages.size else np.zeros(pages.size, np.bool_)
    origins = np.unique(np.stack([names[was_in], old_names[place[was_in]]], axis=1), axis=0)
    parts_of_old = Counter(origins[:, 1].tolist())
    sizes = dict(zip(*(part.tolist() for part in np.unique(names, return_counts=True)), strict=True))
    kept = Counter(names[was_in].tolist())
    old_sizes = Counter(old_names.tolist())
    was: dict[int, list[int]] = {}
    for name, old in origins.tolist():
        was.setdefault(name, []).append(old)
    rows = []
    for name, size in sizes.items():
        olds = was.get(name, [])
        kind = _kind(size, olds, parts_of_old, old_sizes)
        if kind:
            rows.append(
                {"style_cluster_id": name, "kind": kind, "pages": size, "pages_before": kept[name], "was": olds}
            )
    rows.sort(key=lambda row: (row["pages_before"] - row["pages"], row["style_cluster_id"]))
    return pa.Table.from_pylist(rows, _SCHEMA)


def _kind(size: int, olds: list[int], parts_of_old: Counter[int], old_sizes: Counter[int]) -> str:
    if not olds:
        return NEW
    if len(olds) > 1:
        return MERGED
    if parts_of_old[olds[0]] > 1:
        return SPLIT
    return GREW if size > old_sizes[olds[0]] else ""


def _grouped(pages: NDArray[np.int64], names: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Members of clusters of two pages and more, by page."""
    _, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    chosen = counts[inverse] > 1
    return pages[chosen], names[chosen]
