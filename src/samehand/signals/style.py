"""The style signal: fingerprints of the pages' noise."""

import pyarrow as pa

from samehand.run import RunFolder
from samehand.settings import Settings
from samehand.signals.pages import PageBatch
from samehand.signals.signal import Stage
from samehand.style import style_batch, style_schema


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
