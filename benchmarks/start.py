"""What starting costs: help, answers, and the first scan with an empty cache of kernels: python -m benchmarks.start.

CPU seconds, those of workers included. The first scan is that of the demo crawl beyond the second one, so it is the
time to compile.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.reading import Cost, cost_of

_DEMO = Path("src/samehand/data/demo.warc.gz")
_REPEATS = 3
_ANSWERS = ("status", "clusters", "show", "verdicts", "sites", "replicas", "phrases", "fake")


def _samehand(*arguments: str, cache: str | None = None) -> Cost:
    environment = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    return cost_of([sys.executable, "-m", "samehand.cli.start", *arguments], **environment)


def compile_cost(signals: str, workers: int) -> tuple[float, float]:
    """CPU seconds that a scan with an empty cache takes more than the next one, and those of the next one.

    The demo crawl is cut into pieces, so that there is work for all workers.
    """
    with tempfile.TemporaryDirectory() as folder:
        how = ["--signals", signals, "--workers", str(workers), "--split-bytes", "100000"]
        first, second = (
            _samehand("scan", str(_DEMO), "-o", f"{folder}/{name}", *how, cache=folder) for name in ("first", "second")
        )
        return first.cpu - second.cpu, second.cpu


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        _samehand("scan", str(_DEMO), "-o", f"{folder}/run")
        reading = [[name, f"{folder}/run", *(["1"] if name == "show" else [])] for name in _ANSWERS]
        for arguments in (["--help"], *reading):
            least = min(_samehand(*arguments) for _ in range(_REPEATS))
            print(f"{f'samehand {arguments[0]}':40} {least.cpu:6.2f} CPU s", flush=True)
    for signals, workers in (("style", 1), ("all", 1), ("all", 2)):
        compiling, warm = compile_cost(signals, workers)
        name = f"first scan, {signals}, {workers} workers: compiling"
        print(f"{name:40} {compiling:6.2f} CPU s; the scan itself {warm:.2f}", flush=True)


if __name__ == "__main__":
    main()
