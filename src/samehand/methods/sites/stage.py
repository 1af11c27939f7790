"""The stage of sites: what is computed while pages are read."""

import dataclasses

import numpy as np
import pyarrow as pa

from samehand.base.buffers import column_buffers
from samehand.base.settings import Settings
from samehand.html import parse_pages
from samehand.methods.page_batch import PageBatch
from samehand.methods.sites.features import page_features
from samehand.methods.sites.tags import structure_batch
from samehand.store.tables import SITE_PAGES


@dataclasses.dataclass(frozen=True, slots=True)
class SitesStage:
    """Tags and figures of pages. Mail has none: its rows are those of empty pages."""

    settings: Settings

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A row for each page."""
        found = pages.markup
        data, offsets = column_buffers(pages.content)
        if found is None:
            data, offsets = np.zeros(0, np.uint8), np.zeros(len(pages) + 1, np.int64)
            found = parse_pages(data, offsets)
        tags = structure_batch(pages.page_ids, found, max_tags=self.settings.max_tags)
        figures = page_features(pages.rows, found, data=data, offsets=offsets, hosts=pages.link_hosts)
        columns = [*tags.columns, *figures.columns[1:], pa.array(found.flags)]
        return pa.record_batch(columns, schema=SITE_PAGES.fixed_schema)
