"""Clusters of the home pages that are judged together, and what their members are (section 4 of the paper).

The paper judges a cluster by its mean distance to the centre alone (`Rules.paper`). Our rule differs in six points,
each measured by evaluation/sites.py:

* Redirects, errors, walls, empty and default pages (kinds.py) are set aside: they look alike on all sites. Bare pages,
  which a script or a frame fills, stay.
* A cluster that is not tight is clustered again. Farthest-point-first spends its centres on the oddest pages, so a few
  dozen parked pages would be lost among the honest pages of a provider. A tight cluster is not cut.
* Fewer than `min_cluster` sites show no sameness: a single page is always at distance 0 from itself.
* Texts, titles and links (evidence.py) are added to the distance: the score of sameness.
* Half of the sites must show a purpose (purpose.py), or else most of their provider's other sites.
* A single page that resembles a parked cluster elsewhere is scored together with that cluster.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.wording import count
from samehand.methods.sites.centres import CLUSTERS_PER_PROVIDER, Calls, cluster_figures, k_centres
from samehand.methods.sites.evidence import ENOUGH_PROSE, Evidence, cluster_evidence, evidence_of_clusters
from samehand.methods.sites.features import Features
from samehand.methods.sites.kinds import BARE
from samehand.methods.sites.purpose import FEED, KEYWORDS, OFFER, STRONG, has_purpose
from samehand.methods.sites.tags import TagSequences, distances_to
from samehand.methods.sites.verdicts import FOR_SALE, PARKED_ADS, PARKED_KINDS

SURE_MARGIN = 1.0
"""A cluster whose score is so far above the threshold shows what parked pages look like elsewhere."""
MUCH_PROSE = 300
"""A page with so many words of running text is not accused by its template, so its structure is not compared."""
PURPOSE_SHARE = 0.5
"""Share of a cluster's sites that must show a purpose."""
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
    min_score: float = 4.0

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
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Sites that look alike: rows in the order of page ids, their distances to the centre, and their kind.

    `kind` is empty if the cluster accuses nobody; `is_same` says that nothing but purpose is missing then.
    """

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    centre: int
    evidence: Evidence
    score: float
    kind: str
    reason: str
    is_same: bool
    shows_purpose: NDArray[np.bool_]

    @property
    def mean(self) -> float:
        """Mean distance to the centre."""
        return float(self.distances.mean())


class Membership(NamedTuple):
    """What its cluster says of one site: a kind, or "" for none. `cluster_row` is the first row of the cluster."""

    kind: str
    reason: str
    cluster_row: int
    distance: float


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class JudgedGroup:
    """The clusters of sites that were judged together, and what they say of each row that is in one."""

    clusters: list[Cluster]
    average_radius: float
    calls: Calls
    members: dict[int, Membership]


def judge_group(
    rows: NDArray[np.int64], sequences: TagSequences, features: Features, *, rules: Rules, threads: int | None
) -> JudgedGroup:
    """Clusters and judges the sites of `rows`, which are in the order of their page ids."""
    inside_rows = rows[np.array([not rules.evidence or _joins(features, row) for row in rows.tolist()], np.bool_)]
    cut: list[tuple[NDArray[np.int64], NDArray[np.float64], int]] = []
    average, calls = 0.0, Calls()
    waiting = [(inside_rows, 1)] if inside_rows.size else []
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
                cut.append((members[inside], clustering.distances[inside], centre))
    evidence = evidence_of_clusters(features, [rows for rows, _, _ in cut])
    clusters = [_judge_cluster(*one, measured, features, rules) for one, measured in zip(cut, evidence, strict=True)]
    found = [(row, one) for cluster in clusters for row, one in _memberships(cluster, rules)]
    return JudgedGroup(clusters, average, calls, dict(found))


def _joins(features: Features, row: int) -> bool:
    """Whether a page is clustered: those that show no site, wait for their owner or say much are not."""
    kind = features.kinds[row]
    undecided = not kind and features.prose[row] < MUCH_PROSE
    return undecided or kind in PARKED_KINDS or features.rules[row] in BARE


def _judge_cluster(
    rows: NDArray[np.int64],
    distances: NDArray[np.float64],
    centre: int,
    evidence: Evidence,
    features: Features,
    rules: Rules,
) -> Cluster:
    mean, limit = float(distances.mean()), rules.max_mean_distance
    score = evidence.score(mean, limit)
    shown = _shows_purpose(features, rows)
    if rules.evidence or rows.size < rules.min_cluster:
        reason = _not_same(rows.size, mean, evidence, score, rules)
        is_same = not reason
        if is_same and shown.mean() < PURPOSE_SHARE:
            reason = f"{rows.size} sites with nearly the same page structure show no purpose but their own"
        kind = "" if reason else _accused_kind(features, rows)
        reason = reason or f"{rows.size} sites with nearly the same page structure: {evidence.findings(in_common=True)}"
    else:
        kind, is_same = PARKED_ADS if mean < limit else "", False
        compared = "below" if kind else "not below"
        reason = f"{count(rows.size, 'site')} at a mean distance of {mean:.2f} from the centre, {compared} {limit}"
    return Cluster(rows, distances, centre, evidence, score, kind, reason, is_same, shown)


def _shows_purpose(features: Features, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which sites show a purpose. For a bare page, which has no words, it is enough to show its own name."""
    bits = features.purposes[rows]
    bare = np.array([features.rules[row] in BARE for row in rows.tolist()], np.bool_)
    shown: NDArray[np.bool_] = np.where(bare, ((bits & STRONG) > 0) | features.own_names[rows], has_purpose(bits))
    return shown


def _accused_kind(features: Features, rows: NDArray[np.int64]) -> str:
    """For sale if most sites are offered and few have a feed or keywords; else parked."""
    bits = features.purposes[rows]
    offered, fed = ((bits & OFFER) > 0).mean(), ((bits & (FEED | KEYWORDS)) > 0).mean()
    return FOR_SALE if offered >= PURPOSE_SHARE > fed else PARKED_ADS


def _not_same(sites: int, mean_distance: float, evidence: Evidence, score: float, rules: Rules) -> str:
    """Why the sites of a cluster are not the same; "" if they are."""
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


def _memberships(cluster: Cluster, rules: Rules, *, by_provider: bool = False) -> Iterator[tuple[int, Membership]]:
    """The kind of the cluster for each site, except for a site that has something to say or shows no purpose."""
    pages = cluster.evidence.pages
    for place, row in enumerate(cluster.rows.tolist()):
        found = Membership(cluster.kind, cluster.reason, int(cluster.rows[0]), float(cluster.distances[place]))
        own_prose = pages.own_title[place] and pages.prose[place] >= ENOUGH_PROSE
        if rules.evidence and found.kind and own_prose:
            reason = f"the page has a title and {pages.prose[place]:.0f} words of prose of its own"
            found = found._replace(kind="", reason=f"{reason}, unlike {cluster.rows.size - 1} sites that look like it")
        elif rules.evidence and found.kind and not (cluster.shows_purpose[place] or by_provider):
            reason = f"the page shows no purpose, unlike most of {cluster.rows.size} sites that look like it"
            found = found._replace(kind="", reason=reason)
        yield row, found


def accuse_by_provider(group: JudgedGroup, reason: str, rules: Rules) -> None:
    """Sites that lack nothing but purpose get it from their provider, most of whose other sites are parked."""
    for place, cluster in enumerate(group.clusters):
        if cluster.is_same:
            same = cluster.evidence.findings(in_common=True)
            said = f"{cluster.rows.size} sites with nearly the same page structure: {same}; {reason}"
            if not cluster.kind:
                group.clusters[place] = dataclasses.replace(cluster, kind=PARKED_ADS, reason=said)
            group.members.update(_memberships(group.clusters[place], rules, by_provider=True))


def spread(judged: Iterable[JudgedGroup], sequences: TagSequences, features: Features, rules: Rules) -> None:
    """Changes what is said of single pages that resemble a parked cluster, in whichever group that was found.

    Ordinary providers have parked pages too, too few to form a cluster. Only pages without a title of their own are
    compared, because hardly any of them is honest. A cluster must be parked by a clear margin to be compared with.
    """
    groups = list(judged)
    sure = rules.min_score + SURE_MARGIN
    clusters = [one for group in groups for one in group.clusters if one.kind and one.score >= sure]
    title_keys, counts = np.unique(
        np.concatenate([np.zeros(2, np.uint64), *(features.title_keys[cluster.rows] for cluster in clusters)]),
        return_counts=True,
    )
    common = set(title_keys[counts > 1].tolist())
    waiting: dict[int, list[JudgedGroup]] = {}
    for group in groups:
        for row, found in group.members.items():
            if not found.kind and int(features.title_keys[row]) in common:
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
                group.members[row] = group.members[row]._replace(kind=cluster.kind, reason=reason)


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
    is_parked = (scores[cluster.rows.size :] >= rules.min_score) & _shows_purpose(features, rows[near])
    parked: list[int] = rows[near][is_parked].tolist()
    return parked
