"""samehand finds the web pages that were made by the same hand.

import samehand

run = samehand.scan("crawl/*.warc.gz", "run", signals="all")
run.clusters()           # ranked clusters of pages made by the same hand
run.members(1)           # the pages of cluster 1 by similarity to its medoid
run.like(html, url=url)  # one page against all
run.replicas()           # groups of near replicas
run.language()           # text that a machine made
run.sites()              # kinds of sites and the providers behind them
run.explain(a, b)        # why two pages are alike
run.sql("select * from style_clusters")
samehand.add("run", "more.warc.gz")
samehand.compare(a, b)   # two pages: exact similarities and the noise they share
"""

import importlib
from typing import TYPE_CHECKING

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
    from samehand.answers.explain import Explanation
    from samehand.answers.likeness import Likeness
    from samehand.answers.result import Result
    from samehand.answers.run import Run
    from samehand.answers.sites import SiteAnswers
    from samehand.api import add, compare, open_run, scan
    from samehand.engine.local import LocalEngine
    from samehand.engine.progress import Progress
    from samehand.engine.spark import SparkEngine
    from samehand.methods.style.compare import Comparison

__version__ = "0.3.0"

__all__ = [
    "Comparison",
    "Explanation",
    "InputError",
    "Likeness",
    "LocalEngine",
    "Progress",
    "Result",
    "Run",
    "RunBusyError",
    "RunError",
    "RunMismatchError",
    "RunWriteError",
    "SamehandError",
    "Settings",
    "SettingsError",
    "SiteAnswers",
    "SparkEngine",
    "UsageError",
    "add",
    "compare",
    "open_run",
    "scan",
]

_HOMES = {
    "Comparison": "samehand.methods.style.compare",
    "Explanation": "samehand.answers.explain",
    "Likeness": "samehand.answers.likeness",
    "LocalEngine": "samehand.engine.local",
    "Progress": "samehand.engine.progress",
    "Result": "samehand.answers.result",
    "Run": "samehand.answers.run",
    "SiteAnswers": "samehand.answers.sites",
    "SparkEngine": "samehand.engine.spark",
    "add": "samehand.api",
    "compare": "samehand.api",
    "open_run": "samehand.api",
    "scan": "samehand.api",
}
"""Names whose modules are slow to import. They are imported when first used."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'samehand' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names and nothing else."""
    return [*__all__, "__version__"]
