"""The verdicts on sites, their clusters and the providers of their name servers, as tables."""

import dataclasses

import pyarrow as pa

PARKED, OK, UNKNOWN = "parked", "ok", "unknown"
VERDICT_ORDER = (PARKED, OK, UNKNOWN)
NO_PROVIDER, POOL = "(unknown)", "(others)"
"""The provider of sites whose name servers are not known; and the group in which those sites, and the sites of
providers with too few, are clustered."""


def _schema(**columns: pa.DataType) -> pa.Schema:
    """Columns without nulls, except those that a placeholder has no value for."""
    nullable = ("site_cluster_id", "distance") if "site" in columns else ()
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns.items()])


_TEXT, _COUNT, _REAL = pa.string(), pa.int64(), pa.float64()
SITE_SCHEMA = _schema(
    site=_TEXT,
    provider=_TEXT,
    page_id=_COUNT,
    url=_TEXT,
    title=_TEXT,
    site_cluster_id=_COUNT,
    distance=_REAL,
    verdict=_TEXT,
    reason=_TEXT,
    placeholder_kind=_TEXT,
    words=_COUNT,
    links=_COUNT,
    style_verdict=_TEXT,
)
"""One row per site and provider. Placeholders are in no cluster."""
CLUSTER_SCHEMA = _schema(
    site_cluster_id=_COUNT,
    provider=_TEXT,
    sites=_COUNT,
    mean_distance=_REAL,
    radius=_REAL,
    same_text_share=_REAL,
    own_words=_REAL,
    prose=_REAL,
    same_title=_REAL,
    shared_targets=_REAL,
    own_name=_REAL,
    score=_REAL,
    verdict=_TEXT,
    reason=_TEXT,
    centre_url=_TEXT,
)
"""The id of a cluster is its smallest page id. evidence.py explains the figures."""
PROVIDER_SCHEMA = _schema(
    provider=_TEXT,
    sites=_COUNT,
    parked_sites=_COUNT,
    ok_sites=_COUNT,
    unknown_sites=_COUNT,
    placeholder_sites=_COUNT,
    clusters=_COUNT,
    parked_clusters=_COUNT,
    parked_share=_REAL,
    average_radius=_REAL,
    verdict=_TEXT,
    reason=_TEXT,
    nameservers=pa.list_(_TEXT),
    calls_r=_COUNT,
    calls_f=_COUNT,
    calls_b=_COUNT,
    calls_d=_COUNT,
    calls_skipped=_COUNT,
)
"""`average_radius` is the paper's R̂ of the first clustering. The calls are those of its table 1."""


@dataclasses.dataclass(frozen=True, slots=True)
class Verdicts:
    """Three tables: SITE_SCHEMA, CLUSTER_SCHEMA and PROVIDER_SCHEMA."""

    sites: pa.Table
    clusters: pa.Table
    providers: pa.Table
