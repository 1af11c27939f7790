"""From the home pages of a run to verdicts on its sites: clusters, sites, providers."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.methods.sites.clusters import OK, SPAM, UNKNOWN, Rules
from samehand.methods.sites.features import FEATURE_SCHEMA, Features
from samehand.methods.sites.homes import site_homes
from samehand.methods.sites.nameservers.stored import stored_servers
from samehand.methods.sites.providers import NO_PROVIDER, Verdicts, judge
from samehand.methods.sites.tags import TagSequences
from samehand.store.folder import RunFolder
from samehand.store.tables import PROVIDERS, SITE_CLUSTERS, SITE_PAGES, SITES, STYLE_MEMBERS

VERDICT_ORDER = (SPAM, OK, UNKNOWN)
_STORED_COLUMNS = ("tag_count", "tags", "markup_flags", *FEATURE_SCHEMA.names)


def judge_sites(folder: RunFolder, settings: Settings, *, threads: int) -> dict[str, Any]:
    """Writes verdicts on sites, clusters and providers; returns their counts."""
    servers = stored_servers(folder)
    homes = site_homes(folder)
    lists = pa.array([list(servers.providers_of(name)) for name in homes.column("domain").to_pylist()], _NAMES)
    sites = homes.append_column("providers", lists)
    page_ids = sites.column("page_id").to_numpy()
    stored = _rows_of(folder, page_ids)
    sequences, features = TagSequences.of(stored), Features(stored)
    capped = int(np.count_nonzero(stored.column("markup_flags").to_numpy()))
    del stored
    verdicts = judge(
        sites,
        sequences,
        features,
        rules_from(settings),
        nameservers=servers.servers_of_providers(),
        style_clusters=_style_clusters(folder, page_ids),
        threads=threads,
    )
    for table, rows in zip((SITES, SITE_CLUSTERS, PROVIDERS), _sorted(verdicts), strict=True):
        folder.write(table, rows)
    return _counts(verdicts, features) | {
        "without_servers": pc.sum(pc.equal(pc.list_value_length(lists), 0)).as_py() or 0,
        "cut_pages": sequences.cut,
        "markup_capped": capped,
    }


_NAMES = pa.list_(pa.string())


def rules_from(settings: Settings) -> Rules:
    """How sites are judged by these settings."""
    return Rules(k=settings.clusters_per_provider, delta=settings.max_mean_distance, min_sites=settings.min_sites)


def stored_verdicts(folder: RunFolder) -> Verdicts:
    """The verdicts of a run."""
    return Verdicts(*(folder.read(table) for table in (SITES, SITE_CLUSTERS, PROVIDERS)))


def _rows_of(folder: RunFolder, page_ids: NDArray[np.int64]) -> pa.Table:
    """The stored structure of these pages, which are in order; nothing of other pages is kept in memory."""
    chosen = []
    for batch in folder.iterate(SITE_PAGES, _STORED_COLUMNS):
        wanted = np.isin(batch.column("page_id").to_numpy(), page_ids)
        chosen.append(batch.filter(pa.array(wanted)))
    empty = SITE_PAGES.fixed_schema.empty_table().select(list(_STORED_COLUMNS))
    return pa.Table.from_batches(chosen) if chosen else empty


def _style_clusters(folder: RunFolder, page_ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The style cluster of each page, -1 for none; None when the run has no style clusters."""
    if folder.done.get("style") is None:
        return None
    members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id"]).sort_by("page_id")
    ids, clusters = (members.column(name).to_numpy() for name in ("page_id", "style_cluster_id"))
    if not ids.size:
        return np.full(page_ids.size, -1, np.int64)
    places = np.minimum(np.searchsorted(ids, page_ids), ids.size - 1)
    return np.where(ids[places] == page_ids, clusters[places], -1)


def _sorted(verdicts: Verdicts) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Spam first, then what is ok, then what is unknown; the largest first, sites by name."""
    return (
        _by_verdict(verdicts.sites, [("domain", "ascending"), ("provider", "ascending")]),
        _by_verdict(
            verdicts.clusters, [("sites", "descending"), ("cluster_id", "ascending"), ("provider", "ascending")]
        ),
        _by_verdict(verdicts.providers, [("sites", "descending"), ("provider", "ascending")]),
    )


def _by_verdict(table: pa.Table, then: list[tuple[str, str]]) -> pa.Table:
    rank = pc.index_in(table.column("verdict"), value_set=pa.array(VERDICT_ORDER))
    return table.append_column("rank", rank).sort_by([("rank", "ascending"), *then]).drop_columns(["rank"])


def _counts(verdicts: Verdicts, features: Features) -> dict[str, Any]:
    """Counts of sites by their worst verdict, of plain ones by kind, of providers."""
    said: dict[str, str] = {}
    for domain, verdict in zip(
        *(verdicts.sites.column(name).to_pylist() for name in ("domain", "verdict")), strict=True
    ):
        said[domain] = min(verdict, said.get(domain, verdict), key=VERDICT_ORDER.index)
    known = verdicts.providers.filter(pc.not_equal(verdicts.providers.column("provider"), NO_PROVIDER))
    counts, providers = Counter(said.values()), Counter(known.column("verdict").to_pylist())
    return {
        "sites": {verdict: counts[verdict] for verdict in VERDICT_ORDER},
        "plain": dict(sorted(Counter(kind for kind in features.plain if kind).items())),
        "providers": {verdict: providers[verdict] for verdict in VERDICT_ORDER},
        "clusters": verdicts.clusters.num_rows,
    }


def providers_line(counts: dict[str, int]) -> str:
    """What is known of providers, in words."""
    if not sum(counts.values()):
        return "no provider"
    verdicts = f"{counts[SPAM]:,} {SPAM}, {counts[OK]:,} ok, {counts[UNKNOWN]:,} with too few sites"
    return f"{sum(counts.values()):,} providers: {verdicts}"
