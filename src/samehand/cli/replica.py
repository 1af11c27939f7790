"""The commands of near replicas: learn a lexicon, find replicas in a run or in mail, match a stream with prototypes."""

import sys
from pathlib import Path
from typing import Any

import click

import samehand
from samehand.base.errors import UsageError
from samehand.base.neutral import neutral
from samehand.base.settings import Settings, fields_of
from samehand.cli.common import (
    engine_from,
    exit_code,
    print_lines,
    print_rows,
    run_with,
    say,
    say_all,
    status_of,
    watched,
)
from samehand.cli.options import (
    STREAMS,
    Commands,
    engine_options,
    format_option,
    inputs_argument,
    lexicon_option,
    lexicons_option,
    method_preset_option,
    option,
    profile_option,
    table_options,
)

GROUP_COLUMNS = {
    "group_number": "group",
    "documents": "documents",
    "hosts": "hosts",
    "sites": "sites",
    "weakest_cosine": "weakest",
    "mean_cosine": "mean",
    "centre_url": "centre",
}
MEMBER_COLUMNS = {
    "group_number": "group",
    "cosine": "cosine",
    "jaccard": "pairs",
    "found_by": "found by",
    "url": "url",
}
SHARE_COLUMNS = {"jaccard": "pairs", "containment": "contained", "url": "url", "with_url": "shares text with"}


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
    from samehand.answers.lexicons import learn_lexicon
    from samehand.methods.replica.lexicon import MAIL_RANGE, WEB_RANGE

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
@option("-o", "--out", type=click.Path(file_okay=False), metavar="RUN", help="Run folder, if TARGET is none.")
@lexicon_option
@lexicons_option
@engine_options
@method_preset_option
@option("--members", is_flag=True, help="Every grouped document with its group, instead of the groups.")
@option("--shares", is_flag=True, help="Documents that share text and are no near replicas, instead of the groups.")
@option("--group", type=int, metavar="N", help="One group: its documents, and the words that they share.")
@profile_option
@table_options
@click.pass_context
def replicas(context: click.Context, /, target: str, out: str | None, **options: Any) -> int:
    """Groups of near replicas of TARGET, a run folder; or of mail or a crawl, with -o RUN.

    Two documents are near replicas if any of their K + 1 signatures agree and the cosine of their words is at least
    0.8, or if they have two fifths of their pairs of neighbouring words in common. --preset paper asks for an agreement
    of signatures alone. A second run of the same command does only what is missing.
    """
    changes = _preset_changes(options["preset"])
    if options["lexicons"] is not None:
        changes["randomised_lexicons"] = options["lexicons"]
    if options["lexicon_path"]:
        changes["lexicon_path"] = str(Path(options["lexicon_path"]).resolve())
    if out is not None:
        run = _scanned(context, target, out, options, changes)
    elif (Path(target) / "run.json").is_file():
        run = run_with(context, target, "replica", options, changes)
    else:
        raise UsageError(f"{target} is not a run folder. To find replicas in other inputs, name a run folder with -o.")
    status = status_of(run, "replica")
    if options["group"] is not None:
        _print_group(run, options["group"], options["form"], options["top"])
    elif options["shares"]:
        print_rows(run.shared_texts(), options["form"], options["top"], columns=SHARE_COLUMNS)
    elif options["members"]:
        print_rows(run.replica_members(), options["form"], options["top"], columns=MEMBER_COLUMNS)
    else:
        print_rows(run.replicas(), options["form"], options["top"], columns=GROUP_COLUMNS)
    say_all(status)
    return exit_code(run)


def _preset_changes(preset: str | None) -> dict[str, Any]:
    """What a preset says about near replicas; nothing if none is named: a run keeps its own settings."""
    named = Settings.preset(preset) if preset else None
    return {field.name: getattr(named, field.name) for field in fields_of("replica")} if named else {}


def _scanned(
    context: click.Context, target: str, out: str, options: dict[str, Any], changes: dict[str, Any]
) -> "samehand.Run":
    """A run made from other inputs, with the method replica alone."""
    with watched(context, ["replica"]) as on_progress:
        return samehand.scan(
            target,
            out,
            signals="replica",
            settings=Settings(profile=options["profile"], **changes),
            engine=engine_from(options),
            on_progress=on_progress,
        )


def _print_group(run: "samehand.Run", number: int, form: str, top: int | None) -> None:
    members = run.replica_members(number)
    if form == "table":
        ids = members["page_id"]
        words = run.explain(ids[0], ids[-1]).words
        print_lines(
            [
                f"group {number}: {len(members)} documents",
                f"The medoid and the document least like it share {len(words.shared)} words:",
                "  " + " ".join(words.shared[:20]),
                "  only in the medoid: " + " ".join(words.left_only[:20]),
                "  only in the other: " + " ".join(words.right_only[:20]),
                "",
            ]
        )
    print_rows(members, form, top, columns=MEMBER_COLUMNS)


@click.command()
@click.option("--prototypes", required=True, type=click.Path(exists=True), help="Known mail: a folder, mbox or .eml.")
@lexicon_option
@lexicons_option
@method_preset_option
@format_option(STREAMS)
def match(prototypes: str, lexicon_path: str | None, lexicons: int | None, preset: str | None, form: str) -> None:
    """Match mail from standard input with known PROTOTYPES: a line for each message, as it comes.

    Says which prototype is nearest, by which of the K + 1 signatures (0 is the original lexicon, -1 all words, -2
    neighbouring words), the cosine of their words, and how many neighbouring words they have in common. These are empty
    for a message that matches none. With --preset paper the agreement of a signature is enough.
    """
    from samehand.methods.replica.match import matched_stream

    if sys.stdin.isatty():
        raise UsageError("match reads mail from standard input: samehand match --prototypes known/ < stream.mbox")
    path = Path(lexicon_path) if lexicon_path else None
    for line in matched_stream(
        prototypes, sys.stdin.buffer, lexicon=path, settings=_match_settings(lexicons, preset), form=form
    ):
        sys.stdout.write(line)
        sys.stdout.flush()


def _match_settings(lexicons: int | None, preset: str | None) -> Settings:
    changes = {} if lexicons is None else {"randomised_lexicons": lexicons}
    return Settings.preset(preset or "default", profile="mail", **changes)
