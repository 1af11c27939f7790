"""The kinds of sites, and verdicts on the providers of their name servers (section 4 of the paper).

A site is judged by its home page: by itself (kinds.py), and with the sites of its provider, which are clustered
together (clusters.py). Sites without a known provider, and those of providers with too few sites, are clustered in one
pool. A provider is parked if the lower bound of its share of parked sites is above one half; with fewer than
`min_sites` voices it is unknown. The sites of one owner are one voice. In the paper the majority decides.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.sites.centres import Calls
from samehand.methods.sites.clusters import Cluster, JudgedGroup, Rules, accuse_by_provider, judge_group, spread
from samehand.methods.sites.features import Features
from samehand.methods.sites.owners import Owners, find_owners
from samehand.methods.sites.phrases import parking_hosts
from samehand.methods.sites.sites import FinalKind, Groups, final_kind
from samehand.methods.sites.tags import TagSequences
from samehand.methods.sites.verdicts import (
    KINDS,
    NO_PROVIDER,
    NO_SITE,
    OK,
    PARKED,
    PARKED_ADS,
    PARKED_KINDS,
    POOL,
    REAL,
    UNKNOWN,
    Verdicts,
)
from samehand.store.tables import PROVIDERS, SITE_CLUSTERS, SITES

_Z = 1.96
"""Of a bound with 95 % confidence."""


def judge(
    sites: pa.Table,
    sequences: TagSequences,
    features: Features,
    rules: Rules | None = None,
    *,
    nameservers: Mapping[str, Sequence[str]] | None = None,
    style_clusters: NDArray[np.int64] | None = None,
    style_families: NDArray[np.int64] | None = None,
    farms: Mapping[int, str] | None = None,
    threads: int | None = None,
) -> Verdicts:
    """Judges sites (site, page_id, url, providers: a list of names), their clusters and their providers.

    Row i of `sequences`, of `features` and of style clusters and families (negative: in none) is that of site i.
    `farms` says why a row is part of a farm.
    """
    rules = rules or Rules()
    rows_of = _by_provider(sites)
    groups = _groups(rows_of, sites.column("page_id").to_numpy(), rules)
    judged = {
        name: judge_group(np.array(rows, np.int64), sequences, features, rules=rules, threads=threads)
        for name, rows in groups.items()
    }
    styles = np.full(sites.num_rows, -1, np.int64) if style_clusters is None else style_clusters
    families = styles if style_families is None else style_families
    names = sites.column("site").to_pylist()
    owners = find_owners(features, names, styles, families) if rules.evidence else Owners.none()
    together = Groups(owners, farms or {})
    if rules.evidence:
        spread(judged.values(), sequences, features, rules)
        _ask_providers(judged, rows_of, features, together, rules)
    columns: dict[str, list[object]] = {name: sites.column(name).to_pylist() for name in ("site", "page_id", "url")}
    of_sites, of_providers = [], []
    for provider, rows in rows_of.items():
        group = judged[provider if provider in groups else POOL]
        kinds = {row: final_kind(row, features, group.members.get(row), together, rules) for row in rows}
        for row in (row for row, one in kinds.items() if one.kind in NO_SITE):
            group.members.pop(row, None)
        of_sites += [_site_row(row, provider, kinds[row], group, features, columns, styles, owners) for row in rows]
        servers = (nameservers or {}).get(provider, ())
        of_providers.append(_provider_row(provider, kinds, group, owners, rules, servers))
    of_clusters = [
        _cluster_row(name, cluster, columns)
        for name, group in judged.items()
        for cluster in group.clusters
        if any(row in group.members for row in cluster.rows.tolist())
    ]
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


def _ask_providers(
    judged: dict[str, JudgedGroup],
    rows_of: dict[str, list[int]],
    features: Features,
    together: Groups,
    rules: Rules,
) -> None:
    """Sites that look the same and show no purpose of their own are parked where nearly all others are."""
    for name, group in judged.items():
        if name == POOL:
            continue
        blank = {row for one in group.clusters if one.is_same and not one.kind for row in one.rows.tolist()}
        rest = [row for row in rows_of[name] if row not in blank]
        kinds = {row: final_kind(row, features, group.members.get(row), together, rules) for row in rest}
        parked, voices = _votes(kinds, together.owners)
        if name in parking_hosts():
            accuse_by_provider(group, "their name servers are known to serve parked domains", rules)
        elif voices >= rules.min_sites and share_bounds(parked, voices)[0] > 0.5:
            accuse_by_provider(group, f"{parked} of {voices} other sites on their name servers are parked", rules)


def _votes(kinds: Mapping[int, FinalKind], owners: Owners) -> tuple[int, int]:
    """Parked sites, and voices: sites that show something, those of one owner counted once."""
    parked = sum(one.kind in PARKED_KINDS for one in kinds.values())
    others = {
        owners.group_of.get(row, row) if one.kind not in PARKED_KINDS else row
        for row, one in kinds.items()
        if one.kind not in NO_SITE and one.kind not in PARKED_KINDS
    }
    return parked, parked + len(others)


def share_bounds(count: int, total: int) -> tuple[float, float]:
    """Wilson's bounds of a share, with 95 % confidence."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, _Z * _Z / total
    middle = share + square / 2
    wide = _Z * math.sqrt(share * (1 - share) / total + square / (4 * total))
    return max(0.0, (middle - wide) / (1 + square)), min(1.0, (middle + wide) / (1 + square))


def _site_row(
    row: int,
    provider: str,
    found: FinalKind,
    group: JudgedGroup,
    features: Features,
    columns: dict[str, list[object]],
    styles: NDArray[np.int64],
    owners: Owners,
) -> dict[str, object]:
    member = group.members.get(row)
    owner = owners.group_of.get(row)
    return {
        **{name: values[row] for name, values in columns.items()},
        "kind": found.kind,
        "probability": found.probability,
        "evidence": [{"name": name, "value": value} for name, value in found.evidence],
        "reason": found.reason,
        "provider": provider,
        "site_cluster_id": None if member is None else columns["page_id"][member.cluster_row],
        "style_cluster_id": int(styles[row]) if styles[row] >= 0 else None,
        "owner_group": None if owner is None else columns["page_id"][owner],
        "distance": None if member is None else member.distance,
        "title": features.titles[row],
        "words": int(features.words[row]),
        "prose": int(features.prose[row]),
        "links": int(features.links[row]),
    }


def _cluster_row(provider: str, cluster: Cluster, columns: dict[str, list[object]]) -> dict[str, object]:
    evidence = cluster.evidence
    return {
        "site_cluster_id": columns["page_id"][int(cluster.rows[0])],
        "provider": provider,
        "kind": cluster.kind or REAL,
        "sites": cluster.rows.size,
        "distinct_owners": evidence.distinct_owners,
        "mean_distance": cluster.mean,
        "radius": float(cluster.distances.max()),
        "purpose_share": evidence.purpose,
        "same_text_share": evidence.same_text_share,
        "own_words": evidence.own_words,
        "own_prose": evidence.prose,
        "same_title": evidence.same_title,
        "shared_targets": evidence.shared_targets,
        "own_name_share": evidence.own_name,
        "score": cluster.score,
        "reason": cluster.reason,
        "centre_url": columns["url"][cluster.centre],
    }


def _provider_row(
    provider: str,
    kinds: dict[int, FinalKind],
    group: JudgedGroup,
    owners: Owners,
    rules: Rules,
    nameservers: Sequence[str],
) -> dict[str, object]:
    counts = Counter(one.kind for one in kinds.values())
    parked, voices = _votes(kinds, owners) if rules.evidence else (counts[PARKED_ADS], len(kinds))
    verdict, reason = _provider_verdict(provider, parked, voices, rules)
    clusters = {member.cluster_row for row in kinds if (member := group.members.get(row)) is not None}
    alone = provider != NO_PROVIDER and len(kinds) >= rules.min_sites  # the figures of the pool belong to no provider
    return {
        "provider": provider,
        "verdict": verdict,
        "sites": len(kinds),
        "voices": voices,
        "parked_sites": parked,
        "parked_share": parked / max(1, voices),
        "parked_share_low": share_bounds(parked, voices)[0],
        "kinds": [{"name": kind, "value": str(counts[kind])} for kind in KINDS if counts[kind]],
        "clusters": len(clusters),
        "parked_clusters": sum(bool(one.kind) for one in group.clusters if int(one.rows[0]) in clusters),
        "average_radius": group.average_radius if alone else 0.0,
        "reason": reason,
        "nameservers": sorted(nameservers),
        **{f"calls_{name}": count for name, count in dataclasses.asdict(group.calls if alone else Calls()).items()},
    }


def _provider_verdict(provider: str, parked: int, voices: int, rules: Rules) -> tuple[str, str]:
    if provider == NO_PROVIDER:
        return UNKNOWN, "the name servers of these sites are not known"
    said = f"{parked} of {voices} sites are parked"
    if not rules.evidence:
        return PARKED if 2 * parked > voices else OK, said
    if voices < rules.min_sites:
        return UNKNOWN, f"too few sites show anything to judge the provider: {voices} of {rules.min_sites}"
    low, _ = share_bounds(parked, voices)
    if low > 0.5:
        return PARKED, f"{said}: with 95 % confidence at least {low:.0%}"
    if 2 * parked > voices:
        return UNKNOWN, f"{said}, but that may be chance: at least {low:.0%}"
    return OK, said
