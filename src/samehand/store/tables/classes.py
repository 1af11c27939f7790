"""The table of cluster classes."""

from samehand.store.columns import (
    REAL,
    STYLE_CLUSTER_ID,
    TEXT,
)
from samehand.store.table import Column, Table

CLASSES = Table(
    "classes/clusters",
    "What kind of cluster each style cluster is.",
    (
        STYLE_CLUSTER_ID,
        Column("class", TEXT, "mirror, identical, copy, link farm or template."),
        Column("same_text", REAL, "Share of the pages whose text is also on another host of the cluster."),
        Column("same_path", REAL, "Share of those that have the same path there."),
        Column("same_links", REAL, "Mean share of the linked hosts that a copy of the page links to as well."),
        Column("inner_links", REAL, "Mean share of the linked hosts that belong to the cluster."),
        Column("made_text", REAL, "Share of the judged texts that a machine made; 0 if no text was judged."),
    ),
)
