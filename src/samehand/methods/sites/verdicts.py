"""The kinds of sites, their clusters and the verdicts on the providers of their name servers, as tables."""

import dataclasses

import pyarrow as pa

REDIRECT, ERROR, CHALLENGE, EMPTY, SHELL, LOGIN = "redirect", "error", "challenge", "empty", "shell", "login"
HOSTING, REGISTRAR, CMS = "hosting-default", "registrar-default", "cms-default"
SOON, SUSPENDED, FOR_SALE, PARKED_ADS = "coming-soon", "suspended", "for-sale", "parked-ads"
COPIES, FARM, NETWORK, REAL, UNSURE = "copies", "farm", "network", "real", "unsure"
NO_SITE = (REDIRECT, ERROR, CHALLENGE, EMPTY, SHELL, LOGIN)
"""Kinds of pages that show nothing of a site: they join no cluster and spread nothing."""
DEFAULTS = (HOSTING, REGISTRAR, CMS, SOON, SUSPENDED)
"""Kinds of pages that a site's owner has not filled yet, or no more."""
ACCUSING = (PARKED_ADS, FOR_SALE, FARM)
KINDS = (*NO_SITE, *DEFAULTS, FOR_SALE, PARKED_ADS, COPIES, FARM, NETWORK, REAL, UNSURE)
PARKED_KINDS = (PARKED_ADS, FOR_SALE, REGISTRAR)
"""Kinds that make a provider one of parked domains."""

PARKED, OK, UNKNOWN = "parked", "ok", "unknown"
"""Verdicts on providers."""
VERDICT_ORDER = (PARKED, OK, UNKNOWN)
NO_PROVIDER, POOL = "(unknown)", "(others)"
"""The provider of sites whose name servers are not known; and the group in which those sites, and the sites of
providers with too few, are clustered."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdicts:
    """Rows of the tables SITES, SITE_CLUSTERS and PROVIDERS."""

    sites: pa.Table
    clusters: pa.Table
    providers: pa.Table


def providers_line(counts: dict[str, int]) -> str:
    """What is known of providers, in words."""
    if not sum(counts.values()):
        return "no provider is known"
    verdicts = f"{counts[PARKED]:,} parked, {counts[OK]:,} ok, {counts[UNKNOWN]:,} with too few sites"
    return f"{sum(counts.values()):,} providers: {verdicts}"
