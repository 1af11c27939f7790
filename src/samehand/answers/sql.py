"""SQL over the tables of a run, by DuckDB."""

import contextlib
from typing import Any

import pyarrow as pa

from samehand.answers.arguments import texts_of, told
from samehand.base.errors import RunError, SamehandError, UsageError
from samehand.base.neutral import neutral
from samehand.store.folder import RunFolder
from samehand.store.tables import TABLES

_LONGEST_ERROR = 300
_CLOSED = {
    "temp_directory": "",
    "python_enable_replacements": False,
    "enable_external_access": False,
    "lock_configuration": True,
}
"""DuckDB opens no file, reads no variable of the program, writes nothing, and can be told nothing else."""


def run_query(folder: RunFolder, query: object) -> pa.Table:
    """The answer of a query. DuckDB is handed the tables as Arrow data, so it needs no file at all."""
    if not isinstance(query, str):
        raise UsageError(f"query is {told(query)}: give SQL as text, such as 'select * from pages'.")
    (query,) = texts_of(query, "query")
    try:
        import duckdb
    except ImportError:
        raise SamehandError("SQL needs DuckDB, which is not installed: pip install 'samehand[sql]'") from None
    tables = _tables(folder)
    try:
        with duckdb.connect(":memory:") as database:
            for name, table in tables.items():
                database.register(name, table)
            for name, value in _CLOSED.items():
                database.execute(f"set {name} = {value!r}")
            relation = database.sql(query)
            answer = relation.to_arrow_table() if relation is not None else None
    except duckdb.CatalogException as error:
        raise UsageError(f"{_sentence(error)} The tables are: {', '.join(tables)}.") from error
    except duckdb.Error as error:
        raise UsageError(_sentence(error)) from error
    except (pa.ArrowException, OSError) as error:
        raise RunError(f"{folder.path} cannot be read ({type(error).__name__}): scan its inputs again.") from error
    if answer is None:
        raise UsageError("That query has no answer: give a select.")
    return _plain(answer)


def _tables(folder: RunFolder) -> dict[str, Any]:
    """Every table that is complete, by its name in SQL: style/clusters is style_clusters."""
    found = {}
    for table in TABLES:
        is_done = "/" not in table.name or folder.done.get(table.method) is not None
        if is_done and folder.has(table):
            found[table.name.replace("/", "_")] = folder.dataset(table)
    return found


def _sentence(error: Exception) -> str:
    """What DuckDB says, without the excerpt of the query, as one line. It may quote what was crawled."""
    said = neutral(" ".join(str(error).split("\n\nLINE ")[0].split()))
    said = said if len(said) <= _LONGEST_ERROR else f"{said[:_LONGEST_ERROR]}…"
    return f"DuckDB cannot answer that: {said}" + ("" if said.endswith((".", "!", "?", "…")) else ".")


def _plain(answer: pa.Table) -> pa.Table:
    """Sums are whole numbers instead of decimals where they fit, and every column has a name of its own."""
    columns = []
    for column in answer.columns:
        if pa.types.is_decimal(column.type) and column.type.scale == 0:
            with contextlib.suppress(pa.ArrowInvalid):  # more than 64 bits
                column = column.cast(pa.int64())
        columns.append(column)
    names: list[str] = []
    for name in answer.column_names:
        number, own = 1, name
        while own in names:
            number += 1
            own = f"{name}_{number}"
        names.append(own)
    return pa.table(columns, names=names)
