"""The command that labels sites by hand, with few looks."""

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import samehand
from samehand.base.errors import InputError, SamehandError, UsageError
from samehand.base.neutral import csv_line, neutral
from samehand.base.wording import count
from samehand.cli.common import say
from samehand.cli.options import run_argument, setting_options, settings_from

if TYPE_CHECKING:
    from samehand.methods.sites.labelling import AnswerFile, Question
    from samehand.methods.sites.labels import SiteLabelling

FIRST_WORDS = 40
QUIT, SKIP, UNDO = "q", "s", "u"


@click.command()
@run_argument
@click.option("--answers", type=click.Path(dir_okay=False), default=None, help="File of answers, old or new.")
@setting_options("labels")
def label(run: str, answers: str | None, **options: Any) -> None:
    """Label the sites of RUN by hand with few looks: two of a cluster that agree label all of it.

    Asks in the terminal. --answers is the file answers are kept in, RUN/sites/labels.csv unless given; or one with
    a column label and one of page_id, url and site, that questions are answered from. Run again, it goes on where
    it was.
    """
    from samehand.methods.sites.labelling import AnswerFile
    from samehand.methods.sites.labels import label_sites, save_labels
    from samehand.store.files import LABEL_ANSWERS
    from samehand.store.folder import RunFolder

    folder = RunFolder.open(run)
    samehand.open_run(run).counts("sites")  # says what to do if the sites are not judged yet
    sites = label_sites(folder, seed=settings_from(options, stored=folder.settings()).label_seed)
    is_known = answers is not None and _is_known(Path(answers))
    kept = folder.own_file(LABEL_ANSWERS) if answers is None or is_known else Path(answers)
    with folder.locked():
        with AnswerFile(kept, sites.labelling) as file:
            if file.cut_off:
                say(f"The last line of {kept} was not whole and is cut off.")
            _take_answers(run, sites, file, Path(answers) if answers is not None and is_known else None)
        path = save_labels(folder, sites.labelling)
    counts = sites.labelling.counts()
    say(
        f"{counts.pages - counts.open:,} of {counts.pages:,} sites have a label after {counts.looks:,} looks "
        f"({counts.identical:,} as identical, {counts.by_group:,} by their cluster); "
        f"clusters disagreed {counts.disagreements:,} times."
    )
    say(f"Answers are in {kept}, labels in {path}.")


def _is_known(path: Path) -> bool:
    """Whether a file has answers in columns of its own, not those that we append to."""
    from samehand.methods.sites.labelling import ANSWER_COLUMNS

    try:
        with path.open("rb") as file:
            first = file.readline(1 << 16).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").strip()
    except FileNotFoundError:
        if not _is_terminal():
            raise InputError(f"{path} is not there: check the path, or answer in a terminal to begin it.") from None
        return False
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Check the path of the answers.") from None
    return bool(first) and first != ",".join(ANSWER_COLUMNS)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _take_answers(run: str, sites: "SiteLabelling", file: "AnswerFile", known: Path | None) -> None:
    """From a file, from people, or from nobody: then the questions are printed."""
    from samehand.methods.sites.labelling import KnownAnswers, drive

    if known is not None:
        answers = KnownAnswers.read(known)
        if answers.conflicts:
            say(f"{answers.conflicts} answers in {known} were given twice, differently: the last counts.")
        unanswered = drive(sites.labelling, answers, answer=file.answer)
    elif _is_terminal():
        _ask_people(run, sites, file)
        return
    else:
        unanswered = drive(sites.labelling, KnownAnswers([]), answer=file.answer)
    _print_questions(sites, unanswered)


def _print_questions(sites: "SiteLabelling", questions: "list[Question]") -> None:
    """The pages that come next, as a file that needs labels alone: two of each cluster, identical ones once."""
    from samehand.methods.sites.labelling import FIRST_LOOKS, NO_GROUP

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


def _ask_people(run: str, sites: "SiteLabelling", file: "AnswerFile") -> None:
    """Shows one page after the other until there is none left or somebody has had enough."""
    cards = _Cards(run)
    click.echo(
        f"Give each page a label, such as parked-ads or real; {SKIP} skips it, {UNDO} undoes the last answer, "
        f"{QUIT} quits."
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
        if said == SKIP:
            sites.labelling.skip(question.page_id)
        elif said == UNDO:
            undone = file.undo()
            click.echo("There is nothing to undo." if undone is None else f"Undone: page {undone}.")
        else:
            try:
                file.answer(question, said)
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
