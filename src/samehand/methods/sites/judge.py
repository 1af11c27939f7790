"""From a run's pages to verdicts on its sites: home pages, name servers, clusters, providers; and labels by hand."""

import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Callable, Sequence
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
from samehand.exports.blocklists import JudgedProvider, JudgedSite
from samehand.methods.sites.clusters import OK, SPAM, UNKNOWN, Rules
from samehand.methods.sites.features import FEATURE_SCHEMA, Features
from samehand.methods.sites.home import home_pages
from samehand.methods.sites.labelling import NO_GROUP, Labelling
from samehand.methods.sites.nameservers import NameServers, read_nameservers
from samehand.methods.sites.nameservers.dns import FINAL, OUTCOMES, ResolveProgress, ResolveRule, resolve_nameservers
from samehand.methods.sites.providers import NO_PROVIDER, Verdicts, judge
from samehand.methods.sites.signal import PAGE_STRUCTURES
from samehand.methods.sites.tags import TagSequences
from samehand.methods.style.clusters import MEMBERS
from samehand.store.folder import RunFolder, digest_facts, writing

SITES, PROVIDERS, SITE_CLUSTERS = (
    "providers/sites.parquet",
    "providers/providers.parquet",
    "structure/clusters.parquet",
)
NAMESERVERS, DNS_CACHE = "providers/nameservers.parquet", "providers/dns.jsonl"
ANSWERS, LABELS = "providers/labels.csv", "providers/labels.parquet"
VERDICT_ORDER = (SPAM, OK, UNKNOWN)
_MARKER = "providers"
_PAGE_COLUMNS = ["page_id", "url", "url_host_name", "url_host_registered_domain", "fetch_status"]
_STORED_COLUMNS = ("tag_count", "tags", "markup_flags", *FEATURE_SCHEMA.names)

TellDns = Callable[[ResolveProgress], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Parked:
    """Verdicts on a run's sites, clusters and providers, the counts behind them, and what was read of name servers.

    `servers` is None when those of an earlier look, or none at all, were used.
    """

    verdicts: Verdicts
    facts: dict[str, Any]
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
    dns_progress: TellDns | None = None,
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
    return Parked(stored_verdicts(folder), (folder.marker(_MARKER) or {})["facts"], read)


def _say_nothing(_: Progress | ResolveProgress) -> None:
    return


def rules_from(settings: Settings) -> Rules:
    """How sites are judged by these settings."""
    return Rules(k=settings.clusters_per_provider, delta=settings.max_mean_distance, min_sites=settings.min_sites)


def stored_verdicts(folder: RunFolder) -> Verdicts:
    """The verdicts of an earlier look at the run."""
    if folder.marker(_MARKER) is None:
        raise RunError(f"The sites of {folder.path} are not judged yet. Run: samehand parked {folder.path}")
    return Verdicts(*(folder.read_table(name) for name in (SITES, SITE_CLUSTERS, PROVIDERS)))


class _Homes:
    """The home pages of a run, chosen when first needed."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    @functools.cached_property
    def table(self) -> pa.Table:
        """domain, page_id, url; in order of page ids."""
        return home_pages(self.folder.read_parts("pages", _PAGE_COLUMNS)).select(["domain", "page_id", "url"])

    @functools.cached_property
    def domains(self) -> list[str]:
        domains: list[str] = self.table.column("domain").to_pylist()
        return domains


class _Dns(NamedTuple):
    """How DNS is asked, where it is."""

    settings: Settings
    retry: bool
    tell: TellDns

    def servers_of(self, domains: list[str], cache: Path) -> NameServers:
        """Name servers of domains; every outcome goes to the cache."""
        settings = self.settings
        rule = ResolveRule(
            rate=settings.dns_rate,
            at_once=settings.dns_concurrency,
            timeout=settings.dns_timeout,
            tries=settings.dns_tries,
        )
        resolvers = [text.strip() for text in settings.dns_resolvers.split(",") if text.strip()]
        again = sorted(set(OUTCOMES) - FINAL) if self.retry else ()
        found = resolve_nameservers(domains, cache=cache, resolvers=resolvers, rule=rule, again=again, tell=self.tell)
        return found.servers


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
    facts = _facts(verdicts, features) | {
        "without_servers": pc.sum(pc.equal(pc.list_value_length(lists), 0)).as_py() or 0,
        "cut_pages": sequences.cut,
        "markup_capped": capped,
    }
    folder.mark_done(_MARKER, {"source": source, "facts": facts})


def _rows_of(folder: RunFolder, page_ids: NDArray[np.int64]) -> pa.Table:
    """The stored structure of these pages, which are in order; of all others nothing is kept in memory."""
    chosen = []
    for batch in folder.iterate_parts(PAGE_STRUCTURES, _STORED_COLUMNS):
        wanted = np.isin(batch.column("page_id").to_numpy(), page_ids)
        chosen.append(batch.filter(pa.array(wanted)))
    return pa.Table.from_batches(chosen)


def _style_clusters(folder: RunFolder, page_ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The style cluster of each page, -1 for none; None when the run has no style clusters."""
    if not (folder.path / MEMBERS).is_file():
        return None
    members = folder.read_table(MEMBERS, ["page_id", "cluster_id"]).sort_by("page_id")
    ids, clusters = (members.column(name).to_numpy() for name in ("page_id", "cluster_id"))
    places = np.minimum(np.searchsorted(ids, page_ids), max(0, ids.size - 1))
    if not ids.size:
        return np.full(page_ids.size, -1, np.int64)
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


def _facts(verdicts: Verdicts, features: Features) -> dict[str, Any]:
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


def judged_providers(verdicts: Verdicts) -> list[JudgedProvider]:
    """The providers as block lists want them."""
    rows = verdicts.providers.select(["provider", "verdict", "nameservers"]).to_pylist()
    return [JudgedProvider(row["provider"], row["verdict"], tuple(row["nameservers"])) for row in rows]


def judged_sites(verdicts: Verdicts) -> list[JudgedSite]:
    """The sites as block lists want them."""
    rows = verdicts.sites.select(["domain", "verdict", "provider"]).to_pylist()
    return [JudgedSite(row["domain"], row["verdict"], row["provider"]) for row in rows]


@dataclasses.dataclass(frozen=True, slots=True)
class SiteLabelling:
    """The sites of a run for labelling by hand: `digests` tells identical pages, by page id."""

    labelling: Labelling
    digests: dict[int, str]


def label_sites(folder: RunFolder, *, seed: int) -> SiteLabelling:
    """The home pages of a judged run, in their structure clusters. Plain pages are each a group of their own."""
    sites = stored_verdicts(folder).sites.select(["page_id", "url", "cluster_id"])
    first: dict[int, dict[str, Any]] = {}
    for row in sites.to_pylist():
        first.setdefault(row["page_id"], row)
    page_ids = np.array(sorted(first), np.int64)
    pages = folder.read_parts("pages", ["page_id", "content_digest"])
    pages = pages.filter(pa.array(np.isin(pages.column("page_id").to_numpy(), page_ids)))
    digests = dict(zip(pages.column("page_id").to_pylist(), pages.column("content_digest").to_pylist(), strict=True))
    groups = [first[page_id]["cluster_id"] for page_id in page_ids.tolist()]
    labelling = Labelling(
        page_ids,
        np.array([NO_GROUP if group is None else group for group in groups], np.int64),
        identical=[digests[page_id] for page_id in page_ids.tolist()],
        urls=[first[page_id]["url"] for page_id in page_ids.tolist()],
        seed=seed,
    )
    return SiteLabelling(labelling, digests)


def save_labels(folder: RunFolder, labelling: Labelling) -> Path:
    """Writes the labels of all pages that have one, with their sites; returns the file."""
    labels = labelling.labels()
    sites = stored_verdicts(folder).sites
    domains = dict(zip(*(sites.column(name).to_pylist() for name in ("page_id", "domain")), strict=True))
    urls = dict(zip(*(sites.column(name).to_pylist() for name in ("page_id", "url")), strict=True))
    for name, known in (("domain", domains), ("url", urls)):
        column = pa.array([known[page_id] for page_id in labels.column("page_id").to_pylist()], pa.string())
        labels = labels.append_column(name, column)
    folder.write_table(LABELS, labels)
    return folder.path / LABELS
