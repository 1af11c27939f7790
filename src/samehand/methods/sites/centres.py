"""Clusters of pages by structure: k centres, farthest point first (M-FPF, section 3.2 of the paper; see tags.py).

The first centre is the first page. Each next centre is the page farthest from its own centre, and takes the pages that
are closer to it than to theirs, until there are k centres or no page is farther away than asked for. M-FPF does the
same with fewer distances (section 3.2.1): a page keeps its centre, without a comparison, if it is at most half as far
from it as the new centre is. The paper keeps each cluster sorted and stops there; we ask each page, which needs no
sorting. Four more savings change nothing in the result: equal pages are compared once; a new centre is compared only
with those centres that may spare a page its comparison; R, F and B show for most pages that D is not smaller than the
distance they have; and the computation of D stops as soon as that is clear.
"""

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import SettingsError
from samehand.kernels import tags as kernel
from samehand.kernels.centres import SKIPPED, next_centre
from samehand.methods.sites.tags import DistinctPages, TagSequences, distinct_pages

CLUSTERS_PER_PROVIDER = 16
"""k of section 4.2."""
_CHUNK = 1024
"""Pages that a thread takes at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class Calls:
    """Pairs of a page and a centre by the measure that decided, as in table 1; `skipped` were never compared."""

    r: int = 0
    f: int = 0
    b: int = 0
    d: int = 0
    skipped: int = 0

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class KCentres:
    """A clustering. `centres` are rows. The i-th of the given pages is distances[i] from centres[assignment[i]].

    `radius` is the largest distance. `distinct` is the number of different sequences.
    """

    centres: NDArray[np.int64]
    assignment: NDArray[np.int32]
    distances: NDArray[np.float64]
    radius: float
    calls: Calls
    distinct: int


def k_centres(
    sequences: TagSequences,
    rows: NDArray[np.int64],
    *,
    k: int = CLUSTERS_PER_PROVIDER,
    stop_radius: float = 0.0,
    threads: int | None = None,
) -> KCentres:
    """Clusters the pages of `rows`. Ties go to the smaller row, and to the earlier centre.

    No more centres are added once all pages are within `stop_radius`. The result does not depend on `threads`.
    """
    if k < 1:
        raise SettingsError(f"k is {k}: choose 1 or more clusters.")
    distinct = distinct_pages(sequences, np.asarray(rows, np.int64))
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        search = _Search(distinct, pool)
        while len(search.centres) < k and search.radius() > stop_radius:
            search.add(search.farthest())
    return KCentres(
        distinct.rows[search.centres],
        search.nearest[distinct.places],
        search.distances[distinct.places],
        max(0.0, search.radius()),
        Calls(*search.decided.tolist()),
        distinct.rows.size,
    )


class _Search:
    """The centres so far, and the nearest centre of each page."""

    def __init__(self, distinct: DistinctPages, pool: ThreadPoolExecutor) -> None:
        count = distinct.rows.size
        self._pages = distinct.pages
        self._pool = pool
        self.centres: list[int] = []
        self.nearest = np.zeros(count, np.int32)
        self.distances = np.full(count, np.inf)
        self.decided = np.zeros(SKIPPED + 1, np.int64)

    def radius(self) -> float:
        """The largest distance of a page from its centre; -1 if there are no pages."""
        return float(self.distances.max(initial=-1.0))

    def farthest(self) -> int:
        """The page farthest from its centre; the first page if there is no centre."""
        return int(np.argmax(self.distances))

    def add(self, page: int) -> None:
        """Makes a page the next centre and gives it the pages that are closer to it than to their own centre."""
        centres = np.array(self.centres, np.int64)
        centre, candidates = next_centre(self._pages, page, centres, self.nearest, self.distances, self.decided)
        chunks = [candidates[start : start + _CHUNK] for start in range(0, candidates.size, _CHUNK)]
        number = len(self.centres)
        self.centres.append(page)
        if len(chunks) == 1:
            self.decided[:SKIPPED] += self._move(centre, chunks[0], number)
        else:
            for decided in self._pool.map(lambda chunk: self._move(centre, chunk, number), chunks):
                self.decided[:SKIPPED] += decided

    def _move(self, centre: kernel.Centre, chunk: NDArray[np.int64], number: int) -> NDArray[np.int64]:
        return kernel.move_nearer(self._pages, centre, chunk, number, self.nearest, self.distances)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClusterFigures:
    """Pages, mean distance to the centre and radius of each cluster."""

    sizes: NDArray[np.int64]
    means: NDArray[np.float64]
    radii: NDArray[np.float64]

    @property
    def average_radius(self) -> float:
        """Radii weighted by sizes (section 4.2). The paper leaves out the division by the number of pages."""
        return float((self.sizes * self.radii).sum() / max(1, self.sizes.sum()))


def cluster_figures(found: KCentres) -> ClusterFigures:
    """The figures of each cluster, in the order of the centres."""
    count = found.centres.size
    sizes = np.bincount(found.assignment, minlength=count)
    sums = np.bincount(found.assignment, found.distances, minlength=count)
    radii = np.zeros(count)
    np.maximum.at(radii, found.assignment, found.distances)
    return ClusterFigures(sizes, sums / np.maximum(1, sizes), radii)
