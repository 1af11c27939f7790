"""The stage of style: what is computed while pages are read."""

import dataclasses

import pyarrow as pa

from samehand.base.settings import Settings
from samehand.methods.page_batch import PageBatch
from samehand.methods.style.fingerprints import style_batch


@dataclasses.dataclass(frozen=True, slots=True)
class StyleStage:
    """Fingerprints."""

    settings: Settings

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A fingerprint for each page."""
        return style_batch(pages.html_rows, self.settings)
