"""Every table and file of the run folder, once: name, columns, types and meaning. docs/run-folder.md is made from this.

Ids: a `page_id` is (number of the unit of work << 32) + place within the unit. The id of a cluster, family or group is
the smallest `page_id` in it, so it stays the same when the run grows. Numbers (`cluster_number`, …) count from 1 in
order of rank and are for people: they change when the run grows. A `site` is the private domain of the URL, or its
host name where it has no domain.
"""

import dataclasses

import pyarrow as pa

from samehand.base.page import CONTENT_FIELD
from samehand.store.columns import (
    CENTRE_PAGE_ID,
    CENTRE_URL,
    CLUSTER_NUMBER,
    DOC_ID,
    FLAG,
    GROUP_NUMBER,
    HASH,
    HOST,
    HOSTS_COUNT,
    LINKS,
    MARKUP_FLAGS,
    PAGE_COLUMNS,
    PAGE_ID,
    PAGES_COUNT,
    PLACEHOLDER_KIND,
    PROVIDER,
    REAL,
    REASON,
    REJECT_COLUMNS,
    REPLICA_GROUP_ID,
    SHARE,
    SIMILARITY,
    SITE,
    SITE_CLUSTER_ID,
    SITES_COUNT,
    STYLE_CLUSTER_ID,
    STYLE_FAMILY_ID,
    TEXT,
    TITLE,
    URL,
    VERDICT,
    WHOLE,
    WORDS,
    large_list_of,
    list_of,
)
from samehand.store.table import Column, Table

PAGES = Table("pages", "One row per page.", PAGE_COLUMNS, in_parts=True)
REJECTS = Table(
    "rejects",
    "One row per record that could have been a page and is not.",
    REJECT_COLUMNS,
    in_parts=True,
)
CONTENT = Table(
    "content",
    "The content of the pages, only with --keep-pages.",
    (PAGE_ID, Column(CONTENT_FIELD.name, CONTENT_FIELD.type, "The bytes of the page, decoded.")),
    in_parts=True,
)

STYLE_FINGERPRINTS = Table(
    "style/fingerprints",
    "One row per page: its noise and fingerprint.",
    (
        PAGE_ID,
        Column("noise_bytes", WHOLE, "Bytes of noise."),
        Column("noise_digest", HASH, "Hash of the noise."),
        Column("exact_match_key", HASH, "Pages too small to compare are grouped if this key is equal; 0: never."),
        Column("filled", pa.int16(), "Filled dimensions of the fingerprint."),
        Column(
            "fingerprint",
            lambda settings: pa.binary(4 * settings.dimensions),
            "Little-endian 32-bit minima, one per dimension; 2³² − 1 for an empty dimension.",
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

REPLICA_SIGNATURES = Table(
    "replica/signatures",
    "One row per page: the signatures of its words, and the hosts it links to.",
    (
        PAGE_ID,
        Column("distinct_words", WHOLE, "Distinct words of the visible text."),
        Column("overlap", WHOLE, "Words shared with the lexicon."),
        Column("overlap_secondary", WHOLE, "Words shared with the secondary lexicon, if it was needed."),
        Column("status", TEXT, "signed, few words or small overlap."),
        Column("words_digest", HASH, "Hash of the whole set of words; 0 for too few words."),
        Column(
            "signatures",
            lambda settings: pa.binary(8 * (settings.randomised_lexicons + 1)),
            "K + 1 little-endian 64-bit signatures; 0 for a refused one.",
        ),
        Column("word_set", large_list_of(pa.uint32()), "Hashes of the words, sorted."),
        Column("link_hosts", large_list_of(HASH), "Hashes of the hosts that the page links to, sorted."),
        MARKUP_FLAGS,
    ),
    in_parts=True,
)
REPLICA_MEMBERS = Table(
    "replica/members",
    "Every document in a group of near replicas, once.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        GROUP_NUMBER,
        REPLICA_GROUP_ID,
        Column("cosine", SHARE, "Cosine to the medoid of the group."),
        Column("linked_page_id", WHOLE, "The document that it agrees with best."),
        Column("linked_cosine", SHARE, "Cosine to that document."),
        Column("lexicon", WHOLE, "Number of the lexicon that agreed first; −1: only the whole sets of words."),
    ),
)
REPLICA_GROUPS = Table(
    "replica/groups",
    "One row per group of near replicas, largest first.",
    (
        GROUP_NUMBER,
        REPLICA_GROUP_ID,
        Column("documents", WHOLE, "Documents."),
        HOSTS_COUNT,
        SITES_COUNT,
        Column("weakest_cosine", SHARE, "Smallest cosine of a member to the medoid."),
        Column("mean_cosine", SHARE, "Mean cosine to the medoid."),
        CENTRE_PAGE_ID,
        CENTRE_URL,
    ),
    is_ranked=True,
)

CLASSES = Table(
    "classes/clusters",
    "What kind of cluster each style cluster is.",
    (
        STYLE_CLUSTER_ID,
        Column("class", TEXT, "mirror, copy, link farm or template."),
        Column("same_text", REAL, "Share of the pages whose text is also on another host of the cluster."),
        Column("same_path", REAL, "Share of those that have the same path there."),
        Column("inner_links", REAL, "Mean share of the linked hosts that belong to the cluster."),
    ),
)

LANGUAGE_PAGES = Table(
    "language/pages",
    "One row per page: how its text reads to the language model.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        HOST,
        dataclasses.replace(SITE, required=False),
        Column("judged_words", WHOLE, "Words of the judged text, without numbers and marks."),
        Column(
            "fake_probability", SHARE, "Probability that a machine made the text; null if not judged.", required=False
        ),
        Column("verdict", TEXT, "fake, natural, too short, unknown language or not judged."),
        Column("fake_kind", TEXT, "The kind of generator it resembles most.", required=False),
        Column("perplexity3", SHARE, "Perplexity under the model of order 3.", required=False),
        Column("perplexity4", SHARE, "Perplexity under the model of order 4.", required=False),
        Column("relative_entropy3", SHARE, "Mean relative-entropy penalty of order 3.", required=False),
        Column("relative_entropy4", SHARE, "Mean relative-entropy penalty of order 4.", required=False),
        Column("known_histories3", SHARE, "Share of the histories of order 3 that the model knows."),
        Column("known_histories4", SHARE, "Share of the histories of order 4 that the model knows."),
        Column("known_words", SHARE, "Share of the words that the model knows."),
        Column("reasons", pa.list_(TEXT), "Why, most important first."),
        Column("is_cut", FLAG, "Whether only the beginning of the text was judged."),
    ),
    in_parts=True,
)

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

TABLES = tuple(value for value in list(globals().values()) if isinstance(value, Table))
"""All tables, in the order of their definition."""

FILES = {
    "run.json": "Settings, versions, inputs with digests, counts and times of each stage.",
    "key": "The secret key, if there is one, readable by its owner alone.",
    "lock": "Held by the process that writes.",
    "done": "What is done: a record for each part and each method, with the digest of what it was made from.",
    "stdin": "Standard input, if the run was made from it.",
    "style/sketches": "Fingerprints cut to 8 bits a dimension, as arrays that are mapped; made anew if lost.",
    "spark": "Scratch files of grouping on Spark; removed at the end.",
    "replica/lexicon.parquet": "The lexicon of the near replicas.",
    "language/model.lm": "The language model.",
    "language/model.detector": "The detector that belongs to the model.",
    "sites/dns.jsonl": "What DNS answered, one line per domain.",
    "sites/labels.csv": "Answers to `samehand label`, one line each.",
}
"""Everything else in the run folder."""
SKETCHES, SPARK_SCRATCH, LEXICON, MODEL, DETECTOR = (
    "style/sketches",
    "spark",
    "replica/lexicon.parquet",
    "language/model.lm",
    "language/model.detector",
)
DNS_CACHE, LABEL_ANSWERS = "sites/dns.jsonl", "sites/labels.csv"
