"""Two pages' tags side by side, in lines for people or one object for programs."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from samehand.base.neutral import neutral
from samehand.cli.render import shorten
from samehand.methods.sites.tags import StructureComparison

NEAR = 2
"""Equal tags shown on either side of a difference."""
SIDE = 34
"""Columns of a side: two of them and the mark between fit into 80."""

Pair = tuple[str | None, str | None]


def structure_lines(found: StructureComparison, names: Sequence[str], *, rows: int) -> Iterator[str]:
    """The distance, its bounds, and the first `rows` lines of the alignment (0: all). `=` marks equal tags."""
    equal = sum(left == right for left, right in found.alignment)
    longer = max(found.left_tags, found.right_tags)
    yield f"D {found.d:.4f}: {equal} of {longer} tags in common, in order"
    yield f"R {found.r:.4f} <= F {found.f:.4f} <= B {found.b:.4f} <= D {found.d:.4f}"
    if found.cut:
        yield "The pages are longer: only their first tags were compared (--max-tags)."
    yield ""
    yield _row(*(_headed(*side) for side in zip(names, (found.left_tags, found.right_tags), strict=True)))
    lines = list(_aligned(found.alignment))
    shown = lines[:rows] if rows else lines
    yield from shown
    if len(shown) < len(lines):
        yield f"{len(lines) - len(shown)} more lines: --top 0 shows all"


def _aligned(alignment: Sequence[Pair]) -> Iterator[str]:
    """A line for each pair; equal stretches give their ends alone."""
    start = 0
    while start < len(alignment):
        end = start
        while end < len(alignment) and alignment[end][0] == alignment[end][1]:
            end += 1
        if end == start:
            yield _line(alignment[start])
            start += 1
            continue
        first = start + (NEAR if start else 0)
        last = end - (NEAR if end < len(alignment) else 0)
        if last - first <= 1:
            first = last = end
        yield from map(_line, alignment[start:first])
        if last > first:
            yield f"    … {last - first} equal tags …"
        yield from map(_line, alignment[last:end])
        start = end


def _line(pair: Pair) -> str:
    left, right = pair
    mark = "<" if right is None else ">" if left is None else "="
    return _row(_tag(left), _tag(right), mark)


def _row(left: str, right: str, mark: str = " ") -> str:
    return f"    {left:<{SIDE}}  {mark}  {right}".rstrip()


def _headed(name: str, tags: int) -> str:
    counted = f" ({tags} tags)"
    return shorten(neutral(name), SIDE - len(counted)) + counted


def _tag(name: str | None) -> str:
    """Letters that are not ASCII are spelled out: they may take two columns, or none."""
    return shorten((name or "").encode("ascii", "backslashreplace").decode(), SIDE)


def structure_row(found: StructureComparison, names: Sequence[str]) -> dict[str, Any]:
    """The same as one object."""
    return {"left": names[0], "right": names[1], **dataclasses.asdict(found)}
