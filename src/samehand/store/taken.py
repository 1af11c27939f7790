"""Some rows of the tables that have a row for each page, without the others in memory."""

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.base.files import writing
from samehand.store.folder import RunFolder
from samehand.store.table import Table

_BATCH_ROWS = 1 << 12


def taken(
    folder: RunFolder, table: Table, columns: Sequence[str], rows: NDArray[np.integer]
) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """Rows that are in order, a batch at a time, and the places in `rows` that each batch stands for."""
    first = 0
    for number in folder.part_numbers(table):
        for batch in folder.iterate_part(table, number, columns, _BATCH_ROWS):
            here = slice(*np.searchsorted(rows, [first, first + len(batch)]).tolist())
            yield here, batch.take(pa.array(rows[here] - first))
            first += len(batch)
    pa.default_memory_pool().release_unused()


def gathered(folder: RunFolder, table: Table, columns: Sequence[str], rows: NDArray[np.integer]) -> pa.Table:
    """Rows in any order, together."""
    order = np.argsort(rows, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(order.size)
    schema = pa.schema([table.schema(folder.settings()).field(name) for name in columns])
    found = (batch for _, batch in taken(folder, table, columns, rows[order]))
    return pa.Table.from_batches(found, schema).take(pa.array(places))


def taken_lists(
    folder: RunFolder, table: Table, column: str, rows: NDArray[np.integer], kind: type[np.generic]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The lists or texts of rows that are in order, end to end in a file without a name: where each starts, and values.

    The values are mapped: `grouping.memory.release` gives their memory back.
    """
    starts = np.zeros(rows.size + 1, np.int64)
    with writing(folder.path), tempfile.TemporaryFile(dir=folder.path) as file:
        for here, batch in taken(folder, table, [column], rows):
            found = batch.column(column)
            if pa.types.is_string(found.type):
                values, bounds = text_buffers(found)
            else:
                values, bounds = found.flatten().to_numpy(), found.offsets.to_numpy() - found.offsets[0].as_py()
            starts[here.start + 1 : here.stop + 1] = np.diff(bounds)
            file.write(values[bounds[0] : bounds[-1]].data)
        np.cumsum(starts, out=starts)
        file.flush()
        return starts, np.memmap(file, kind, "r+", shape=(int(starts[-1]),)) if starts[-1] else np.zeros(0, kind)
