"""What classes depend on, read from a run: a few numbers for each page of a cluster, and its links in a file."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import chosen_lists, text_buffers
from samehand.grouping.memory import release, trim_heap
from samehand.kernels.html.links import hash_hosts
from samehand.kernels.segments import segment_hashes
from samehand.kernels.text.wordsets import digest_sets
from samehand.store.folder import RunFolder
from samehand.store.tables import LANGUAGE_PAGES, PAGES, REPLICA_MEMBERS, REPLICA_SIGNATURES, STYLE_MEMBERS
from samehand.store.taken import taken, taken_lists

ALIKE = 0.95
"""Pages with too few words for signatures have the same text if their few words are the same, and their styles are so
similar to the medoid's."""

_HOME = r"(?i)^(?:/(?:(?:index|default|home|welcome|start)\.\w{2,5}|(?:index|home)/?)?)?$"
_FEW_WORDS = np.uint64(1 << 63)
"""Tells the hashes of few words from groups of near replicas."""
_Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Members:
    """Pages of clusters in page_id order. Equal numbers stand for equal things, 0 for nothing."""

    cluster: NDArray[np.int32]
    host: _Hashes
    path: _Hashes
    """Path and query; 0 for home pages."""
    text: _Hashes
    words: NDArray[np.int32]
    made: NDArray[np.int8]
    """1 if a machine made the text, 0 if not, -1 if nobody judged it."""
    link_starts: NDArray[np.int64]
    links: _Hashes
    """Page i links to the hosts links[link_starts[i]:link_starts[i + 1]], which may be mapped from a file."""

    def chosen(self, rows: NDArray[np.int32]) -> "Members":
        """Some of the pages, in memory."""
        starts, links = chosen_lists(self.link_starts, self.links, rows)
        release(self.links)
        return Members(
            self.cluster[rows],
            self.host[rows],
            self.path[rows],
            self.text[rows],
            self.words[rows],
            self.made[rows],
            starts,
            links,
        )


def read_members(folder: RunFolder, cluster_ids: NDArray[np.int64]) -> Members:
    """The members of these clusters, whose numbers are their places. Tables are read a batch at a time."""
    trim_heap()
    cluster, is_alike = _clusters(folder, cluster_ids)
    rows = np.flatnonzero(cluster >= 0).astype(np.int32)
    hosts, paths = np.empty(rows.size, np.uint64), np.empty(rows.size, np.uint64)
    for here, batch in taken(folder, PAGES, ["url", "url_host_name"], rows):
        hosts[here], paths[here] = hash_hosts(*text_buffers(batch.column("url_host_name"))), _path_hashes(batch)
    words, texts = np.empty(rows.size, np.int32), _replica_groups(folder)[rows].astype(np.uint64)
    for here, batch in taken(folder, REPLICA_SIGNATURES, ["distinct_words", "status", "word_set"], rows):
        words[here], few = batch.column("distinct_words").to_numpy(), _few_words(batch)
        texts[here] = np.where((few != 0) & is_alike[rows[here]], few, texts[here])
    starts, links = taken_lists(folder, REPLICA_SIGNATURES, "link_hosts", rows, np.uint64)
    return Members(cluster[rows], hosts, paths, texts, words, _made(folder)[rows], starts, links)


def _clusters(folder: RunFolder, cluster_ids: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The number of each page's cluster, -1 for none of these, and whether the page is very similar to its medoid."""
    ids = folder.page_ids
    numbers, cluster = np.full(len(ids), -1, np.int32), np.full(len(ids), -1, np.int32)
    numbers[ids.rows(cluster_ids)] = np.arange(cluster_ids.size)
    is_alike = np.zeros(len(ids), np.bool_)
    for batch in folder.iterate(STYLE_MEMBERS, ["page_id", "style_cluster_id", "similarity"]):
        rows = ids.rows(batch.column("page_id").to_numpy())
        cluster[rows] = numbers[ids.rows(batch.column("style_cluster_id").to_numpy())]
        is_alike[rows] = batch.column("similarity").to_numpy() >= ALIKE
    return cluster, is_alike


def _replica_groups(folder: RunFolder) -> NDArray[np.int32]:
    """The group of near replicas of each page of the run, from 1 on; 0 for none."""
    ids = folder.page_ids
    groups = np.zeros(len(ids), np.int32)
    for batch in folder.iterate(REPLICA_MEMBERS, ["page_id", "replica_group_id"]):
        named = ids.rows(batch.column("replica_group_id").to_numpy())
        groups[ids.rows(batch.column("page_id").to_numpy())] = named + 1
    return groups


def _path_hashes(pages: pa.RecordBatch) -> _Hashes:
    """Hashes of the path and query of pages, 0 for home pages."""
    path = pc.replace_substring_regex(pages.column("url"), r"^[^/?#]*//[^/?#]*", "")
    path = pc.replace_substring_regex(path, r"#.*$", "")
    hashes = segment_hashes(*text_buffers(path))
    hashes[pc.match_substring_regex(path, _HOME).to_numpy(zero_copy_only=False)] = 0
    return hashes


def _few_words(signatures: pa.RecordBatch) -> _Hashes:
    """Hashes of the words of pages that have too few for signatures, 0 for others."""
    is_few = pc.equal(signatures.column("status"), "few words")
    sets = signatures.column("word_set").filter(is_few)
    found, starts = np.zeros(len(signatures), np.uint64), sets.offsets.to_numpy()
    digests = digest_sets(starts - starts[0], sets.flatten().to_numpy().astype(np.uint64))
    found[is_few.to_numpy(zero_copy_only=False)] = digests | _FEW_WORDS
    return found


def _made(folder: RunFolder) -> NDArray[np.int8]:
    """Whether a machine made the text of each page of the run: see `Members.made`."""
    made, first = np.full(len(folder.page_ids), -1, np.int8), 0
    if folder.done.get("language") is not None:
        for batch in folder.iterate(LANGUAGE_PAGES, ["verdict"]):
            found = pc.index_in(batch.column("verdict"), pa.array(["natural", "fake"]))
            made[first : first + len(batch)] = found.fill_null(-1).to_numpy()
            first += len(batch)
    return made
