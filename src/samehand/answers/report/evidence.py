"""Two pages of a cluster side by side, with the stretches of source that both share marked."""

import dataclasses

from samehand.answers.run import Run
from samehand.base.errors import InputError
from samehand.base.neutral import neutral

_SHOWN_BYTES = 1_500
_LONGEST_GAP = 160


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of source; `shared` if the other page has its noise too."""

    text: str
    shared: bool


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
    marked = [_marked(source, side) for source, side in zip(sources, spans, strict=True)]
    return Pair(found.left_url, found.right_url, found.style.jaccard, marked[0], marked[1])


def _marked(source: bytes, spans: list[tuple[int, int]]) -> tuple[Stretch, ...]:
    """The first bytes of a source in stretches. Long stretches that are not shared are shortened."""
    stretches: list[Stretch] = []
    place = shown = 0
    for start, end in sorted(spans):
        if end <= place:
            continue
        start = max(start, place)
        stretches += [_stretch(source[place:start], shared=False), _stretch(source[start:end], shared=True)]
        shown += min(start - place, _LONGEST_GAP) + end - start
        place = end
        if shown > _SHOWN_BYTES:
            break
    stretches.append(_stretch(source[place : place + _LONGEST_GAP], shared=False))
    return tuple(stretch for stretch in stretches if stretch.text)


def _stretch(source: bytes, *, shared: bool) -> Stretch:
    lines = source[:_SHOWN_BYTES].decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    text = "\n".join(map(neutral, lines))
    if not shared and len(text) > _LONGEST_GAP:
        text = f"{text[: _LONGEST_GAP // 2]} … {text[-_LONGEST_GAP // 2 :]}"
    return Stretch(text, shared)
