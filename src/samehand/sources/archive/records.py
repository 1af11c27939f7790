"""Reads the records of an archive one by one, however damaged it is. Defines the readers, and reads plain files.

A reader knows where every record starts, and holds no more of a record than was asked for. Each step moves on, so it
ends at the end of the file whatever the file holds. Bytes that cannot be read as a record become one Damage, and
reading goes on at the next record that can be found.
"""

from typing import Final, NamedTuple, Protocol

from samehand.sources.archive.heads import LOOK, MAX_HEAD, Format, RecordHead
from samehand.sources.archive.window import ByteFile, places, read_at
from samehand.sources.reasons import DAMAGED_RECORD, TRUNCATED_RECORD, Reason

BLANKS: Final = b"\r\n\t "
"""What may stand between records."""


class Record(NamedTuple):
    """One record. `block` is at most as long as was asked for. `complete` says that the file holds all of it."""

    start: int
    next: int
    head: RecordHead
    block: bytes
    complete: bool = True


class Damage(NamedTuple):
    """Bytes from `start` to `next` that are no record."""

    start: int
    next: int
    reason: Reason
    detail: str
    url: str = ""


class RecordReader(Protocol):
    """Returns one record after the other."""

    @property
    def position(self) -> int:
        """Where the next record starts, or where it will be searched from."""

    @property
    def fresh(self) -> bool:
        """Whether a reader that is opened at `position` goes on exactly like this one."""

    def next(self) -> Record | Damage | None:
        """The next record, or None at the end of the file."""


class PlainRecords:
    """Records of a file that is not packed."""

    def __init__(self, file: ByteFile, size: int, *, position: int, form: Format, most: int) -> None:
        self._file = file
        self._size = size
        self._form = form
        self._most = most
        self.fresh = True
        self.position = self._behind_blanks(position)

    def next(self) -> Record | Damage | None:
        """The next record."""
        start = self.position
        if start >= self._size:
            return None
        data = read_at(self._file, start, 4 << 10)
        if not self._form.head_size(data):
            data = read_at(self._file, start, MAX_HEAD)
        head_size = self._form.head_size(data)
        head = self._form.read(data[:head_size]) if head_size else None
        if head is None or head.length is None:
            at_end = not head_size and start + len(data) >= self._size
            return self._damage(start, head, cut_off=at_end and data.startswith(self._form.starts))
        return self._record(start, head, start + head_size)

    def _record(self, start: int, head: RecordHead, block_start: int) -> Record:
        claimed = block_start + (head.length or 0)
        end = self._real_end(block_start, claimed)
        block = read_at(self._file, block_start, min(end - block_start, self._most))
        self.position = self._behind_blanks(end)
        return Record(start, self.position, head, block, complete=end == claimed)

    def _real_end(self, block_start: int, claimed: int) -> int:
        """Where the block ends. A length is believed when another record, or the end of the file, follows.

        Otherwise the writer was cut off and went on with a new record: the block ends where that one starts.
        """
        if claimed <= self._size:
            follows = self._behind_blanks(claimed)
            if follows >= self._size or read_at(self._file, follows, 16).startswith(self._form.starts):
                return claimed
        found = find_plain(self._file, block_start, form=self._form, until=min(claimed, self._size))
        return min(found, claimed, self._size)

    def _damage(self, start: int, head: RecordHead | None, *, cut_off: bool) -> Damage:
        self.position = find_plain(self._file, start + 1, form=self._form, until=self._size)
        reason = TRUNCATED_RECORD if cut_off and self.position == self._size else DAMAGED_RECORD
        return Damage(start, self.position, reason, what_is_wrong(head), head.url if head else "")

    def _behind_blanks(self, position: int) -> int:
        while chunk := read_at(self._file, position, 64):
            rest = chunk.lstrip(BLANKS)
            position += len(chunk) - len(rest)
            if rest:
                break
        return position


def find_plain(file: ByteFile, position: int, *, form: Format, until: int) -> int:
    """Position of the first record of a plain file that starts in [position, until), or `until`."""
    found = places(file, position, needle=form.needle, until=until)
    return next((place for place in found if form.is_start(read_at(file, place, LOOK))), until)


def what_is_wrong(head: RecordHead | None) -> str:
    """Why a head is not usable."""
    return "no record head" if head is None else "no usable length in the record head"
