"""The home pages of a run: a site is its home page (section 4.1 of the paper)."""

import pyarrow as pa

from samehand.methods.sites.home import home_pages
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES

_COLUMNS = ["page_id", "url", "url_host_name", "url_host_registered_domain", "url_host_private_domain", "fetch_status"]


def site_homes(folder: RunFolder) -> pa.Table:
    """One row for each site: domain, page_id, url; in order of page ids."""
    return home_pages(folder.read(PAGES, _COLUMNS)).select(["domain", "page_id", "url"])
