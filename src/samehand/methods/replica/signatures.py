"""Near replicas by I-Match with randomised lexicons (Kolcz, Chowdhury, Alspector, KDD 2004): signatures, prototypes.

A document's signature is the hash of the words it shares with a lexicon (section 3). One word of the lexicon more or
less changes it, so K more lexicons are drawn, each keeping a share of the words, and two documents are near replicas
when any of their K + 1 signatures agree (section 4). Whether a lexicon keeps a word follows from the word's hash and
the lexicon's seed alone: there are no K tables, and one pass over a document's words gives all signatures. The same
reading gives a sketch of neighbouring words, the second channel (`pairs`).

Three things differ from the paper, each measured by evaluation/replica.py; PAPER switches the first off.
The shares of words kept go down from two thirds to a few hundredths: a lexicon of few words stays the same under many
changes, and long documents have words enough for it. Agreement is only a candidate: the cosine of the two sets of
words decides, and is kept as evidence. Documents whose signature is refused are still found when all words are equal.
"""

import dataclasses
import hashlib
import math
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers
from samehand.base.errors import SettingsError
from samehand.grouping.comparable import shuffle_keys
from samehand.grouping.memory import in_stretches, release
from samehand.kernels import buckets
from samehand.kernels.text import signing as kernel
from samehand.kernels.text import wordsets
from samehand.kernels.text.pairs import SLOTS, jaccards_across, nearest_sketches
from samehand.methods.replica.lexicon import Blocks, Lexicon, WordReader
from samehand.methods.replica.pairs import PairSketches

SIGNED, FEW_WORDS, SMALL_OVERLAP = "signed", "few words", "small overlap"
ALL_WORDS, PAIRS = -1, -2
"""Stand where the number of a lexicon stands, for two documents that agree on their whole sets of words alone, and for
two that only share neighbouring words."""

BLOCK_WORDS, ENOUGH_WORDS, FEWEST_PAIRS = 12, 60, 20
"""A page is sketched by its blocks of so many words, if these hold enough words. A sketch needs so many pairs."""

RARER, COMMONER = "rarer", "commoner"
"""Which words make the secondary lexicon. Section 3 rejects those commoner than the primary range and takes the
remaining, rarer ones by increasing nidf; commoner ones make more false positives."""

PAPER: dict[str, Any] = {"keep_least": 2 / 3, "min_overlap": 5}
"""What the paper does: every randomised lexicon keeps two thirds (section 6.8). It names no smallest overlap."""


@dataclasses.dataclass(frozen=True, slots=True)
class WordSets:
    """Sorted sets of words end to end: set i is words[starts[i]:starts[i+1]].

    The upper half of a word's hash is enough to compare two documents with, at half the memory.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def rows(self) -> wordsets.SetRows:
        """What the kernels compare."""
        return wordsets.SetRows(self.starts, self.words)

    @property
    def comparable(self) -> NDArray[np.bool_]:
        """Which sets have words."""
        return np.diff(self.starts) > 0

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Cosine of set left[i] with set right[i]: words in both ÷ geometric mean of the sizes (section 6.4)."""
        return buckets.similarities_of_pairs(self.rows, left, right)

    def are_same(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the sets are equal."""
        return np.equal(self.similarities(left, right), 1)

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys that depend on the numbers of rows alone."""
        return shuffle_keys(rows.astype(np.int64))

    @property
    def width(self) -> int:
        """Bytes of a set that has words, on average."""
        return 8 + self.words.nbytes // max(int(np.count_nonzero(self.comparable)), 1)

    def chosen(self, rows: NDArray[np.int32]) -> "WordSets":
        """Some of the sets. Those of a file are read front to back, and few at a time."""
        starts = np.zeros(rows.size + 1, np.int64)
        np.cumsum(self.starts[rows + 1] - self.starts[rows], out=starts[1:])
        words = np.empty(int(starts[-1]), np.uint32)
        for places in in_stretches(rows, len(self)):
            wordsets.copy_sets(self.starts, self.words, rows[places], starts[places], words)
            self.release()
        return WordSets(starts, words)

    def release(self) -> None:
        """Gives memory back, if the sets are mapped from a file."""
        release(self.words)


@dataclasses.dataclass(frozen=True, slots=True)
class Signed:
    """Documents with their signatures: column 0 by the original lexicon, 1 to K by the randomised ones; 0 is none.

    `digests` stand for the whole sets of words (0: too few words to be compared at all). `sketches` stand for the
    different neighbouring words, and `pairs` is their number (0: no sketch).
    """

    signatures: NDArray[np.uint64]
    digests: NDArray[np.uint64]
    sets: WordSets
    sketches: NDArray[np.uint8]
    pairs: NDArray[np.int32]
    overlaps: NDArray[np.int64]
    added: NDArray[np.int64]

    @classmethod
    def of(cls, stored: pa.Table) -> Self:
        """Documents signed before, from the rows that `replica_batch` made of them."""
        lists = _whole(stored.column("word_set"))
        bounds = lists.offsets.to_numpy()
        return cls(
            _fixed_rows(stored.column("signatures"), np.dtype("<u8")).astype(np.uint64, copy=False),
            stored.column("words_digest").to_numpy(),
            WordSets(bounds - bounds[0], lists.flatten().to_numpy()),
            _fixed_rows(stored.column("pair_sketch"), np.dtype(np.uint8)),
            stored.column("pairs").to_numpy(),
            stored.column("overlap").to_numpy(),
            stored.column("overlap_secondary").to_numpy(),
        )

    def keys(self) -> NDArray[np.uint64]:
        """What makes two documents candidates, one column each: the signatures, and last the whole sets of words."""
        return np.column_stack([self.signatures, self.digests])

    def keys_of(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """The keys of some rows. Signatures of a file are read front to back, and few at a time."""
        keys = np.empty((rows.size, self.signatures.shape[1] + 1), np.uint64)
        keys[:, -1] = self.digests[rows]
        for places in in_stretches(rows, len(self.digests)):
            keys[places, :-1] = self.signatures[rows[places]]
            release(self.signatures)
        return keys


def _fixed_rows(column: pa.ChunkedArray, kind: np.dtype[Any]) -> NDArray[Any]:
    """The values of a column of fixed width, a row each."""
    whole = _whole(column)
    values = np.frombuffer(whole.buffers()[1] or b"", kind).reshape(-1, whole.type.byte_width // kind.itemsize)
    return np.asarray(values[whole.offset : whole.offset + len(whole)])


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def kept_shares(lexicons: int, keep: float, keep_least: float) -> NDArray[np.float64]:
    """The share of words each randomised lexicon keeps: between the two, evenly spread by ratio for any number.

    The k-th share does not depend on the number of lexicons (van der Corput's sequence): more only add to fewer.
    """
    spread = np.array([int(f"{k:032b}"[::-1], 2) / (1 << 32) for k in range(1, lexicons + 1)])
    return np.asarray(keep * (keep_least / keep) ** spread)


class Signer:
    """A lexicon made ready to sign documents with: made once for a run."""

    def __init__(
        self,
        lexicon: Lexicon,
        *,
        lexicons: int = 10,
        keep: float = 2 / 3,
        keep_least: float = 1 / 32,
        seed: int = 1,
        min_words: int = 5,
        min_overlap: int = 4,
        min_share: float = 0.1,
        secondary: str = RARER,
        pairs: bool = True,
    ) -> None:
        if not 0 <= lexicons < kernel.MOST_LEXICONS:
            raise SettingsError(f"lexicons is {lexicons}: choose a value from 0 to {kernel.MOST_LEXICONS - 1}.")
        if not 0 < keep_least <= keep < 1:
            raise SettingsError(
                f"keep is {keep}, keep_least {keep_least}: choose shares above 0 and below 1, in order."
            )
        if secondary not in (RARER, COMMONER):
            raise SettingsError(f"secondary is {secondary!r}: choose {RARER} or {COMMONER}.")
        self.lexicon = lexicon
        self.lexicons = lexicons
        self._min_words = max(1, min_words)
        self._min_overlap = max(1, min_overlap)
        self._min_share = min_share
        self._fewest_pairs = FEWEST_PAIRS if pairs else 1 << 31
        first, end = lexicon.primary()
        self._ranks = np.array([first, end, *((end, lexicon.words.size) if secondary == RARER else (0, first))])
        drawn = hashlib.shake_256(b"samehand lexicons 1\0%d" % seed).digest(8 * lexicons)
        seeds = np.frombuffer(drawn, "<u8").astype(np.uint64)
        limits = (kept_shares(lexicons, keep, keep_least) * (1 << 32)).astype(np.uint64)
        self._slots = kernel.lexicon_slots(lexicon.words, seeds, limits)

    def sign(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], blocks: Blocks | None = None) -> Signed:
        """Signs documents that lie end to end. Without `blocks` the whole of each text is sketched."""
        block_rule = (BLOCK_WORDS, ENOUGH_WORDS) if blocks else (0, 0)
        found = self.lexicon.reader.read_documents(
            data, offsets, blocks or Blocks.none(offsets.size - 1), (*block_rule, self._fewest_pairs)
        )
        starts, words, sketches, pairs = found
        signatures, overlaps, added = kernel.sign_documents(
            starts, words, self._slots, self._ranks, self.lexicons + 1, self._min_overlap, self._min_share
        )
        digests = wordsets.digest_sets(starts, words)
        few = np.diff(starts) < self._min_words
        signatures[few], digests[few] = 0, 0
        sets = WordSets(starts, (words >> np.uint64(32)).astype(np.uint32))
        return Signed(signatures, digests, sets, sketches, pairs, overlaps, added)


def replica_schema(lexicons: int) -> pa.Schema:
    """Columns of replica/signatures: what the replica signal says of each document."""
    return pa.schema(
        [
            pa.field("page_id", pa.int64(), nullable=False),
            pa.field("distinct_words", pa.int64(), nullable=False),
            pa.field("overlap", pa.int64(), nullable=False),
            pa.field("overlap_secondary", pa.int64(), nullable=False),
            pa.field("status", pa.string(), nullable=False),
            pa.field("words_digest", pa.uint64(), nullable=False),
            pa.field("signatures", pa.binary(8 * (lexicons + 1)), nullable=False),
            pa.field("pairs", pa.int32(), nullable=False),
            pa.field("pair_sketch", pa.binary(SLOTS), nullable=False),
            pa.field("word_set", pa.large_list(pa.field("item", pa.uint32(), nullable=False)), nullable=False),
        ]
    )


def replica_batch(texts: pa.RecordBatch, signer: Signer, blocks: Blocks | None = None) -> pa.RecordBatch:
    """The stage function of the replica signal: a batch of documents (page_id, text) in, their signatures out."""
    signed = signer.sign(*column_buffers(texts.column("text")), blocks)
    schema = replica_schema(signer.lexicons)
    columns = [
        texts.column("page_id"),
        pa.array(np.diff(signed.sets.starts)),
        pa.array(signed.overlaps),
        pa.array(signed.added),
        _statuses(signed),
        pa.array(signed.digests),
        _fixed_column(np.ascontiguousarray(signed.signatures, "<u8")),
        pa.array(signed.pairs),
        _fixed_column(signed.sketches),
        pa.LargeListArray.from_arrays(
            signed.sets.starts, pa.array(signed.sets.words), type=schema.field("word_set").type
        ),
    ]
    return pa.record_batch(columns, schema=schema)


def _fixed_column(rows: NDArray[Any]) -> pa.FixedSizeBinaryArray:
    width = rows.shape[1] * rows.itemsize
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, pa.py_buffer(rows)])


def _statuses(signed: Signed) -> pa.StringArray:
    refused = np.where(signed.digests == 0, FEW_WORDS, SMALL_OVERLAP)
    return pa.array(np.where(signed.signatures[:, 0] != 0, SIGNED, refused))


MATCH_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("prototype_id", pa.int64()),
        pa.field("lexicon", pa.int64()),
        pa.field("cosine", pa.float32()),
        pa.field("jaccard", pa.float32()),
    ]
)
"""What is said of each document of a stream; the last four are null when no prototype matches."""


class Prototypes:
    """Known documents that a stream is matched with (section 5.2). Memory is the prototypes'; the stream adds none."""

    def __init__(
        self,
        stored: pa.Table,
        signer: Signer,
        *,
        min_cosine: float = 0.8,
        min_jaccard: float = 0.4,
        max_per_signature: int = 64,
    ) -> None:
        """`stored` are the prototypes' rows as `replica_batch` made them with the same signer."""
        self._signer = signer
        self._min_cosine, self._min_jaccard = np.float32(min_cosine), np.float32(min_jaccard)
        self._ids = stored.column("page_id").to_numpy()
        signed = Signed.of(stored)
        self._sets = signed.sets
        self._pairs = PairSketches(signed.sketches, signed.pairs, 0.0)
        keys = signed.keys()
        _, firsts = np.unique(signed.digests, return_index=True)
        rows = np.repeat(np.sort(firsts), keys.shape[1])  # of equal prototypes the first stands for all
        values = keys[np.sort(firsts)].ravel()
        order = np.lexsort((rows, values))
        values, rows = values[order], rows[order]
        within = np.arange(values.size) - np.searchsorted(values, values) < max_per_signature
        self.capped = int(np.count_nonzero(~within & (values != 0)))
        """Signatures of prototypes left out because too many others have the same."""
        self._keys, self._rows = values[within & (values != 0)], rows[within & (values != 0)]

    def match(self, texts: pa.RecordBatch) -> pa.RecordBatch:
        """For each document (page_id, text): the nearest prototype, by which lexicon, their cosine and Jaccard.

        A prototype that agrees on a signature and reaches the cosine goes first, the most similar sketch second.
        """
        signed = self._signer.sign(*column_buffers(texts.column("text")))
        rows, columns, cosines = wordsets.match_prototypes(
            signed.keys(), signed.sets.rows, self._keys, self._rows, self._sets.rows
        )
        asked = PairSketches(signed.sketches, signed.pairs, 0.0)
        nearest, jaccards = nearest_sketches(asked.rows, self._pairs.rows)
        by_words = (rows >= 0) & (cosines >= self._min_cosine)
        none = ~by_words & ((nearest < 0) | (jaccards < self._min_jaccard))
        rows = np.where(by_words, rows, nearest)
        lexicons = np.where(by_words, np.where(columns > self._signer.lexicons, ALL_WORDS, columns), PAIRS)
        found = wordsets.cosines_across(signed.sets.rows, self._sets.rows, rows)
        shared = jaccards_across(asked.rows, self._pairs.rows, rows)
        return pa.record_batch(
            [
                texts.column("page_id"),
                _statuses(signed),
                pa.array(self._ids[rows] if self._ids.size else rows, mask=none),
                pa.array(lexicons, mask=none),
                pa.array(found, mask=none),
                pa.array(shared, mask=none),
            ],
            schema=MATCH_SCHEMA,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class SharedWords:
    """What two documents have in common, in words: the evidence behind a cosine.

    Attributes:
        cosine: Cosine of the two sets of words.
        shared: The words of both.
        left_only: The words of the left document alone.
        right_only: The words of the right document alone.
    """

    cosine: float
    shared: tuple[str, ...]
    left_only: tuple[str, ...]
    right_only: tuple[str, ...]


def compare_words(left: bytes, right: bytes, reader: WordReader | None = None) -> SharedWords:
    """Compares the sets of words of two texts."""
    reader = reader or WordReader()
    data = np.frombuffer(left + right, np.uint8)
    offsets = np.array([0, len(left), data.size])
    starts, words = reader.word_sets(data, offsets)
    sides = words[: starts[1]], words[starts[1] :]
    parts = np.intersect1d(*sides), np.setdiff1d(*sides), np.setdiff1d(*sides[::-1])
    shared, left_only, right_only = (
        tuple(sorted(reader.texts_of(part, data, offsets).drop_null().to_pylist())) for part in parts
    )
    cosine = parts[0].size / max(1.0, math.sqrt(sides[0].size * sides[1].size))
    return SharedWords(cosine, shared, left_only, right_only)
