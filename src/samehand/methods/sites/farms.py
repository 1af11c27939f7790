"""Farms: one template on many sites, filled with text that a machine made or that they copy from each other.

The template is a style cluster. It accuses nobody: each site of a farm must show what its text is for, too. That is
text that a machine made (language), text of phrases with alternatives that other sites have (phrases), or text copied
from other sites (replica) under links to each other (classes). A run without these methods has no farms. Sites of one
name belong to one owner, and a site that mostly says something of its own is none of a farm.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end, is_among, text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import (
    CLASSES,
    LANGUAGE_PAGES,
    PAGES,
    PHRASES_GROUPS,
    PHRASES_MEMBERS,
    REPLICA_GROUPS,
    REPLICA_MEMBERS,
    STYLE_MEMBERS,
)

MIN_SITES = 5
"""Sites with one template that a farm has at least."""
MOST = 0.5
"""This share of a site's pages, and of a template's sites, must show it."""
COPIED_SITES = 3
"""Text that so many sites have is copied."""
LINK_FARM, ALTERNATIVES = "link farm", "alternatives"
PREFIX_LETTERS = 5
"""Names that begin alike for so many letters belong to one owner."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Pages:
    """Facts by page: number of its site, its style cluster (-1 for none), and what its text is."""

    site: NDArray[np.int64]
    cluster: NDArray[np.int64]
    made: NDArray[np.bool_]
    copied: NDArray[np.bool_]
    natural: NDArray[np.bool_]


def find_farms(folder: RunFolder, sites: Sequence[str]) -> dict[int, str]:
    """Why a site belongs to a farm, by its place in `sites`."""
    done = folder.done
    if done.get("style") is None or not any(done.get(name) is not None for name in ("language", "phrases", "replica")):
        return {}
    pages = _pages(folder, sites)
    linked = _link_farms(folder)
    known = (pages.site >= 0) & (pages.cluster >= 0)
    if not known.any():
        return {}
    order = np.flatnonzero(known)[np.argsort(pages.cluster[known], kind="stable")]
    clusters, starts = np.unique(pages.cluster[order], return_index=True)
    sizes = np.bincount(pages.site[pages.site >= 0], minlength=len(sites))
    found: dict[int, str] = {}
    for cluster, rows in zip(clusters.tolist(), np.split(order, starts[1:]), strict=True):
        found |= _farm_of(rows, pages, sizes, sites, is_linked=cluster in linked)
    return found


def _farm_of(
    rows: NDArray[np.int64], pages: _Pages, sizes: NDArray[np.int64], sites: Sequence[str], *, is_linked: bool
) -> dict[int, str]:
    """The sites of a template that are a farm, and why; none if too few of them show it."""
    if rows.size < MIN_SITES:
        return {}
    numbers, place, inside = np.unique(pages.site[rows], return_inverse=True, return_counts=True)
    filled = inside >= MOST * sizes[numbers]
    made, copied, natural = (
        np.bincount(place, flags[rows], minlength=numbers.size) for flags in (pages.made, pages.copied, pages.natural)
    )
    has_own = natural > MOST * inside
    is_made = filled & (made >= MOST * inside)
    is_copied = filled & (copied >= MOST * inside) & ~has_own & is_linked
    shown = is_made | is_copied
    names = Counter(sites[number][:PREFIX_LETTERS] for number in numbers[shown].tolist())
    alike = max(names.values(), default=0)
    if shown.sum() < MIN_SITES or shown.sum() < MOST * filled.sum() or alike >= MOST * shown.sum():
        return {}
    what = f"{int(shown.sum())} sites with one template"
    return {
        int(number): f"{what}: {'text that a machine made' if by_machine else 'copied text, and links to each other'}"
        for number, by_machine in zip(numbers[shown], is_made[shown], strict=True)
    }


def _pages(folder: RunFolder, sites: Sequence[str]) -> _Pages:
    """Goes through the tables of a run once."""
    count = len(folder.page_ids)
    made, natural = _texts(folder, count)
    if folder.done.get("phrases") is not None:
        made |= _in_groups(folder, PHRASES_MEMBERS, "text_group_id", _spun(folder))
    copied = np.zeros(count, np.bool_)
    if folder.done.get("replica") is not None:
        groups = folder.read(REPLICA_GROUPS, ["replica_group_id", "sites"])
        wide = groups.column("replica_group_id").to_numpy()[groups.column("sites").to_numpy() >= COPIED_SITES]
        copied = _in_groups(folder, REPLICA_MEMBERS, "replica_group_id", wide)
    members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id"]).drop_null()
    cluster = np.full(count, -1, np.int64)
    ids, clusters = (members.column(name).to_numpy() for name in ("page_id", "style_cluster_id"))
    cluster[folder.page_ids.rows(ids)] = clusters
    return _Pages(_site_numbers(folder, sites, count), cluster, made, copied, natural)


def _site_numbers(folder: RunFolder, sites: Sequence[str], count: int) -> NDArray[np.int64]:
    """The place of each page's site in `sites`; -1 for none."""
    hashes, first = np.zeros(count, np.uint64), 0
    for batch in folder.iterate(PAGES, ["url_host_name", "url_host_private_domain"]):
        names = pc.coalesce(batch.column("url_host_private_domain"), batch.column("url_host_name"))
        hashes[first : first + len(batch)] = hash_hosts(*text_buffers(names))
        first += len(batch)
    wanted = hash_hosts(*end_to_end([name.encode() for name in sites]))
    order = np.argsort(wanted)
    if not order.size:
        return np.full(count, -1, np.int64)
    places = np.minimum(np.searchsorted(wanted[order], hashes), order.size - 1)
    return np.where(wanted[order][places] == hashes, order[places], -1)


def _texts(folder: RunFolder, count: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Pages whose text a machine made, and pages whose text reads naturally."""
    made, natural, first = np.zeros(count, np.bool_), np.zeros(count, np.bool_), 0
    if folder.done.get("language") is not None:
        for batch in folder.iterate(LANGUAGE_PAGES, ["verdict"]):
            for found, verdict in ((made, "fake"), (natural, "natural")):
                is_so = pc.equal(batch.column("verdict"), verdict).to_numpy(zero_copy_only=False)
                found[first : first + len(batch)] = is_so
            first += len(batch)
    return made, natural


def _spun(folder: RunFolder) -> NDArray[np.int64]:
    """Text groups of many sites whose phrases go on in several ways."""
    groups = folder.read(PHRASES_GROUPS, ["text_group_id", "group_kind", "sites"])
    wide = pc.and_(
        pc.equal(groups.column("group_kind"), ALTERNATIVES), pc.greater_equal(groups.column("sites"), COPIED_SITES)
    )
    found: NDArray[np.int64] = groups.filter(wide).column("text_group_id").to_numpy()
    return found


def _in_groups(folder: RunFolder, table: Table, column: str, groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each page is in one of these groups."""
    members = folder.read(table, ["page_id", column])
    ids, of = (members.column(name).to_numpy() for name in ("page_id", column))
    inside = np.zeros(len(folder.page_ids), np.bool_)
    inside[folder.page_ids.rows(ids[is_among(of, np.sort(groups))])] = True
    return inside


def _link_farms(folder: RunFolder) -> set[int]:
    """Style clusters whose pages link to each other's hosts."""
    if folder.done.get("classes") is None:
        return set()
    found = folder.read(CLASSES, ["style_cluster_id", "class"])
    farms = found.filter(pc.equal(found.column("class"), LINK_FARM)).column("style_cluster_id").to_pylist()
    return set(farms)
