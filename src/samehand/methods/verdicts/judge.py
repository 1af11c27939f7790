"""From what all methods found to the tables of verdicts."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.methods.verdicts.evidence import BLOCKABLE, FARM, LINK_FARM, MIRROR, REAL, TEMPLATE, UNWANTED_KINDS
from samehand.methods.verdicts.facts import PageFacts, cluster_classes, numbered, page_facts
from samehand.methods.verdicts.groups import Members, cluster_sites, commonest, mean_evidence
from samehand.methods.verdicts.model import Weights
from samehand.methods.verdicts.pages import PageJudge, write_pages
from samehand.methods.verdicts.policy import Policy
from samehand.methods.verdicts.rows import Labels, verdict_columns
from samehand.methods.verdicts.scoring import Evidence, Scored, may_block, score
from samehand.methods.verdicts.sites import MOST_OF, SiteFacts, site_evidence, site_facts
from samehand.store.folder import RunFolder
from samehand.store.tables import (
    PAGES,
    SITE_LABELS,
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
    labels = _labels(folder, facts)
    pages = write_pages(folder, PageJudge.of(facts, sites, classes, weights), policy=policy, labels=labels)
    scored = score(evidence, weights)
    site_rows = _site_rows(folder, facts, sites, scored, labels, weights, policy)
    folder.write(VERDICT_SITES, site_rows)
    folder.write(VERDICT_CLUSTERS, _cluster_rows(folder, clusters, classes, sites, evidence, weights, policy))
    folder.write(VERDICT_PROVIDERS, _provider_rows(sites, evidence, weights, policy))
    return pages | {"site_actions": _counted(site_rows, "action"), "site_kinds": _counted(site_rows, "kind")}


def _counted(table: pa.Table, column: str) -> dict[str, int]:
    return dict(sorted(Counter(table.column(column).to_pylist()).items()))


def _labels(folder: RunFolder, facts: PageFacts) -> Labels:
    """Labels by hand of sites, those that follow from them included."""
    found = np.full(facts.sites, "", object)
    if folder.has(SITE_LABELS):
        table = folder.read(SITE_LABELS, ["page_id", "label"]).filter(~pc.is_null(pc.field("label")))
        site = facts.site[folder.page_ids.rows(table.column("page_id").to_numpy())]
        found[site] = table.column("label").to_numpy()
    return Labels(found)


def _site_rows(
    folder: RunFolder,
    facts: PageFacts,
    sites: SiteFacts,
    scored: Scored,
    labels: Labels,
    weights: Weights,
    policy: Policy,
) -> pa.Table:
    allowed = may_block(pa.chunked_array([scored.items]))
    columns = verdict_columns(
        scored,
        pa.array(sites.shown.kind, pa.string()),
        labels.by_site,
        lambda kinds, probability: policy.site_actions(kinds, probability, allowed),
    )
    pages = facts.per_site(np.ones(facts.site.size, np.bool_))
    page_ids = folder.page_ids.ids(sites.home_rows)
    names = {"site": sites.names, "url": _urls(folder, sites.home_rows), "page_id": page_ids, "pages": pages}
    return pa.table({**names, **columns})


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


def _group_columns(
    members: Members, sites: SiteFacts, evidence: Evidence, weights: Weights, policy: Policy, kinds: NDArray[np.object_]
) -> dict[str, pa.Array]:
    scored = score(mean_evidence(evidence, members), weights)
    allowed = may_block(pa.chunked_array([scored.items])) & np.isin(kinds, BLOCKABLE)
    nobody = np.full(members.groups, "", object)
    return verdict_columns(
        scored, pa.array(kinds, pa.string()), nobody, lambda kind, p: policy.site_actions(kind, p, allowed)
    )


def _cluster_rows(
    folder: RunFolder,
    clusters: Members,
    classes: list[str],
    sites: SiteFacts,
    evidence: Evidence,
    weights: Weights,
    policy: Policy,
) -> pa.Table:
    """A cluster is what most of its sites are; a cluster of real sites is what its class says."""
    if not classes:
        return VERDICT_CLUSTERS.fixed_schema.empty_table()
    kinds, share = commonest(clusters, sites.shown.kind)
    by_class = np.array([_OF_CLASS.get(name, TEMPLATE) for name in classes], object)
    kinds = np.where(np.isin(kinds, UNWANTED_KINDS) & (share > MOST_OF), kinds, by_class)
    stored = folder.read(STYLE_CLUSTERS, ["cluster_number", "style_cluster_id", "pages", "sites"])
    columns = _group_columns(clusters, sites, evidence, weights, policy, kinds)
    return pa.table({**{name: stored.column(name) for name in stored.column_names}, **columns})


def _provider_rows(sites: SiteFacts, evidence: Evidence, weights: Weights, policy: Policy) -> pa.Table:
    """A provider is what most of its sites are."""
    known = np.flatnonzero(sites.provider != "")
    names, group = np.unique(sites.provider[known].astype(str), return_inverse=True)
    members = Members(names.size, group.astype(np.int64), known)
    kinds, share = commonest(members, sites.shown.kind)
    kinds = np.where(share > MOST_OF, kinds, REAL)
    unwanted = np.bincount(group, weights=np.isin(sites.shown.kind[known], BLOCKABLE), minlength=names.size)
    columns = _group_columns(members, sites, evidence, weights, policy, kinds)
    sizes = members.sizes()
    share_unwanted = (unwanted / np.maximum(1, sizes)).astype(np.float32)
    return pa.table({"provider": names.tolist(), "sites": sizes, "unwanted_share": share_unwanted, **columns})
