"""Clusters of the home pages that are judged together, and a verdict on each (section 4 of the paper).

A site has the verdict of its cluster. The paper judges a cluster by its mean distance to the centre alone
(`Rules.paper`). Our rule differs in five points, each measured by evaluation/structure.py:

* Placeholders (placeholders.py) are set aside: they look alike on all sites and belong to no template.
* A cluster that is not tight is clustered again. Farthest-point-first spends its centres on the oddest pages, so a few
  dozen parked pages would be lost among the honest pages of a provider. A tight cluster is not cut.
* Fewer than `min_cluster` sites show no sameness: a single page is always at distance 0 from itself.
* Texts, titles and links (evidence.py) are added to the distance: the score.
* A single page that resembles a parked cluster elsewhere is scored together with that cluster.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from samehand.methods.sites.centres import CLUSTERS_PER_PROVIDER, Calls, cluster_figures, k_centres
from samehand.methods.sites.evidence import ENOUGH_PROSE, Evidence, cluster_evidence
from samehand.methods.sites.features import Features
from samehand.methods.sites.placeholders import REASONS
from samehand.methods.sites.tags import TagSequences, distances_to
from samehand.methods.sites.verdicts import OK, PARKED, UNKNOWN

SURE_MARGIN = 1.0
"""A cluster whose score is so far above the threshold shows what parked pages look like elsewhere."""
MAX_MEAN_DISTANCE = 0.25
"""δ of section 4.2, where it is printed as 2.5."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How sites are judged: the points at the head of this file, as numbers."""

    k: int = CLUSTERS_PER_PROVIDER
    max_mean_distance: float = MAX_MEAN_DISTANCE
    min_sites: int = 5
    min_cluster: int = 3
    rounds: int = 6
    evidence: bool = True
    placeholders: bool = True
    min_score: float = 4.0
    min_style_sites: int = 3

    @classmethod
    def paper(cls, *, k: int = CLUSTERS_PER_PROVIDER, max_mean_distance: float = MAX_MEAN_DISTANCE) -> Self:
        """The paper's own rule: the mean distance to the centre, and nothing else."""
        return cls(
            k=k,
            max_mean_distance=max_mean_distance,
            min_sites=1,
            min_cluster=1,
            rounds=1,
            evidence=False,
            placeholders=False,
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Sites that look alike: rows in the order of page ids, their distances to the centre, and the verdict."""

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    centre: int
    evidence: Evidence
    score: float
    verdict: str
    reason: str

    @property
    def mean(self) -> float:
        """Mean distance to the centre."""
        return float(self.distances.mean())


class SiteVerdict(NamedTuple):
    """The verdict on one site. `cluster_row` is the first row of its cluster, -1 for a placeholder."""

    verdict: str
    reason: str
    cluster_row: int = -1
    distance: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JudgedGroup:
    """The clusters of sites that were judged together, and the verdict on each row.

    `cluster_verdicts` has the verdict of each cluster by its first row.
    """

    clusters: list[Cluster]
    cluster_verdicts: dict[int, str]
    average_radius: float
    calls: Calls
    site_verdicts: dict[int, SiteVerdict]


def judge_group(
    rows: NDArray[np.int64], sequences: TagSequences, features: Features, *, rules: Rules, threads: int | None
) -> JudgedGroup:
    """Clusters and judges the sites of `rows`, which are in the order of their page ids."""
    kinds = [features.placeholder_kinds[row] if rules.placeholders else "" for row in rows.tolist()]
    is_placeholder = np.array([kind != "" for kind in kinds], np.bool_)
    clusters, average, calls = [], 0.0, Calls()
    waiting = [(rows[~is_placeholder], 1)] if not is_placeholder.all() else []
    while waiting:
        members, round_number = waiting.pop()
        stop_radius = rules.max_mean_distance if rules.evidence else 0.0
        clustering = k_centres(sequences, members, k=rules.k, stop_radius=stop_radius, threads=threads)
        figures = cluster_figures(clustering)
        calls += clustering.calls
        average = figures.average_radius if round_number == 1 else average
        for number, centre in enumerate(clustering.centres.tolist()):
            inside = clustering.assignment == number
            loose = figures.radii[number] > rules.max_mean_distance and figures.sizes[number] > rules.min_cluster
            if loose and round_number < rules.rounds and clustering.centres.size > 1:
                waiting.append((members[inside], round_number + 1))
            elif inside.any():
                clusters.append(_judge_cluster(members[inside], clustering.distances[inside], centre, features, rules))
    verdicts = {
        row: SiteVerdict(UNKNOWN, REASONS[kind]) for row, kind in zip(rows.tolist(), kinds, strict=True) if kind
    }
    for cluster in clusters:
        verdicts |= _member_verdicts(cluster, rules)
    return JudgedGroup(clusters, {int(one.rows[0]): one.verdict for one in clusters}, average, calls, verdicts)


def _judge_cluster(
    rows: NDArray[np.int64], distances: NDArray[np.float64], centre: int, features: Features, rules: Rules
) -> Cluster:
    evidence = cluster_evidence(features, rows)
    mean, limit = float(distances.mean()), rules.max_mean_distance
    score = evidence.score(mean, limit)
    if rules.evidence or rows.size < rules.min_cluster:
        reason = _against(rows.size, mean, evidence, score, rules)
        verdict = OK if reason else PARKED
        reason = reason or f"{rows.size} sites with nearly the same page structure: {evidence.findings(in_common=True)}"
    else:
        verdict = PARKED if mean < limit else OK
        compared = "below" if verdict == PARKED else "not below"
        reason = f"{rows.size} sites at a mean distance of {mean:.2f} from the centre, {compared} {limit}"
    return Cluster(rows, distances, centre, evidence, score, verdict, reason)


def _against(sites: int, mean_distance: float, evidence: Evidence, score: float, rules: Rules) -> str:
    """Why a cluster is not parked; "" if it is."""
    owners = evidence.distinct_owners
    if sites < rules.min_cluster:
        if sites == 1:
            return "no other site has a similar page"
        return f"only {sites} sites have a similar page: {rules.min_cluster} are needed to judge them together"
    if owners < rules.min_cluster:
        known = "1 owner" if owners == 1 else f"{owners} owners"
        return f"{sites} sites with a similar page belong to {known}: copies of one page under several names count once"
    if score < rules.min_score:
        differences = evidence.findings(in_common=False)
        return f"{sites} sites with a similar page structure have too little else in common: {differences}"
    if mean_distance >= 2 * rules.max_mean_distance:
        return f"the page structures of these {sites} sites differ too much"
    return ""


def _member_verdicts(cluster: Cluster, rules: Rules) -> Iterator[tuple[int, SiteVerdict]]:
    """The verdict of the cluster for each site, except for a site that has something to say."""
    pages = cluster.evidence.pages
    for place, row in enumerate(cluster.rows.tolist()):
        found = SiteVerdict(cluster.verdict, cluster.reason, int(cluster.rows[0]), float(cluster.distances[place]))
        own_prose = pages.own_title[place] and pages.prose[place] >= ENOUGH_PROSE
        if rules.evidence and found.verdict == PARKED and own_prose:
            reason = f"the page has a title and {pages.prose[place]:.0f} words of prose of its own"
            found = found._replace(
                verdict=OK, reason=f"{reason}, unlike {cluster.rows.size - 1} sites that look like it"
            )
        yield row, found


def spread(judged: Iterable[JudgedGroup], sequences: TagSequences, features: Features, rules: Rules) -> None:
    """Changes the verdicts on single pages that resemble a parked cluster, in whichever group that was found.

    Ordinary providers have parked pages too, too few to form a cluster. Only pages without a title of their own are
    compared, because hardly any of them is honest. A cluster must be parked by a clear margin to be compared with.
    """
    groups = list(judged)
    sure = rules.min_score + SURE_MARGIN
    clusters = [one for group in groups for one in group.clusters if one.verdict == PARKED and one.score >= sure]
    title_keys, counts = np.unique(
        np.concatenate([np.zeros(2, np.uint64), *(features.title_keys[cluster.rows] for cluster in clusters)]),
        return_counts=True,
    )
    common = set(title_keys[counts > 1].tolist())
    waiting: dict[int, list[JudgedGroup]] = {}
    for group in groups:
        for row, found in group.site_verdicts.items():
            if found.verdict != PARKED and found.cluster_row >= 0 and int(features.title_keys[row]) in common:
                waiting.setdefault(row, []).append(group)
    lengths = np.diff(sequences.offsets)
    for cluster in sorted(clusters, key=lambda found: (-found.rows.size, int(found.rows[0]))):
        rows = np.array(sorted(waiting), np.int64)
        shorter = np.minimum(lengths[rows], lengths[cluster.centre])
        longer = np.maximum(lengths[rows], lengths[cluster.centre])
        rows = rows[shorter >= (1.0 - rules.max_mean_distance) * longer]  # R
        for row in _resembling(cluster, rows, sequences, features, rules):
            shared = cluster.evidence.findings(in_common=True)
            reason = f"the page resembles {cluster.rows.size} parked sites: {shared}"
            for group in waiting.pop(row):
                group.site_verdicts[row] = group.site_verdicts[row]._replace(verdict=PARKED, reason=reason)


def _resembling(
    cluster: Cluster, rows: NDArray[np.int64], sequences: TagSequences, features: Features, rules: Rules
) -> list[int]:
    """The rows that are close to the cluster and have a parked score as members of it."""
    distances = distances_to(sequences, cluster.centre, rows, within=rules.max_mean_distance)
    near = np.isfinite(distances)
    if not near.any():
        return []
    evidence = cluster_evidence(features, np.concatenate([cluster.rows, rows[near]]))
    scores = evidence.page_scores(np.concatenate([cluster.distances, distances[near]]), rules.max_mean_distance)
    parked: list[int] = rows[near][scores[cluster.rows.size :] >= rules.min_score].tolist()
    return parked
