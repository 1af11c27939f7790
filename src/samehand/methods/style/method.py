"""The style method: hidden style similarity, as a method of a run."""

from typing import ClassVar

from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
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
        from samehand.methods.style.stage import StyleStage

        return StyleStage(settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of style and grouping."""
        return settings.digest("style", "grouping")

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Searches for edges, makes families and clusters of them, and ranks the clusters."""
        from samehand.methods.style.search import group_style

        return group_style(folder, settings, threads=threads, on_progress=on_progress)

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


METHOD = StyleMethod()
