"""Work grows as the input does, whatever its shape: counted, never timed."""

import gzip
import itertools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fuzz.shapes import CRAWLS, PAGES, one_page
from samehand import html
from samehand.base.settings import Settings
from samehand.sources import Source, Unit, read_unit

LIMIT = 2.2
SIZES = [4096 << doubling for doubling in range(5)]


def markup_steps(page: bytes) -> int:
    data = np.frombuffer(page, np.uint8)
    return int(html.parse_pages(data, np.array([0, data.size])).steps[0])


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, those of C included."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def grows_evenly(work: list[int]) -> bool:
    """Whether each doubling at most doubles the work, but for a small part that does not grow."""
    return all(after <= LIMIT * before + 200 for before, after in itertools.pairwise(work))


@pytest.mark.parametrize("shape", PAGES)
def test_the_markup_pass_is_linear(shape: str) -> None:
    work = [markup_steps(PAGES[shape](size)) for size in SIZES]
    assert grows_evenly(work), work
    assert work[-1] <= 20 * SIZES[-1]


@pytest.mark.parametrize("shape", CRAWLS)
@pytest.mark.parametrize("is_packed", [False, True])
def test_reading_is_linear(shape: str, is_packed: bool, tmp_path: Path) -> None:
    def read(size: int) -> int:
        content = CRAWLS[shape](size)
        path = tmp_path / f"{size}.warc"
        path.write_bytes(gzip.compress(content, 1) if is_packed else content)
        unit = Unit(0, Source("x", str(path), "warc", path.stat().st_size, ""), 0, path.stat().st_size)
        return calls_of(lambda: list(read_unit(unit, Settings())))

    work = [read(size) for size in SIZES]
    assert grows_evenly(work), work


def test_a_long_line_and_a_long_page_are_read_in_few_calls(tmp_path: Path) -> None:
    def read(size: int) -> int:
        path = tmp_path / "x.warc"
        path.write_bytes(one_page(b"<p>" + b"a" * size))
        unit = Unit(0, Source("x", str(path), "warc", path.stat().st_size, ""), 0, path.stat().st_size)
        return calls_of(lambda: list(read_unit(unit, Settings())))

    assert read(1_000_000) <= 2 * read(1_000) + 100
