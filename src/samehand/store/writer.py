"""Parquet files that are there whole or not at all."""

import os
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.files import publish, temporary_name, writing
from samehand.store.row_groups import ROW_GROUP_ROWS

_OWN = ("content_digest", "doc_id", "url")
"""Texts that nearly every row has one of its own of."""


class TableWriter:
    """Writes one Parquet file batch by batch, under a temporary name until it is complete and on disk."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._temporary = temporary_name(path)
        self.schema = schema
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        with writing(self._path.parent):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self._temporary,
                self.schema,
                compression=_codecs(self.schema),
                use_dictionary=_dictionary_columns(self.schema),
                write_page_checksum=True,
            )
        return self

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Appends rows, whose columns may stand in another order."""
        if self._writer is not None and rows.num_rows:
            table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
            with writing(self._path.parent):
                self._writer.write_table(table.select(self.schema.names).cast(self.schema), ROW_GROUP_ROWS)

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
            publish(self._temporary, self._path)


def _codecs(schema: pa.Schema) -> dict[str, str]:
    """A codec for each column. Hashes hardly get smaller: with LZ4 they take half the time to write and to read."""
    codecs = {}
    for field in schema:
        leaf = ".list.element" if pa.types.is_list(field.type) or pa.types.is_large_list(field.type) else ""
        codecs[field.name + leaf] = "lz4" if pa.types.is_fixed_size_binary(field.type) else "zstd"
    return codecs


def _dictionary_columns(schema: pa.Schema) -> list[str]:
    """Columns with few values; the others (addresses, digests, fingerprints, bytes) only cost time to look through."""
    return [field.name for field in schema if pa.types.is_string(field.type) and field.name not in _OWN]
