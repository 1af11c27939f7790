"""Reads the records of a packed archive (gzip, zstd, lz4) one by one, however damaged it is.

Usually each member of the file holds one record. So a member that cannot be unpacked costs one record, and the next
one is found by its magic bytes. Files packed as a whole, and records that go on in the next member, are read too.
"""

from typing import Final

from samehand.sources.archive.heads import LOOK, MAX_HEAD, Format, RecordHead
from samehand.sources.archive.members import STEP, Codec, CutOffError, Member, MemberError
from samehand.sources.archive.records import BLANKS, Damage, Record, what_is_wrong
from samehand.sources.reasons import DAMAGED_RECORD, TRUNCATED_RECORD

SKIP_LIMIT: Final = 1 << 30
"""To unpack more than this only to pass over it takes seconds. A larger bomb is passed over by a search."""

_HEAD_STEP = 4 << 10
_RESCAN_FREE = 64 << 20
_RESCAN_FACTOR = 4


class MemberRecords:
    """Records of a packed file.

    A record is at the position of the member it starts in, plus the number of records that start in that member before
    it. A record may go on in the next member, as long as that one does not start a record itself.
    """

    def __init__(self, codec: Codec, *, position: int, form: Format, most: int, max_compression_ratio: int) -> None:
        self._codec = codec
        self._form = form
        self._most = most
        self._max_ratio = max_compression_ratio
        self._begin = position
        self._rescanned = 0
        self._parts: list[bytes] = []
        self._data = b""
        self._open(position)
        self._settle()

    @property
    def position(self) -> int:
        """Where the next record starts."""
        return self._member_start + self._count

    def next(self) -> Record | Damage | None:
        """The next record."""
        if self._member_start >= self._codec.size:
            return None
        start = self.position
        head: RecordHead | None = None
        self._parts = []
        missing: int | None = None
        try:
            head_size = self._fill_head()
            head = self._form.read(self._data[:head_size]) if head_size else None
            if head is None or head.length is None:
                return self._pass_over(start, head)
            self._data = self._data[head_size:]
            self._count += 1
            self.fresh = False
            missing = self._read_block(head.length)
            if missing:
                self._check_lengths()
            self._settle()
        except CutOffError as error:
            return self._cut_off(start, head, done=missing == 0, detail=str(error))
        except MemberError as error:
            return self._damage(start, head, detail=str(error))
        return Record(start, self.position, head, b"".join(self._parts), complete=missing == 0)

    def _open(self, position: int) -> None:
        """Moves to a member without reading it yet."""
        self._member_start = position
        self._member: Member | None = None
        self._count = 0
        self._data = b""
        self.fresh = True

    def _more(self, size: int = STEP) -> bool:
        """Unpacks some more of the member. False at its end."""
        if self._member is None:
            self._member = self._codec.open(self._member_start)
        data = self._member.read(size)
        self._data = self._data + data if self._data else data
        return bool(data)

    def _settle(self) -> None:
        """Moves on to the first byte of the next record, over line ends and empty members.

        An error in the member of the last record is raised. An error in a later member is left for `next` to meet.
        """
        position = self._member_start
        if self._member is not None:
            if self._at_text():
                if self._count == 1 and not self._data.startswith(self._form.starts):
                    self._verify()
                return
            position = self._end_of_member()
        while position < self._codec.size:
            self._open(position)
            try:
                if self._at_text():
                    return
            except MemberError:
                self._open(position)
                return
            position = self._end_of_member()
        self._open(self._codec.size)

    def _verify(self) -> None:
        """Raises what is wrong with the member. Odd text behind a record may come from damage to that record."""
        member = self._codec.open(self._member_start)
        passed = 0
        while passed < SKIP_LIMIT and (data := member.read(STEP)):
            passed += len(data)

    def _at_text(self) -> bool:
        """Drops line ends. False if the member ends with them."""
        self._data = self._data.lstrip(BLANKS)
        while not self._data:
            # A small step, so that the head is known even if the member breaks further on.
            if not self._more(_HEAD_STEP):
                return False
            self._data = self._data.lstrip(BLANKS)
        return True

    def _end_of_member(self) -> int:
        """The position behind the member, and at least one byte on, so that every step moves."""
        return max(self._member.end if self._member else 0, self._member_start + 1)

    def _fill_head(self) -> int:
        """Unpacks until the head of the record is there. Returns its length, or 0 if there is no head."""
        wanted = 1
        while True:
            while len(self._data) < wanted and self._more(_HEAD_STEP):
                pass
            if not self._data.startswith(self._form.starts):
                return 0
            size = self._form.head_size(self._data)
            if size or len(self._data) >= MAX_HEAD or (len(self._data) < wanted and not self._goes_on()):
                return size
            wanted = 2 * len(self._data) + 1

    def _goes_on(self) -> bool:
        """Whether the record goes on in the next member. Then that member becomes the current one."""
        position = self._end_of_member()
        if position >= self._codec.size:
            return False
        try:
            member = self._codec.open(position)
            data = member.read(STEP)
        except MemberError:
            return False
        if not data or data.startswith(self._form.starts):
            return False
        self._member_start, self._member, self._count = position, member, 0
        self._data += data
        self.fresh = False
        return True

    def _read_block(self, length: int) -> int:
        """Reads the block of a record into `_parts` and passes over the surplus. Returns how much is missing."""
        left, room = length, self._most
        while left:
            if not self._data and not self._more() and not self._goes_on():
                return left
            taken = min(left, len(self._data))
            if room:
                self._parts.append(self._data[: min(taken, room)])
                room -= len(self._parts[-1])
            self._data = self._data[taken:]
            left -= taken
            if left > SKIP_LIMIT and not room and self._is_bomb(length - left):
                self._open(self._codec.find(self._end_of_member(), self._form))
                return 0
        return 0

    def _check_lengths(self) -> None:
        """Raises if the member reaches over the next one.

        Damage to the block lengths inside the member does that, and without checksums nothing else shows it.
        """
        if self._codec.has_checksums or self._member is None:
            return
        if self._codec.find(self._member_start + 1, self._form) < self._member.end:
            raise MemberError("a member reaches over the next one")

    def _is_bomb(self, unpacked: int) -> bool:
        return unpacked > self._max_ratio * (self._end_of_member() - self._member_start)

    def _pass_over(self, start: int, head: RecordHead | None) -> Damage:
        """Passes over text that is no record.

        If the member starts with such text, the whole member is passed over, because what looks like a record in there
        may be the content of a page. Behind a record, the rest of the member is searched.
        """
        search = self._count > 0
        passed = 0
        self.fresh = False
        self._check_lengths()
        self._data = self._data[1:]
        while not (search and self._at_start()):
            passed += len(self._data)
            self._data = self._data[-LOOK:] if search else b""
            if not self._more() and not self._goes_on():
                self._data = b""
                break
            if passed > SKIP_LIMIT and self._is_bomb(passed):
                self._open(self._codec.find(self._end_of_member(), self._form))
                break
        self._count += 1
        self._settle()
        return Damage(start, self.position, DAMAGED_RECORD, what_is_wrong(head), head.url if head else "")

    def _at_start(self) -> bool:
        """Drops the text before the next start of a record. False if there is none."""
        for found in self._form.needle.finditer(self._data):
            if self._form.is_start(self._data[found.start(1) :]):
                self._data = self._data[found.start(1) :]
                return True
        return False

    def _cut_off(self, start: int, head: RecordHead | None, *, done: bool, detail: str) -> Record | Damage:
        """The file ended inside a member. Damaged lengths inside a member look the same, but then records follow."""
        damage = self._damage(start, head, detail=detail)
        if self._member_start < self._codec.size:
            return damage
        if head is None or not (done or self._parts):
            return damage._replace(reason=TRUNCATED_RECORD)
        return Record(start, damage.next, head, b"".join(self._parts), complete=done)

    def _damage(self, start: int, head: RecordHead | None, *, detail: str) -> Damage:
        """Goes on at the next member that starts a record.

        The search starts right behind the start of the bad member, since its end is not known. Members inside members
        could make that quadratic. So once too much was searched twice, it starts where unpacking failed.
        """
        used = self._end_of_member()
        self._rescanned += used - self._member_start
        allowed = _RESCAN_FREE + _RESCAN_FACTOR * (self._member_start - self._begin)
        position = self._member_start + 1 if self._rescanned <= allowed else used
        self._open(self._codec.find(position, self._form))
        self._settle()
        return Damage(start, self.position, DAMAGED_RECORD, detail, head.url if head else "")
