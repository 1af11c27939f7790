"""Verdicts as a method of a run: it has no rows per page of its own, and reads what the other methods found."""

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress
from samehand.methods.verdicts.facts import cluster_classes, numbered, page_facts, site_hashes
from samehand.methods.verdicts.groups import cluster_sites, commonest, mean_evidence
from samehand.methods.verdicts.model import Weights, read_weights
from samehand.methods.verdicts.pages import PageJudge, write_pages
from samehand.methods.verdicts.policy import read_policy
from samehand.methods.verdicts.rows import Labels, verdict_columns
from samehand.methods.verdicts.scoring import score
from samehand.methods.verdicts.sites import site_evidence, site_facts
from samehand.store.folder import RunFolder
from samehand.store.tables import (
    PAGES,
    SITE_LABELS,
    STYLE_CLUSTERS,
    VERDICT_CLUSTERS,
    VERDICT_PAGES,
    VERDICT_PROVIDERS,
    VERDICT_SITES,
)


class VerdictsMethod(Method):
    """What to keep, review, drop or block, and why."""

    name = "verdicts"
    about = "what to do with each page, site, cluster and provider: the evidence of all methods"
    command = "verdicts"
    tables = (VERDICT_PAGES, VERDICT_SITES, VERDICT_CLUSTERS, VERDICT_PROVIDERS)
    uses = ("style", "replica", "classes", "language", "sites")
    profiles = ("web", "mail")
    counted: ClassVar = {"pages": {"actions": {str: int}, "kinds": {str: int}}, "sites": {"actions": {str: int}}}

    def status(self, counts: Counts) -> list[str]:
        """How many pages and sites are to be kept, reviewed, dropped or blocked."""
        pages = ", ".join(f"{action} {number:,}" for action, number in counts["pages"]["actions"].items())
        sites = ", ".join(f"{action} {number:,}" for action, number in counts["sites"]["actions"].items())
        return [f"pages: {pages}", f"sites: {sites}"]
