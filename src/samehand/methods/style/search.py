"""From the fingerprints of a run to its clusters: pairs are searched and checked, and the forest they make is cut."""

from samehand.base.settings import Settings
from samehand.grouping.forest import find_forest
from samehand.methods.method import Counts, OnGroupProgress
from samehand.methods.style.channels import probe_plan
from samehand.methods.style.clusters import group_rows, write_grouped
from samehand.methods.style.sketches import check_rule, searched
from samehand.store.folder import RunFolder


def group_style(folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
    """Searches for edges, makes families and clusters of them, and ranks the clusters."""
    with searched(folder, settings, probe_plan(settings)) as (sketches, buckets):
        forest, checked = find_forest(
            sketches, buckets, rule=check_rule(settings), threads=threads, progress=on_progress
        )
    grouped = group_rows(sketches, sketches.page_ids, forest, settings)
    return {**checked.stored(), **write_grouped(folder, grouped, settings), **miss_counts(settings)}


def miss_counts(settings: Settings) -> dict[str, float]:
    """The probability to miss a pair at each threshold."""
    plan = probe_plan(settings).noise
    return {
        "family_miss_probability": plan.miss(settings.family_threshold),
        "cluster_miss_probability": plan.miss(settings.cluster_threshold),
    }
