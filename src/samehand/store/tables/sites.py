"""Tables of the sites method."""

import dataclasses

import pyarrow as pa

from samehand.store.columns import (
    CENTRE_URL,
    FLAG,
    HASH,
    LINKS,
    MARKUP_FLAGS,
    PAGE_ID,
    PLACEHOLDER_KIND,
    PROVIDER,
    REAL,
    REASON,
    SITE,
    SITE_CLUSTER_ID,
    SITES_COUNT,
    TEXT,
    TITLE,
    URL,
    VERDICT,
    WHOLE,
    WORDS,
    list_of,
)
from samehand.store.table import Column, Table

SITE_PAGES = Table(
    "sites/pages",
    "One row per page: its tags, and what judging its site needs.",
    (
        PAGE_ID,
        Column("tag_count", pa.int32(), "Tags of the page."),
        Column("tags", pa.large_binary(), "The first tags, packed (samehand.kernels.tags)."),
        WORDS,
        Column("text_sketch", pa.binary(256), "The 64 smallest hashes of its pairs of neighbouring words."),
        TITLE,
        Column("title_key", HASH, "Hash of the title without the site's own name; 0 for none."),
        Column("own_name", FLAG, "Whether the text spells out the site's own name."),
        Column("starts_with_domain", FLAG, "Whether the text begins with the site's own name."),
        Column("domain_prefix", pa.uint32(), "Hash of the first letters of the site's name."),
        LINKS,
        Column("query_links", pa.int32(), "Links that carry a query."),
        Column("targets", list_of(HASH), "Hashes of the hosts it links to most."),
        Column("target_links", list_of(pa.int32()), "Links to each of them."),
        Column("redirect_target", HASH, "Hash of the host that the page only leads on to; 0 for none."),
        PLACEHOLDER_KIND,
        MARKUP_FLAGS,
    ),
    in_parts=True,
)
SITES = Table(
    "sites/sites",
    "One row per site and provider, with the home page of the site.",
    (
        SITE,
        PROVIDER,
        PAGE_ID,
        URL,
        TITLE,
        dataclasses.replace(SITE_CLUSTER_ID, required=False),
        Column("distance", REAL, "Distance to the centre of the cluster.", required=False),
        VERDICT,
        REASON,
        PLACEHOLDER_KIND,
        WORDS,
        LINKS,
        Column("style_verdict", TEXT, "What the size of its style cluster alone would say (the paper's rival)."),
    ),
)
SITE_CLUSTERS = Table(
    "sites/clusters",
    "Clusters of home pages by structure, within a provider.",
    (
        SITE_CLUSTER_ID,
        PROVIDER,
        SITES_COUNT,
        Column("mean_distance", REAL, "Mean distance to the centre."),
        Column("radius", REAL, "Largest distance to the centre."),
        Column("same_text_share", REAL, "Mean share of the other sites that show mostly the same text."),
        Column("own_words", REAL, "Median number of words that a site shows alone.", required=False),
        Column("prose", REAL, "Median number of words of running text.", required=False),
        Column("same_title", REAL, "Mean share of the other sites that have the same title.", required=False),
        Column(
            "shared_targets",
            REAL,
            "Mean share of the links that lead where other sites lead; −1 if there are no links.",
            required=False,
        ),
        Column("own_name_share", REAL, "Share of sites whose text repeats their own name.", required=False),
        Column("score", REAL, "Points of evidence."),
        VERDICT,
        REASON,
        CENTRE_URL,
    ),
)
PROVIDERS = Table(
    "sites/providers",
    "One row per provider of name servers.",
    (
        PROVIDER,
        SITES_COUNT,
        Column("parked_sites", WHOLE, "Parked sites."),
        Column("ok_sites", WHOLE, "Sites that are fine."),
        Column("unknown_sites", WHOLE, "Sites without a verdict."),
        Column("placeholder_sites", WHOLE, "Sites whose home page says nothing."),
        Column("clusters", WHOLE, "Clusters of sites."),
        Column("parked_clusters", WHOLE, "Parked clusters."),
        Column("parked_share", REAL, "Share of parked sites."),
        Column("average_radius", REAL, "Average radius of the clusters (the paper's R̂)."),
        VERDICT,
        REASON,
        Column("nameservers", pa.list_(TEXT), "Name servers."),
        Column("calls_r", WHOLE, "Bounds R that were computed (the paper's table 1)."),
        Column("calls_f", WHOLE, "Bounds F that were computed."),
        Column("calls_b", WHOLE, "Bounds B that were computed."),
        Column("calls_d", WHOLE, "Distances D that were computed."),
        Column("calls_skipped", WHOLE, "Pairs that needed none."),
    ),
)
NAMESERVERS = Table(
    "sites/nameservers",
    "Name servers of the sites, as given or as asked for.",
    (
        Column("domain", pa.large_string(), "Registered domain.", required=False),
        Column("ns", pa.large_string(), "Name of a name server.", required=False),
    ),
)
SITE_LABELS = Table(
    "sites/labels",
    "Labels by hand, and the labels that follow from them.",
    (
        PAGE_ID,
        Column("label", TEXT, "The label.", required=False),
        Column("how", TEXT, "asked, identical or group.", required=False),
        dataclasses.replace(SITE, required=False),
        dataclasses.replace(URL, required=False),
    ),
)
