"""Tables of the verdicts: what each page, site, cluster and provider is, how sure that is, and why."""

import dataclasses

import pyarrow as pa

from samehand.store.columns import (
    CLUSTER_NUMBER,
    DOC_ID,
    PAGE_ID,
    PAGES_COUNT,
    PROVIDER,
    REAL,
    SHARE,
    SITE,
    SITES_COUNT,
    STYLE_CLUSTER_ID,
    TEXT,
    URL,
    list_of,
)
from samehand.store.table import Column, Table

EVIDENCE_ITEM = pa.struct(
    [
        pa.field("symbol", pa.string(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
        pa.field("value", pa.float32(), nullable=False),
        pa.field("log_odds", pa.float32(), nullable=False),
    ]
)
"""One item of evidence: its name, its group, what was found, and what it adds before the bounds of its group."""

_VERDICT = (
    Column("action", TEXT, "What the policy of the run says: keep, review, drop (pages) or block (sites)."),
    Column("kind", TEXT, "What it is."),
    Column("probability", REAL, "Probability that nobody needs it."),
    Column("probability_low", REAL, "Lower end of the 95 % interval."),
    Column("probability_high", REAL, "Upper end of the 95 % interval."),
    Column("log_odds", REAL, "The sum of the evidence, with the prior: natural-log odds before calibration."),
    Column("evidence", list_of(EVIDENCE_ITEM), "Items of evidence, strongest first."),
    Column("label", TEXT, "wanted or unwanted, if a label by hand names the unit or spread to it.", required=False),
    Column(
        "label_how",
        TEXT,
        "asked, site or cluster: a person named the unit, its site or its cluster, and the label decides. identical, "
        "group or path: the label spread to it, and moves the action one step.",
        required=False,
    ),
    Column("label_page_id", PAGE_ID.type, "The labelled page that it spread from.", required=False),
    Column("label_via_page_id", PAGE_ID.type, "The page before this one on the way from there.", required=False),
    Column("label_similarity", SHARE, "Least similarity on the way.", required=False),
    Column("guard", TEXT, "Why it is never blocked, if it is under the guard.", required=False),
)

VERDICT_PAGES = Table(
    "verdicts/pages",
    "One row per page.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        dataclasses.replace(SITE, required=False),
        *_VERDICT,
        Column("survivor_page_id", PAGE_ID.type, "The page to keep instead, of near replicas.", required=False),
    ),
)
VERDICT_SITES = Table(
    "verdicts/sites",
    "One row per site.",
    (SITE, URL, PAGE_ID, PAGES_COUNT, *_VERDICT),
)
VERDICT_CLUSTERS = Table(
    "verdicts/clusters",
    "One row per style cluster, by rank.",
    (CLUSTER_NUMBER, STYLE_CLUSTER_ID, PAGES_COUNT, SITES_COUNT, *_VERDICT),
    is_ranked=True,
)
VERDICT_PROVIDERS = Table(
    "verdicts/providers",
    "One row per provider of name servers.",
    (
        PROVIDER,
        SITES_COUNT,
        Column("unwanted_share", SHARE, "Share of its sites that are parked, for sale or part of a farm."),
        *_VERDICT,
    ),
)
