"""The pages of a run once more: out of the run folder if it keeps them, else out of the inputs, which must not change.

Page ids are positions, so a method that reads an input again must find the same pages in it, or it would answer about
others. Inputs are checked by size and digest before, and every page by its own digest while it is read.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.buffers import as_binary
from samehand.base.errors import InputError, RunError
from samehand.base.page import CONTENT_FIELD, Page, pages_to_batch
from samehand.methods.page_batch import PageBatch
from samehand.sources import Unit, changed_sources, read_unit
from samehand.sources.texts import Text
from samehand.store.folder import RunFolder
from samehand.store.tables import CONTENT, PAGES


def iterate_stored(folder: RunFolder, number: int) -> Iterator[pa.RecordBatch]:
    """The pages of a unit with their content, in the batches in which they were written."""
    pages = folder.read_part(PAGES, number)
    path = folder.part_path(CONTENT, number)
    first = 0
    with pq.ParquetFile(path) as part:
        if part.metadata.num_rows != pages.num_rows:
            raise RunError(f"{path} does not hold the pages of its unit. Scan the inputs again with --force.")
        for group in range(part.num_row_groups):
            content = part.read_row_group(group, ["content"]).column("content").combine_chunks()
            rows = pages.slice(first, len(content)).combine_chunks().to_batches()[0]
            yield pa.record_batch([*rows.columns, content], schema=rows.schema.append(CONTENT_FIELD))
            first += len(content)


class SamePages:
    """Checks that the pages of a unit that is read again are those stored."""

    def __init__(self, folder: RunFolder, unit: Unit) -> None:
        self._name = unit.source.name
        self._stored = folder.read_part(PAGES, unit.number, ["page_id", "content_digest"])
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
    changed = changed_sources({unit.source: None for unit in units if not _is_kept(folder, unit)})
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise InputError(f"{', '.join(changed[:3])}{more} changed or went since the scan: {_AGAIN}")


def run_texts(folder: RunFolder) -> Iterator[Text]:
    """The visible text of every page of a run, with its URL."""
    settings = folder.settings()
    units = [Unit.from_dict(record["unit"]) for record in folder.done.parts(PAGES.name).values()]
    check_inputs(folder, units)
    for unit in units:
        if _is_kept(folder, unit):
            for batch in iterate_stored(folder, unit.number):
                texts = as_binary(*PageBatch(batch, settings).texts).to_pylist()
                yield from zip(batch.column("url").to_pylist(), texts, strict=True)
        else:
            for item in read_unit(unit, settings):
                if isinstance(item, Page):
                    texts = PageBatch(pages_to_batch([item], 0), settings).texts
                    yield item.url, texts[0].tobytes()


_AGAIN = "put it back, or scan again. With --keep-pages a run needs its inputs no more."


def _is_kept(folder: RunFolder, unit: Unit) -> bool:
    return folder.part_path(CONTENT, unit.number).is_file()
