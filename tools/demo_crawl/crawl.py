"""Writes the demo world to disk: a WARC file as a crawler leaves it, and two tables.

Equal worlds give equal bytes. Dates follow from the position in the crawl, record ids from the address, and nothing
asks for the time of day.
"""

import csv
import gzip
import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from tools.demo_crawl.world import HTML_UTF8, Page, World

TRUTH_COLUMNS = ("url", "host", "domain", "kind", "hand", "group", "note")
NAMESERVER_COLUMNS = ("domain", "ns")
_START = datetime(2020, 2, 2, 2, 2, 2)
_SECONDS_BETWEEN_PAGES = 3
_SOFTWARE = "samehand demo"
_ONE_PIXEL_GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")
_MISSING_PAGE = b"<html><head><title>404</title></head><body><h1>Not Found</h1><hr><p>Nothing here.</p></body></html>\n"


@dataclass(frozen=True)
class _Exchange:
    """A request and its answer."""

    url: str
    status: str
    _: KW_ONLY
    headers: Sequence[tuple[str, str]]
    body: bytes


def write_crawl(world: World, path: Path, *, seed: int) -> None:
    """One warcinfo record; then a request and a response per page and per non-page, and one metadata record."""
    rng = random.Random(f"{seed}:compressed answers")
    exchanges = [_page_exchange(page, compressed=rng.random() < 0.3) for page in world.pages]
    for exchange in _non_page_exchanges(world.pages):
        exchanges.insert(rng.randrange(len(exchanges)), exchange)
    with path.open("wb") as file:
        recorder = _Recorder(file)
        recorder.write_info(path.name)
        for position, exchange in enumerate(exchanges):
            recorder.write_exchange(exchange, position)
        recorder.write_metadata(exchanges[-1].url, len(exchanges) - 1)


def _page_exchange(page: Page, *, compressed: bool) -> _Exchange:
    body = gzip.compress(page.body, mtime=0) if compressed else page.body
    headers = [("Content-Type", page.content_type), ("Content-Length", str(len(body)))]
    if compressed:
        headers.insert(1, ("Content-Encoding", "gzip"))
    return _Exchange(page.url, "200 OK", headers=headers, body=body)


def _non_page_exchanges(pages: Sequence[Page]) -> Iterable[_Exchange]:
    """What every crawl also holds: an image, a robots.txt, a redirect and a missing page."""
    hosts = [page.host for page in pages if page.kind == "honest"]

    def answer(url: str, content_type: str, *, body: bytes, status: str = "200 OK", location: str = "") -> _Exchange:
        headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        return _Exchange(url, status, headers=headers + [("Location", location)] * bool(location), body=body)

    yield answer(f"http://{hosts[0]}/img/dot.gif", "image/gif", body=_ONE_PIXEL_GIF)
    yield answer(f"http://{hosts[1]}/robots.txt", "text/plain", body=b"User-agent: *\nDisallow: /cgi-bin/\n")
    home, moved = f"http://{hosts[2]}/", "301 Moved Permanently"
    yield answer(f"{home}moved", HTML_UTF8, body=b"<p>Moved.</p>\n", status=moved, location=home)
    yield answer(f"http://{hosts[3]}/missing", HTML_UTF8, body=_MISSING_PAGE, status="404 Not Found")


class _Writer(WARCWriter):
    """Leaves requests without digests, as crawlers do that ask for many pages."""

    def ensure_digest(self, record: Any, block: bool = True, payload: bool = True) -> None:
        if record.rec_type != "request":
            super().ensure_digest(record, block, payload)


class _Recorder:
    """WARC records with ids and dates that do not depend on when or where they are written."""

    def __init__(self, file: BinaryIO) -> None:
        self._writer = _Writer(file, gzip=True, warc_version="1.0")

    def write_info(self, filename: str) -> None:
        fields = f"software: {_SOFTWARE}\r\nformat: WARC File Format 1.0\r\nisPartOf: demo\r\n"
        headers = _record_headers("warcinfo", filename, position=0) | {"WARC-Filename": filename}
        self._write("warcinfo", "", body=fields.encode(), headers=headers)

    def write_metadata(self, url: str, position: int) -> None:
        """What the crawler found out about the answer it got from `url`, the one at `position`."""
        headers = _record_headers("metadata", url, position=position)
        headers["WARC-Concurrent-To"] = _record_headers("response", url, position=position)["WARC-Record-ID"]
        self._write("metadata", url, body=b"fetchTimeMs: 120\r\ncharset-detected: utf-8\r\n", headers=headers)

    def write_exchange(self, exchange: _Exchange, position: int) -> None:
        request, response = (_record_headers(kind, exchange.url, position=position) for kind in ("request", "response"))
        request["WARC-Concurrent-To"] = response["WARC-Record-ID"]
        host, _, path = exchange.url.split("://", 1)[1].partition("/")
        asking = [("Host", host), ("User-Agent", _SOFTWARE)]
        asked = StatusAndHeaders(f"GET /{path} HTTP/1.1", asking, is_http_request=True)
        answered = StatusAndHeaders(exchange.status, list(exchange.headers), protocol="HTTP/1.1")
        self._write("request", exchange.url, body=b"", headers=request, http=asked)
        self._write("response", exchange.url, body=exchange.body, headers=response, http=answered)

    def _write(self, kind: str, url: str, *, body: bytes, headers: dict[str, str], http: Any = None) -> None:
        record = self._writer.create_warc_record(
            url, kind, payload=BytesIO(body), length=len(body), warc_headers_dict=headers, http_headers=http
        )
        self._writer.write_record(record)


def _record_headers(kind: str, name: str, *, position: int) -> dict[str, str]:
    moment = _START + timedelta(seconds=_SECONDS_BETWEEN_PAGES * position)
    record_id = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind} {position} {name}")
    return {"WARC-Record-ID": f"<urn:uuid:{record_id}>", "WARC-Date": moment.strftime("%Y-%m-%dT%H:%M:%SZ")}


def write_truth(pages: Iterable[Page], path: Path) -> None:
    rows = ([str(getattr(page, column)) for column in TRUTH_COLUMNS] for page in pages)
    _write_table(path, TRUTH_COLUMNS, rows=rows)


def write_nameservers(nameservers: dict[str, tuple[str, ...]], path: Path) -> None:
    rows = ((domain, server) for domain, servers in sorted(nameservers.items()) for server in servers)
    _write_table(path, NAMESERVER_COLUMNS, rows=rows)


def _write_table(path: Path, columns: Sequence[str], *, rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows(rows)
