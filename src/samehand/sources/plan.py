"""Divides sources into units of work. The plan depends on the sources and on `split_bytes`, never on the workers."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from samehand.sources.archive.members import GzipCodec, MemberError
from samehand.sources.archive.warc import form_of, open_archive
from samehand.sources.files import FOLDER_UNIT, top_level
from samehand.sources.tables import row_groups, unpacked
from samehand.sources.unit import Source, Unit


def plan_units(sources: Sequence[Source], split_bytes: int) -> list[Unit]:
    """The units of all sources, numbered in order."""
    spans = ((source, start, end) for source in sources for start, end in _spans(source, split_bytes))
    return [Unit(number, source, start, end) for number, (source, start, end) in enumerate(spans)]


def _spans(source: Source, split_bytes: int) -> Iterator[tuple[int, int]]:
    if source.kind == "folder":
        return _pieces(_count_of(source), FOLDER_UNIT)
    if source.kind == "parquet":
        return _row_spans(source, split_bytes)
    if source.size > split_bytes and _can_split(source):
        return _pieces(source.size, split_bytes)
    return iter([(0, source.size)])


def _pieces(total: int, step: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + step, total)) for start in range(0, max(1, total), step))


def _count_of(source: Source) -> int:
    try:
        return len(top_level(source.path))
    except OSError:
        # Gone since it was found: one unit, whose reader says so.
        return 1


def _row_spans(source: Source, split_bytes: int) -> Iterator[tuple[int, int]]:
    """Whole row groups, as many as fit into `split_bytes` of the file, at least one."""
    groups = row_groups(source.path)
    per_byte = source.size / max(1, sum(unpacked_size for _, unpacked_size in groups))
    ends: list[int] = []
    row = 0
    size = 0.0
    for rows, unpacked_size in groups:
        packed = unpacked_size * per_byte
        if size and size + packed > split_bytes:
            ends.append(row)
            size = 0.0
        row += rows
        size += packed
    return itertools.pairwise([0, *_distinct(ends), row])


def _distinct(ends: Iterable[int]) -> list[int]:
    """Without empty units, which row groups without rows would make."""
    return sorted({end for end in ends if end > 0})


def _can_split(source: Source) -> bool:
    """Whether reading can start anywhere in the file: not where everything is packed as one."""
    try:
        with open(source.path, "rb") as file:
            if source.kind == "jsonl":
                return unpacked(file, source.size) is None
            if source.kind != "warc":
                return False
            codec = open_archive(file, source.size, form_of(source)).codec
            return codec is None or (isinstance(codec, GzipCodec) and _is_packed_by_record(codec))
    except OSError:
        return False


def _is_packed_by_record(codec: GzipCodec) -> bool:
    """Whether the first member ends before the file does. One that is broken says nothing: then yes."""
    member = codec.open(0)
    try:
        while member.read(1 << 20):
            pass
    except MemberError:
        return member.end < codec.size
    return member.end < codec.size
