"""What a signal is: a table of the run and a stage that fills it while pages are read."""

from typing import Protocol

import pyarrow as pa

from samehand.base.settings import Settings
from samehand.methods.page_batch import PageBatch
from samehand.store.folder import RunFolder


class Stage(Protocol):
    """Fills one table of the run. Made once per unit of work; maps batches of pages to batches of rows."""

    schema: pa.Schema

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A row for each page."""


class Signal(Protocol):
    """One kind of evidence: where its rows stand, and what they depend on."""

    table: str

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Puts into the run folder what every worker needs."""

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """Digest of everything but the pages that the rows depend on."""

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """The stage that computes the rows."""
