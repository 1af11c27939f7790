"""Verdicts on web sites and on the providers of their name servers (section 4 of the paper), as tables.

A site is its home page. The sites of one provider are clustered and judged together (site_clusters.py); those of
providers that are not known, or have too few sites, all in one pool. A provider is what most of its sites are.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.sites.centres import Calls
from samehand.methods.sites.clusters import OK, SPAM, UNKNOWN, Cluster, Judged, Rules, Said, judge_group, spread
from samehand.methods.sites.features import Features
from samehand.methods.sites.placeholders import HTTP_ERROR
from samehand.methods.sites.tags import TagSequences

NO_PROVIDER, POOL = "(unknown)", "(others)"
"""The provider of sites whose name servers are not known, which is none that could be judged; and where the clusters
of such sites, and of providers with too few, belong."""


def _schema(**columns: pa.DataType) -> pa.Schema:
    """Columns that have no nulls, but for those that a plain page cannot have."""
    nullable = ("cluster_id", "distance") if "domain" in columns else ()
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns.items()])


_TEXT, _COUNT, _REAL = pa.string(), pa.int64(), pa.float64()
SITE_SCHEMA = _schema(
    domain=_TEXT,
    provider=_TEXT,
    page_id=_COUNT,
    url=_TEXT,
    cluster_id=_COUNT,
    distance=_REAL,
    verdict=_TEXT,
    reason=_TEXT,
    plain=_TEXT,
    words=_COUNT,
    links=_COUNT,
    style_verdict=_TEXT,
)
"""providers/sites.parquet: one row for each site and provider. Plain pages are in no cluster."""
CLUSTER_SCHEMA = _schema(
    cluster_id=_COUNT,
    provider=_TEXT,
    sites=_COUNT,
    mean_distance=_REAL,
    radius=_REAL,
    same_text=_REAL,
    own_words=_REAL,
    prose=_REAL,
    same_title=_REAL,
    shared_targets=_REAL,
    own_name=_REAL,
    points=_REAL,
    verdict=_TEXT,
    reason=_TEXT,
    centre_url=_TEXT,
)
"""structure/clusters.parquet. A cluster is named after its smallest page id; see site_evidence.py for the figures."""
PROVIDER_SCHEMA = _schema(
    provider=_TEXT,
    sites=_COUNT,
    spam_sites=_COUNT,
    ok_sites=_COUNT,
    unknown_sites=_COUNT,
    plain_sites=_COUNT,
    clusters=_COUNT,
    spam_clusters=_COUNT,
    spam_share=_REAL,
    average_radius=_REAL,
    verdict=_TEXT,
    reason=_TEXT,
    nameservers=pa.list_(_TEXT),
    calls_r=_COUNT,
    calls_f=_COUNT,
    calls_b=_COUNT,
    calls_d=_COUNT,
    calls_skipped=_COUNT,
)
"""providers/providers.parquet. `average_radius` is the paper's R̂, of the first clustering; calls as in its table 1."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdicts:
    """The three tables: SITE_SCHEMA, CLUSTER_SCHEMA and PROVIDER_SCHEMA."""

    sites: pa.Table
    clusters: pa.Table
    providers: pa.Table


def judge(
    sites: pa.Table,
    sequences: TagSequences,
    features: Features,
    rules: Rules | None = None,
    *,
    nameservers: Mapping[str, Sequence[str]] | None = None,
    style_clusters: NDArray[np.int64] | None = None,
    threads: int | None = None,
) -> Verdicts:
    """Verdicts on sites (domain, page_id, url, providers: a list of names), their clusters and their providers.

    Row i of `sequences`, of `features` and of `style_clusters` (negative: in none) is that of site i.
    """
    rules = rules or Rules()
    rows_of = _by_provider(sites)
    groups = _groups(rows_of, sites.column("page_id").to_numpy(), rules)
    judged = {
        name: judge_group(np.array(rows, np.int64), sequences, features, rules=rules, threads=threads)
        for name, rows in groups.items()
    }
    if rules.evidence:
        spread(judged.values(), sequences, features, rules)
    style = _style_verdicts(sites.num_rows, style_clusters, rules)
    columns: dict[str, list[object]] = {name: sites.column(name).to_pylist() for name in ("domain", "page_id", "url")}
    of_sites, of_providers = [], []
    for provider, rows in rows_of.items():
        found = judged[provider if provider in groups else POOL]
        of_sites += [_site_row(row, provider, found.said[row], features, columns, style) for row in rows]
        of_providers.append(
            _provider_row(provider, rows, found, features, rules, (nameservers or {}).get(provider, ()))
        )
    of_clusters = [_cluster_row(name, cluster, columns) for name, found in judged.items() for cluster in found.clusters]
    return Verdicts(
        pa.Table.from_pylist(of_sites, SITE_SCHEMA),
        pa.Table.from_pylist(of_clusters, CLUSTER_SCHEMA),
        pa.Table.from_pylist(of_providers, PROVIDER_SCHEMA),
    )


def _by_provider(sites: pa.Table) -> dict[str, list[int]]:
    """The rows of each provider's sites, in order of page ids. A site with several providers counts for each."""
    found: dict[str, list[int]] = {}
    order = np.argsort(sites.column("page_id").to_numpy(), kind="stable")
    providers = sites.column("providers").to_pylist()
    for row in order.tolist():
        for provider in sorted(set(providers[row] or ())) or [NO_PROVIDER]:
            found.setdefault(provider, []).append(row)
    return dict(sorted(found.items()))


def _groups(rows_of: dict[str, list[int]], page_ids: NDArray[np.int64], rules: Rules) -> dict[str, list[int]]:
    """What is judged together, in order of page ids: a provider's sites; those of providers with few, in one pool."""
    large = {name: rows for name, rows in rows_of.items() if len(rows) >= rules.min_sites and name != NO_PROVIDER}
    pooled = {row for name, rows in rows_of.items() if name not in large for row in rows}
    return large | ({POOL: sorted(pooled, key=lambda row: int(page_ids[row]))} if pooled else {})


def _style_verdicts(count: int, clusters: NDArray[np.int64] | None, rules: Rules) -> list[str]:
    """The paper's rival (section 4.4): a site is spam when its style cluster spans enough domains."""
    if clusters is None:
        return [""] * count
    _, inverse, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    is_spam = (clusters >= 0) & (sizes[inverse] >= rules.style_domains)
    return [SPAM if spam else OK for spam in is_spam.tolist()]


def _site_row(
    row: int, provider: str, said: Said, features: Features, columns: dict[str, list[object]], style: list[str]
) -> dict[str, object]:
    return {
        **{name: values[row] for name, values in columns.items()},
        "provider": provider,
        "cluster_id": columns["page_id"][said.cluster_row] if said.cluster_row >= 0 else None,
        "distance": said.distance,
        "verdict": said.verdict,
        "reason": said.reason,
        "plain": features.plain[row],
        "words": int(features.words[row]),
        "links": int(features.links[row]),
        "style_verdict": style[row],
    }


def _cluster_row(provider: str, cluster: Cluster, columns: dict[str, list[object]]) -> dict[str, object]:
    evidence = cluster.evidence
    return {
        "cluster_id": columns["page_id"][int(cluster.rows[0])],
        "provider": provider,
        "sites": cluster.rows.size,
        "mean_distance": cluster.mean,
        "radius": float(cluster.distances.max()),
        "same_text": evidence.same_text,
        "own_words": evidence.own_words,
        "prose": evidence.prose,
        "same_title": evidence.same_title,
        "shared_targets": evidence.targets,
        "own_name": evidence.own_name,
        "points": cluster.points,
        "verdict": cluster.verdict,
        "reason": cluster.reason,
        "centre_url": columns["url"][cluster.centre],
    }


def _provider_row(
    provider: str, rows: list[int], found: Judged, features: Features, rules: Rules, nameservers: Sequence[str]
) -> dict[str, object]:
    """Plain pages count against a verdict of spam, but for errors: a server that answers with one says nothing."""
    counts = Counter(found.said[row].verdict for row in rows)
    plain = Counter(features.plain[row] for row in rows if found.said[row].cluster_row < 0)
    heard = len(rows) - plain[HTTP_ERROR]
    share = counts[SPAM] / max(1, heard)
    clusters = {found.said[row].cluster_row for row in rows} - {-1}
    if provider == NO_PROVIDER:
        verdict, reason = UNKNOWN, "sites whose name servers are not known"
    elif heard < rules.min_sites:
        verdict, reason = UNKNOWN, f"too few: {heard} of {rules.min_sites} sites that say anything"
    else:
        verdict, reason = SPAM if share > 0.5 else OK, f"{counts[SPAM]} of {heard} sites are spam"
    alone = provider != NO_PROVIDER and len(rows) >= rules.min_sites  # figures of the pool are nobody's
    return {
        "provider": provider,
        "sites": len(rows),
        "spam_sites": counts[SPAM],
        "ok_sites": counts[OK],
        "unknown_sites": counts[UNKNOWN],
        "plain_sites": plain.total(),
        "clusters": len(clusters),
        "spam_clusters": sum(found.verdicts[cluster] == SPAM for cluster in clusters),
        "spam_share": share,
        "average_radius": found.average_radius if alone else 0.0,
        "verdict": verdict,
        "reason": reason,
        "nameservers": sorted(nameservers),
        **{f"calls_{name}": count for name, count in dataclasses.asdict(found.calls if alone else Calls()).items()},
    }
