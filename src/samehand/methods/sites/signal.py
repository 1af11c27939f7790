"""The structure signal: the pages' tags, and what else sites are judged by."""

import numpy as np
import pyarrow as pa

from samehand.base.buffers import column_buffers
from samehand.base.settings import Settings
from samehand.html import parse_pages
from samehand.methods.method import Stage
from samehand.methods.page_batch import PageBatch
from samehand.methods.sites.features import FEATURE_SCHEMA, page_features
from samehand.methods.sites.tags import STRUCTURE_SCHEMA, structure_batch
from samehand.store.folder import RunFolder

PAGE_STRUCTURES = "structure/pages"
STORED_SCHEMA = pa.schema(
    [
        *STRUCTURE_SCHEMA,
        *(field for field in FEATURE_SCHEMA if field.name != "page_id"),
        pa.field("markup_flags", pa.uint8(), nullable=False),
    ]
)
"""structure/pages: STRUCTURE_SCHEMA (tags), FEATURE_SCHEMA (words, links, title, …), and the limits of markup.py hit.

All pages have a row: which of them is a site's home page shows only when all are read, and many crawls have others.
"""


class StructureSignal:
    """Tag sequences, and the figures that judge home pages."""

    table = PAGE_STRUCTURES

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Nothing to prepare."""

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup and structure."""
        return settings.digest("markup", "sites")

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Tags and figures."""
        return StructureStage(settings)


class StructureStage:
    """Pages to their tags and figures. Mail has none: its rows are those of empty pages."""

    schema = STORED_SCHEMA

    def __init__(self, settings: Settings) -> None:
        self._max_tags = settings.max_tags

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """Tags and figures."""
        found = pages.markup
        data, offsets = column_buffers(pages.content)
        if found is None:
            data, offsets = np.zeros(0, np.uint8), np.zeros(len(pages) + 1, np.int64)
            found = parse_pages(data, offsets)
        tags = structure_batch(pages.page_ids, found, max_tags=self._max_tags)
        figures = page_features(pages.rows, found, data=data, offsets=offsets)
        columns = [*tags.columns, *figures.columns[1:], pa.array(found.flags)]
        return pa.record_batch(columns, schema=self.schema)
