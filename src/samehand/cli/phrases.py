"""The command that lists text groups: pages made from the same phrases."""

from typing import Any

import click

import samehand
from samehand.base.wording import count
from samehand.cli.common import exit_code, print_lines, print_rows, run_with, say_all, status_of
from samehand.cli.options import engine_options, option, run_argument, table_options

GROUP_COLUMNS = {
    "text_group_number": "group",
    "group_kind": "kind",
    "pages": "pages",
    "sites": "sites",
    "phrases": "phrases",
    "mean_share": "share",
    "typical_url": "typical page",
}
MEMBER_COLUMNS = {"text_group_number": "group", "share": "share", "shared_phrases": "phrases", "url": "url"}


@click.command()
@run_argument
@option("--min-share", type=float, metavar="X", help="Bar for pages.  [default: 0.12, or as the run has]")
@engine_options
@option("--members", is_flag=True, help="Every page with its group, instead of the groups.")
@option("--group", type=int, metavar="N", help="One group: its phrases, its skeleton with slots, and its pages.")
@table_options
@click.pass_context
def phrases(context: click.Context, /, run: str, **options: Any) -> int:
    """Text groups of RUN: pages on several sites whose texts are made from the same phrases.

    A phrase is five words that at least three pages on two sites share. Longer passages, such as quotes and licences,
    do not count. A group says that one generator or one template stands behind its pages, not that they are unwanted.
    """
    changes = {} if options["min_share"] is None else {"min_phrase_share": options["min_share"]}
    opened = run_with(context, run, "phrases", options, changes)
    status = status_of(opened, "phrases")
    if options["group"] is not None:
        _print_group(opened, options["group"], options["form"], options["top"])
    elif options["members"]:
        print_rows(opened.phrase_members(), options["form"], options["top"], columns=MEMBER_COLUMNS)
    else:
        print_rows(opened.phrases(), options["form"], options["top"], columns=GROUP_COLUMNS)
    say_all(status)
    return exit_code(opened)


def _print_group(run: "samehand.Run", number: int, form: str, top: int | None) -> None:
    members = run.phrase_members(number)
    if form == "table":
        found = run.skeleton(number)
        print_lines(
            [
                f"group {number}: {count(len(members), 'page')}; {found.pages} were read for its phrases and skeleton",
                "phrases that most of them share:",
                *(f"  {pages:>4}  {phrase}" for phrase, pages in found.phrases),
                "skeleton, {one|another} for alternatives, … for text of a page's own:",
                f"  {found.text}",
                "",
            ]
        )
    print_rows(members, form, top, columns=MEMBER_COLUMNS)
