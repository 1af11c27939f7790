"""Near replicas and classes of a million pages, Parquet to Parquet: `make bench`, or python -m benchmarks.replicas.

Rows are planted as `benchmarks.planted` plants fingerprints: no HTML is read. Copies of a text keep 0.85 to 1 of its
values; a quarter of the pages has only a template in common with its cluster. Memory is that of a process of its own,
beyond what a run of 2,000 pages takes in it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.planted import PART_ROWS, plant, planted_values
from benchmarks.scale import peak_memory
from samehand.base.settings import Settings
from samehand.methods.method import Method
from samehand.methods.registry import methods
from samehand.store.done import part_name
from samehand.store.folder import RunFolder
from samehand.store.tables import REPLICA_SIGNATURES, STYLE_CLUSTERS, STYLE_MEMBERS

ROWS = (500_000, 1_000_000)
SMALL = 2_000
WORDS, SLOTS = 150, 128
SIGNATURE_KEPT = 0.6


def plant_documents(path: Path, rows: int) -> RunFolder:
    """A run folder with pages, their style clusters, and rows of replica."""
    settings = Settings(markup_dimensions=0)
    planted = plant(path, rows, settings=settings)
    folder, labels = planted.folder, planted.labels
    draw = np.random.Generator(np.random.PCG64(5))
    texts = np.where(draw.random(rows) < 0.25, -1, labels)
    kept = 0.85 + 0.15 * draw.random(int(labels.max(initial=0)) + 1)
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        _write_documents(folder, number, texts[first : first + PART_ROWS], kept, draw)
        unit = folder.done.get(part_name("style", number))
        folder.done.set(part_name("replica", number), dict(unit or {}))
    _write_clusters(folder, labels)
    return folder


def _write_documents(
    folder: RunFolder, number: int, texts: NDArray[np.int64], kept: NDArray[np.float64], draw: np.random.Generator
) -> None:
    settings = folder.settings()
    rows, columns = len(texts), settings.randomised_lexicons + 1
    values = planted_values(draw, texts, kept, WORDS + SLOTS)
    words = np.sort(_different_words(values[:, :WORDS]), axis=1).ravel()
    signatures = planted_values(draw, texts, np.full(kept.size, SIGNATURE_KEPT), 2 * columns).view(np.uint64)
    hosts = draw.integers(1, 1 << 40, 3 * rows, dtype=np.uint64)
    ends = np.arange(rows + 1, dtype=np.int64)
    table = pa.table(
        [
            (np.int64(number) << 32) + ends[:-1],
            *[np.full(rows, count) for count in (WORDS, 60, 0)],
            pa.array(["signed"] * rows),
            draw.integers(1, 1 << 62, rows, dtype=np.uint64),
            _fixed(signatures.view(np.uint8)),
            np.full(rows, WORDS, np.int32),
            _fixed(np.ascontiguousarray((values[:, WORDS:] & 0xFF).astype(np.uint8))),
            pa.LargeListArray.from_arrays(WORDS * ends, words),
            pa.LargeListArray.from_arrays(3 * ends, np.sort(hosts.reshape(-1, 3), axis=1).ravel()),
            np.zeros(rows, np.uint8),
        ],
        schema=REPLICA_SIGNATURES.schema(settings),
    )
    with folder.writer(REPLICA_SIGNATURES, settings, number) as writer:
        writer.write(table)


def _different_words(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Hashes of words, of which no page has one twice: a value of a column is a word of its own."""
    columns = np.arange(values.shape[1], dtype=np.uint32) << np.uint32(24)
    words = (columns | (values >> np.uint32(6))) * np.uint32(0x9E3779B1)
    return words ^ (words >> np.uint32(15))


def _fixed(rows: NDArray[np.uint8]) -> pa.Array:
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(rows.shape[1]), len(rows), [None, pa.py_buffer(rows)])


def _write_clusters(folder: RunFolder, labels: NDArray[np.int64]) -> None:
    """The style clusters that were planted."""
    page_ids, rows = folder.page_ids.ids(), np.flatnonzero(labels >= 0)
    names, firsts, places = np.unique(labels[rows], return_index=True, return_inverse=True)
    ids = page_ids[rows[firsts]]
    numbers, urls = np.arange(1, len(names) + 1), pa.array(["http://x.example/"] * len(rows))
    members = [urls, pa.nulls(len(rows), pa.string()), page_ids[rows], numbers[places], ids[places], ids[places]]
    folder.write(STYLE_MEMBERS, _table(STYLE_MEMBERS, [*members, np.ones(len(rows), np.float32)]))
    ones = np.ones(len(names))
    counts = [np.bincount(places), np.bincount(places), np.bincount(places)]
    clusters = [numbers, ids, ids, *counts, ones, ones.astype(np.float32), ones, ids, urls[: len(names)]]
    folder.write(STYLE_CLUSTERS, _table(STYLE_CLUSTERS, clusters))


def _table(table: Any, columns: list[Any]) -> pa.Table:
    return pa.table(columns, names=table.fixed_schema.names).cast(table.fixed_schema)


def measure(path: Path, small: Path, name: str) -> dict[str, Any]:
    """Groups the run by one method, after a small one: what that takes is start-up (Python, Arrow, machine code)."""
    folder, method = RunFolder(path), methods()[name]
    _group(RunFolder(small), method)
    start, began, spent = peak_memory(), time.perf_counter(), time.process_time()
    counts = _group(folder, method)
    seconds, cpu = time.perf_counter() - began, time.process_time() - spent
    return {"seconds": seconds, "cpu": cpu, "start": start, "memory": peak_memory() - start, "counts": counts}


def _group(folder: RunFolder, method: Method) -> dict[str, Any]:
    return method.group(folder, folder.settings(), threads=2, on_progress=lambda done, total: None)


def in_own_process(path: Path, small: Path, name: str) -> dict[str, Any]:
    """The same in a fresh process: memory is counted from nothing."""
    command = [sys.executable, "-m", "benchmarks.replicas", "--measure", str(path), str(small), name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="so many pages; the last is reported")
    parser.add_argument("--measure", nargs=3, metavar=("RUN", "SMALL", "METHOD"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        path, small, name = chosen.measure
        print(json.dumps(measure(Path(path), Path(small), name)))
        return
    Path("build").mkdir(exist_ok=True)
    print("near replicas and classes, Parquet to Parquet (target: a million in 60 s, 100 bytes a page beyond start-up)")
    print("       rows  method   seconds  CPU s  us a row  MB start  bytes a row beyond it  answers")
    with tempfile.TemporaryDirectory(dir="build") as scratch:
        plant_documents(Path(scratch) / "small", SMALL)
        for rows in chosen.rows:
            plant_documents(Path(scratch) / str(rows), rows)
            for name in ("replica", "classes"):
                _print(rows, name, in_own_process(Path(scratch) / str(rows), Path(scratch) / "small", name))


def _print(rows: int, name: str, found: dict[str, Any]) -> None:
    print(
        f"{rows:11,}  {name:8} {found['seconds']:7.1f} {found['cpu']:6.1f} {1e6 * found['cpu'] / rows:9.1f} "
        f"{found['start'] / 1e6:9.0f} {found['memory'] / rows:22.0f}  {found['counts']}"
    )


if __name__ == "__main__":
    main()
