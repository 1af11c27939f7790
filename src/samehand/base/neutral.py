"""Crawled text made safe to show: as text, as a cell of CSV, as a line of JSON. Every writer of the product uses this.

Everything crawled was written by a stranger. No title or URL reaches a terminal with an escape code or a change of
direction, none breaks a line where a reader of lines would see two, and no cell of a spreadsheet starts a formula.
"""

import csv
import io
import json
import math
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of control, format, tag and direction characters, surrogates, line separators, and unknown characters."""

_FORMULA = tuple("=+-@＝＋－＠﹢﹣﹦﹫")


def neutral(text: str) -> str:
    """`text` with what a terminal or a line reader would interpret made visible: \\x1b instead of an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char if unicodedata.category(char) not in UNSAFE else char.encode("unicode_escape").decode() for char in text
    )


def csv_line(cells: Iterable[object]) -> str:
    """A line of CSV whose cells no spreadsheet takes for a formula."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([csv_cell(cell) for cell in cells])
    return line.getvalue()


def csv_cell(value: object) -> object:
    """A value as a cell. Text that would start a formula gets an apostrophe, which spreadsheets do not show."""
    if isinstance(value, float):
        return round(value, 6)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        value = json.dumps(_rounded(value), ensure_ascii=False)  # rows within a row, such as evidence
    text = neutral(" ".join(map(str, value)) if isinstance(value, list) else str(value))
    return "'" + text if text.lstrip().startswith(_FORMULA) else text


def json_line(row: Mapping[str, Any]) -> str:
    """A JSON object on one line. What a terminal or a line reader would interpret is escaped, and reads back equal."""
    line = json.dumps(_rounded(row), ensure_ascii=False)
    if line.isascii() and line.isprintable():
        return line
    return "".join(char if unicodedata.category(char) not in UNSAFE else _json_escape(char) for char in line)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _rounded(value: Any) -> Any:
    """A value for JSON: six decimals, and null for what is no number."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value
