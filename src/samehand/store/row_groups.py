"""Some rows of a Parquet file, without reading the rest: only the row groups that may hold them are read."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

ROW_GROUP_ROWS = 1 << 14
"""Rows that are stored together: few enough to read all of them for the sake of one."""


def rows_at(part: pq.ParquetFile, places: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
    """The rows at `places`, in that order. IndexError if the file has no such place."""
    starts = _starts(part)
    if places.size and not 0 <= places.min() <= places.max() < starts[-1]:
        raise IndexError("There is no such row.")
    group_of = np.searchsorted(starts, places, side="right") - 1
    groups = np.unique(group_of)
    table = part.read_row_groups(groups.tolist(), columns=list(columns), use_threads=False).select(list(columns))
    begins = np.concatenate([[0], np.cumsum(starts[groups + 1] - starts[groups])])
    return table.take(pa.array(begins[np.searchsorted(groups, group_of)] + places - starts[group_of]))


def places_of(part: pq.ParquetFile, column: str, value: object, most: int) -> NDArray[np.int64]:
    """The places of the first `most` rows whose `column` has `value`."""
    starts, found, count = _starts(part), [], 0
    for group in _groups_with(part, column, value):
        values = part.read_row_group(group, columns=[column], use_threads=False).column(column)
        found.append(starts[group] + np.flatnonzero(pc.fill_null(pc.equal(values, value), False).to_numpy()))
        count += found[-1].size
        if count >= most:
            break
    return np.concatenate([*found, np.zeros(0, np.int64)]).astype(np.int64)[:most]


def _starts(part: pq.ParquetFile) -> NDArray[np.int64]:
    sizes = [part.metadata.row_group(group).num_rows for group in range(part.num_row_groups)]
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _groups_with(part: pq.ParquetFile, column: str, value: object) -> list[int]:
    """The row groups whose smallest and largest value leave room for `value`."""
    leaf = [part.schema.column(place).path for place in range(len(part.schema))].index(column)
    groups = []
    for group in range(part.num_row_groups):
        known = part.metadata.row_group(group).column(leaf).statistics
        if known is None or not known.has_min_max or known.min <= value <= known.max:
            groups.append(group)
    return groups
