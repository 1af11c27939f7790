"""Page ids and row numbers: pages are numbered by unit of work, rows from 0 over all units in order.

Ids follow from how many pages each unit has, so no list of them is ever in memory, and ids that were read from a file
are checked before they become places in an array.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import RunError

UNIT_BITS = 32
"""A page_id is (unit number << 32) | row within the unit: later inputs have larger ids, workers play no part."""


@dataclasses.dataclass(frozen=True, slots=True)
class PageIds:
    """The ids of all pages of a run: `counts[i]` pages of unit `units[i]`, the first of them in row `starts[i]`."""

    units: NDArray[np.int64]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> "PageIds":
        """From the number of pages of each unit."""
        units = np.array(sorted(counts), np.int64)
        sizes = np.array([counts[unit] for unit in units.tolist()], np.int64)
        return cls(units, sizes, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]))

    def __len__(self) -> int:
        return int(self.starts[-1])

    def ids(self, rows: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
        """The ids of `rows`, or of all rows."""
        wanted = np.arange(len(self)) if rows is None else np.asarray(rows, np.int64)
        places = np.searchsorted(self.starts, wanted, side="right") - 1
        return (self.units[places] << UNIT_BITS) + wanted - self.starts[places]

    def rows(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of `ids`. RunError if any of them is no page of the run."""
        rows, is_page = self._found(ids)
        if not is_page.all():
            raise RunError(
                f"The run folder is damaged: it names page {int(ids[np.argmin(is_page)])}, which is none of its "
                f"{len(self):,} pages. Scan the inputs again with --force."
            )
        return rows

    def has(self, page_id: int) -> bool:
        """Whether there is such a page."""
        return 0 <= page_id < 1 << 63 and bool(self._found(np.array([page_id], np.int64))[1][0])

    def _found(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        if not self.units.size:
            return np.zeros(ids.size, np.int64), np.zeros(ids.size, np.bool_)
        units, within = ids >> UNIT_BITS, ids & ((1 << UNIT_BITS) - 1)
        places = np.minimum(np.searchsorted(self.units, units), self.units.size - 1)
        is_page = (self.units[places] == units) & (within < self.counts[places])
        return self.starts[places] + within, is_page
