"""The style method: hidden style similarity, as a method of a run."""

import dataclasses
from typing import ClassVar

import pyarrow as pa

from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.grouping.forest import find_forest
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.methods.page_batch import PageBatch
from samehand.methods.style.channels import probe_plan
from samehand.methods.style.clusters import group_rows, write_grouped
from samehand.methods.style.fingerprints import style_batch
from samehand.methods.style.sketches import check_rule, searched
from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_CLUSTERS, STYLE_EDGES, STYLE_FINGERPRINTS, STYLE_MEMBERS


class StyleMethod(Method):
    """Pages of the same template or script, across sites."""

    name = "style"
    about = "pages made by the same template or script (hidden style similarity)"
    changeable = ("grouping",)
    command = "scan"
    page_table = STYLE_FINGERPRINTS
    tables = (STYLE_EDGES, STYLE_MEMBERS, STYLE_CLUSTERS)
    counted: ClassVar = {
        **dict.fromkeys(("clusters", "clustered_pages", "families", "checks", "buckets", "large_buckets"), int),
        **dict.fromkeys(("probes", "too_small", "equal", "leader_cap_hits"), int),
    }

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The style settings."""
        return settings.digest("style")

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Fingerprints."""
        return _StyleStage(settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of style and grouping."""
        return settings.digest("style", "grouping")

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Searches for edges, makes families and clusters of them, and ranks the clusters."""
        with searched(folder, settings, probe_plan(settings)) as (sketches, buckets):
            forest, checked = find_forest(
                sketches, buckets, rule=check_rule(settings), threads=threads, progress=on_progress
            )
        grouped = group_rows(sketches, sketches.page_ids, forest, settings)
        return {**checked.stored(), **write_grouped(folder, grouped, settings), **miss_counts(settings)}

    def status(self, counts: Counts) -> list[str]:
        """Clusters, families, and what the search did."""
        clusters, pages = count(counts["clusters"], "cluster"), count(counts["clustered_pages"], "page")
        checks, buckets = count(counts["checks"], "pair"), count(counts["buckets"], "bucket")
        lines = [
            f"{clusters} of {pages}, {count(counts['families'], 'family')}",
            f"{checks} checked in {buckets} of {counts['probes']} probes; "
            f"{count(counts['too_small'], 'page')} too small to compare, {counts['equal']:,} equal to another page",
        ]
        if counts["leader_cap_hits"]:
            lines.append(
                f"{counts['large_buckets']:,} buckets were too large to check all pairs; {counts['leader_cap_hits']:,} "
                "times a page exceeded --max-leaders"
            )
        return lines


def miss_counts(settings: Settings) -> dict[str, float]:
    """The probability to miss a pair at each threshold."""
    plan = probe_plan(settings).noise
    return {
        "family_miss_probability": plan.miss(settings.family_threshold),
        "cluster_miss_probability": plan.miss(settings.cluster_threshold),
    }


@dataclasses.dataclass(frozen=True, slots=True)
class _StyleStage:
    settings: Settings

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A fingerprint for each page."""
        return style_batch(pages.html_rows, self.settings)


METHOD = StyleMethod()
