"""Pages grouped by style in memory, by the functions of the product: no run folder, no files."""

from collections.abc import Sequence

import numpy as np

from samehand import Settings
from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.grouping.forest import find_forest
from samehand.grouping.probes import Buckets
from samehand.methods.style.channels import probe_plan, sketches_of
from samehand.methods.style.clusters import group_rows
from samehand.methods.style.fingerprints import Stored, style_batch
from samehand.methods.style.sketches import check_rule


def style_groups(pages: Sequence[Page], settings: Settings) -> tuple[list[int], list[int]]:
    """The family and the cluster of each page."""
    stored = Stored.of(style_batch(pages_to_batch(pages, 0), settings), settings)
    sketches = sketches_of(stored, settings)
    buckets = Buckets(
        [np.ascontiguousarray(column) for column in probe_plan(settings).columns(stored)], stored.identity
    )
    forest, _ = find_forest(sketches, buckets, rule=check_rule(settings), threads=1)
    grouped = group_rows(sketches, stored.page_ids, forest, settings)
    return grouped.families.tolist(), grouped.labels.tolist()
