"""Equal pages of one host: their rows are computed once, and are those that each of them would get alone."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import samehand
from crawls import page, small_crawl, write_warc
from runs import tables
from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.methods import repeats
from samehand.methods.repeats import Repeats


def repeated_crawl() -> dict[str, bytes]:
    """Pages of several sites, each of them under three addresses, and one of them on every site."""
    crawl = {f"{url}{tail}": content for url, content in small_crawl().items() for tail in ("", "?a=1", "?a=2")}
    return crawl | {f"http://shop1{site}.example/equal": page(0, "equal.example", 1) for site in range(6)}


def test_rows_are_those_of_pages_that_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = write_warc(tmp_path / "x.warc", repeated_crawl())
    once = samehand.scan(crawl, tmp_path / "once")
    monkeypatch.setattr(repeats, "_LEAST_SAVED", 1)
    each = samehand.scan(crawl, tmp_path / "each")
    assert tables(once.folder.path) == tables(each.folder.path)


def test_only_different_pages_are_handed_to_the_methods() -> None:
    crawl = repeated_crawl()
    batch = pages_to_batch([Page(url, content, "x", n) for n, (url, content) in enumerate(crawl.items())], 0)
    found = Repeats.among(batch)
    assert len(found.different) == len(small_crawl()) + 6
    assert found.places is not None
    contents = found.different.column("content").take(found.places)
    assert contents.equals(batch.column("content"))


def test_forged_checksums_join_nothing() -> None:
    contents = [b"<p>one</p>", b"<p>two</p>", b"<p>one</p>"]
    batch = pages_to_batch([Page("http://a.example/", content, "x", n) for n, content in enumerate(contents)], 0)
    forged = np.zeros(3, np.uint32)
    batch = batch.set_column(batch.schema.get_field_index("content_crc32"), "content_crc32", pa.array(forged))
    found = Repeats.among(batch)
    assert found.different.column("content").to_pylist() == contents[:2]
    assert found.places is not None
    assert found.places.tolist() == [0, 1, 0]


def test_pages_that_all_differ_are_not_copied() -> None:
    batch = pages_to_batch([Page(f"http://a{n}.example/", b"<p>", "x", n) for n in range(3)], 0)
    assert Repeats.among(batch).different is batch
