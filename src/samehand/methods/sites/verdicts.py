"""The kinds of sites, their clusters and the verdicts on the providers of their name servers, as tables."""

import dataclasses

import pyarrow as pa

PARKED, OK, UNKNOWN = "parked", "ok", "unknown"
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
