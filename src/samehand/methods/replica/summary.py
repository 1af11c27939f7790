"""From signatures to the answers of a run: groups of near replicas, their members, and who shares text."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import as_binary, chosen_lists, text_buffers
from samehand.base.settings import Settings
from samehand.grouping.memory import mapped_zeros, release
from samehand.kernels.segments import distinct_values, segment_hashes
from samehand.kernels.text.pairs import SLOTS
from samehand.methods.replica.groups import find_replicas
from samehand.methods.replica.signatures import Signed, WordSets
from samehand.store.folder import RunFolder
from samehand.store.row_groups import ROW_GROUP_ROWS
from samehand.store.tables import PAGES, REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SHARES, REPLICA_SIGNATURES
from samehand.store.taken import gathered, taken, taken_lists

KEY_COLUMNS = [
    "page_id",
    "status",
    "words_digest",
    "signatures",
    "pairs",
    "pair_sketch",
    "overlap",
    "overlap_secondary",
    "markup_flags",
]
_RELEASED = 1 << 16
"""After so many rows the memory of what was written is given back."""


def group_replicas(folder: RunFolder, settings: Settings, *, threads: int) -> dict[str, Any]:
    """Writes members and groups of near replicas, and who shares text; returns their counts."""
    signed, statuses, capped = _read_signed(folder, settings)
    found = find_replicas(
        folder.page_ids.ids(), signed, settings, sets_of=lambda wanted: _load_sets(folder, wanted), threads=threads
    )
    members = found.members
    groups = _ranked(folder, found.groups, members)
    folder.write(REPLICA_GROUPS, groups)
    _write_members(folder, members, groups.column("replica_group_id").combine_chunks(), settings)
    folder.write(REPLICA_SHARES, _with_urls(folder, found.shares))
    return {
        "groups": groups.num_rows,
        "grouped_documents": members.num_rows,
        "sharing_documents": found.shares.num_rows,
        "statuses": dict(sorted(statuses.items())),
        "markup_capped": capped,
        "checks": found.counts.checks,
        "leader_cap_hits": found.counts.leader_cap_hits,
    }


def _read_signed(folder: RunFolder, settings: Settings) -> tuple[Signed, Counter[str], int]:
    """All documents without their words, what became of them, and how many hit a limit of the markup pass.

    Signatures and sketches are mapped from files: one column of signatures at a time is in memory, and the sketches
    only while they are compared.
    """
    rows = len(folder.page_ids)
    signatures = mapped_zeros(folder.path, (settings.randomised_lexicons + 1, rows), np.uint64)
    sketches = mapped_zeros(folder.path, (rows, SLOTS), np.uint8)
    digests, pairs = np.empty(rows, np.uint64), np.empty(rows, np.int32)
    statuses: Counter[str] = Counter()
    first = capped = 0
    for batch in folder.iterate(REPLICA_SIGNATURES, KEY_COLUMNS):
        found, here = _signed(pa.Table.from_batches([batch])), slice(first, first + len(batch))
        signatures[:, here], sketches[here] = found.signatures.T, found.sketches
        digests[here], pairs[here] = found.digests, found.pairs
        counted = pc.value_counts(batch.column("status")).to_pylist()
        statuses.update({row["values"]: row["counts"] for row in counted})
        capped += int(np.count_nonzero(batch.column("markup_flags").to_numpy()))
        first += len(batch)
        if first // _RELEASED != (first - len(batch)) // _RELEASED:
            release(signatures)
            release(sketches)
    release(signatures)
    release(sketches)
    pa.default_memory_pool().release_unused()
    none = np.zeros(0, np.int64)
    sets = WordSets(np.zeros(rows + 1, np.int64), np.zeros(0, np.uint32))
    return Signed(signatures.T, digests, sets, sketches, pairs, none, none), statuses, capped


def _signed(rows: pa.Table) -> Signed:
    """Documents without their words, from rows of replica/signatures."""
    nothing = pa.LargeListArray.from_arrays(np.zeros(rows.num_rows + 1, np.int64), pa.array([], pa.uint32()))
    return Signed.of(rows.append_column("word_set", nothing))


def stored_sketches(rows: pa.Table) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Sketches of neighbouring words and the numbers of pairs, from rows of replica/signatures."""
    signed = _signed(rows)
    return signed.sketches, signed.pairs


def _load_sets(folder: RunFolder, wanted: NDArray[np.bool_]) -> WordSets:
    """The sets of words of the wanted documents, and empty ones of all others."""
    rows = np.flatnonzero(wanted)
    found, words = taken_lists(folder, REPLICA_SIGNATURES, "word_set", rows, np.uint32)
    starts = np.zeros(len(wanted) + 1, np.int64)
    starts[rows + 1] = np.diff(found)
    return WordSets(np.cumsum(starts, out=starts), words)


def _with_urls(folder: RunFolder, shares: pa.Table) -> pa.Table:
    """Shared texts with the addresses of both documents."""
    left, right = (
        gathered(folder, PAGES, ["url", "doc_id"], folder.page_ids.rows(shares.column(name).to_numpy()))
        for name in ("page_id", "with_page_id")
    )
    columns = {name: shares.column(name) for name in shares.column_names}
    return pa.table(
        {**columns, "url": left.column("url"), "doc_id": left.column("doc_id"), "with_url": right.column("url")}
    )


def _write_members(folder: RunFolder, members: pa.Table, numbered: pa.Array, settings: Settings) -> None:
    """Writes members with their addresses and the numbers of their groups, a stretch at a time."""
    rows = folder.page_ids.rows(members.column("page_id").to_numpy())
    order = np.argsort(rows, kind="stable")
    places = np.empty(order.size, np.int32)
    places[order] = np.arange(order.size)
    starts, urls = taken_lists(folder, PAGES, "url", rows[order], np.uint8)
    ids = pa.chunked_array([batch.column(0) for _, batch in taken(folder, PAGES, ["doc_id"], rows[order])], pa.string())
    del rows, order
    with folder.writer(REPLICA_MEMBERS, settings) as writer:
        for first in range(0, len(places), ROW_GROUP_ROWS):
            part, here = members.slice(first, ROW_GROUP_ROWS), places[first : first + ROW_GROUP_ROWS]
            bounds, data = chosen_lists(starts, urls, here)
            release(urls)
            number = pc.index_in(part.column("replica_group_id"), numbered).cast(pa.int64())
            part = part.append_column("url", as_binary(data, bounds).cast(pa.string()))
            part = part.append_column("doc_id", ids.take(pa.array(here)))
            writer.write(part.append_column("group_number", pc.add(number, 1)))


def _ranked(folder: RunFolder, groups: pa.Table, members: pa.Table) -> pa.Table:
    """Groups with the number of their hosts and sites and the URL of their centre; largest first.

    Members stand in order of their groups.
    """
    ids = folder.page_ids
    hosts, sites = _host_hashes(folder, ids.rows(members.column("page_id").to_numpy()))
    bounds = np.append(0, np.cumsum(groups.column("documents").to_numpy()))
    centres = gathered(folder, PAGES, ["url"], ids.rows(groups.column("centre_page_id").to_numpy()))
    for name, hashes in (("hosts", hosts), ("sites", sites)):
        groups = groups.append_column(name, pa.array(_different(hashes, bounds)))
    groups = groups.append_column("centre_url", centres.column("url"))
    ranked = groups.sort_by([("documents", "descending"), ("replica_group_id", "ascending")])
    return ranked.append_column("group_number", pa.array(np.arange(1, ranked.num_rows + 1)))


def _host_hashes(folder: RunFolder, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Hashes of the hosts and of the sites of some pages, 0 for none."""
    order = np.argsort(rows, kind="stable")
    found = np.empty((2, rows.size), np.uint64)
    for here, batch in taken(folder, PAGES, ["url_host_name", "url_host_private_domain"], rows[order]):
        host = batch.column("url_host_name")
        for column, texts in zip(
            found, (host, pc.coalesce(batch.column("url_host_private_domain"), host)), strict=True
        ):
            hashes = segment_hashes(*text_buffers(texts))
            hashes[texts.is_null().to_numpy(zero_copy_only=False)] = 0
            column[order[here]] = hashes
    return found[0], found[1]


def _different(hashes: NDArray[np.uint64], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many different hashes other than 0 each segment has."""
    counts = distinct_values(hashes, np.arange(hashes.size, dtype=np.int32), bounds)
    if not counts.size:
        return counts
    return np.asarray(counts - np.logical_or.reduceat(hashes == 0, bounds[:-1]))
