"""How the pages of a method travel between tasks, and how they are compared where they meet.

A page travels as a row of PAGES. Pages of equal `identity` are the same (null: the same as nothing); pages that share
a bucket are compared (null: in no bucket); `draw` is their shuffled order within a group, of 32 bits, as `by_group` of
`samehand.grouping.medoids` has it among all pages at once.
"""

import dataclasses
from collections.abc import Iterator
from typing import ClassVar, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import as_binary, column_buffers
from samehand.base.settings import Settings
from samehand.grouping.comparable import Searchable, shuffle_keys
from samehand.grouping.forest import CheckRule
from samehand.grouping.sketches import Sketches, sketch_words
from samehand.kernels.noise import EMPTY
from samehand.methods.replica.signatures import Signed, WordSets
from samehand.methods.replica.summary import KEY_COLUMNS
from samehand.methods.replica.summary import check_rule as replica_rule
from samehand.methods.style.sketches import check_rule, probe_plan, sketch_lanes, stored_fingerprints
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import REPLICA_SIGNATURES, STYLE_FINGERPRINTS

_Word = TypeVar("_Word", np.uint32, np.uint64)
PAGES = "page_id long, identity long, draw long, comparable boolean, filled short, words binary, buckets array<long>"


class Kind(Protocol):
    """A method whose pages are grouped by shuffles."""

    table: ClassVar[Table]

    def read(self, folder: RunFolder, number: int, first_row: int, settings: Settings) -> Iterator[pa.RecordBatch]:
        """The pages of a part as PAGES. `first_row` is the row of its first page among all pages of the run."""

    def compared(self, rows: pa.RecordBatch, settings: Settings) -> Searchable:
        """Rows with the columns of PAGES, ready to be compared."""

    def rule(self, settings: Settings) -> CheckRule:
        """How the pairs within a bucket are checked."""


class StyleKind:
    """Fingerprints: the words are sketches of one width, the buckets are those of the probes."""

    table: ClassVar = STYLE_FINGERPRINTS

    def read(self, folder: RunFolder, number: int, first_row: int, settings: Settings) -> Iterator[pa.RecordBatch]:
        """The fingerprints of a part, a batch at a time."""
        plan = probe_plan(settings)
        for stored in stored_fingerprints(folder, number, settings):
            buckets = plan.columns(stored.values).T
            words = np.ascontiguousarray(sketch_words(stored.values, settings.sketch_bits)).view(np.uint8)
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

    def compared(self, rows: pa.RecordBatch, settings: Settings) -> Sketches:
        """Sketches."""
        words = _words(rows, np.uint64)[0].reshape(-1, settings.dimensions * settings.sketch_bits // 64)
        filled, page_ids = (rows.column(name).to_numpy().copy() for name in ("filled", "page_id"))
        comparable = rows.column("comparable").to_numpy(zero_copy_only=False)
        return Sketches(words, filled, sketch_lanes(settings), page_ids, comparable)

    def rule(self, settings: Settings) -> CheckRule:
        """That of style."""
        return check_rule(settings)


@dataclasses.dataclass(frozen=True, slots=True)
class _DrawnSets(WordSets):
    """Sets of words that are drawn as among all documents of the run, whose rows decide there."""

    draws: NDArray[np.uint64]

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """Sort keys; only their upper halves count."""
        return self.draws[rows] << np.uint64(32)


class ReplicaKind:
    """Documents: the words are their sets of words, the buckets are their signatures."""

    table: ClassVar = REPLICA_SIGNATURES

    def read(self, folder: RunFolder, number: int, first_row: int, settings: Settings) -> Iterator[pa.RecordBatch]:
        """The documents of a part, a batch at a time."""
        for batch in folder.iterate_part(REPLICA_SIGNATURES, number, [*KEY_COLUMNS, "word_set"]):
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

    def compared(self, rows: pa.RecordBatch, settings: Settings) -> WordSets:
        """Sets of words."""
        words, starts = _words(rows, np.uint32)
        return _DrawnSets(starts, words, rows.column("draw").to_numpy().astype(np.uint64))

    def rule(self, settings: Settings) -> CheckRule:
        """That of near replicas."""
        return replica_rule(settings)


KINDS: dict[str, Kind] = {"style": StyleKind(), "replica": ReplicaKind()}
"""By the names of the methods. The other methods are grouped whole, in one task."""


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
    starts = np.arange(len(buckets) + 1, dtype=np.int32) * buckets.shape[1]
    return pa.record_batch(
        {
            "page_id": page_ids,
            "identity": pa.array(identity.view(np.int64), mask=identity == 0),
            "draw": (shuffled >> np.uint64(32)).astype(np.int64),
            "comparable": comparable,
            "filled": filled,
            "words": words.cast(pa.binary()),
            "buckets": pa.ListArray.from_arrays(starts, values),
        }
    )


def _words(rows: pa.RecordBatch, kind: type[_Word]) -> tuple[NDArray[_Word], NDArray[np.int64]]:
    """All words end to end, and where those of each row start. Copied: kernels are compiled for writable arrays."""
    if not len(rows):
        return np.zeros(0, kind), np.zeros(1, np.int64)
    data, offsets = column_buffers(rows.column("words").cast(pa.large_binary()))
    words = data[offsets[0] : offsets[-1]].copy().view(kind)
    return words, (offsets - offsets[0]) // words.itemsize
