"""The fingerprints of a run as grouping and one-to-all need them: files that are mapped into memory, not read.

    RUN/style/sketches/words.npy        narrow sketches, a row each: 128 bytes for 128 dimensions
    RUN/style/sketches/page_ids.npy     their pages
    RUN/style/sketches/filled.npy       how many of their dimensions are filled
    RUN/style/sketches/comparable.npy   which of them can be compared
    RUN/style/sketches/columns.npy      the bucket of each row in each probe; there only while grouping goes on,
    RUN/style/sketches/identity.npy     as are the hashes of whole fingerprints

They are made from the parts of style/fingerprints, several at once, and made again when those change.
"""

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import DTypeLike, NDArray

from samehand.base.settings import Settings
from samehand.grouping.forest import CheckRule
from samehand.grouping.memory import release
from samehand.grouping.probes import Buckets, ProbePlan, plan_probes
from samehand.grouping.sketches import Sketches, lanes_of, sketch_words
from samehand.kernels.sketches import Lanes
from samehand.methods.style.noise import STORED_COLUMNS, Stored, estimator_floor
from samehand.store.folder import RunFolder, digest_facts, writing

FINGERPRINTS, SKETCHES = "style/fingerprints", "style/sketches"
_KEPT = ("words", "page_ids", "filled", "comparable")
_SEARCHED = ("columns", "identity")
_BATCH_ROWS = 1 << 12


def check_rule(settings: Settings) -> CheckRule:
    """How pairs of fingerprints within a bucket are checked."""
    return CheckRule(
        edge_threshold=settings.family_threshold,
        leader_threshold=settings.cluster_threshold,
        exhaustive_bucket_size=settings.exhaustive_bucket_size,
        max_leaders=settings.max_leaders,
    )


def probe_plan(settings: Settings) -> ProbePlan:
    """The probes these settings ask for."""
    return plan_probes(
        settings.dimensions,
        settings.family_threshold,
        miss=settings.miss_probability,
        probes=settings.probes,
        probe_dimensions=settings.probe_dimensions,
    )


def sketch_lanes(settings: Settings) -> Lanes:
    """How the words of these settings hold values."""
    return lanes_of(settings.dimensions, bits=settings.sketch_bits, floor=estimator_floor(settings))


def open_sketches(folder: RunFolder, settings: Settings) -> Sketches:
    """The sketches of a run, made first where they are not there."""
    marker = folder.marker("sketches")
    if marker is None or marker["source"] != _source(folder, settings):
        _make(folder, settings, plan=None)
    words, page_ids, filled, comparable = (_mapped(folder, name) for name in _KEPT)
    return Sketches(words, filled, sketch_lanes(settings), page_ids, comparable)


@contextlib.contextmanager
def searched(folder: RunFolder, settings: Settings, plan: ProbePlan) -> Iterator[tuple[Sketches, Buckets]]:
    """Sketches and buckets of a run; the file of the buckets goes when the search is over."""
    try:
        _make(folder, settings, plan)
        columns = _Columns(_mapped(folder, "columns"))
        buckets = Buckets(columns, _mapped(folder, "identity"), folder.path / SKETCHES)
        yield open_sketches(folder, settings), buckets
    finally:
        for name in _SEARCHED:
            (folder.path / SKETCHES / f"{name}.npy").unlink(missing_ok=True)


def _mapped(folder: RunFolder, name: str) -> NDArray[Any]:
    """An array in a file. Copy on write, because kernels are compiled for arrays that may be written to."""
    mapped: NDArray[Any] = np.load(folder.path / SKETCHES / f"{name}.npy", mmap_mode="c", allow_pickle=False)
    return mapped


class _Columns:
    """Columns of a file, in memory one at a time."""

    def __init__(self, mapped: NDArray[np.uint32]) -> None:
        self._mapped = mapped

    def __len__(self) -> int:
        return len(self._mapped)

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        for column in self._mapped:
            loaded = column.copy()
            release(self._mapped)
            yield loaded


def _source(folder: RunFolder, settings: Settings) -> str:
    """Digest of what the sketches are made from."""
    markers = sorted((folder.path / "done").glob("style-*.json"))
    made = {path.stem: folder.marker(path.stem) for path in markers}
    return digest_facts([made, settings.sketch_bits, settings.min_filled, settings.estimator])


def _make(folder: RunFolder, settings: Settings, plan: ProbePlan | None) -> None:
    """Writes the sketches of a run, and with a plan the buckets of its probes and which rows are the same."""
    folder.unmark("sketches")
    paths = folder.part_paths(FINGERPRINTS)
    bounds = list(accumulate((pq.read_metadata(path).num_rows for path in paths), initial=0))
    files = _Files(folder.path / SKETCHES, bounds[-1])

    def convert(path: Path, first: int) -> None:
        for stored in stored_fingerprints(path, settings):
            files.put("words", first, sketch_words(stored.values, settings.sketch_bits))
            files.put("page_ids", first, stored.page_ids)
            files.put("filled", first, stored.filled)
            files.put("comparable", first, stored.comparable)
            if plan:
                files.put("identity", first, stored.identity)
                for probe, column in enumerate(plan.columns(stored.values)):
                    files.put("columns", probe * files.rows + first, column)
            first += len(stored.identity)

    with writing(folder.path), files:
        files.create("words", (files.rows, settings.dimensions * settings.sketch_bits // 64), np.uint64)
        files.create("page_ids", (files.rows,), np.int64)
        files.create("filled", (files.rows,), np.int16)
        files.create("comparable", (files.rows,), np.bool_)
        if plan:
            files.create("columns", (len(plan), files.rows), np.uint32)
            files.create("identity", (files.rows,), np.uint64)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(convert, paths, bounds[:-1]))
    pa.default_memory_pool().release_unused()
    folder.mark_done("sketches", {"source": _source(folder, settings)})


def stored_fingerprints(path: Path, settings: Settings) -> Iterator[Stored]:
    """The fingerprints of a part, a batch at a time."""
    with pq.ParquetFile(path) as part:
        for batch in part.iter_batches(_BATCH_ROWS, columns=list(STORED_COLUMNS), use_threads=False):
            yield Stored.of(batch, settings)


class _Files:
    """Arrays in files, filled in any order a stretch at a time: no more than that is in memory."""

    def __init__(self, place: Path, rows: int) -> None:
        self.rows = rows
        self._place = place
        self._open: dict[str, tuple[int, int]] = {}

    def __enter__(self) -> "_Files":
        self._place.mkdir(parents=True, exist_ok=True)
        return self

    def create(self, name: str, shape: tuple[int, ...], kind: DTypeLike) -> None:
        path = self._place / f"{name}.npy"
        head = {"descr": np.dtype(kind).newbyteorder("<").str, "fortran_order": False, "shape": shape}
        with path.open("wb") as handle:
            np.lib.format.write_array_header_1_0(handle, head)
            start = handle.tell()
            handle.truncate(start + int(np.prod(shape)) * np.dtype(kind).itemsize)
        self._open[name] = os.open(path, os.O_WRONLY), start

    def put(self, name: str, first: int, rows: NDArray[Any]) -> None:
        """Writes rows from row `first` on."""
        handle, start = self._open[name]
        at = start + first * rows.dtype.itemsize * (rows.shape[1] if rows.ndim > 1 else 1)
        data = memoryview(np.ascontiguousarray(rows).tobytes())
        while data:
            written = os.pwrite(handle, data, at)
            data, at = data[written:], at + written

    def __exit__(self, *_: object) -> None:
        for handle, _start in self._open.values():
            os.close(handle)
