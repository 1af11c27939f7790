"""From the home pages of a run to verdicts on its sites: clusters, sites, providers."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.methods.sites.clusters import Rules
from samehand.methods.sites.features import FEATURE_SCHEMA, Features
from samehand.methods.sites.homes import domains_of, site_homes
from samehand.methods.sites.nameservers.stored import stored_servers
from samehand.methods.sites.providers import judge
from samehand.methods.sites.tags import TagSequences
from samehand.methods.sites.verdicts import NO_PROVIDER, OK, PARKED, UNKNOWN, VERDICT_ORDER, Verdicts
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


def rules_from(settings: Settings) -> Rules:
    """The rules that these settings ask for."""
    return Rules(
        k=settings.clusters_per_provider,
        max_mean_distance=settings.max_mean_distance,
        min_sites=settings.min_sites,
    )


def stored_verdicts(folder: RunFolder) -> Verdicts:
    """The verdicts that are stored in the run."""
<<<<<<< HEAD
    return Verdicts(*(folder.read(table) for table in (SITES, SITE_CLUSTERS, PROVIDERS)))
=======
    if folder.marker(_MARKER) is None:
        raise RunError(f"The sites of {folder.path} are not judged yet. Run: samehand parked {folder.path}")
    return Verdicts(*(folder.read_table(name) for name in (SITES, SITE_CLUSTERS, PROVIDERS)))


class _Homes:
    """The home pages of a run, chosen when first needed."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @functools.cached_property
    def table(self) -> pa.Table:
        """site, page_id, url and url_host_registered_domain, in order of page ids."""
        return home_pages(self.folder.read_parts("pages", _PAGE_COLUMNS))

    @functools.cached_property
    def domains(self) -> list[str]:
        """The registered domain of each site, or the site itself: name servers are delegated there."""
        domains: list[str] = pc.coalesce(
            self.table.column("url_host_registered_domain"), self.table.column("site")
        ).to_pylist()
        return domains


class _Dns(NamedTuple):
    """How DNS is asked."""

    settings: Settings
    retry: bool
    on_progress: OnDnsProgress

    def servers_of(self, domains: list[str], cache: Path) -> NameServers:
        """Name servers of domains. Every outcome goes to the cache."""
        return resolve_nameservers(
            domains, cache=cache, settings=self.settings, retry=self.retry, on_progress=self.on_progress
        )


def _find_servers(homes: _Homes, files: Sequence[str | os.PathLike[str]], dns: _Dns | None) -> NameServers:
    """Name servers of the run's domains, kept in the run so that later looks need no file."""
    folder = homes.folder
    found = read_nameservers(files, wanted=homes.domains) if files else NameServers.from_pairs(())
    if dns is not None:
        cache = folder.path / DNS_CACHE
        with writing(folder.path):
            cache.parent.mkdir(exist_ok=True)
        missing = [domain for domain in homes.domains if not found.servers_of(domain)]
        found = _with_resolved(found, dns.servers_of(missing, cache))
    folder.write_table(NAMESERVERS, found.pairs)
    return found


def _with_resolved(files: NameServers, asked: NameServers) -> NameServers:
    both = pa.concat_tables([files.pairs, asked.pairs])
    pairs = zip(both.column("domain").to_pylist(), both.column("ns").to_pylist(), strict=True)
    outcomes = Counter(files.outcomes) + Counter(asked.outcomes)
    return dataclasses.replace(
        files,
        pairs=NameServers.from_pairs(pairs).pairs,
        outcomes=dict(outcomes),
        bad=Counter(files.bad) + Counter(asked.bad),
    )


def _stored_servers(folder: RunFolder) -> NameServers:
    if (folder.path / NAMESERVERS).is_file():
        return NameServers(pairs=folder.read_table(NAMESERVERS))
    return NameServers.from_pairs(())


def _source_digest(folder: RunFolder, rules: Rules, servers: NameServers) -> str:
    """Digest of all that the verdicts depend on."""
    parts = [path.stem for path in sorted((folder.path / "done").glob("sites-*.json"))]
    return digest_facts(
        [
            dataclasses.asdict(rules),
            {name: folder.marker(name) for name in parts},
            (folder.marker("style") or {}).get("source"),
            [servers.pairs.column(name).to_pylist() for name in servers.pairs.column_names],
        ]
    )


def _tables_are_there(folder: RunFolder) -> bool:
    return all((folder.path / name).is_file() for name in (SITES, SITE_CLUSTERS, PROVIDERS))


def _judge_anew(homes: _Homes, servers: NameServers, rules: Rules, source: str) -> None:
    """Writes the three tables, then what they were made from."""
    folder = homes.folder
    folder.unmark(_MARKER)
    lists = pa.array([list(servers.providers_of(domain)) for domain in homes.domains], pa.list_(pa.string()))
    sites = homes.table.append_column("providers", lists)
    page_ids = sites.column("page_id").to_numpy()
    stored = _rows_of(folder, page_ids)
    sequences, features = TagSequences.of(stored), Features(stored)
    capped = int(np.count_nonzero(stored.column("markup_flags").to_numpy()))
    del stored
    verdicts = judge(
        sites,
        sequences,
        features,
        rules,
        nameservers=servers.servers_of_providers(),
        style_clusters=_style_clusters(folder, page_ids),
    )
    for name, table in zip((SITES, SITE_CLUSTERS, PROVIDERS), _sorted(verdicts), strict=True):
        folder.write_table(name, table)
    counts = _counts(verdicts, features) | {
        "without_servers": pc.sum(pc.equal(pc.list_value_length(lists), 0)).as_py() or 0,
        "cut_pages": sequences.cut,
        "markup_capped": capped,
    }
    folder.mark_done(_MARKER, {"source": source, "counts": counts})
>>>>>>> sites


def _rows_of(folder: RunFolder, page_ids: NDArray[np.int64]) -> pa.Table:
    """The stored rows of these pages, in order. Rows of other pages are not kept in memory."""
    chosen = []
    for batch in folder.iterate(SITE_PAGES, _STORED_COLUMNS):
        wanted = np.isin(batch.column("page_id").to_numpy(), page_ids)
        chosen.append(batch.filter(pa.array(wanted)))
    empty = SITE_PAGES.fixed_schema.empty_table().select(list(_STORED_COLUMNS))
    return pa.Table.from_batches(chosen) if chosen else empty


def _style_clusters(folder: RunFolder, page_ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The style cluster of each page, -1 for none; None if the run has no style clusters."""
    if folder.done.get("style") is None:
        return None
    members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id"]).sort_by("page_id")
    ids, clusters = (members.column(name).to_numpy() for name in ("page_id", "style_cluster_id"))
    if not ids.size:
        return np.full(page_ids.size, -1, np.int64)
    places = np.minimum(np.searchsorted(ids, page_ids), ids.size - 1)
    return np.where(ids[places] == page_ids, clusters[places], -1)


def _sorted(verdicts: Verdicts) -> tuple[pa.Table, pa.Table, pa.Table]:
    """Parked, then ok, then unknown. Within a verdict sites are sorted by name, the rest by size."""
    return (
        _by_verdict(verdicts.sites, [("site", "ascending"), ("provider", "ascending")]),
        _by_verdict(
            verdicts.clusters, [("sites", "descending"), ("site_cluster_id", "ascending"), ("provider", "ascending")]
        ),
        _by_verdict(verdicts.providers, [("sites", "descending"), ("provider", "ascending")]),
    )


def _by_verdict(table: pa.Table, then: list[tuple[str, str]]) -> pa.Table:
    rank = pc.index_in(table.column("verdict"), value_set=pa.array(VERDICT_ORDER))
    return table.append_column("rank", rank).sort_by([("rank", "ascending"), *then]).drop_columns(["rank"])


def _counts(verdicts: Verdicts, features: Features) -> dict[str, Any]:
    """Sites by their worst verdict, placeholders by kind, providers by verdict, and clusters."""
    worst: dict[str, str] = {}
    for site, verdict in zip(*(verdicts.sites.column(name).to_pylist() for name in ("site", "verdict")), strict=True):
        worst[site] = min(verdict, worst.get(site, verdict), key=VERDICT_ORDER.index)
    known = verdicts.providers.filter(pc.not_equal(verdicts.providers.column("provider"), NO_PROVIDER))
    sites, providers = Counter(worst.values()), Counter(known.column("verdict").to_pylist())
    return {
        "sites": {verdict: sites[verdict] for verdict in VERDICT_ORDER},
        "placeholders": dict(sorted(Counter(kind for kind in features.placeholder_kinds if kind).items())),
        "providers": {verdict: providers[verdict] for verdict in VERDICT_ORDER},
        "clusters": verdicts.clusters.num_rows,
    }


def providers_line(counts: dict[str, int]) -> str:
    """What is known of providers, in words."""
    if not sum(counts.values()):
        return "no provider is known"
    verdicts = f"{counts[PARKED]:,} parked, {counts[OK]:,} ok, {counts[UNKNOWN]:,} with too few sites"
    return f"{sum(counts.values()):,} providers: {verdicts}"
