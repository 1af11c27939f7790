"""Labels by hand for the sites of a run: the questions, and the labels that follow from the answers."""

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa

from samehand.methods.sites.judge import stored_verdicts
from samehand.methods.sites.labelling import NO_GROUP, Labelling
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, SITE_LABELS


@dataclasses.dataclass(frozen=True, slots=True)
class SiteLabelling:
    """The sites of a run for labelling by hand. Pages with one digest, by page id, are identical."""

    labelling: Labelling
    digests: dict[int, str]


def label_sites(folder: RunFolder, *, seed: int) -> SiteLabelling:
    """The home pages of a judged run, grouped by their clusters. A placeholder is in no group."""
    sites = stored_verdicts(folder).sites.select(["page_id", "url", "site_cluster_id"]).to_pylist()
    first = {row["page_id"]: row for row in reversed(sites)}
    rows = [first[page_id] for page_id in sorted(first)]
    page_ids = np.array([row["page_id"] for row in rows], np.int64)
    pages = folder.read(PAGES, ["page_id", "content_digest"])
    pages = pages.filter(pa.array(np.isin(pages.column("page_id").to_numpy(), page_ids)))
    digests = dict(zip(pages.column("page_id").to_pylist(), pages.column("content_digest").to_pylist(), strict=True))
    clusters = [row["site_cluster_id"] for row in rows]
    labelling = Labelling(
        page_ids,
        np.array([NO_GROUP if cluster is None else cluster for cluster in clusters], np.int64),
        identical=[digests[page_id] for page_id in page_ids.tolist()],
        urls=[row["url"] for row in rows],
        seed=seed,
    )
    return SiteLabelling(labelling, digests)


def save_labels(folder: RunFolder, labelling: Labelling) -> Path:
    """Writes the labels of all pages that have one, with site and URL. Returns the file."""
    labels = labelling.labels()
    sites = stored_verdicts(folder).sites
    for name in ("site", "url"):
        known = dict(zip(*(sites.column(column).to_pylist() for column in ("page_id", name)), strict=True))
        column = pa.array([known[page_id] for page_id in labels.column("page_id").to_pylist()], pa.string())
        labels = labels.append_column(name, column)
    folder.write(SITE_LABELS, labels)
    return folder.path / SITE_LABELS.path
