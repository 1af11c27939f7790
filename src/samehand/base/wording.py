"""Numbers in sentences."""

from collections.abc import Mapping


def count(number: int, noun: str) -> str:
    """A number with its noun: 1 page, 2 pages, 3 families, 4 records of unknown type."""
    if number == 1:
        return f"1 {noun}"
    head, space, rest = noun.partition(" of ")
    plural = head[:-1] + "ies" if head.endswith("y") and head[-2:-1] not in "aeiou" else head + "s"
    return f"{number:,} {plural}{space}{rest}"


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name: 3 other status, 2 empty body."""
    return ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counts.items())
