"""From signatures to the answers of a run: groups of near replicas, their members, and who shares text."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.methods.replica.groups import find_replicas
from samehand.methods.replica.signatures import Signed, WordSets
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SHARES, REPLICA_SIGNATURES

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
_PAGE_COLUMNS = ["url", "doc_id", "url_host_name", "url_host_private_domain"]


def group_replicas(folder: RunFolder, settings: Settings, *, threads: int) -> dict[str, Any]:
    """Writes members and groups of near replicas, and who shares text; returns their counts."""
    rows = folder.read(REPLICA_SIGNATURES, KEY_COLUMNS)
    nothing = pa.LargeListArray.from_arrays(np.zeros(rows.num_rows + 1, np.int64), pa.array([], pa.uint32()))
    found = find_replicas(
        rows.column("page_id").to_numpy(),
        Signed.of(rows.append_column("word_set", nothing)),
        settings,
        sets_of=lambda wanted: _load_sets(folder, wanted),
        threads=threads,
    )
    members = _named(folder, found.members)
    groups = _ranked(found.groups, members)
    folder.write(REPLICA_GROUPS, groups)
    numbered = pc.index_in(members.column("replica_group_id"), groups.column("replica_group_id").combine_chunks())
    folder.write(REPLICA_MEMBERS, members.append_column("group_number", pc.add(numbered.cast(pa.int64()), 1)))
    folder.write(REPLICA_SHARES, _with_urls(folder, found.shares))
    statuses = {row["values"]: row["counts"] for row in pc.value_counts(rows.column("status")).to_pylist()}
    return {
        "groups": groups.num_rows,
        "grouped_documents": members.num_rows,
        "sharing_documents": found.shares.num_rows,
        "statuses": dict(sorted(statuses.items())),
        "markup_capped": int(np.count_nonzero(rows.column("markup_flags").to_numpy())),
        "checks": found.counts.checks,
        "leader_cap_hits": found.counts.leader_cap_hits,
    }


def stored_sketches(rows: pa.Table) -> tuple[NDArray[np.uint16], NDArray[np.int32]]:
    """Sketches of neighbouring words and the numbers of pairs, from rows of replica/signatures."""
    nothing = pa.LargeListArray.from_arrays(np.zeros(rows.num_rows + 1, np.int64), pa.array([], pa.uint32()))
    signed = Signed.of(rows.append_column("word_set", nothing))
    return signed.sketches, signed.pairs


def _load_sets(folder: RunFolder, wanted: NDArray[np.bool_]) -> WordSets:
    """The sets of words of the wanted documents, and empty ones of all others."""
    sizes: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    words: list[NDArray[np.uint32]] = [np.zeros(0, np.uint32)]
    first = 0
    for number in folder.part_numbers(REPLICA_SIGNATURES):
        lists = folder.read_part(REPLICA_SIGNATURES, number, ["word_set"]).column("word_set").combine_chunks()
        chosen = pa.array(wanted[first : first + len(lists)])
        sizes.append(pc.if_else(chosen, pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False))
        words.append(lists.filter(chosen).flatten().to_numpy())
        first += len(lists)
    return WordSets(np.cumsum(np.concatenate(sizes), dtype=np.int64), np.concatenate(words))


def _with_urls(folder: RunFolder, shares: pa.Table) -> pa.Table:
    """Shared texts with the addresses of both documents."""
    pages = folder.read(PAGES, ["url", "doc_id"])
    left, right = (
        pages.take(pa.array(folder.page_ids.rows(shares.column(name).to_numpy())))
        for name in ("page_id", "with_page_id")
    )
    columns = {name: shares.column(name) for name in shares.column_names}
    return pa.table(
        {**columns, "url": left.column("url"), "doc_id": left.column("doc_id"), "with_url": right.column("url")}
    )


def _named(folder: RunFolder, members: pa.Table) -> pa.Table:
    """Members with their URLs, hosts and sites."""
    rows = folder.page_ids.rows(members.column("page_id").to_numpy())
    named = folder.read(PAGES, _PAGE_COLUMNS).take(pa.array(rows))
    hosts = named.column("url_host_name")
    columns = {name: members.column(name) for name in members.column_names}
    columns |= {"url": named.column("url"), "doc_id": named.column("doc_id"), "host": hosts}
    return pa.table({**columns, "site": pc.coalesce(named.column("url_host_private_domain"), hosts)})


def _ranked(groups: pa.Table, members: pa.Table) -> pa.Table:
    """Groups with the number of their hosts and sites and the URL of their centre; largest first."""
    counted = members.group_by("replica_group_id").aggregate([("host", "count_distinct"), ("site", "count_distinct")])
    counted = counted.rename_columns({"host_count_distinct": "hosts", "site_count_distinct": "sites"})
    centres = members.select(["page_id", "url"]).rename_columns(["centre_page_id", "centre_url"])
    joined = groups.join(counted, "replica_group_id").join(centres, "centre_page_id")
    ranked = joined.sort_by([("documents", "descending"), ("replica_group_id", "ascending")])
    return ranked.append_column("group_number", pa.array(np.arange(1, ranked.num_rows + 1)))
