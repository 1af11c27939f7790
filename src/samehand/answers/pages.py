"""The pages of a run, found by URL or id, and pages from outside."""

import difflib
import os
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.arguments import told
from samehand.base.errors import InputError, RunError, UsageError
from samehand.base.page import PLAIN_TEXT, Page
from samehand.base.settings import Settings
from samehand.sources import Source, Unit, read_page, read_sources
from samehand.store.done import part_name
from samehand.store.folder import DAMAGED, RunFolder
from samehand.store.page_ids import UNIT_BITS
from samehand.store.page_list import PageList
from samehand.store.tables import CONTENT, PAGES

_SUGGESTIONS = 3

PageName = str | int | Mapping[str, Any]
"""What names a page of a run: its URL, doc_id or page_id, a host or site, or a row of an answer."""


def page_of(html: object, url: object, settings: Settings) -> Page:
    """HTML from anywhere as a Page, made as a scan makes it."""
    if not isinstance(html, bytes | str):
        raise UsageError(f"A page is {told(html)}: give HTML as bytes or text.")
    if url is not None and not isinstance(url, str):
        raise UsageError(f"url is {told(url)}: give the page's URL as text.")
    from samehand.sources.http.charset import to_ascii_compatible

    body = html.encode("utf-8", "replace") if isinstance(html, str) else html
    content, charset = to_ascii_compatible(body, None)
    return Page(
        url=(url or "").encode("utf-8", "replace").decode(),
        content=content[: settings.max_page_bytes],
        source_path="page",
        warc_record_offset=0,
        content_charset=charset,
    )


def pages_in(path: str, settings: Settings) -> Iterator[tuple[str, Page]] | None:
    """Names and pages in a file or folder of many; None if `path` is no such thing."""
    if not os.path.exists(path):
        return None
    from samehand.sources import find_sources

    sources, unreadable = find_sources([path], profile=settings.profile)
    if unreadable or sources[0].kind == "html":
        return None
    pages = (item for item in read_sources(sources, settings) if isinstance(item, Page))
    return ((page.url or page.source_path, page) for page in pages)


class RunPages(PageList):
    """The pages of a run, found by name, with their content."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        super().__init__(folder)
        self.folder = folder
        self._settings = settings
        self._unchanged: set[Source] = set()
        self._last: tuple[int, dict[str, Any]] = -1, {}

    def row_of(self, page: PageName) -> int:
        """The row of a page. A host or a site stands for its page with the shortest URL."""
        if isinstance(page, Mapping):
            page = page.get("page_id", page.get("url"))
        if isinstance(page, str):
            return self._row_of_name(page.strip().encode("utf-8", "replace").decode())
        if isinstance(page, bool) or not isinstance(page, int | np.integer):
            raise UsageError(f"{told(page)} names no page: give a URL, a page_id, or a row of an answer.")
        if not 0 <= page < 1 << 63 or not self.folder.page_ids.has(int(page)):
            raise UsageError(f"There is no page {page} in {self.folder.path}: give a URL or page_id of the run.")
        return int(self.folder.page_ids.rows(np.array([page], np.int64))[0])

    def _row_of_name(self, name: str) -> int:
        for column in ("url", "doc_id", "host", "site"):
            found = self.named(column, pa.array([name], pa.string()))
            if found.size:
                lengths = pc.utf8_length(self.table.column("url").take(pa.array(found))).to_numpy()
                return int(found[np.argmin(lengths)])
        raise UsageError(f"There is no page, host or site {told(name)} in {self.folder.path}{self._suggestion(name)}")

    def _suggestion(self, url: str) -> str:
        """Names of the run that are nearly the one asked for."""
        names = {part for column in ("host", "site") for part in self._distinct(column)}
        near = difflib.get_close_matches(url.split("//")[-1].split("/")[0], sorted(names), _SUGGESTIONS, 0.6)
        if not near:
            return ": give a URL, a host, a site or a page_id of the run."
        host = near[0]
        urls = self.table.filter(pc.equal(self.table.column("host"), host)).column("url").to_pylist()
        close = difflib.get_close_matches(url, urls, 1, 0.3)
        return f": did you mean {', '.join([*close, *(name for name in near if name not in close)])}?"

    def _distinct(self, column: str) -> list[str]:
        values: list[str] = pc.unique(self.table.column(column).drop_null()).to_pylist()
        return values

    def url(self, row: int) -> str:
        """The URL of a page."""
        return str(self._stored(row)["url"])

    def page(self, row: int) -> Page:
        """A page with its content."""
        return Page(url=self.url(row), content=self.content(row), source_path="", warc_record_offset=0)

    def content(self, row: int) -> bytes:
        """The bytes of a page, out of the run folder if it keeps pages, else out of the input they came from."""
        number, place = self._place(row)
        stored = self._stored(row)
        if self.folder.part_path(CONTENT, number).is_file():
            kept: bytes = self.folder.read_rows(CONTENT, [place], number=number).column("content")[0].as_py()
            if zlib.crc32(kept) != stored["content_crc32"]:
                raise RunError(f"{self.folder.part_path(CONTENT, number)} does not hold this page. {DAMAGED}")
            return kept
        source = self._source_of(number)
        content = read_page(source, stored["source_path"], stored["warc_record_offset"], self._settings).content
        if zlib.crc32(content) != stored["content_crc32"]:
            raise InputError(f"{source.name} changed since the scan: put it back, or scan again.")
        return content

    def text(self, row: int) -> str:
        """The visible text of a page."""
        from samehand.html import visible_text
        from samehand.sources.http.charset import as_utf8

        content = self.content(row)
        if self.is_text(row):
            return content.decode("utf-8", "replace")
        return visible_text(as_utf8(content, self._stored(row)["content_charset"]))

    def prose(self, row: int) -> str:
        """The running sentences of a page."""
        from samehand.html import prose_text
        from samehand.sources.http.charset import as_utf8

        content = self.content(row)
        if self.is_text(row):
            return prose_text(b"<plaintext>" + content)
        return prose_text(as_utf8(content, self._stored(row)["content_charset"]))

    def is_text(self, row: int) -> bool:
        """Whether a page is plain text, as mail is. It has no style."""
        return bool(self._stored(row)["content_mime_detected"] == PLAIN_TEXT)

    def _stored(self, row: int) -> dict[str, Any]:
        """The row of a page in the table of pages. The last one is kept, because it is asked for again and again."""
        known, stored = self._last
        if known != row:
            number, place = self._place(row)
            stored = self.folder.read_rows(PAGES, [place], number=number).to_pylist()[0]
            if stored["page_id"] != number << UNIT_BITS | place:
                raise RunError(f"{self.folder.part_path(PAGES, number)} does not hold its pages in order. {DAMAGED}")
            self._last = row, stored
        return stored

    def _place(self, row: int) -> tuple[int, int]:
        """The unit of work of a page, and its place within the unit."""
        page_id = int(self.folder.page_ids.ids(np.array([row]))[0])
        return page_id >> UNIT_BITS, page_id & ((1 << UNIT_BITS) - 1)

    def _source_of(self, number: int) -> Source:
        """The input of a unit of work, which must be what it was."""
        from samehand.sources import changed_sources

        record = self.folder.done.get(part_name(PAGES.name, number)) or {}
        source = Unit.from_dict(record["unit"]).source
        if source not in self._unchanged and changed_sources([source]):
            raise InputError(f"{source.name} changed or went since the scan: put it back, or scan again.")
        self._unchanged.add(source)
        return source
