"""Groups of near replicas in a collection, found by `samehand.grouping`.

Documents meet in the buckets of their K + 1 signatures, and where their sets of words are the same. The cosine of two
sets of words is their similarity. Groups may be chains, so a member that is too far from its group's medoid is split
off, and the weakest cosine of each group is stored. Memory: the keys of all documents (8 bytes each), and the sets of
words of candidates.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.grouping.comparable import Comparable
from samehand.grouping.cuts import split_chains
from samehand.grouping.edges import Edges, cut, in_groups
from samehand.grouping.forest import CheckCounts, CheckRule, find_forest
from samehand.grouping.medoids import Groups, find_medoids
from samehand.grouping.probes import Buckets
from samehand.kernels.noise import EMPTY
from samehand.methods.replica.signatures import ALL_WORDS, Signed

GROUPS_SCHEMA = pa.schema(
    [
        pa.field("replica_group_id", pa.int64(), nullable=False),
        pa.field("documents", pa.int64(), nullable=False),
        pa.field("weakest_cosine", pa.float32(), nullable=False),
        pa.field("mean_cosine", pa.float32(), nullable=False),
        pa.field("centre_page_id", pa.int64(), nullable=False),
    ]
)
MEMBERS_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("replica_group_id", pa.int64(), nullable=False),
        pa.field("cosine", pa.float32(), nullable=False),
        pa.field("linked_page_id", pa.int64(), nullable=False),
        pa.field("linked_cosine", pa.float32(), nullable=False),
        pa.field("lexicon", pa.int64(), nullable=False),
    ]
)
"""A member's cosine to its group's medoid; and the evidence: the most similar document it met, and on which lexicon."""


@dataclasses.dataclass(frozen=True, slots=True)
class Replicas:
    """Every grouped document, the groups, and what it took to find them."""

    members: pa.Table
    groups: pa.Table
    counts: CheckCounts


def candidates(keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which rows share a key with another row. Only their sets of words are compared."""
    found = np.zeros(len(keys), np.bool_)
    for column in keys.T:
        _, places, sizes = np.unique(column, return_inverse=True, return_counts=True)
        found |= (sizes[places] > 1) & (column != 0)
    return found


def find_replicas(
    page_ids: NDArray[np.int64],
    signed: Signed,
    *,
    rule: CheckRule,
    weakest: float = 0.7,
    threads: int | None = None,
) -> Replicas:
    """Groups documents, which are in page_id order. The sets of words of rows that are no `candidates` may be empty.

    `rule.leader_threshold` is the cosine that makes two candidates near replicas. `weakest` is the least cosine of a
    member to the medoid of its group.
    """
    forest, counts = find_forest(signed.sets, signature_buckets(signed), rule=rule, threads=threads)
    tables = group_documents(page_ids, signed.sets, signed.keys(), forest, rule.leader_threshold, weakest)
    return Replicas(*tables, counts)


def group_documents(
    page_ids: NDArray[np.int64],
    sets: Comparable,
    keys: NDArray[np.uint64],
    forest: Edges,
    threshold: float,
    weakest: float,
) -> tuple[pa.Table, pa.Table]:
    """Members and groups of documents whose forest, best edge first, is known."""
    labels = cut(forest, len(keys), threshold)
    labels = split_chains(sets, forest, labels, threshold=threshold, least=weakest)
    rows = in_groups(labels)
    groups = find_medoids(sets, rows, labels[rows])
    return _members_table(page_ids, keys, forest, groups), _groups_table(page_ids, groups)


def signature_buckets(signed: Signed) -> Buckets:
    """Documents meet where a signature agrees; those with the same set of words are the same."""
    return Buckets(_SignatureColumns(signed.signatures), signed.digests)


@dataclasses.dataclass(frozen=True, slots=True)
class _SignatureColumns:
    """Each column of signatures as a probe. Signatures are numbered, because a bucket's key has 32 bits."""

    signatures: NDArray[np.uint64]

    def __len__(self) -> int:
        return int(self.signatures.shape[1])

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        for column in self.signatures.T:
            _, numbers = np.unique(column, return_inverse=True)
            yield np.where(column == 0, np.uint32(EMPTY), numbers.astype(np.uint32))


def agreeing_lexicon(keys: NDArray[np.uint64], pairs: NDArray[np.int32]) -> NDArray[np.int64]:
    """The first lexicon whose signatures agree for each pair; ALL_WORDS if only the whole sets of words do."""
    left, right = keys[pairs[:, 0]], keys[pairs[:, 1]]
    agree = (left == right) & (left != 0)
    firsts = agree.argmax(axis=1)
    return np.where(firsts < keys.shape[1] - 1, firsts, ALL_WORDS)


def _members_table(page_ids: NDArray[np.int64], keys: NDArray[np.uint64], forest: Edges, groups: Groups) -> pa.Table:
    """Every member with its best edge: the first edge of the forest that touches it, because edges are best first."""
    ends, firsts = np.unique(forest.pairs.ravel(), return_index=True)
    edges = firsts[np.searchsorted(ends, groups.members)] // 2
    pairs = forest.pairs[edges]
    others = np.where(pairs[:, 0] == groups.members, pairs[:, 1], pairs[:, 0])
    columns = [
        page_ids[groups.members],
        page_ids[np.repeat(groups.labels, groups.sizes())],
        groups.similarities,
        page_ids[others],
        forest.similarities[edges],
        agreeing_lexicon(keys, pairs),
    ]
    return pa.table(columns, schema=MEMBERS_SCHEMA).sort_by(
        [("replica_group_id", "ascending"), ("page_id", "ascending")]
    )


def _groups_table(page_ids: NDArray[np.int64], groups: Groups) -> pa.Table:
    """Groups named after their smallest page_id."""
    if not groups.labels.size:
        return GROUPS_SCHEMA.empty_table()
    means = groups.sums(groups.similarities.astype(np.float64)) / groups.sizes()
    weakest = np.minimum.reduceat(groups.similarities, groups.starts[:-1])
    columns = [
        page_ids[groups.labels],
        groups.sizes(),
        weakest,
        means.astype(np.float32),
        page_ids[groups.medoids],
    ]
    return pa.table(columns, schema=GROUPS_SCHEMA)
