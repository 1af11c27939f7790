"""The commands of style: clusters, their members, one page against all, two pages, pages of the same hand."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import samehand
from samehand.base.errors import UsageError
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.cli.common import print_lines, print_record, print_rows, say, terminal_width
from samehand.cli.options import (
    RECORDS,
    cut_option,
    families_option,
    format_option,
    option,
    preset_option,
    run_argument,
    table_options,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.answers.result import Result
    from samehand.base.page import Page

_STRETCHES = 10
"""Shared stretches that are shown of a link."""

CLUSTER_COLUMNS = {
    "cluster_number": "cluster",
    "pages": "pages",
    "hosts": "hosts",
    "sites": "sites",
    "mean_similarity": "mean",
    "score": "score",
    "class": "class",
    "centre_url": "centre",
}
VERDICT_COLUMNS = {
    "cluster_number": "cluster",
    "pages": "pages",
    "sites": "sites",
    "mean_similarity": "mean",
    "class": "class",
    "action": "action",
    "kind": "kind",
    "centre_url": "centre",
}
"""The columns of clusters in a run that has verdicts."""
MEMBER_COLUMNS = {"similarity": "similarity", "url": "url"}
LIKE_COLUMNS = {"query": "query", "rank": "rank", "similarity": "similarity", "url": "url"}
SPREAD_COLUMNS = {"weakest": "weakest", "steps": "steps", "url": "url", "path": "path"}


@click.command()
@run_argument
@cut_option
@families_option
@table_options
def clusters(run: str, cut: float | None, families: bool, form: str, top: int | None) -> None:
    """The clusters of RUN by mean similarity × sites."""
    found = samehand.open_run(run).clusters(cut=cut, families=families)
    if not len(found):
        say("There is no cluster: no two pages are as similar as that.")
    print_clusters(found, form, top, heading="family" if families else "cluster")


def print_clusters(clusters: "Result", form: str, top: int | None, *, heading: str = "cluster") -> int | None:
    """Prints clusters, and returns the number of the first one. People see those that show something of a site."""
    from samehand.methods.sites.verdicts import NO_SITE

    columns = VERDICT_COLUMNS if "action" in clusters.columns else CLUSTER_COLUMNS
    table = clusters.table
    if form == "table" and top is None and "kind" in clusters.columns:
        table = _without(table, NO_SITE)
    print_rows(table, form, top, columns={**columns, "cluster_number": heading})
    if table.num_rows < len(clusters):
        left_out = count(len(clusters) - table.num_rows, "cluster")
        say(f"{left_out} of pages that show no site ({', '.join(NO_SITE)}) left out; --top 0 shows all.")
    return table["cluster_number"][0].as_py() if table.num_rows else None


def _without(clusters: "pa.Table", kinds: Sequence[str]) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.compute as pc

    return clusters.filter(pc.invert(pc.is_in(clusters["kind"], value_set=pa.array(kinds))))


@click.command()
@run_argument
@click.argument("cluster", type=int)
@cut_option
@families_option
@table_options
def show(run: str, cluster: int, cut: float | None, families: bool, form: str, top: int | None) -> None:
    """The members of CLUSTER by similarity to its medoid, its hosts and its weakest link.

    `samehand compare` says what the ends of the weakest link share; the command is shown.
    """
    from samehand.cli.sentences import cluster_summary

    opened = samehand.open_run(run)
    members = opened.members(cluster, cut=cut, families=families)
    if form == "table":
        print_lines(cluster_summary(opened, cluster, members, is_stored=cut is None and not families))
        click.echo()
    print_rows(members, form, top, columns=MEMBER_COLUMNS)


@click.command()
@run_argument
@click.argument("page")
@option("--url", metavar="URL", help="URL of an HTML file, if it is known.")
@table_options
def like(run: str, page: str, url: str | None, form: str, top: int | None) -> None:
    """One to all: every page of RUN by similarity to PAGE.

    PAGE is an HTML file, or a URL, host, site or page_id of the run. It may also be a file of many pages (WARC, WACZ,
    JSONL, Parquet, a folder): the most similar pages to each are found in one pass over the run.
    """
    from samehand.answers.pages import pages_in
    from samehand.cli.sentences import likeness_summary

    opened = samehand.open_run(run)
    many = pages_in(page, opened.settings)
    if many is not None:
        for table in opened.like_each(many, top=10 if top is None else top):
            print_rows(table, form, 0, columns=LIKE_COLUMNS)
        return
    if page == "-" or Path(page).is_file():
        found = opened.like(_read(page), url=url)
    else:
        found = opened.like(int(page) if page.isdigit() else page)
    if form == "table":
        print_lines(likeness_summary(found, 5 if top is None else top, terminal_width()))
    else:
        print_rows(found.pages, form, top)


def _read(page: str) -> bytes:
    return sys.stdin.buffer.read() if page == "-" else Path(page).read_bytes()


@click.command()
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@option("--run", "run_path", metavar="RUN", help="A run: A and B may then be URLs or page_ids of it.")
@option("--url", "urls", multiple=True, metavar="URL", help="URL of A; given again, URL of B.")
@preset_option
@format_option(RECORDS)
@option("--top", type=click.IntRange(min=0), metavar="N", default=10, show_default=True, help="Shared stretches shown.")
def compare(left: str, right: str, run_path: str | None, urls: tuple[str, ...], **options: Any) -> None:
    """Compare two pages: exact Jaccard and Dice, the estimate, and the noise they share, in both sources.

    A and B are HTML files. On small pages the URLs matter: a page's own host name is left out of its noise.
    """
    from samehand.answers.pages import RunPages
    from samehand.cli.sentences import comparison_lines, comparison_row
    from samehand.methods.style.compare import compare as compare_pages

    if len(urls) > 2:
        raise UsageError(f"{len(urls)} URLs are given: give --url for A, and again for B.")
    run = samehand.open_run(run_path) if run_path else None
    settings = run.settings if run else Settings.preset(options["preset"])
    stored = RunPages(run.folder, settings) if run else None
    pages = [_page(page, url, stored, settings) for page, url in zip((left, right), (*urls, None, None), strict=False)]
    found = compare_pages(*pages, settings=settings)
    contents = [page.content for page in pages]
    lines = comparison_lines(found, contents[0], contents[1], top=options["top"], width=terminal_width())
    print_record(comparison_row(found, left, right), options["form"], lines)


def _page(page: str, url: str | None, stored: Any, settings: Settings) -> "Page":
    from samehand.answers.pages import page_of

    if page == "-" or Path(page).is_file():
        return page_of(_read(page), url, settings)
    if stored is None:
        raise UsageError(f"There is no file {page}. To compare pages of a run, name it with --run RUN.")
    found: Page = stored.page(stored.row_of(int(page) if page.isdigit() else page))
    return found


@click.command()
@run_argument
@option(
    "--seeds", required=True, type=click.File("r"), metavar="FILE", help="Known bad URLs, hosts or sites, one a line."
)
@cut_option
@option("--sites", is_flag=True, help="The sites reached, with their pages, instead of the pages.")
@option("--tiny", is_flag=True, help="Follow pages of a few tags too, which strangers write alike.")
@table_options
def spread(run: str, seeds: Any, cut: float | None, sites: bool, tiny: bool, form: str, top: int | None) -> None:
    """From known bad pages to the pages and sites of the same hand, with the path from seed to page."""
    from samehand.cli.sentences import sites_of
    from samehand.methods.verdicts.links import TINY_NOISE

    wanted = lines_of(seeds)
    opened = samehand.open_run(run)
    found, all_found = opened.spread(wanted, cut=cut, tiny=tiny), opened.spread(wanted, cut=cut, tiny=True)
    print_rows(sites_of(found) if sites else found, form, top, columns=None if sites else SPREAD_COLUMNS)
    reached = found.filter(is_seed=False)
    sites_reached = count(len(set(reached["site"])), "site")
    say(f"{count(len(reached), 'page')} on {sites_reached} reached from {count(len(wanted), 'seed')}.")
    weak = [row for row in all_found if row["noise_bytes"] < TINY_NOISE and not row["is_seed"]]
    if weak:
        pages = f"{count(len(weak), 'page')} on {count(len({row['site'] for row in weak}), 'site')}"
        done = "were followed" if tiny else "were not followed; --tiny follows them"
        say(f"WARNING: {pages} have next to no markup. Strangers write such pages alike: they {done}.")


def lines_of(file: Any) -> list[str]:
    """The lines of a file that say something."""
    return [line for line in (line.strip() for line in file) if line and not line.startswith("#")]
