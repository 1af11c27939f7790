"""Reads sound WARC files at full speed: members are unpacked end to end into one buffer, and heads become offsets.

A record is believed only if it fills its member exactly, its head is written the usual way, and what follows it is
known. A sound record that is no plain page becomes a Record, like those of the careful reader, and `outcome_of` decides
about it. At the first record that is not sound this reader stops and says where, and the careful reader goes on. Both
give the same outcome for the same bytes.

Libdeflate unpacks more than twice as fast as zlib, and says where a member ends. It comes with the package `deflate`,
which calls it for whole files only; so its functions are called by their addresses. Streams that break the rules of RFC
1951 in ways that it does not look for (codes without meaning) are read all the same, if their checksums are right.
"""

import ctypes
import functools
from collections.abc import Callable, Generator
from typing import Final, NamedTuple, Protocol

import deflate._deflate
import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import read_only
from samehand.base.page import Outcome, Page
from samehand.base.settings import Settings
from samehand.kernels import record_table as at
from samehand.kernels import records
from samehand.kernels.unpacking import unpack_members
from samehand.sources.archive.heads import MAX_HEAD, WARC
from samehand.sources.archive.members import Codec, GzipCodec, MemberError
from samehand.sources.archive.records import BLANKS, Record
from samehand.sources.archive.window import ByteFile, read_at
from samehand.sources.http.charset import PLAIN_LABELS
from samehand.sources.runs import Run

_GOAL: Final = 8 << 20
"""Bytes that are unpacked before they are looked at: few enough to stay in the cache."""
_CHUNK: Final = 2 << 20
"""Bytes of the file that are read at once."""
_MEMBERS: Final = 4096
"""Records that are looked at together at most."""

_CHARSETS: Final = tuple(PLAIN_LABELS.values())


class _Sound(NamedTuple):
    """Sound records from the start of `raw`, and the places in the file between them."""

    raw: NDArray[np.uint8]
    table: NDArray[np.int64]
    bounds: NDArray[np.int64]


class _Filler(Protocol):
    def fill(self, position: int, end: int) -> _Sound:
        """Sound records that start in [position, end), as many as are handled at once; none if the first is not."""


class FastReader:
    """The sound records of a WARC file, from any record on."""

    def __init__(
        self,
        file: ByteFile,
        size: int,
        codec: Codec | None,
        *,
        name: str,
        most: int,
        settings: Settings,
        outcome_of: Callable[[Record], Outcome],
    ) -> None:
        labels = [label.encode() for label in PLAIN_LABELS]
        plain = records.Plain(
            settings.max_page_bytes,
            settings.any_status,
            np.frombuffer(b"".join(labels), np.uint8),
            read_only(np.cumsum([0, *map(len, labels)])),
        )
        self._name = name
        self._most = most
        self._outcome_of = outcome_of
        self._size = size
        self._filler: _Filler
        if codec is None:
            self._filler = _PlainFiller(file, size, plain, most)
        else:
            self._filler = _MemberFiller(codec, plain, most)

    def items(self, position: int, end: int) -> Generator[Run, None, int]:
        """Records that start in [position, end), up to the first that is not sound. Returns where they end."""
        while position < min(end, self._size):
            sound = self._filler.fill(position, end)
            taken = yield from self._runs(sound)
            if taken:
                position = int(sound.bounds[taken])
            if not taken or taken < len(sound.table):
                break
        return position

    def _runs(self, sound: _Sound) -> Generator[Run, None, int]:
        """The records as runs, which hold few pages that are not in the buffer. Returns how many records they are."""
        run = Run(sound.raw, sound.table, sound.bounds, self._name, _CHARSETS)
        first = size = 0
        others: list[Outcome] = []
        for place in np.flatnonzero(sound.table[:, at.KIND] == at.OTHER).tolist():
            record = self._record(run, place)
            if record is None:
                break
            outcome = self._outcome_of(record)
            others.append(outcome)
            size += len(outcome.content) if isinstance(outcome, Page) else 0
            if size >= _GOAL:
                yield run.part(first, place + 1)._replace(others=tuple(others))
                first, size, others = place + 1, 0, []
        else:
            place = len(sound.table)
        if first < place:
            yield run.part(first, place)._replace(others=tuple(others))
        return place

    def _record(self, run: Run, place: int) -> Record | None:
        head_start, block, end = run.table[place, [at.HEAD, at.BLOCK, at.END]].tolist()
        head = WARC.read(run.raw[head_start:block].tobytes())
        if head is None:
            return None
        start, behind = run.bounds[place : place + 2].tolist()
        return Record(start, behind, head, run.raw[block : min(end, block + self._most)].tobytes())


class _MemberFiller:
    """Records that fill one member each."""

    def __init__(self, codec: Codec, plain: records.Plain, most: int) -> None:
        self._codec = codec
        self._plain = plain
        self._raw = np.empty(_GOAL + most + MAX_HEAD, np.uint8)
        self._seen = read_only(self._raw)
        self._members = np.empty((_MEMBERS, 2), np.int64)
        self._table = np.empty((_MEMBERS, at.COLUMNS), np.int64)
        self._most = most
        self._packed = b""
        self._packed_from = 0

    def fill(self, position: int, end: int) -> _Sound:
        """Unpacks members, and reads the records in them."""
        unpack = self._gunzip if isinstance(self._codec, GzipCodec) and _libdeflate() else self._unpack
        count = unpack(position, end)
        ends = np.ascontiguousarray(self._members[:count, 1])
        sound = records.read_records(self._seen, ends, True, self._plain, self._table)
        bounds = np.concatenate([[position], self._members[:sound, 0]])
        if sound and not self._is_text_behind(int(bounds[-1]), int(ends[sound - 1]), int(ends[-1])):
            sound -= 1
        return _Sound(self._seen, self._table[:sound], bounds[: sound + 1])

    def _is_text_behind(self, position: int, begin: int, filled: int) -> bool:
        """Whether something that is not blank, or the end of the file, follows a record: only that ends it for sure."""
        start = self._raw[begin : begin + 1].tobytes() if begin < filled else self._codec.first_bytes(position, 1)
        return position == self._codec.size or bool(start.strip(BLANKS))

    def _gunzip(self, position: int, end: int) -> int:
        """Unpacks gzip members with libdeflate. Returns their number."""
        count, library = 0, _libdeflate()
        if library is None:
            return 0
        for size in (0, _CHUNK, self._most + MAX_HEAD):
            if size:
                self._packed, self._packed_from = read_at(self._codec.file, position, size), position
            packed = np.frombuffer(self._packed, np.uint8)[position - self._packed_from :]
            count = unpack_members(
                library.gunzip,
                library.unpacker,
                packed,
                min(end - position, packed.size),
                self._raw,
                _GOAL,
                library.sizes,
                self._members,
            )
            if count or packed.size < size:
                break
        self._members[:count, 0] += position
        return int(count)

    def _unpack(self, position: int, end: int) -> int:
        """Unpacks members of other kinds."""
        count = filled = 0
        try:
            while position < min(end, self._codec.size) and filled < _GOAL and count < _MEMBERS:
                member = self._codec.open(position)
                while (data := member.read(self._most)) and filled + len(data) <= self._raw.size:
                    self._raw[filled : filled + len(data)] = np.frombuffer(data, np.uint8)
                    filled += len(data)
                if data or member.end <= position:
                    break
                position = member.end
                self._members[count] = position, filled
                count += 1
        except MemberError:
            return count
        return count


class _PlainFiller:
    """Records of a file that is not packed."""

    def __init__(self, file: ByteFile, size: int, plain: records.Plain, most: int) -> None:
        self._file = file
        self._size = size
        self._plain = plain
        self._most = most
        self._table = np.empty((_MEMBERS, at.COLUMNS), np.int64)

    def fill(self, position: int, end: int) -> _Sound:
        """Reads a part of the file, and the records in it."""
        table, raw = self._table[:0], np.empty(0, np.uint8)
        for size in (_GOAL, self._most + MAX_HEAD):
            raw = np.frombuffer(read_at(self._file, position, size), np.uint8)
            file_end = np.array([self._size - position])
            sound = records.read_records(raw, file_end, False, self._plain, self._table)
            table = self._table[:sound]
            if sound or raw.size < size:
                break
        table = table[: int(np.searchsorted(table[:, at.HEAD], end - position))]
        bounds = np.concatenate([table[:, at.HEAD], table[-1:, at.END] + at.RECORD_END])
        return _Sound(raw, table, position + bounds)


class _Libdeflate(NamedTuple):
    """Addresses of the function and its state, and room for what it answers."""

    gunzip: np.uint64
    unpacker: np.uint64
    sizes: NDArray[np.uint64]


@functools.cache
def _libdeflate() -> _Libdeflate | None:
    """The library, None where the package was built so that its functions cannot be reached: zlib unpacks then."""
    try:
        library = ctypes.CDLL(deflate._deflate.__file__)
        library.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
        gunzip = ctypes.cast(library.libdeflate_gzip_decompress_ex, ctypes.c_void_p).value or 0
        unpacker = library.libdeflate_alloc_decompressor()
    except (AttributeError, OSError):
        return None
    return _Libdeflate(np.uint64(gunzip), np.uint64(unpacker), np.zeros(2, np.uint64)) if gunzip and unpacker else None
