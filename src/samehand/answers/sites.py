"""Verdicts on the sites of a run."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from samehand.answers.result import Result
from samehand.base.errors import UsageError
from samehand.base.settings import Settings
from samehand.methods.sites.nameservers.dns import OnDnsProgress, ResolveProgress
from samehand.methods.sites.nameservers.pairs import NameServers
from samehand.methods.sites.nameservers.stored import store_servers

if TYPE_CHECKING:
    from samehand.answers.run import Run


@dataclasses.dataclass(frozen=True, slots=True)
class SiteAnswers:
    """Sites, clusters of sites and providers, each as a table, and the counts behind them."""

    sites: Result
    clusters: Result
    providers: Result
    counts: Mapping[str, Any]


def judge(
    run: "Run",
    *,
    nameservers: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
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
    files = [nameservers] if isinstance(nameservers, str | os.PathLike) else list(nameservers)
    changes = dict(settings or {})
    read = None
    if files or resolve or retry:
        with run.folder.locked():
            run.folder.check_finished()
            run.folder.withdraw(["sites"])
            wanted = Settings.from_dict(run.settings.as_dict() | changes)
            told = on_dns_progress or _silent
            read = store_servers(run.folder, files, wanted, resolve=resolve, retry=retry, on_progress=told)
    if read is not None or changes or "sites" not in run.manifest["stages"]:
        run.compute("sites", **options, **changes)
    return read


def _silent(_: ResolveProgress) -> None:
    return
