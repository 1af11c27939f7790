"""Kinds of the sites of a run."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.arguments import Paths, paths_of
from samehand.answers.result import Result
from samehand.base.errors import UsageError
from samehand.base.setting import nearest
from samehand.base.settings import Settings
from samehand.methods.sites.nameservers.dns import OnDnsProgress, ResolveProgress
from samehand.methods.sites.nameservers.pairs import NameServers
from samehand.methods.sites.nameservers.stored import store_servers
from samehand.methods.sites.verdicts import KINDS

if TYPE_CHECKING:
    from samehand.answers.run import Run


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class SiteAnswers:
    """Kinds of sites: the answer of `Run.sites`.

    Attributes:
        sites: One row per site and provider: its kind, the probability, and the evidence.
        clusters: Clusters of home pages by structure, within a provider.
        providers: One row per provider of name servers, with its share of parked sites.
        counts: How many sites are of which kind, and providers have which verdict, as `samehand status` shows it.
    """

    sites: Result
    clusters: Result
    providers: Result
    counts: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"{self._line()}\n{self.sites!r}"

    def _repr_html_(self) -> str:
        """The same for notebooks. Everything crawled is escaped."""
        return f"<p>{self._line()}</p>{self.sites._repr_html_()}"

    def _line(self) -> str:
        kinds = Counter(self.sites["kind"])
        counted = ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common()) or "none"
        return (
            f"{len(self.sites):,} sites: {counted}; {len(self.clusters):,} clusters, {len(self.providers):,} providers."
        )


def of_kind(sites: pa.Table, kind: str | Sequence[str] | None) -> pa.Table:
    """The sites of one or several kinds; all of them if none is named."""
    if kind is None:
        return sites
    wanted = [kind] if isinstance(kind, str) else list(kind)
    for name in wanted:
        if name not in KINDS:
            raise UsageError(f"There is no kind {name!r}{nearest(name, KINDS)}")
    return sites.filter(pc.is_in(sites.column("kind"), pa.array(wanted, pa.string())))


def judge(
    run: "Run",
    *,
    nameservers: Paths = (),
    resolve: bool = False,
    retry: bool = False,
    on_dns_progress: OnDnsProgress | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> NameServers | None:
    """Judges the sites of a run, where that is not done from just these name servers and settings.

    Returns what was read of name servers; None if those of the last time are used.
    """
    if run.settings.profile == "mail":
        raise UsageError(f"{run.path} holds mail, and sites are web pages: give the run of a crawl.")
    files = paths_of(nameservers, "nameservers")
    changes = dict(settings or {})
    read = None
    if files or resolve or retry:
        with run.folder.locked():
            run.folder.check_finished()
            run.folder.withdraw(["sites"])
            wanted = Settings.from_dict(run.settings.as_dict() | changes)
            told = on_dns_progress or _silent
            read = _aside(
                lambda: store_servers(run.folder, files, wanted, resolve=resolve, retry=retry, on_progress=told)
            )
    if read is not None or changes or "sites" not in run.manifest["stages"]:
        run.compute("sites", **options, **changes)
    return read


def _aside(work: Callable[[], NameServers]) -> NameServers:
    """Does work that has an event loop of its own. A notebook has one already, and a thread has but one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def _silent(_: ResolveProgress) -> None:
    return
