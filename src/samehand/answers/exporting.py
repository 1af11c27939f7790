"""Lists out of a run: entries, the guard, and the format that is asked for."""

import dataclasses
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from samehand.answers.result import Result
from samehand.base.errors import RunError, UsageError
from samehand.base.setting import nearest
from samehand.exports.choose import Chosen, choose
from samehand.exports.entries import (
    NAME_SERVER,
    Entry,
    cluster_entries,
    domains_served_by,
    entries_of,
    honest_sites,
    spread_entries,
    with_until,
)
from samehand.exports.formats import FORMATS, entry_table, fitting
from samehand.exports.stamp import ZONE, Stamp, newest_day
from samehand.methods.guard import load_guard, names_in_file
from samehand.store.tables import STYLE_CLUSTERS

if TYPE_CHECKING:
    from samehand.answers.run import Run

DAYS = 90
"""How long an entry holds after its page was fetched."""
_LEFT_OUT = pa.schema([("name", pa.string()), ("reason", pa.string()), ("detail", pa.string())])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a list is made from, and what it says about itself. Without clusters and seeds it lists unwanted sites.

    `guard` and `reviewed` are files of names: never to be listed, and looked at by a person.
    """

    clusters: Sequence[int] = ()
    seeds: Sequence[str] = ()
    tiny: bool = False
    name_servers: bool = False
    kinds: Sequence[str] = ()
    guard: Sequence[str | Path] = ()
    reviewed: Sequence[str | Path] = ()
    until: date | None = None
    days: int = DAYS
    day: date | None = None
    zone: str = ZONE
    serial: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Export:
    """A list out of a run: the answer of `Run.export`.

    Attributes:
        data: The list in its format.
        entries: One row per name: unit, kind, probability, evidence, until when it holds, and the page behind it.
        left_out: One row per name that is not in the list, with the reason.
        guard: The lists of names that stood guard, and their sizes.
    """

    data: bytes
    entries: Result
    left_out: Result
    guard: str
    chosen: Chosen

    @property
    def text(self) -> str:
        """The list as text. Parquet has none."""
        return self.data.decode("utf-8")

    def __repr__(self) -> str:
        return f"{len(self.entries):,} names listed, {len(self.left_out):,} left out.\n{self.entries!r}"


def export(run: "Run", form: str, choice: Choice) -> Export:
    """The list of a run in a format."""
    if form not in FORMATS:
        raise UsageError(f"There is no format {form!r}{nearest(str(form), FORMATS)}")
    entries = list(with_until(_entries(run, choice), choice.until, choice.days))
    servers = {entry.name for entry in entries if entry.unit == NAME_SERVER}
    guard = load_guard(choice.guard)
    chosen = choose(
        entries,
        guard,
        reviewed=_names_in(choice.reviewed),
        honest=honest_sites(run.folder) if servers else (),
        served=domains_served_by(run.folder, servers),
    )
    stamp = Stamp(choice.day or newest_day(entries), choice.zone, choice.serial)
    chosen = fitting(chosen, form, stamp)
    made = FORMATS[form].write(chosen, stamp)
    left_out = [left._asdict() for left in chosen.left_out]
    return Export(
        made.encode("utf-8") if isinstance(made, str) else made,
        Result(entry_table(chosen.entries)),
        Result(pa.Table.from_pylist(left_out, _LEFT_OUT)),
        guard.about(),
        chosen,
    )


def _entries(run: "Run", choice: Choice) -> list[Entry]:
    """The entries of what was chosen."""
    if choice.clusters or choice.seeds:
        found = [entry for number in choice.clusters for entry in _cluster(run, number)]
        if choice.seeds:
            found += spread_entries(run.folder, run.spread(choice.seeds, tiny=choice.tiny).table)
        return found
    if "sites" not in run.methods:
        raise RunError(
            f"{run.path} has no answers on sites. Compute them with samehand sites {run.path}, or choose what to list "
            "with --cluster or --seeds."
        )
    run._judge()
    found = entries_of(run.folder, name_servers=choice.name_servers)
    return [entry for entry in found if not choice.kinds or entry.kind in choice.kinds]


def _cluster(run: "Run", number: int) -> list[Entry]:
    run._require("style")
    return cluster_entries(
        run.folder, number, run._numbered(run.folder.read(STYLE_CLUSTERS), number, "cluster", "style_cluster_id")
    )


def _names_in(files: Iterable[str | Path]) -> list[str]:
    return [name for path in files for name in names_in_file(path)]
