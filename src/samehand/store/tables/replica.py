"""Tables of the replica method."""

import pyarrow as pa

from samehand.store.columns import (
    CENTRE_PAGE_ID,
    CENTRE_URL,
    DOC_ID,
    GROUP_NUMBER,
    HASH,
    HOSTS_COUNT,
    MARKUP_FLAGS,
    PAGE_ID,
    REPLICA_GROUP_ID,
    SHARE,
    SITES_COUNT,
    TEXT,
    URL,
    WHOLE,
    large_list_of,
)
from samehand.store.table import Column, Table

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
        Column(
            "pairs",
            pa.int32(),
            "Different pairs of neighbouring words; 0 for too few to compare; negative for a page without much prose: "
            "its whole text counts.",
        ),
        Column("pair_sketch", pa.binary(256), "Sketch of these pairs: 128 little-endian 16-bit values."),
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
        Column(
            "jaccard", SHARE, "Share of neighbouring words in common with the medoid; 0 for texts too short for it."
        ),
        Column("linked_page_id", WHOLE, "The document that it agrees with best."),
        Column("linked_cosine", SHARE, "Cosine to that document."),
        Column(
            "lexicon",
            WHOLE,
            "Number of the lexicon that agreed first; −1: only the whole sets of words; −2: neighbouring words.",
        ),
        Column(
            "found_by", TEXT, "What found it: lexicon, words (the same set of words) or pairs (neighbouring words)."
        ),
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
REPLICA_SHARES = Table(
    "replica/shares",
    "Documents that share text with another one and are not in its group of near replicas.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        Column("with_page_id", WHOLE, "The most typical of the documents that it shares text with."),
        Column("with_url", TEXT, "URL of that document."),
        Column("jaccard", SHARE, "Share of neighbouring words in common with it."),
        Column("containment", SHARE, "Share of the shorter text's neighbouring words that the longer one has too."),
    ),
)
