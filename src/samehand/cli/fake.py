"""The command that lists the machine-made text of a run."""

from pathlib import Path
from typing import Any

import click

import samehand
from samehand.base.errors import UsageError
from samehand.cli.common import exit_code, print_rows, run_with, say, say_all, status_of
from samehand.cli.language import with_reason
from samehand.cli.options import engine_options, option, run_argument, table_options

FAKE_COLUMNS = {
    "fake_probability": "fake",
    "verdict": "verdict",
    "judged_words": "words",
    "url": "url",
    "reason": "reason",
}
SUM_COLUMNS = {
    "fake_pages": "fake",
    "judged": "judged",
    "pages": "pages",
    "mean_fake_probability": "mean",
    "hosts": "hosts",
    "cluster_number": "cluster",
    "host": "host",
    "example": "example",
}


@click.command()
@run_argument
@option("--model", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Another model than the run's.")
@option(
    "--calibrate-on",
    type=click.Path(exists=True, file_okay=False),
    metavar="RUN",
    help="A judged run of nearly natural pages only: the threshold becomes what 1 % of its pages reach.",
)
@engine_options
@option("--hosts", is_flag=True, help="Hosts, with how many of their pages are fake.")
@option("--clusters", is_flag=True, help="Style clusters, with how many of their pages are fake.")
@table_options
@click.pass_context
def fake(context: click.Context, /, run: str, **options: Any) -> int:
    """The pages of RUN by the probability that a machine made their text, highest first.

    Pages with too little text, and pages in a language that the model does not know, are not judged and come last.
    """
    if options["hosts"] and options["clusters"]:
        raise UsageError("Hosts and clusters are two lists: ask for one of them.")
    changes: dict[str, Any] = {}
    if options["model"]:
        changes["language_model"] = str(Path(options["model"]).resolve())
    if options["calibrate_on"]:
        from samehand.methods.language.scores import natural_bar

        known = samehand.open_run(options["calibrate_on"])
        known.language()  # refuses a run that was not judged
        changes["fake_threshold"] = natural_bar(known.folder)
        say(f"pages are called fake from the probability {changes['fake_threshold']:.3f} on")
    opened = run_with(context, run, "language", options, changes)
    status = status_of(opened, "language")
    by = "host" if options["hosts"] else "cluster" if options["clusters"] else "page"
    found = opened.language(by)
    if by == "page":
        table = with_reason(found.table) if options["form"] == "table" else found.table
        print_rows(table, options["form"], options["top"], columns=FAKE_COLUMNS)
    else:
        print_rows(found, options["form"], options["top"], columns=SUM_COLUMNS)
    say_all(status)
    return exit_code(opened)
