"""Fuzzes parsers: `python -m fuzz [--seconds 120] [--seed 1] [TARGET ...]` in the folder tests.

Each target runs in a child process for so many seconds. A failing input is written to fuzz/found/TARGET-NUMBER: make it
small, mend the fault, and keep it as fuzz/past/TARGET-NAME, which `make test` replays.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path

from fuzz.mutate import mutated
from fuzz.parsers import TARGETS, scratch

HERE = Path(__file__).parent
SECONDS_EACH = 10


def fuzz(name: str, seconds: float, seed: int, last: Path) -> int:
    """Mutates until the time is over and returns how often. The input at work is in `last`, should it end us."""
    target, draw = TARGETS[name], random.Random(f"{name} {seed}")
    seeds, tried = list(target.seeds()), 0
    target.check(seeds[0])  # compiles what has to be compiled
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        data = mutated(seeds, target.pieces, draw)
        last.write_bytes(data)
        signal.alarm(SECONDS_EACH)
        target.check(data)
        signal.alarm(0)
        tried += 1
    return tried


def main() -> None:
    """Runs the targets one after the other, and says how many inputs each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    options = parser.parse_args()
    failures = 0
    for name in options.targets:
        last = scratch() / f"{name}.last"
        child = os.fork()
        if child == 0:
            try:
                tried = fuzz(name, options.seconds, options.seed, last)
                sys.stdout.write(f"{name}: {tried:,} inputs, none failed\n")
                sys.stdout.flush()
                os._exit(0)
            except BaseException:  # noqa: BLE001 - every failure is kept
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if status:
            failures += 1
            found = HERE / "found" / f"{name}-{options.seed}"
            found.parent.mkdir(exist_ok=True)
            shutil.copyfile(last, found)
            sys.stdout.write(f"{name}: FAILED with status {status}, input in {found}\n")
        last.unlink(missing_ok=True)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
