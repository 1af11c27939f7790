"""The run folder: the only part of samehand that knows paths.

    RUN/run.json                              settings, versions, inputs with digests, counts and times of each stage
    RUN/pages/part-000000.parquet             one row per page (`samehand.base.page.PAGE_SCHEMA`)
    RUN/rejects/part-000000.parquet           one row per record that did not become a page
    RUN/style/fingerprints/part-000000.parquet  one row per page: its noise and fingerprint
    RUN/style/{edges,members,clusters}.parquet  the answers
    RUN/done/part-000000.json                 marker: this unit is done, from this input, with these settings
    RUN/key                                   the secret key, when there is one (readable by its owner alone)

Parts have the number of the unit of work they came from. A file is written under a temporary name, fsynced and
renamed; a marker is written last. So whatever is there is whole, and what has no marker is done again.
"""

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.errors import RunBusyError, RunError, RunWriteError
from samehand.base.settings import PUBLIC_KEY, Settings

FORMAT = 2
"""Version of the folder's layout; a run of another format is refused."""

TEMPORARY = ".writing"
_BATCH_ROWS = 1 << 14


@dataclasses.dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths, parts, markers and the manifest of one run."""

    path: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """An existing run."""
        folder = cls(Path(path))
        if not folder.manifest_path.is_file():
            raise RunError(
                f"{path} is not a run folder: it has no run.json. Make one with: samehand scan INPUTS -o {path}"
            )
        if (found := folder.manifest().get("format")) != FORMAT:
            raise RunError(f"{path} has format {found}, this version reads {FORMAT}. Scan the inputs again.")
        return folder

    @property
    def manifest_path(self) -> Path:
        """Where run.json stands."""
        return self.path / "run.json"

    def manifest(self) -> dict[str, Any]:
        """run.json as it stands."""
        try:
            manifest: dict[str, Any] = json.loads(self.manifest_path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise RunError(f"{self.manifest_path} is damaged ({error}). Scan again with --force.") from error
        return manifest

    def settings(self) -> Settings:
        """The settings the run was made with, its key included."""
        key = PUBLIC_KEY
        if (self.path / "key").is_file():
            key = (self.path / "key").read_text(encoding="utf-8")
        return Settings.from_dict({**self.manifest()["settings"], "key": key})

    def save_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replaces run.json."""
        self.write_text("run.json", json.dumps(manifest, indent=2, sort_keys=True) + "\n")

    def save_key(self, key: str) -> None:
        """Keeps a secret key beside the run, for its owner alone; the public one needs no file."""
        if key != PUBLIC_KEY:
            self.write_text("key", key, mode=0o600)

    def part_path(self, table: str, number: int) -> Path:
        """Where the part of a unit stands."""
        return self.path / table / f"part-{number:06d}.parquet"

    def marker(self, name: str) -> dict[str, Any] | None:
        """What was noted when `name` was done; None when it is not done."""
        try:
            marker: dict[str, Any] = json.loads((self.path / "done" / f"{name}.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return marker

    def mark_done(self, name: str, facts: Mapping[str, Any]) -> None:
        """Notes that `name` is done."""
        self.write_text(f"done/{name}.json", json.dumps(facts, sort_keys=True) + "\n")

    def unmark(self, name: str) -> None:
        """Takes the note back: `name` has to be done again."""
        (self.path / "done" / f"{name}.json").unlink(missing_ok=True)

    def write_text(self, name: str, text: str, *, mode: int = 0o644) -> None:
        """Writes a small file whole or not at all."""
        with writing(self.path):
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary = _temporary(target)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
            with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
                handle.write(text)
                handle.flush()
                os.fsync(handle.fileno())
            _replace(temporary, target)

    def write_table(self, name: str, table: pa.Table) -> None:
        """Writes a table whole or not at all."""
        with TableWriter(self.path / name, table.schema) as writer:
            writer.write_table(table)

    def read_table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A whole table of answers."""
        path = self.path / name
        if not path.is_file():
            raise RunError(f"{path} is not there: the run is not finished. Run the same scan again to finish it.")
        return pq.read_table(path, columns=columns, partitioning=None)

    def read_parts(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """All parts of a table, in unit order, which is page_id order."""
        return pa.concat_tables(
            pq.read_table(path, columns=columns, partitioning=None) for path in self.part_paths(table)
        )

    def iterate_parts(self, table: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a table in page_id order, a batch at a time."""
        for path in self.part_paths(table):
            with pq.ParquetFile(path) as part:
                yield from part.iter_batches(_BATCH_ROWS, columns=list(columns))

    def count_rows(self, table: str) -> int:
        """Rows in all parts of a table."""
        return sum(pq.read_metadata(path).num_rows for path in self.part_paths(table))

    def part_paths(self, table: str) -> list[Path]:
        """Where the parts of a table stand, in unit order."""
        paths = sorted((self.path / table).glob("part-*.parquet"))
        if not paths:
            raise RunError(f"{self.path / table} holds no parts: run the same scan again.")
        return paths

    def clean(self) -> None:
        """Removes what a killed process left half written."""
        with writing(self.path):
            for leftover in self.path.rglob(f"*{TEMPORARY}"):
                leftover.unlink(missing_ok=True)

    def clear(self) -> None:
        """Removes everything samehand wrote, and nothing else."""
        with writing(self.path):
            for name in (
                "pages",
                "rejects",
                "style",
                "replica",
                "language",
                "structure",
                "providers",
                "done",
                "content",
            ):
                shutil.rmtree(self.path / name, ignore_errors=True)
            for name in ("run.json", "key"):
                (self.path / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keeps a second writer out; the lock goes with the process, so a killed one leaves none behind."""
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            handle = (self.path / "lock").open("w")
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunBusyError(f"Another process is writing to {self.path}: wait for it, or stop it.") from None
            yield


class TableWriter:
    """Writes one Parquet file batch by batch, under a temporary name until it is complete and on disk."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._temporary = _temporary(path)
        self._schema = schema
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        with writing(self._path.parent):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self._temporary, self._schema, compression="zstd", use_dictionary=_dictionary_columns(self._schema)
            )
        return self

    def write_table(self, table: pa.Table) -> None:
        """Appends rows."""
        if self._writer is not None and table.num_rows:
            with writing(self._path.parent):
                self._writer.write_table(table)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._writer is None:
            return
        with writing(self._path.parent):
            self._writer.close()
            if kind is not None:
                self._temporary.unlink(missing_ok=True)
                return
            with self._temporary.open("rb") as handle:
                os.fsync(handle.fileno())
            _replace(self._temporary, self._path)


def _dictionary_columns(schema: pa.Schema) -> list[str]:
    """Columns with few values; the others (digests, fingerprints, bytes) only cost time to look through."""
    return [field.name for field in schema if pa.types.is_string(field.type) and field.name != "content_digest"]


def _temporary(target: Path) -> Path:
    """The name a file has until it is complete; of one attempt alone, wherever else the same is tried."""
    return target.with_name(f"{target.name}.{uuid.uuid4().hex}{TEMPORARY}")


def _replace(temporary: Path, target: Path) -> None:
    """Renames and makes the renaming itself durable."""
    temporary.replace(target)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turns the operating system's refusals into one clear sentence."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC or "No space left" in str(error):
            what = "the disk is full. Free some space"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            what = "writing is not permitted. Choose another folder with -o, or change its permissions"
        else:
            what = f"{error.strerror or error}. Mend that"
        raise RunWriteError(
            f"Cannot write to {folder}: {what}, then run the same command again: nothing done is lost."
        ) from error


def digest_facts(facts: object) -> str:
    """Digest of anything JSON can hold: what a stage was made from."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
