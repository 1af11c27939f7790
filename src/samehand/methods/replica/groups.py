"""Groups of near replicas in a collection, and the documents that share text, found by `samehand.grouping`.

Documents meet in two ways: in the buckets of their K + 1 signatures, where the cosine of their sets of words decides,
and in the probes of their sketches of neighbouring words, where the Jaccard similarity decides (`pairs`). Both are put
on one scale: `replica_jaccard` makes near replicas. Groups are stars: every member is near the medoid of its group, or
nearly the same as such a member. What belongs to a group by a chain only is split off. Documents that share less text
are told, and never merged.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.comparable import gathered_pairs
from samehand.grouping.cuts import join_twins, split_chains
from samehand.grouping.edges import Edges, cut, spanning_forest
from samehand.grouping.forest import CheckCounts, CheckRule, find_forest
from samehand.grouping.medoids import Groups, regrouped
from samehand.grouping.memory import release
from samehand.grouping.probes import Buckets
from samehand.kernels import buckets
from samehand.kernels.noise import EMPTY
from samehand.kernels.text.documents import DocumentRows
from samehand.methods.replica.pairs import PairSketches, pair_buckets, pair_rule
from samehand.methods.replica.signatures import ALL_WORDS, PAIRS, Signed, WordSets

TWINS = 0.8
"""A document that is alone joins the group of one that is so similar to it, on the scale of the Jaccard similarity."""
KeysOf = Callable[[NDArray[np.int32]], NDArray[np.uint64]]
"""The keys of some rows: what `Signed.keys` has of them."""
_BLOCK = 1 << 14

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
        pa.field("jaccard", pa.float32(), nullable=False),
        pa.field("linked_page_id", pa.int64(), nullable=False),
        pa.field("linked_cosine", pa.float32(), nullable=False),
        pa.field("lexicon", pa.int64(), nullable=False),
        pa.field("found_by", pa.string(), nullable=False),
    ]
)
"""A member's cosine and Jaccard similarity to its group's medoid; and the evidence: the most similar document that it
met, and what found it."""

SHARES_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("with_page_id", pa.int64(), nullable=False),
        pa.field("jaccard", pa.float32(), nullable=False),
        pa.field("containment", pa.float32(), nullable=False),
    ]
)
"""A document and the most typical one of those that it shares text with."""


@dataclasses.dataclass(frozen=True, slots=True)
class Documents:
    """Documents in page_id order, compared by both channels. Rows that are in no group may have empty sets of words."""

    sets: WordSets
    pairs: PairSketches
    cosine: float
    jaccard: float

    @property
    def rows(self) -> DocumentRows:
        """What the kernels compare."""
        pairs = self.pairs.rows
        return DocumentRows(self.sets.starts, self.sets.words, pairs.sketches, pairs.sizes, self.cosine, self.jaccard)

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Similarity on the scale of the Jaccard similarity."""
        return buckets.similarities_of_pairs(self.rows, left, right)

    @property
    def width(self) -> int:
        """Bytes of a set of words and a sketch."""
        return self.sets.width + self.pairs.width

    def chosen(self, rows: NDArray[np.int32]) -> "Documents":
        """Some of the documents."""
        return Documents(self.sets.chosen(rows), self.pairs.chosen(rows), self.cosine, self.jaccard)

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Those of the sets of words."""
        return self.sets.shuffle_keys(rows)

    def release(self) -> None:
        """Gives memory back, as far as sets of words and sketches are mapped from files."""
        self.sets.release()
        self.pairs.release()


@dataclasses.dataclass(frozen=True, slots=True)
class Replicas:
    """Every grouped document, the groups, who shares text, and what it took to find them."""

    members: pa.Table
    groups: pa.Table
    shares: pa.Table
    counts: CheckCounts


def candidates(signed: Signed) -> NDArray[np.bool_]:
    """Which rows share a key with another row. Only their sets of words are compared."""
    found = np.zeros(len(signed.digests), np.bool_)
    for column in (*signed.signatures.T, signed.digests):
        order = np.argsort(column)
        same = column[order[1:]] == column[order[:-1]]
        same &= column[order[1:]] != 0
        found[order[1:][same]] = True
        found[order[:-1][same]] = True
        release(column)
    return found


def check_rule(settings: Settings) -> CheckRule:
    """How pairs of documents whose signatures agree are checked."""
    return CheckRule(
        edge_threshold=settings.replica_cosine,
        leader_threshold=settings.replica_cosine,
        exhaustive_bucket_size=settings.exhaustive_bucket_size,
        max_leaders=settings.max_leaders,
    )


def find_replicas(
    page_ids: NDArray[np.int64],
    signed: Signed,
    settings: Settings,
    *,
    sets_of: Callable[[NDArray[np.bool_]], WordSets] | None = None,
    threads: int | None = None,
) -> Replicas:
    """Groups documents, which are in page_id order.

    `sets_of` gives the sets of words of some rows, and empty ones of the others. Without it `signed` has them all.
    """
    sets_of = sets_of or (lambda _: signed.sets)
    pairs = PairSketches(signed.sketches, signed.pairs, settings.shared_text)
    by_words, counts = find_forest(
        sets_of(candidates(signed)), signature_buckets(signed), rule=check_rule(settings), threads=threads
    )
    by_pairs, pair_counts = find_forest(
        pairs, pair_buckets(signed.sketches, signed.pairs), rule=pair_rule(settings), threads=threads
    )
    counts.checks += pair_counts.checks
    counts.leader_cap_hits += pair_counts.leader_cap_hits
    forest = replica_forest(by_words, by_pairs, len(page_ids), settings)
    del by_words
    is_grouped = np.zeros(len(page_ids), np.bool_)
    is_grouped[forest.pairs.ravel()] = True
    documents = Documents(sets_of(is_grouped), pairs, settings.replica_min_centre_cosine, settings.replica_jaccard)
    members, groups = group_documents(page_ids, documents, signed.keys_of, forest, settings)
    documents.release()
    del documents, forest
    return Replicas(members, groups, shared_texts(page_ids, pairs, by_pairs, members), counts)


def replica_forest(by_words: Edges, by_pairs: Edges, rows: int, settings: Settings) -> Edges:
    """The forest of near replicas out of those of both channels.

    Cosines are put on the scale of the Jaccard similarity, where `replica_jaccard` makes near replicas.
    """
    least, strict = settings.replica_cosine, settings.replica_jaccard
    beyond = np.maximum(by_words.similarities - np.float32(least), np.float32(0)) / np.float32(max(1 - least, 1e-9))
    scaled = Edges(by_words.packed, np.float32(strict) + np.float32(1 - strict) * beyond)
    return spanning_forest([scaled, by_pairs.above(strict)], rows)


def group_documents(
    page_ids: NDArray[np.int64], documents: Documents, keys_of: KeysOf, forest: Edges, settings: Settings
) -> tuple[pa.Table, pa.Table]:
    """Members and groups of documents whose forest of near replicas, best edge first, is known."""
    labels = cut(forest, len(page_ids), 0.0)
    strict = settings.replica_jaccard
    labels, before = split_chains(documents, forest, labels, threshold=0.0, least=strict)
    labels = join_twins(forest, labels, least=max(strict, TWINS))
    groups = regrouped(documents, labels, before)
    medoids = np.repeat(groups.medoids, groups.sizes())
    cosines = _cosines(documents.sets, medoids, groups.members)
    members = _members_table(page_ids, documents, keys_of, forest, groups, cosines, settings.replica_cosine)
    return members, _groups_table(page_ids, groups, cosines)


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
            yield _numbered(column)
            release(column)


def _numbered(signatures: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """A number for each different signature, EMPTY for 0."""
    order = np.argsort(signatures).astype(np.int32)
    is_new, numbers = np.ones(order.size, np.bool_), np.empty(order.size, np.uint32)
    ordered = signatures[order]
    is_new[1:] = ordered[1:] != ordered[:-1]
    numbers[order] = np.cumsum(is_new, dtype=np.uint32) - np.uint32(1)
    numbers[signatures == 0] = EMPTY
    return numbers


def agreeing_lexicon(
    keys: NDArray[np.uint64], pairs: NDArray[np.int32], cosines: NDArray[np.float32], least: float
) -> NDArray[np.int64]:
    """The first lexicon whose signatures agree for each pair; ALL_WORDS if only the whole sets of words do.

    PAIRS if nothing agrees, or the cosine is below `least`: then the pairs of neighbouring words decided.
    """
    left, right = keys[pairs[:, 0]], keys[pairs[:, 1]]
    agree = (left == right) & (left != 0)
    firsts = agree.argmax(axis=1)
    found = np.where(firsts < keys.shape[1] - 1, firsts, ALL_WORDS)
    return np.where(agree.any(axis=1) & (cosines >= np.float32(least)), found, PAIRS)


def _members_table(
    page_ids: NDArray[np.int64],
    documents: Documents,
    keys_of: KeysOf,
    forest: Edges,
    groups: Groups,
    cosines: NDArray[np.float32],
    least: float,
) -> pa.Table:
    """Every member with its best edge: the first edge of the forest that touches it, because edges are best first."""
    names = np.repeat(groups.labels, groups.sizes())
    order = np.lexsort((groups.members, names))
    rows, names, medoids = groups.members[order], names[order], np.repeat(groups.medoids, groups.sizes())[order]
    first = np.full(len(page_ids), len(forest), np.int32)
    np.minimum.at(first, forest.pairs.ravel(), np.repeat(np.arange(len(forest), dtype=np.int32), 2))
    pairs = forest.pairs[first[rows]]
    others = np.where(pairs[:, 0] == rows, pairs[:, 1], pairs[:, 0])
    linked = _cosines(documents.sets, rows, others)
    lexicons = np.empty(len(pairs), np.int16)
    for start in range(0, len(pairs), _BLOCK):
        block, ends = slice(start, start + _BLOCK), pairs[start : start + _BLOCK]
        places = np.arange(ends.size, dtype=np.int32).reshape(-1, 2)
        lexicons[block] = agreeing_lexicon(keys_of(ends.ravel()), places, linked[block], least)
    found_by = np.full(len(pairs), 2, np.int8)
    found_by[lexicons == ALL_WORDS], found_by[lexicons == PAIRS] = 0, 1
    columns = [
        page_ids[rows],
        page_ids[names],
        cosines[order],
        _estimates(documents.pairs, medoids, rows)[0],
        page_ids[others],
        linked,
        pa.array(lexicons).cast(pa.int64()),
        pa.array(["words", "pairs", "lexicon"]).take(pa.array(found_by)),
    ]
    return pa.table(columns, schema=MEMBERS_SCHEMA)


def _cosines(sets: WordSets, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
    """Cosine of set left[i] with set right[i], of which few are in memory at a time."""
    found = np.empty(len(left), np.float32)
    for chosen, gathered, one, other in gathered_pairs(sets, left, right):
        found[chosen] = gathered.similarities(one, other)
    return found


def _estimates(
    pairs: PairSketches, left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The estimates of row left[i] and row right[i], of which few are in memory at a time."""
    jaccards, held = np.empty(len(left), np.float32), np.empty(len(left), np.float32)
    for chosen, gathered, one, other in gathered_pairs(pairs, left, right):
        jaccards[chosen], held[chosen] = gathered.estimates(one, other)
    return jaccards, held


def _groups_table(page_ids: NDArray[np.int64], groups: Groups, cosines: NDArray[np.float32]) -> pa.Table:
    """Groups named after their smallest page_id."""
    if not groups.labels.size:
        return GROUPS_SCHEMA.empty_table()
    means = groups.sums(cosines.astype(np.float64)) / groups.sizes()
    weakest = np.minimum.reduceat(cosines, groups.starts[:-1])
    columns = [
        page_ids[groups.labels],
        groups.sizes(),
        weakest,
        means.astype(np.float32),
        page_ids[groups.medoids],
    ]
    return pa.table(columns, schema=GROUPS_SCHEMA)


def shared_texts(page_ids: NDArray[np.int64], pairs: PairSketches, forest: Edges, members: pa.Table) -> pa.Table:
    """Who shares text with whom, unless both are in one group."""
    left, right = find_stars(pairs, forest)
    group = np.full(len(page_ids), -1, np.int64)
    places = np.searchsorted(page_ids, members.column("page_id").to_numpy())
    group[places] = members.column("replica_group_id").to_numpy()
    apart = (group[left] != group[right]) | (group[left] < 0)
    left, right = left[apart], right[apart]
    columns = [page_ids[left], page_ids[right], *_estimates(pairs, left, right)]
    return pa.table(columns, schema=SHARES_SCHEMA).sort_by([("page_id", "ascending")])


def find_stars(pairs: PairSketches, forest: Edges) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every document that shares text, and the medoid of its star; not the medoids themselves."""
    labels = cut(forest, len(pairs), pairs.shared)
    labels, before = split_chains(pairs, forest, labels, threshold=pairs.shared, least=pairs.shared)
    stars = regrouped(pairs, labels, before)
    medoids = np.repeat(stars.medoids, stars.sizes())
    others = stars.members != medoids
    return stars.members[others], medoids[others]
