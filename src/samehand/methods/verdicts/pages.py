"""Verdicts on pages: what is known of the site, and what the page itself shows."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.methods.verdicts.facts import NONE, PageFacts, numbered
from samehand.methods.verdicts.model import Weights
from samehand.methods.verdicts.policy import Policy
from samehand.methods.verdicts.rows import Labels, verdict_columns
from samehand.methods.verdicts.scoring import Collector, score
from samehand.methods.verdicts.sites import (
    GENERATED,
    LINK_FARM,
    NOTHING_KINDS,
    PLACEHOLDER_KINDS,
    PURPOSE_KINDS,
    REAL,
    SiteFacts,
)
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, VERDICT_PAGES

MIRROR, REPLICA, TEMPLATE = "mirror", "replica", "template"
UNWANTED = 0.5
"""Probability from which on a page is named by what is wrong with it."""
_COLUMNS = ["page_id", "url", "doc_id", "url_host_name", "url_host_private_domain"]


class PageJudge:
    """Judges pages a batch at a time."""

    def __init__(self, facts: PageFacts, sites: SiteFacts, classes: list[str], weights: Weights) -> None:
        self._facts, self._sites, self._weights = facts, sites, weights
        self._is_farm = np.array([name == LINK_FARM for name in classes] or [False], np.bool_)
        self._is_mirror = np.array([name == MIRROR for name in classes] or [False], np.bool_)

    def evidence(self, rows: slice, page_ids: NDArray[np.int64]) -> Collector:
        """Evidence on the pages of `rows`."""
        facts, found = self._facts, Collector(self._weights, len(page_ids))
        kind, probability = self._site_kinds(rows, page_ids)
        for name, symbol in PURPOSE_KINDS.items():
            found.add(symbol, kind == name, probability)
        found.add("PLACEHOLDER", np.isin(kind, PLACEHOLDER_KINDS), probability)
        found.add("NOTHING_TO_READ", np.isin(kind, NOTHING_KINDS), probability)
        found.add("OWN_CONTENT", kind == REAL, probability)
        found.add("FAKE_TEXT", facts.is_fake[rows])
        found.add("NATURAL_TEXT", facts.is_natural[rows])
        found.add("LINK_FARM", self._in(self._is_farm, rows))
        found.add("REPLICA", self._is_replica(rows), np.maximum(1, facts.replica_sites[rows]))
        return found

    def kinds(self, rows: slice, page_ids: NDArray[np.int64], probability: NDArray[np.float64]) -> NDArray[np.object_]:
        """What pages are. What makes a page unwanted names it; other pages are what their site is."""
        facts = self._facts
        kind, _ = self._site_kinds(rows, page_ids)
        kind = np.where(np.isin(kind, [*PURPOSE_KINDS, *PLACEHOLDER_KINDS, *NOTHING_KINDS]), kind, REAL)
        is_free = (probability >= UNWANTED) & (kind == REAL)
        replica = self._is_replica(rows)
        kind[is_free & replica] = REPLICA
        kind[is_free & replica & self._in(self._is_mirror, rows)] = MIRROR
        kind[is_free & ~replica & facts.is_fake[rows]] = GENERATED
        return kind

    def _site_kinds(self, rows: slice, page_ids: NDArray[np.int64]) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
        """The kind of each page's site. An empty home page, or one that leads on, says nothing of other pages."""
        site = self._facts.site[rows]
        kind, probability = self._sites.kind[site], self._sites.kind_probability[site]
        is_home = self._sites.home_page[site] == page_ids
        foreign = (np.isin(kind, NOTHING_KINDS) & ~is_home) | (site == NONE)
        return np.where(foreign, REAL, kind), np.where(foreign, 0.0, probability)

    def _in(self, clusters: NDArray[np.bool_], rows: slice) -> NDArray[np.bool_]:
        cluster = self._facts.cluster[rows]
        return np.asarray(clusters[cluster] & (cluster != NONE))

    def _is_replica(self, rows: slice) -> NDArray[np.bool_]:
        """Whether pages repeat an earlier one."""
        survivor = self._facts.survivor[rows]
        return np.asarray((survivor != NONE) & (survivor != np.arange(rows.start, rows.stop)))


def write_pages(
    folder: RunFolder, judge: PageJudge, facts: PageFacts, *, weights: Weights, policy: Policy, labels: Labels
) -> dict[str, dict[str, int]]:
    """Writes the verdict on each page, a batch at a time. Returns how many have which action and kind."""
    actions: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    with folder.writer(VERDICT_PAGES, folder.settings()) as writer:
        for rows, batch in numbered(folder, PAGES, _COLUMNS):
            page_ids = batch.column("page_id").to_numpy()
            scored = score(judge.evidence(rows, page_ids).evidence(), weights)
            kind = pa.array(judge.kinds(rows, page_ids, scored.probability), pa.string())
            said = labels.of_sites(facts.site[rows])
            columns = verdict_columns(scored, kind, said, policy.page_actions)
            site = pc.coalesce(batch.column("url_host_private_domain"), batch.column("url_host_name"))
            survivor = facts.survivor[rows]
            is_replica = (survivor != NONE) & (survivor != np.arange(rows.start, rows.stop))
            kept = folder.page_ids.ids(np.where(is_replica, survivor, 0))
            names = {name: batch.column(name) for name in ("url", "doc_id", "page_id")}
            table = pa.table({**names, "site": site, **columns, "survivor_page_id": pa.array(kept, mask=~is_replica)})
            writer.write(table)
            actions.update(table.column("action").to_pylist())
            kinds.update(table.column("kind").to_pylist())
    return {"actions": dict(sorted(actions.items())), "kinds": dict(sorted(kinds.items()))}
