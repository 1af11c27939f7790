"""Every parser on some hostile bytes, and on all inputs that once failed. `make fuzz` tries many more."""

import random
from pathlib import Path

import pytest

from fuzz.mutate import mutated
from fuzz.parsers import TARGETS

PAST = sorted(Path(__file__).parent.glob("fuzz/past/*"))
TRIES = 60


@pytest.mark.parametrize("name", TARGETS)
def test_hostile_bytes_are_read_or_refused(name: str) -> None:
    target, draw = TARGETS[name], random.Random(name)
    seeds = list(target.seeds())
    for seed in seeds:
        target.check(seed)
    for _ in range(TRIES):
        target.check(mutated(seeds, target.pieces, draw))


@pytest.mark.parametrize("path", PAST, ids=lambda path: path.name)
def test_what_once_failed_is_mended(path: Path) -> None:
    TARGETS[path.name.partition("-")[0]].check(path.read_bytes())
