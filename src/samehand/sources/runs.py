"""Pages that lie in a buffer: what a fast reader hands over instead of Page objects, and the batches made of both."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import read_only
from samehand.base.page import Outcome, Page, Reject, Skip, digest_of
from samehand.base.page_rows import NO_TEXT, NUMBERS, TEXTS, PageRows, milliseconds_of, texts_of
from samehand.kernels import record_table as at
from samehand.sources.archive.heads import MAX_DATE, time_of

BATCH_PAGES: Final = 2048
BATCH_BYTES: Final = 48_000_000
BATCH_REJECTS: Final = 8 * BATCH_PAGES

_KEPT: list[PageRows] = []
"""Batches that are done with, for the memory they have."""
_BASE_32: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_IS_BASE_32: Final = np.isin(np.arange(256), list(_BASE_32))


class Run(NamedTuple):
    """Consecutive records of one archive.

    `raw` and `table` (samehand.kernels.record_table) are used again once the next item is asked for. `bounds` are the
    places in the file where the records start, and where the last one ends. `charsets` are those of the column CHARSET.
    `others` are the outcomes of the records of the kind OTHER.
    """

    raw: NDArray[np.uint8]
    table: NDArray[np.int64]
    bounds: NDArray[np.int64]
    name: str
    charsets: tuple[str, ...]
    others: tuple[Outcome, ...] = ()

    @property
    def warc_record_offset(self) -> int:
        """Where the last of the records starts."""
        return int(self.bounds[-2])

    def part(self, first: int, last: int) -> "Run":
        """Some of the records."""
        before, end = (np.count_nonzero(self.table[:place, at.KIND] == at.OTHER) for place in (first, last))
        return self._replace(
            table=self.table[first:last], bounds=self.bounds[first : last + 1], others=self.others[before:end]
        )

    def fitting(self, pages: int, size: int, rejects: int) -> int:
        """How many of the records fill a batch that lacks so many pages, bytes or rejects. The last may go beyond."""
        is_page = self.table[:, at.KIND] == at.PAGE
        is_reject = np.zeros_like(is_page)
        sizes = np.where(is_page, self.table[:, at.END] - self.table[:, at.BODY], 0)
        for place, outcome in self._placed():
            is_page[place], is_reject[place] = isinstance(outcome, Page), isinstance(outcome, Reject)
            sizes[place] = len(outcome.content) if isinstance(outcome, Page) else 0
        counted = ((is_page, pages), (sizes, size), (is_reject, rejects))
        full = (int(np.searchsorted(np.cumsum(values), lacking)) + 1 for values, lacking in counted)
        return min(len(self.table), *full)

    def _placed(self) -> Iterator[tuple[int, Outcome]]:
        """The outcomes of `others`, each with the row of its record."""
        return zip(np.flatnonzero(self.table[:, at.KIND] == at.OTHER).tolist(), self.others, strict=True)

    def skips(self) -> Counter[str]:
        """How many records are skips, by their reasons."""
        kinds = np.bincount(self.table[:, at.KIND], minlength=len(at.SKIPPED_TYPES) + 1).tolist()
        found = Counter({reason: count for reason, count in zip(at.SKIPPED_TYPES, kinds[1:], strict=False) if count})
        found.update(outcome.reason for outcome in self.others if isinstance(outcome, Skip))
        return found

    def rejects(self) -> list[Reject]:
        """The records that could have been pages."""
        return [outcome for outcome in self.others if isinstance(outcome, Reject)]

    def outcomes(self) -> Iterator[Outcome]:
        """The records one by one."""
        others = iter(self.others)
        for row, start, end in zip(self.table, self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True):
            if row[at.KIND] == at.PAGE:
                yield self._page(row, start, end - start)
            elif row[at.KIND] == at.OTHER:
                yield next(others)
            else:
                yield Skip(self.name, start, at.SKIPPED_TYPES[row[at.KIND] - 1])

    def _page(self, row: NDArray[np.int64], start: int, length: int) -> Page:
        digest, charset = self._bytes(row[at.DIGEST], row[at.DIGEST] + at.DIGEST_BYTES).upper(), row[at.CHARSET]
        has_digest = row[at.DIGEST] != at.NONE and not digest.strip(_BASE_32)
        return Page(
            url=self._bytes(row[at.URL], row[at.URL_END]).decode("ascii"),
            content=self._bytes(row[at.BODY], row[at.END]),
            source_path=self.name,
            warc_record_offset=start,
            warc_record_length=length,
            fetch_time=time_of(self._bytes(row[at.DATE], row[at.DATE_END])[:MAX_DATE]),
            fetch_status=int(row[at.STATUS]),
            content_digest=digest.decode("ascii") if has_digest else None,
            content_mime_detected=at.MIMES[row[at.MIME]],
            content_charset=self.charsets[charset] if charset != at.NONE else None,
            warc_filename=self.name,
        )

    def _bytes(self, start: int, end: int) -> bytes:
        return self.raw[start:end].tobytes()

    def add_to(self, rows: PageRows) -> None:
        """Appends the pages: those in the buffer all at once, those among `others` one by one."""
        from samehand.kernels.records import gather  # only those who read pages have to load the kernels

        is_plain = self.table[:, at.KIND] == at.PAGE
        made = {place: outcome for place, outcome in self._placed() if isinstance(outcome, Page)}
        is_page = is_plain.copy()
        is_page[list(made)] = True
        rank = np.cumsum(is_page) - 1
        plain, table = rank[is_plain], np.ascontiguousarray(self.table[is_plain].T)
        digests = self._digests(table)
        whole = np.arange(0, digests.size, at.DIGEST_BYTES)
        spans = (
            (self.raw, table[at.BODY], table[at.END]),
            (self.raw, table[at.URL], table[at.URL_END]),
            (read_only(digests.reshape(-1)), whole, whole + at.DIGEST_BYTES),
        )
        texts = {int(rank[place]): texts_of(page) for place, page in made.items()}
        sizes = np.zeros((len(spans), np.count_nonzero(is_page)), np.int64)
        for column, (_, starts, ends) in enumerate(spans):
            sizes[column, plain] = ends - starts
        for row, parts in texts.items():
            sizes[:, row] = [len(part) for part in parts]
        room = rows.room(*sizes)
        begins = np.cumsum(sizes, axis=1) - sizes
        for column, ((data, starts, ends), target) in enumerate(zip(spans, room[:3], strict=True)):
            gather(data, starts, ends, target, begins[column, plain])
            for row, parts in texts.items():
                begin = begins[column, row]
                target[begin : begin + len(parts[column])] = np.frombuffer(parts[column], np.uint8)
        room.numbers[plain] = self._numbers(table, is_plain, rows)
        for place, page in made.items():
            room.numbers[rank[place]] = rows.numbers_of(page)

    def _numbers(self, table: NDArray[np.int64], is_plain: NDArray[np.bool_], rows: PageRows) -> NDArray[np.int64]:
        """The columns of numbers of the pages in the buffer."""
        name = rows.code(self.name)
        texts = {
            "content_mime_detected": np.array([rows.code(mime) for mime in at.MIMES])[table[at.MIME]],
            "content_charset": self._charset_codes(table[at.CHARSET], rows),
            "source_path": name,
            "warc_filename": name,
        }
        fixed = (
            self._times(table[at.DATE], table[at.DATE_END]),
            table[at.STATUS],
            self.bounds[:-1][is_plain],
            np.diff(self.bounds)[is_plain],
            1,
        )
        numbers = np.empty((table.shape[1], NUMBERS), np.int64)
        for place, values in enumerate((*fixed, *(texts.get(column, NO_TEXT) for column in TEXTS))):
            numbers[:, place] = values
        return numbers

    def _charset_codes(self, charsets: NDArray[np.int64], rows: PageRows) -> NDArray[np.int64]:
        """The code of each page's charset. Few of the charsets occur."""
        found, places = np.unique(charsets, return_inverse=True)
        codes = [NO_TEXT if charset == at.NONE else rows.code(self.charsets[charset]) for charset in found.tolist()]
        return np.array(codes, np.int64)[places]

    def _times(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[int]:
        """Dates as they are stored."""
        spans = zip(starts.tolist(), ends.tolist(), strict=True)
        return [_milliseconds(self._bytes(start, end)) for start, end in spans]

    def _digests(self, table: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The digests that the archive gives, in capitals. Those that it does not give are computed."""
        starts = np.maximum(table[at.DIGEST], 0)
        digests: NDArray[np.uint8] = self.raw.take(starts[:, None] + np.arange(at.DIGEST_BYTES), mode="clip")
        np.bitwise_and(digests, 0xDF, out=digests, where=digests >= ord("a"))
        is_digest = (table[at.DIGEST] != at.NONE) & _IS_BASE_32[digests].all(axis=1)
        for row in np.flatnonzero(~is_digest).tolist():
            digest = digest_of(self.raw[table[at.BODY, row] : table[at.END, row]].data)
            digests[row] = np.frombuffer(digest.encode(), np.uint8)
        return digests


@functools.lru_cache(maxsize=1 << 12)
def _milliseconds(date: bytes) -> int:
    """A date as it is stored. Pages are fetched many in a second."""
    return milliseconds_of(time_of(date[:MAX_DATE]))


def batched(items: Iterable[Outcome | Run], skipped: Counter[str]) -> Iterator[tuple[PageRows, list[Reject]]]:
    """Pages and rejects in batches that depend on the records alone, so that parts are the same in every run.

    Skips are counted in `skipped`. A batch may be used until the second one after it is asked for.
    """
    rows, spare = _take(), _take()
    rejects: list[Reject] = []
    for item in items:
        rest: Outcome | Run | None = item
        while rest is not None:
            rest = _put(rest, rows, rejects, skipped)
            if len(rows) >= BATCH_PAGES or rows.content_bytes >= BATCH_BYTES or len(rejects) >= BATCH_REJECTS:
                yield rows, rejects
                rows, spare, rejects = spare, rows, []
                rows.clear()
    yield rows, rejects
    _KEPT.extend((rows, spare))


def _take() -> PageRows:
    """Room for a batch. That of the unit of work before is used again, because fresh memory is slow to write to."""
    rows = _KEPT.pop() if _KEPT else PageRows(BATCH_BYTES + BATCH_BYTES // 4)
    rows.clear()
    return rows


def _put(item: Outcome | Run, rows: PageRows, rejects: list[Reject], skipped: Counter[str]) -> Run | None:
    """Puts an item where it belongs. Returns the rest of a run that does not fit into the batch."""
    if isinstance(item, Run):
        lacking = BATCH_PAGES - len(rows), BATCH_BYTES - rows.content_bytes, BATCH_REJECTS - len(rejects)
        fitting = item.fitting(*lacking)
        now = item.part(0, fitting)
        now.add_to(rows)
        rejects.extend(now.rejects())
        skipped.update(now.skips())
        return item.part(fitting, len(item.table)) if fitting < len(item.table) else None
    if isinstance(item, Page):
        rows.add(item)
    elif isinstance(item, Reject):
        rejects.append(item)
    else:
        skipped[item.reason] += 1
    return None
