"""The commands of structure: judge sites and their providers, compare the tags of two pages."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samehand.base.errors import InputError
from samehand.base.settings import Settings, fields_of
from samehand.cli.common import FORMATS, TABLE_ROWS, print_rows, say, setting_options

if TYPE_CHECKING:
    from samehand.methods.sites.judge import Parked
    from samehand.methods.sites.nameservers.dns import ResolveProgress
    from samehand.methods.sites.verdicts import Verdicts
    from samehand.store.folder import RunFolder

PROVIDER_COLUMNS = {
    "provider": "provider",
    "verdict": "verdict",
    "sites": "sites",
    "parked_sites": "parked",
    "ok_sites": "ok",
    "placeholder_sites": "placeholders",
    "clusters": "clusters",
    "average_radius": "radius",
    "nameservers": "name servers",
}
SITE_COLUMNS = {
    "site": "site",
    "provider": "provider",
    "verdict": "verdict",
    "site_cluster_id": "cluster",
    "distance": "distance",
    "style_verdict": "by style",
    "reason": "reason",
}
CLUSTER_COLUMNS = {
    "site_cluster_id": "cluster",
    "provider": "provider",
    "verdict": "verdict",
    "sites": "sites",
    "mean_distance": "mean",
    "radius": "radius",
    "same_text_share": "text",
    "prose": "prose",
    "same_title": "titles",
    "shared_targets": "targets",
    "score": "score",
    "centre_url": "centre",
}
BLOCK_LISTS = ("rpz", "domains")
DNS_LINE_SECONDS = 10.0


def _judging_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return setting_options(command, "sites", "providers")


def _settings_of(folder: "RunFolder", options: dict[str, Any]) -> Settings:
    """The settings of a run, changed by those options that were given."""
    names = [field.name for field in fields_of("sites", "providers")]
    changes = {name: options[name] for name in names if options.get(name) is not None}
    return Settings.from_dict(folder.settings().as_dict() | changes)


@click.command()
@click.argument("run", type=click.Path())
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--nameservers", multiple=True, type=click.Path(), help="Name servers: CSV (domain,ns), zone file, JSON of dig, …"
)
@click.option("--resolve", is_flag=True, help="Ask DNS for the name servers that no file knows.")
@click.option("--retry", is_flag=True, help="The same, and ask again for domains that could not be asked before.")
@click.option("--sites", "view", flag_value="sites", help="The sites, instead of the providers.")
@click.option("--clusters", "view", flag_value="clusters", help="The clusters of sites.")
@click.option("--providers", "view", flag_value="providers", help="The providers: shown first if any is known.")
@click.option(
    "--format",
    "form",
    type=click.Choice((*FORMATS, *BLOCK_LISTS)),
    default="table",
    show_default=True,
    help="rpz: a response policy zone; domains: the parked sites, one a line; others: all figures of what is listed.",
)
@click.option("--top", type=click.IntRange(min=0), default=None, help=f"Rows; 0 for all.  [default: {TABLE_ROWS}]")
@click.option("--serial", type=int, default=1, show_default=True, help="Serial of the zone: raise it with each change.")
@click.option("--whole", is_flag=True, help="In the zone: all name servers of a provider, those never seen included.")
@click.option("--block-sites", is_flag=True, help="In the zone: parked sites of other providers, too.")
@click.option("--allow", type=click.Path(), default=None, help="File of domains never to be blocked, one a line.")
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Worker processes.  [default: one per core]")
@_judging_options
@click.pass_context
def parked(
    context: click.Context, /, run: str, files: tuple[str, ...], nameservers: tuple[str, ...], **options: Any
) -> None:
    """Parked sites of RUN, and the providers whose name servers they use.

    A site is judged by its home page. The sites of one provider are clustered by the structure of their pages.
    Clusters, sites and providers are parked, ok or unknown, each with a reason. FILES are more files of name servers.
    Without any file, the name servers of the last time are used.
    """
    from samehand.cli.progress import ProgressDisplay
    from samehand.engine.local import LocalEngine
    from samehand.methods.sites.judge import judge_run
    from samehand.store.folder import RunFolder

    allowed = _names_in(options["allow"])
    with ProgressDisplay(**context.obj) as progress:
        found = judge_run(
            run,
            settings=_settings_of(RunFolder.open(run), options),
            nameservers=(*nameservers, *files),
            resolve=options["resolve"],
            retry=options["retry"],
            engine=LocalEngine(options["workers"]),
            progress=progress,
            dns_progress=_DnsLines(),
        )
    if options["form"] in BLOCK_LISTS:
        _print_list(found.verdicts, allowed, options)
    else:
        _print_view(found.verdicts, options["view"] or _first_view(found), options["form"], options["top"])
    for line in _closing_lines(found, run):
        say(line)


class _DnsLines:
    """A line now and then on how far DNS is, and one at the end."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, progress: "ResolveProgress") -> None:
        if progress.done == progress.total or time.monotonic() - self._last >= DNS_LINE_SECONDS:
            self._last = time.monotonic()
            say(f"DNS: {progress.done:,} of {progress.total:,} domains, {progress.queries:,} queries.")


def _names_in(path: str | None) -> list[str]:
    if path is None:
        return []
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Check the path of --allow.") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _print_list(verdicts: "Verdicts", allowed: list[str], options: dict[str, Any]) -> None:
    from samehand.exports.blocklists import to_domains, to_rpz

    if options["form"] == "rpz":
        made = to_rpz(
            verdicts,
            serial=options["serial"],
            whole=options["whole"],
            block_sites=options["block_sites"],
            allow=allowed,
        )
    else:
        made = to_domains(verdicts, allow=allowed)
    sys.stdout.write(made.text)
    say(f"Written: {_listed(made.written) or 'nothing'}.")
    if made.left_out:
        say(f"Left out: {_listed(made.left_out)}.")


def _first_view(found: "Parked") -> str:
    """Providers, or clusters where no provider is known."""
    return "providers" if sum(found.counts["providers"].values()) else "clusters"


def _print_view(verdicts: "Verdicts", view: str, form: str, top: int | None) -> None:
    table = {"sites": verdicts.sites, "clusters": verdicts.clusters, "providers": verdicts.providers}[view]
    columns = {"sites": SITE_COLUMNS, "clusters": CLUSTER_COLUMNS, "providers": PROVIDER_COLUMNS}[view]
    if form == "table" and view == "providers":
        place = table.column_names.index("nameservers")
        joined = [[", ".join(names) for names in table.column(place).to_pylist()]]
        table = table.set_column(place, "nameservers", joined)
    print_rows(table, form, top, columns=columns)


def _closing_lines(found: "Parked", run: str) -> Iterator[str]:
    from samehand.methods.sites.verdicts import VERDICT_ORDER

    counts = found.counts
    sites = sum(counts["sites"].values())
    if not sites:
        yield "There is no site in this run: no page has a host name."
        return
    verdicts = ", ".join(f"{counts['sites'][verdict]:,} {verdict}" for verdict in VERDICT_ORDER)
    yield f"{_count(sites, 'site')}: {verdicts}; {_providers_line(counts['providers'])}."
    if counts["placeholders"]:
        yield f"Placeholder pages: {_listed(counts['placeholders'])}."
    if counts["without_servers"] == sites:
        yield (
            "No name servers are known, so all sites are judged in one pool and no provider is: "
            f"add them with --nameservers FILE, or ask DNS: samehand parked {run} --resolve"
        )
    elif counts["without_servers"]:
        yield f"{_count(counts['without_servers'], 'site')} without known name servers; --resolve asks DNS for them."
    if found.servers is not None and found.servers.bad:
        yield f"Passed over among the name servers: {_listed(found.servers.bad)}."
    if found.servers is not None and found.servers.outcomes:
        yield f"DNS said: {_listed(found.servers.outcomes)}."
    if counts["cut_pages"] or counts["markup_capped"]:
        cut, capped = _count(counts["cut_pages"], "home page"), counts["markup_capped"]
        yield f"{cut} cut behind --max-tags, {capped:,} at a limit of their markup."


def _providers_line(counts: dict[str, int]) -> str:
    if not sum(counts.values()):
        return "no provider"
    known = _count(sum(counts.values()), "provider")
    return f"{known}: {counts['parked']:,} parked, {counts['ok']:,} ok, {counts['unknown']:,} with too few sites"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + "s" * (number != 1)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


@click.command()
@click.argument("left", metavar="A", type=click.Path())
@click.argument("right", metavar="B", type=click.Path())
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
@click.option("--top", type=click.IntRange(min=0), default=40, show_default=True, help="Lines of tags; 0 for all.")
@lambda command: setting_options(command, "sites")
def structure(left: str, right: str, form: str, top: int, max_tags: int | None) -> None:
    """The tag alignment of two HTML files A and B: their distance D, its bounds, and the tags side by side.

    D is 1 - what they share, in order, as a part of the longer one. R, F and B are cheaper and never above it.
    """
    from samehand.cli.site_sentences import structure_lines, structure_row
    from samehand.methods.sites.tags import compare_structure

    settings = Settings() if max_tags is None else Settings(max_tags=max_tags)
    found = compare_structure(_html(left), _html(right), max_tags=settings.max_tags)
    if form == "json":
        click.echo(structure_row(found, (left, right)))
    else:
        click.echo("\n".join(structure_lines(found, (left, right), rows=top)))


def _html(path: str) -> bytes:
    from samehand.sources.http.charset import to_ascii_compatible

    try:
        return to_ascii_compatible(Path(path).read_bytes(), None)[0]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Give two HTML files.") from None
