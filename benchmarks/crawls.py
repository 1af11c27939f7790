"""Crawls of real pages to measure with: WARC files, gzip per record, each made once from a corpus and kept in build/.

A corpus is too small to time a scan, so its pages are repeated with edited text: no two pages are equal, and the markup
stays what it is.
"""

import csv
import gzip
import sys
import tarfile
from base64 import b32encode
from collections.abc import Callable, Iterator
from hashlib import sha1
from itertools import count
from pathlib import Path

CORPORA = ("debdoc_shared", "homepages2018", "webpages")
_LEVEL = 6
"""zlib's own choice, and that of most crawlers."""

UrlOf = Callable[[str], str]


def crawl_of(corpus: str, data: Path, megabytes: int) -> Path:
    """A .warc.gz with at least so many megabytes of the corpus's HTML."""
    path = Path("build") / "crawls" / f"{corpus}-{megabytes}.warc.gz"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            for url, page in _enlarged(pages_of(corpus, data), megabytes * 1_000_000):
                file.write(gzip.compress(_record(url, page), _LEVEL))
        partial.rename(path)
    return path


def pages_of(corpus: str, data: Path) -> dict[str, bytes]:
    """The pages of a corpus by URL."""
    archive = data / f"{corpus}.tar.xz"
    if not archive.is_file():
        sys.exit(f"{archive} is not there: this benchmark needs it. Say where it is with --data FOLDER.")
    with tarfile.open(archive) as tar:
        contents = {
            member.name.partition("/")[2]: handle.read()
            for member in tar
            if member.isfile() and (handle := tar.extractfile(member))
        }
    rows = csv.DictReader(contents.pop("manifest.tsv").decode().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    urls = {f"pages/{row['file']}": row["url"] for row in rows} if corpus == "webpages" else {}
    return {urls.get(name) or f"http://{name.removeprefix('pages/')}": page for name, page in contents.items() if page}


def _enlarged(pages: dict[str, bytes], wanted: int) -> Iterator[tuple[str, bytes]]:
    """The pages again and again, each time with other sentences turned round."""
    written = 0
    for copy in count():
        for url, page in pages.items():
            if written >= wanted:
                return
            edited = _edited(page, copy) if copy else page
            written += len(edited)
            yield f"{url}{'&' if '?' in url else '?'}copy={copy}" if copy else url, edited


def _edited(page: bytes, copy: int) -> bytes:
    """The page with the words of some texts in reverse order, and the number of the copy at its end."""
    pieces = page.split(b">")
    for place in range(copy % 5, len(pieces), 5):
        text, bracket, rest = pieces[place].partition(b"<")
        if text.count(b" ") >= 3:
            pieces[place] = b" ".join(reversed(text.split(b" "))) + bracket + rest
    return b">".join(pieces) + b"<!-- %d -->" % copy


def _record(url: str, page: bytes) -> bytes:
    """A response as crawlers store it."""
    block = (
        b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(page) + page
    )
    digests = [b32encode(sha1(part, usedforsecurity=False).digest()).decode() for part in (page, block)]
    head = (
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789012>\r\n"
        f"WARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Payload-Digest: sha1:{digests[0]}\r\n"
        f"WARC-Block-Digest: sha1:{digests[1]}\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"
