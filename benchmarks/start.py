"""What starting costs: help, answers, and the first scan with an empty cache of kernels: python -m benchmarks.start.

CPU seconds, those of workers included. The first scan is that of the demo crawl beyond the second one, so it is the
time to compile. A wheel that brings machine code along is built and measured in the same way.
"""

import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.reading import Cost, cost_of

_DEMO = Path("src/samehand/data/demo.warc.gz")
_REPEATS = 3
_ANSWERS = ("status", "clusters", "show", "verdicts", "sites", "replicas", "phrases", "fake")


def _samehand(*arguments: str, **environment: str) -> Cost:
    return cost_of([sys.executable, "-m", "samehand.cli.start", *arguments], **environment)


def compile_cost(signals: str, workers: int, **environment: str) -> tuple[float, float]:
    """CPU seconds that a scan with an empty cache takes more than the next one, and those of the next one.

    The demo crawl is cut into pieces, so that there is work for all workers.
    """
    with tempfile.TemporaryDirectory() as folder:
        how = ["--signals", signals, "--workers", str(workers), "--split-bytes", "100000"]
        environment |= {"NUMBA_CACHE_DIR": folder}
        first, second = (
            _samehand("scan", str(_DEMO), "-o", f"{folder}/{name}", *how, **environment) for name in ("first", "second")
        )
        return first.cpu - second.cpu, second.cpu


def wheel_cost(workers: int) -> tuple[float, float]:
    """The same for the wheel that `make wheel` builds."""
    with tempfile.TemporaryDirectory() as folder:
        cost_of([sys.executable, "-m", "tools.wheel", folder])
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            wheel.extractall(folder)
        return compile_cost("all", workers, PYTHONPATH=folder)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        _samehand("scan", str(_DEMO), "-o", f"{folder}/run")
        reading = [[name, f"{folder}/run", *(["1"] if name == "show" else [])] for name in _ANSWERS]
        for arguments in (["--help"], *reading):
            least = min(_samehand(*arguments) for _ in range(_REPEATS))
            print(f"{f'samehand {arguments[0]}':40} {least.cpu:6.2f} CPU s", flush=True)
    for signals, workers in (("style", 1), ("all", 1), ("all", 2)):
        _show(f"first scan, {signals}, {workers} workers: compiling", compile_cost(signals, workers))
    _show("the same from the wheel, all, 1 workers", wheel_cost(1))


def _show(name: str, cost: tuple[float, float]) -> None:
    compiling, warm = cost
    print(f"{name:40} {compiling:6.2f} CPU s; the scan itself {warm:.2f}", flush=True)


if __name__ == "__main__":
    main()
