"""The sites method: kinds of sites by their home pages, and the providers behind them, as a method of a run."""

import dataclasses
from typing import ClassVar

import numpy as np
import pyarrow as pa

from samehand.base.buffers import column_buffers
from samehand.base.files import file_digest
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.html import parse_pages
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.methods.page_batch import PageBatch
from samehand.methods.sites.features import page_features
from samehand.methods.sites.judge import judge_sites, providers_line
from samehand.methods.sites.tags import structure_batch
from samehand.methods.sites.verdicts import VERDICT_ORDER
from samehand.store.folder import RunFolder
from samehand.store.tables import NAMESERVERS, PROVIDERS, SITE_CLUSTERS, SITE_PAGES, SITES


class SitesMethod(Method):
    """Kinds of sites, and the name servers behind them."""

    name = "sites"
    about = (
        "what kind of site each is (parked, for sale, default page, real, ...), and the providers of their name servers"
    )
    changeable = ("sites", "providers")
    command = "sites"
    page_table = SITE_PAGES
    tables = (SITES, SITE_CLUSTERS, PROVIDERS)
    counted: ClassVar = {
        "sites": {str: int},
        "providers": dict.fromkeys(VERDICT_ORDER, int),
        **dict.fromkeys(("clusters", "without_servers", "cut_pages", "markup_capped"), int),
    }
    needs = ("style",)
    uses = ("replica", "language", "phrases", "classes")

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup and sites."""
        return settings.digest("markup", "sites")

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Tags and figures. All pages have a row: which is a home page shows only when all are read."""
        return _SitesStage(settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of providers, and the name servers."""
        return settings.digest("providers") + file_digest(folder.path / NAMESERVERS.path)

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Judges sites, clusters of sites and providers."""
        return judge_sites(folder, settings, threads=threads)

    def status(self, counts: Counts) -> list[str]:
        """Kinds of sites, and verdicts on providers."""
        sites = ", ".join(f"{number:,} {kind}" for kind, number in counts["sites"].items()) or "none"
        return [f"{count(sum(counts['sites'].values()), 'site')}: {sites}; {providers_line(counts['providers'])}"]


@dataclasses.dataclass(frozen=True, slots=True)
class _SitesStage:
    """Tags and figures of pages. Mail has none: its rows are those of empty pages."""

    settings: Settings

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A row for each page."""
        found = pages.markup
        data, offsets = column_buffers(pages.content)
        if found is None:
            data, offsets = np.zeros(0, np.uint8), np.zeros(len(pages) + 1, np.int64)
            found = parse_pages(data, offsets)
        tags = structure_batch(pages.page_ids, found, max_tags=self.settings.max_tags)
        figures = page_features(pages.rows, found, data=data, offsets=offsets, hosts=pages.link_hosts)
        columns = [*tags.columns, *figures.columns[1:], pa.array(found.flags)]
        return pa.record_batch(columns, schema=SITE_PAGES.fixed_schema)


METHOD = SitesMethod()
