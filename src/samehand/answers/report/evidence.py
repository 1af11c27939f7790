"""Two pages of a cluster side by side, with the stretches of source that both share marked."""

import dataclasses

from samehand.answers.run import Run
from samehand.answers.stretches import Stretch, stretches
from samehand.base.errors import InputError

_SHOWN_BYTES = 1_500
_LONGEST_GAP = 160


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """Two pages, their similarity, and the beginning of each source in stretches."""

    left_url: str
    right_url: str
    similarity: float
    left: tuple[Stretch, ...]
    right: tuple[Stretch, ...]


def pair_of(run: Run, number: int) -> Pair | None:
    """The medoid of a cluster and the member least like it; None if their pages cannot be read again."""
    members = run.members(number)
    if len(members) < 2:
        return None
    left, right = members[0], members[len(members) - 1]
    try:
        found = run.explain(left, right)
        sources = run.content(left), run.content(right)
    except InputError:
        return None
    if found.style is None:
        return None
    spans = [run.left for run in found.style.runs], [run.right for run in found.style.runs]
    marked = [
        stretches(source, side, most=_SHOWN_BYTES, longest_gap=_LONGEST_GAP)
        for source, side in zip(sources, spans, strict=True)
    ]
    return Pair(found.left_url, found.right_url, found.style.jaccard, marked[0], marked[1])
