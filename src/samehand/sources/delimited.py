"""CSV and TSV, plain or packed: a document in each row, found again by the offset of its row in the unpacked file.

The first row names the columns. A file is not split between workers, because a line end inside quotes is no row end.
"""

import csv
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from samehand.base.page import Outcome
from samehand.base.settings import Settings
from samehand.sources.archive.members import MemberError
from samehand.sources.http.body import Origin, guarded
from samehand.sources.jsonl import longest_line, read_line, skip, unpacked
from samehand.sources.reader import Look, Reader, Reading, Source, Unit
from samehand.sources.reasons import BAD_ROW, DAMAGED_RECORD, MISSING_COLUMN, reject, text_of
from samehand.sources.tables import Columns, Fields, choose_columns, doc_id_of, outcome_of_fields, time_in

_ENDINGS: Final = (".csv", ".tsv")
_DELIMITERS: Final = (",", "\t", ";")


class _Row(NamedTuple):
    """A row and the offsets of its first byte and behind its last. `cells` is a sentence if it cannot be read."""

    start: int
    end: int
    cells: list[str] | str


class _Rows:
    """The rows of a stream. A row that is too long or broken ends at a line end, and reading goes on behind it."""

    def __init__(self, stream: BinaryIO, settings: Settings, *, delimiter: str, position: int) -> None:
        self._stream = stream
        self._settings = settings
        self._delimiter = delimiter
        self._longest = longest_line(settings)
        self._start = self._position = position

    def __iter__(self) -> Iterator[_Row]:
        csv.field_size_limit(self._longest)
        while True:
            rows = csv.reader(self._lines(), delimiter=self._delimiter)
            try:
                for cells in rows:
                    if cells:
                        yield _Row(self._start, self._position, cells)
                    self._start = self._position
                return
            except csv.Error as error:
                yield _Row(self._start, self._position, text_of(error))
                self._start = self._position

    def _lines(self) -> Iterator[str]:
        while line := read_line(self._stream, self._settings):
            self._position += line.size
            if line.text is None or self._position - self._start > self._longest:
                raise csv.Error(f"a row of more than {self._longest} bytes")
            yield line.text.decode("utf-8-sig" if self._start == 0 else "utf-8", "replace")


class _Table(NamedTuple):
    """An open table: its rows behind the first one, the names of its columns, and those that are read."""

    rows: Iterator[_Row]
    names: list[str]
    columns: Columns | str

    def outcome(self, row: _Row, source: Source, settings: Settings) -> Outcome:
        """The page in a row, or why it is none."""
        origin = Origin(source.name, row.start, row.end - row.start)
        cells, columns = row.cells, self.columns
        if isinstance(cells, str) or isinstance(columns, str):
            return reject(source.name, row.start, reason=BAD_ROW, size=origin.length, detail=str(cells))
        values = dict(zip(reversed(self.names[: len(cells)]), reversed(cells[: len(self.names)]), strict=True))
        return guarded(origin, lambda: outcome_of_fields(_fields(values, columns), columns, origin, settings))


def _fields(values: dict[str, Any], columns: Columns) -> Fields:
    content, url, doc_id, time = (values.get(name) if name else None for name in columns[:4])
    return Fields(
        content=None if content is None else content.encode("utf-8", "replace"),
        url=(url or "").encode("utf-8", "replace"),
        doc_id=doc_id_of(doc_id),
        time=time_in(time),
    )


def _open_table(file: BinaryIO, source: Source, settings: Settings, position: int | None = None) -> _Table:
    """The table in a file. With `position`, its rows from there on. MemberError if a packed file ends before."""
    stream = unpacked(file, source.size) or file
    first = read_line(stream, settings)
    heading = (first.text or b"").decode("utf-8-sig", "replace") if first else ""
    delimiter = max(_DELIMITERS, key=heading.count)
    names = next(csv.reader([heading], delimiter=delimiter), [])
    start = first.size if first else 0
    if position is not None and not skip(stream, position - start):
        raise MemberError("the table ends before")
    columns = choose_columns(settings, names.__contains__, lambda: names)
    rows = _Rows(stream, settings, delimiter=delimiter, position=start if position is None else position)
    return _Table(iter(rows), names, columns)


def _read(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    source = unit.source
    position = 0
    with open(source.path, "rb") as file:
        try:
            table = _open_table(file, source, settings)
            if isinstance(table.columns, str):
                yield reject(source.name, 0, reason=MISSING_COLUMN, size=source.size, detail=table.columns)
                return
            for row in table.rows:
                yield table.outcome(row, source, settings)
                position = row.end
        except (MemberError, csv.Error) as error:
            yield reject(source.name, position, reason=DAMAGED_RECORD, detail=text_of(error))


def _find_page(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome | None:
    with open(source.path, "rb") as file:
        try:
            table = _open_table(file, source, settings, offset)
            row = next(table.rows, None)
        except (MemberError, csv.Error):
            return None
    return table.outcome(row, source, settings) if row and not isinstance(table.columns, str) else None


def _recognises(look: Look) -> bool:
    """By the name of the file, and a first line that is text."""
    name = look.path.lower().removesuffix(".gz").removesuffix(".zst")
    return name.endswith(_ENDINGS) and b"\0" not in look.text.partition(b"\n")[0]


CSV_READER: Final = Reader(kind="csv", inputs="CSV", recognises=_recognises, read=_read, find_page=_find_page)
