"""The pages of a run once more: out of the run folder if it keeps them, else out of the inputs, which must not change.

Page ids are positions, so a method that reads an input again must find the same pages in it, or it would answer about
others. Inputs are checked by size and digest before, and every page by URL and checksum while it is read.
"""

import zlib
from collections.abc import Iterable, Iterator

import pyarrow as pa

from samehand.base.buffers import as_binary
from samehand.base.errors import InputError, RunError
from samehand.base.page import CONTENT_FIELD, Page
from samehand.base.page_rows import pages_to_batch
from samehand.methods.page_batch import PageBatch
from samehand.sources import Source, Unit, changed_sources, read_unit
from samehand.sources.texts import Text
from samehand.store.folder import DAMAGED, RunFolder
from samehand.store.page_ids import UNIT_BITS
from samehand.store.tables import CONTENT, PAGES

_AGAIN = "put it back, or scan again. With --keep-pages a run needs its inputs no more."
_ROW_GROUP = 1 << 20
"""More rows than any batch of pages has: a row group is read at once."""


def iterate_stored(folder: RunFolder, number: int) -> Iterator[pa.RecordBatch]:
    """The pages of a unit with the content that the run folder keeps, in the batches in which they were written."""
    pages = folder.read_part(PAGES, number)
    first = 0
    for kept in folder.iterate_part(CONTENT, number, CONTENT.fixed_schema.names, rows=_ROW_GROUP):
        rows = pages.slice(first, len(kept)).combine_chunks().to_batches()[0]
        content = kept.column("content")
        if [zlib.crc32(page.as_buffer()) for page in content] != rows.column("content_crc32").to_pylist():
            raise RunError(f"{folder.part_path(CONTENT, number)} does not hold the pages of its unit. {DAMAGED}")
        yield pa.record_batch([*rows.columns, content], schema=rows.schema.append(CONTENT_FIELD))
        first += len(kept)


class SamePages:
    """Checks that the pages of a unit that is read again are those stored."""

    def __init__(self, folder: RunFolder, unit: Unit) -> None:
        self._name = unit.source.name
        self._stored = folder.read_part(PAGES, unit.number, ["page_id", "url", "content_crc32"])
        self._seen = 0

    def check(self, batch: pa.RecordBatch) -> None:
        """The next pages are the next stored ones."""
        stored = self._stored.slice(self._seen, len(batch))
        self._seen += len(batch)
        if not stored.equals(pa.Table.from_batches([batch]).select(stored.column_names).cast(stored.schema)):
            raise InputError(f"{self._name} changed since the scan: {_AGAIN}")

    def finish(self) -> None:
        """No page is missing."""
        if self._seen != self._stored.num_rows:
            raise InputError(f"{self._name} changed since the scan: {_AGAIN}")


def check_inputs(folder: RunFolder, units: Iterable[Unit]) -> None:
    """The inputs of units that the run folder does not keep are what they were. InputError names those that are not."""
    check_sources({unit.source: None for unit in units if not _is_kept(folder, unit)})


def check_sources(sources: Iterable[Source]) -> None:
    """Inputs are what they were when they were found. InputError names those that are not."""
    changed = changed_sources(sources)
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise InputError(f"{', '.join(changed[:3])}{more} changed or went since the scan: {_AGAIN}")


def run_texts(folder: RunFolder) -> Iterator[Text]:
    """The visible text of every page of a run, with its URL."""
    settings = folder.settings()
    units = [Unit.from_dict(record["unit"]) for record in folder.done.parts(PAGES.name).values()]
    check_inputs(folder, units)
    for unit in units:
        for batch in iterate_stored(folder, unit.number) if _is_kept(folder, unit) else _read_again(folder, unit):
            texts = as_binary(*PageBatch(batch, settings).texts).to_pylist()
            yield from zip(batch.column("url").to_pylist(), texts, strict=True)


def _read_again(folder: RunFolder, unit: Unit) -> Iterator[pa.RecordBatch]:
    """The pages of a unit out of its input, one at a time."""
    same = SamePages(folder, unit)
    pages = (item for item in read_unit(unit, folder.settings()) if isinstance(item, Page))
    for page_id, page in enumerate(pages, start=unit.number << UNIT_BITS):
        batch = pages_to_batch([page], page_id)
        same.check(batch)
        yield batch
    same.finish()


def _is_kept(folder: RunFolder, unit: Unit) -> bool:
    return folder.part_path(CONTENT, unit.number).is_file()
