"""What each screen shows, as plain data: the pages in HTML and their twins in JSON are made from it.

Each function reads the rows that it shows, and no table whole.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from samehand.answers.stretches import Stretch, stretches
from samehand.answers.verdicts import Verdict, verdict_where
from samehand.base.errors import InputError, UsageError
from samehand.sources.http.charset import as_utf8
from samehand.store.labels import CLUSTER, PAGE, PROVIDER, SKIP
from samehand.store.table import Table
from samehand.store.tables import (
    CLASSES,
    PAGES,
    PROVIDERS,
    SITES,
    STYLE_CLUSTERS,
    STYLE_GROWTH,
    VERDICT_PAGES,
)

if TYPE_CHECKING:
    from samehand.review.review import Review

TOP_CLUSTERS, MEMBERS, LISTED_SITES = 20, 50, 100
SHOWN_SOURCE, CARD_SOURCE, CARD_GAP = 200_000, 6_000, 240
_VERDICT_COLUMNS = ["page_id", "action", "kind", "probability"]
_SITE_COLUMNS = ["site", "kind", "probability", "provider", "page_id", "url", "reason"]
_HIDDEN_FACTS = ("content_crc32", "url_kind")


class NotFoundError(UsageError):
    """The run has no such cluster, page or provider."""


def overview(review: "Review") -> dict[str, Any]:
    """What the run holds, and its first clusters."""
    run = review.run
    read = run.manifest["stages"]["read"]
    labels = review.labels()
    numbers = range(1, min(TOP_CLUSTERS, len(review.queue)) + 1)
    return {
        "run": str(run.path),
        "records": read["pages"] + sum(read["skipped"].values()) + sum(read["rejected"].values()),
        "pages": read["pages"],
        "skipped": dict(sorted(read["skipped"].items(), key=lambda item: -item[1])),
        "rejected": dict(sorted(read["rejected"].items(), key=lambda item: -item[1])),
        "methods": run.methods,
        "clusters": len(review.queue),
        "clustered_pages": run.manifest["stages"].get("style", {}).get("clustered_pages", 0),
        **{name: run.counts("verdicts")[name] for name in ("page_actions", "site_actions")},
        "labels": sum(label.answer != SKIP for label in labels),
        "top": [_cluster_line(review, number) for number in numbers],
    }


def _cluster_line(review: "Review", number: int) -> dict[str, Any]:
    row = _cluster_row(review, number)
    verdict = _verdict(review, "clusters", "cluster_number", number)
    why = [item["sentence"] for item in verdict["items"][:2]] if verdict else []
    return {**row, "verdict": verdict and {key: verdict[key] for key in ("action", "kind", "probability")}, "why": why}


def _cluster_row(review: "Review", number: int) -> dict[str, Any]:
    """A cluster with its class. Both tables have one row per cluster, in the same order."""
    if not 1 <= number <= len(review.queue):
        raise NotFoundError(f"There is no cluster {number}: the numbers are 1 to {len(review.queue):,}.")
    folder = review.run.folder
    row: dict[str, Any] = folder.read_rows(STYLE_CLUSTERS, [number - 1]).to_pylist()[0]
    if "classes" not in review.run.methods:
        return {**row, "class": ""}
    found = folder.read_rows(CLASSES, [number - 1]).to_pylist()[0]
    if found["style_cluster_id"] != row["style_cluster_id"]:
        found = folder.find(CLASSES, "style_cluster_id", row["style_cluster_id"]).to_pylist()[0]
    return {**row, **found}


def card(review: "Review", number: int) -> dict[str, Any]:
    """What the queue shows of a cluster: its verdict, and the two pages of it that are least alike."""
    row = _cluster_row(review, number)
    other = review.members.least_similar(number)
    pair = None
    if other is not None and other["page_id"] != row["centre_page_id"]:
        left, right = sorted((row["centre_page_id"], other["page_id"]))
        pair = {
            "name": f"{left} {right}",
            "left": {"page_id": str(row["centre_page_id"]), "url": row["centre_url"]},
            "right": {"page_id": str(other["page_id"]), "url": other["url"]},
            "similarity": other["similarity"],
        }
    return {
        "number": number,
        "cluster": {**row, "style_cluster_id": str(row["style_cluster_id"])},
        "verdict": _verdict(review, "clusters", "cluster_number", number),
        "is_sample": bool(review.queue.is_sample[number - 1]),
        "worth": float(review.queue.worth[number - 1]),
        "pair": pair,
    }


def cluster(review: "Review", number: int, start: int) -> dict[str, Any]:
    """A cluster: its figures, its verdict, its members from `start` on, and its sites with their name servers."""
    made = review.card(number)
    folder = review.run.folder
    row = made["cluster"]
    members = _with_verdicts(review, review.members.some(number, max(0, start), MEMBERS))
    sites = _found(review, SITES, "style_cluster_id", int(row["style_cluster_id"]), _SITE_COLUMNS, LISTED_SITES)
    has_grown = folder.has(STYLE_GROWTH)
    return {
        **made,
        "growth": folder.find(STYLE_GROWTH, "cluster_number", number).to_pylist() if has_grown else [],
        "members": members,
        "start": max(0, start),
        "total": review.members.count(number),
        "sites": sites,
        "label": _label(review, CLUSTER, row["style_cluster_id"]),
    }


def _with_verdicts(review: "Review", members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Members with the verdict on each page. Verdicts on pages stand in the order of the pages."""
    folder = review.run.folder
    ids = [member["page_id"] for member in members]
    rows = folder.page_ids.rows(np.array(ids, np.int64))
    verdicts = folder.read_rows(VERDICT_PAGES, rows, _VERDICT_COLUMNS).to_pylist() if ids else []
    by_id = {row["page_id"]: row for row in verdicts}
    return [{**member, "verdict": by_id.get(member["page_id"])} for member in members]


def page(review: "Review", page_id: int, view: str, against: int | None) -> dict[str, Any]:
    """A page: what is known of it, and its source, its text, or the address of its preview."""
    run = review.run
    if not run.folder.page_ids.has(page_id):
        raise NotFoundError(f"There is no page {page_id} in this run.")
    number = review.members.cluster_of(page_id)
    facts = run.folder.read_rows(PAGES, [page_id & 0xFFFFFFFF], None, page_id >> 32).to_pylist()[0]
    centre = _cluster_row(review, number)["centre_page_id"] if number else None
    other = centre if against is None else against
    made: dict[str, Any] = {
        "page_id": str(page_id),
        "url": facts["url"],
        "facts": {
            name: _plain(value) for name, value in facts.items() if value is not None and name not in _HIDDEN_FACTS
        },
        "cluster": number,
        "against": None if other is None or other == page_id or not run.folder.page_ids.has(other) else str(other),
        "verdict": _verdict(review, "pages", "page_id", page_id),
        "label": _label(review, PAGE, str(page_id)),
        "view": view,
    }
    return {**made, **_content(review, page_id, view, made["against"])}


def _content(review: "Review", page_id: int, view: str, against: str | None) -> dict[str, Any]:
    """The page itself, as far as it can be read again."""
    run = review.run
    try:
        content = run.content(page_id)
        if view == "text":
            return {"text": run.text(page_id)[:SHOWN_SOURCE], "problem": ""}
        if view == "preview":
            return {"problem": ""}
        spans = []
        if against is not None and (style := run.explain(page_id, int(against)).style) is not None:
            spans = [shared.left for shared in style.runs]
    except InputError as error:
        return {"problem": str(error)}
    return {
        "source": _plain_stretches(stretches(content, spans, most=SHOWN_SOURCE)),
        "bytes": len(content),
        "problem": "",
    }


def compared(review: "Review", left: int, right: int) -> dict[str, Any]:
    """Two pages side by side: what both share, marked in the source of each."""
    run = review.run
    for page_id in (left, right):
        if not run.folder.page_ids.has(page_id):
            raise NotFoundError(f"There is no page {page_id} in this run.")
    try:
        found = run.explain(left, right)
        sources = run.content(left), run.content(right)
    except InputError as error:
        return {"problem": str(error)}
    runs = found.style.runs if found.style else ()
    spans = [shared.left for shared in runs], [shared.right for shared in runs]
    sides = [
        _plain_stretches(stretches(source, side, most=CARD_SOURCE, longest_gap=CARD_GAP))
        for source, side in zip(sources, spans, strict=True)
    ]
    alike = {"words": found.words.cosine}
    if found.style is not None:
        markup = {"markup": found.style.markup.jaccard} if found.style.markup else {}
        alike = {"noise": found.style.jaccard, **markup, **alike}
    return {"problem": "", "left": sides[0], "right": sides[1], "alike": alike}


def preview_bytes(review: "Review", page_id: int) -> bytes:
    """The content of a page in UTF-8, for its preview."""
    if not review.run.folder.page_ids.has(page_id):
        raise NotFoundError(f"There is no page {page_id} in this run.")
    content = review.run.content(page_id)
    charset = review.run.folder.read_rows(PAGES, [page_id & 0xFFFFFFFF], ["content_charset"], page_id >> 32)
    return as_utf8(content, charset.column("content_charset")[0].as_py())


def provider(review: "Review", name: str) -> dict[str, Any]:
    """A provider of name servers: its sites, its verdict, and what blocking it would touch."""
    rows = _found(review, PROVIDERS, "provider", name, None, 1)
    if not rows:
        raise NotFoundError("There is no such provider in this run.")
    return {
        "provider": rows[0],
        "verdict": _verdict(review, "providers", "provider", name),
        "sites": _found(review, SITES, "provider", name, _SITE_COLUMNS, LISTED_SITES),
        "label": _label(review, PROVIDER, name),
        "block": review.blocked_with(name),
    }


def _found(
    review: "Review", table: Table, column: str, value: object, columns: list[str] | None, most: int
) -> list[dict[str, Any]]:
    """Rows of the sites, as far as the run has any."""
    if "sites" not in review.run.methods:
        return []
    rows: list[dict[str, Any]] = review.run.folder.find(table, column, value, columns, most).to_pylist()
    return rows


def _verdict(review: "Review", unit: str, column: str, value: str | int) -> dict[str, Any] | None:
    found: Verdict | None = verdict_where(review.run.folder, unit, column, value)
    return dataclasses.asdict(found) if found else None


def _label(review: "Review", unit: str, name: str) -> dict[str, Any] | None:
    found = review.label_of(unit, name)
    return dataclasses.asdict(found) if found else None


def _plain_stretches(found: tuple[Stretch, ...]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(stretch) for stretch in found]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool) else str(value)
