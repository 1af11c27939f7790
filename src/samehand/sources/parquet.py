"""Parquet: a document in each row. It is found again by the number of its row."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from samehand.base.page import Outcome
from samehand.base.settings import Settings
from samehand.sources.http.body import HTML, MAX_URL, Origin, guarded
from samehand.sources.reader import Reader, Reading, Source, Span, Unit
from samehand.sources.reasons import DAMAGED_RECORD, MISSING_COLUMN, reject, text_of
from samehand.sources.tables import (
    UTF8_HTML,
    Columns,
    Fields,
    choose_columns,
    doc_id_of,
    outcome_of_fields,
    time_in,
)

_ARROW_ERRORS: Final = (pa.ArrowException, OSError, ValueError)
_BATCH_ROWS = 64
_DEEPEST = 8
"""Structs in structs that are looked into."""
_TEXT_CHECKS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES_CHECKS: Final = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)


def _split(source: Source, split_bytes: int) -> Iterable[Span]:
    """Whole row groups, as many as fit into `split_bytes` of the file, at least one."""
    groups = _sizes_of_groups(source.path)
    per_byte = source.size / max(1, sum(unpacked_size for _, unpacked_size in groups))
    ends: set[int] = set()
    row = 0
    size = 0.0
    for rows, unpacked_size in groups:
        packed_size = unpacked_size * per_byte
        if size and size + packed_size > split_bytes:
            ends.add(row)
            size = 0.0
        row += rows
        size += packed_size
    # Row groups without rows would make units without rows.
    return itertools.pairwise([0, *sorted(ends - {0}), row])


def _sizes_of_groups(path: str) -> list[tuple[int, int]]:
    """Rows and unpacked bytes of each row group; none if the file cannot be read.

    The columns, which know their packed bytes, are not asked: pyarrow ends the process over a bad one (26.0.1).
    """
    try:
        metadata = pq.read_metadata(path)
        _check_rows(metadata)
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        return [(group.num_rows, max(0, group.total_byte_size)) for group in groups]
    except _ARROW_ERRORS:
        return []


def _read(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    """What the rows of the unit hold. It starts and ends where row groups do."""
    source = unit.source
    try:
        table = pq.ParquetFile(source.path)
        columns = _columns_of(table.schema_arrow, settings)
        _check_rows(table.metadata)
    except _ARROW_ERRORS as error:
        yield reject(source.name, 0, reason=DAMAGED_RECORD, size=source.size, detail=text_of(error))
        return
    with table:
        if isinstance(columns, str):
            # Once for the table, not once for each of its units.
            if unit.start == 0:
                yield reject(source.name, 0, reason=MISSING_COLUMN, size=source.size, detail=columns)
            return
        for group, row in _row_groups(table, unit.start, unit.end):
            yield from _outcomes_of_group(table, group, row=row, columns=columns, source=source, settings=settings)


def _find_page(source: Source, source_path: str, row: int, settings: Settings) -> Outcome | None:
    try:
        with pq.ParquetFile(source.path) as table:
            columns = _columns_of(table.schema_arrow, settings)
            for group, first in _row_groups(table, 0, row + 1):
                if isinstance(columns, Columns) and row < first + table.metadata.row_group(group).num_rows:
                    outcomes = _outcomes_of_group(
                        table, group, row=first, columns=columns, source=source, settings=settings
                    )
                    return next((found for found in outcomes if found.warc_record_offset == row), None)
    except _ARROW_ERRORS:
        return None
    return None


def _row_groups(table: pq.ParquetFile, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Row groups that start in [start, end), each with the number of its first row."""
    row = 0
    for group in range(table.metadata.num_row_groups):
        if start <= row < end:
            yield group, row
        row += table.metadata.row_group(group).num_rows


def _check_rows(metadata: pq.FileMetaData) -> None:
    """Refuses a table whose row counts do not add up: rows that are not counted would be lost without notice."""
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if sum(rows) != metadata.num_rows or min(rows, default=0) < 0:
        raise ValueError("the row groups do not have as many rows as the table")


def _columns_of(schema: pa.Schema, settings: Settings) -> Columns | str:
    """The columns to read, or what is wrong with the table. Columns of a type that cannot be used are not there."""
    types = _types_in(schema)
    columns = choose_columns(settings, types.__contains__, lambda: types)
    if isinstance(columns, str):
        return columns
    if not _is_bytes(types[columns.content]):
        return f"{columns.content} is {types[columns.content]}, not text"
    return columns._replace(
        url=_if_usable(columns.url, types, _is_bytes),
        doc_id=_if_usable(columns.doc_id, types, lambda kind: _is_bytes(kind) or pa.types.is_integer(kind)),
        time=_if_usable(columns.time, types, lambda kind: _is_bytes(kind) or pa.types.is_temporal(kind)),
    )


def _if_usable(name: str | None, types: dict[str, pa.DataType], is_usable: Callable[[pa.DataType], bool]) -> str | None:
    return name if name and is_usable(types[name]) else None


def _types_in(fields: Iterable[pa.Field], prefix: str = "", depth: int = 0) -> dict[str, pa.DataType]:
    """The type of each column by its name, `outer.inner` if it is nested. The first of equal names counts."""
    types: dict[str, pa.DataType] = {}
    for field in fields:
        if pa.types.is_struct(field.type) and depth < _DEEPEST:
            inner = _types_in(field.type, f"{prefix}{field.name}.", depth + 1)
        else:
            inner = {prefix + field.name: field.type}
        types |= {name: kind for name, kind in inner.items() if name not in types}
    return types


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(check(kind) for check in (*_TEXT_CHECKS, *_BYTES_CHECKS))


def _outcomes_of_group(
    table: pq.ParquetFile, group: int, *, row: int, columns: Columns, source: Source, settings: Settings
) -> Iterator[Outcome]:
    """What a row group holds. If it is damaged, the rest of it is one reject."""
    names = [name for name in columns[:4] if name]
    try:
        for batch in table.iter_batches(_BATCH_ROWS, row_groups=[group], columns=names, use_threads=False):
            read = [_column(batch, name) for name in names]
            for values in zip(*read, strict=True):
                origin = Origin(source.name, row)
                yield _outcome_of_values(dict(zip(names, values, strict=True)), columns, origin, settings)
                row += 1
    except _ARROW_ERRORS as error:
        yield reject(source.name, row, reason=DAMAGED_RECORD, detail=text_of(error))


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column, out of the structs that it is nested in. By number, because names need not be unique."""
    names = batch.schema.names
    outer = name if name in names else next(one for one in names if name.startswith(f"{one}."))
    column = batch.column(names.index(outer))
    rest = name[len(outer) + 1 :]
    while rest:
        inner = [field.name for field in column.type]
        step = rest if rest in inner else next(one for one in inner if rest.startswith(f"{one}."))
        column = pc.struct_field(column, [inner.index(step)])
        rest = rest[len(step) + 1 :]
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _outcome_of_values(values: dict[str, pa.Scalar], columns: Columns, origin: Origin, settings: Settings) -> Outcome:
    return guarded(origin, lambda: _page_of_values(values, columns, origin, settings))


def _page_of_values(values: dict[str, pa.Scalar], columns: Columns, origin: Origin, settings: Settings) -> Outcome:
    """The page in a row. Values are taken as bytes, because a text column may hold bytes that are no valid text."""
    content, url = _bytes_in(values[columns.content]), _bytes_in(values[columns.url]) if columns.url else None
    # Text is UTF-8 whatever its <meta> says. Bytes are as they were served.
    is_string = any(check(values[columns.content].type) for check in _TEXT_CHECKS)
    fields = Fields(
        content=content and content.slice(0, min(content.size, settings.max_page_bytes + 1)).to_pybytes(),
        url=url.to_pybytes() if url else b"",
        doc_id=_doc_id_in(values[columns.doc_id]) if columns.doc_id else None,
        time=_time_in(values[columns.time]) if columns.time else None,
        media=UTF8_HTML if is_string else HTML,
    )
    return outcome_of_fields(fields, columns, origin._replace(length=content.size if content else 0), settings)


def _bytes_in(value: pa.Scalar) -> pa.Buffer | None:
    return value.as_buffer() if value.is_valid else None


def _doc_id_in(value: pa.Scalar) -> str | None:
    if pa.types.is_integer(value.type):
        return doc_id_of(value.as_py())
    found = _bytes_in(value)
    if found is None:
        return None
    start = found.slice(0, min(found.size, 4 * MAX_URL))
    return doc_id_of(start.to_pybytes().decode("utf-8", "replace"))


def _time_in(value: pa.Scalar) -> datetime | None:
    if pa.types.is_temporal(value.type):
        return time_in(_python_time(value))
    found = _bytes_in(value)
    return time_in(found.slice(0, min(found.size, 64)).to_pybytes().decode("utf-8", "replace")) if found else None


def _python_time(value: pa.Scalar) -> Any:
    """A time out of a column. Times that Python cannot have are none."""
    try:
        return value.cast(pa.timestamp("ms", tz="UTC")).as_py() if value.is_valid else None
    except (pa.ArrowException, ValueError, OverflowError):
        return None


PARQUET_READER: Final = Reader(
    kind="parquet",
    inputs="Parquet",
    recognises=lambda look: look.start.startswith(b"PAR1"),
    split=_split,
    is_fragile=True,
    read=_read,
    find_page=_find_page,
)
