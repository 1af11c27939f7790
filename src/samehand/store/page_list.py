"""The pages of a run as lists of answers show them: URL, ids, host and site."""

import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES

_COLUMNS = ["page_id", "url", "doc_id", "url_host_name", "url_host_private_domain"]


class PageList:
    """All pages, by row."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    @functools.cached_property
    def table(self) -> pa.Table:
        """url, doc_id, page_id, host and site of each page, in page_id order."""
        pages = self._folder.read(PAGES, _COLUMNS).combine_chunks()
        host = pages.column("url_host_name")
        site = pc.coalesce(pages.column("url_host_private_domain"), host)
        names = ("url", "doc_id", "page_id")
        return pa.table({**{name: pages.column(name) for name in names}, "host": host, "site": site})

    def url(self, row: int) -> str:
        """The URL of a page."""
        return str(self.table.column("url")[int(row)].as_py())

    def listed(self, rows: NDArray[np.integer], similarities: NDArray[np.float32] | None = None) -> pa.Table:
        """Some pages, with their similarities if there are any."""
        chosen = self.table.take(pa.array(rows, pa.int64()))
        return chosen if similarities is None else chosen.add_column(0, "similarity", pa.array(similarities))

    def named(self, column: str, names: pa.Array) -> NDArray[np.int64]:
        """The rows whose URL, host or site is one of `names`."""
        return np.flatnonzero(pc.is_in(self.table.column(column), names).to_numpy()).astype(np.int64)
