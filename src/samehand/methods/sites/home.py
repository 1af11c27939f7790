"""Which of a site's pages is its home page: a site is its home page (section 4.1 of the paper)."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import pyarrow as pa

_INDEX = re.compile(r"/(?:index|default|home|welcome|start)\.\w{2,5}|/(?:index|home)/?", re.IGNORECASE)


def home_page(
    page_ids: Sequence[int], urls: Sequence[str], hosts: Sequence[str | None], statuses: Sequence[int | None]
) -> int:
    """Which of one domain's pages is its home page: its place among those given.

    The smallest by: fetched well (status 200, or none stated) before other answers; the path "/" before index pages
    before all others; without a query; www or the bare domain before other hosts, of those the shorter; the shorter
    path; the smaller page id.
    """
    bare = min((host for host in hosts if host), key=len, default="")

    def rank(place: int) -> tuple[int, int, int, int, int, int, int]:
        path, query = _path_of(urls[place])
        kind = 0 if path in ("", "/") else 1 if _INDEX.fullmatch(path) else 2
        host = hosts[place] or ""
        other = 0 if host in (bare, f"www.{bare}") or host.startswith("www.") else 1
        failed = statuses[place] not in (200, None)
        return failed, kind, bool(query), other, len(host), len(path) + len(query), page_ids[place]

    return min(range(len(urls)), key=rank)


def _path_of(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""
    return parts.path, parts.query


def home_pages(pages: pa.Table) -> pa.Table:
    """One row for each registered domain: domain, page_id, url and `row`, where its home page stands in `pages`.

    Hosts without a domain, as addresses, stand for themselves. Pages without a host belong to no site.
    """
    hosts = pages.column("url_host_name").to_pylist()
    domains = pages.column("url_host_registered_domain").to_pylist()
    ids, urls, statuses = (pages.column(name).to_pylist() for name in ("page_id", "url", "fetch_status"))
    places: dict[str, list[int]] = {}
    for row, (domain, host) in enumerate(zip(domains, hosts, strict=True)):
        if domain or host:
            places.setdefault(domain or host, []).append(row)
    rows = [
        of_domain[home_page(*([column[row] for row in of_domain] for column in (ids, urls, hosts, statuses)))]
        for of_domain in places.values()
    ]
    chosen = sorted(zip(rows, places, strict=True))
    return pa.table(
        {
            "domain": pa.array([domain for _, domain in chosen], pa.string()),
            "page_id": pa.array([ids[row] for row, _ in chosen], pa.int64()),
            "url": pa.array([urls[row] for row, _ in chosen], pa.string()),
            "row": pa.array([row for row, _ in chosen], pa.int64()),
        }
    )
