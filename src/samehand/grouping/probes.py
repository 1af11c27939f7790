"""Probes: the keys that bring similar rows together, and how many of them a wanted miss rate takes."""

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
    """The bucket of each row in one probe after the other."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[NDArray[np.uint32]]: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Buckets:
    """What brings rows together: the bucket of each row in each probe, and the rows that are equal altogether.

    Rows of equal `identity` are the same (0: the same as nothing). Columns are looked at one after the other.
    """

    columns: Columns
    identity: NDArray[np.uint64]
    folder: Path | None = None

    def spool(self) -> IO[bytes]:
        """A file for what is found, which goes when it is closed; beside the columns, because /tmp may be memory."""
        return tempfile.TemporaryFile(dir=self.folder)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProbePlan:
    """Which dimensions each probe looks at (p x k), and the probability to miss a pair at a similarity."""

    dimensions: int
    subsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.subsets)

    def columns(self, values: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """The bucket of each fingerprint in each probe, a row for each probe."""
        return kernel.bucket_columns(values, self.subsets)

    def miss(self, similarity: float) -> float:
        """Probability that no probe brings together a pair of full sketches of this similarity."""
        return miss_probability(self.dimensions, math.ceil(similarity * self.dimensions), *self.subsets.shape)


def miss_probability(dimensions: int, matches: int, probes: int, probe_dimensions: int = 1) -> float:
    """Probability that `probes` probes all miss a pair with `matches` of `dimensions` values in common.

    With single dimensions, drawn without repetition, C(m - t, p) / C(m, p) exactly (section 3.4.2, whose expansion
    is off by one); for larger subsets, drawn independently, (1 - C(t, k) / C(m, k)) ** p.
    """
    if probe_dimensions == 1:
        return math.comb(dimensions - matches, probes) / math.comb(dimensions, probes)
    return (1 - math.comb(matches, probe_dimensions) / math.comb(dimensions, probe_dimensions)) ** probes


def plan_probes(
    dimensions: int, similarity: float, *, miss: float, probes: int = 0, probe_dimensions: int = 1
) -> ProbePlan:
    """The fewest probes that miss a pair of this similarity with probability `miss` at most, or `probes` of them."""
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
