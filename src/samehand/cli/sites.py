"""The commands of sites: their kinds and their providers, and the tags of two pages compared."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import samehand
from samehand.base.errors import InputError
from samehand.base.presets import PRESETS
from samehand.base.settings import Settings, fields_of
from samehand.base.wording import count, listed
from samehand.cli.common import engine_from, print_record, print_rows, say, say_all, status_of, watched
from samehand.cli.options import (
    RECORDS,
    engine_options,
    format_option,
    run_argument,
    setting_options,
    settings_from,
    table_options,
)

if TYPE_CHECKING:
    from samehand.answers.sites import SiteAnswers
    from samehand.methods.sites.nameservers import NameServers
    from samehand.methods.sites.nameservers.dns import ResolveProgress

PROVIDER_COLUMNS = {
    "provider": "provider",
    "verdict": "verdict",
    "sites": "sites",
    "voices": "voices",
    "parked_sites": "parked",
    "parked_share_low": "at least",
    "clusters": "clusters",
    "average_radius": "radius",
    "nameservers": "name servers",
}
SITE_COLUMNS = {
    "site": "site",
    "kind": "kind",
    "probability": "p",
    "provider": "provider",
    "site_cluster_id": "cluster",
    "reason": "reason",
}
CLUSTER_COLUMNS = {
    "site_cluster_id": "cluster",
    "provider": "provider",
    "kind": "kind",
    "sites": "sites",
    "mean_distance": "mean",
    "purpose_share": "purpose",
    "same_text_share": "text",
    "own_prose": "prose",
    "same_title": "titles",
    "shared_targets": "targets",
    "score": "score",
    "centre_url": "centre",
}
DNS_LINE_SECONDS = 10.0


@click.command()
@run_argument
@click.argument("files", nargs=-1, type=click.Path())
@click.option(
    "--nameservers", multiple=True, type=click.Path(), help="Name servers: CSV (domain,ns), zone file, JSON of dig, …"
)
@click.option("--resolve", is_flag=True, help="Ask DNS for the name servers that no file knows.")
@click.option("--retry", is_flag=True, help="The same, and ask again for domains that could not be asked before.")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Only sites of this kind; may be repeated.")
@click.option("--clusters", "view", flag_value="clusters", help="The clusters of sites, instead of the sites.")
@click.option("--providers", "view", flag_value="providers", help="The providers of name servers.")
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="paper judges as published: by structure alone.")
@table_options
@engine_options
@setting_options("sites", "providers")
@click.pass_context
def sites(
    context: click.Context, /, run: str, files: tuple[str, ...], nameservers: tuple[str, ...], **options: Any
) -> None:
    """The sites of RUN by kind: parked, for sale, default pages, errors, real, …; and the providers behind them.

    A site is judged by its home page, by itself and among the sites of its provider, with evidence and a probability.
    Kinds that accuse (parked-ads, for-sale, farm) need evidence of purpose. FILES are more files of name servers.
    Without any file, the name servers of the last time are used.
    """
    opened = samehand.open_run(run)
    wanted = settings_from(options, stored=_preset(opened.settings, options["preset"]))
    changes = {name: value for name, value in wanted.as_dict().items() if value != getattr(opened.settings, name)}
    asked = {"nameservers": (*nameservers, *files), "resolve": options["resolve"], "retry": options["retry"]}
    servers = None
    if any(asked.values()) or changes or "sites" not in opened.manifest["stages"]:
        servers = _judged(context, opened, settings=changes, engine=engine_from(options), **asked)
    found = opened.sites(kind=options["kinds"] or None)
    status = status_of(opened, "sites")
    _print_view(found, options["view"] or "sites", options["form"], options["top"])
    say_all([*status, *_closing_lines(found, servers, opened)])


def _judged(context: click.Context, run: "samehand.Run", **how: Any) -> "NameServers | None":
    from samehand.answers.sites import judge

    with watched(context, ["sites"]) as on_progress:
        return judge(run, on_progress=on_progress, on_dns_progress=_DnsLines(), **how)


def _preset(stored: Settings, name: str | None) -> Settings:
    """The settings of a run with those of a preset that concern its sites."""
    if name is None:
        return stored
    preset = Settings.preset(name).as_dict()
    return Settings.from_dict(stored.as_dict() | {field.name: preset[field.name] for field in fields_of("providers")})


class _DnsLines:
    """A line now and then on how far DNS is, and one at the end."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, progress: "ResolveProgress") -> None:
        if progress.done == progress.total or time.monotonic() - self._last >= DNS_LINE_SECONDS:
            self._last = time.monotonic()
            say(f"DNS: {progress.done:,} of {progress.total:,} domains, {progress.queries:,} queries.")


def _print_view(found: "SiteAnswers", view: str, form: str, top: int | None) -> None:
    table = {"sites": found.sites, "clusters": found.clusters, "providers": found.providers}[view].table
    columns = {"sites": SITE_COLUMNS, "clusters": CLUSTER_COLUMNS, "providers": PROVIDER_COLUMNS}[view]
    if form == "table" and view == "providers":
        place = table.column_names.index("nameservers")
        joined = [[", ".join(names) for names in table.column(place).to_pylist()]]
        table = table.set_column(place, "nameservers", joined)
    print_rows(table, form, top, columns=columns)


def _closing_lines(found: "SiteAnswers", servers: "NameServers | None", run: "samehand.Run") -> Iterator[str]:
    counts = found.counts
    sites = sum(counts["sites"].values())
    if not sites:
        yield "There is no site in this run: no page has a host name."
        return
    if counts["without_servers"] == sites:
        yield (
            "No name servers are known, so all sites are judged in one pool and no provider is: "
            f"add them with --nameservers FILE, or ask DNS: samehand sites {run.path} --resolve"
        )
    elif counts["without_servers"]:
        yield f"{count(counts['without_servers'], 'site')} without known name servers; --resolve asks DNS for them."
    if servers is not None and servers.bad:
        yield f"Passed over among the name servers: {listed(servers.bad)}."
    if servers is not None and servers.outcomes:
        yield f"DNS said: {listed(servers.outcomes)}."
    if counts["cut_pages"] or counts["markup_capped"]:
        cut, capped = count(counts["cut_pages"], "home page"), counts["markup_capped"]
        yield f"{cut} cut behind --max-tags, {capped:,} at a limit of the markup pass."


@click.command()
@click.argument("left", metavar="A", type=click.Path())
@click.argument("right", metavar="B", type=click.Path())
@format_option(RECORDS)
@click.option("--top", type=click.IntRange(min=0), default=40, show_default=True, help="Lines of tags; 0 for all.")
@setting_options("sites")
def structure(left: str, right: str, form: str, top: int, **options: Any) -> None:
    """The tag alignment of two HTML files A and B: their distance D, its bounds, and the tags side by side.

    D is 1 - what they share, in order, as a part of the longer one. R, F and B are cheaper and never above it.
    """
    from samehand.cli.site_sentences import structure_lines, structure_row
    from samehand.methods.sites.tags import compare_structure

    settings = settings_from(options, stored=Settings())
    found = compare_structure(_html(left), _html(right), max_tags=settings.max_tags)
    print_record(structure_row(found, (left, right)), form, structure_lines(found, (left, right), rows=top))


def _html(path: str) -> bytes:
    from samehand.sources.http.charset import to_ascii_compatible

    try:
        return to_ascii_compatible(Path(path).read_bytes(), None)[0]
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Give two HTML files.") from None
