"""Probes: keys that bring similar rows together, and how many probes a miss probability takes."""

import dataclasses
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import sketches as kernel


class Columns(Protocol):
    """One column of keys for each probe: the bucket of each row, EMPTY for none."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[NDArray[np.uint32]]: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
    """The keys of rows: their buckets in each probe, and an identity that equal rows share (0: no row is the same).

    Columns are read one after the other. `folder` has room for a temporary file.
    """

    columns: Columns
    identity: NDArray[np.uint64]
    folder: Path | None = None

    def spool(self) -> IO[bytes]:
        """A temporary file for what the search puts aside. It is beside the columns, because /tmp may be in memory."""
        return tempfile.TemporaryFile(dir=self.folder)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """The dimensions of each probe (p x k)."""

    dimensions: int
    subsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.subsets)

    def columns(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The buckets of fingerprints, a row for each probe."""
        return kernel.bucket_columns(values, self.subsets)

    def miss(self, similarity: float) -> float:
        """Probability that no probe brings two full sketches of this similarity together."""
        return miss_probability(self.dimensions, math.ceil(similarity * self.dimensions), *self.subsets.shape)


def miss_probability(dimensions: int, matches: int, probes: int, probe_dimensions: int = 1) -> float:
    """Probability that `probes` probes all miss a pair with `matches` of `dimensions` values in common.

    Single dimensions are drawn without repetition: exactly C(m - t, p) / C(m, p) (section 3.4.2, whose expansion is off
    by one). Larger subsets are drawn independently: (1 - C(t, k) / C(m, k)) ** p.
    """
    if probe_dimensions == 1:
        return math.comb(dimensions - matches, probes) / math.comb(dimensions, probes)
    return (1 - math.comb(matches, probe_dimensions) / math.comb(dimensions, probe_dimensions)) ** probes


def plan_probes(
    dimensions: int, similarity: float, *, miss: float, probes: int = 0, probe_dimensions: int = 1
) -> ProbePlan:
    """The fewest probes that miss a pair of this similarity with at most probability `miss`; or `probes` of them."""
    matches = max(probe_dimensions, math.ceil(similarity * dimensions))
    most = dimensions if probe_dimensions == 1 else dimensions * probe_dimensions
    wanted = probes or next(
        (p for p in range(1, most) if miss_probability(dimensions, matches, p, probe_dimensions) <= miss), most
    )
    draw = np.random.Generator(np.random.PCG64(dimensions * 1000 + probe_dimensions))
    if probe_dimensions == 1:
        subsets = draw.permutation(dimensions)[:wanted, np.newaxis]
    else:
        subsets = np.stack([draw.choice(dimensions, probe_dimensions, replace=False) for _ in range(wanted)])
    return ProbePlan(dimensions=dimensions, subsets=np.sort(subsets, axis=1).astype(np.int64))
