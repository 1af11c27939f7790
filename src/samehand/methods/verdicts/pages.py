"""Verdicts on pages: what is known of the site, and what the page itself shows."""

import dataclasses
from collections import Counter

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.verdicts.evidence import (
    BLOCKABLE,
    GENERATED,
    LINK_FARM,
    MIRROR,
    NOTHING,
    PLACEHOLDERS,
    REAL,
    REPLICA,
    UNWANTED_KINDS,
    Shown,
    add_shown,
)
from samehand.methods.verdicts.facts import NONE, PageFacts, numbered, site_names
from samehand.methods.verdicts.given import Given
from samehand.methods.verdicts.model import Weights
from samehand.methods.verdicts.policy import Policy
from samehand.methods.verdicts.rows import verdict_columns, with_actions
from samehand.methods.verdicts.scoring import Collector, score
from samehand.methods.verdicts.sites import SiteFacts, with_none
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, VERDICT_PAGES

UNWANTED = 0.5
"""Probability from which on a page is named by what is wrong with it."""
OF_ITSELF = 0.9
"""How sure the kind of a page inside a site is: the rules are measured on home pages."""
_COLUMNS = ["page_id", "url", "doc_id", "url_host_name", "url_host_private_domain"]


@dataclasses.dataclass(frozen=True, slots=True)
class PageJudge:
    """Judges pages a batch at a time."""

    facts: PageFacts
    sites: SiteFacts
    is_farm: NDArray[np.bool_]
    is_mirror: NDArray[np.bool_]
    weights: Weights

    @classmethod
    def of(cls, facts: PageFacts, sites: SiteFacts, classes: list[str], weights: Weights) -> "PageJudge":
        """The judge of a run whose style clusters have these classes."""
        named = np.array(classes or [""], object)
        return cls(facts, with_none(sites), named == LINK_FARM, named == MIRROR, weights)

    def shown(self, rows: slice) -> Shown:
        """What pages show. A parked or unfilled site is that on every page; inside other sites pages stand alone."""
        facts, home = self.facts, self.sites.shown
        site = facts.site[rows]
        alone = np.array(facts.kind_names, object)[facts.kind[rows]]
        is_home = self.sites.home_rows[site] == np.arange(rows.start, rows.stop)
        of_site = is_home | np.isin(home.kind[site], [*BLOCKABLE, *PLACEHOLDERS])
        by_itself = ~of_site & np.isin(alone, NOTHING)
        kind = np.where(of_site, home.kind[site], np.where(by_itself, alone, REAL))
        probability = np.where(of_site, home.probability[site], np.where(by_itself, OF_ITSELF, 0.0))
        purpose = np.where(of_site, facts.purpose[rows], 0).astype(np.uint8)
        return Shown(kind, probability, purpose, facts.prose[rows])

    def evidence(self, rows: slice, shown: Shown) -> Collector:
        """Evidence on the pages of `rows`."""
        facts, found = self.facts, Collector(self.weights, rows.stop - rows.start)
        add_shown(found, shown, is_own=~facts.is_fake[rows] & (facts.replica_sites[rows] < 2))
        found.add("FAKE_TEXT", facts.is_fake[rows])
        found.add("NATURAL_TEXT", facts.is_natural[rows])
        found.add("SHARED_PHRASES", facts.has_phrases[rows])
        found.add("LINK_FARM", self._in(self.is_farm, rows))
        found.add("REPLICA", facts.is_replica(rows))
        share = self.sites.provider_share[facts.site[rows]]
        found.add("PROVIDER_PARKED", (share > UNWANTED) & np.isin(shown.kind, BLOCKABLE), share)
        return found

    def kinds(self, rows: slice, shown: Shown, probability: NDArray[np.float64]) -> NDArray[np.object_]:
        """What pages are. What makes a page unwanted names it; other pages are real."""
        kind = np.where(np.isin(shown.kind, UNWANTED_KINDS), shown.kind, REAL)
        is_open = (probability >= UNWANTED) & (kind == REAL)
        is_replica = self.facts.is_replica(rows)
        kind[is_open & is_replica] = REPLICA
        kind[is_open & is_replica & self._in(self.is_mirror, rows)] = MIRROR
        kind[is_open & ~is_replica & self.facts.is_fake[rows]] = GENERATED
        return kind

    def _in(self, clusters: NDArray[np.bool_], rows: slice) -> NDArray[np.bool_]:
        cluster = self.facts.cluster[rows]
        return np.asarray(clusters[cluster] & (cluster != NONE))


def write_pages(
    folder: RunFolder, judge: PageJudge, *, policy: Policy, labels: Given, guard: pa.Array
) -> dict[str, dict[str, int]]:
    """Writes the verdict on each page, a batch at a time. Returns how many have which action and kind."""
    actions: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with folder.writer(VERDICT_PAGES, folder.settings()) as writer:
        for rows, batch in numbered(folder, PAGES, _COLUMNS):
            shown = judge.shown(rows)
            scored = score(judge.evidence(rows, shown).evidence(), judge.weights)
            kind = pa.array(judge.kinds(rows, shown, scored.probability), pa.string())
            given, site = labels.all_of(rows.start, rows.stop), judge.facts.site[rows]
            of_site = guard.take(pa.array(site, mask=site == NONE))
            columns = with_actions(verdict_columns(scored, kind, given, of_site, folder.page_ids), "pages", policy)
            is_replica = judge.facts.is_replica(rows)
            kept = folder.page_ids.ids(np.where(is_replica, judge.facts.survivor[rows], 0))
            names = {name: batch.column(name) for name in ("url", "doc_id", "page_id")}
            survivor = pa.array(kept, mask=~is_replica)
            writer.write(pa.table({**names, "site": site_names(batch), **columns, "survivor_page_id": survivor}))
            actions.update(columns["action"].to_pylist())
            kinds.update(columns["kind"].to_pylist())
    return {"page_actions": dict(sorted(actions.items())), "page_kinds": dict(sorted(kinds.items()))}
