"""Pages on their way into an Arrow batch: columns that grow, filled from Page objects or from buffers of a reader."""

import itertools
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import deflate
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.page import CONTENT_FIELD, MISSING_URL, PAGE_SCHEMA, Host, Page, digest_of, host_of

TEXTS: Final = (
    "doc_id",
    "content_mime_detected",
    "content_charset",
    "content_truncated",
    "source_path",
    "warc_filename",
)
"""Columns with few different texts. A page has their codes."""
TIME, STATUS, OFFSET, LENGTH, HAS_URL, FIRST_TEXT = range(6)
NUMBERS: Final = FIRST_TEXT + len(TEXTS)
"""Columns of numbers: those above, then the codes of TEXTS. NONE is null."""
NONE: Final = -(2**63)
NO_TEXT: Final = 0
"""The code of a text that is null."""

_ORIGIN: Final = re.compile(r"https?://[^/?#\\\x00-\x20]+")
"""The start of a URL that decides about its host, whatever comes behind the slash that ends it."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class Room(NamedTuple):
    """Where the columns of new pages are to be written: bytes end to end, and a row of numbers for each page."""

    content: NDArray[np.uint8]
    urls: NDArray[np.uint8]
    digests: NDArray[np.uint8]
    numbers: NDArray[np.int64]


class _Texts:
    """Byte strings that lie end to end."""

    def __init__(self, size: int) -> None:
        self._data = np.empty(size, np.uint8)
        self._ends = np.zeros(1 << 6, np.int64)
        self.count = 0

    @property
    def size(self) -> int:
        """All bytes."""
        return int(self._ends[self.count])

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The bytes of each string."""
        return np.diff(self._ends[: self.count + 1])

    def room(self, sizes: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Room for strings of these sizes."""
        begin, first = self.size, self.count + 1
        self._ends = _longer(self._ends, first + sizes.size, first)
        self._ends[first : first + sizes.size] = begin + np.cumsum(sizes)
        self.count += sizes.size
        self._data = _longer(self._data, self.size, begin)
        return self._data[begin : self.size]

    def column(self, kind: pa.DataType) -> pa.Array:
        """The strings as an Arrow column over the same memory."""
        bounds = self._ends[: self.count + 1]
        if kind != CONTENT_FIELD.type:
            bounds = bounds.astype(np.int32)
        buffers = [None, pa.py_buffer(bounds), pa.py_buffer(self._data[: self.size])]
        return pa.Array.from_buffers(kind, self.count, buffers)

    def views(self) -> Iterator[memoryview]:
        """Each string, without a copy."""
        data = self._data.data
        for begin, end in itertools.pairwise(self._ends[: self.count + 1].tolist()):
            yield data[begin:end]

    def clear(self) -> None:
        """Forgets the strings and keeps their memory."""
        self.count = 0


def _longer(array: NDArray[Any], wanted: int, used: int) -> NDArray[Any]:
    """The same array, or a longer copy of its used part."""
    if wanted <= len(array):
        return array
    longer = np.empty((max(wanted, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer


class PageRows:
    """Pages that become one batch. After `clear` their memory is used again: the batch must not be needed any more.

    `content_bytes` is how much room to begin with. Memory that is not written to is only promised.
    """

    def __init__(self, content_bytes: int = 1 << 12) -> None:
        self._content, self._urls, self._digests = _Texts(content_bytes), _Texts(1 << 12), _Texts(1 << 12)
        self._numbers = np.empty((1 << 6, NUMBERS), np.int64)
        self._codes: dict[str | None, int] = {None: NO_TEXT}

    def __len__(self) -> int:
        return self._content.count

    @property
    def content_bytes(self) -> int:
        """Bytes of all contents."""
        return self._content.size

    @property
    def without_url(self) -> int:
        """Pages whose URL is not known."""
        return len(self) - int(self._numbers[: len(self), HAS_URL].sum())

    def clear(self) -> None:
        """Forgets all pages."""
        for texts in (self._content, self._urls, self._digests):
            texts.clear()
        self._codes = {None: NO_TEXT}

    def code(self, text: str | None) -> int:
        """The code of a text."""
        return self._codes.setdefault(text, len(self._codes))

    def room(self, content: NDArray[np.int64], urls: NDArray[np.int64], digests: NDArray[np.int64]) -> Room:
        """Room for pages whose contents, URLs and digests have these sizes."""
        first = len(self)
        self._numbers = _longer(self._numbers, first + content.size, first)
        return Room(
            self._content.room(content),
            self._urls.room(urls),
            self._digests.room(digests),
            self._numbers[first : first + content.size],
        )

    def add(self, page: Page) -> None:
        """Appends a page."""
        parts = texts_of(page)
        room = self.room(*(np.array([len(part)]) for part in parts))
        for target, part in zip(room[:3], parts, strict=True):
            target[:] = np.frombuffer(part, np.uint8)
        room.numbers[0] = self.numbers_of(page)

    def numbers_of(self, page: Page) -> list[int]:
        """The columns of numbers of a page."""
        return [
            milliseconds_of(page.fetch_time),
            NONE if page.fetch_status is None else page.fetch_status,
            page.warc_record_offset,
            page.warc_record_length,
            bool(page.url),
            *(self.code(getattr(page, name)) for name in TEXTS),
        ]

    def batch(self, first_page_id: int) -> pa.RecordBatch:
        """All pages: PAGE_SCHEMA and their content, with ids from `first_page_id` on."""
        numbers = self._numbers[: len(self)]
        url = self._urls.column(pa.string())
        columns = {
            "page_id": pa.array(np.arange(first_page_id, first_page_id + len(self))),
            "url": url,
            **_host_columns(url.to_pylist(), numbers[:, HAS_URL]),
            "fetch_time": _nullable(numbers[:, TIME]).cast(PAGE_SCHEMA.field("fetch_time").type),
            "fetch_status": _nullable(numbers[:, STATUS]).cast(pa.int16()),
            "content_digest": self._digests.column(pa.string()),
            "content_length": pa.array(self._content.sizes),
            "content_crc32": pa.array(list(map(deflate.crc32, self._content.views())), pa.uint32()),
            "warc_record_offset": pa.array(numbers[:, OFFSET]),
            "warc_record_length": pa.array(numbers[:, LENGTH]),
            "content": self._content.column(CONTENT_FIELD.type),
        }
        texts = pa.array(list(self._codes), pa.string())
        for place, name in enumerate(TEXTS, FIRST_TEXT):
            columns[name] = texts.take(pa.array(numbers[:, place]))
        schema = PAGE_SCHEMA.append(CONTENT_FIELD)
        return pa.record_batch([columns[field.name] for field in schema], schema=schema)


def texts_of(page: Page) -> tuple[bytes, bytes, bytes]:
    """Content, URL and digest of a page, as PageRows has them."""
    url = page.url or f"{page.source_path}#{page.warc_record_offset}"
    return page.content, url.encode(), (page.content_digest or digest_of(page.content)).encode()


def milliseconds_of(time: datetime | None) -> int:
    """A time as PageRows has it."""
    return NONE if time is None else (time - _EPOCH) // _MILLISECOND


def pages_to_batch(pages: Sequence[Page], first_page_id: int) -> pa.RecordBatch:
    """Consecutive pages as an Arrow batch."""
    rows = PageRows()
    for page in pages:
        rows.add(page)
    return rows.batch(first_page_id)


def _nullable(values: NDArray[np.int64]) -> pa.Int64Array:
    return pa.array(values, mask=values == NONE)


def _host_columns(urls: list[str], has_url: NDArray[np.int64]) -> dict[str, pa.Array]:
    """What the URLs say about hosts and domains. Pages of the same origin are looked up once."""
    codes: dict[str, int] = {}
    hosts: list[Host] = []
    found: list[int] = []
    for url, known in zip(urls, has_url.tolist(), strict=True):
        slash = url.find("/", len("https://"))
        origin = (url if slash < 0 else url[:slash]) if known else ""
        code = codes.get(origin)
        if code is None:
            code = len(hosts)
            hosts.append(host_of(url) if known else Host(MISSING_URL))
            if _ORIGIN.fullmatch(origin) or not known:
                codes[origin] = code
        found.append(code)
    rows = pa.array(found, pa.int32())
    names = ("url_kind", "url_host_name", "url_host_registered_domain", "url_host_private_domain")
    return {name: pa.array([host[place] for host in hosts], pa.string()).take(rows) for place, name in enumerate(names)}
