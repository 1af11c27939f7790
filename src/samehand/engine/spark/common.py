"""What every task in an executor is given."""

import dataclasses
import json
import os
import socket
from pathlib import Path

from samehand import __version__
from samehand.base.errors import RunWriteError, SamehandError
from samehand.base.settings import Settings
from samehand.engine.spark.session import not_shared
from samehand.store.folder import RunFolder


@dataclasses.dataclass(frozen=True, slots=True)
class Common:
    """What all tasks of a run know, as text. Beside this only the names of functions go to the executors."""

    folder: str
    settings: str
    version: str

    @classmethod
    def of(cls, folder: RunFolder, settings: Settings) -> "Common":
        """From what the driver has."""
        return cls(str(folder.path.absolute()), json.dumps(settings.as_dict()), __version__)

    def unpacked(self) -> tuple[RunFolder, Settings]:
        """The run folder and the settings. Raises where this executor has another version or another file system."""
        if self.version != __version__:
            raise SamehandError(f"An executor has samehand {__version__}, not {self.version}: install one version.")
        if not os.path.isdir(self.folder):
            raise RunWriteError(not_shared(Path(self.folder), socket.gethostname()))
        return RunFolder(Path(self.folder)), Settings.from_dict(json.loads(self.settings))
