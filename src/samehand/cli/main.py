"""The command line: one command, subcommands; whatever is slow to import is imported late.

Data goes to standard output, everything else to standard error.
"""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

import samehand
from samehand.base.errors import SamehandError, UsageError
from samehand.base.settings import Settings
from samehand.cli.common import DAMAGED, engine_from, print_lines, print_record, print_rows, say, terminal_width
from samehand.cli.footer import next_commands
from samehand.cli.label import label
from samehand.cli.language import fake, language
from samehand.cli.options import (
    RECORDS,
    SCAN_GROUPS,
    Commands,
    cut_option,
    engine_options,
    families_option,
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
from samehand.cli.render import neutral
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
        code = cli.main(prog_name="samehand", standalone_mode=False)
    except click.exceptions.Abort:
        _end(INTERRUPTED, "Interrupted. Run the same command again to go on.")
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.UsageError as error:
        _end(error.exit_code, f"Error: {_usage_message(error)}")
    except click.ClickException as error:
        _end(error.exit_code, f"Error: {neutral(error.format_message())}")
    except SamehandError as error:
        _end(error.exit_code, f"Error: {neutral(str(error))}")
    except KeyboardInterrupt:
        _end(INTERRUPTED, "Interrupted. Run the same command again to go on.")
    except BrokenPipeError:
        sys.stderr.close()  # whoever read us has gone; nothing to say
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _usage_message(error: click.UsageError) -> str:
    """What click says, in one line: with the nearest right option, and where the help is."""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        message = f"There is no option {error.option_name}: did you mean {error.possibilities[0]}?"
    return neutral(message) + (f" See {error.ctx.command_path} --help." if error.ctx else "")


def _end(code: int, message: str) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(code)


@click.group(cls=Commands, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(samehand.__version__, prog_name="samehand")
@click.option("-v", "--verbose", is_flag=True, help="Report each unit of work on standard error.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors on standard error.")
@click.pass_context
def cli(context: click.Context, verbose: bool, quiet: bool) -> None:
    """Finds the web pages that were made by the same hand."""
    context.obj = {"quiet": quiet, "verbose": verbose}


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


@cli.command()
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
    """Read, fingerprint, cluster and rank a crawl; print the clusters.

    INPUTS: WARC, WACZ and ARC files, folders of HTML, JSONL and Parquet with columns url and html, globs, @files that
    list inputs, - for standard input. A second run of the same command does only what is missing.
    """
    from samehand.cli.progress import ProgressDisplay, announce_compiling
    from samehand.cli.sentences import scan_summary

    methods = methods_from(options["signals"])
    if "style" not in methods:
        raise UsageError(f"A scan needs the method style: give --signals style,{','.join(methods)}.")
    settings = settings_from(options)
    announce_compiling(methods)
    with ProgressDisplay(**context.obj) as on_progress:
        run = samehand.scan(
            inputs,
            out,
            settings=settings,
            engine=engine_from(options),
            progress=on_progress,
            force=options["force"],
            signals=methods,
        )
    print_rows(run.clusters(), options["form"], options["top"], columns=CLUSTER_COLUMNS)
    for line in scan_summary(run):
        say(line)
    if options["form"] == "table":
        for line in next_commands(out, clusters=run.manifest["stages"]["style"]["clusters"]):
            say(line)
    return DAMAGED if run.manifest["stages"]["read"]["damaged"] else 0


@cli.command()
@run_argument
@cut_option
@families_option
@table_options
def clusters(run: str, cut: float | None, families: bool, form: str, top: int | None) -> None:
    """The clusters of RUN by mean similarity x domains."""
    table = samehand.open_run(run).clusters(cut=cut, families=families)
    if not table.num_rows:
        say("There is no cluster: no two pages are as similar as that.")
    print_rows(table, form, top, columns=CLUSTER_COLUMNS)


@cli.command()
@run_argument
@click.argument("cluster", type=int)
@cut_option
@families_option
@table_options
def show(run: str, cluster: int, cut: float | None, families: bool, form: str, top: int | None) -> None:
    """The members of CLUSTER by similarity to its centre, its hosts and its weakest link."""
    from samehand.cli.sentences import cluster_summary

    opened = samehand.open_run(run)
    members = opened.members(cluster, cut=cut, families=families)
    if form == "table":
        print_lines(cluster_summary(opened, cluster, members, is_stored=cut is None and not families))
        click.echo()
    print_rows(members, form, top, columns=MEMBER_COLUMNS)


@cli.command()
@run_argument
@inputs_argument
@engine_options
@table_options
@click.pass_context
def add(context: click.Context, /, run: str, inputs: tuple[str, ...], **options: Any) -> int:
    """Add INPUTS to RUN: only what is new is read, and the result is that of a scan of everything.

    Prints the clusters that grew, merged or are new. A cluster that grows keeps its number.
    """
    from samehand.cli.progress import ProgressDisplay, announce_compiling
    from samehand.cli.sentences import growth_line, scan_summary
    from samehand.methods.style.growth import GROWTH

    announce_compiling(["style"])
    with ProgressDisplay(**context.obj) as on_progress:
        grown = samehand.add(run, inputs, engine=engine_from(options), progress=on_progress)
    print_rows(grown.folder.read_table(GROWTH), options["form"], options["top"], columns=GROWTH_COLUMNS)
    for line in [*scan_summary(grown), growth_line(grown.manifest["growth"])]:
        say(line)
    return DAMAGED if grown.manifest["stages"]["read"]["damaged"] else 0


@cli.command()
@run_argument
@click.argument("page")
@table_options
def like(run: str, page: str, form: str, top: int | None) -> None:
    """One to all: every page of RUN by similarity to PAGE (a URL or page id of the run, or an HTML file).

    PAGE may also be a file of many pages (WARC, WACZ, JSONL, Parquet, a folder): the most similar pages to each, found
    in one pass over the run.
    """
    from samehand.api import pages_in
    from samehand.cli.sentences import likeness_summary

    opened = samehand.open_run(run)
    many = pages_in(page, opened.settings)
    if many is not None:
        for table in opened.like_each(many, top=10 if top is None else top):
            print_rows(table, form, 0, columns=LIKE_COLUMNS)
        return
    found = opened.like(_page_or_content(opened, page))
    if form == "table":
        print_lines(likeness_summary(found, 5 if top is None else top, terminal_width()))
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
@preset_option
@format_option(RECORDS)
@click.option("--top", type=click.IntRange(min=0), default=10, show_default=True, help="Shared stretches shown.")
def compare(left: str, right: str, run_path: str | None, preset: str, form: str, top: int) -> None:
    """Compare two pages: exact Jaccard and Dice, the estimate, and the noise they share, in both sources."""
    from samehand.cli.sentences import comparison_lines, comparison_row
    from samehand.methods.style.noise import compare as compare_pages

    run = samehand.open_run(run_path) if run_path else None
    settings = run.settings if run else Settings.preset(preset)
    contents = [_content(run, page) for page in (left, right)]
    found = compare_pages(*contents, settings=settings)
    lines = comparison_lines(found, *contents, top=top, width=terminal_width())
    print_record(comparison_row(found, left, right), form, lines)


def _content(run: "Run | None", page: str) -> bytes:
    if page == "-" or Path(page).is_file():
        from samehand.sources.http.charset import to_ascii_compatible

        content = sys.stdin.buffer.read() if page == "-" else Path(page).read_bytes()
        return to_ascii_compatible(content, None)[0]
    if run is None:
        raise UsageError(f"There is no file {page}. To compare pages of a run, name it with --run RUN.")
    return run.content(int(page) if page.isdigit() else page)


@cli.command()
@run_argument
@click.option("--seeds", required=True, type=click.File("r"), help="Known bad URLs, hosts or domains, one a line.")
@cut_option
@click.option("--domains", is_flag=True, help="The domains reached, with their pages, instead of the pages.")
@table_options
def spread(run: str, seeds: Any, cut: float | None, domains: bool, form: str, top: int | None) -> None:
    """From known bad pages to the pages and domains of the same hand, with the path from seed to page."""
    from samehand.cli.sentences import domains_of

    wanted = [line for line in (line.strip() for line in seeds) if line and not line.startswith("#")]
    found = samehand.open_run(run).spread(wanted, cut=cut)
    if domains:
        print_rows(domains_of(found), form, top)
    else:
        print_rows(found, form, top, columns=SPREAD_COLUMNS)
    reached = found.num_rows - sum(found.column("is_seed").to_pylist())
    domains_reached = len(set(found.column("domain").to_pylist()))
    say(f"{reached} pages on {domains_reached} domains reached; seeds given: {len(wanted)}.")


@cli.command()
@run_argument
@format_option(RECORDS)
def status(run: str, form: str) -> None:
    """What is done of RUN, what was rejected and why."""
    from samehand.cli.sentences import run_status, status_lines

    facts = run_status(run)
    print_record(facts, form, status_lines(facts))


@cli.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--seed", type=int, default=7, show_default=True, help="Another seed makes another crawl.")
def demo(folder: str, seed: int) -> None:
    """Make a small crawl with known truth in FOLDER: crawl.warc.gz, nameservers.csv, truth.csv."""
    from samehand.demo import write_demo

    files = write_demo(Path(folder), seed=seed)
    for path in (files.crawl, files.nameservers, files.truth):
        click.echo(path)
    say(f"Now try: samehand scan {files.crawl} -o {Path(folder) / 'run'}")


for command in (lexicon, replicas, match, parked, structure, label, language, fake):
    cli.add_command(command)


if __name__ == "__main__":
    main()
