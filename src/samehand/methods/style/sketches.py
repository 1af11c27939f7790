"""The fingerprints of a run as grouping and one-to-all need them: arrays in files that are mapped, not read.

    words          narrow sketches of the noise, a row each: 128 bytes for 128 dimensions
    filled         how many of their dimensions are filled
    values_words, skeleton_words     the same of both streams of the canonical markup: 64 bytes each
    values_filled, skeleton_filled   how many of their dimensions are filled
    page_ids       their pages
    comparable     which of them can be compared
    columns        the bucket of each row in each probe; only while grouping goes on
    identity       hashes of whole fingerprints; only while grouping goes on

They are made from the parts of style/fingerprints, several at once, and made again when those change, or when their own
checksums do.
"""

import contextlib
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

from samehand.base.errors import RunError
from samehand.base.settings import Settings
from samehand.grouping.forest import CheckRule
from samehand.grouping.memory import release
from samehand.grouping.probes import Buckets
from samehand.grouping.sketches import NARROWEST, Sketches
from samehand.methods.style.channels import Probes, probe_plan, sketches_from
from samehand.methods.style.fingerprints import STORED_COLUMNS, Stored
from samehand.store.arrays import ArrayFiles, Shapes, map_array
from samehand.store.done import digest_of
from samehand.store.files import SKETCHES
from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_FINGERPRINTS

RECORD = "sketches"
_WORDS = ("words", "values_words", "skeleton_words")
_FILLED = ("filled", "values_filled", "skeleton_filled")
_KEPT = ("page_ids", "comparable", *_WORDS, *_FILLED)
_SEARCHED = ("columns", "identity")
_BATCH_ROWS = 1 << 12
_SUMMED_BYTES = 1 << 24
"""So many bytes are in memory at a time while a checksum is computed."""


def check_rule(settings: Settings) -> CheckRule:
    """How pairs of fingerprints within a bucket are checked."""
    return CheckRule(
        edge_threshold=settings.family_threshold,
        leader_threshold=settings.cluster_threshold,
        exhaustive_bucket_size=settings.exhaustive_bucket_size,
        max_leaders=settings.max_leaders,
    )


def open_sketches(folder: RunFolder, settings: Settings) -> Sketches:
    """The sketches of a run. They are made anew where they are not there, or are not those of its pages."""
    source, record = _source(folder, settings), folder.done.get(RECORD)
    if record is not None and record["source"] == source:
        with contextlib.suppress(RunError):
            arrays = _kept_arrays(folder, settings)
            if record["counts"] == _counts(arrays) and np.array_equal(arrays[0], folder.page_ids.ids()):
                return sketches_from(settings, *arrays)
    with folder.locked():
        folder.done.remove(RECORD)
        folder.done.once(RECORD, source, lambda: _make(folder, settings, plan=None))
    return _mapped_sketches(folder, settings)


def _mapped_sketches(folder: RunFolder, settings: Settings) -> Sketches:
    return sketches_from(settings, *_kept_arrays(folder, settings))


def _kept_arrays(folder: RunFolder, settings: Settings) -> list[NDArray[Any]]:
    shapes = _shapes(len(folder.page_ids), settings, plan=None)
    return [_mapped(folder, name, *shapes[name]) for name in _KEPT]


def _counts(arrays: list[NDArray[Any]]) -> dict[str, int]:
    """What the record says of the arrays that are kept: their rows and checksums."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {"rows": len(arrays[0]), **dict(zip(_KEPT, pool.map(_checksum, arrays), strict=True))}


def _checksum(mapped: NDArray[Any]) -> int:
    """CRC-32 of a mapped array."""
    data, found = mapped.reshape(-1).view(np.uint8), 0
    for first in range(0, data.size, _SUMMED_BYTES):
        found = zlib.crc32(data[first : first + _SUMMED_BYTES].data, found)
        release(mapped)
    return found


@contextlib.contextmanager
def searched(folder: RunFolder, settings: Settings, plan: Probes) -> Iterator[tuple[Sketches, Buckets]]:
    """Sketches and buckets of a run; the file of the buckets goes when the search is over."""
    try:
        folder.done.remove(RECORD)
        folder.done.once(RECORD, _source(folder, settings), lambda: _make(folder, settings, plan))
        shapes = _shapes(len(folder.page_ids), settings, plan)
        columns, identity = (_mapped(folder, name, *shapes[name]) for name in _SEARCHED)
        yield _mapped_sketches(folder, settings), Buckets(_Columns(columns), identity, folder.path / SKETCHES)
    finally:
        for name in _SEARCHED:
            (folder.path / SKETCHES / f"{name}.npy").unlink(missing_ok=True)


def _shapes(rows: int, settings: Settings, plan: Probes | None) -> Shapes:
    """Shape and type of each array."""
    shapes: dict[str, tuple[tuple[int, ...], DTypeLike]] = {
        "words": ((rows, settings.dimensions * settings.sketch_bits // 64), np.uint64),
        "page_ids": ((rows,), np.int64),
        "comparable": ((rows,), np.bool_),
        **dict.fromkeys(_WORDS[1:], ((rows, settings.markup_dimensions * NARROWEST // 128), np.uint64)),
        **dict.fromkeys(_FILLED, ((rows,), np.int16)),
    }
    if plan:
        shapes |= {"columns": ((len(plan), rows), np.uint32), "identity": ((rows,), np.uint64)}
    return shapes


def _mapped(folder: RunFolder, name: str, shape: tuple[int, ...], kind: DTypeLike) -> NDArray[Any]:
    return map_array(folder.path / SKETCHES / f"{name}.npy", shape, kind)


class _Columns:
    """Columns of a file, in memory one at a time."""

    def __init__(self, mapped: NDArray[np.uint32]) -> None:
        self._mapped = mapped

    def __len__(self) -> int:
        return len(self._mapped)

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        for column in self._mapped:
            yield column
            release(self._mapped)


def _source(folder: RunFolder, settings: Settings) -> str:
    """Digest of what the sketches are made from."""
    made = folder.done.parts("style")
    return digest_of([made, settings.sketch_bits, settings.min_filled, settings.estimator])


def _make(folder: RunFolder, settings: Settings, plan: Probes | None) -> dict[str, int]:
    """Writes the sketches of a run, and with a plan the buckets of its probes and which rows are the same."""
    numbers = folder.part_numbers(STYLE_FINGERPRINTS)
    starts = folder.page_ids.starts.tolist()
    files = ArrayFiles(folder.path / SKETCHES, _shapes(starts[-1], settings, plan))

    def convert(number: int, first: int) -> None:
        for stored in stored_fingerprints(folder, number, settings):
            reduced = (plan or probe_plan(settings)).reduced(stored, settings)
            for name, words in zip(_WORDS, reduced.words, strict=True):
                files.put(name, first, words)
            for name in _FILLED:
                files.put(name, first, getattr(stored, name))
            files.put("page_ids", first, stored.page_ids)
            files.put("comparable", first, stored.comparable)
            if plan:
                files.put("identity", first, reduced.identity)
                for probe, column in enumerate(reduced.columns):
                    files.put("columns", probe * starts[-1] + first, column)
            first += len(stored.page_ids)

    with files, ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(convert, numbers, starts[:-1]))
    pa.default_memory_pool().release_unused()
    return _counts(_kept_arrays(folder, settings))


def stored_fingerprints(folder: RunFolder, number: int, settings: Settings) -> Iterator[Stored]:
    """The fingerprints of a part, a batch at a time."""
    for batch in folder.iterate_part(STYLE_FINGERPRINTS, number, STORED_COLUMNS, _BATCH_ROWS):
        yield Stored.of(batch, settings)
