"""The home pages of a run, and the domains that their name servers belong to."""

import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.page import PLAIN_TEXT
from samehand.methods.home_pages import home_pages
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES

_COLUMNS = ["page_id", "url", "url_host_name", "url_host_registered_domain", "url_host_private_domain", "fetch_status"]


def site_homes(folder: RunFolder) -> pa.Table:
    """site, page_id, url and url_host_registered_domain of each home page, in order of page ids. Plain text is none."""
    pages = folder.read(PAGES, [*_COLUMNS, "content_mime_detected"])
    is_text = pc.equal(pages.column("content_mime_detected"), PLAIN_TEXT).fill_null(False)
    return home_pages(pages.filter(pc.invert(is_text)))


def domains_of(homes: pa.Table) -> list[str]:
    """The registered domain of each site, or the site itself: name servers are delegated there."""
    domains: list[str] = pc.coalesce(homes.column("url_host_registered_domain"), homes.column("site")).to_pylist()
    return domains
