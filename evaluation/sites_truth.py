"""Labelled home pages for the evaluation of sites: the labelled ones of 2018, other real pages, default pages.

Pages are read from where they lie; nothing of them is kept in the project. A hand is a kit, a template or an owner; a
page without a named hand is a hand of its own.
"""

import csv
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.html import Markup, parse_pages
from samehand.sources.http.charset import as_utf8, to_ascii_compatible

UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Home:
    """A home page, what kind it truly is, and whose hand made it."""

    domain: str
    content: bytes
    kind: str
    hand: str
    confidence: str = "high"


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Pages as the method takes them: rows, bytes end to end, and markup."""

    rows: pa.Table
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    markup: Markup


def home_pages(data: Path) -> list[Home]:
    """The labelled home pages of 2018, those labelled unsure left out."""
    with (data / "homepages2018_labels.tsv").open(newline="") as file:
        labels = {row["domain"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    found = []
    for name, content in _members(data / "homepages2018.tar.xz"):
        domain = name.split("/")[-2] if name.endswith("/index.html") else ""
        if domain in labels and labels[domain]["kind"] != UNSURE:
            row = labels[domain]
            found.append(Home(domain, content, row["kind"], row["hand"] or domain, row["confidence"]))
    return found


def other_pages(data: Path) -> list[Home]:
    """Real pages of many sites and languages that nobody should accuse."""
    contents = dict(_members(data / "webpages.tar.xz"))
    manifest = next(name for name in contents if name.endswith("manifest.tsv"))
    rows = csv.DictReader(contents[manifest].decode().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    by_name = {name.rpartition("/")[2]: content for name, content in contents.items()}
    hosts = [(row["file"].rpartition("/")[2], urlsplit(row["url"]).hostname or "") for row in rows]
    return [Home(host.removeprefix("www."), by_name[file], "real", host) for file, host in hosts if file in by_name]


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    if not archive.is_file():
        sys.exit(f"{archive} is not there: this evaluation needs it. Say where it is with --data FOLDER.")
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and (handle := tar.extractfile(member)):
                yield member.name, handle.read()


def read(pages: Sequence[Home]) -> Read:
    """Pages as a scan of a folder reads them: no status, charset from the page."""
    contents = [as_utf8(*to_ascii_compatible(page.content, None)) for page in pages]
    data = np.frombuffer(b"".join(contents) + b" ", np.uint8)
    offsets = np.cumsum([0, *map(len, contents)]).astype(np.int64)
    rows = pa.table(
        {
            "page_id": pa.array(range(len(pages)), pa.int64()),
            "url_host_name": [page.domain for page in pages],
            "url_host_private_domain": [page.domain for page in pages],
            "fetch_status": pa.nulls(len(pages), pa.int16()),
        }
    )
    return Read(rows, data, offsets, parse_pages(data, offsets))
