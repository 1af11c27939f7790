"""The style signal: fingerprints of the pages' noise."""

import pyarrow as pa

from samehand.base.settings import Settings
from samehand.methods.method import Stage
from samehand.methods.page_batch import PageBatch
from samehand.methods.style.noise import style_batch, style_schema
from samehand.store.folder import RunFolder


class StyleSignal:
    """Hidden style similarity."""

    table = "style/fingerprints"

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Nothing to prepare."""

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """The style settings."""
        return settings.digest("style")

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Fingerprints."""
        return StyleStage(settings)


class StyleStage:
    """Pages to fingerprints."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.schema = style_schema(settings)

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """Fingerprints."""
        return style_batch(pages.rows, self._settings)
