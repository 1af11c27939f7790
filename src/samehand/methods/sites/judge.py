"""From the pages of a run to verdicts on its sites: home pages, name servers, clusters, providers."""

import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.errors import RunError, UsageError
from samehand.base.settings import Settings
from samehand.engine.local import LocalEngine
from samehand.engine.pipeline import Engine, add_signal
from samehand.engine.tasks import Progress, Tell
from samehand.methods.home_pages import home_pages
from samehand.methods.sites.clusters import Rules
from samehand.methods.sites.features import FEATURE_SCHEMA, Features
from samehand.methods.sites.nameservers import NameServers, read_nameservers
from samehand.methods.sites.nameservers.dns import OnDnsProgress, ResolveProgress, resolve_nameservers
from samehand.methods.sites.providers import judge
from samehand.methods.sites.signal import PAGE_STRUCTURES
from samehand.methods.sites.tags import TagSequences
from samehand.methods.sites.verdicts import NO_PROVIDER, VERDICT_ORDER, Verdicts
from samehand.methods.style.clusters import MEMBERS
from samehand.store.folder import RunFolder, digest_facts, writing

SITES, PROVIDERS, SITE_CLUSTERS = (
    "providers/sites.parquet",
    "providers/providers.parquet",
    "structure/clusters.parquet",
)
NAMESERVERS, DNS_CACHE = "providers/nameservers.parquet", "providers/dns.jsonl"
_MARKER = "providers"
_PAGE_COLUMNS = [
    "page_id",
    "url",
    "url_host_name",
    "url_host_registered_domain",
    "url_host_private_domain",
    "fetch_status",
]
_STORED_COLUMNS = ("tag_count", "tags", "markup_flags", *FEATURE_SCHEMA.names)


@dataclasses.dataclass(frozen=True, slots=True)
class Parked:
    """Verdicts on the sites, clusters and providers of a run, counts of them, and the name servers that were read.

    `servers` is None if no name servers were read now: those of the last time, or none, were used.
    """

    verdicts: Verdicts
    counts: dict[str, Any]
    servers: NameServers | None


def judge_run(
    path: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    nameservers: Sequence[str | os.PathLike[str]] = (),
    resolve: bool = False,
    retry: bool = False,
    engine: Engine | None = None,
    progress: Tell | None = None,
    dns_progress: OnDnsProgress | None = None,
) -> Parked:
    """Judges the sites of the run at `path`; the tables stand in its folders providers and structure.

    Name servers come from files, from DNS if `resolve`, for domains the files do not know; without either they are
    those used last time. DNS is asked for a domain once, or again if it failed and `retry`. Only what changed is
    done again. `settings` are the run's unless others are given.
    """
    folder = RunFolder.open(path)
    settings = settings or folder.settings()
    if settings.profile == "mail":
        raise UsageError(f"{path} holds mail, and sites are web pages: give the run of a crawl.")
    add_signal(folder, "sites", settings=settings, engine=engine or LocalEngine(), tell=progress or _say_nothing)
    with folder.locked():
        homes = _Homes(folder)
        read = None
        if nameservers or resolve or retry:
            ask = _Dns(settings, retry, dns_progress or _say_nothing) if resolve or retry else None
            read = _find_servers(homes, nameservers, ask)
        servers = read or _stored_servers(folder)
        rules = rules_from(settings)
        source = _source_digest(folder, rules, servers)
        done = folder.marker(_MARKER)
        if done is None or done["source"] != source or not _tables_are_there(folder):
            _judge_anew(homes, servers, rules, source)
    return Parked(stored_verdicts(folder), (folder.marker(_MARKER) or {})["counts"], read)


def _say_nothing(_: Progress | ResolveProgress) -> None:
    return


def rules_from(settings: Settings) -> Rules:
    """The rules that these settings ask for."""
    return Rules(
        k=settings.clusters_per_provider,
        max_mean_distance=settings.max_mean_distance,
        min_sites=settings.min_sites,
    )


def stored_verdicts(folder: RunFolder) -> Verdicts:
    """The verdicts that are stored in the run."""
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


def _rows_of(folder: RunFolder, page_ids: NDArray[np.int64]) -> pa.Table:
    """The stored rows of these pages, in order. Rows of other pages are not kept in memory."""
    chosen = []
    for batch in folder.iterate_parts(PAGE_STRUCTURES, _STORED_COLUMNS):
        wanted = np.isin(batch.column("page_id").to_numpy(), page_ids)
        chosen.append(batch.filter(pa.array(wanted)))
    return pa.Table.from_batches(chosen)


def _style_clusters(folder: RunFolder, page_ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The style cluster of each page, -1 for none; None if the run has no style clusters."""
    if not (folder.path / MEMBERS).is_file():
        return None
    members = folder.read_table(MEMBERS, ["page_id", "cluster_id"]).sort_by("page_id")
    ids, clusters = (members.column(name).to_numpy() for name in ("page_id", "cluster_id"))
    places = np.minimum(np.searchsorted(ids, page_ids), max(0, ids.size - 1))
    if not ids.size:
        return np.full(page_ids.size, -1, np.int64)
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
