"""Tables of the style method."""

import dataclasses

import pyarrow as pa

from samehand.store.columns import (
    CENTRE_PAGE_ID,
    CENTRE_URL,
    CLUSTER_NUMBER,
    DOC_ID,
    HASH,
    HOSTS_COUNT,
    PAGE_ID,
    PAGES_COUNT,
    REAL,
    SHARE,
    SIMILARITY,
    SITES_COUNT,
    STYLE_CLUSTER_ID,
    STYLE_FAMILY_ID,
    TEXT,
    URL,
    WHOLE,
    list_of,
)
from samehand.store.table import Column, Table

STYLE_FINGERPRINTS = Table(
    "style/fingerprints",
    "One row per page: its noise, and the fingerprints of its noise and of its canonical markup.",
    (
        PAGE_ID,
        Column("noise_bytes", WHOLE, "Bytes of noise."),
        Column("exact_match_key", HASH, "Pages too small to compare are grouped if this key is equal; 0: never."),
        Column("filled", pa.int16(), "Filled dimensions of the fingerprint."),
        Column(
            "fingerprint",
            lambda settings: pa.binary(4 * settings.dimensions),
            "Little-endian 32-bit minima, one per dimension; 2³² − 1 for an empty dimension.",
        ),
        Column("values_filled", pa.int16(), "Filled dimensions of the first half of markup_fingerprint."),
        Column("skeleton_filled", pa.int16(), "Filled dimensions of the second half of markup_fingerprint."),
        Column(
            "markup_fingerprint",
            lambda settings: pa.binary(4 * settings.markup_dimensions or -1),
            "The same for the canonical markup: a half for the punctuation of values, a half for the skeleton. Empty "
            "with the preset paper, which has no such fingerprint.",
        ),
    ),
    in_parts=True,
)
STYLE_EDGES = Table(
    "style/edges",
    "The maximum spanning forest of all checked pairs, strongest first.",
    (
        Column("left_page_id", WHOLE, "One page."),
        Column("right_page_id", WHOLE, "The other page."),
        SIMILARITY,
    ),
)
STYLE_MEMBERS = Table(
    "style/members",
    "Every page that is in a family, once. A page alone in its cluster is a cluster of its own, without a number.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        dataclasses.replace(CLUSTER_NUMBER, required=False),
        STYLE_CLUSTER_ID,
        STYLE_FAMILY_ID,
        SIMILARITY,
    ),
)
STYLE_CLUSTERS = Table(
    "style/clusters",
    "One row per cluster of two pages or more, best rank first.",
    (
        CLUSTER_NUMBER,
        STYLE_CLUSTER_ID,
        STYLE_FAMILY_ID,
        PAGES_COUNT,
        HOSTS_COUNT,
        SITES_COUNT,
        Column("mean_similarity", REAL, "Mean similarity to the medoid."),
        Column("weakest_link", SHARE, "Smallest similarity among the links that hold it together."),
        Column("score", REAL, "Mean similarity × sites: the rank."),
        CENTRE_PAGE_ID,
        CENTRE_URL,
    ),
    is_ranked=True,
)
STYLE_BEFORE = Table(
    "style/before",
    "The clusters before the last addition.",
    (PAGE_ID, STYLE_CLUSTER_ID),
)
STYLE_GROWTH = Table(
    "style/growth",
    "The clusters that changed with the last addition, most grown first.",
    (
        CLUSTER_NUMBER,
        STYLE_CLUSTER_ID,
        Column("kind", TEXT, "new, grew, merged or split."),
        PAGES_COUNT,
        Column("pages_before", WHOLE, "Those of them that were in a cluster before."),
        Column("was", list_of(WHOLE), "The clusters that its pages were in before."),
    ),
)
