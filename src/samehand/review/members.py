"""Which pages are in which cluster: two small arrays in memory, so that no table is read whole for one cluster."""

import dataclasses

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, STYLE_MEMBERS

_COLUMNS = ["page_id", "cluster_number", "similarity"]


@dataclasses.dataclass(frozen=True, slots=True)
class ClusterMembers:
    """The members of all clusters: those of cluster n are `places[starts[n]:starts[n + 1]]`, most similar first.

    A place is a row of the table of members. `numbers` is the cluster of each row of the pages; 0 for none.
    """

    folder: RunFolder
    places: NDArray[np.uint32]
    starts: NDArray[np.int64]
    numbers: NDArray[np.uint32]

    @classmethod
    def of(cls, folder: RunFolder, clusters: int) -> "ClusterMembers":
        """Reads three columns of the members once."""
        table = folder.read(STYLE_MEMBERS, _COLUMNS)
        number = pc.fill_null(table.column("cluster_number"), 0).to_numpy()
        order = np.lexsort((table.column("page_id").to_numpy(), -table.column("similarity").to_numpy(), number))
        numbers = np.zeros(len(folder.page_ids), np.uint32)
        numbers[folder.page_ids.rows(table.column("page_id").to_numpy())] = number
        starts = np.searchsorted(number[order], np.arange(clusters + 2))
        return cls(folder, order.astype(np.uint32), starts, numbers)

    def count(self, number: int) -> int:
        """How many members a cluster has."""
        return int(self.starts[number + 1] - self.starts[number])

    def some(self, number: int, start: int, count: int) -> list[dict[str, object]]:
        """Members from the `start`-th on: url, page_id and similarity."""
        first = int(self.starts[number])
        places = self.places[first:][start : min(start + count, self.count(number))].tolist()
        return self.folder.read_rows(STYLE_MEMBERS, places, ["url", *_COLUMNS]).to_pylist() if places else []

    def least_similar(self, number: int) -> dict[str, object] | None:
        """The member that is least like the medoid."""
        found = self.some(number, self.count(number) - 1, 1)
        return found[0] if found else None

    def cluster_of(self, page_id: int) -> int | None:
        """The number of the cluster of a page; None if it is in no cluster."""
        row = self.folder.page_ids.rows(np.array([page_id], np.int64))
        return int(self.numbers[row[0]]) or None


def urls_of(folder: RunFolder, page_ids: list[int]) -> dict[int, str]:
    """The URLs of a few pages."""
    found = {}
    for page_id in page_ids:
        place = page_id & 0xFFFFFFFF
        found[page_id] = folder.read_rows(PAGES, [place], ["url"], page_id >> 32).column("url")[0].as_py()
    return found
