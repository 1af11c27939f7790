"""The sentences after an answer: what was read, whether the answer is complete, which commands come next."""

import shlex
from collections.abc import Mapping, Sequence

from samehand.base.wording import count

_RECORD_TYPES = {
    "request": "request",
    "revisit": "revisit",
    "warcinfo": "warcinfo record",
    "metadata": "metadata record",
    "conversion": "conversion record",
    "continuation": "continuation record",
    "symlink": "symbolic link",
}
_REJECTED = {
    "http_status": "with an HTTP status other than 2xx",
    "unknown_record_type": "of an unknown record type",
    "not_html": "not HTML",
    "not_mail": "not mail",
    "empty_body": "empty",
    "bad_http": "not valid HTTP",
    "bad_encoding": "compressed in another way than declared",
    "decompression_bomb": "unpacking to far more than their size",
    "damaged_record": "damaged",
    "truncated_record": "cut off",
    "bad_archive": "in a damaged archive",
    "bad_json": "not valid JSON",
    "bad_row": "not valid CSV",
    "missing_column": "without a column of HTML or text",
    "unreadable_file": "in a file that cannot be read",
    "empty_file": "in an empty file",
    "unknown_format": "in a file of unknown format",
    "reader_error": "after an error in samehand",
}
_SHOWN = 4
"""Reasons that a sentence names."""


def read_sentence(pages: int, skipped: Mapping[str, int], rejected: Mapping[str, int]) -> str:
    """What became of the records: the pages, the records that hold no page by nature, the rejected pages."""
    parts = [count(pages, "page")]
    if any(skipped.values()):
        names = {reason: _record_type(reason) for reason in skipped}
        each = {reason: count(number, names[reason]) for reason, number in skipped.items()}
        parts.append(f"{count(sum(skipped.values()), 'record')} skipped: {_commonest(skipped, each)}")
    if any(rejected.values()):
        each = {
            reason: f"{number:,} {_REJECTED.get(reason, reason.replace('_', ' '))}"
            for reason, number in rejected.items()
        }
        parts.append(f"{sum(rejected.values()):,} rejected: {_commonest(rejected, each)}")
    return "; ".join(parts) + "."


def _record_type(reason: str) -> str:
    return _RECORD_TYPES.get(reason, f"{reason.replace('_', ' ')} record")


def _commonest(counts: Mapping[str, int], words: Mapping[str, str]) -> str:
    """The commonest reasons in words, and how many records have others."""
    reasons = sorted((reason for reason in counts if counts[reason]), key=lambda reason: (-counts[reason], reason))
    if len(reasons) <= _SHOWN:
        return ", ".join(words[reason] for reason in reasons)
    rest = sum(counts[reason] for reason in reasons[_SHOWN - 1 :])
    return ", ".join([*(words[reason] for reason in reasons[: _SHOWN - 1]), f"{rest:,} for other reasons"])


def completeness(
    run: str,
    *,
    inputs: int,
    unreadable_inputs: int = 0,
    unread_parts: int = 0,
    damaged_records: int = 0,
    leader_cap_hits: int = 0,
) -> list[str]:
    """Whether a result covers everything: one sentence, or one for each thing that is missing."""
    status = f"samehand status {shlex.quote(run)}"
    missing = []
    if unreadable_inputs:
        missing.append(f"{unreadable_inputs:,} of {count(inputs, 'input')} could not be read: {status}")
    if unread_parts:
        parts, them = count(unread_parts, "part"), "it" if unread_parts == 1 else "them"
        missing.append(f"{parts} of the inputs failed; run the same command again to read {them}: {status}")
    if damaged_records:
        were = "was" if damaged_records == 1 else "were"
        missing.append(f"{count(damaged_records, 'damaged record')} {were} left out: {status}")
    if leader_cap_hits:
        times = count(leader_cap_hits, "time")
        missing.append(f"pages of large buckets were not compared with all others {times}; --max-leaders allows more.")
    return [f"Incomplete: {reason}" for reason in missing] or ["Complete: every input was read."]


def next_commands(run: str, methods: Sequence[str], *, first: int | None) -> list[str]:
    """The commands that are useful after a scan, with what each of them answers; `first` is the first cluster shown."""
    quoted = shlex.quote(run)
    commands = {}
    if first is not None:
        commands[f"samehand show {quoted} {first}"] = "the pages of the first cluster"
    if "style" in methods:
        commands[f"samehand clusters {quoted} --top 0"] = "all clusters"
    if "verdicts" in methods:
        commands[f"samehand verdicts {quoted}"] = "what to do with each site; --pages, --clusters, --providers"
        if first is not None:
            commands[f"samehand explain {quoted} {first}"] = "why: the evidence behind a verdict"
        commands[f"samehand review {quoted}"] = "look at the pages in the browser, and label them"
        commands[f"samehand report {quoted}"] = "one HTML file about the run"
    more = "; the class of each cluster" if "style" in methods and "replica" not in methods else ""
    commands[f"samehand replicas {quoted}"] = f"near replicas{more}"
    commands[f"samehand fake {quoted}"] = "text that a machine made"
    commands[f"samehand phrases {quoted}"] = "pages made from the same phrases"
    commands[f"samehand sites {quoted}"] = "kinds of sites and their providers"
    size = max(len(command) for command in commands)
    return ["Next:", *(f"  {command:<{size}}  {answer}" for command, answer in commands.items())]
