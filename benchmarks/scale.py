"""Grouping at scale: time and memory from half a million to five million pages, a giant bucket, one page against all,
and the nearest peers at the size they can manage. `make bench`, or python -m benchmarks.scale [--rows 500000 ...].

Each size is measured in a process of its own, from fingerprints in Parquet to members and clusters in Parquet; that is
how a run does it. Peers get ready sketches; their time is that of their index, its queries and the components.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted import plant, planted_values
from samehand.base.settings import Settings
from samehand.grouping.edges import cut
from samehand.grouping.forest import find_forest
from samehand.grouping.probes import Buckets, plan_probes
from samehand.grouping.sketches import Sketches, lanes_of, sketch_words
from samehand.kernels import sketches as kernel
from samehand.methods.style.answers import LIKE_LEAST
from samehand.methods.style.channels import probe_plan
from samehand.methods.style.clusters import group_rows, write_grouped
from samehand.methods.style.sketches import check_rule, open_sketches, searched
from samehand.store.folder import RunFolder
from samehand.store.tables import STYLE_FINGERPRINTS

SIZES = (500_000, 1_000_000, 2_000_000, 5_000_000)
PEER_ROWS = 20_000
BUCKETS = (250_000, 500_000, 1_000_000)


def peak_memory() -> int:
    """Bytes this process had in memory at most, mapped files and its own start included."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) * 1024  # type: ignore[index]


def measure(path: Path, bits: int) -> dict[str, Any]:
    """Groups one planted run, stage by stage."""
    settings = Settings(sketch_bits=bits)
    start = peak_memory()
    times: dict[str, float] = {}
    spent: dict[str, float] = {}
    began, cpu = time.perf_counter(), time.process_time()

    def lap(name: str) -> None:
        nonlocal began, cpu
        times[name], began = time.perf_counter() - began, time.perf_counter()
        spent[name], cpu = time.process_time() - cpu, time.process_time()

    folder = RunFolder(path)
    with searched(folder, settings, probe_plan(settings)) as (sketches, buckets):
        lap("sketches and buckets")
        forest, counts = find_forest(sketches, buckets, rule=check_rule(settings))
        lap("checks and forest")
    grouped = group_rows(sketches, sketches.page_ids, forest, settings)
    lap("cuts, chains, centres")
    memory = peak_memory()
    sketches.release()
    write_grouped(folder, grouped, settings)
    lap("writing answers")
    np.save(path / f"found-{bits}.npy", np.stack([grouped.labels, grouped.families]))
    return {
        "times": times,
        "spent": spent,
        "start": start,
        "memory": memory,
        "written": peak_memory(),
        "cpu": time.process_time(),
        "checks": counts.checks,
        "compared": counts.compared,
        "cap_hits": counts.leader_cap_hits,
        "clusters": int(grouped.clusters.labels.size),
    }


def in_own_process(path: Path, bits: int = 8) -> dict[str, Any]:
    """The same in a fresh process: memory is counted from nothing."""
    command = [sys.executable, "-m", "benchmarks.scale", "--measure", str(path), "--bits", str(bits)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def pair_scores(found: NDArray[np.int64], wanted: NDArray[np.int64]) -> tuple[float, float]:
    """Pair precision and recall of groups against groups; -1 is a page alone."""
    wanted = np.where(wanted < 0, wanted.max() + 1 + np.arange(wanted.size), wanted)
    both = np.unique(np.stack([found, wanted]), axis=1, return_counts=True)[1]
    pairs = [int((sizes * (sizes - 1) // 2).sum()) for sizes in (both, np.bincount(found), np.bincount(wanted))]
    return pairs[0] / max(pairs[1], 1), pairs[0] / max(pairs[2], 1)


def growth(sizes: list[int], scratch: Path) -> Path:
    """Time and memory by size. The folder of the largest is left for what follows."""
    print(
        "grouping of planted fingerprints, Parquet to Parquet, all cores (target: 5 million in 20 s, 160 bytes a page)"
    )
    print(
        "       rows  seconds  CPU s  us a row  MB peak  bytes a row  less start"
        "   checks a row  compared  precision  recall"
    )
    for size in sizes:
        path = scratch / str(size)
        labels = plant(path, size).labels
        found = in_own_process(path)
        seconds = sum(found["times"].values())
        precision, recall = pair_scores(np.load(path / "found-8.npy")[0].astype(np.int64), labels)
        print(
            f"{size:11,} {seconds:8.1f} {found['cpu']:6.1f} {1e6 * seconds / size:9.2f} {found['memory'] / 1e6:8.0f} "
            f"{found['memory'] / size:12.0f} {(found['memory'] - found['start']) / size:11.0f} "
            f"{found['checks'] / size:14.0f} {found['compared'] / size:9.0f} {precision:10.4f} {recall:7.4f}"
        )
        if size == sizes[0]:
            _against_exact(path)
    stages = ", ".join(f"{name} {spent:.1f} CPU s" for name, spent in found["spent"].items())
    print(f"the last: {stages}; {found['clusters']:,} clusters; peak with writing {found['written'] / 1e6:,.0f} MB\n")
    return path


def _against_exact(path: Path) -> None:
    """Groups by 8 bits of each dimension beside groups by all 32."""
    wide = in_own_process(path, bits=32)
    exact, narrow = np.load(path / "found-32.npy"), np.load(path / "found-8.npy")
    for level, name in enumerate(("clusters", "families")):
        precision, recall = pair_scores(narrow[level].astype(np.int64), exact[level].astype(np.int64))
        print(f"{'':11} {name} beside checking all 32 bits: pair precision {precision:.5f}, recall {recall:.5f}")
    print(f"{'':11} which takes {sum(wide['times'].values()):.1f} s and {wide['memory'] / 1e6:,.0f} MB")


def giant_bucket() -> None:
    """All pages share a value, an adversary's or a farm's: work grows with pages, not with pairs."""
    print("one bucket of so many pages, one probe: near-identical (0.9 similar), then with nothing else in common")
    for kept in (0.95, 0.0):
        _giant_buckets(kept)
    print()


def _giant_buckets(kept: float) -> None:
    settings = Settings()
    plan = plan_probes(128, settings.family_threshold, miss=settings.miss_probability, probes=1)
    for size in BUCKETS:
        draw = np.random.Generator(np.random.PCG64(2))
        values = planted_values(draw, np.zeros(size, np.int64), np.array([kept]), 128)
        values[:, plan.subsets[0]] = 1
        sketches = Sketches(
            sketch_words(values),
            kernel.count_filled(values),
            lanes_of(128),
            np.arange(size),
            np.ones(size, np.bool_),
        )
        buckets = Buckets(plan.columns(values), kernel.hash_rows(values))
        del values
        began = time.perf_counter()
        forest, counts = find_forest(sketches, buckets, rule=check_rule(settings))
        seconds = time.perf_counter() - began
        whole = np.count_nonzero(cut(forest, size, settings.cluster_threshold) == 0) / size
        print(
            f"{size:11,} pages {seconds:6.2f} s, {counts.checks / size:5.2f} checks a page, {whole:.1%} in one cluster"
        )
    print()


def one_to_all(path: Path) -> None:
    """One page, and a hundred, against the largest run."""
    sketches = open_sketches(RunFolder(path), Settings())

    def seconds(count: int) -> float:
        return median_time(lambda: sketches.nearest(sketches.block(slice(0, count)), least=LIKE_LEAST, top=None))

    print(f"one page against {len(sketches):,}: {seconds(1):.3f} s (target 0.1); a hundred: {seconds(100):.2f} s\n")


def median_time(action: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the median run; the first is left out."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def peers(scratch: Path) -> None:
    """The same pages by ours and by what people use now."""
    planted = plant(scratch / "peers", PEER_ROWS, seed=3)
    values = _values_of(planted.folder)
    found = in_own_process(planted.folder.path)
    ours = sum(found["times"].values())
    labels = np.load(planted.folder.path / "found-8.npy")[0].astype(np.int64)
    print(f"{PEER_ROWS:,} planted pages, clusters at 0.6                     seconds   ratio  precision  recall")
    _print_peer("samehand, from Parquet to Parquet, kernels loaded", ours, ours, pair_scores(labels, planted.labels))
    for name, index in (
        ("datasketch MinHashLSH + scipy", _datasketch_pairs),
        ("rensa RMinHashLSH + scipy", _rensa_pairs),
    ):
        seconds, pairs = index(values)
        began = time.perf_counter()
        groups = _scipy_components(pairs, PEER_ROWS)
        seconds += time.perf_counter() - began
        _print_peer(name, seconds, ours, pair_scores(groups, planted.labels))


def _print_peer(name: str, seconds: float, ours: float, scores: tuple[float, float]) -> None:
    print(f"  {name:52} {seconds:8.2f} {seconds / ours:7.1f} {scores[0]:10.4f} {scores[1]:7.4f}")


def _values_of(folder: RunFolder) -> NDArray[np.uint32]:
    column = folder.read(STYLE_FINGERPRINTS, ["fingerprint"]).column("fingerprint")
    return np.frombuffer(b"".join(column.to_pylist()), "<u4").reshape(-1, 128)


def _datasketch_pairs(values: NDArray[np.uint32]) -> tuple[float, list[tuple[int, int]]]:
    from datasketch import MinHash, MinHashLSH

    sketches = [MinHash(num_perm=128, hashvalues=row.astype(np.uint64), scheme="legacy") for row in values]
    began = time.perf_counter()
    index = MinHashLSH(threshold=0.6, num_perm=128)
    pairs = []
    for row, sketch in enumerate(sketches):
        pairs += [(row, other) for other in index.query(sketch) if sketch.jaccard(sketches[other]) >= 0.6]
        index.insert(row, sketch)
    return time.perf_counter() - began, pairs


def _rensa_pairs(values: NDArray[np.uint32]) -> tuple[float, list[tuple[int, int]]]:
    """rensa makes its own sketches: of each page's 128 values as tokens, outside the time."""
    from rensa import RMinHash, RMinHashLSH

    sketches = []
    for row in values:
        sketch = RMinHash(num_perm=128, seed=1)
        sketch.update([f"{dimension}:{value}" for dimension, value in enumerate(row.tolist())])
        sketches.append(sketch)
    began = time.perf_counter()
    index = RMinHashLSH(threshold=0.6, num_perm=128, num_bands=32)
    pairs = []
    for row, sketch in enumerate(sketches):
        # Two sets of 128 with a share s in place have Jaccard s / (2 - s): 0.6 of ours is 0.43 of theirs.
        pairs += [(row, other) for other in index.query(sketch) if sketch.jaccard(sketches[other]) >= 0.43]
        index.insert(row, sketch)
    return time.perf_counter() - began, pairs


def _scipy_components(pairs: list[tuple[int, int]], rows: int) -> NDArray[np.int64]:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.array(pairs, np.int64).reshape(-1, 2)
    graph = coo_matrix((np.ones(len(ends), np.int8), (ends[:, 0], ends[:, 1])), shape=(rows, rows))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bits", type=int, default=8, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure(chosen.measure, chosen.bits)))
        return
    Path("build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build") as scratch:
        one_to_all(growth(chosen.rows, Path(scratch)))
        giant_bucket()
        peers(Path(scratch))


if __name__ == "__main__":
    main()
