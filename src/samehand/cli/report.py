"""The command that writes the report of a run."""

from pathlib import Path

import click

import samehand
from samehand.cli.common import say
from samehand.cli.options import option, run_argument


@click.command()
@run_argument
@option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("report.html"),
    show_default=True,
    metavar="FILE",
    help="The file to write.",
)
@option("--cluster", type=click.IntRange(1), default=1, show_default=True, metavar="N", help="The cluster to draw.")
@option("--interactive", is_flag=True, help="Add scripts to look at charts closely (0.9 MB).")
def report(run: str, out: Path, cluster: int, interactive: bool) -> None:
    """Write one HTML file about RUN: what was found, drawn, and the evidence behind it.

    The file opens from disk, without network and without scripts.
    """
    from samehand.answers.report.page import write_report

    size = write_report(samehand.open_run(run), out, cluster=cluster, interactive=interactive)
    say(f"{out} has {size / 1000:,.0f} kB. Open it in a browser.")
