"""From signatures to the replica answers of a run: members, groups, and what kind of cluster each style cluster is."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.forest import CheckRule
from samehand.methods.classes.classes import classified
from samehand.methods.replica.groups import candidates, find_replicas
from samehand.methods.replica.signatures import Signed, WordSets
from samehand.methods.style.clusters import CLUSTERS, MEMBERS
from samehand.store.folder import RunFolder

SIGNATURES, REPLICA_MEMBERS, REPLICA_GROUPS = (
    "replica/signatures",
    "replica/members.parquet",
    "replica/groups.parquet",
)
_KEY_COLUMNS = ["page_id", "status", "words_digest", "signatures", "overlap", "overlap_secondary", "markup_flags"]
_PAGE_COLUMNS = ["page_id", "url", "url_host_name", "url_host_private_domain"]


def group_replicas(folder: RunFolder, settings: Settings) -> dict[str, Any]:
    """Writes members and groups of near replicas, and the classes of style clusters; returns their counts."""
    rows = folder.read_parts(SIGNATURES, _KEY_COLUMNS)
    page_ids = rows.column("page_id").to_numpy()
    rule = CheckRule(
        edge_threshold=settings.replica_cosine,
        leader_threshold=settings.replica_cosine,
        exhaustive_bucket_size=settings.exhaustive_bucket_size,
        max_leaders=settings.max_leaders,
    )
    found = find_replicas(page_ids, _load_signed(folder, rows), rule=rule, weakest=settings.replica_min_centre_cosine)
    pages = folder.read_parts("pages", _PAGE_COLUMNS)
    members = _named_members(found.members, pages)
    folder.write_table(REPLICA_MEMBERS, members.drop_columns(["host", "domain"]))
    folder.write_table(REPLICA_GROUPS, _summed_groups(found.groups, members))
    if (folder.path / CLUSTERS).is_file():
        clusters, placed = folder.read_table(CLUSTERS), folder.read_table(MEMBERS)
        links = folder.read_parts(SIGNATURES, ["page_id", "link_hosts"])
        folder.write_table(CLUSTERS, classified(clusters, placed, pages=pages, replicas=members, links=links))
    statuses = {row["values"]: row["counts"] for row in pc.value_counts(rows.column("status")).to_pylist()}
    return {
        "groups": found.groups.num_rows,
        "grouped_documents": found.members.num_rows,
        "statuses": dict(sorted(statuses.items())),
        "markup_capped": int(np.count_nonzero(rows.column("markup_flags").to_numpy())),
        "checks": found.counts.checks,
        "leader_cap_hits": found.counts.leader_cap_hits,
    }


def _load_signed(folder: RunFolder, rows: pa.Table) -> Signed:
    """Signatures of all documents, and the words of those that agree with another: no other words are looked at."""
    empty = pa.array([[]] * rows.num_rows, pa.large_list(pa.uint32()))
    signed = Signed.of(rows.append_column("word_set", empty))
    wanted = candidates(signed.keys())
    sizes: list[NDArray[np.int64]] = []
    words: list[NDArray[np.uint32]] = []
    first = 0
    for path in sorted((folder.path / SIGNATURES).glob("part-*.parquet")):
        lists = pq.read_table(path, columns=["word_set"], partitioning=None).column("word_set").combine_chunks()
        chosen = pa.array(wanted[first : first + len(lists)])
        sizes.append(pc.if_else(chosen, pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False))
        words.append(lists.filter(chosen).flatten().to_numpy())
        first += len(lists)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(sizes), dtype=np.int64)])
    sets = WordSets(starts, np.concatenate(words))
    return Signed(signed.signatures, signed.digests, sets, signed.overlaps, signed.added)


def _named_members(members: pa.Table, pages: pa.Table) -> pa.Table:
    """Members with their URLs, hosts and domains."""
    rows = np.searchsorted(pages.column("page_id").to_numpy(), members.column("page_id").to_numpy())
    named = pages.take(pa.array(rows))
    hosts = named.column("url_host_name")
    return pa.table(
        {
            "url": named.column("url"),
            **{name: members.column(name) for name in members.column_names},
            "host": hosts,
            "domain": pc.coalesce(named.column("url_host_private_domain"), hosts),
        }
    )


def _summed_groups(groups: pa.Table, members: pa.Table) -> pa.Table:
    """Groups with the number of their hosts and domains and the address of their centre; largest first."""
    counted = members.group_by("group_id").aggregate([("host", "count_distinct"), ("domain", "count_distinct")])
    joined = groups.join(counted, "group_id").join(
        members.select(["page_id", "url"]).rename_columns(["centre_page_id", "centre_url"]), "centre_page_id"
    )
    names = {"host_count_distinct": "hosts", "domain_count_distinct": "domains"}
    joined = joined.rename_columns([names.get(name, name) for name in joined.column_names])
    order = [
        "group_id",
        "documents",
        "hosts",
        "domains",
        "weakest_cosine",
        "mean_cosine",
        "centre_page_id",
        "centre_url",
    ]
    return joined.select(order).sort_by([("documents", "descending"), ("group_id", "ascending")])
