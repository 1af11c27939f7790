"""Answers as people and programs want them: a table that fits the terminal, CSV, JSON lines, Parquet.

Everything crawled was written by a stranger. `neutral` makes it safe to print: no title or URL reaches the terminal
with an escape code, and no CSV cell starts a formula.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.errors import UsageError

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def neutral(text: str) -> str:
    """`text` with control, format and direction characters made visible: \\x1b instead of an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if unicodedata.category(char) not in _UNSAFE else char.encode("unicode_escape").decode() for char in text
    )


def write_rows(table: pa.Table, form: str, out: TextIO, *, width: int | None = None) -> None:
    """Writes a table of answers to `out` as `form`: table, csv, jsonl or parquet."""
    if form == "parquet":
        _write_parquet(table, out)
    elif form == "jsonl":
        for row in table.to_pylist():
            out.write(json.dumps(_plain(row), ensure_ascii=False) + "\n")
    elif form == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows([_cell(value) for value in row.values()] for row in table.to_pylist())
    else:
        out.write(layout(table.column_names, [list(row.values()) for row in table.to_pylist()], width=width))


def _write_parquet(table: pa.Table, out: TextIO) -> None:
    if out.isatty():
        raise UsageError("Parquet is not for terminals: send it to a file with > FILE, or choose another --format.")
    whole = io.BytesIO()
    pq.write_table(table, whole, compression="zstd")
    out.flush()
    out.buffer.write(whole.getvalue())


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}


def _cell(value: object) -> object:
    """A CSV cell that no spreadsheet takes for a formula."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        value = " ".join(str(item) for item in value)
    if isinstance(value, str):
        value = neutral(value)
        return "'" + value if value.startswith(_FORMULA) else value
    return value


def layout(headings: Sequence[str], rows: Iterable[Sequence[object]], *, width: int | None = None) -> str:
    """Rows as aligned text. The last column is cut so that lines fit into `width`; the others are not."""
    cells = [list(headings), *([_shown(value) for value in row] for row in rows)]
    numeric = [all(_is_number(line[column]) for line in cells[1:]) for column in range(len(headings))]
    widths = [max(_columns(line[column]) for line in cells) for column in range(len(headings))]
    lines = []
    for line in cells:
        padded = [_pad(cell, size, right) for cell, size, right in zip(line, widths, numeric, strict=True)]
        text = "  ".join(padded).rstrip()
        lines.append(_crop(text, width) if width else text)
    return "".join(line + "\n" for line in lines)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list):
        return " > ".join(neutral(str(item)) for item in value)
    return neutral(str(value))


def _is_number(cell: str) -> bool:
    return cell.replace(".", "", 1).isdigit() or not cell


def _columns(text: str) -> int:
    """Terminal columns `text` takes: wide letters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def _pad(text: str, size: int, right: bool) -> str:
    blanks = " " * (size - _columns(text))
    return blanks + text if right else text + blanks


def _crop(text: str, width: int) -> str:
    if _columns(text) <= width:
        return text
    kept = text[:width]
    while _columns(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"
