"""What to keep of a corpus: one row per document of the input, in order, and one document of each group of replicas.

Documents are the pages of a run and its rejects: kept and dropped together are all of them. Rows are made part by part,
so the memory needed is that of the replica groups, not of the corpus.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import is_among
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, REJECTS, REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SIGNATURES

FIRST, LONGEST, OLDEST, CENTRE = "first", "longest", "oldest", "centre"
SURVIVORS: Final = (FIRST, LONGEST, OLDEST, CENTRE)
"""Which document of a group of replicas is kept. Equal ones are told apart by their order in the input."""
UNIQUE, SURVIVOR, REPLICA, NOT_COMPARED = "unique", "survivor", "replica", "too few words to compare"

KEEP_DROP_SCHEMA: Final = pa.schema(
    [
        pa.field("doc_id", pa.string()),
        pa.field("url", pa.string()),
        pa.field("page_id", pa.int64()),
        pa.field("source_path", pa.string(), nullable=False),
        pa.field("warc_record_offset", pa.int64(), nullable=False),
        pa.field("keep", pa.bool_(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("replica_group_id", pa.int64()),
        pa.field("kept_page_id", pa.int64()),
        pa.field("kept_doc_id", pa.string()),
        pa.field("kept_url", pa.string()),
    ]
)
_PAGE_COLUMNS = ["doc_id", "url", "page_id", "source_path", "warc_record_offset"]
_FAR = np.iinfo(np.int64).max


@dataclasses.dataclass(frozen=True, slots=True)
class Replicas:
    """The members of all groups in order of page ids, and of each member its group and the place of its survivor."""

    page_ids: NDArray[np.int64]
    group_ids: NDArray[np.int64]
    survivors: NDArray[np.int64]
    doc_ids: pa.StringArray
    urls: pa.StringArray


def find_survivors(folder: RunFolder, survivor: str) -> Replicas:
    """The groups of near replicas, and the document of each that is kept."""
    members = folder.read(REPLICA_MEMBERS, ["page_id", "replica_group_id", "doc_id", "url"]).sort_by("page_id")
    page_ids, group_ids = (members.column(name).to_numpy() for name in ("page_id", "replica_group_id"))
    order = np.lexsort((page_ids, _rank(folder, survivor, page_ids), group_ids))
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = group_ids[order][1:] != group_ids[order][:-1]
    survivors = np.empty(order.size, np.int64)
    survivors[order] = order[is_first][np.cumsum(is_first) - 1]
    names = (members.column(name).combine_chunks() for name in ("doc_id", "url"))
    return Replicas(page_ids, group_ids, survivors, *names)


def _rank(folder: RunFolder, survivor: str, page_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """What decides who is kept, smallest first. `page_ids` are sorted."""
    rank = np.zeros(page_ids.size, np.int64)
    if survivor == CENTRE:
        centres = folder.read(REPLICA_GROUPS, ["centre_page_id"]).column("centre_page_id").to_numpy()
        return np.where(is_among(page_ids, np.sort(centres)), 0, 1)
    if survivor == FIRST:
        return rank
    column = "content_length" if survivor == LONGEST else "fetch_time"
    for batch in folder.iterate(PAGES, ["page_id", column]):
        ids = batch.column("page_id").to_numpy()
        own = slice(*np.searchsorted(page_ids, (ids[0], ids[-1] + 1))) if ids.size else slice(0)
        values = pc.fill_null(batch.column(column).cast(pa.int64()), _FAR).to_numpy()
        rank[own] = values[np.searchsorted(ids, page_ids[own])]
    return -rank if survivor == LONGEST else rank


def keep_drop(folder: RunFolder, survivor: str, counts: Counter[str]) -> Iterator[pa.RecordBatch]:
    """KEEP_DROP_SCHEMA of every document, in the order of the input. `counts` gets the reasons."""
    replicas = find_survivors(folder, survivor)
    for number in folder.part_numbers(PAGES):
        statuses = folder.read_part(REPLICA_SIGNATURES, number, ["status"]).column("status").combine_chunks()
        first = 0
        for batch in folder.iterate_part(PAGES, number, _PAGE_COLUMNS):
            yield _counted(_rows_of_pages(batch, statuses.slice(first, len(batch)), replicas), counts)
            first += len(batch)
        for batch in folder.iterate_part(REJECTS, number, [field.name for field in REJECTS.fixed_schema]):
            yield _counted(_rows_of_rejects(batch), counts)


def _rows_of_pages(pages: pa.RecordBatch, statuses: pa.Array, replicas: Replicas) -> pa.RecordBatch:
    ids = pages.column("page_id").to_numpy()
    places = np.searchsorted(replicas.page_ids, ids)
    inside = np.minimum(places, max(0, replicas.page_ids.size - 1))
    grouped = replicas.page_ids[inside] == ids if replicas.page_ids.size else np.zeros(ids.size, np.bool_)
    kept = np.where(grouped, replicas.survivors[inside], -1) if replicas.page_ids.size else np.full(ids.size, -1)
    is_dropped = grouped & (kept != inside)
    reasons = np.where(is_dropped, REPLICA, np.where(grouped, SURVIVOR, UNIQUE))
    few = ~grouped & np.asarray(pc.not_equal(statuses, "signed"))
    take = pa.array(kept, mask=~is_dropped)
    columns = {
        **{name: pages.column(name) for name in _PAGE_COLUMNS},
        "keep": pa.array(~is_dropped),
        "reason": pa.array(np.where(few, NOT_COMPARED, reasons), pa.string()),
        "replica_group_id": pa.array(replicas.group_ids).take(pa.array(inside, mask=~grouped)),
        "kept_page_id": pa.array(replicas.page_ids).take(take),
        "kept_doc_id": replicas.doc_ids.take(take),
        "kept_url": replicas.urls.take(take),
    }
    return pa.record_batch([columns[name] for name in KEEP_DROP_SCHEMA.names], schema=KEEP_DROP_SCHEMA)


def _rows_of_rejects(rejects: pa.RecordBatch) -> pa.RecordBatch:
    """Documents that could not be read are dropped. Those of them that had an id keep it."""
    size = len(rejects)
    columns = {
        "doc_id": _or_null(rejects.column("doc_id")),
        "url": _or_null(rejects.column("url")),
        "source_path": rejects.column("source_path"),
        "warc_record_offset": rejects.column("warc_record_offset"),
        "keep": pa.array([False] * size),
        "reason": pc.binary_join_element_wise("rejected", rejects.column("reason"), ": "),
    }
    arrays = [columns.get(field.name, pa.nulls(size, field.type)) for field in KEEP_DROP_SCHEMA]
    return pa.record_batch(arrays, schema=KEEP_DROP_SCHEMA)


def _or_null(column: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _counted(rows: pa.RecordBatch, counts: Counter[str]) -> pa.RecordBatch:
    for value in pc.value_counts(rows.column("reason")).to_pylist():
        counts[value["values"]] += value["counts"]
    return rows
