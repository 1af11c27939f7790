"""The sentences after an answer: counts in words, what is missing, what comes next."""

import pytest

from samehand.base.wording import count, listed
from samehand.cli import footer
from samehand.cli.footer import completeness, next_commands, read_sentence
from samehand.sources.reasons import REASONS


@pytest.mark.parametrize(
    ("number", "noun", "shown"),
    [
        (0, "page", "0 pages"),
        (1, "page", "1 page"),
        (1234567, "page", "1,234,567 pages"),
        (1, "family", "1 family"),
        (2, "family", "2 families"),
        (2, "key", "2 keys"),
        (3, "record of unknown type", "3 records of unknown type"),
    ],
)
def test_numbers_and_nouns_agree(number: int, noun: str, shown: str) -> None:
    assert count(number, noun) == shown


def test_lists_of_counts() -> None:
    assert listed({"name_server": 1200, "site": 1}) == "1,200 name server, 1 site"
    assert listed({}) == ""


@pytest.mark.parametrize(
    ("pages", "skipped", "rejected", "sentence"),
    [
        (0, {}, {}, "0 pages."),
        (1, {"request": 0}, {"not_html": 0}, "1 page."),
        (1, {"request": 1}, {"not_html": 1}, "1 page; 1 record skipped: 1 request; 1 rejected: 1 not HTML."),
        (
            630,
            {"warcinfo": 7, "request": 635},
            {"http_status": 4, "empty_body": 8},
            "630 pages; 642 records skipped: 635 requests, 7 warcinfo records; "
            "12 rejected: 8 empty, 4 with an HTTP status other than 2xx.",
        ),
        (
            9,
            {},
            {"not_html": 5, "empty_body": 4, "bad_http": 3, "symlink": 2, "new_reason": 1},
            "9 pages; 15 rejected: 5 not HTML, 4 empty, 3 not valid HTTP, 3 for other reasons.",
        ),
        (
            2,
            {"new_type": 2},
            {"new_reason": 1},
            "2 pages; 2 records skipped: 2 new type records; 1 rejected: 1 new reason.",
        ),
    ],
)
def test_what_became_of_the_records(
    pages: int, skipped: dict[str, int], rejected: dict[str, int], sentence: str
) -> None:
    assert read_sentence(pages, skipped, rejected) == sentence


def test_every_reason_has_words() -> None:
    names = {kind: {reason.name for reason in REASONS if reason.kind == kind} for kind in ("skip", "reject", "damaged")}
    assert set(footer._RECORD_TYPES) == names["skip"]
    assert set(footer._REJECTED) == names["reject"] | names["damaged"]


def test_a_whole_result_says_so() -> None:
    assert completeness("run", inputs=5) == ["Complete: every input was read."]


def test_everything_that_is_missing_is_said() -> None:
    assert completeness("my run", inputs=5, unreadable_inputs=2) == [
        "Incomplete: 2 of 5 inputs could not be read: samehand status 'my run'"
    ]
    sentences = completeness(
        "run", inputs=1, unreadable_inputs=1, unread_parts=1, damaged_records=3, leader_cap_hits=1200
    )
    assert sentences == [
        "Incomplete: 1 of 1 input could not be read: samehand status run",
        "Incomplete: 1 part of the inputs failed; run the same command again to read it: samehand status run",
        "Incomplete: 3 damaged records were left out: samehand status run",
        "Incomplete: pages of large buckets were not compared with all others 1,200 times; --max-leaders allows more.",
    ]


def test_the_next_commands_can_be_typed() -> None:
    lines = next_commands("my run", ["style"], first=3)
    assert lines[1].startswith("  samehand show 'my run' 3 ")
    assert [line.split()[1] for line in lines[1:]] == ["show", "clusters", "replicas", "fake", "phrases", "sites"]
    assert max(map(len, lines)) <= 80
    assert [line.split()[1] for line in next_commands("run", ["replica"], first=None)[1:]] == [
        "replicas",
        "fake",
        "phrases",
        "sites",
    ]
