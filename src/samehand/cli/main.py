"""The command line: one command, subcommands; whatever is slow to import is imported late.

Data goes to standard output, everything else to standard error.
"""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from samehand import __version__
from samehand.base.errors import SamehandError, UsageError
from samehand.base.settings import PRESETS, Settings
from samehand.cli.common import (
    DAMAGED,
    ENGINES,
    engine_from,
    format_options,
    neutral,
    open_run,
    print_rows,
    say,
    setting_options,
    settings_from,
    terminal_width,
)
from samehand.cli.demo import demo
from samehand.cli.label import label
from samehand.cli.language import fake, language
from samehand.cli.replica import lexicon, match, replicas
from samehand.cli.sites import parked, structure

if TYPE_CHECKING:
    from samehand.answers.run import Run

EXIT_CODES = """\b
Exit codes:
  0    fine
  2    usage: the message says what to change
  3    finished, but some input was damaged (samehand status RUN says what)
  4    nothing readable in the inputs
  130  interrupted: run the same command again to go on"""
INTERRUPTED = 130


def main() -> NoReturn:
    """Entry point: turns errors into one sentence and an exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        _end(INTERRUPTED, "Interrupted. Run the same command again to go on.")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except SamehandError as error:
        _end(error.exit_code, f"Error: {neutral(str(error))}")
    except KeyboardInterrupt:
        _end(INTERRUPTED, "Interrupted. Run the same command again to go on.")
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone; nothing to say
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _end(code: int, message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="samehand")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error what becomes of each unit of work.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error but errors.")
@click.pass_context
def cli(context: click.Context, verbose: bool, quiet: bool) -> None:
    """Finds the web pages that were made by the same hand."""
    context.obj = {"quiet": quiet, "verbose": verbose}


SIGNAL_NAMES = ("style", "replica", "language", "sites")
_engine_option = click.option(
    "--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True, help="Where the work is done."
)
_master_option = click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
CLUSTER_COLUMNS = {
    "cluster_id": "cluster",
    "pages": "pages",
    "hosts": "hosts",
    "domains": "domains",
    "mean_similarity": "mean",
    "score": "score",
    "class": "class",
    "centre_url": "centre",
}
GROWTH_COLUMNS = {"cluster_id": "cluster", "kind": "kind", "pages_before": "before", "pages": "pages", "was": "was"}
MEMBER_COLUMNS = {"similarity": "similarity", "url": "url"}
LIKE_COLUMNS = {"query": "query", "rank": "rank", "similarity": "similarity", "url": "url"}
SPREAD_COLUMNS = {"weakest": "weakest", "steps": "steps", "url": "url", "path": "path"}


@cli.command(epilog=EXIT_CODES)
@click.argument("inputs", nargs=-1, required=True)
@click.option("-o", "--out", required=True, type=click.Path(file_okay=False), help="The run folder.")
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Worker processes.  [default: one per core]")
@_engine_option
@_master_option
@click.option("--signals", default="style", show_default=True, help=f"Of {', '.join(SIGNAL_NAMES)}.")
@click.option("--force", is_flag=True, help="Start a run folder anew that was made from other inputs or settings.")
@click.option(
    "--preset", type=click.Choice(tuple(PRESETS)), default="default", show_default=True, help="Settings to start from."
)
@click.option("--key-file", type=click.File("r"), default=None, help="File with the secret key of the rolling hash.")
@setting_options
@format_options
@click.pass_context
def scan(context: click.Context, /, inputs: tuple[str, ...], out: str, **options: Any) -> int:
    """Read, fingerprint, cluster and rank a crawl; print the clusters.

    INPUTS are WARC, WACZ and ARC files, folders of HTML, JSONL and Parquet with a url and an html column, globs,
    @files that list inputs, or - for standard input. Run again, it does only what is missing.
    """
    from samehand.api import scan as run_scan
    from samehand.cli.progress import ProgressDisplay

    settings = settings_from(options)
    with ProgressDisplay(**context.obj) as progress:
        run = run_scan(
            inputs,
            out,
            settings=settings,
            engine=engine_from(options),
            progress=progress,
            force=options["force"],
            signals=_signals_from(options["signals"]),
        )
    print_rows(run.clusters(), options["form"], options["top"], columns=CLUSTER_COLUMNS)
    from samehand.cli.sentences import scan_summary

    for line in scan_summary(run):
        say(line)
    return DAMAGED if run.manifest["stages"]["read"]["damaged"] else 0


def _signals_from(given: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in given.split(","))
    if set(names) - set(SIGNAL_NAMES) or "style" not in names:
        raise UsageError(f"--signals is {given!r}: choose style, and with it any of {', '.join(SIGNAL_NAMES[1:])}.")
    return names


_run_argument = click.argument("run", type=click.Path())
_cut_option = click.option("--cut", type=float, default=None, help="Another threshold than the tight one.")
_families_option = click.option("--families", is_flag=True, help="The loose level: pages of the same software.")


@cli.command()
@_run_argument
@_cut_option
@_families_option
@format_options
def clusters(run: str, cut: float | None, families: bool, form: str, top: int | None) -> None:
    """The clusters of RUN by mean similarity x domains."""
    table = open_run(run).clusters(cut=cut, families=families)
    if not table.num_rows:
        say("There is no cluster: no two pages are as similar as that.")
    print_rows(table, form, top, columns=CLUSTER_COLUMNS)


@cli.command()
@_run_argument
@click.argument("cluster", type=int)
@_cut_option
@_families_option
@format_options
def show(run: str, cluster: int, cut: float | None, families: bool, form: str, top: int | None) -> None:
    """The members of CLUSTER by similarity to its centre, its hosts and its weakest link."""
    from samehand.cli.sentences import cluster_summary

    opened = open_run(run)
    members = opened.members(cluster, cut=cut, families=families)
    if form == "table":
        click.echo(
            "\n".join(
                neutral(line)
                for line in cluster_summary(opened, cluster, members, is_stored=cut is None and not families)
            )
            + "\n"
        )
    print_rows(members, form, top, columns=MEMBER_COLUMNS)


@cli.command(epilog=EXIT_CODES)
@_run_argument
@click.argument("inputs", nargs=-1, required=True)
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Worker processes.  [default: one per core]")
@_engine_option
@_master_option
@format_options
@click.pass_context
def add(context: click.Context, /, run: str, inputs: tuple[str, ...], **options: Any) -> int:
    """Add INPUTS to RUN: only what is new is read, and the result is that of a scan of everything.

    Prints the clusters that grew, merged or are new. A cluster that grows keeps its number.
    """
    from samehand.api import add as add_inputs
    from samehand.cli.progress import ProgressDisplay
    from samehand.cli.sentences import growth_line, scan_summary
    from samehand.methods.style.growth import GROWTH

    with ProgressDisplay(**context.obj) as progress:
        grown = add_inputs(run, inputs, engine=engine_from(options), progress=progress)
    print_rows(grown.folder.read_table(GROWTH), options["form"], options["top"], columns=GROWTH_COLUMNS)
    for line in [*scan_summary(grown), growth_line(grown.manifest["growth"])]:
        say(line)
    return DAMAGED if grown.manifest["stages"]["read"]["damaged"] else 0


@cli.command()
@_run_argument
@click.argument("page")
@format_options
def like(run: str, page: str, form: str, top: int | None) -> None:
    """One to all: every page of RUN by similarity to PAGE (a URL or page id of the run, or an HTML file).

    PAGE may also be a file of many pages (WARC, WACZ, JSONL, Parquet, a folder): the most similar pages to each, found
    in one pass over the run.
    """
    from samehand.api import pages_in
    from samehand.cli.sentences import likeness_summary

    opened = open_run(run)
    many = pages_in(page, opened.settings)
    if many is not None:
        for table in opened.like_each(many, top=10 if top is None else top):
            print_rows(table, form, 0, columns=LIKE_COLUMNS)
        return
    found = opened.like(_page_or_content(opened, page))
    if form == "table":
        for line in likeness_summary(found, 5 if top is None else top, terminal_width()):
            click.echo(line)
    else:
        print_rows(found.pages, form, top)


def _page_or_content(run: "Run", page: str) -> bytes | str | int:
    """A file's bytes where there is such a file, else a page of the run."""
    if page == "-":
        return sys.stdin.buffer.read()
    if Path(page).is_file():
        return Path(page).read_bytes()
    return int(page) if page.isdigit() else page


@cli.command()
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option("--run", "run_path", default=None, help="A run: A and B may then be URLs or page ids of it.")
@click.option("--preset", type=click.Choice(tuple(PRESETS)), default="default", show_default=True)
@click.option("--format", "form", type=click.Choice(("text", "jsonl")), default="text", show_default=True)
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Shared stretches shown.")
def compare(left: str, right: str, run_path: str | None, preset: str, form: str, top: int) -> None:
    """Compare two pages: exact Jaccard and Dice, the estimate, and the noise they share, in both sources."""
    from samehand.cli.sentences import comparison_lines, comparison_row
    from samehand.methods.style.noise import compare as compare_pages

    run = open_run(run_path) if run_path else None
    settings = run.settings if run else Settings.preset(preset)
    contents = [_content(run, page) for page in (left, right)]
    found = compare_pages(*contents, settings=settings)
    if form == "jsonl":
        click.echo(comparison_row(found, left, right))
    else:
        click.echo("\n".join(comparison_lines(found, *contents, top=top, width=terminal_width())))


def _content(run: "Run | None", page: str) -> bytes:
    if page == "-" or Path(page).is_file():
        from samehand.sources.http.charset import to_ascii_compatible

        content = sys.stdin.buffer.read() if page == "-" else Path(page).read_bytes()
        return to_ascii_compatible(content, None)[0]
    if run is None:
        raise UsageError(f"There is no file {page}. To compare pages of a run, name it with --run RUN.")
    return run.content(int(page) if page.isdigit() else page)


@cli.command()
@_run_argument
@click.option("--seeds", required=True, type=click.File("r"), help="Known bad URLs, hosts or domains, one a line.")
@_cut_option
@click.option("--domains", is_flag=True, help="The domains reached, with their pages, instead of the pages.")
@format_options
def spread(run: str, seeds: Any, cut: float | None, domains: bool, form: str, top: int | None) -> None:
    """From known bad pages to the pages and domains of the same hand, with the path from seed to page."""
    from samehand.cli.sentences import domains_of

    wanted = [line for line in (line.strip() for line in seeds) if line and not line.startswith("#")]
    found = open_run(run).spread(wanted, cut=cut)
    if domains:
        print_rows(domains_of(found), form, top)
    else:
        print_rows(found, form, top, columns=SPREAD_COLUMNS)
    reached = found.num_rows - sum(found.column("is_seed").to_pylist())
    domains_reached = len(set(found.column("domain").to_pylist()))
    say(f"{reached} pages on {domains_reached} domains reached; seeds given: {len(wanted)}.")


@cli.command()
@_run_argument
@click.option("--format", "form", type=click.Choice(("text", "jsonl")), default="text", show_default=True)
def status(run: str, form: str) -> None:
    """What is done of RUN, what was rejected and why."""
    import json

    from samehand.cli.sentences import run_status, status_lines

    facts = run_status(run)
    click.echo(json.dumps(facts) if form == "jsonl" else _neutral_lines(status_lines(facts)))


def _neutral_lines(lines: list[str]) -> str:
    return "\n".join(neutral(line) for line in lines)


for command in (lexicon, replicas, match, parked, structure, label, language, fake, demo):
    cli.add_command(command)


if __name__ == "__main__":
    main()
