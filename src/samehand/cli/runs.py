"""The commands that make a run, extend it, and say how far it is."""

from typing import Any

import click

import samehand
from samehand.cli.common import engine_from, exit_code, print_record, print_rows, say, watched
from samehand.cli.footer import next_commands
from samehand.cli.options import (
    RECORDS,
    SCAN_GROUPS,
    engine_options,
    format_option,
    inputs_argument,
    methods_from,
    option,
    preset_option,
    run_argument,
    setting_options,
    settings_from,
    signals_option,
    table_options,
)
from samehand.cli.style import print_clusters
from samehand.methods import NAMES as METHODS

GROWTH_COLUMNS = {"cluster_number": "cluster", "kind": "kind", "pages_before": "before", "pages": "pages"}


@click.command()
@inputs_argument
@option("-o", "--out", required=True, type=click.Path(file_okay=False), metavar="RUN", help="The run folder.")
@signals_option
@engine_options
@option("--force", is_flag=True, help="Replace a run of other inputs or settings.")
@preset_option
@option("--key-file", type=click.File("r"), metavar="FILE", help="Secret key of the shingle hash.")
@table_options
@setting_options(*SCAN_GROUPS)
@click.pass_context
def scan(context: click.Context, /, inputs: tuple[str, ...], out: str, **options: Any) -> int:
    """Read a crawl, find the pages that one hand made, and judge them; print the clusters.

    INPUTS: WARC, WACZ, ARC and WET files, folders of HTML, JSONL, Parquet and CSV with html or text, globs, @files that
    list inputs, - for standard input. A second run of the same command does only what is missing.
    """
    from samehand.cli.sentences import scan_summary

    methods = methods_from(options["signals"])
    settings = settings_from(options)
    with watched(context, methods) as on_progress:
        run = samehand.scan(
            inputs,
            out,
            signals="all" if methods == METHODS else methods,
            settings=settings,
            engine=engine_from(options),
            on_progress=on_progress,
            force=options["force"],
        )
    first = print_clusters(run.clusters(), options["form"], options["top"]) if "style" in run.methods else None
    for line in scan_summary(run):
        say(line)
    if options["form"] == "table":
        for line in next_commands(out, run.methods, first=first):
            say(line)
    return exit_code(run)


@click.command()
@run_argument
@inputs_argument
@engine_options
@table_options
@click.pass_context
def add(context: click.Context, /, run: str, inputs: tuple[str, ...], **options: Any) -> int:
    """Add INPUTS to RUN: only what is new is read, and the result is that of a scan of everything.

    Prints the clusters that are new, grew, merged or split. A cluster that grows keeps its style_cluster_id.
    """
    from samehand.cli.sentences import growth_line, scan_summary

    with watched(context, samehand.open_run(run).manifest["methods"]) as on_progress:
        grown = samehand.add(run, inputs, engine=engine_from(options), on_progress=on_progress)
    if "style" in grown.methods:
        print_rows(grown.growth(), options["form"], options["top"], columns=GROWTH_COLUMNS)
    for line in scan_summary(grown):
        say(line)
    if "growth" in grown.manifest:
        say(growth_line(grown.manifest["growth"]))
    return exit_code(grown)


@click.command()
@run_argument
@format_option(RECORDS)
def status(run: str, form: str) -> None:
    """What is done of RUN, and which records were skipped or rejected and why."""
    from samehand.cli.sentences import run_status, status_lines

    found = run_status(run)
    print_record(found, form, status_lines(found))
