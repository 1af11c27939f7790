"""Tables of the method phrases."""

import pyarrow as pa

from samehand.store.columns import (
    DOC_ID,
    FLAG,
    HOSTS_COUNT,
    PAGE_ID,
    PAGES_COUNT,
    SHARE,
    SITES_COUNT,
    TEXT,
    URL,
    WHOLE,
    large_list_of,
)
from samehand.store.table import Column, Table

TEXT_GROUP_NUMBER = Column("text_group_number", WHOLE, "Rank of the text group, from 1.")
TEXT_GROUP_ID = Column("text_group_id", WHOLE, "Stable id of the text group.")

PHRASES_WORDS = Table(
    "phrases/words",
    "One row per page: the words of its prose as hashes, in order.",
    (
        PAGE_ID,
        Column("word_hashes", large_list_of(pa.uint32()), "Hashes of the words, under the key of the run."),
        Column("has_more_words", FLAG, "Whether the page has more words than these."),
    ),
    in_parts=True,
)
PHRASES_MEMBERS = Table(
    "phrases/members",
    "Every page in a text group, once.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        TEXT_GROUP_NUMBER,
        TEXT_GROUP_ID,
        Column("share", SHARE, "Part of its words that stand in phrases of the group."),
        Column("shared_phrases", WHOLE, "Phrases of the group in it, apart from each other."),
    ),
)
PHRASES_GROUPS = Table(
    "phrases/groups",
    "One row per text group: pages made from the same phrases. Largest first.",
    (
        TEXT_GROUP_NUMBER,
        TEXT_GROUP_ID,
        Column("group_kind", TEXT, "alternatives, template or one owner."),
        PAGES_COUNT,
        HOSTS_COUNT,
        SITES_COUNT,
        Column("phrases", WHOLE, "Different phrases (5-grams of words) that pages of the group share."),
        Column("branching", SHARE, "Part of these phrases that go on in several ways."),
        Column("mean_share", SHARE, "Mean share of the words of its pages that stand in these phrases."),
        Column("typical_page_id", WHOLE, "The page with the largest share."),
        Column("typical_url", TEXT, "URL of that page."),
    ),
    is_ranked=True,
)
