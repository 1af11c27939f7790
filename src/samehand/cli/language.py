"""The language commands: train a model, score texts, find markers, generate fakes, export and import ARPA files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samehand.base.errors import InputError, UsageError
from samehand.base.neutral import json_line, neutral
from samehand.base.settings import Settings
from samehand.cli.common import DAMAGED, print_rows, say
from samehand.cli.options import (
    Commands,
    Names,
    inputs_argument,
    profile_option,
    table_options,
)
from samehand.methods.language import KINDS

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.methods.language.model import Model

SCORE_COLUMNS = {
    "input": "input",
    "judged_words": "words",
    "fake_probability": "fake",
    "verdict": "verdict",
    "perplexity3": "perplexity",
    "relative_entropy3": "entropy3",
    "relative_entropy4": "entropy4",
    "known_histories3": "known",
}
_model_argument = click.argument("model", type=click.Path(dir_okay=False))


@click.group(cls=Commands)
def language() -> None:
    """Language models: train them, score texts, find markers, generate fakes."""


@language.command()
@inputs_argument
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The file to write.")
@click.option("--order", type=click.IntRange(1, 5), default=4, show_default=True, help="Length of the longest n-grams.")
@click.option("--cutoffs", default="1", show_default=True, help="How often n-grams of each order must occur.")
@click.option("--prune", type=float, default=0.0, help="Drop n-grams that change perplexity by less than this.")
@click.option("--vocabulary", default="", help="Number of words to keep, or a file of words.  [default: all]")
@click.option("--lower", is_flag=True, help="Ignore case, which is better for web pages.")
@click.option("--compact", is_flag=True, help="Round logarithms to 256 steps, for a third of the size.")
@click.option("--memory", type=click.IntRange(min=1), default=1024, show_default=True, help="Megabytes for sorting.")
@profile_option
def train(inputs: tuple[str, ...], out: str, profile: str, **options: Any) -> None:
    """Train a model on INPUTS: text files, JSONL, WARC and whatever else a scan reads, or a folder of Web 1T counts.

    The text may be larger than memory. Sorted portions wait in OUT.counting: a training that was stopped and is run
    again continues from there.
    """
    from samehand.base.files import writing
    from samehand.methods.language.training import TrainingRule, train_model

    words = options["vocabulary"]
    rule = TrainingRule(
        order=options["order"],
        cutoffs=_numbers(options["cutoffs"]),
        prune=options["prune"],
        **({"most_words": int(words)} if words.isdigit() else {"words": words}),
        is_lower=options["lower"],
        is_compact=options["compact"],
        memory_bytes=options["memory"] << 20,
    )
    with writing(Path(out).parent):
        model = train_model(inputs, out, rule=rule, settings=Settings(profile=profile), on_progress=say)
    click.echo(neutral(f"{out}: {_described(model)}"))


def _numbers(given: str) -> tuple[int, ...]:
    try:
        return tuple(int(number) for number in given.split(","))
    except ValueError:
        raise UsageError(f"--cutoffs is {given!r}: give a number for each order, such as 1,1,2,2.") from None


def _described(model: "Model") -> str:
    sizes = ", ".join(
        f"{last - first}" for first, last in zip(model.trie.levels[:-1], model.trie.levels[1:], strict=True)
    )
    return f"order {model.order}, n-grams by order: {sizes}"


@language.command()
@inputs_argument
@click.option("--model", default="", help="A model of your own, with its .detector beside it if it has one.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="Threads.  [default: one per core]")
@profile_option
@table_options
def score(inputs: tuple[str, ...], model: str, threads: int | None, profile: str, form: str, top: int | None) -> int:
    """Score INPUTS: text files, HTML pages, JSONL, WARC files, folders. A line for each text, with its verdict.

    "fake" is the probability that a machine made the text, if one text in ten is a fake. Texts that are too short, or
    in a language that the model does not know, have none.
    """
    from samehand.methods.language.detector import SHIPPED_MODEL
    from samehand.methods.language.reference import open_judge
    from samehand.methods.language.texts import UNREADABLE, judge_inputs

    judged = judge_inputs(
        inputs,
        open_judge(Path(model or SHIPPED_MODEL)),
        settings=Settings(profile=profile),
        threads=threads or os.cpu_count() or 1,
    )
    verdicts: list[str] = []
    rows: list[dict[str, Any]] = []
    for found in judged:
        verdicts.append(found.judgement.verdict)
        row = _score_row(found.name, found.judgement)
        if form != "jsonl":
            rows.append(row)
        elif not top or len(verdicts) <= top:
            click.echo(json_line(row))
    if form != "jsonl":
        why = "reasons" if len(rows) == 1 else "reason"
        print_rows(_score_table(rows), form, top, columns={**SCORE_COLUMNS, why: why})
    unreadable = verdicts.count(UNREADABLE)
    if unreadable and unreadable == len(verdicts):
        raise InputError("None of the inputs can be read: give text files (.txt), HTML pages, JSONL or WARC files.")
    return DAMAGED if unreadable else 0


def _score_row(name: str, judgement: Any) -> dict[str, Any]:
    import dataclasses

    row = dataclasses.asdict(judgement)
    row = {key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()}
    return {"input": name, **row, "reasons": list(judgement.reasons)}


def _score_table(rows: list[dict[str, Any]]) -> "pa.Table":
    import pyarrow as pa

    from samehand.methods.language.stage import JUDGEMENT_FIELDS

    schema = pa.schema([pa.field("input", pa.string()), *JUDGEMENT_FIELDS])
    return with_reason(pa.Table.from_pylist(rows, schema=schema))


def with_reason(table: "pa.Table") -> "pa.Table":
    """The first of the reasons as a column of its own."""
    import pyarrow as pa

    firsts = [reasons[0] if reasons else None for reasons in table.column("reasons").to_pylist()]
    return table.append_column("reason", pa.array(firsts, pa.string()))


@language.command()
@inputs_argument
@click.option("--against", required=True, type=click.Path(dir_okay=False), help="The model to compare with.")
@click.option("--least-texts", type=click.IntRange(min=1), default=2, show_default=True, help="Texts that contain it.")
@click.option(
    "--rarer", type=float, default=0.0, help="Allow in the model's text up to this share of a marker's rate in INPUTS."
)
@profile_option
@table_options
def markers(inputs: tuple[str, ...], against: str, profile: str, **options: Any) -> None:
    """List the n-grams that are typical of INPUTS and absent from the training text of a model, most certain first."""
    import pyarrow as pa

    from samehand.methods.language.markers import MarkerRule
    from samehand.methods.language.model import Model
    from samehand.methods.language.texts import markers_against

    model = Model.open(against)
    orders = tuple(order for order in (2, 3, 4) if order <= model.order)
    most = 100 if options["top"] is None else options["top"] or 10_000
    rule = MarkerRule(orders=orders or (1,), least_texts=options["least_texts"], rarer=options["rarer"], most=most)
    named, found = markers_against(inputs, model, rule=rule, settings=Settings(profile=profile))
    kinds = (pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.float64())
    names = ("ngram", "count", "texts", "reference_count", "score")
    columns = [[getattr(marker, name) for marker in named] for name in names]
    table = pa.table([pa.array(*column) for column in zip(columns, kinds, strict=True)], names=list(names))
    shown = {"score": "score", "count": "count", "texts": "texts", "reference_count": "there", "ngram": "n-gram"}
    print_rows(table, options["form"], options["top"], columns=shown)
    shares = ", ".join(f"{share:.0%} of {order}-grams" for order, share in found.absent.items())
    say(f"Absent from the model's text: {shares} that occur at least twice in the inputs.")


@language.command()
@click.argument("model", required=False, type=click.Path(dir_okay=False))
@click.option(
    "--kind", type=Names(KINDS), required=True, help="pw: patchwork, ws: keywords stuffed in, lm: Markov chain."
)
@click.option("--words", type=click.IntRange(1, 10_000_000), default=500, show_default=True, help="Length of the text.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Seed of random numbers.")
@click.option("--text", "texts", multiple=True, help="Make it from this text, not from a model. Can be given again.")
def generate(model: str | None, kind: str, words: int, seed: int, texts: tuple[str, ...]) -> None:
    """Generate a fake: every kind from a text, or lm2, lm3 and lm4 from a MODEL (the shipped one if none is named)."""
    from samehand.methods.language.detector import SHIPPED_MODEL
    from samehand.methods.language.model import Model
    from samehand.methods.language.texts import generate_from_model, generate_from_text

    if texts:
        made = generate_from_text(kind, texts, words=words, seed=seed, settings=Settings())
    else:
        made = generate_from_model(kind, Model.open(model or SHIPPED_MODEL), words=words, seed=seed)
    for line in made.splitlines():
        click.echo(neutral(line))


@language.command()
@_model_argument
@click.option("-o", "--out", default=None, type=click.Path(dir_okay=False), help="[default: MODEL with .arpa]")
def export(model: str, out: str | None) -> None:
    """Export MODEL as an ARPA file, the format that other tools read. It is gzipped if its name ends in .gz."""
    from samehand.base.files import writing
    from samehand.methods.language.arpa import write_arpa
    from samehand.methods.language.model import Model

    target = Path(out) if out else Path(model).with_suffix(".arpa")
    opened = Model.open(model)
    with writing(target.parent):
        write_arpa(opened, target)
    click.echo(neutral(f"{target}: {_described(opened)}"))


@language.command("import")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("-o", "--out", required=True, type=click.Path(dir_okay=False), help="The model to write.")
def import_arpa(file: str, out: str) -> None:
    """Import an ARPA FILE, plain or gzipped. It has no counts, so it gives perplexity but no relative entropy."""
    from samehand.base.files import writing
    from samehand.methods.language.arpa import read_arpa

    model = read_arpa(file)
    with writing(Path(out).parent):
        model.save(out)
    click.echo(neutral(f"{out}: {_described(model)}"))
