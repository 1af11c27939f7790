"""How the pages of a method travel between tasks, and how they are compared where they meet.

A page travels as a row of PAGES. Pages of equal `identity` are the same (null: the same as nothing). Pages that share a
bucket are compared (null: in no bucket). `draw` is the order of `grouping.medoids.by_group` within a group, of 32 bits.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import as_binary, column_buffers
from samehand.base.settings import Settings
from samehand.grouping.comparable import Searchable, shuffle_keys
from samehand.grouping.forest import CheckRule
from samehand.grouping.sketches import NARROWEST, Sketches
from samehand.kernels.noise import EMPTY
from samehand.kernels.text.pairs import WORDS
from samehand.methods.replica import groups, summary
from samehand.methods.replica.pairs import PairSketches, pair_buckets, pair_rule, sketch_identity
from samehand.methods.replica.signatures import Signed, WordSets
from samehand.methods.style.channels import probe_plan, sketches_from, stored_words
from samehand.methods.style.sketches import check_rule, stored_fingerprints
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import REPLICA_SIGNATURES, STYLE_FINGERPRINTS

PAGES = "page_id long, identity long, draw long, comparable boolean, filled short, words binary, buckets array<long>"

PAIRS = "pairs"
_SKETCHED_ROWS = 1 << 12

_Word = TypeVar("_Word", np.uint32, np.uint64)


@dataclasses.dataclass(frozen=True, slots=True)
class Kind:
    """A method whose pages are grouped by shuffles.

    `read` gives the pages of a part as PAGES; it is told the part's number and the row of its first page in the run.
    `compared` makes rows with the columns of PAGES ready to be compared. `rule` says how buckets are checked.
    """

    table: Table
    read: Callable[[RunFolder, int, int, Settings], Iterator[pa.RecordBatch]]
    compared: Callable[[pa.RecordBatch, Settings], Searchable]
    rule: Callable[[Settings], CheckRule]


def _read_style(folder: RunFolder, number: int, _: int, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Fingerprints: the words are the sketches of noise, values and skeleton, and how much of the latter is filled."""
    plan = probe_plan(settings)
    for stored in stored_fingerprints(folder, number, settings):
        buckets = np.stack(plan.columns(stored), axis=1)
        filled = np.stack([stored.values_filled, stored.skeleton_filled], axis=1).astype(np.uint64)
        words = np.hstack([*stored_words(stored, settings), filled]).view(np.uint8)
        yield _page_batch(
            stored.page_ids,
            stored.identity,
            shuffle_keys(stored.page_ids),
            stored.comparable,
            stored.filled,
            as_binary(words.ravel(), np.arange(len(words) + 1) * words.shape[1]),
            buckets.astype(np.int64),
            (buckets == EMPTY) | ~stored.comparable[:, np.newaxis],
        )


def _compared_style(rows: pa.RecordBatch, settings: Settings) -> Sketches:
    widths = [settings.dimensions * settings.sketch_bits // 64, *[settings.markup_dimensions * NARROWEST // 128] * 2]
    found = _words(rows, np.uint64)[0].reshape(-1, sum(widths) + 2)
    words = [part.copy() for part in np.split(found[:, :-2], np.cumsum(widths)[:-1], axis=1)]
    filled, page_ids = (rows.column(name).to_numpy().copy() for name in ("filled", "page_id"))
    comparable = rows.column("comparable").to_numpy(zero_copy_only=False)
    of_markup = found[:, -2].astype(np.int16), found[:, -1].astype(np.int16)
    return sketches_from(settings, page_ids, comparable, words[0], words[1], words[2], filled, *of_markup)


def _read_replica(folder: RunFolder, number: int, first_row: int, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Documents: the words are their sets of words, the buckets are their signatures."""
    for batch in folder.iterate_part(REPLICA_SIGNATURES, number, [*summary.KEY_COLUMNS, "word_set"]):
        signed = Signed.of(pa.Table.from_batches([batch]))
        yield _page_batch(
            batch.column("page_id"),
            signed.digests,
            shuffle_keys(first_row + np.arange(len(batch))),
            signed.sets.comparable,
            np.zeros(len(batch), np.int16),
            as_binary(signed.sets.words.view(np.uint8), 4 * signed.sets.starts),
            signed.signatures.view(np.int64),
            signed.signatures == 0,
        )
        first_row += len(batch)


@dataclasses.dataclass(frozen=True, slots=True)
class _DrawnSets(WordSets):
    """Sets of words that are drawn as among all documents of the run, where their rows decide."""

    draws: NDArray[np.uint64]

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys; only their upper halves count."""
        return self.draws[rows] << np.uint64(32)


def _compared_replica(rows: pa.RecordBatch, _: Settings) -> WordSets:
    words, starts = _words(rows, np.uint32)
    return _DrawnSets(starts, words, rows.column("draw").to_numpy().astype(np.uint64))


def _read_pairs(folder: RunFolder, number: int, first_row: int, settings: Settings) -> Iterator[pa.RecordBatch]:
    """Documents: the words are narrow sketches of neighbouring words and their sizes, the buckets those of probes."""
    for batch in folder.iterate_part(REPLICA_SIGNATURES, number, summary.KEY_COLUMNS, _SKETCHED_ROWS):
        sketches, sizes = summary.stored_sketches(pa.Table.from_batches([batch]))
        narrow = PairSketches.of(sketches, sizes, settings.shared_text).words
        words = np.column_stack([narrow, sizes.astype(np.uint64)]).view(np.uint8)
        buckets = np.column_stack(list(pair_buckets(sketches, sizes).columns))
        yield _page_batch(
            batch.column("page_id"),
            sketch_identity(sketches, sizes),
            shuffle_keys(first_row + np.arange(len(batch))),
            sizes != 0,
            np.zeros(len(batch), np.int16),
            as_binary(words.ravel(), np.arange(len(words) + 1) * words.shape[1]),
            buckets.astype(np.int64),
            buckets == EMPTY,
        )
        first_row += len(batch)


@dataclasses.dataclass(frozen=True, slots=True)
class _DrawnPairs(PairSketches):
    """Sketches that are drawn as among all documents of the run, where their rows decide."""

    draws: NDArray[np.uint64]

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys; only their upper halves count."""
        return self.draws[rows] << np.uint64(32)


def compared_pairs(rows: pa.RecordBatch, settings: Settings, column: str = "words") -> PairSketches:
    """Sketches of neighbouring words, from rows that hold them in this column."""
    words = _words(rows, np.uint64, column)[0].reshape(-1, WORDS + 1)
    draws = rows.column("draw").to_numpy().astype(np.uint64)
    return _DrawnPairs(words[:, :-1].copy(), words[:, -1].astype(np.int32), settings.shared_text, draws)


def compared_documents(rows: pa.RecordBatch, settings: Settings) -> groups.Documents:
    """Documents by both channels: their sets of words, and their sketches in the column `sketch`."""
    sets, pairs = _compared_replica(rows, settings), compared_pairs(rows, settings, "sketch")
    return groups.Documents(sets, pairs, settings.replica_min_centre_cosine, settings.replica_jaccard)


KINDS = {
    "style": Kind(STYLE_FINGERPRINTS, _read_style, _compared_style, check_rule),
    "replica": Kind(REPLICA_SIGNATURES, _read_replica, _compared_replica, groups.check_rule),
    PAIRS: Kind(REPLICA_SIGNATURES, _read_pairs, compared_pairs, pair_rule),
}
"""By the names of the methods, and the second channel of replica. Other methods are grouped whole, in one task."""


def _page_batch(
    page_ids: object,
    identity: NDArray[np.uint64],
    shuffled: NDArray[np.uint64],
    comparable: NDArray[np.bool_],
    filled: NDArray[np.int16],
    words: pa.LargeBinaryArray,
    buckets: NDArray[np.int64],
    is_empty: NDArray[np.bool_],
) -> pa.RecordBatch:
    values = pa.array(np.ascontiguousarray(buckets).ravel(), mask=np.ascontiguousarray(is_empty).ravel())
    return pa.record_batch(
        {
            "page_id": page_ids,
            "identity": pa.array(identity.view(np.int64), mask=identity == 0),
            "draw": (shuffled >> np.uint64(32)).astype(np.int64),
            "comparable": comparable,
            "filled": filled,
            "words": words.cast(pa.binary()),
            "buckets": pa.ListArray.from_arrays(np.arange(len(buckets) + 1, dtype=np.int32) * buckets.shape[1], values),
        }
    )


def _words(rows: pa.RecordBatch, kind: type[_Word], column: str = "words") -> tuple[NDArray[_Word], NDArray[np.int64]]:
    """All words end to end, and where those of each row start. Copied: kernels are compiled for writable arrays."""
    if not len(rows):
        return np.zeros(0, kind), np.zeros(1, np.int64)
    data, offsets = column_buffers(rows.column(column).cast(pa.large_binary()))
    words = data[offsets[0] : offsets[-1]].copy().view(kind)
    return words, (offsets - offsets[0]) // words.itemsize
