"""How far a stage is."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How far a stage is: "plan" says how many units there are, "read" how far one of them is, "group" the steps."""

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
