"""Every table and file of the run folder, once: name, columns, types and meaning. docs/run-folder.md is made from this.

Ids: a `page_id` is (number of the unit of work << 32) + place within the unit. The id of a cluster, family or group is
the smallest `page_id` in it, so it stays the same when the run grows. Numbers (`cluster_number`, …) count from 1 in
order of rank and are for people: they change when the run grows. A `site` is the private domain of the URL, or its
host name where it has no domain.
"""

from samehand.store.table import Table
from samehand.store.tables.classes import CLASSES
from samehand.store.tables.language import LANGUAGE_PAGES
from samehand.store.tables.pages import CONTENT, PAGES, REJECTS
from samehand.store.tables.phrases import PHRASES_GROUPS, PHRASES_MEMBERS, PHRASES_WORDS
from samehand.store.tables.replica import REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SHARES, REPLICA_SIGNATURES
from samehand.store.tables.sites import NAMESERVERS, PROVIDERS, SITE_CLUSTERS, SITE_PAGES, SITES
from samehand.store.tables.style import (
    STYLE_BEFORE,
    STYLE_CLUSTERS,
    STYLE_EDGES,
    STYLE_FINGERPRINTS,
    STYLE_GROWTH,
    STYLE_MEMBERS,
)
from samehand.store.tables.verdicts import VERDICT_CLUSTERS, VERDICT_PAGES, VERDICT_PROVIDERS, VERDICT_SITES

TABLES: tuple[Table, ...] = (
    PAGES,
    REJECTS,
    CONTENT,
    STYLE_FINGERPRINTS,
    STYLE_EDGES,
    STYLE_MEMBERS,
    STYLE_CLUSTERS,
    STYLE_BEFORE,
    STYLE_GROWTH,
    REPLICA_SIGNATURES,
    REPLICA_MEMBERS,
    REPLICA_GROUPS,
    REPLICA_SHARES,
    CLASSES,
    LANGUAGE_PAGES,
    PHRASES_WORDS,
    PHRASES_MEMBERS,
    PHRASES_GROUPS,
    SITE_PAGES,
    SITES,
    SITE_CLUSTERS,
    PROVIDERS,
    NAMESERVERS,
    VERDICT_PAGES,
    VERDICT_SITES,
    VERDICT_CLUSTERS,
    VERDICT_PROVIDERS,
)
"""All tables, in the order of docs/run-folder.md."""

__all__ = [
    "CLASSES",
    "CONTENT",
    "LANGUAGE_PAGES",
    "NAMESERVERS",
    "PAGES",
    "PHRASES_GROUPS",
    "PHRASES_MEMBERS",
    "PHRASES_WORDS",
    "PROVIDERS",
    "REJECTS",
    "REPLICA_GROUPS",
    "REPLICA_MEMBERS",
    "REPLICA_SHARES",
    "REPLICA_SIGNATURES",
    "SITES",
    "SITE_CLUSTERS",
    "SITE_PAGES",
    "STYLE_BEFORE",
    "STYLE_CLUSTERS",
    "STYLE_EDGES",
    "STYLE_FINGERPRINTS",
    "STYLE_GROWTH",
    "STYLE_MEMBERS",
    "TABLES",
    "VERDICT_CLUSTERS",
    "VERDICT_PAGES",
    "VERDICT_PROVIDERS",
    "VERDICT_SITES",
]
