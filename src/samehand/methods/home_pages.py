"""Which page of a site is its home page: the methods that need one ask here.

A site is the private domain of its pages (foo.wordpress.com where the suffix list says so), or their host if they have
no such domain. A site is judged by its home page (Geraci, WWW 2015, section 4.1).
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import pyarrow as pa

ROOT, INDEX, INSIDE = range(3)
"""What a path is: the root of the host, an index page such as /index.html, or a page inside the site."""

_INDEX = re.compile(r"/(?:index|default|home|welcome|start)\.\w{2,5}|/(?:index|home)/?", re.IGNORECASE)


def split_path(url: str) -> tuple[str, str]:
    """Path and query of a URL. A URL that cannot be parsed is all path."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url, ""
    return parts.path, parts.query


def path_kind(path: str) -> int:
    """ROOT, INDEX or INSIDE. A home page is one of the first two, without a query."""
    if path in ("", "/"):
        return ROOT
    return INDEX if _INDEX.fullmatch(path) else INSIDE


def home_page(
    page_ids: Sequence[int], urls: Sequence[str], hosts: Sequence[str | None], statuses: Sequence[int | None]
) -> int:
    """Position of the home page among the pages of one site.

    These decide, in this order: a status of 200, or none stated; the root before index pages before other pages; no
    query; www or the shortest host before other hosts; the shorter host; the shorter path; the smaller page id.
    """
    if len(urls) == 1:
        return 0
    bare = min((host for host in hosts if host), key=len, default="")

    def rank(place: int) -> tuple[int, int, int, int, int, int, int]:
        path, query = split_path(urls[place])
        host = hosts[place] or ""
        other = 0 if host in (bare, f"www.{bare}") or host.startswith("www.") else 1
        failed = statuses[place] not in (200, None)
        return failed, path_kind(path), bool(query), other, len(host), len(path) + len(query), page_ids[place]

    return min(range(len(urls)), key=rank)


def home_pages(pages: pa.Table) -> pa.Table:
    """One row per site, in the order of `pages`: site, page_id, url and url_host_registered_domain of its home page.

    Pages without a host belong to no site.
    """
    names = ("page_id", "url", "url_host_name", "fetch_status", "url_host_private_domain", "url_host_registered_domain")
    ids, urls, hosts, statuses, private, registered = (pages.column(name).to_pylist() for name in names)
    rows_of: dict[str, list[int]] = {}
    for row, (domain, host) in enumerate(zip(private, hosts, strict=True)):
        if site := domain or host:
            rows_of.setdefault(site, []).append(row)
    homes = sorted(
        (rows[home_page(*([column[row] for row in rows] for column in (ids, urls, hosts, statuses)))], site)
        for site, rows in rows_of.items()
    )
    return pa.table(
        {
            "site": pa.array([site for _, site in homes], pa.string()),
            "page_id": pa.array([ids[row] for row, _ in homes], pa.int64()),
            "url": pa.array([urls[row] for row, _ in homes], pa.string()),
            "url_host_registered_domain": pa.array([registered[row] for row, _ in homes], pa.string()),
        }
    )
