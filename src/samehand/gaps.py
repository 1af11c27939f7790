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
    """`pages` pages lie above the gap, the last at similarity `above`; the first below it is at `below`."""

    name: str
    above: float
    below: float
    pages: int
    inside: int


def find_gaps(similarities: NDArray[np.float32]) -> tuple[Gap, ...]:
    """The gaps of a curve that falls from the most similar page on, from the top. The rest of the web is at 0."""
    curve = np.append(similarities, np.float32(0.0)).astype(np.float64)
    across = np.minimum(np.searchsorted(-curve, WIDTH - curve, side="left"), similarities.size)
    ranks = np.arange(curve.size)
    inside = across - ranks - 1
    begins = (inside <= CROWD * (ranks + 1)) & (curve - curve[across] >= WIDTH)
    gaps: list[Gap] = []
    page = 0
    for start in np.flatnonzero(begins).tolist():
        if start < page:
            continue
        page = int(across[start])
        kind = "smooth" if inside[start] else "sharp"
        gaps.append(
            Gap(f"{kind} gap {len(gaps) + 1}", float(curve[start]), float(curve[page]), start + 1, int(inside[start]))
        )
    return tuple(gaps)
