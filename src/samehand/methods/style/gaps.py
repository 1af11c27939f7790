"""The gaps in a similarity curve (the paper's section 4.1 and figure 4).

Sorted by similarity to one page, the pages of a crawl make a curve that falls in steps: its own template, another
template of the same site, the rest of the web. A gap is a stretch of similarity in which next to no page lies.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

WIDTH = 0.1
"""Least width of a gap: more than twice the estimate's standard deviation, so sampling noise makes none."""

CROWD = 0.02
"""Share of the pages above a gap that may lie inside it: with any inside it is smooth, with none it is sharp."""


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """A gap in a curve of similarities.

    Attributes:
        name: "sharp gap 1", "smooth gap 2" and so on, from the top.
        above: Similarity of the last page above the gap.
        below: Similarity of the first page below it.
        pages: How many pages lie above it.
        inside: How many pages lie inside a smooth gap.
    """

    name: str
    above: float
    below: float
    pages: int
    inside: int


def find_gaps(similarities: NDArray[np.float32]) -> tuple[Gap, ...]:
    """The gaps of a curve that falls from the most similar page on, from the top. The rest of the web is at 0."""
    curve = np.append(similarities, np.float32(0.0)).astype(np.float64)
    spans = _sharp(curve)
    spans += [span for span in _smooth(curve) if not any(span[0] < end and start < span[1] for start, end in spans)]
    return tuple(
        Gap(
            f"{'sharp' if end == start + 1 else 'smooth'} gap {number}",
            float(curve[start]),
            float(curve[end]),
            start + 1,
            end - start - 1,
        )
        for number, (start, end) in enumerate(sorted(spans), start=1)
    )


def _sharp(curve: NDArray[np.float64]) -> list[tuple[int, int]]:
    """From one page to the next the curve falls by WIDTH and more; at most ten such places fit into it."""
    return [(start, start + 1) for start in np.flatnonzero(curve[:-1] - curve[1:] >= WIDTH).tolist()]


def _smooth(curve: NDArray[np.float64]) -> list[tuple[int, int]]:
    """The curve falls by WIDTH within few pages; of places that overlap, the one with the fewest pages inside."""
    ranks = np.arange(curve.size)
    across = np.minimum(np.searchsorted(-curve, WIDTH - curve, side="left"), curve.size - 1)
    inside = across - ranks - 1
    sparse = (inside > 0) & (inside <= CROWD * (ranks + 1)) & (curve - curve[across] >= WIDTH)
    found: list[tuple[int, int]] = []
    for start, end in zip(ranks[sparse].tolist(), across[sparse].tolist(), strict=True):
        if not found or start >= found[-1][1]:
            found.append((start, end))
        elif end - start < found[-1][1] - found[-1][0]:
            found[-1] = (start, end)
    return found
