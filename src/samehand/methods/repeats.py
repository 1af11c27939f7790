"""Pages that a site gives out again under other addresses: the rows of methods are computed once for all of them."""

import dataclasses
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.page import PAGE_SCHEMA

_SEEN = (
    "url_host_name",
    "url_host_private_domain",
    "fetch_status",
    "content_mime_detected",
    "content_charset",
)
"""What the stages of methods look at beside the content."""
_LEAST_SAVED = 1 / 16
"""Share of all bytes that must be repeated: the other pages have to be copied together."""


@dataclasses.dataclass(frozen=True, slots=True)
class Repeats:
    """A batch of pages, the different pages among them, and the place of each page among these; None if all differ."""

    rows: pa.RecordBatch
    different: pa.RecordBatch
    places: NDArray[np.int64] | None

    @classmethod
    def among(cls, rows: pa.RecordBatch) -> Self:
        """Finds pages of one host with equal bytes."""
        firsts = _firsts(rows)
        is_first = firsts == np.arange(len(rows))
        sizes = rows.column("content_length").to_numpy()
        if sizes[~is_first].sum() <= _LEAST_SAVED * sizes.sum():
            return cls(rows, rows, None)
        return cls(rows, rows.take(pa.array(np.flatnonzero(is_first))), (np.cumsum(is_first) - 1)[firsts])

    def for_all(self, found: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that a method found of the different pages, for all pages. Ids and addresses are their own."""
        if self.places is None:
            return found
        names = found.schema.names
        repeated = found.take(pa.array(self.places))
        columns = [(self.rows if name in PAGE_SCHEMA.names else repeated).column(name) for name in names]
        return pa.record_batch(columns, schema=found.schema)


def _firsts(rows: pa.RecordBatch) -> NDArray[np.int64]:
    """The first page that is equal to each page. Checksums can be forged, so bytes are compared."""
    checksums, sizes = (rows.column(name).to_numpy().astype(np.uint64) for name in ("content_crc32", "content_length"))
    keys = checksums << np.uint64(32) ^ sizes
    _, place, counts = np.unique(keys, return_inverse=True, return_counts=True)
    firsts = np.arange(len(rows))
    contents, seen = rows.column("content"), [rows.column(name) for name in _SEEN]
    known: dict[tuple[object, ...], int] = {}
    for row in np.flatnonzero(counts[place] > 1).tolist():
        first = known.setdefault((int(keys[row]), *(column[row].as_py() for column in seen)), row)
        if first != row and contents[first].as_buffer().equals(contents[row].as_buffer()):
            firsts[row] = first
    return firsts
