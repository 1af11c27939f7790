"""Sites that are judged together: clusters of their home pages, and a verdict on each (section 4 of the paper).

A cluster is spam or not, and a site is what its cluster is. The paper's rule for a cluster is its mean distance to the
centre alone (`Rules.paper`). Ours differs in five things, each measured by evaluation/structure.py:

* Pages that say nothing (plain_pages.py) are set aside: they are alike everywhere and nobody's template.
* A cluster that is not tight is clustered again: farthest-point-first spends its centres on the oddest pages, and
  a provider's few dozen parked pages would go under among its honest ones. A tight one is not cut into pieces.
* Fewer than `min_cluster` sites show no sameness: one page is always at distance 0 from itself.
* What the sites say and where they lead (site_evidence.py) is weighed with the distance: points.
* A lone page that is like a spam cluster elsewhere is weighed with that cluster.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import SettingsError
from samehand.methods.sites.centres import CLUSTERS, Calls, cluster_figures, k_centres
from samehand.methods.sites.evidence import ENOUGH_PROSE, Evidence, cluster_evidence
from samehand.methods.sites.features import Features
from samehand.methods.sites.tags import TagSequences, distances_to

SPAM, OK, UNKNOWN = "spam", "ok", "unknown"
SURE_POINTS = 1.0
"""So much above what makes spam, a cluster shows what parked pages look like elsewhere."""
DELTA = 0.25
"""δ of section 4.2, where it is printed as 2.5."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How sites are judged: what is stated at the head of this file, as numbers."""

    k: int = CLUSTERS
    delta: float = DELTA
    min_sites: int = 5
    min_cluster: int = 3
    rounds: int = 6
    evidence: bool = True
    plain: bool = True
    least_points: float = 4.0
    style_domains: int = 3

    def __post_init__(self) -> None:
        if not 0 < self.delta <= 1:
            raise SettingsError(f"delta is {self.delta}: choose a distance above 0, up to 1.")
        for name in ("k", "min_sites", "min_cluster", "rounds", "style_domains"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}: choose 1 or more.")

    @classmethod
    def paper(cls, *, k: int = CLUSTERS, delta: float = DELTA) -> Self:
        """The paper's own rule: the mean distance to the centre, and nothing else."""
        return cls(k=k, delta=delta, min_sites=1, min_cluster=1, rounds=1, evidence=False, plain=False)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Sites that look alike: rows in the order of page ids, their distances, and what is thought of them."""

    rows: NDArray[np.int64]
    distances: NDArray[np.float64]
    centre: int
    evidence: Evidence
    points: float
    verdict: str
    reason: str

    @property
    def mean(self) -> float:
        """Mean distance to the centre."""
        return float(self.distances.mean())


class Said(NamedTuple):
    """What is said of a site."""

    verdict: str
    reason: str
    cluster_row: int = -1
    distance: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """All that was found of sites that were judged together, and what is said of each row.

    A cluster goes by its first row, as in `Said`; `verdicts` has that of each.
    """

    clusters: list[Cluster]
    verdicts: dict[int, str]
    average_radius: float
    calls: Calls
    said: dict[int, Said]


def judge_group(
    rows: NDArray[np.int64], sequences: TagSequences, features: Features, *, rules: Rules, threads: int | None
) -> Judged:
    """Clusters and judges the sites of `rows`, which stand in the order of their page ids."""
    is_plain = np.array([rules.plain and features.plain[row] != "" for row in rows.tolist()], np.bool_)
    clusters, average, calls = [], 0.0, Calls()
    waiting = [(rows[~is_plain], 1)] if not is_plain.all() else []
    while waiting:
        members, round_number = waiting.pop()
        clustering = k_centres(
            sequences, members, k=rules.k, stop_radius=rules.delta if rules.evidence else 0.0, threads=threads
        )
        figures = cluster_figures(clustering)
        calls += clustering.calls
        average = figures.average_radius if round_number == 1 else average
        for number, centre in enumerate(clustering.centres.tolist()):
            inside = clustering.assignment == number
            loose = figures.radii[number] > rules.delta and figures.sizes[number] > rules.min_cluster
            if loose and round_number < rules.rounds and clustering.centres.size > 1:
                waiting.append((members[inside], round_number + 1))
            elif inside.any():
                clusters.append(_judge_cluster(members[inside], clustering.distances[inside], centre, features, rules))
    said = {row: Said(UNKNOWN, f"plain page: {features.plain[row]}") for row in rows[is_plain].tolist()}
    for cluster in clusters:
        said |= _said_of_members(cluster, rules)
    verdicts = {int(cluster.rows[0]): cluster.verdict for cluster in clusters}
    return Judged(clusters, verdicts, average, calls, said)


def _judge_cluster(
    rows: NDArray[np.int64], distances: NDArray[np.float64], centre: int, features: Features, rules: Rules
) -> Cluster:
    evidence = cluster_evidence(features, rows)
    mean = float(distances.mean())
    points = evidence.points(mean, rules.delta)
    size = f"{rows.size} sites at mean distance {mean:.2f}"
    if rows.size < rules.min_cluster:
        verdict, reason = OK, f"no group: {rows.size} of {rules.min_cluster} sites"
    elif rules.evidence and evidence.voices < rules.min_cluster:
        verdict, reason = OK, f"{size}, {evidence.voices} when copies of one text are counted once"
    elif not rules.evidence:
        verdict = SPAM if mean < rules.delta else OK
        reason = f"{size}, {'below' if verdict == SPAM else 'not below'} {rules.delta}"
    else:
        verdict = SPAM if points >= rules.least_points and mean < 2 * rules.delta else OK
        reason = f"{size}: {evidence.summary()}; {points:.1f} points, {rules.least_points} make spam"
    return Cluster(rows, distances, centre, evidence, points, verdict, reason)


def _said_of_members(cluster: Cluster, rules: Rules) -> Iterator[tuple[int, Said]]:
    """A site is what its cluster is, unless it is the one that has something to say."""
    pages = cluster.evidence.members
    for at, row in enumerate(cluster.rows.tolist()):
        said = Said(cluster.verdict, cluster.reason, int(cluster.rows[0]), float(cluster.distances[at]))
        if rules.evidence and said.verdict == SPAM and pages.own_title[at] and pages.prose[at] >= ENOUGH_PROSE:
            said = said._replace(
                verdict=OK, reason=f"a title and {pages.prose[at]:.0f} words of its own among {said.reason}"
            )
        yield row, said


def spread(judged: Iterable[Judged], sequences: TagSequences, features: Features, rules: Rules) -> None:
    """Weighs single pages with the spam clusters they are like, wherever those were found; changes what is said.

    Parked pages stand at ordinary providers too, too few there to be a group. Only pages without a title of their own
    are looked at: next to no honest ones. A cluster that is barely spam speaks for itself alone.
    """
    groups = list(judged)
    sure = rules.least_points + SURE_POINTS
    clusters = [found for group in groups for found in group.clusters if found.verdict == SPAM and found.points >= sure]
    titles, counts = np.unique(
        np.concatenate([np.zeros(2, np.uint64), *(features.titles[cluster.rows] for cluster in clusters)]),
        return_counts=True,
    )
    common = set(titles[counts > 1].tolist())
    waiting: dict[int, list[Judged]] = {}
    for found in groups:
        for row, said in found.said.items():
            if said.verdict != SPAM and said.cluster_row >= 0 and int(features.titles[row]) in common:
                waiting.setdefault(row, []).append(found)
    lengths = np.diff(sequences.offsets)
    for cluster in sorted(clusters, key=lambda found: (-found.rows.size, int(found.rows[0]))):
        rows = np.array(sorted(waiting), np.int64)
        shorter = np.minimum(lengths[rows], lengths[cluster.centre])
        rows = rows[shorter >= (1.0 - rules.delta) * np.maximum(lengths[rows], lengths[cluster.centre])]  # R
        distances = distances_to(sequences, cluster.centre, rows, within=rules.delta)
        near = np.isfinite(distances)
        for row, distance, points in _points_with(cluster, rows[near], distances[near], features, rules):
            if points >= rules.least_points:
                reason = f"at distance {distance:.2f}, with {points:.1f} points, from {cluster.reason}"
                for found in waiting.pop(row):
                    found.said[row] = found.said[row]._replace(verdict=SPAM, reason=reason)


def _points_with(
    cluster: Cluster, rows: NDArray[np.int64], distances: NDArray[np.float64], features: Features, rules: Rules
) -> Iterator[tuple[int, float, float]]:
    """Row, distance and points of each page, as if it were one of the cluster."""
    if rows.size:
        evidence = cluster_evidence(features, np.concatenate([cluster.rows, rows]))
        points = evidence.member_points(np.concatenate([cluster.distances, distances]), rules.delta)
        yield from zip(rows.tolist(), distances.tolist(), points[cluster.rows.size :].tolist(), strict=True)
