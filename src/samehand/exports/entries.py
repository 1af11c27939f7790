"""What is to be listed: names with their evidence, before the guard has seen them.

Entries come out of a run's answers on sites, out of clusters that a person chose, and out of pages that a spread
reached. A list names what was judged and no more: the site if the page stands on its own domain, otherwise the host of
the page.
"""

import dataclasses
from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.names import canonical_name
from samehand.base.page import host_of
from samehand.methods.sites.verdicts import PARKED, PARKED_KINDS
from samehand.methods.verdicts.model import read_weights
from samehand.methods.verdicts.policy import BLOCK, read_policy
from samehand.methods.verdicts.rows import actions_of
from samehand.store.folder import RunFolder
from samehand.store.tables import (
    CLASSES,
    NAMESERVERS,
    PAGES,
    PROVIDERS,
    SITES,
    STYLE_CLUSTERS,
    STYLE_MEMBERS,
    VERDICT_SITES,
)

MOST_TOLD = 3
"""Sentences of evidence in a list."""
SITE, HOST, NAME_SERVER = "site", "host", "name server"
"""Units: a private domain with all names below it, one host name, a name server of unwanted sites."""
_KIND_OF_CLASS = {"link farm": "farm"}


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One name to list, and why. `name` is as found; only the guard's `choose` makes it canonical."""

    unit: str
    name: str
    kind: str
    evidence: str
    probability: float | None = None
    cluster: int | None = None
    page_id: int | None = None
    doc_id: str | None = None
    url: str = ""
    fetched: datetime | None = None
    until: date | None = None

    @property
    def key(self) -> str:
        """What tells entries apart: a name server and a site may have the same name."""
        return f"{self.name} (name server)" if self.unit == NAME_SERVER else self.name


def entries_of(folder: RunFolder, *, name_servers: bool = False) -> list[Entry]:
    """The sites that verdicts block; with `name_servers`, also the name servers of providers that only park."""
    pages = _pages_by_id(folder)
    found = []
    for row in _blocked(folder):
        about = {"kind": row["kind"], "probability": row["probability"], "evidence": _told(row)}
        found.append(_of_page(pages(row["page_id"]), row["site"], **about))
    if name_servers:
        for row in folder.read(PROVIDERS).to_pylist():
            if row["verdict"] == PARKED:
                found += [Entry(NAME_SERVER, name, PARKED, row["reason"]) for name in row["nameservers"] or () if name]
    return found


def _blocked(folder: RunFolder) -> list[dict[str, Any]]:
    """Verdicts on sites whose action is `block`, whatever policy the run has: that of a list is its own.

    Those under the guard are among them: who makes the list counts them as left out.
    """
    table = folder.read(VERDICT_SITES)
    actions = actions_of(table, "sites", read_policy("block"), with_guard=False)
    rows: list[dict[str, Any]] = table.filter(pc.equal(actions, BLOCK)).to_pylist()
    return rows


def _told(row: dict[str, Any]) -> str:
    """What a person said, and the strongest items against a site, in sentences."""
    known = read_weights().symbols
    against = [item for item in row["evidence"] if item["log_odds"] > 0 and item["symbol"] in known]
    sentences = [known[item["symbol"]].sentence.format(value=item["value"]) for item in against[:MOST_TOLD]]
    said = {"asked": "A person labelled it as unwanted.", "cluster": "A person labelled its cluster as unwanted."}
    return " ".join(([said[row["label_how"]]] if row["label_how"] in said else []) + sentences)


def honest_sites(folder: RunFolder) -> list[str]:
    """Sites that are not parked. Where their provider is blocked, they are let through by name."""
    rows = folder.read(SITES, ["site", "kind", "provider"])
    blocked = folder.read(PROVIDERS, ["provider", "verdict"])
    parked = blocked.filter(pc.equal(blocked.column("verdict"), PARKED)).column("provider")
    fine = pc.invert(pc.is_in(rows.column("kind"), pa.array(PARKED_KINDS)))
    honest = pc.and_(fine, pc.is_in(rows.column("provider"), parked.combine_chunks()))
    names: list[str] = pc.unique(rows.filter(honest).column("site")).to_pylist()
    return names


def domains_served_by(folder: RunFolder, name_servers: Collection[str]) -> dict[str, list[str]]:
    """The domains that use each of these name servers, as far as the run knows."""
    served: dict[str, list[str]] = {name: [] for name in name_servers}
    if not served or not folder.has(NAMESERVERS):
        return served
    for row in folder.read(NAMESERVERS, ["domain", "ns"]).to_pylist():
        name = canonical_name(row["ns"] or "")[0]
        if name in served and row["domain"]:
            served[name].append(row["domain"])
    return served


def cluster_entries(folder: RunFolder, number: int, cluster_id: int) -> list[Entry]:
    """The sites of a style cluster that a person chose."""
    members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id", "similarity"])
    members = members.filter(pc.equal(members.column("style_cluster_id"), cluster_id))
    clusters = folder.read(STYLE_CLUSTERS, ["style_cluster_id", "pages", "sites"])
    (row,) = clusters.filter(pc.equal(clusters.column("style_cluster_id"), cluster_id)).to_pylist()
    kind, pages = _class_of(folder, cluster_id), _pages_by_id(folder)
    size = f"cluster {number}: {row['pages']} pages on {row['sites']} sites"
    return [
        _of_page(
            pages(page_id), "", kind=kind, evidence=f"{size}, similarity {similarity:.2f} to its centre", cluster=number
        )
        for page_id, similarity in zip(
            members.column("page_id").to_pylist(), members.column("similarity").to_pylist(), strict=True
        )
    ]


def spread_entries(folder: RunFolder, spread: pa.Table) -> list[Entry]:
    """The sites of the pages that a spread from known bad ones reached."""
    pages = _pages_by_id(folder)
    found = []
    for row in spread.select(["page_id", "is_seed", "steps", "weakest"]).to_pylist():
        steps, weakest = row["steps"], f"weakest link {row['weakest']:.2f}"
        evidence = "named as bad" if row["is_seed"] else f"{steps} steps from a page named as bad, {weakest}"
        found.append(_of_page(pages(row["page_id"]), "", kind="spread", evidence=evidence))
    return found


def _class_of(folder: RunFolder, cluster_id: int) -> str:
    """The class of a cluster as a kind; "cluster" if the run has no classes."""
    if not folder.has(CLASSES):
        return "cluster"
    classes = folder.read(CLASSES, ["style_cluster_id", "class"])
    found = classes.filter(pc.equal(classes.column("style_cluster_id"), cluster_id)).column("class").to_pylist()
    return _KIND_OF_CLASS.get(found[0], found[0]) if found else "cluster"


class _Pages:
    """Rows of pages by id."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        names = ["page_id", "doc_id", "url", "url_host_name", "url_host_private_domain", "fetch_time"]
        self._table = with_plain_times(folder.read(PAGES, names))

    def __call__(self, page_id: int) -> dict[str, Any]:
        row = int(self._folder.page_ids.rows(pa.array([page_id]).to_numpy())[0])
        found: dict[str, Any] = self._table.slice(row, 1).to_pylist()[0]
        return found


def with_plain_times(pages: pa.Table) -> pa.Table:
    """Pages whose time of fetching is one that Python can have, or null: a run folder may hold any number."""
    times = pages.column("fetch_time")
    first, last = (
        pa.scalar(moment.replace(tzinfo=UTC), times.type) for moment in (datetime.min, datetime(9999, 12, 31))
    )
    is_plain = pc.and_(pc.greater_equal(times, first), pc.less_equal(times, last))
    place = pages.column_names.index("fetch_time")
    return pages.set_column(place, "fetch_time", pc.if_else(is_plain, times, pa.scalar(None, times.type)))


def _pages_by_id(folder: RunFolder) -> _Pages:
    return _Pages(folder)


def _of_page(page: dict[str, Any], site: str, **about: Any) -> Entry:
    """The entry of a judged page: its site, or its host if that is another one than the site itself or its www."""
    host = page["url_host_name"] or ""
    site = site or page["url_host_private_domain"] or host
    is_site = host in ("", site, f"www.{site}")
    return Entry(
        SITE if is_site and host_of(f"http://{site}/").private_domain == site else HOST,
        site if is_site else host,
        page_id=page["page_id"],
        doc_id=page["doc_id"],
        url=page["url"],
        fetched=page["fetch_time"],
        **about,
    )


def with_until(entries: list[Entry], until: date | None, days: int) -> Iterator[Entry]:
    """Entries with the day they end: `until`, or so many days after their page was fetched."""
    for entry in entries:
        yield dataclasses.replace(entry, until=until or _later(entry.fetched, days))


def _later(fetched: datetime | None, days: int) -> date | None:
    """So many days after a time. Archives state any time, so this ends with the last day that there is."""
    if fetched is None:
        return None
    return fetched.date() + min(timedelta(days=days), date.max - fetched.date())
