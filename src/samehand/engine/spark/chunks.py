"""Rows of Arrow to arrays and back: chunks of whole groups, and edges between places instead of page_ids."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.base.errors import SamehandError
from samehand.grouping.edges import Edges

CHUNK_ROWS = 1 << 17
MOST_ROWS = (1 << 31) - 1
"""Within a chunk rows are numbered by 32 bits. Across tasks pages go by their ids, which have 64."""


def whole_groups(
    batches: Iterable[pa.RecordBatch], names: list[str]
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """Sorted rows in chunks of whole groups, those of equal `names`, and where in a chunk each group starts."""
    waiting: list[pa.RecordBatch] = []
    wanted = CHUNK_ROWS
    for batch in batches:
        waiting.append(_large_words(batch))
        if sum(map(len, waiting)) < wanted:
            continue
        rows = pa.concat_batches(waiting)
        starts = group_starts(rows, names)
        waiting = [rows.slice(starts[-1])]
        if len(waiting[0]) > MOST_ROWS:
            raise SamehandError(
                f"More than {MOST_ROWS:,} pages hang together, which is more than one task can group: "
                "raise --family-threshold or --replica-cosine."
            )
        wanted = max(CHUNK_ROWS, 2 * len(waiting[0]))  # a giant group is not copied with each of its batches
        if len(starts) > 1:
            yield rows.slice(0, starts[-1]), starts[:-1]
    if sum(map(len, waiting)):
        rows = pa.concat_batches(waiting)
        yield rows, group_starts(rows, names)


def _large_words(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The words as a column that may hold more than 2 GB, once batches are put together."""
    place = batch.schema.get_field_index("words")
    return batch.set_column(place, "words", batch.column(place).cast(pa.large_binary())) if place >= 0 else batch


def group_starts(rows: pa.RecordBatch, names: list[str]) -> NDArray[np.int64]:
    """Where rows with other values of `names` than the row before start."""
    is_first = np.zeros(len(rows), np.bool_)
    is_first[0] = True
    for name in names:
        values = rows.column(name).to_numpy()
        is_first[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(is_first)


def numbered(
    left: NDArray[np.int64], right: NDArray[np.int64], similarities: NDArray[np.float32]
) -> tuple[NDArray[np.int64], Edges]:
    """The page_ids that edges join, sorted, and the edges between places among them."""
    page_ids = distinct(np.concatenate([left, right]))
    first, second = (np.searchsorted(page_ids, side).astype(np.int32) for side in (left, right))
    return page_ids, Edges.of(first, second, similarities)


def numbered_edges(rows: pa.RecordBatch) -> tuple[NDArray[np.int64], Edges]:
    """Edges (left, right, similarity: page_ids) as `numbered` has them."""
    return numbered(*(rows.column(name).to_numpy(zero_copy_only=False) for name in ("left", "right", "similarity")))


def pages_and_edges(rows: pa.RecordBatch) -> tuple[pa.RecordBatch, Edges]:
    """The pages among the rows in page_id order, and the edges between their places."""
    pages = rows.filter(rows.column("right").is_null())
    pages = pages.take(pc.sort_indices(pages.column("page_id")))
    page_ids = pages.column("page_id").to_numpy()
    edges = rows.filter(rows.column("right").is_valid())
    left, right = (np.searchsorted(page_ids, edges.column(name).to_numpy()) for name in ("left", "right"))
    return pages, Edges.of(left, right, edges.column("similarity").to_numpy())
