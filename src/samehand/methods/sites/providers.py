"""Verdicts on sites and on the providers of their name servers (section 4 of the paper).

A site is judged by its home page. The sites of one provider are clustered and judged together (clusters.py). Sites
without a known provider, and those of providers with too few sites, are judged in one pool. A provider has the verdict
of the majority of its sites.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.sites.centres import Calls
from samehand.methods.sites.clusters import Cluster, JudgedGroup, Rules, SiteVerdict, judge_group, spread
from samehand.methods.sites.features import Features
from samehand.methods.sites.placeholders import HTTP_ERROR
from samehand.methods.sites.tags import TagSequences
from samehand.methods.sites.verdicts import (
    NO_PROVIDER,
    OK,
    PARKED,
    POOL,
    UNKNOWN,
    Verdicts,
)
from samehand.store.tables import PROVIDERS, SITE_CLUSTERS, SITES


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
    """Verdicts on sites (site, page_id, url, providers: a list of names), their clusters and their providers.

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
    columns: dict[str, list[object]] = {name: sites.column(name).to_pylist() for name in ("site", "page_id", "url")}
    of_sites, of_providers = [], []
    for provider, rows in rows_of.items():
        group = judged[provider if provider in groups else POOL]
        of_sites += [_site_row(row, provider, group.site_verdicts[row], features, columns, style) for row in rows]
        servers = (nameservers or {}).get(provider, ())
        of_providers.append(_provider_row(provider, rows, group, features, rules, servers))
    of_clusters = [_cluster_row(name, cluster, columns) for name, group in judged.items() for cluster in group.clusters]
    return Verdicts(
        pa.Table.from_pylist(of_sites, SITES.fixed_schema),
        pa.Table.from_pylist(of_clusters, SITE_CLUSTERS.fixed_schema),
        pa.Table.from_pylist(of_providers, PROVIDERS.fixed_schema),
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
    """The sites that are judged together, in order of page ids: those of each large provider, and the pool."""
    large = {name: rows for name, rows in rows_of.items() if len(rows) >= rules.min_sites and name != NO_PROVIDER}
    pooled = {row for name, rows in rows_of.items() if name not in large for row in rows}
    return large | ({POOL: sorted(pooled, key=lambda row: int(page_ids[row]))} if pooled else {})


def _style_verdicts(count: int, clusters: NDArray[np.int64] | None, rules: Rules) -> list[str]:
    """The method that the paper compares itself with (section 4.4): a site is parked if its style cluster is large."""
    if clusters is None:
        return [""] * count
    _, inverse, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    is_parked = (clusters >= 0) & (sizes[inverse] >= rules.min_style_sites)
    return [PARKED if parked else OK for parked in is_parked.tolist()]


def _site_row(
    row: int, provider: str, found: SiteVerdict, features: Features, columns: dict[str, list[object]], style: list[str]
) -> dict[str, object]:
    return {
        **{name: values[row] for name, values in columns.items()},
        "provider": provider,
        "title": features.titles[row],
        "site_cluster_id": columns["page_id"][found.cluster_row] if found.cluster_row >= 0 else None,
        "distance": found.distance,
        "verdict": found.verdict,
        "reason": found.reason,
        "placeholder_kind": features.placeholder_kinds[row],
        "words": int(features.words[row]),
        "links": int(features.links[row]),
        "style_verdict": style[row],
    }


def _cluster_row(provider: str, cluster: Cluster, columns: dict[str, list[object]]) -> dict[str, object]:
    evidence = cluster.evidence
    return {
        "site_cluster_id": columns["page_id"][int(cluster.rows[0])],
        "provider": provider,
        "sites": cluster.rows.size,
        "mean_distance": cluster.mean,
        "radius": float(cluster.distances.max()),
        "same_text_share": evidence.same_text_share,
        "own_words": evidence.own_words,
        "prose": evidence.prose,
        "same_title": evidence.same_title,
        "shared_targets": evidence.shared_targets,
        "own_name_share": evidence.own_name,
        "score": cluster.score,
        "verdict": cluster.verdict,
        "reason": cluster.reason,
        "centre_url": columns["url"][cluster.centre],
    }


def _provider_row(
    provider: str, rows: list[int], group: JudgedGroup, features: Features, rules: Rules, nameservers: Sequence[str]
) -> dict[str, object]:
    """Placeholders count as sites that are not parked. HTTP errors do not count: they say nothing about a site."""
    found = [group.site_verdicts[row] for row in rows]
    counts = Counter(one.verdict for one in found)
    placeholders = Counter(
        features.placeholder_kinds[row] for row, one in zip(rows, found, strict=True) if one.cluster_row < 0
    )
    answered = len(rows) - placeholders[HTTP_ERROR]
    verdict, reason = _provider_verdict(provider, counts[PARKED], answered, rules)
    clusters = {one.cluster_row for one in found} - {-1}
    alone = provider != NO_PROVIDER and len(rows) >= rules.min_sites  # the figures of the pool belong to no provider
    return {
        "provider": provider,
        "sites": len(rows),
        "parked_sites": counts[PARKED],
        "ok_sites": counts[OK],
        "unknown_sites": counts[UNKNOWN],
        "placeholder_sites": placeholders.total(),
        "clusters": len(clusters),
        "parked_clusters": sum(group.cluster_verdicts[cluster] == PARKED for cluster in clusters),
        "parked_share": counts[PARKED] / max(1, answered),
        "average_radius": group.average_radius if alone else 0.0,
        "verdict": verdict,
        "reason": reason,
        "nameservers": sorted(nameservers),
        **{f"calls_{name}": count for name, count in dataclasses.asdict(group.calls if alone else Calls()).items()},
    }


def _provider_verdict(provider: str, parked: int, answered: int, rules: Rules) -> tuple[str, str]:
    if provider == NO_PROVIDER:
        return UNKNOWN, "the name servers of these sites are not known"
    if answered < rules.min_sites:
        return UNKNOWN, f"too few sites to judge the provider: {answered} of {rules.min_sites}, HTTP errors not counted"
    return PARKED if 2 * parked > answered else OK, f"{parked} of {answered} sites are parked"
