"""Verdicts on clusters and providers: the mean of the evidence on their sites, each site once."""

import numpy as np
from numpy.typing import NDArray

from samehand.methods.verdicts.facts import NONE, PageFacts
from samehand.methods.verdicts.scoring import Evidence


def cluster_sites(facts: PageFacts, clusters: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of a cluster and a site that has pages in it, each once."""
    inside = (facts.cluster != NONE) & (facts.site != NONE)
    keys = np.unique(facts.cluster[inside].astype(np.int64) * max(1, facts.sites) + facts.site[inside])
    return keys // max(1, facts.sites), keys % max(1, facts.sites)


def mean_evidence(
    sites: Evidence, groups: NDArray[np.int64], members: NDArray[np.int64], group_count: int
) -> Evidence:
    """The evidence on groups of sites: the mean of each symbol over the sites of the group, absent ones as 0.

    `groups[i]` has the site `members[i]`. A sum of means is the mean of the sums, so a group stands where its sites do.
    """
    sizes = np.bincount(groups, minlength=group_count)
    starts = np.searchsorted(sites.unit, np.arange(sites.units + 1), sorter=(order := np.argsort(sites.unit, kind="stable")))
    counts = np.diff(starts)[members]
    items = order[_ranges(starts[:-1][members], counts)]
    group_of_item = np.repeat(groups, counts)
    symbols = int(sites.symbol.max(initial=-1)) + 1
    keys = group_of_item * max(1, symbols) + sites.symbol[items]
    found, place = np.unique(keys, return_inverse=True)
    sums = np.bincount(place, weights=sites.value[items], minlength=found.size)
    unit = found // max(1, symbols)
    means = (sums / sizes[unit]).astype(np.float32)
    return Evidence(group_count, unit, (found % max(1, symbols)).astype(np.int16), means)


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, … for each start, as many as its count, one behind the other."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1]) if ends.size else 0) + np.repeat(starts - (ends - counts), counts)


def commonest(
    groups: NDArray[np.int64], members: NDArray[np.int64], kinds: NDArray[np.object_], group_count: int
) -> tuple[NDArray[np.object_], NDArray[np.float64]]:
    """The most frequent kind of each group's sites, and its share. Equal counts are decided by name."""
    names, codes = np.unique(kinds.astype(str), return_inverse=True)
    table = np.zeros((group_count, max(1, names.size)), np.int64)
    np.add.at(table, (groups, codes[members]), 1)
    best = table.argmax(axis=1)
    total = np.maximum(1, table.sum(axis=1))
    found = names[best].astype(object) if names.size else np.full(group_count, "", object)
    return found, table[np.arange(group_count), best] / total
