"""Tables of pages, JSONL (plain or packed) and Parquet, with the columns `url` and `html` (or `content`).

A table says that it holds HTML, so there are no HTTP rules here. A row is found again by its place: in JSONL the byte
offset of its line (of the unpacked file, when it is packed), in Parquet the number of the row.
"""

import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.settings import Settings
from samehand.sources.archive.frames import codec_for
from samehand.sources.archive.members import STEP, MemberError, MemberStream
from samehand.sources.http.body import HTML, Media, Origin, bounded_url, make_page, refuse
from samehand.sources.reasons import BAD_JSON, DAMAGED_RECORD, EMPTY_BODY, MISSING_COLUMN, READER_ERROR, reject, text_of
from samehand.sources.unit import Outcome, Reading, Source, Unit

CONTENT_COLUMNS: Final = ("html", "content")

_UTF8: Final = Media("text/html", "utf-8")
_NO_END: Final = 1 << 62
_LINE_EXTRA = 1_000_000
_SKIP_STEP = 1 << 20
_ARROW_ERRORS: Final = (pa.ArrowException, OSError, ValueError)
_BATCH_ROWS = 64
_TEXT_CHECKS: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES_CHECKS: Final = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)


class _Line(NamedTuple):
    """A line of a file; `text` is None when it is too long to be held."""

    text: bytes | None
    size: int


def unpacked(file: BinaryIO, size: int) -> BinaryIO | None:
    """The unpacked stream of a JSONL file, None when it is plain. A packed one can only be read from its start."""
    codec = codec_for(file.read(4))
    file.seek(0)
    return io.BufferedReader(MemberStream(codec(file, size)), STEP) if codec else None


def read_jsonl(unit: Unit, settings: Settings, *, reading: Reading) -> Iterator[Outcome]:
    """The pages and rejects of the lines that start in the unit."""
    source = unit.source
    with open(source.path, "rb") as file:
        stream = unpacked(file, source.size)
        position = 0 if stream else _line_start(file, unit)
        reading.first = position
        end = _NO_END if stream else unit.end
        try:
            while position < end and (line := _read_line(stream or file, settings)):
                if line.text is None or not line.text.isspace():
                    yield _outcome_of_line(line, Origin(source.name, position, line.size), settings)
                position += line.size
        except MemberError as error:
            yield reject(source.name, position, reason=DAMAGED_RECORD, detail=text_of(error))
        reading.stop = unit.end if stream else position


def find_jsonl_page(source: Source, offset: int, *, settings: Settings) -> Outcome | None:
    """What is in the line at `offset`."""
    with open(source.path, "rb") as file:
        stream = unpacked(file, source.size)
        try:
            if stream is None:
                file.seek(offset)
            elif not _skip(stream, offset):
                return None
            line = _read_line(stream or file, settings)
        except MemberError:
            return None
    return _outcome_of_line(line, Origin(source.name, offset, line.size), settings) if line else None


def _line_start(file: BinaryIO, unit: Unit) -> int:
    """Position of the first line that starts in the unit or behind it; the file stands there."""
    if unit.exact or unit.start == 0:
        return file.seek(unit.start)
    position = file.seek(unit.start - 1)
    while text := file.readline(_SKIP_STEP):
        position += len(text)
        if text.endswith(b"\n"):
            break
    return position


def _skip(stream: BinaryIO, size: int) -> bool:
    while size and (data := stream.read(min(size, _SKIP_STEP))):
        size -= len(data)
    return size == 0


def _read_line(stream: BinaryIO, settings: Settings) -> _Line | None:
    longest = 3 * settings.max_page_bytes + _LINE_EXTRA
    text = stream.readline(longest)
    size = len(text)
    if size < longest or text.endswith(b"\n"):
        return _Line(text, size) if text else None
    while more := stream.readline(_SKIP_STEP):
        size += len(more)
        if more.endswith(b"\n"):
            break
    return _Line(None, size)


def _outcome_of_line(line: _Line, origin: Origin, settings: Settings) -> Outcome:
    if line.text is None:
        return refuse(origin, BAD_JSON, f"a line of {line.size} bytes")
    try:
        row = json.loads(line.text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError) as error:
        return refuse(origin, BAD_JSON, text_of(error))
    if not isinstance(row, dict):
        return refuse(origin, BAD_JSON, f"a JSON {type(row).__name__}, not an object")
    try:
        return _outcome_of_row(row, origin, settings)
    except Exception as error:  # noqa: BLE001 - the page boundary: no page stops a run
        return refuse(origin, READER_ERROR, text_of(error))


def _outcome_of_row(row: dict[str, Any], origin: Origin, settings: Settings) -> Outcome:
    url = row.get("url")
    if isinstance(url, str):
        origin = origin._replace(url=bounded_url(url.encode("utf-8", "replace")))
    column = next((name for name in CONTENT_COLUMNS if name in row), None)
    if column is None:
        return refuse(origin, MISSING_COLUMN, CONTENT_COLUMNS[0])
    html = row[column]
    if html is None:
        return refuse(origin, EMPTY_BODY)
    if not isinstance(html, str):
        return refuse(origin, MISSING_COLUMN, f"{column} is {type(html).__name__}, not text")
    limit = settings.max_page_bytes
    return make_page(html[: limit + 1].encode("utf-8", "replace"), origin, media=_UTF8, limit=limit)


def read_parquet(unit: Unit, settings: Settings, *, reading: Reading) -> Iterator[Outcome]:
    """The pages and rejects of the rows of the unit, which starts and ends where row groups do."""
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


def find_parquet_page(source: Source, row: int, *, settings: Settings) -> Outcome | None:
    """What is in a row."""
    try:
        with pq.ParquetFile(source.path) as table:
            columns = _columns_of(table.schema_arrow)
            for group, first in _row_groups(table, 0, row + 1):
                if isinstance(columns, list) and row < first + table.metadata.row_group(group).num_rows:
                    outcomes = _outcomes_of_group(
                        table, group, row=first, columns=columns, source=source, settings=settings
                    )
                    return next((found for found in outcomes if found.warc_record_offset == row), None)
    except _ARROW_ERRORS:
        return None
    return None


def row_groups(path: str) -> list[tuple[int, int]]:
    """Rows and unpacked bytes of each row group; none when the file cannot be read.

    The columns, which know their packed bytes, are not asked: pyarrow ends the process over a bad one (26.0.1).
    """
    try:
        metadata = pq.read_metadata(path)
        _check_rows(metadata)
        groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        return [(group.num_rows, max(0, group.total_byte_size)) for group in groups]
    except _ARROW_ERRORS:
        return []


def _row_groups(table: pq.ParquetFile, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Row groups that start in [start, end), each with the number of its first row."""
    row = 0
    for group in range(table.metadata.num_row_groups):
        if start <= row < end:
            yield group, row
        row += table.metadata.row_group(group).num_rows


def _check_rows(metadata: pq.FileMetaData) -> None:
    """Refuses a table whose row counts do not add up: rows that nobody counts would be lost in silence."""
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if sum(rows) != metadata.num_rows or min(rows, default=0) < 0:
        raise ValueError("the row groups do not have as many rows as the table")


def _columns_of(schema: pa.Schema) -> list[str] | str:
    """The columns to read, content first; or which one is missing or of no use."""
    content = next((name for name in CONTENT_COLUMNS if name in schema.names), None)
    if content is None:
        return CONTENT_COLUMNS[0]
    if not _is_bytes(schema.field(schema.names.index(content)).type):
        return f"{content} is {schema.field(schema.names.index(content)).type}, not text"
    has_url = "url" in schema.names and _is_bytes(schema.field(schema.names.index("url")).type)
    return [content, "url"] if has_url else [content]


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return any(check(kind) for check in (*_TEXT_CHECKS, *_BYTES_CHECKS))


def _outcomes_of_group(
    table: pq.ParquetFile, group: int, *, row: int, columns: list[str], source: Source, settings: Settings
) -> Iterator[Outcome]:
    """The pages and rejects of a row group; when it breaks, what is left of it is one reject."""
    try:
        for batch in table.iter_batches(_BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False):
            read = [_plain(batch.column(name)) for name in columns]
            for values in zip(*read, strict=True):
                yield _outcome_of_values(list(values), Origin(source.name, row), settings)
                row += 1
    except _ARROW_ERRORS as error:
        yield reject(source.name, row, reason=DAMAGED_RECORD, detail=text_of(error))


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _outcome_of_values(values: list[pa.Scalar], origin: Origin, settings: Settings) -> Outcome:
    """The page in a row. Values are taken as bytes: what a text column holds need not be valid text."""
    limit = settings.max_page_bytes
    try:
        content, *url = [value.as_buffer() if value.is_valid else None for value in values]
        if url and url[0] is not None:
            origin = origin._replace(url=bounded_url(url[0].to_pybytes()))
        if content is None:
            return refuse(origin, EMPTY_BODY)
        origin = origin._replace(length=content.size)
        body = content.slice(0, min(content.size, limit + 1)).to_pybytes()
        # Text is UTF-8 whatever its <meta> says; bytes are as they were served.
        is_text = any(check(values[0].type) for check in _TEXT_CHECKS)
        return make_page(body, origin, media=_UTF8 if is_text else HTML, limit=limit)
    except Exception as error:  # noqa: BLE001 - the page boundary: no page stops a run
        return refuse(origin, READER_ERROR, text_of(error))
