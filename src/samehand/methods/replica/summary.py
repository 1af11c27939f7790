"""From signatures to the answers of a run: groups of near replicas and their members."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.forest import CheckRule
from samehand.methods.replica.groups import candidates, find_replicas
from samehand.methods.replica.signatures import Signed, WordSets
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SIGNATURES

KEY_COLUMNS = ["page_id", "status", "words_digest", "signatures", "overlap", "overlap_secondary", "markup_flags"]
_PAGE_COLUMNS = ["url", "doc_id", "url_host_name", "url_host_private_domain"]


def group_replicas(folder: RunFolder, settings: Settings, *, threads: int) -> dict[str, Any]:
    """Writes members and groups of near replicas; returns their counts."""
    rows = folder.read(REPLICA_SIGNATURES, KEY_COLUMNS)
    found = find_replicas(
        rows.column("page_id").to_numpy(),
        _load_signed(folder, rows),
        rule=check_rule(settings),
        weakest=settings.replica_min_centre_cosine,
        threads=threads,
    )
    members = _named(folder, found.members)
    groups = _ranked(found.groups, members)
    folder.write(REPLICA_GROUPS, groups)
    numbered = pc.index_in(members.column("replica_group_id"), groups.column("replica_group_id").combine_chunks())
    folder.write(REPLICA_MEMBERS, members.append_column("group_number", pc.add(numbered.cast(pa.int64()), 1)))
    statuses = {row["values"]: row["counts"] for row in pc.value_counts(rows.column("status")).to_pylist()}
    return {
        "groups": groups.num_rows,
        "grouped_documents": members.num_rows,
        "statuses": dict(sorted(statuses.items())),
        "markup_capped": int(np.count_nonzero(rows.column("markup_flags").to_numpy())),
        "checks": found.counts.checks,
        "leader_cap_hits": found.counts.leader_cap_hits,
    }


def check_rule(settings: Settings) -> CheckRule:
    """How pairs of documents within a bucket are checked."""
    return CheckRule(
        edge_threshold=settings.replica_cosine,
        leader_threshold=settings.replica_cosine,
        exhaustive_bucket_size=settings.exhaustive_bucket_size,
        max_leaders=settings.max_leaders,
    )


def _load_signed(folder: RunFolder, rows: pa.Table) -> Signed:
    """Signatures of all documents, and the words of those that agree with another: no other words are looked at."""
    empty = pa.array([[]] * rows.num_rows, pa.large_list(pa.uint32()))
    signed = Signed.of(rows.append_column("word_set", empty))
    wanted = candidates(signed.keys())
    sizes: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    words: list[NDArray[np.uint32]] = [np.zeros(0, np.uint32)]
    first = 0
    for number in folder.part_numbers(REPLICA_SIGNATURES):
        lists = folder.read_part(REPLICA_SIGNATURES, number, ["word_set"]).column("word_set").combine_chunks()
        chosen = pa.array(wanted[first : first + len(lists)])
        sizes.append(pc.if_else(chosen, pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False))
        words.append(lists.filter(chosen).flatten().to_numpy())
        first += len(lists)
    sets = WordSets(np.cumsum(np.concatenate(sizes), dtype=np.int64), np.concatenate(words))
    return Signed(signed.signatures, signed.digests, sets, signed.overlaps, signed.added)


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
