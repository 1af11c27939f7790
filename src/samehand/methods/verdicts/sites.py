"""Evidence on sites: what the home page is, what their pages have in common with other sites, how their texts read."""

import dataclasses

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.verdicts.facts import NONE, PageFacts
from samehand.methods.verdicts.model import Weights
from samehand.methods.verdicts.scoring import Collector, Evidence
from samehand.store.folder import RunFolder
from samehand.store.tables import PROVIDERS, SITES

REAL, UNSURE, GENERATED = "real", "unsure", "generated"
PURPOSE_KINDS = {"parked-ads": "PARKED_ADS", "for-sale": "FOR_SALE", "farm": "FARM"}
"""Kinds that accuse, and the evidence they are."""
PLACEHOLDER_KINDS = ("hosting-default", "registrar-default", "cms-default", "coming-soon", "suspended")
NOTHING_KINDS = ("redirect", "error", "challenge", "empty", "shell")
"""Kinds of home pages that show nothing of the site."""
LINK_FARM = "link farm"
MOST_OF = 0.5
"""Share of a site's pages that speaks for the whole site."""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteFacts:
    """Facts by site, in the order of PageFacts.first_rows."""

    kind: NDArray[np.object_]
    kind_probability: NDArray[np.float64]
    home_page: NDArray[np.int64]
    provider_share: NDArray[np.float64]
    """Lower bound of the share of parked sites at the site's provider; 0 where none is known."""


def site_facts(folder: RunFolder, facts: PageFacts, hashes: NDArray[np.uint64]) -> SiteFacts:
    """What the sites method found. `hashes` are those of the sites' names."""
    kind = np.full(facts.sites, UNSURE, object)
    probability, share = np.zeros(facts.sites), np.zeros(facts.sites)
    home = folder.page_ids.ids(facts.first_rows)
    if folder.done.get("sites") is not None:
        table = folder.read(SITES, ["site", "kind", "probability", "provider", "page_id"])
        places = _places(hashes, table.column("site").combine_chunks())
        kind[places] = table.column("kind").to_numpy()
        probability[places] = table.column("probability").to_numpy()
        home[places] = table.column("page_id").to_numpy()
        share[places] = _provider_shares(folder, table.column("provider").combine_chunks())
    return SiteFacts(kind, probability, home, share)


def _places(hashes: NDArray[np.uint64], names: pa.Array) -> NDArray[np.int64]:
    """The place of each name among the hashes of all sites."""
    order = np.argsort(hashes)
    return order[np.searchsorted(hashes[order], hash_hosts(*text_buffers(names)))]


def _provider_shares(folder: RunFolder, providers: pa.Array) -> NDArray[np.float64]:
    known = folder.read(PROVIDERS, ["provider", "parked_share_low"])
    shares = dict(zip(known.column("provider").to_pylist(), known.column("parked_share_low").to_pylist(), strict=True))
    return np.array([shares.get(provider) or 0.0 for provider in providers.to_pylist()])


def site_evidence(
    facts: PageFacts, sites: SiteFacts, classes: list[str], cluster_sites: NDArray[np.int64], weights: Weights
) -> Evidence:
    """All evidence on sites. Pages count as shares of their site: ten thousand copies say no more than one."""
    found = Collector(weights, facts.sites)
    for kind, symbol in PURPOSE_KINDS.items():
        found.add(symbol, sites.kind == kind, sites.kind_probability)
    found.add("PLACEHOLDER", np.isin(sites.kind, PLACEHOLDER_KINDS), sites.kind_probability)
    found.add("NOTHING_TO_READ", np.isin(sites.kind, NOTHING_KINDS), sites.kind_probability)
    found.add("OWN_CONTENT", sites.kind == REAL, sites.kind_probability)
    found.add("PROVIDER_PARKED", sites.provider_share > MOST_OF, sites.provider_share)
    _add_shares(found, facts, classes, cluster_sites)
    return found.evidence()


def _add_shares(found: Collector, facts: PageFacts, classes: list[str], cluster_sites: NDArray[np.int64]) -> None:
    pages = np.maximum(1, facts.per_site(np.ones(facts.site.size, np.bool_)))
    judged = facts.per_site(facts.is_fake | facts.is_natural)
    fake = facts.per_site(facts.is_fake) / np.maximum(1, judged)
    found.add("FAKE_TEXT", (judged > 0) & (fake >= MOST_OF), fake)
    found.add("NATURAL_TEXT", (judged > 0) & (fake < MOST_OF), 1 - fake)
    in_cluster = facts.cluster != NONE
    farm = np.array([name == LINK_FARM for name in classes], np.bool_)
    in_farm = in_cluster & (farm[facts.cluster] if farm.size else False)
    share = facts.per_site(in_farm) / pages
    found.add("LINK_FARM", share >= MOST_OF, share)
    copied = facts.per_site(facts.replica_sites > 1) / pages
    found.add("COPIED_TEXT", copied >= MOST_OF, copied)
    widest = np.zeros(facts.sites, np.int64)
    np.maximum.at(widest, facts.site[in_cluster], cluster_sites[facts.cluster[in_cluster]] if farm.size else 0)
    found.add("SHARED_TEMPLATE", widest > 1, np.log2(np.maximum(1, widest)))
