"""Fuzzes parsers by the lines of Python that they reach: `python -m fuzz.guided [--seconds 120] [TARGET ...]` in tests.

atheris watches the modules that read hostile bytes. It cannot see into numba kernels; `python -m fuzz` serves those.
"""

import argparse
import os
import pkgutil
import sys
from pathlib import Path

import atheris

import samehand.kernels

KERNELS = [module.name for module in pkgutil.walk_packages(samehand.kernels.__path__, "samehand.kernels.")]
"""numba cannot compile code that is watched."""

with atheris.instrument_imports(include=["samehand"], exclude=KERNELS):
    from fuzz.parsers import TARGETS, scratch


def fuzz(name: str, seconds: int, seed: int) -> None:
    """Fuzzes one target until the time is over. libFuzzer ends the process, with 0 if nothing failed."""
    target = TARGETS[name]
    corpus, words = scratch() / f"{name}.corpus", scratch() / f"{name}.words"
    corpus.mkdir()
    for place, start in enumerate(target.seeds()):
        (corpus / f"{place}").write_bytes(start)
        target.check(start)  # compiles what has to be compiled
    words.write_text("".join(f'"{_escaped(piece)}"\n' for piece in target.pieces))
    dictionary = [f"-dict={words}"] if target.pieces else []  # libFuzzer refuses an empty one
    found = Path(__file__).parent / "found"
    found.mkdir(exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-seed={seed}", "-timeout=10", "-max_len=20000", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *limits, *dictionary, f"-artifact_prefix={found}/{name}-", str(corpus)], target.check)
    atheris.Fuzz()


def main() -> None:
    """Fuzzes the targets one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("targets", nargs="*", default=list(TARGETS))
    options = parser.parse_args()
    failures = 0
    for name in options.targets:
        child = os.fork()
        if child == 0:
            fuzz(name, options.seconds, options.seed)
        failed = os.waitpid(child, 0)[1] != 0
        failures += failed
        sys.stdout.write(f"{name}: {'FAILED, input in fuzz/found' if failed else 'none failed'}\n")
        sys.stdout.flush()
    sys.exit(bool(failures))


def _escaped(piece: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in piece)


if __name__ == "__main__":
    main()
