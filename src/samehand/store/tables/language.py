"""The table of the language method."""

import dataclasses

import pyarrow as pa

from samehand.store.columns import (
    DOC_ID,
    FLAG,
    HOST,
    PAGE_ID,
    SHARE,
    SITE,
    TEXT,
    URL,
    WHOLE,
)
from samehand.store.table import Column, Table

LANGUAGE_PAGES = Table(
    "language/pages",
    "One row per page: how its text reads to the language model.",
    (
        URL,
        DOC_ID,
        PAGE_ID,
        HOST,
        dataclasses.replace(SITE, required=False),
        Column("judged_words", WHOLE, "Words of the judged prose, without numbers and marks."),
        Column(
            "fake_probability", SHARE, "Probability that a machine made the text; null if not judged.", required=False
        ),
        Column("verdict", TEXT, "fake, natural, too short, not prose, unknown language or not judged."),
        Column("fake_kind", TEXT, "The kind of generator it resembles most.", required=False),
        Column("perplexity3", SHARE, "Perplexity under the model of order 3.", required=False),
        Column("perplexity4", SHARE, "Perplexity under the model of order 4.", required=False),
        Column("relative_entropy3", SHARE, "Mean relative-entropy penalty of order 3.", required=False),
        Column("relative_entropy4", SHARE, "Mean relative-entropy penalty of order 4.", required=False),
        Column("known_histories3", SHARE, "Share of the histories of order 3 that the model knows."),
        Column("known_histories4", SHARE, "Share of the histories of order 4 that the model knows."),
        Column("known_words", SHARE, "Share of the words that the model knows."),
        Column("reasons", pa.list_(TEXT), "Why, most important first."),
        Column("is_cut", FLAG, "Whether only the beginning of the prose was judged."),
        Column("hidden_words", WHOLE, "Words of the page that its markup hides; they are not judged."),
    ),
    in_parts=True,
)
