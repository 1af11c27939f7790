"""samehand finds the web pages that were made by the same hand.

import samehand

run = samehand.scan("crawl/*.warc.gz", "run/")
run.clusters()           # ranked clusters, an Arrow table
run.members(7)           # one cluster's pages by similarity to its centre
run.like(html)           # one page against all
samehand.add("run/", "more.warc.gz")
samehand.compare(a, b)   # two pages: exact similarities and the noise they share
"""

from typing import TYPE_CHECKING, Any

from samehand.base.errors import (
    InputError,
    RunBusyError,
    RunError,
    RunMismatchError,
    RunWriteError,
    SamehandError,
    SettingsError,
    UsageError,
)
from samehand.base.settings import Settings

if TYPE_CHECKING:
    from samehand.answers.run import Run
    from samehand.api import add, open_run, scan
    from samehand.engine.local import LocalEngine
    from samehand.engine.spark import SparkEngine
    from samehand.methods.style.noise import compare

__version__ = "0.1.0"

__all__ = [
    "InputError",
    "LocalEngine",
    "Run",
    "RunBusyError",
    "RunError",
    "RunMismatchError",
    "RunWriteError",
    "SamehandError",
    "Settings",
    "SettingsError",
    "SparkEngine",
    "UsageError",
    "__version__",
    "add",
    "compare",
    "open_run",
    "scan",
]

_LATE = {
    "LocalEngine": "samehand.engine.local",
    "Run": "samehand.answers.run",
    "SparkEngine": "samehand.engine.spark",
    "add": "samehand.api",
    "compare": "samehand.methods.style.noise",
    "open_run": "samehand.api",
    "scan": "samehand.api",
}
"""Names whose modules are slow to import: they are, when first used."""


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'samehand' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LATE[name]), name)
