"""The evidence on a cluster: its pages with digests of their bytes, the source that they share, their name servers."""

import hashlib
from typing import TYPE_CHECKING, Any

from samehand.base.errors import InputError
from samehand.exports.entries import with_plain_times
from samehand.exports.evidence import Evidence, Stretch
from samehand.methods.style.compare import compare
from samehand.store.tables import NAMESERVERS, PAGES

if TYPE_CHECKING:
    from samehand.answers.result import Result
    from samehand.answers.run import Run

COMPARED_PAGES, SHOWN_STRETCHES, LONGEST_STRETCH = 20, 5, 600
_FACTS = [
    "page_id",
    "doc_id",
    "url",
    "url_host_name",
    "url_host_registered_domain",
    "fetch_time",
    "fetch_status",
    "content_digest",
    "content_length",
    "content_truncated",
    "source_path",
    "warc_filename",
    "warc_record_offset",
    "warc_record_length",
]


def gather_evidence(run: "Run", number: int) -> Evidence:
    """What the run knows of a cluster. Pages whose input is out of reach have no digest, and a note says so."""
    members = run.members(number)
    facts = with_plain_times(run.folder.read(PAGES, _FACTS))
    notes, pages = [], []
    rows = run.folder.page_ids.rows(members.table.column("page_id").to_numpy())
    for row, similarity in zip(rows.tolist(), members["similarity"], strict=True):
        page = facts.slice(row, 1).to_pylist()[0]
        page |= {"fetch_time": page["fetch_time"] and page["fetch_time"].isoformat()}
        digest, problem = _digest(run, page["page_id"])
        pages.append({"similarity": similarity, "sha256": digest, **page})
        notes += [problem] if problem and problem not in notes else []
    compared = members[: COMPARED_PAGES + 1]
    if len(members) > len(compared):
        notes.append(f"The source of the first page is compared with {COMPARED_PAGES} of {len(members) - 1} others.")
    about = run.clusters().filter(cluster_number=number)[0]
    return Evidence(
        number,
        {
            name: about[name]
            for name in ("pages", "hosts", "sites", "mean_similarity", "weakest_link", "class")
            if name in about
        },
        pages,
        [] if any(page["sha256"] is None for page in pages) else _stretches(run, compared),
        _name_servers(run, {page["url_host_registered_domain"] for page in pages}),
        notes,
    )


def _digest(run: "Run", page_id: int) -> tuple[str | None, str]:
    try:
        return hashlib.sha256(run.content(page_id)).hexdigest(), ""
    except InputError as error:
        return None, f"Some pages have no digest, and no source is compared: {error}"


def _stretches(run: "Run", members: "Result") -> list[Stretch]:
    """The longest stretches of source that the first page shares with each of the others."""
    centre, *others = ((run._pages.page(run._pages.row_of(row["page_id"]))) for row in members)
    found = []
    for page in others:
        comparison = compare(centre, page, settings=run.settings)
        for shared in comparison.runs[:SHOWN_STRETCHES]:
            start, end = shared.left
            text = centre.content[start : min(end, start + LONGEST_STRETCH)].decode("utf-8", "replace")
            found.append(Stretch(page.url, comparison.jaccard, (start, end), shared.right, text))
    return found


def _name_servers(run: "Run", domains: set[Any]) -> dict[str, list[str]]:
    """The name servers of domains, as far as the run knows them."""
    if not run.folder.has(NAMESERVERS):
        return {}
    rows = run.folder.read(NAMESERVERS, ["domain", "ns"]).to_pylist()
    known = sorted({(row["domain"], row["ns"]) for row in rows if row["domain"] in domains and row["ns"]})
    return {domain: [ns for one, ns in known if one == domain] for domain, _ in known}
