"""Fuzzes a parser guided by the lines of Python that it reaches: `python -m fuzz.guided [--seconds 120] TARGET` in tests.

atheris watches the modules that read hostile bytes. It cannot see into numba kernels; `python -m fuzz` serves those.
"""

import argparse
import sys
from pathlib import Path

import atheris

WATCHED = ["samehand.sources", "samehand.html", "samehand.methods.sites.nameservers", "samehand.base"]

with atheris.instrument_imports(include=WATCHED):
    from fuzz.parsers import TARGETS, scratch


def main() -> None:
    """Fuzzes one target until the time is over. libFuzzer ends the process, with 0 if nothing failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("target", choices=list(TARGETS))
    options = parser.parse_args()
    target = TARGETS[options.target]
    corpus, words = scratch() / "corpus", scratch() / "words"
    corpus.mkdir()
    for place, seed in enumerate(target.seeds()):
        (corpus / f"{place}").write_bytes(seed)
        target.check(seed)  # compiles what has to be compiled
    words.write_text("".join(f'"{_escaped(piece)}"\n' for piece in target.pieces))
    found = Path(__file__).parent / "found"
    found.mkdir(exist_ok=True)
    limits = [f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-timeout=10", "-max_len=20000"]
    dictionary = [f"-dict={words}"] if target.pieces else []  # libFuzzer refuses an empty one
    places = [f"-artifact_prefix={found}/{options.target}-", *dictionary, str(corpus)]
    atheris.Setup([sys.argv[0], *limits, *places], target.check)
    atheris.Fuzz()


def _escaped(piece: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in piece)


if __name__ == "__main__":
    main()
