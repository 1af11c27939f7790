"""From the home pages of a run to verdicts on its sites: clusters, sites, providers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import is_among
from samehand.base.settings import Settings
from samehand.methods.sites.clusters import Rules
from samehand.methods.sites.farms import find_farms
from samehand.methods.sites.features import FEATURE_SCHEMA, Features
from samehand.methods.sites.homes import domains_of, site_homes
from samehand.methods.sites.nameservers.stored import stored_servers
from samehand.methods.sites.providers import judge
from samehand.methods.sites.tags import TagSequences
from samehand.methods.sites.verdicts import ACCUSING, KINDS, NO_PROVIDER, VERDICT_ORDER, Verdicts
from samehand.store.folder import RunFolder
from samehand.store.tables import PROVIDERS, SITE_CLUSTERS, SITE_PAGES, SITES, STYLE_MEMBERS

_STORED_COLUMNS = ("tag_count", "tags", "markup_flags", *FEATURE_SCHEMA.names)


def judge_sites(folder: RunFolder, settings: Settings, *, threads: int) -> dict[str, Any]:
    """Writes verdicts on sites, clusters and providers; returns their counts."""
    servers, homes = stored_servers(folder), site_homes(folder)
    lists = pa.array([list(servers.providers_of(domain)) for domain in domains_of(homes)], pa.list_(pa.string()))
    page_ids = homes.column("page_id").to_numpy()
    stored = _rows_of(folder, page_ids)
    sequences, features = TagSequences.of(stored), Features(stored)
    capped = int(np.count_nonzero(stored.column("markup_flags").to_numpy()))
    del stored
    verdicts = judge(
        homes.append_column("providers", lists),
        sequences,
        features,
        rules_from(settings),
        nameservers=servers.servers_of_providers(),
        style_clusters=_styles(folder, page_ids, "style_cluster_id"),
        style_families=_styles(folder, page_ids, "style_family_id"),
        farms=find_farms(folder, homes.column("site").to_pylist()),
        threads=threads,
    )
    for table, rows in zip((SITES, SITE_CLUSTERS, PROVIDERS), _sorted(verdicts), strict=True):
        folder.write(table, rows)
    return _counts(verdicts) | {
        "without_servers": pc.sum(pc.equal(pc.list_value_length(lists), 0)).as_py() or 0,
        "cut_pages": sequences.cut,
        "markup_capped": capped,
    }


def rules_from(settings: Settings) -> Rules:
    """The rules that these settings ask for."""
    if settings.site_rule == "paper":
        return Rules.paper(k=settings.clusters_per_provider, max_mean_distance=settings.max_mean_distance)
    return Rules(
        k=settings.clusters_per_provider,
        max_mean_distance=settings.max_mean_distance,
        min_sites=settings.min_sites,
    )


def stored_verdicts(folder: RunFolder) -> Verdicts:
    """The verdicts that are stored in the run."""
    return Verdicts(*(folder.read(table) for table in (SITES, SITE_CLUSTERS, PROVIDERS)))


def _rows_of(folder: RunFolder, page_ids: NDArray[np.int64]) -> pa.Table:
    """The stored rows of these pages, whose ids are sorted. Rows of other pages are not kept in memory."""
    chosen = []
    for batch in folder.iterate(SITE_PAGES, _STORED_COLUMNS):
        wanted = is_among(batch.column("page_id").to_numpy(), page_ids)
        chosen.append(batch.filter(pa.array(wanted)))
    empty = SITE_PAGES.fixed_schema.empty_table().select(list(_STORED_COLUMNS))
    return pa.Table.from_batches(chosen) if chosen else empty


def _styles(folder: RunFolder, page_ids: NDArray[np.int64], column: str) -> NDArray[np.int64] | None:
    """The style cluster or family of each page, -1 for none; None if the run has none."""
    if folder.done.get("style") is None:
        return None
    members = folder.read(STYLE_MEMBERS, ["page_id", column]).sort_by("page_id")
    ids, clusters = (members.column(name).to_numpy() for name in ("page_id", column))
    if not ids.size:
        return np.full(page_ids.size, -1, np.int64)
    places = np.minimum(np.searchsorted(ids, page_ids), ids.size - 1)
    return np.where(ids[places] == page_ids, clusters[places], -1)


ORDER = (*ACCUSING, *(kind for kind in KINDS if kind not in ACCUSING))
"""The order of kinds in tables: those that accuse first."""


def _sorted(verdicts: Verdicts) -> tuple[pa.Table, pa.Table, pa.Table]:
    """By kind, accusing ones first, or by verdict. Within one, sites are sorted by name, the rest by size."""
    return (
        _by_rank(verdicts.sites, "kind", ORDER, [("site", "ascending"), ("provider", "ascending")]),
        _by_rank(
            verdicts.clusters,
            "kind",
            ORDER,
            [("sites", "descending"), ("site_cluster_id", "ascending"), ("provider", "ascending")],
        ),
        _by_rank(verdicts.providers, "verdict", VERDICT_ORDER, [("sites", "descending"), ("provider", "ascending")]),
    )


def _by_rank(table: pa.Table, column: str, order: Sequence[str], then: list[tuple[str, str]]) -> pa.Table:
    rank = pc.index_in(table.column(column), value_set=pa.array(order))
    return table.append_column("rank", rank).sort_by([("rank", "ascending"), *then]).drop_columns(["rank"])


def _counts(verdicts: Verdicts) -> dict[str, Any]:
    """Sites by their worst kind, providers by verdict, and clusters."""
    worst: dict[str, str] = {}
    for site, kind in zip(*(verdicts.sites.column(name).to_pylist() for name in ("site", "kind")), strict=True):
        worst[site] = min(kind, worst.get(site, kind), key=ORDER.index)
    known = verdicts.providers.filter(pc.not_equal(verdicts.providers.column("provider"), NO_PROVIDER))
    sites, providers = Counter(worst.values()), Counter(known.column("verdict").to_pylist())
    return {
        "sites": {kind: sites[kind] for kind in ORDER if sites[kind]},
        "providers": {verdict: providers[verdict] for verdict in VERDICT_ORDER},
        "clusters": verdicts.clusters.num_rows,
    }
