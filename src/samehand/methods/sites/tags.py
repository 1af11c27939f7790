"""Structure of pages (Geraci: Identification of Web Spam through Clustering of Website Structures, WWW 2015).

A page is its sequence of tag names, start and end tags in source order, without attributes and text. The distance of
two pages is 1 minus what they share ÷ the length of the longer one. Four measures differ in what counts as shared:

    R   the length of the shorter page                                                       section 3.1.1
    F   tags whose names are equally long, by counts of 11 lengths                           section 3.1.1
    B   tags with equal names, by counts: ours, between F and D
    D   the longest common subsequence of the tags: the distance, a metric                   section 3.1

R <= F <= B <= D, in the order of their cost. Tag names that HTML does not know are numbered by a hash: two names of
equal length get the same number in 1 of 1,024 cases (kernels/html/tagnames.py).
"""

import dataclasses
import functools
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import as_binary, column_buffers, read_only
from samehand.base.settings import Settings
from samehand.html import END, TAG_NAMES, Limits, Markup, parse_pages, tag_lengths, tag_names
from samehand.kernels import tags as kernel

MAX_TAGS = Settings().max_tags
"""Only so many tags of a page are kept: the time of D, and the memory of an alignment, grow with the square. An
alignment of two pages of 50,000 tags, the highest setting, takes 313 MB."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TagSequences:
    """Tags that lie end to end: page i is tags[offsets[i]:offsets[i+1]], and has counts[i] tags in all."""

    tags: NDArray[np.uint16]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, stored: pa.Table) -> Self:
        """Sequences from the rows that `structure_batch` made."""
        parts = [_unpacked(chunk) for chunk in stored.column("tags").chunks if len(chunk)]
        lengths = [np.diff(offsets) for _, offsets in parts]
        return cls(
            np.concatenate([np.zeros(0, np.uint16), *(tags for tags, _ in parts)]),
            np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))]),
            stored.column("tag_count").to_numpy(),
        )

    @property
    def cut(self) -> int:
        """Pages that had more tags than were kept."""
        return int(np.count_nonzero(self.counts > np.diff(self.offsets)))


def tag_sequences(found: Markup, *, max_tags: int = MAX_TAGS) -> TagSequences:
    """The first `max_tags` tags of each page."""
    counts = np.diff(found.tag_offsets)
    if not (counts > max_tags).any():
        return TagSequences(found.tags, found.tag_offsets, counts.astype(np.int32))
    kept = np.minimum(counts, max_tags)
    offsets = np.concatenate([[0], np.cumsum(kept)])
    places = np.arange(offsets[-1]) + np.repeat(found.tag_offsets[:-1] - offsets[:-1], kept)
    return TagSequences(found.tags[places], offsets, counts.astype(np.int32))


STRUCTURE_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("tag_count", pa.int32(), nullable=False),
        pa.field("tags", pa.large_binary(), nullable=False),
    ]
)
"""The number of tags of each page, and the tags that are kept, packed (`kernels.tags.pack`).

Packed tags take half the memory of 16-bit numbers and 27 % less on disk, under zstd: 64 bytes a page of 840 tags.
"""


def structure_batch(page_ids: pa.Array, found: Markup, *, max_tags: int = MAX_TAGS) -> pa.RecordBatch:
    """The tag sequences of parsed pages, as rows of STRUCTURE_SCHEMA."""
    sequences = tag_sequences(found, max_tags=max_tags)
    packed, bounds = kernel.pack(read_only(sequences.tags), read_only(sequences.offsets))
    columns = [page_ids, pa.array(sequences.counts), as_binary(packed, bounds)]
    return pa.record_batch(columns, schema=STRUCTURE_SCHEMA)


def _unpacked(column: pa.LargeBinaryArray) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    data, offsets = column_buffers(column)
    unpacked: tuple[NDArray[np.uint16], NDArray[np.int64]] = kernel.unpack(read_only(data), read_only(offsets))
    return unpacked


@functools.cache
def _name_classes() -> NDArray[np.uint8]:
    """The length class of each tag: 0 for a name of one letter, 10 for one of more than 10."""
    lengths = tag_lengths(np.arange(kernel.ALL_TAGS).astype(np.uint16))
    return np.clip(lengths, 1, kernel.LENGTH_CLASSES) - np.uint8(1)


def pages_of(sequences: TagSequences, rows: NDArray[np.int64]) -> kernel.Pages:
    """These pages as the kernels take them, with the counts for F and B. The tags are not copied."""
    tags = read_only(sequences.tags)
    starts = sequences.offsets[rows]
    lengths = sequences.offsets[rows + 1] - starts
    return kernel.Pages(tags, starts, lengths, *kernel.count_tags(tags, starts, lengths, _name_classes()))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DistinctPages:
    """The different sequences: `rows` are the first pages that have them, and page i has that of rows[places[i]]."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    pages: kernel.Pages


def distinct_pages(sequences: TagSequences, rows: NDArray[np.int64]) -> DistinctPages:
    """The different sequences among `rows`, in the order of row numbers. Parked pages are often equal."""
    rows, back = np.unique(rows, return_inverse=True)
    tags, starts = read_only(sequences.tags), sequences.offsets[rows]
    lengths = sequences.offsets[rows + 1] - starts
    hashes = kernel.hash_sequences(tags, starts, lengths)
    order = np.argsort(hashes, kind="stable")
    kinds, places = np.unique(kernel.first_equals(tags, starts, lengths, hashes, order), return_inverse=True)
    return DistinctPages(rows[kinds], places[back], pages_of(sequences, rows[kinds]))


def distances_to(
    sequences: TagSequences, row: int, rows: NDArray[np.int64], *, within: float = 1.0
) -> NDArray[np.float64]:
    """D between one page and each of `rows`; infinite where it is above `within`. A small `within` saves time."""
    pages = pages_of(sequences, np.append(rows, row))
    return distances_from(kernel.make_centre(pages, rows.size), pages, np.arange(rows.size), within=within)


def distances_from(
    centre: kernel.Centre, pages: kernel.Pages, chosen: NDArray[np.int64], *, within: float = 1.0
) -> NDArray[np.float64]:
    """`distances_to` for prepared pages."""
    distances = np.full(pages.lengths.size, np.nextafter(within, 2.0))
    nearest = np.zeros(pages.lengths.size, np.int32)
    kernel.move_nearer(pages, centre, chosen, 1, nearest, distances)
    return np.where(nearest == 1, distances, np.inf)[chosen]


@dataclasses.dataclass(frozen=True, slots=True)
class StructureComparison:
    """The distance of two pages by each measure, their numbers of tags, and the tags side by side.

    The alignment follows a longest common subsequence: tags side by side are equal, None is a gap. Names of end tags
    begin with a slash. `cut` says that a page has more tags than were compared.
    """

    r: float
    f: float
    b: float
    d: float
    left_tags: int
    right_tags: int
    cut: bool
    alignment: list[tuple[str | None, str | None]]


def compare_structure(
    left: bytes, right: bytes, *, max_tags: int = MAX_TAGS, limits: Limits | None = None
) -> StructureComparison:
    """Compares the tags of two pages, given in an encoding in which bytes below 0x80 are ASCII."""
    offsets = np.array([0, len(left), len(left) + len(right)])
    found = parse_pages(np.frombuffer(left + right, np.uint8), offsets, limits=limits)
    sequences = tag_sequences(found, max_tags=max_tags)
    first, second = np.split(sequences.tags, [sequences.offsets[1]])
    names = _names(first, left), _names(second, right)
    alignment: list[tuple[str | None, str | None]] = [
        (names[0][i] if i >= 0 else None, names[1][j] if j >= 0 else None)
        for i, j in _alignment(first, second).tolist()
    ]
    pages = pages_of(sequences, np.arange(2))
    shared = (
        min(first.size, second.size),
        kernel.shared_classes(pages, 0, 1),
        kernel.shared_names(pages, kernel.make_centre(pages, 0), 1),
        sum(None not in pair for pair in alignment),
    )
    longer = max(first.size, second.size)
    r, f, b, d = (1.0 - common / longer if longer else 0.0 for common in shared)
    return StructureComparison(r, f, b, d, first.size, second.size, sequences.cut > 0, alignment)


def _names(tags: NDArray[np.uint16], content: bytes) -> list[str]:
    """The names of tags. Hashed names are only in the page itself, which takes longer to read."""
    if (tags & (END - 1) >= len(TAG_NAMES)).any():
        return tag_names(content)[: tags.size]
    return ["/" * (tag >= END) + TAG_NAMES[tag & (END - 1)] for tag in tags.tolist()]


def _alignment(left: NDArray[np.uint16], right: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Places of aligned tags, -1 for a gap. Where both sides have other tags, those of the left come first.

    Equal tags at the start and at the end are aligned here, so the kernel gets only what is between them.
    """
    begin = _equal_run(left, right)
    after = _equal_run(left[begin:][::-1], right[begin:][::-1])
    sides = left[begin : left.size - after], right[begin : right.size - after]
    middle = kernel.align(read_only(sides[1]), read_only(sides[0]))[:, ::-1]
    starts, ends = np.arange(begin), np.arange(-after, 0)
    return np.concatenate(
        [
            np.column_stack([starts, starts]),
            np.where(middle < 0, -1, middle + begin),
            np.column_stack([ends + left.size, ends + right.size]),
        ]
    )


def _equal_run(left: NDArray[np.uint16], right: NDArray[np.uint16]) -> int:
    shorter = min(left.size, right.size)
    different = np.flatnonzero(left[:shorter] != right[:shorter])
    return int(different[0]) if different.size else shorter
