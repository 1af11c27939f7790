"""Some rows of the tables that have a row for each page, without the others in memory."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.store.folder import RunFolder
from samehand.store.table import Table


def taken(folder: RunFolder, table: Table, columns: Sequence[str], rows: NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """Rows that are in order, a batch at a time."""
    first = 0
    for batch in folder.iterate(table, list(columns)):
        here = rows[slice(*np.searchsorted(rows, [first, first + len(batch)]))]
        yield batch.take(pa.array(here - first))
        first += len(batch)


def gathered(folder: RunFolder, table: Table, columns: Sequence[str], rows: NDArray[np.int64]) -> pa.Table:
    """Rows in any order, together."""
    order = np.argsort(rows, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    schema = pa.schema([table.schema(folder.settings()).field(name) for name in columns])
    return pa.Table.from_batches(taken(folder, table, columns, rows[order]), schema).take(pa.array(places))
