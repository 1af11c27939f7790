"""Labels of sites by hand."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from samehand.methods.sites.judge import stored_verdicts
from samehand.methods.sites.labelling import NO_GROUP, Labelling
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, SITE_LABELS


@dataclasses.dataclass(frozen=True, slots=True)
class SiteLabelling:
    """The sites of a run for labelling by hand: `digests` tells identical pages, by page id."""

    labelling: Labelling
    digests: dict[int, str]


def label_sites(folder: RunFolder, *, seed: int) -> SiteLabelling:
    """The home pages of a judged run, in their structure clusters. Plain pages are each a group of their own."""
    sites = stored_verdicts(folder).sites.select(["page_id", "url", "site_cluster_id"])
    first: dict[int, dict[str, Any]] = {}
    for row in sites.to_pylist():
        first.setdefault(row["page_id"], row)
    page_ids = np.array(sorted(first), np.int64)
    pages = folder.read(PAGES, ["page_id", "content_digest"])
    pages = pages.filter(pa.array(np.isin(pages.column("page_id").to_numpy(), page_ids)))
    digests = dict(zip(pages.column("page_id").to_pylist(), pages.column("content_digest").to_pylist(), strict=True))
    groups = [first[page_id]["site_cluster_id"] for page_id in page_ids.tolist()]
    labelling = Labelling(
        page_ids,
        np.array([NO_GROUP if group is None else group for group in groups], np.int64),
        identical=[digests[page_id] for page_id in page_ids.tolist()],
        urls=[first[page_id]["url"] for page_id in page_ids.tolist()],
        seed=seed,
    )
    return SiteLabelling(labelling, digests)


def save_labels(folder: RunFolder, labelling: Labelling) -> Path:
    """Writes the labels of all pages that have one, with their sites; returns the file."""
    labels = labelling.labels()
    sites = stored_verdicts(folder).sites
    domains = dict(zip(*(sites.column(name).to_pylist() for name in ("page_id", "domain")), strict=True))
    urls = dict(zip(*(sites.column(name).to_pylist() for name in ("page_id", "url")), strict=True))
    for name, known in (("domain", domains), ("url", urls)):
        column = pa.array([known[page_id] for page_id in labels.column("page_id").to_pylist()], pa.string())
        labels = labels.append_column(name, column)
    folder.write(SITE_LABELS, labels)
    return folder.path / SITE_LABELS.path
