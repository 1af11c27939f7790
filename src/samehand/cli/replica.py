"""The commands of near replicas: learn a lexicon, find replicas in a run or in mail, match a stream with prototypes."""

import sys
from pathlib import Path
from typing import Any

import click

import samehand
from samehand.base.errors import UsageError
from samehand.base.settings import Settings
from samehand.cli.common import DAMAGED, print_lines, print_rows, say
from samehand.cli.options import (
    STREAMS,
    Commands,
    format_option,
    inputs_argument,
    lexicon_option,
    lexicons_option,
    profile_option,
    table_options,
    workers_option,
)
from samehand.cli.render import neutral

GROUP_COLUMNS = {
    "group_id": "group",
    "documents": "documents",
    "hosts": "hosts",
    "domains": "domains",
    "weakest_cosine": "weakest",
    "mean_cosine": "mean",
    "centre_url": "centre",
}


@click.group(cls=Commands)
def lexicon() -> None:
    """The words that near replicas are judged by."""


@lexicon.command()
@inputs_argument
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The file to write.")
@profile_option
@click.option("--low", type=float, default=None, help="Lowest nidf of a word.  [default: that of the paper]")
@click.option("--high", type=float, default=None, help="Highest nidf of a word.  [default: that of the paper]")
def learn(inputs: tuple[str, ...], out: str, profile: str, low: float | None, high: float | None) -> None:
    """Learn a lexicon from INPUTS: a run folder, text files (.txt), whatever a scan reads, or mail."""
    from samehand.methods.replica.lexicon import MAIL_RANGE, WEB_RANGE
    from samehand.methods.replica.match import learn_lexicon

    default_low, default_high = MAIL_RANGE if profile == "mail" else WEB_RANGE
    learned = learn_lexicon(
        inputs,
        profile=profile,
        low=default_low if low is None else low,
        high=default_high if high is None else high,
    )
    learned.save(out)
    first, end = learned.primary()
    click.echo(f"{learned.documents} documents, {end - first} words with nidf {learned.low} to {learned.high}")
    click.echo("typical: " + neutral(" ".join(learned.typical())))
    for name, count in learned.learning.items():
        say(f"{name}: {count}")


@click.command()
@click.argument("target")
@click.option("-o", "--out", default=None, type=click.Path(file_okay=False), help="Run folder, where TARGET is none.")
@lexicon_option
@lexicons_option
@workers_option
@click.option("--members", is_flag=True, help="Every grouped document with its group, instead of the groups.")
@click.option("--group", type=int, default=None, help="One group: its documents, and the words they do not share.")
@profile_option
@table_options
@click.pass_context
def replicas(context: click.Context, /, target: str, out: str | None, **options: Any) -> int:
    """Near-replica groups of TARGET, a run folder; or of mail or a crawl, with -o RUN.

    Documents are near replicas when they agree on any of K + 1 signatures and the cosine of their words is 0.8 and
    more. Run again, it does only what is missing.
    """
    from samehand.cli.progress import ProgressDisplay, announce_compiling
    from samehand.methods.replica.match import compute_replicas

    announce_compiling(["replica"])
    with ProgressDisplay(**context.obj) as on_progress:
        path = compute_replicas(
            target,
            out,
            settings=Settings(
                profile=options["profile"],
                randomised_lexicons=options["lexicons"],
                lexicon_path=str(Path(options["lexicon_path"]).resolve()) if options["lexicon_path"] else "",
            ),
            workers=options["workers"],
            progress=on_progress,
        )
    run = samehand.open_run(path)
    if options["group"] is not None:
        _print_group(run, options["group"], options["form"], options["top"])
    elif options["members"]:
        print_rows(run.replica_members(), options["form"], options["top"])
    else:
        print_rows(run.replicas(), options["form"], options["top"], columns=GROUP_COLUMNS)
    facts = run.folder.marker("replica")
    if facts is not None:
        statuses = ", ".join(f"{count} {status}" for status, count in facts["facts"]["statuses"].items())
        say(f"{facts['facts']['groups']} groups of {facts['facts']['grouped_documents']} documents; {statuses}.")
        if facts["facts"]["markup_capped"]:
            say(f"{facts['facts']['markup_capped']} pages hit a limit of their markup (see --max-tokens and its like).")
    return DAMAGED if run.manifest["stages"].get("read", {}).get("damaged") else 0


def _print_group(run: Any, group: int, form: str, top: int | None) -> None:
    members = run.replica_members(group)
    if form == "table":
        words = run.shared_words(members)
        print_lines(
            [
                f"group {group}: {members.num_rows} documents; all share {len(words.shared)} words with the centre",
                "shared: " + " ".join(words.shared[:20]),
                "only in the centre: " + " ".join(words.left_only[:20]),
                "only in the farthest: " + " ".join(words.right_only[:20]),
                "",
            ]
        )
    print_rows(members, form, top, columns={"cosine": "cosine", "lexicon": "lexicon", "url": "url"})


@click.command()
@click.option("--prototypes", required=True, type=click.Path(exists=True), help="Known mail: a folder, mbox or .eml.")
@lexicon_option
@lexicons_option
@format_option(STREAMS)
def match(prototypes: str, lexicon_path: str | None, lexicons: int, form: str) -> None:
    """Match mail from standard input with known PROTOTYPES: a line for each message, as it comes.

    Says which prototype is nearest, by which of the K + 1 signatures (0 is the original lexicon, -1 all words), and
    the cosine of their words; nothing of these where none matches.
    """
    from samehand.methods.replica.match import matched_stream

    if sys.stdin.isatty():
        raise UsageError("match reads mail from standard input: samehand match --prototypes known/ < stream.mbox")
    path = Path(lexicon_path) if lexicon_path else None
    for line in matched_stream(
        prototypes, sys.stdin.buffer, lexicon=path, settings=Settings(randomised_lexicons=lexicons), form=form
    ):
        sys.stdout.write(line)
        sys.stdout.flush()
