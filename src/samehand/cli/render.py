"""Answers as people and programs want them: a table that fits the terminal, CSV, JSON lines, Parquet.

base/neutral.py makes them safe to print. Help is printed without pyarrow, so only Parquet imports it.
"""

import dataclasses
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from samehand.base.errors import UsageError
from samehand.base.neutral import csv_line, json_line, neutral

if TYPE_CHECKING:
    import pyarrow as pa

BELOW = ("reason", "reasons")
"""Columns that always stand below their row."""
INDENT = 4
PROSE = 20
"""Prose is cut at its end, but not to less than this."""
LONGEST = 260
"""A text below its row is cut to this: no host name with its port is longer."""

# A user name before the host is left out: "bank.example@evil.example" is a page of evil.example. Browsers end the host
# at a backslash, so an authority that holds one is shown as it is.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#\\]*@)?)?([^/?#]*)(.*)", re.DOTALL)


def write_rows(table: "pa.Table", form: str, out: TextIO, *, width: int | None = None) -> None:
    """Writes a table of answers to `out` as `form`: table, csv, jsonl or parquet."""
    if form == "parquet":
        _write_parquet(table, out)
    elif form == "jsonl":
        for row in table.to_pylist():
            out.write(json_line(row) + "\n")
    elif form == "csv":
        out.write(csv_line(table.column_names))
        for row in table.to_pylist():
            out.write(csv_line(row.values()))
    else:
        out.write(layout(table.column_names, [list(row.values()) for row in table.to_pylist()], width=width))


def _write_parquet(table: "pa.Table", out: TextIO) -> None:
    import pyarrow.parquet as pq

    if out.isatty():
        raise UsageError("Parquet is not for terminals: send it to a file with > FILE, or choose another --format.")
    whole = io.BytesIO()
    pq.write_table(table, whole, compression="zstd")
    out.flush()
    out.buffer.write(whole.getvalue())


def layout(headings: Sequence[str], rows: Iterable[Sequence[object]], *, width: int | None = None) -> str:
    """Rows as aligned text, in lines of at most `width` columns (None: of any length, and nothing is shortened).

    Numbers, names and hosts are never cut. URLs and paths are shortened in the middle, prose is cut at its end.
    Reasons stand below their row, and so do the last columns where a line has no room for them.
    """
    values = list(rows)
    columns = [_column(heading, [row[place] for row in values]) for place, heading in enumerate(headings)]
    sizes = _sizes(columns, width)
    lines = [_joined((column.heading, size, column.is_number) for column, size in zip(columns, sizes, strict=True))]
    for row in range(len(values)):
        lines += _row_lines(columns, sizes, row, width)
    return "".join(line + "\n" for line in lines if line)


@dataclasses.dataclass(frozen=True, slots=True)
class _Cell:
    """A value as text. The items of a list stand apart below a row, and one behind the other in it."""

    items: list[str]

    @property
    def text(self) -> str:
        return " > ".join(self.items)

    @property
    def least(self) -> int:
        """Columns that show what matters of it."""
        return least_columns(self.text) if len(self.items) == 1 else columns_of(self.text)


@dataclasses.dataclass(frozen=True, slots=True)
class _Column:
    heading: str
    cells: list[_Cell]
    is_number: bool

    def full_size(self) -> int:
        return max(1, columns_of(self.heading), *(columns_of(cell.text) for cell in self.cells))

    def least_size(self, most: int) -> int:
        """The size that shows what matters. A single long text does not get more than `most`: it is noted below."""
        if self.is_number:
            return self.full_size()
        return max(1, columns_of(self.heading), *(min(cell.least, most) for cell in self.cells))


def _column(heading: str, values: Sequence[object]) -> _Column:
    is_number = all(value is None or (isinstance(value, int | float) and type(value) is not bool) for value in values)
    return _Column(neutral(heading), [_Cell(_shown(value)) for value in values], is_number)


def _shown(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, float):
        return [f"{value:.2f}"]
    return [neutral(str(item)) for item in (value if isinstance(value, list) else [value])]


def _sizes(columns: Sequence[_Column], width: int | None) -> list[int]:
    """Size of each column; 0 for those that stand below their row."""
    full = [0 if column.heading in BELOW else column.full_size() for column in columns]
    if width is None or _total(full) <= width:
        return full
    sizes = [column.least_size(width // 2) if size else 0 for column, size in zip(columns, full, strict=True)]
    for place in reversed(range(len(sizes))):
        if _total(sizes) > width:
            sizes[place] = 0
    spare = width - _total(sizes)
    wanting = sorted((full[place] - size, place) for place, size in enumerate(sizes) if size)
    for done, (want, place) in enumerate(wanting):
        more = min(want, spare // (len(wanting) - done))
        sizes[place] += more
        spare -= more
    return sizes


def _total(sizes: Sequence[int]) -> int:
    return sum(size + 2 for size in sizes if size) - 2


def _row_lines(columns: Sequence[_Column], sizes: Sequence[int], row: int, width: int | None) -> list[str]:
    """One row, and below it what its line cannot show."""
    cells, below = [], []
    for column, size in zip(columns, sizes, strict=True):
        cell = column.cells[row]
        if size:
            cells.append((shorten(cell.text, size), size, column.is_number))
        if cell.items and (not size or (width is not None and cell.least > size)):
            below.append((column, cell))
    lines = [_joined(cells)] if cells else []
    numbers = ", ".join(f"{column.heading} {cell.text}" for column, cell in below if column.is_number)
    notes = [numbers] if numbers else []
    for column, cell in below:
        if column.heading in BELOW:
            notes += cell.items
        elif not column.is_number:
            notes.append(_note(column.heading, cell, (width or 0) - INDENT))
    for note in notes:
        lines += wrapped(note, width, indent=INDENT if lines else 0)
    return lines


def _note(heading: str, cell: _Cell, room: int) -> str:
    beside = room - columns_of(heading) - 2
    return f"{heading}: " + " > ".join(_bounded(item, beside) for item in cell.items)


def _bounded(text: str, room: int) -> str:
    """A text below its row: an address on one line where it has so short a form."""
    host = _host_and_path(text)
    return shorten(text, max(room, min(LONGEST, least_columns(text))) if host else LONGEST)


def _joined(cells: Iterable[tuple[str, int, bool]]) -> str:
    """Cells (text, size, whether to the right) side by side, those without a size left out."""
    padded = []
    for text, size, right in cells:
        blanks = " " * (size - columns_of(text))
        if size:
            padded.append(blanks + text if right else text + blanks)
    return "  ".join(padded).rstrip()


def wrapped(text: str, width: int | None, *, indent: int = 0) -> list[str]:
    """Lines of at most `width` columns (None: one line). A word that is longer than a line is broken."""
    if width is None:
        return [" " * indent + text] if text.strip() else []
    room, lines, line = max(2, width - indent), [], ""
    for word in text.split():
        if line and columns_of(line) + 1 + columns_of(word) > room:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        while columns_of(line) > room:
            head = _head(line, room)
            lines.append(head)
            line = line[len(head) :]
    return [" " * indent + line for line in (*lines, line) if line]


def columns_of(text: str) -> int:
    """Terminal columns that `text` takes: wide letters take two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_char_columns, text))


def _char_columns(char: str) -> int:
    if unicodedata.east_asian_width(char) in "WF":
        return 2
    # U+FE0F asks for the wide picture of the character before it.
    return 0 if unicodedata.category(char) in ("Mn", "Me") and char != "\ufe0f" else 1


def least_columns(text: str) -> int:
    """Columns that show what matters of a text: the host of an address, the beginning of prose, the whole of a name."""
    size = columns_of(text)
    address = _host_and_path(text)
    if address:
        return min(size, columns_of(address[0]) + 2)
    return min(size, PROSE) if " " in text else size


def shorten(text: str, room: int) -> str:
    """`text` in at most `room` columns: www.example.com/…/page.html, the beginning of prose, both ends of a name."""
    if columns_of(text) <= room:
        return text
    address = _host_and_path(text)
    if address is None:
        return _head(text, room - 1) + "…" if " " in text else _both_ends(text, room)
    host, path = address
    if columns_of(host + path) <= room:
        return host + path
    for_end = room - columns_of(host) - 2
    if for_end < 0:
        return _both_ends(host, room)
    end = _tail(path, for_end)
    slash = end.find("/")
    return f"{host}/…{end[slash:] if 0 < slash <= len(end) // 2 else end}"


def _host_and_path(text: str) -> tuple[str, str] | None:
    """Host and the rest of a URL without its scheme; first folder and the rest of a path; None for other texts."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not (found[1] or ("/" in text and not set(text) & set(' <>"'))):
        return None
    return found[2], found[3]


def _both_ends(text: str, room: int) -> str:
    head = _head(text, (room - 1) // 3)
    return f"{head}…{_tail(text[len(head) :], room - 1 - columns_of(head))}"


def _head(text: str, room: int) -> str:
    """The longest beginning of at most `room` columns."""
    used = 0
    for place, char in enumerate(text):
        used += _char_columns(char)
        if used > room:
            return text[:place]
    return text


def _tail(text: str, room: int) -> str:
    """The longest end of at most `room` columns."""
    kept = _head(text[::-1], room)
    return text[len(text) - len(kept) :]
