"""The command that labels sites by hand, with few looks."""

import contextlib
import getpass
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import samehand
from samehand.base.errors import SamehandError, UsageError
from samehand.base.neutral import csv_line, neutral
from samehand.base.wording import count
from samehand.cli.common import say
from samehand.cli.options import run_argument, setting_options, settings_from

if TYPE_CHECKING:
    from samehand.methods.labelling import Question, SiteLabelling

FIRST_WORDS = 40
QUIT, SKIP, UNDO = "q", "s", "u"


@click.command()
@run_argument
@click.option("--answers", type=click.Path(dir_okay=False), default=None, help="File of known answers.")
@setting_options("labels")
def label(run: str, answers: str | None, **options: Any) -> None:
    """Label the sites of RUN by hand with few looks: two of a cluster that agree label all of it.

    Asks in the terminal. --answers is a CSV file with a column label and one of page_id, url and site, that questions
    are answered from. Answers are kept in the run, and verdicts follow them. Run again, it goes on where it was.
    """
    from samehand.methods.labelling import KnownAnswers, SiteLabelling
    from samehand.store.folder import RunFolder

    folder = RunFolder.open(run)
    samehand.open_run(run).counts("sites")  # says what to do if the sites are not judged yet
    sites = SiteLabelling(folder, seed=settings_from(options, stored=folder.settings()).label_seed)
    known = KnownAnswers.read(Path(answers)) if answers is not None else KnownAnswers([])
    if known.conflicts:
        say(f"{known.conflicts} answers in {answers} were given twice, differently: the last counts.")
    if answers is None and _is_terminal():
        _ask_people(run, sites)
    else:
        _print_questions(sites, sites.drive(known, time=_now(), who=_who()))
    if sites.file.cut_off:
        say(f"The last line of {sites.file.path} was not whole and is cut off.")
    counts = sites.labelling.counts()
    say(
        f"{counts.pages - counts.open:,} of {counts.pages:,} sites have a label after {counts.looks:,} looks "
        f"({counts.identical:,} as identical, {counts.by_group:,} by their cluster); "
        f"clusters disagreed {counts.disagreements:,} times."
    )
    say(f"Answers are in {sites.file.path}. Verdicts follow them: samehand verdicts {run}")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _who() -> str:
    """The name of the person at the terminal, as far as the system knows it."""
    with contextlib.suppress(OSError, KeyError):
        return neutral(getpass.getuser())[:100]
    return ""


def _print_questions(sites: "SiteLabelling", questions: "list[Question]") -> None:
    """The pages that come next, as a file that needs labels alone: two of each cluster, identical ones once."""
    from samehand.methods.labelling import FIRST_LOOKS, NO_GROUP

    if not questions:
        return
    sys.stdout.write(csv_line(["page_id", "cluster", "url", "label"]))
    looks: dict[int, set[str]] = {}
    for question in questions:
        seen = looks.setdefault(question.group, set()) if question.group != NO_GROUP else set()
        digest = sites.digests[question.page_id]
        if len(seen) < FIRST_LOOKS and digest not in seen:
            seen.add(digest)
            group = "" if question.group == NO_GROUP else question.group
            sys.stdout.write(csv_line([question.page_id, group, question.url, ""]))
    say("These are open: fill in the labels and give the file with --answers FILE, or answer in a terminal.")


def _ask_people(run: str, sites: "SiteLabelling") -> None:
    """Shows one page after the other until there is none left or somebody has had enough."""
    cards, who = _Cards(run), _who()
    click.echo(
        f"Give each page a label: wanted, unwanted, or a kind such as parked-ads or real; {SKIP} skips it, {UNDO} "
        f"undoes your last answer, {QUIT} quits."
    )
    while question := sites.labelling.ask():
        click.echo(cards.of(question))
        try:
            said = click.prompt("label", prompt_suffix="> ").strip()
        except click.exceptions.Abort:
            click.echo()
            return
        if said == QUIT:
            return
        if said == UNDO:
            undone = sites.undo(time=_now(), who=who)
            click.echo("There is nothing to undo." if undone is None else neutral(f"Undone: {undone.name}."))
            continue
        try:
            sites.answer(question, "skip" if said == SKIP else said, time=_now(), who=who)
        except UsageError as error:
            click.echo(neutral(str(error)))
    click.echo("All pages have a label or were skipped.")


class _Cards:
    """What people see of a page; not its kind, which would tell them what to say."""

    def __init__(self, run: str) -> None:
        self._run = samehand.open_run(run)
        rows = list(self._run.sites().sites)
        self._rows = {row["page_id"]: row for row in rows}
        self._alike = Counter(row["site_cluster_id"] for row in self._rows.values())

    def of(self, question: "Question") -> str:
        """URL, why it is asked for, title, words, prose, links and first words."""
        row = self._rows[question.page_id]
        others = self._alike[row["site_cluster_id"]] - 1 if row["site_cluster_id"] is not None else 0
        why = f"{count(others, 'other site')} look alike" if others else "no other site looks like it"
        lines = ["", question.url, f"asked because: {why}", f"title: {row['title']}"]
        lines.append(f"{row['words']:,} words, {row['prose']:,} of them prose; {count(row['links'], 'link')}")
        try:
            words = self._run.text(question.page_id).split()
        except (SamehandError, OSError):
            lines.append("(the page cannot be read again: its input has gone)")
        else:
            lines.append(" ".join(words[:FIRST_WORDS])[:400])
        return "\n".join(neutral(line) for line in lines)
