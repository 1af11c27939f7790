"""A table of answers as programs and notebooks want it."""

import html
import importlib
import operator
from collections.abc import Iterator, Sequence
from typing import Any, overload

import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.arguments import told
from samehand.base.errors import SamehandError, UsageError
from samehand.base.neutral import neutral
from samehand.base.setting import nearest

_SHOWN_ROWS = 20
_SHOWN_TEXT = 60
_SHOWN_WIDTH = 150


class Result:
    """Rows of answers.

    A loop over a result gives its rows as dictionaries. `result[0]` is a row, `result[:10]` the first rows,
    `result["url"]` the values of a column. Notebooks show a result as a table. Polars, DuckDB and pyarrow take the
    result itself where they take Arrow data.

    Attributes:
        table: The rows as an Arrow table.

    Example:
        >>> clusters = run.clusters()
        >>> clusters.columns[:3]
        ['cluster_number', 'style_cluster_id', 'style_family_id']
        >>> clusters[0]["cluster_number"]
        1
        >>> import polars
        >>> polars.DataFrame(clusters).height == len(clusters)
        True
    """

    def __init__(self, table: pa.Table, *, shown_first: Sequence[str] = ()) -> None:
        self.table = table
        self._shown_first = shown_first

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        names: list[str] = self.table.column_names
        return names

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.table.to_batches(max_chunksize=1 << 12):
            yield from batch.to_pylist()

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Result": ...
    def __getitem__(self, key: str | int | slice) -> "list[Any] | dict[str, Any] | Result":
        if isinstance(key, str):
            values: list[Any] = self.table.column(self._known(key)).to_pylist()
            return values
        try:
            rows = range(len(self))[key if isinstance(key, slice) else operator.index(key)]
        except (TypeError, ValueError):
            raise UsageError(f"{told(key)} is no row or column: give a column's name or a row's number.") from None
        except IndexError:
            raise UsageError(f"There is no row {key}: the result has {len(self):,} rows, counted from 0.") from None
        if isinstance(rows, range):
            return self._with(self.table.take(pa.array(rows, pa.int64())))
        row: dict[str, Any] = self.table.slice(rows, 1).to_pylist()[0]
        return row

    def filter(self, **equal: Any) -> "Result":
        """The rows whose columns have these values.

        Args:
            equal: Values by column. `class_` stands for the column `class`, which Python does not allow as a name.

        Returns:
            A result with the same columns.

        Raises:
            UsageError: There is no such column, or it holds values of another type.

        Example:
            >>> farms = run.clusters().filter(class_="link farm")
            >>> set(farms["class"])
            {'link farm'}
        """
        table = self.table
        for name, value in equal.items():
            column = self._known(name if name in self.columns else name.removesuffix("_"))
            try:
                table = table.filter(pc.equal(table.column(column), pa.scalar(value)))
            except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
                kind = self.table.schema.field(column).type
                raise UsageError(
                    f"Column {column} holds values of type {kind}: it cannot equal {told(value)}."
                ) from error
        return self._with(table)

    def head(self, rows: int = _SHOWN_ROWS) -> "Result":
        """The first rows.

        Args:
            rows: How many.

        Returns:
            A result with the same columns.

        Raises:
            UsageError: `rows` is no number of rows.
        """
        if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
            raise UsageError(f"rows is {rows!r}: give 0 or more.")
        return self._with(self.table.slice(0, min(rows, len(self))))

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame. Whole numbers stay whole where some are missing.

        Returns:
            A pandas.DataFrame.

        Raises:
            SamehandError: pandas is not installed.

        Example:
            >>> frame = run.clusters().to_pandas()
            >>> frame.shape == (len(run.clusters()), len(run.clusters().columns))
            True
        """
        pandas = _imported("pandas")
        frame = self.table.to_pandas()
        for field in self.table.schema:
            column = self.table.column(field.name)
            if pa.types.is_integer(field.type) and column.null_count:
                frame[field.name] = pandas.array(column.to_pylist(), dtype="Int64")
        return frame

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame.

        Returns:
            A polars.DataFrame.

        Raises:
            SamehandError: Polars is not installed.
        """
        return _imported("polars").from_arrow(self.table)

    def _with(self, table: pa.Table) -> "Result":
        return Result(table, shown_first=self._shown_first)

    def _known(self, column: str) -> str:
        if column not in self.columns:
            raise UsageError(f"There is no column {column!r}{nearest(column, self.columns)}")
        return column

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow stream interface, by which other libraries read the rows without a copy."""
        return self.table.__arrow_c_stream__(requested_schema)

    def _in_shown_order(self) -> list[str]:
        """What people look at comes first; ids come last, since there may be no room for them."""
        first = [name for name in self._shown_first if name in self.columns]
        others = [name for name in self.columns if name not in first]
        return [*first, *sorted(others, key=lambda name: name.endswith("_id"))]

    def __repr__(self) -> str:
        columns = [_Shown(name, self.table.column(name)) for name in self._in_shown_order()]
        width, fitting = 0, 0
        while fitting < len(columns) and width + columns[fitting].width <= _SHOWN_WIDTH:
            width += columns[fitting].width + 2
            fitting += 1
        rows = zip(*(column.cells for column in columns[:fitting]), strict=True)
        lines = ["  ".join(cells).rstrip() for cells in rows]
        hidden = ", ".join(column.name for column in columns[fitting:])
        more = f"; more columns: {hidden}" if hidden else ""
        return "\n".join([*lines, f"[{_rows_shown(len(self))}{more}]"])

    def _repr_html_(self) -> str:
        """A table for notebooks. Everything crawled is escaped."""
        table = self.head().table.select(self._in_shown_order())
        heads = "".join(f"<th>{_escaped(name)}</th>" for name in table.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_escaped(value)}</td>" for value in row.values()) + "</tr>"
            for row in table.to_pylist()
        )
        shown = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        return f"{shown}<p>{_rows_shown(len(self))}</p>"


class _Shown:
    """A column of the first rows as text, every cell as wide as the widest."""

    def __init__(self, name: str, column: pa.ChunkedArray) -> None:
        is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
        self.name = neutral(name)
        cells = [self.name, *map(_shown, column.slice(0, _SHOWN_ROWS).to_pylist())]
        self.width = max(map(len, cells))
        self.cells = [cell.rjust(self.width) if is_number else cell.ljust(self.width) for cell in cells]


def _rows_shown(rows: int) -> str:
    counted = f"{rows:,} row" + ("" if rows == 1 else "s")
    return counted if rows <= _SHOWN_ROWS else f"{_SHOWN_ROWS} of {counted}"


def _escaped(value: object) -> str:
    return html.escape(_shown(value))


def _shown(value: object) -> str:
    """A value as one harmless line of text, shortened in the middle."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, bytes):
        value = value[: 2 * _SHOWN_TEXT]  # a page's content is long, and need not be shown to its end
    text = neutral(str(value))
    if len(text) <= _SHOWN_TEXT:
        return text
    return f"{text[: _SHOWN_TEXT // 2]}…{text[1 - _SHOWN_TEXT // 2 :]}"


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise SamehandError(f"This needs {name}, which is not installed: pip install {name}") from None
