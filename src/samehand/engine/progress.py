"""How far a stage is."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is, as an `on_progress` function is told.

    Attributes:
        stage: "plan" says how many units of work there are, "read" how far one of them is, "group" which step it is.
        unit: Number of the unit of work.
        pages: Pages of it so far.
        rejects: Rejected records of it so far.
        content_bytes: Bytes of the pages so far.
        share: Share of the unit that is read, from 0 to 1.
        done: Units or steps that are done.
        total: Units or steps in all.
        method: The method that is grouped.
    """

    stage: str
    unit: int = 0
    pages: int = 0
    rejects: int = 0
    content_bytes: int = 0
    share: float = 0.0
    done: int = 0
    total: int = 0
    method: str = ""


OnProgress = Callable[[Progress], None]


def silent(_: Progress) -> None:
    """Tells nobody."""
