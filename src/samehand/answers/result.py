"""A table of answers as programs and notebooks want it."""

import html
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.errors import SamehandError, UsageError
from samehand.base.neutral import neutral
from samehand.base.settings import nearest

_SHOWN_ROWS = 20
_SHOWN_TEXT = 80


class Result:
    """Rows of answers. `.table` is the Arrow table; pandas, Polars and DuckDB take the result itself, too."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = self.table.column_names
        return names

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, as dictionaries."""
        for batch in self.table.to_batches(max_chunksize=1 << 12):
            yield from batch.to_pylist()

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column."""
        self._check(column)
        values: list[Any] = self.table.column(column).to_pylist()
        return values

    def filter(self, **equal: Any) -> "Result":
        """The rows whose columns have these values: `clusters.filter(**{"class": "link farm"})`."""
        table = self.table
        for column, value in equal.items():
            self._check(column)
            try:
                table = table.filter(pc.equal(table.column(column), value))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                kind = self.table.schema.field(column).type
                raise UsageError(f"Column {column} holds {kind}, which cannot equal {value!r}.") from error
        return Result(table)

    def head(self, rows: int = _SHOWN_ROWS) -> "Result":
        """The first rows."""
        return Result(self.table.slice(0, rows))

    def to_pandas(self) -> Any:
        """A pandas DataFrame. Needs pandas."""
        _import("pandas")
        return self.table.to_pandas()

    def to_polars(self) -> Any:
        """A Polars DataFrame. Needs Polars."""
        return _import("polars").from_arrow(self.table)

    def _check(self, column: str) -> None:
        if column not in self.columns:
            raise UsageError(f"There is no column {column!r}{nearest(column, self.columns)}")

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow stream interface, by which other libraries read the rows without a copy."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = ["  ".join(self.columns)]
        lines += ["  ".join(_shown(value) for value in row.values()) for row in self.head()]
        more = f"\n… {len(self):,} rows" if len(self) > _SHOWN_ROWS else ""
        return "\n".join(lines) + more

    def _repr_html_(self) -> str:
        """A table for notebooks. Everything crawled is escaped."""
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row.values()) + "</tr>"
            for row in self.head()
        )
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table><p>{len(self):,} rows</p>"


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    text = neutral(str(value))
    return text if len(text) <= _SHOWN_TEXT else f"{text[: _SHOWN_TEXT - 1]}…"


def _import(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise SamehandError(f"This needs {name}, which is not installed: pip install {name}") from None
