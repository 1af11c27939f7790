"""SQL over the tables of a run, by DuckDB."""

from typing import Any

import pyarrow as pa

from samehand.base.errors import SamehandError, UsageError
from samehand.store.folder import RunFolder
from samehand.store.tables import TABLES


def run_query(folder: RunFolder, query: str) -> pa.Table:
    """The answer of a query. DuckDB may read the files of the run and nothing else."""
    try:
        import duckdb
    except ImportError:
        raise SamehandError("SQL needs DuckDB, which is not installed: pip install 'samehand[sql]'") from None
    try:
        with duckdb.connect() as database:
            _make_views(database, folder)
            answer: pa.Table = database.execute(query).to_arrow_table()
    except duckdb.Error as error:
        raise UsageError(f"DuckDB cannot answer that: {str(error).splitlines()[0]}") from error
    return answer


def _make_views(database: Any, folder: RunFolder) -> None:
    """A view for each table that is there: style/clusters is style_clusters. Then no other file can be reached."""
    names = []
    for table in TABLES:
        if folder.has(table):
            place = str((folder.path / table.path).absolute()) + ("/part-*.parquet" if table.in_parts else "")
            name = table.name.replace("/", "_")
            escaped = place.replace("'", "''")
            database.execute(f"create view {name} as select * from read_parquet('{escaped}')")
            names.append(name)
    folders = str(folder.path.absolute()).replace("'", "''")
    database.execute(f"set allowed_directories = ['{folders}/']")
    database.execute("set enable_external_access = false")
    database.execute("set lock_configuration = true")
