"""The commands that say what to do with a crawl, and why."""

from typing import Any

import click

import samehand
from samehand.cli.common import print_record, print_rows, say_all, status_of
from samehand.cli.options import RECORDS, Names, format_option, option, run_argument, table_options

UNITS = ("sites", "pages", "clusters", "providers")
COLUMNS = {
    "action": "action",
    "kind": "kind",
    "probability": "probability",
    "site": "site",
    "cluster_number": "cluster",
    "provider": "provider",
    "pages": "pages",
    "sites": "sites",
    "url": "url",
}
_SHOWN = {
    "sites": ("action", "kind", "probability", "pages", "site"),
    "pages": ("action", "kind", "probability", "url"),
    "clusters": ("cluster_number", "action", "kind", "probability", "pages", "sites"),
    "providers": ("action", "kind", "probability", "sites", "provider"),
}


@click.command()
@run_argument
@option("--policy", metavar="NAME", help="Policy: crawl, corpus, block, or a TOML file.  [default: that of the run]")
@option("--sites", "unit", flag_value="sites", default=True, help="Verdicts on sites (the default).")
@option("--pages", "unit", flag_value="pages", help="Verdicts on pages.")
@option("--clusters", "unit", flag_value="clusters", help="Verdicts on style clusters.")
@option("--providers", "unit", flag_value="providers", help="Verdicts on providers of name servers.")
@option("--kind", metavar="KIND", help="Only verdicts of this kind, such as parked-ads.")
@option("--action", type=Names(("keep", "review", "drop", "block")), help="Only verdicts with this action.")
@option("--refit", is_flag=True, help="Fit the weights to the labels by hand first, and print what changes.")
@table_options
def verdicts(
    run: str, policy: str | None, unit: str, kind: str | None, action: str | None, refit: bool, **options: Any
) -> None:
    """What to do with the sites, pages, clusters or providers of RUN: keep, review, drop or block.

    What to block, drop or review comes first, and the likeliest of it. `samehand explain` prints the evidence behind a
    verdict. Verdicts follow labels by hand (`samehand label`); weights change by --refit alone.
    """
    opened = samehand.open_run(run)
    if refit:
        say_all(opened.refit().lines())
    rows = opened.verdicts(unit, policy=policy, kind=kind)
    if action is not None:
        rows = rows.filter(action=action)
    status = status_of(opened, "verdicts")
    print_rows(rows, options["form"], options["top"], columns={name: COLUMNS[name] for name in _SHOWN[unit]})
    say_all(status)


@click.command()
@run_argument
@click.argument("name")
@format_option(RECORDS)
def explain(run: str, name: str, form: str) -> None:
    """Why the verdict on NAME is what it is. NAME is a URL, a site, a provider, or the number of a cluster."""
    import dataclasses

    found = samehand.open_run(run).verdict(int(name) if name.isdecimal() else name)
    print_record(dataclasses.asdict(found), form, found.lines())
