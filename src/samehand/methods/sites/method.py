"""The sites method: kinds of sites by their home pages, and the providers behind them, as a method of a run."""

from typing import ClassVar

from samehand.base.files import file_digest
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.methods.sites.verdicts import VERDICT_ORDER, providers_line
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
        from samehand.methods.sites.stage import SitesStage

        return SitesStage(settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of providers, and the name servers."""
        return settings.digest("providers") + file_digest(folder.path / NAMESERVERS.path)

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Judges sites, clusters of sites and providers."""
        from samehand.methods.sites.judge import judge_sites

        return judge_sites(folder, settings, threads=threads)

    def status(self, counts: Counts) -> list[str]:
        """Kinds of sites, and verdicts on providers."""
        sites = ", ".join(f"{number:,} {kind}" for kind, number in counts["sites"].items()) or "none"
        return [f"{count(sum(counts['sites'].values()), 'site')}: {sites}; {providers_line(counts['providers'])}"]


METHOD = SitesMethod()
