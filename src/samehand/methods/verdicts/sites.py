"""Evidence on sites: what the home page shows, what other sites have too, how the texts read, who serves the names."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.verdicts.evidence import LINK_FARM, UNSURE, Shown, add_shown
from samehand.methods.verdicts.facts import NONE, PageFacts
from samehand.methods.verdicts.model import Weights
from samehand.methods.verdicts.scoring import Collector, Evidence
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, PROVIDERS, SITES

MOST_OF = 0.5
"""Share of a site's pages, or of a provider's sites, that speaks for the whole."""


@dataclasses.dataclass(frozen=True, slots=True)
class SiteFacts:
    """Facts by site, in the order of PageFacts.first_rows."""

    names: pa.Array
    shown: Shown
    home_rows: NDArray[np.int64]
    """Row of the home page; the first page of the site where the run has no sites method."""
    provider: NDArray[np.object_]
    provider_share: NDArray[np.float64]
    """Lower bound of the share of parked sites at the provider; 0 where none is known."""


def site_facts(folder: RunFolder, facts: PageFacts) -> SiteFacts:
    """What the sites method found."""
    names = _names(folder, facts.first_rows)
    kind, provider = (np.full(facts.sites, value, object) for value in (UNSURE, ""))
    probability, share = np.zeros(facts.sites), np.zeros(facts.sites)
    home = facts.first_rows.copy()
    if folder.done.get("sites") is not None:
        table = folder.read(SITES, ["site", "kind", "probability", "provider", "page_id"])
        places = _places(names, table.column("site").combine_chunks())
        kind[places] = table.column("kind").to_numpy()
        probability[places] = table.column("probability").to_numpy()
        home[places] = folder.page_ids.rows(table.column("page_id").to_numpy())
        provider[places] = table.column("provider").to_numpy()
        share[places] = _provider_shares(folder, table.column("provider"))
    shown = Shown(kind, probability, facts.purpose[home], facts.prose[home])
    return SiteFacts(names, shown, home, provider, share)


def _names(folder: RunFolder, rows: NDArray[np.int64]) -> pa.Array:
    """The names of the sites of a few pages, read a part at a time."""
    parts, first = [], 0
    for batch in folder.iterate(PAGES, ["url_host_private_domain", "url_host_name"]):
        here = rows[(rows >= first) & (rows < first + len(batch))] - first
        sites = pc.coalesce(batch.column("url_host_private_domain"), batch.column("url_host_name"))
        parts.append(sites.take(pa.array(here)))
        first += len(batch)
    return pa.concat_arrays(parts) if parts else pa.array([], pa.string())


def _places(names: pa.Array, wanted: pa.Array) -> NDArray[np.int64]:
    """The place of each wanted name among the names of all sites."""
    hashes = hash_hosts(*text_buffers(names))
    order = np.argsort(hashes)
    return np.asarray(order[np.searchsorted(hashes[order], hash_hosts(*text_buffers(wanted)))])


def _provider_shares(folder: RunFolder, providers: pa.ChunkedArray) -> NDArray[np.float64]:
    known = folder.read(PROVIDERS, ["provider", "parked_share_low", "verdict"])
    rows = zip(*(known.column(name).to_pylist() for name in ("provider", "parked_share_low", "verdict")), strict=True)
    shares = {provider: share for provider, share, verdict in rows if verdict != "unknown"}
    return np.array([shares.get(provider, 0.0) for provider in providers.to_pylist()])


def site_evidence(
    facts: PageFacts, sites: SiteFacts, classes: list[str], cluster_sites: NDArray[np.int64], weights: Weights
) -> Evidence:
    """All evidence on sites. Pages count as shares of their site: ten thousand copies say no more than one."""
    found = Collector(weights, facts.sites)
    found.add("PROVIDER_PARKED", sites.provider_share > MOST_OF, sites.provider_share)
    pages = np.maximum(1, facts.per_site(np.ones(facts.site.size, np.bool_)))
    judged = facts.per_site(facts.is_fake | facts.is_natural)
    fake = facts.per_site(facts.is_fake) / np.maximum(1, judged)
    found.add("FAKE_TEXT", (judged > 0) & (fake >= MOST_OF), fake)
    found.add("NATURAL_TEXT", (judged > 0) & (fake < MOST_OF), 1 - fake)
    spun = facts.per_site(facts.has_phrases) / pages
    found.add("SHARED_PHRASES", spun >= MOST_OF, spun)
    copied = facts.per_site(facts.replica_sites > 1) / pages
    add_shown(found, sites.shown, is_own=(fake < MOST_OF) & (copied < MOST_OF))
    found.add("COPIED_TEXT", copied >= MOST_OF, copied)
    if classes:
        _add_clusters(found, facts, np.array([name == LINK_FARM for name in classes]), cluster_sites, pages)
    return found.evidence()


def _add_clusters(
    found: Collector,
    facts: PageFacts,
    is_farm: NDArray[np.bool_],
    cluster_sites: NDArray[np.int64],
    pages: NDArray[np.int64],
) -> None:
    inside = (facts.cluster != NONE) & (facts.site != NONE)
    farmed = facts.per_site(inside & is_farm[facts.cluster]) / pages
    found.add("LINK_FARM", farmed >= MOST_OF, farmed)
    widest = np.ones(facts.sites, np.int64)
    np.maximum.at(widest, facts.site[inside], cluster_sites[facts.cluster[inside]])
    found.add("SHARED_TEMPLATE", widest > 1, np.log2(widest))
