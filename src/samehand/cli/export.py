"""The command that makes lists, keep/drop tables and evidence out of a run."""

import io
import sys
from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

import samehand
from samehand.base.errors import UsageError
from samehand.base.neutral import csv_line, json_line
from samehand.base.wording import count, listed
from samehand.cli.common import print_lines, say
from samehand.cli.options import Names, option, run_argument
from samehand.cli.style import lines_of

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.answers.exporting import Export

LISTS = ("rpz", "hosts", "adblock", "domains", "stix", "misp", "misp-warninglist", "csv", "jsonl", "parquet")
KEEP_DROP, EVIDENCE = "keep-drop", "evidence"
SURVIVORS = ("first", "longest", "oldest", "centre")
MAX_NEW = 1000
_SHOWN = 20


class Day(click.ParamType[date]):
    """A day as 2026-11-17."""

    name = "day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The day."""
        try:
            return value if isinstance(value, date) else datetime.strptime(str(value), "%Y-%m-%d").date()
        except ValueError:
            self.fail(f"{value!r} is no day: write it as 2026-11-17.", param, ctx)


@click.command()
@run_argument
@option(
    "--format",
    "form",
    type=Names((*LISTS, KEEP_DROP, EVIDENCE)),
    required=True,
    metavar="NAME",
    help=f"{', '.join(LISTS)}: lists of names. {KEEP_DROP}: every document. {EVIDENCE}: a folder or zip on a cluster.",
)
@option("-o", "--out", type=click.Path(), metavar="FILE", help="Where to write.  [default: standard output]")
@option("--cluster", "clusters", multiple=True, type=int, metavar="N", help="List the sites of this style cluster.")
@option("--seeds", type=click.File("r"), metavar="FILE", help="List the sites that spread reaches from these URLs.")
@option("--tiny", is_flag=True, help="With --seeds: follow pages of a few tags too.")
@option("--kind", "kinds", multiple=True, metavar="NAME", help="List only sites of this kind.")
@option("--name-servers", is_flag=True, help="Also block the name servers of parked providers (rpz and tables).")
@option("--guard", multiple=True, type=click.Path(), metavar="FILE", help="Names never to be listed, one a line.")
@option("--reviewed", multiple=True, type=click.Path(), metavar="FILE", help="Popular names that you looked at.")
@option("--dry-run", is_flag=True, help="Write nothing; show what would change in FILE, and what is left out.")
@option(
    "--max-new",
    type=click.IntRange(min=0),
    default=MAX_NEW,
    show_default=True,
    metavar="N",
    help="Write nothing if more names than this are new.",
)
@option("--until", type=Day(), metavar="DAY", help="The day on which entries end.  [default: by --days]")
@option(
    "--days",
    type=click.IntRange(1, 36500),
    default=90,
    show_default=True,
    metavar="N",
    help="Entries end so long after their page was fetched.",
)
@option("--date", "day", type=Day(), metavar="DAY", help="The day of the list.  [default: that of the newest page]")
@option("--zone", default="rpz.samehand", show_default=True, metavar="NAME", help="Name of the policy zone.")
@option("--serial", type=int, metavar="N", help="Serial of the policy zone.  [default: from the day]")
@option(
    "--survivor",
    type=Names(SURVIVORS),
    default=SURVIVORS[0],
    show_default=True,
    metavar="NAME",
    help=f"With {KEEP_DROP}, which of a group of replicas is kept: {', '.join(SURVIVORS)}.",
)
def export(run: str, form: str, out: str | None, **options: Any) -> None:
    """Lists of unwanted sites out of RUN, what to keep of a corpus, or evidence on a cluster.

    Lists hold the parked sites, or the sites of clusters and seeds that you choose. No list holds a name under the
    guard: well-known sites, shared hosts, public suffixes, your own list. docs/exports.md describes all formats.
    """
    opened = samehand.open_run(run)
    if form == KEEP_DROP:
        _keep_drop(opened, out, options["survivor"])
    elif form == EVIDENCE:
        _evidence(opened, out, options["clusters"])
    else:
        _list(opened, form, out, options)


def _list(run: "samehand.Run", form: str, out: str | None, options: dict[str, Any]) -> None:
    names = ("clusters", "tiny", "name_servers", "kinds", "guard", "reviewed", "until", "days", "day", "zone", "serial")
    seeds = lines_of(options["seeds"]) if options["seeds"] else []
    made = run.export(form, seeds=seeds, **{name: options[name] for name in names})
    added, gone = _difference(made, form, out)
    if options["dry_run"]:
        print_lines([*(f"+ {name}" for name in sorted(added)), *(f"- {name}" for name in sorted(gone))])
    elif len(added) > options["max_new"]:
        raise UsageError(
            f"{len(added):,} names are new, more than --max-new {options['max_new']}: nothing was written. Look at "
            "them with --dry-run, then allow as many."
        )
    else:
        _write(made.data, out)
    say(
        f"{'Would write' if options['dry_run'] else 'Written'}: {count(len(made.entries), 'name')}; "
        f"{len(added):,} new, {len(gone):,} gone since the last list{'' if out else ' (none: no -o)'}."
    )
    say(f"Guard: {made.guard}.")
    if made.chosen.left_out:
        say(f"Left out: {listed(made.chosen.reasons())}.")
        if options["dry_run"]:
            _say_left_out(made)


def _say_left_out(made: "Export") -> None:
    for left in made.chosen.left_out[:_SHOWN]:
        say(f"  {left.name[:80]}: {left.reason}{f' ({left.detail})' if left.detail else ''}")
    if len(made.chosen.left_out) > _SHOWN:
        say(f"  and {len(made.chosen.left_out) - _SHOWN:,} more")


def _difference(made: "Export", form: str, out: str | None) -> tuple[set[str], set[str]]:
    """The names that are new against the list at `out`, and those that are gone."""
    from samehand.exports.formats import keys_in

    now = {entry.key for entry in made.chosen.entries}
    path = Path(out) if out else None
    if path is None or not path.is_file():
        return now, set()
    try:
        before = keys_in(form, path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be compared with the new list ({error}). Remove it, or choose -o.") from None
    return now - before, before - now


def _write(data: bytes, out: str | None) -> None:
    from samehand.base.files import write_whole

    if out is not None:
        with write_whole(Path(out)) as handle:
            handle.write(data)
    elif data.startswith(b"PAR1") and sys.stdout.isatty():
        raise UsageError("Parquet is not for terminals: name a file with -o.")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def _keep_drop(run: "samehand.Run", out: str | None, survivor: str) -> None:
    """One row per document: Parquet, CSV or JSONL by the ending of the file, JSONL to standard output."""
    import pyarrow.parquet as pq

    from samehand.base.files import write_whole
    from samehand.exports.keep_drop import KEEP_DROP_SCHEMA, keep_drop

    run.replicas()  # computes them where they are missing
    counts: Counter[str] = Counter()
    batches = keep_drop(run.folder, survivor, counts)
    if out is None:
        _write_lines(sys.stdout, batches)
    else:
        with write_whole(Path(out)) as handle:
            if out.endswith(".parquet"):
                with pq.ParquetWriter(handle, KEEP_DROP_SCHEMA, compression="zstd") as writer:
                    for batch in batches:
                        writer.write_batch(batch)
            else:
                text = io.TextIOWrapper(handle, encoding="utf-8", newline="\n", write_through=True)
                (_write_csv if out.endswith(".csv") else _write_lines)(text, batches)
                text.detach()
    dropped = counts["replica"] + sum(number for reason, number in counts.items() if reason.startswith("rejected"))
    say(f"{count(counts.total(), 'document')}: {counts.total() - dropped:,} kept, {dropped:,} dropped.")
    say(f"Reasons: {listed(dict(sorted(counts.items())))}.")


def _write_lines(file: TextIO, batches: "Iterable[pa.RecordBatch]") -> None:
    for batch in batches:
        file.writelines(json_line(row) + "\n" for row in batch.to_pylist())


def _write_csv(file: TextIO, batches: "Iterable[pa.RecordBatch]") -> None:
    from samehand.exports.keep_drop import KEEP_DROP_SCHEMA

    file.write(csv_line(KEEP_DROP_SCHEMA.names))
    for batch in batches:
        file.writelines(csv_line(row.values()) for row in batch.to_pylist())


def _evidence(run: "samehand.Run", out: str | None, clusters: tuple[int, ...]) -> None:
    """A folder, or a zip if the name ends so."""
    from samehand.answers.evidence import gather_evidence
    from samehand.base.files import write_whole
    from samehand.exports.evidence import evidence_files, zipped

    if out is None or len(clusters) != 1:
        raise UsageError("Evidence is about one cluster, and fills a folder or a zip: give --cluster N and -o NAME.")
    found = gather_evidence(run, clusters[0])
    files = evidence_files(found)
    if out.endswith(".zip"):
        files = {out: zipped(files)}
    elif Path(out).exists() and (not Path(out).is_dir() or {path.name for path in Path(out).iterdir()} - set(files)):
        raise UsageError(f"{out} holds other files: choose a new folder with -o.")
    for name, data in files.items():
        with write_whole(Path(name) if out.endswith(".zip") else Path(out) / name) as handle:
            handle.write(data)
    for note in found.notes:
        say(note)
    say(f"Written: evidence on {count(len(found.pages), 'page')} to {out}.")
