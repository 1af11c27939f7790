"""What starting costs: help, an answer, and the first scan with an empty cache of kernels: python -m benchmarks.start.

CPU seconds, those of workers included. The first scan is that of the demo crawl beyond the second one, so it is the
time to compile.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks.reading import Cost, cost_of

_DEMO = Path("src/samehand/data/demo.warc.gz")
_REPEATS = 3


def _samehand(*arguments: str, cache: str | None = None) -> Cost:
    environment = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    return cost_of([sys.executable, "-m", "samehand.cli.start", *arguments], **environment)


def compile_cost(signals: str) -> float:
    """CPU seconds that a scan with an empty cache takes more than the next one."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = (
            _samehand(
                "scan", str(_DEMO), "-o", f"{folder}/{name}", "--signals", signals, "--workers", "1", cache=folder
            )
            for name in ("first", "second")
        )
        return first.cpu - second.cpu


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        _samehand("scan", str(_DEMO), "-o", f"{folder}/run")
        for name, arguments in (("samehand --help", ["--help"]), ("samehand clusters", ["clusters", f"{folder}/run"])):
            least = min(_samehand(*arguments) for _ in range(_REPEATS))
            print(f"{name:40} {least.cpu:6.2f} CPU s", flush=True)
    for signals in ("style", "all"):
        print(f"{f'first scan, {signals}: compiling':40} {compile_cost(signals):6.2f} CPU s", flush=True)


if __name__ == "__main__":
    main()
