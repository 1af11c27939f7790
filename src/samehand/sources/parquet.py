"""Parquet: a page in each row. A page is found again by the number of its row."""

import itertools
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.page import Outcome
from samehand.base.settings import Settings
from samehand.sources.http.body import HTML, MAX_URL, Origin, bounded_url, guarded, make_page, refuse
from samehand.sources.reader import Reader, Reading, Source, Span, Unit
from samehand.sources.reasons import DAMAGED_RECORD, EMPTY_BODY, MISSING_COLUMN, reject, text_of
from samehand.sources.tables import CONTENT_COLUMNS, ID_COLUMNS, UTF8_HTML, doc_id_of, first_of, missing_columns

_ARROW_ERRORS: Final = (pa.ArrowException, OSError, ValueError)
_BATCH_ROWS = 64
_TEXT_CHECKS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES_CHECKS: Final = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)


class _Columns(NamedTuple):
    """The columns that are read, by name; None for one that the table does not have."""

    content: str
    url: str | None
    doc_id: str | None

    def names(self) -> list[str]:
        return [name for name in self if name]


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
        columns = _columns_of(table.schema_arrow)
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
            columns = _columns_of(table.schema_arrow)
            for group, first in _row_groups(table, 0, row + 1):
                if isinstance(columns, _Columns) and row < first + table.metadata.row_group(group).num_rows:
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


def _columns_of(schema: pa.Schema) -> _Columns | str:
    """The columns to read, or what is wrong with the table."""
    types = dict(zip(reversed(schema.names), reversed(schema.types), strict=True))  # the first of equal names counts
    content = first_of(CONTENT_COLUMNS, types)
    if content is None:
        return missing_columns(CONTENT_COLUMNS, schema.names)
    if not _is_bytes(types[content]):
        return f"{content} is {types[content]}, not text"
    url = "url" if "url" in types and _is_bytes(types["url"]) else None
    doc_id = first_of(ID_COLUMNS, types)
    if doc_id and not (_is_bytes(types[doc_id]) or pa.types.is_integer(types[doc_id])):
        doc_id = None
    return _Columns(content, url, doc_id)


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(check(kind) for check in (*_TEXT_CHECKS, *_BYTES_CHECKS))


def _outcomes_of_group(
    table: pq.ParquetFile, group: int, *, row: int, columns: _Columns, source: Source, settings: Settings
) -> Iterator[Outcome]:
    """What a row group holds. If it is damaged, the rest of it is one reject."""
    names = columns.names()
    try:
        for batch in table.iter_batches(_BATCH_ROWS, row_groups=[group], columns=names, use_threads=False):
            # By number, because names need not be unique.
            read = [_plain(batch.column(batch.schema.names.index(name))) for name in names]
            for values in zip(*read, strict=True):
                origin = Origin(source.name, row)
                yield _outcome_of_values(dict(zip(names, values, strict=True)), columns, origin, settings)
                row += 1
    except _ARROW_ERRORS as error:
        yield reject(source.name, row, reason=DAMAGED_RECORD, detail=text_of(error))


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _outcome_of_values(values: dict[str, pa.Scalar], columns: _Columns, origin: Origin, settings: Settings) -> Outcome:
    return guarded(origin, lambda: _page_of_values(values, columns, origin, settings))


def _page_of_values(values: dict[str, pa.Scalar], columns: _Columns, origin: Origin, settings: Settings) -> Outcome:
    """The page in a row. Values are taken as bytes, because a text column may hold bytes that are no valid text."""
    if columns.url and (url := _bytes_in(values[columns.url])):
        origin = origin._replace(url=bounded_url(url.to_pybytes()))
    if columns.doc_id:
        origin = origin._replace(doc_id=_doc_id_in(values[columns.doc_id]))
    content = _bytes_in(values[columns.content])
    if content is None:
        return refuse(origin, EMPTY_BODY)
    limit = settings.max_page_bytes
    origin = origin._replace(length=content.size)
    body = content.slice(0, min(content.size, limit + 1)).to_pybytes()
    # Text is UTF-8 whatever its <meta> says. Bytes are as they were served.
    is_text = any(check(values[columns.content].type) for check in _TEXT_CHECKS)
    return make_page(body, origin, media=UTF8_HTML if is_text else HTML, limit=limit)


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


PARQUET_READER: Final = Reader(
    kind="parquet",
    inputs="Parquet",
    recognises=lambda look: look.start.startswith(b"PAR1"),
    split=_split,
    is_fragile=True,
    read=_read,
    find_page=_find_page,
)
