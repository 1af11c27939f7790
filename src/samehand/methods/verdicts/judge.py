"""From what all methods found to the tables of verdicts."""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.wording import count
from samehand.methods.guard import never_guard
from samehand.methods.verdicts.evidence import BLOCKABLE, FARM, LINK_FARM, MIRROR, REAL, TEMPLATE, UNWANTED_KINDS
from samehand.methods.verdicts.facts import PageFacts, cluster_classes, numbered, page_facts
from samehand.methods.verdicts.given import ASKED, Given
from samehand.methods.verdicts.groups import Members, cluster_sites, commonest, mean_evidence
from samehand.methods.verdicts.labels import Applied, Ground
from samehand.methods.verdicts.model import Weights
from samehand.methods.verdicts.pages import PageJudge, write_pages
from samehand.methods.verdicts.policy import Policy
from samehand.methods.verdicts.rows import verdict_columns, with_actions
from samehand.methods.verdicts.scoring import Evidence, Scored, score
from samehand.methods.verdicts.sites import MOST_OF, SiteFacts, site_evidence, site_facts
from samehand.store.folder import RunFolder
from samehand.store.labels import LabelFile, digest_of
from samehand.store.tables import (
    PAGES,
    STYLE_CLUSTERS,
    VERDICT_CLUSTERS,
    VERDICT_PROVIDERS,
    VERDICT_SITES,
)

_OF_CLASS = {MIRROR: MIRROR, LINK_FARM: FARM, "copy": "replica", "": TEMPLATE}


def judge_run(folder: RunFolder, weights: Weights, policy: Policy) -> dict[str, Any]:
    """Writes the verdicts on pages, sites, clusters and providers. Returns how many have which action and kind."""
    facts = page_facts(folder)
    sites = site_facts(folder, facts)
    classes = cluster_classes(folder)
    clusters = cluster_sites(facts, len(classes))
    evidence = site_evidence(facts, sites, classes, clusters.sizes(), weights)
    given = LabelFile.of(folder).labels()
    labels = Ground(folder, facts, sites, given).applied(given)
    guard = guarded(sites.names)
    pages = write_pages(
        folder, PageJudge.of(facts, sites, classes, weights), policy=policy, labels=labels.pages, guard=guard
    )
    site_rows = _site_rows(folder, facts, sites, score(evidence, weights), labels, guard, policy)
    folder.write(VERDICT_SITES, site_rows)
    judge = _GroupJudge(folder, sites, evidence, weights, policy, guard)
    folder.write(VERDICT_CLUSTERS, _cluster_rows(judge, clusters, classes, labels.clusters))
    folder.write(VERDICT_PROVIDERS, _provider_rows(judge, labels.providers))
    counts = {"site_actions": _counted(site_rows, "action"), "site_kinds": _counted(site_rows, "kind")}
    return pages | counts | {"labels": len(given), "unknown_labels": labels.unknown, "label_digest": digest_of(given)}


def guarded(names: pa.Array) -> pa.Array:
    """Why each site is never blocked; null where nothing forbids it."""
    guard = never_guard()
    hits = (guard.hit_of_site(name) for name in names.to_pylist())
    return pa.array([hit and hit.label for hit in hits], pa.string())


def _counted(table: pa.Table, column: str) -> dict[str, int]:
    return dict(sorted(Counter(table.column(column).to_pylist()).items()))


def _site_rows(
    folder: RunFolder,
    facts: PageFacts,
    sites: SiteFacts,
    scored: Scored,
    labels: Applied,
    guard: pa.Array,
    policy: Policy,
) -> pa.Table:
    kinds = sites.shown.kind.copy()
    for site, kind in labels.kinds.items():
        kinds[site] = kind
    given = labels.sites.all_of(0, facts.sites)
    columns = verdict_columns(scored, pa.array(kinds, pa.string()), given, guard, folder.page_ids)
    pages = facts.per_site(np.ones(facts.site.size, np.bool_))
    page_ids = folder.page_ids.ids(sites.home_rows)
    names = {"site": sites.names, "url": _urls(folder, sites.home_rows), "page_id": page_ids, "pages": pages}
    return pa.table({**names, **with_actions(columns, "sites", policy)})


def _urls(folder: RunFolder, rows: NDArray[np.int64]) -> pa.Array:
    """The URLs of a few pages, in the order of `rows`."""
    order = np.argsort(rows, kind="stable")
    parts = []
    for part, batch in numbered(folder, PAGES, ["url"]):
        here = rows[order[slice(*np.searchsorted(rows[order], [part.start, part.stop]))]]
        parts.append(batch.column("url").take(pa.array(here - part.start)))
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    return pa.concat_arrays(parts).take(pa.array(places)) if parts else pa.array([], pa.string())


@dataclasses.dataclass(frozen=True, slots=True)
class _GroupJudge:
    """Judges groups of sites."""

    folder: RunFolder
    sites: SiteFacts
    evidence: Evidence
    weights: Weights
    policy: Policy
    guard: pa.Array

    def columns(self, members: Members, kinds: NDArray[np.object_], labels: Mapping[int, int]) -> dict[str, pa.Array]:
        """The columns of the verdicts on groups of these kinds. `labels` has the answers about some of them."""
        scored = score(mean_evidence(self.evidence, members), self.weights)
        numbers = sorted(labels)
        said = Given.made(np.array(numbers, np.int64), np.array([labels[number] for number in numbers]), ASKED)
        given = said.all_of(0, members.groups)
        columns = verdict_columns(
            scored, pa.array(kinds, pa.string()), given, self._guards(members), self.folder.page_ids
        )
        return with_actions(columns, "groups", self.policy)

    def _guards(self, members: Members) -> pa.Array:
        """How many sites of each group are under the guard, and which one is first."""
        inside = self.guard.is_valid().to_numpy(zero_copy_only=False)[members.site]
        found: list[str | None] = [None] * members.groups
        groups, first, counts = np.unique(members.group[inside], return_index=True, return_counts=True)
        names = self.sites.names.take(pa.array(members.site[inside][first])).to_pylist()
        for group, name, number in zip(groups.tolist(), names, counts.tolist(), strict=True):
            found[group] = f"{count(number, 'guarded site')}, such as {name}"
        return pa.array(found, pa.string())


def _cluster_rows(judge: _GroupJudge, clusters: Members, classes: list[str], labels: Mapping[int, int]) -> pa.Table:
    """A cluster is what most of its sites are; a cluster of real sites is what its class says."""
    if not classes:
        return VERDICT_CLUSTERS.fixed_schema.empty_table()
    kinds, share = commonest(clusters, judge.sites.shown.kind)
    by_class = np.array([_OF_CLASS.get(name, TEMPLATE) for name in classes], object)
    kinds = np.where(np.isin(kinds, UNWANTED_KINDS) & (share > MOST_OF), kinds, by_class)
    stored = judge.folder.read(STYLE_CLUSTERS, ["cluster_number", "style_cluster_id", "pages", "sites"])
    columns = judge.columns(clusters, kinds, labels)
    return pa.table({**{name: stored.column(name) for name in stored.column_names}, **columns})


def _provider_rows(judge: _GroupJudge, labels: Mapping[str, int]) -> pa.Table:
    """A provider is what most of its sites are."""
    sites = judge.sites
    known = np.flatnonzero(sites.provider != "")
    names, group = np.unique(sites.provider[known].astype(str), return_inverse=True)
    members = Members(names.size, group.astype(np.int64), known)
    kinds, share = commonest(members, sites.shown.kind)
    kinds = np.where(share > MOST_OF, kinds, REAL)
    unwanted = np.bincount(group, weights=np.isin(sites.shown.kind[known], BLOCKABLE), minlength=names.size)
    places = {name: place for place, name in enumerate(names.tolist())}
    columns = judge.columns(members, kinds, {places[name]: answer for name, answer in labels.items()})
    sizes = members.sizes()
    share_unwanted = (unwanted / np.maximum(1, sizes)).astype(np.float32)
    return pa.table({"provider": names.tolist(), "sites": sizes, "unwanted_share": share_unwanted, **columns})
