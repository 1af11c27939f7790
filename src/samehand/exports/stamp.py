"""What a list says about itself. It holds no clock: the same answers give the same bytes."""

import dataclasses
from collections.abc import Iterable
from datetime import UTC, date, datetime

from samehand.base.errors import UsageError
from samehand.exports.entries import Entry

ZONE = "rpz.samehand"


@dataclasses.dataclass(frozen=True, slots=True)
class Stamp:
    """The day of a list, and the name and serial of its zone."""

    day: date | None
    zone: str = ZONE
    serial: int | None = None
    title: str = "Unwanted sites found by samehand"

    @property
    def version(self) -> int:
        """The day as a number; 0 if it is not known."""
        return int(f"{self.day:%Y%m%d}") if self.day else 0

    def moment(self) -> datetime:
        """The day as a time, for formats that must have one."""
        if self.day is None:
            raise UsageError("No page of the run says when it was fetched, and this format needs a day: give --date.")
        return datetime(self.day.year, self.day.month, self.day.day, tzinfo=UTC)


def newest_day(entries: Iterable[Entry]) -> date | None:
    """The day when the newest page of the entries was fetched."""
    return max((entry.fetched.date() for entry in entries if entry.fetched), default=None)
