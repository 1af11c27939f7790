"""Scans beside bare reads of the same files: `make bench`, or python -m benchmarks.reading.

Each corpus is a WARC, gzip per record, in two sizes. What is shown is the difference between the two, so start-up is
left out. Everything runs in a process of its own, and CPU seconds are those of the process and its workers, because
machines are shared. A ratio is that of CPU seconds to fastwarc's bare read.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.crawls import CORPORA, crawl_of

SIZES = (100, 300)
"""Megabytes of HTML of the two files. On a busy machine the difference needs larger ones: --sizes 200 1500."""
PEER_BYTES = 4_000_000
"""Bytes of HTML that a slow peer gets."""


class Cost(NamedTuple):
    """CPU seconds and seconds."""

    cpu: float
    wall: float

    def beyond(self, less: "Cost") -> "Cost":
        """What this one took more."""
        return Cost(self.cpu - less.cpu, self.wall - less.wall)


def _bare_fastwarc(path: str) -> None:
    from fastwarc.warc import ArchiveIterator

    for record in ArchiveIterator(path):
        record.reader.read()


def _bare_warcio(path: str) -> None:
    from warcio.archiveiterator import ArchiveIterator

    with open(path, "rb") as file:
        for record in ArchiveIterator(file):
            record.content_stream().read()


def _unpack(path: str) -> None:
    """The members alone, by libdeflate."""
    import ctypes

    import deflate._deflate

    library = ctypes.CDLL(deflate._deflate.__file__)
    library.libdeflate_alloc_decompressor.restype = ctypes.c_void_p
    state = ctypes.c_void_p(library.libdeflate_alloc_decompressor())
    data, out = Path(path).read_bytes(), ctypes.create_string_buffer(1 << 24)
    begin = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0
    used, written, at = ctypes.c_size_t(), ctypes.c_size_t(), 0
    while at < len(data):
        source, rest, room = ctypes.c_void_p(begin + at), ctypes.c_size_t(len(data) - at), ctypes.c_size_t(len(out))
        sizes = ctypes.byref(used), ctypes.byref(written)
        if library.libdeflate_gzip_decompress_ex(state, source, rest, out, room, *sizes):
            raise SystemExit(f"{path} cannot be unpacked")
        at += used.value


def _pages(path: str) -> None:
    """To Arrow batches, without any signal."""
    from collections import Counter

    from samehand import Settings
    from samehand.sources import find_sources, plan_units, read_unit
    from samehand.sources.runs import batched

    (source,), _ = find_sources([path])
    for unit in plan_units([source], 1 << 62):
        for rows, _ in batched(read_unit(unit, Settings()).items(), Counter()):
            rows.batch(0)


def _trafilatura(path: str) -> None:
    import trafilatura
    from fastwarc.warc import ArchiveIterator

    size = 0
    for record in ArchiveIterator(path):
        page = record.reader.read()
        trafilatura.extract(page)
        size += len(page)
        if size >= PEER_BYTES * int(os.environ["TIMES"]):
            return


MEASURED: dict[str, Callable[[str], None]] = {
    "fastwarc": _bare_fastwarc,
    "warcio": _bare_warcio,
    "unpack": _unpack,
    "pages": _pages,
    "trafilatura": _trafilatura,
}


def cost_of(command: list[str], **environment: str) -> Cost:
    """What a command takes, its workers included."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)


def _measure(what: str, path: Path) -> Cost:
    return cost_of([sys.executable, "-m", "benchmarks.reading", "--measure", what, str(path)])


def _scan(options: tuple[str, ...], workers: int, path: Path) -> Cost:
    with tempfile.TemporaryDirectory(dir="build") as folder:
        arguments = ["scan", str(path), "-o", f"{folder}/run", "--workers", str(workers), *options]
        if workers > 1:
            arguments += ["--split-bytes", str(8_000_000)]  # these files are too short to be split between workers
        return cost_of([sys.executable, "-m", "samehand.cli.main", *arguments])


SCANS: dict[str, tuple[str, ...]] = {
    "style, noise alone": ("--signals", "style", "--markup-dimensions", "0"),
    "style": ("--signals", "style"),
    "all signals": ("--signals", "all"),
}


def _difference(cost: Callable[[Path], Cost], paths: list[Path], repeats: int) -> Cost:
    """What the large file takes more than the small one: the least of some tries, since other work only adds."""
    small, large = (min(cost(path) for _ in range(repeats)) for path in paths)
    return large.beyond(small)


def compare(corpus: str, data: Path, sizes: list[int], scans: list[str], repeats: int) -> None:
    """Prints the table of a corpus."""
    paths = [crawl_of(corpus, data, size) for size in sizes]
    megabytes = sizes[1] - sizes[0]
    print(f"{corpus}: {megabytes} MB of HTML beyond the first {sizes[0]} MB")
    print("                                             CPU s  seconds  MB per CPU s  ratio")
    rows: dict[str, Callable[[Path], Cost]] = {
        "fastwarc, bare read": partial(_measure, "fastwarc"),
        "warcio, bare read": partial(_measure, "warcio"),
        "libdeflate, members alone": partial(_measure, "unpack"),
        "samehand, pages as Arrow batches": partial(_measure, "pages"),
    }
    for name in scans:
        _scan(SCANS[name], 1, crawl_of(corpus, data, 1))  # compiles
        for workers in ("1 worker", "2 workers"):
            rows[f"samehand scan, {name}, {workers}"] = partial(_scan, SCANS[name], int(workers[0]))
    bare = 0.0
    for name, cost in rows.items():
        spent = _difference(cost, paths, repeats)
        bare = bare or spent.cpu
        print(
            f"  {name:43} {spent.cpu:6.2f} {spent.wall:8.2f} {megabytes / spent.cpu:13.0f} {bare / spent.cpu:6.2f}",
            flush=True,
        )
    if "all signals" in scans:
        _print_trafilatura(paths[0])


def _print_trafilatura(path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.reading", "--measure", "trafilatura", str(path)]
    spent = cost_of(command, TIMES="2").beyond(cost_of(command, TIMES="1"))
    print(f"  {'trafilatura, text alone':43} {'':15} {PEER_BYTES / 1e6 / spent.cpu:13.1f}\n", flush=True)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--sizes", nargs=2, type=int, default=SIZES, metavar="MB")
    parser.add_argument("--scans", nargs="+", choices=SCANS, default=list(SCANS))
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        warnings.simplefilter("ignore")
        MEASURED[chosen.measure[0]](chosen.measure[1])
        return
    for corpus in chosen.corpora:
        compare(corpus, chosen.data, chosen.sizes, chosen.scans, chosen.repeats)


if __name__ == "__main__":
    main()
