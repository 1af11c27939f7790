"""Groups of sites, such as clusters and providers: the evidence on a group is the mean of that on its sites."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.methods.verdicts.facts import NONE, PageFacts
from samehand.methods.verdicts.scoring import Evidence


@dataclasses.dataclass(frozen=True, slots=True)
class Members:
    """Which sites each of `groups` groups has: the group `group[i]` has the site `site[i]`, each pair once."""

    groups: int
    group: NDArray[np.int64]
    site: NDArray[np.int64]

    def sizes(self) -> NDArray[np.int64]:
        """How many sites each group has."""
        return np.bincount(self.group, minlength=self.groups)


def cluster_sites(facts: PageFacts, clusters: int) -> Members:
    """The sites that have pages in each cluster."""
    inside = (facts.cluster != NONE) & (facts.site != NONE)
    keys = distinct(facts.cluster[inside].astype(np.int64) * max(1, facts.sites) + facts.site[inside])
    return Members(clusters, keys // max(1, facts.sites), keys % max(1, facts.sites))


def mean_evidence(sites: Evidence, members: Members) -> Evidence:
    """The mean of each symbol over the sites of a group; a site without the symbol counts as 0."""
    order = np.argsort(sites.unit, kind="stable")
    starts = np.searchsorted(sites.unit[order], np.arange(sites.units + 1))
    counts = np.diff(starts)[members.site]
    items = order[_ranges(starts[:-1][members.site], counts)]
    symbols = int(sites.symbol.max(initial=0)) + 1
    keys = np.repeat(members.group, counts) * symbols + sites.symbol[items]
    found, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place, weights=sites.value[items], minlength=found.size)
    group = found // symbols
    means = (sums / members.sizes()[group]).astype(np.float32)
    return Evidence(members.groups, group, (found % symbols).astype(np.int16), means)


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, … for each start, as many as its count, one behind the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    places: NDArray[np.int64] = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return places


def commonest(members: Members, kinds: NDArray[np.object_]) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """The most frequent kind of each group's sites, and its share. Equal counts are decided by name."""
    names, codes = np.unique(kinds.astype(str), return_inverse=True)
    table = np.zeros((members.groups, max(1, names.size)), np.int64)
    np.add.at(table, (members.group, codes[members.site]), 1)
    best = table.argmax(axis=1)
    found = names[best].astype(object) if names.size else np.full(members.groups, "", object)
    return found, table[np.arange(members.groups), best] / np.maximum(1, table.sum(axis=1))
