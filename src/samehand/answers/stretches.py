"""The source of a page in stretches: those that another page shares, and those between them."""

import dataclasses
from collections.abc import Iterable, Iterator

from samehand.base.neutral import neutral


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of source, fit to be shown; `shared` if the other page has its noise too."""

    text: str
    shared: bool


def stretches(
    source: bytes, spans: Iterable[tuple[int, int]], *, most: int, longest_gap: int | None = None
) -> tuple[Stretch, ...]:
    """The first `most` bytes of a source, the bytes in `spans` marked as shared.

    With `longest_gap`, what is not shared is shortened to that many characters, and does not count in full.
    """
    found = []
    left = most
    for start, end, shared in _pieces(len(source), spans):
        if left <= 0:
            break
        gap = None if shared else longest_gap
        found.append(Stretch(_shown(source[start : end if gap else min(end, start + left)], gap), shared))
        left -= min(end - start, gap) if gap else end - start
    return tuple(stretch for stretch in found if stretch.text)


def _pieces(size: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each piece of a source of `size` bytes, and whether it is in one of the spans."""
    place = 0
    for start, end in sorted(spans):
        if end > place:
            yield place, max(start, place), False
            yield max(start, place), min(end, size), True
            place = min(end, size)
    yield place, size, False


def _shown(source: bytes, longest: int | None) -> str:
    """Source as text. Lines stay lines; everything else that is not printable is made visible."""
    if longest and len(source) > 8 * longest:  # characters have four bytes at most
        source = source[: 4 * longest] + source[-4 * longest :]
    lines = source.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    text = "\n".join("\t".join(map(neutral, line.split("\t"))) for line in lines)
    if longest and len(text) > longest:
        text = f"{text[: longest // 2]} … {text[-longest // 2 :]}"
    return text
