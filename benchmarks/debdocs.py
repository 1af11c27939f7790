"""The large real corpus, scanned once: python -m benchmarks.debdocs FOLDER [--engine-workers 2].

FOLDER is what `python -m benchmarks.corpora.debdocs` builds: 409,094 pages of Debian's documentation, a package a site.
Prints rates, memory, time by stage, the largest clusters, and how families and clusters agree with the generators the
packages were made with. Labels are those of packages; many a package mixes generators, so precision cannot reach 1.
Generators' own signatures are left in the pages.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

import samehand
from benchmarks.scale import pair_scores
from samehand.store.tables import STYLE_MEMBERS


def main() -> None:
    """Scans and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--signals", default="style")
    chosen = parser.parse_args()
    Path("build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir="build") as scratch:
        out = Path(scratch) / "run"
        seconds, memory = _scanned(chosen.folder, out, chosen.workers, chosen.signals)
        run = samehand.open_run(out)
        _rates(run, seconds, memory)
        _largest(run)
        _agreement(run, chosen.folder / "labels.tsv")


def _scanned(folder: Path, out: Path, workers: int, signals: str) -> tuple[float, dict[str, int]]:
    """Seconds of a scan in a process of its own, and the most memory of that and of any of its workers."""
    command = [sys.executable, "-m", "samehand.cli.main", "-q", "scan", f"{folder}/*.warc.gz", "-o", str(out)]
    began = time.perf_counter()
    scan = subprocess.Popen(
        [*command, "--workers", str(workers), "--signals", signals, "--format", "jsonl"], stdout=subprocess.DEVNULL
    )
    peaks: dict[str, int] = {}
    watching = threading.Thread(target=_watch, args=(scan, peaks), daemon=True)
    watching.start()
    if scan.wait():
        sys.exit(f"the scan failed with {scan.returncode}")
    return time.perf_counter() - began, peaks


def _watch(scan: "subprocess.Popen[bytes]", peaks: dict[str, int]) -> None:
    while scan.poll() is None:
        for path in Path("/proc").glob("[0-9]*/status"):
            try:
                facts = dict(line.split(":\t", 1) for line in path.read_text().splitlines() if ":\t" in line)
            except OSError:
                continue
            if str(scan.pid) in (facts["Pid"].strip(), facts["PPid"].strip()) and "VmHWM" in facts:
                role = "scan" if facts["Pid"].strip() == str(scan.pid) else "worker"
                peaks[role] = max(peaks.get(role, 0), int(facts["VmHWM"].split()[0]) * 1024)
        time.sleep(0.2)


def _rates(run: samehand.Run, seconds: float, memory: dict[str, int]) -> None:
    stages = run.manifest["stages"]
    read, style = stages["read"], stages["style"]
    megabytes = read["content_bytes"] / 1e6
    rejects = sum(read["rejected"].values())
    print(f"{read['pages']:,} pages, {rejects:,} rejects, {megabytes:,.0f} MB of HTML in {seconds:.0f} s:")
    print(f"  {read['pages'] / seconds:,.0f} pages/s, {megabytes / seconds:,.0f} MB/s")
    print(f"  reading, fingerprints and writing {read['worker_seconds']:.0f} worker seconds")
    for name in run.methods:
        print(f"  grouping by {name} {(run.folder.done.get(name) or {})['seconds']:.1f} s")
    print(
        f"  {style['checks']:,} checks, {style['checks'] / read['pages']:,.0f} a page; {style['equal']:,} equal pages"
    )
    print("  peak memory " + ", ".join(f"{role} {peak / 1e6:,.0f} MB" for role, peak in sorted(memory.items())))
    print(f"  {style['clusters']:,} clusters of {style['clustered_pages']:,} pages, {style['families']:,} families\n")


def _largest(run: samehand.Run) -> None:
    print("largest clusters\n    pages    sites  mean  centre")
    for row in run.clusters().table.sort_by([("pages", "descending")]).slice(0, 8).to_pylist():
        print(f"  {row['pages']:7,} {row['sites']:8,} {row['mean_similarity']:5.2f}  {row['centre_url'][:80]}")
    print()


def _agreement(run: samehand.Run, labels: Path) -> None:
    with labels.open(newline="") as handle:
        generators = {
            row["url_host_name"]: row["generator"] for row in csv.DictReader(handle, delimiter="\t") if row["generator"]
        }
    names = sorted(set(generators.values()))
    pages = run.pages(["page_id", "url_host_name"]).table
    hosts = pc.fill_null(pages.column("url_host_name"), "").to_pylist()
    wanted = np.array([names.index(generators[host]) if host in generators else -1 for host in hosts])
    page_ids = pages.column("page_id").to_numpy()
    members = run.folder.read(STYLE_MEMBERS)
    rows = np.searchsorted(page_ids, members.column("page_id").to_numpy())
    known = wanted >= 0
    print(f"{np.count_nonzero(known):,} pages of packages with one known generator ({len(names)} of them)")
    print("pair precision / recall against the generator")
    for name in ("style_family_id", "style_cluster_id"):
        groups = np.arange(page_ids.size)
        groups[rows] = np.searchsorted(page_ids, members.column(name).to_numpy())
        precision, recall = pair_scores(groups[known], wanted[known])
        print(f"  {name:16} {precision:.4f} {recall:.4f}  F1 {2 * precision * recall / (precision + recall):.4f}")


if __name__ == "__main__":
    main()
