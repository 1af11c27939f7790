"""The run folder: the only part of samehand that knows where files stand.

`samehand.store.tables` names every table and file. Parts have the number of the unit of work that they came from. A
run folder may come from a stranger, so whatever is read from it is checked before anyone works with it: JSON for its
shape, tables for columns, types, row counts and page ids. A bad folder raises a RunError.
"""

import contextlib
import dataclasses
import functools
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from samehand.base.errors import RunError, SettingsError
from samehand.base.files import locked, remove_leftovers, write_whole, writing
from samehand.base.settings import PUBLIC_KEY, Settings
from samehand.store.done import DoneRecords, part_name
from samehand.store.files import FILES
from samehand.store.manifest import DONE, FORMAT, check_manifest
from samehand.store.page_ids import UNIT_BITS, PageIds
from samehand.store.row_groups import places_of, rows_at
from samehand.store.table import Table
from samehand.store.tables import PAGES, TABLES
from samehand.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_BATCH_ROWS = 1 << 14
DAMAGED = "Scan the inputs again with --force."
"""The next step where a run folder does not hold what it must."""
_NEVER_CLEARED = ("lock", "stdin")
MADE_WITH = ("read", "style")
"""Groups of settings that cannot change: all rows of a run are made with them."""

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """Tables, parts, records and the manifest of one run."""

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """An existing run. RunError if there is none, or one of another format."""
        folder = cls(Path(path))
        if not (folder.path / "run.json").is_file():
            raise RunError(
                f"{path} is not a run folder: it has no run.json. Make one with: samehand scan INPUTS -o {path}"
            )
        folder.settings()
        return folder

    @property
    def exists(self) -> bool:
        """Whether there is a run."""
        return (self.path / "run.json").is_file()

    def manifest(self) -> dict[str, Any]:
        """run.json, checked."""
        path = self.path / "run.json"
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} is damaged ({type(error).__name__}). {DAMAGED}") from error
        return check_manifest(stored, self.path)

    def settings(self) -> Settings:
        """The settings the run was made with, its key included."""
        return self._settings

    @functools.cached_property
    def _settings(self) -> Settings:
        manifest = self.manifest()
        try:
            settings = Settings.from_dict({**manifest["settings"], "key": self._key(manifest["key"])})
        except SettingsError as error:
            raise RunError(f"The settings in {self.path / 'run.json'} cannot be used: {error}") from error
        if settings.digest(*MADE_WITH) != manifest["read_settings"]:
            raise RunError(f"{self.path} was made with other settings or another key than it names. {DAMAGED}")
        return settings

    def _key(self, kind: str) -> str:
        if kind == "public":
            return PUBLIC_KEY
        path = self.path / "key"
        try:
            if path.is_file():
                return path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            pass
        raise RunError(f"{path} does not hold the secret key of the run. Put the file back.")

    def check_finished(self) -> None:
        """RunError where a scan or an addition was stopped half-way."""
        manifest = self.manifest()
        read = self.page_ids.units.size
        if manifest["state"] != DONE or read + len(manifest["failures"]) != manifest["units"]:
            raise RunError(
                f"{self.path} is not finished: {read} of {manifest['units']} units of work are read. Run the same scan "
                f"or add again to finish it; samehand status {self.path} says how far it is."
            )

    def save_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaces run.json. Only who holds the lock may."""
        self.__dict__.pop("_settings", None)
        self.write_text("run.json", json.dumps({**manifest, "format": FORMAT}, indent=2, sort_keys=True) + "\n")

    def withdraw(self, names: Collection[str]) -> None:
        """The run has no answers of these methods until they are computed again, even if that is killed."""
        manifest = self.manifest()
        stages = {name: counts for name, counts in manifest["stages"].items() if name not in names}
        self.save_manifest(manifest | {"stages": stages})

    def save_key(self, key: str) -> None:
        """Keeps a secret key beside the run, readable by its owner alone; the public one needs no file."""
        if key != PUBLIC_KEY:
            self.write_text("key", key, mode=0o600)

    def own_file(self, name: str) -> Path:
        """Where a file that grows stands. RunError if a stranger put a link or a pipe there: samehand makes none."""
        path = self.path / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise RunError(f"{path} is not a plain file. Remove it, then run the same command again.")
        return path

    def write_text(self, name: str, text: str, *, mode: int = 0o644) -> None:
        """Writes a small file whole or not at all."""
        with write_whole(self.path / name, mode=mode) as handle:
            handle.write(text.encode())

    @property
    def done(self) -> DoneRecords:
        """What is done."""
        return DoneRecords(self.path / "done")

    @functools.cached_property
    def page_ids(self) -> PageIds:
        """The ids of all pages, from the records of the units that are read. Checked against the parts of `pages`."""
        counts = {}
        for number, record in self.done.parts(PAGES.name).items():
            rows = self._rows_in(number)
            if rows != record["pages"]:
                raise _misses_pages(self.part_path(PAGES, number))
            counts[number] = rows
        return PageIds.of(counts)

    def _rows_in(self, number: int) -> int:
        path = self.part_path(PAGES, number)
        self._check_there(PAGES, path)
        with _checked(path):
            return int(pq.read_metadata(path).num_rows)

    # Tables.

    def has(self, table: Table) -> bool:
        """Whether the table is there; for one in parts, whether any part is."""
        place = self.path / table.path
        return any(place.glob("part-*.parquet")) if table.in_parts else place.is_file()

    def part_path(self, table: Table, number: int | None) -> Path:
        """Where the part of a unit stands; without a number, the table that is one file."""
        return self.path / table.path if number is None else self.path / table.path / f"part-{number:06d}.parquet"

    def part_numbers(self, table: Table) -> list[int]:
        """The units whose parts belong to the run. RunError if a part is missing."""
        numbers: list[int] = self.page_ids.units.tolist()
        for number in numbers:
            self._check_there(table, self.part_path(table, number))
        return numbers

    def read(self, table: Table, columns: Sequence[str] | None = None) -> pa.Table:
        """A whole table, checked; parts in unit order, which is page_id order."""
        if not table.in_parts:
            return self._checked_ids(table, self._read_file(table, self.path / table.path, columns))
        parts = [self.read_part(table, number, columns) for number in self.part_numbers(table)]
        schema = table.schema(self.settings())
        return pa.concat_tables([schema.empty_table().select(list(columns or schema.names)), *parts])

    def read_part(self, table: Table, number: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The part of one unit, checked."""
        path = self.part_path(table, number)
        rows = self._read_file(table, path, self._with_ids(table, columns))
        if table.has_page_rows and rows.num_rows != self._pages_of(number):
            raise _misses_pages(path)
        return self._checked_part(rows, number << UNIT_BITS, path).select(list(columns or rows.column_names))

    def read_rows(
        self, table: Table, places: Iterable[int], columns: Sequence[str] | None = None, number: int | None = None
    ) -> pa.Table:
        """Some rows by their places, of a table or of its part `number`. Only the row groups of these are read."""
        wanted, names = np.fromiter(places, np.int64), list(columns or table.schema(self.settings()).names)
        with self._opened(table, number, names) as (part, path):
            return self._checked_ids(table, self._checked_values(table, rows_at(part, wanted, names), path), wanted)

    def find(
        self, table: Table, column: str, value: object, columns: Sequence[str] | None = None, most: int = 1
    ) -> pa.Table:
        """The first rows of a table whose `column` has `value`. Row groups that cannot hold it are not read."""
        with self._opened(table, None, [column]) as (part, _):
            places = places_of(part, column, value, most)
        return self.read_rows(table, places, columns)

    @contextlib.contextmanager
    def _opened(
        self, table: Table, number: int | None, columns: Sequence[str]
    ) -> Iterator[tuple[pq.ParquetFile, Path]]:
        path = self.part_path(table, number)
        self._check_there(table, path)
        with _checked(path), pq.ParquetFile(path, page_checksum_verification=True) as part:
            self._check_schema(table, part.schema_arrow, path, columns)
            yield part, path

    def iterate(self, table: Table, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table, a batch at a time, checked; those of a table in parts in page_id order."""
        for number in self.part_numbers(table) if table.in_parts else [None]:
            yield from self.iterate_part(table, number, columns)

    def iterate_part(
        self, table: Table, number: int | None, columns: Sequence[str], rows: int = _BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The rows of one part, at most `rows` at a time and those of one row group together, checked."""
        left = self._pages_of(number) if table.has_page_rows and number is not None else 0
        names, first = self._with_ids(table, columns), 0
        with self._opened(table, number, names) as (part, path):
            for found in _batches(part, names, rows):
                left -= len(found)
                if table.has_page_rows and left < 0:
                    break
                batch = self._checked_values(table, found, path)
                if number is None:
                    yield self._checked_ids(table, batch, np.arange(first, first + len(batch)))
                else:
                    yield self._checked_part(batch, (number << UNIT_BITS) + first, path).select(list(columns))
                first += len(batch)
            if table.has_page_rows and left:
                raise _misses_pages(path)

    def _with_ids(self, table: Table, columns: Sequence[str] | None) -> list[str]:
        """The columns to read: rows of pages are known by their ids, whether those are asked for or not."""
        names = list(columns or table.schema(self.settings()).names)
        return ["page_id", *names] if table.has_page_rows and "page_id" not in names else names

    def _pages_of(self, number: int) -> int:
        """How many pages a unit has."""
        record = self.done.get(part_name(PAGES.name, number))
        return record["pages"] if record else 0

    def dataset(self, table: Table) -> "ds.Dataset":
        """A table that is read when it is used, and no more of it than is used. Types are checked then."""
        import pyarrow.dataset as ds  # it imports pandas where there is one, which takes a second

        paths = [self.path / table.path]
        if table.in_parts:
            numbered = (self.part_path(table, number) for number in self.page_ids.units.tolist())
            paths = [path for path in numbered if path.is_file()]
        return ds.dataset([str(path.absolute()) for path in paths], table.schema(self.settings()), format="parquet")

    def _read_file(self, table: Table, path: Path, columns: Sequence[str] | None) -> pa.Table:
        self._check_there(table, path)
        with _checked(path), pq.ParquetFile(path, page_checksum_verification=True) as part:
            self._check_schema(table, part.schema_arrow, path, columns)
            names = list(columns or table.schema(self.settings()).names)
            return self._checked_values(table, part.read(columns=names).select(names), path)

    def _check_there(self, table: Table, path: Path) -> None:
        if not path.is_file():
            again = "Run the same scan or add again: it makes what is missing."
            raise RunError(f"{path} is missing. {again if table.method != table.name else DAMAGED}")

    def _check_schema(self, table: Table, found: pa.Schema, path: Path, columns: Sequence[str] | None) -> None:
        """The columns that are to be read have the names and types they must have."""
        for field in table.schema(self.settings()):
            if columns is not None and field.name not in columns:
                continue
            if found.names.count(field.name) != 1:
                raise RunError(
                    f"{path} has no column {field.name}. It has: {', '.join(found.names) or 'no columns'}. {DAMAGED}"
                )
            if found.field(field.name).type != field.type:
                kind = found.field(field.name).type
                raise RunError(f"Column {field.name} of {path} has the type {kind}, not {field.type}. {DAMAGED}")

    def _checked_values(self, table: Table, rows: Rows, path: Path) -> Rows:
        """Values are what their types say, such as text in UTF-8. Required ones are there."""
        rows.validate(full=True)
        fields = [field for field in table.schema(self.settings()) if field.name in rows.schema.names]
        for field in fields:
            if not field.nullable and rows.column(field.name).null_count:
                raise RunError(f"Column {field.name} of {path} lacks values. {DAMAGED}")
        return rows.select([field.name for field in fields]).cast(pa.schema(fields))

    def _checked_ids(self, table: Table, rows: Rows, places: NDArray[np.int64] | None = None) -> Rows:
        """Columns of ids hold pages of the run and nothing else. Rows with a rank stand in its order."""
        places = np.arange(rows.num_rows) if places is None else places
        for column in rows.schema.names:
            if column.endswith(("page_id", "_cluster_id", "_family_id", "_group_id")):
                self.page_ids.rows(rows.column(column).drop_null().to_numpy())
        rank = table.columns[0].name
        is_ranked = table.is_ranked and rank in rows.schema.names
        if is_ranked and not np.array_equal(rows.column(rank).to_numpy(), places + 1):
            raise RunError(f"{self.path / table.path} does not count its rows from 1. {DAMAGED}")
        return rows

    def _checked_part(self, rows: Rows, first: int, path: Path) -> Rows:
        """The pages of a part are those of its unit, in order, from page_id `first` on."""
        if "page_id" in rows.schema.names:
            wanted = first + np.arange(rows.num_rows, dtype=np.int64)
            if not np.array_equal(rows.column("page_id").to_numpy(), wanted):
                raise _misses_pages(path)
        return rows

    def write(self, table: Table, rows: pa.Table) -> None:
        """Writes a table whole or not at all."""
        with self.writer(table, self.settings()) as writer:
            writer.write(rows)

    def writer(self, table: Table, settings: Settings, number: int | None = None) -> TableWriter:
        """Writes a table, or the part of a unit, batch by batch."""
        return TableWriter(self.part_path(table, number), table.schema(settings))

    # The folder as a whole.

    def remove(self, tables: Iterable[Table]) -> None:
        """Removes tables."""
        with writing(self.path):
            for table in tables:
                place = self.path / table.path
                shutil.rmtree(place, ignore_errors=True) if table.in_parts else place.unlink(missing_ok=True)

    def clean(self) -> None:
        """Removes what a killed process left half written."""
        remove_leftovers(self.path)

    def clear(self) -> None:
        """Removes everything samehand wrote, and nothing else."""
        self.remove(TABLES)
        with writing(self.path):
            for name in FILES:
                place = self.path / name
                if name in _NEVER_CLEARED:
                    continue
                if place.is_dir() and not place.is_symlink():
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    place.unlink(missing_ok=True)
            for place in {(self.path / table.name).parent for table in TABLES} - {self.path}:
                with contextlib.suppress(OSError):  # not empty: somebody else keeps files there
                    place.rmdir()
        self.forget()

    def forget(self) -> None:
        """Pages were added or removed: what is known of their ids holds no more."""
        for name in ("page_ids", "_settings"):
            self.__dict__.pop(name, None)

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Keeps a second writer out."""
        return locked(self.path / "lock", f"Another process is writing to {self.path}: wait for it, or stop it.")


@contextlib.contextmanager
def _checked(path: Path) -> Iterator[None]:
    """Turns what Arrow says of a damaged file into one sentence."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, IndexError) as error:
        raise RunError(f"{path} cannot be read ({type(error).__name__}). {DAMAGED}") from error


def _batches(part: pq.ParquetFile, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    for group in range(part.num_row_groups):
        yield from part.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False)


def _misses_pages(path: Path) -> RunError:
    return RunError(f"{path} does not hold the pages of its unit in order. {DAMAGED}")
