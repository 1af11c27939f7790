"""A batch of pages as the signals see it: what several of them need is computed once, and only if one asks for it."""

import functools

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers
from samehand.base.page import PLAIN_TEXT
from samehand.base.settings import Settings
from samehand.html import Limits, Markup, Prose, link_hosts, parse_pages, prose_of, prose_of_texts
from samehand.sources.http.charset import as_utf8, is_utf8_already


class PageBatch:
    """Rows of pages with their content, and what their markup holds. Mail is text already and has no markup."""

    def __init__(self, rows: pa.RecordBatch, settings: Settings) -> None:
        self.rows = rows
        self._settings = settings

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def page_ids(self) -> pa.Int64Array:
        """The pages' numbers."""
        return self.rows.column("page_id")

    @functools.cached_property
    def is_text(self) -> NDArray[np.bool_]:
        """Which pages are plain text. They have no markup, so style and sites have nothing to say of them."""
        kinds = self.rows.column("content_mime_detected")
        return np.asarray(pc.equal(kinds, PLAIN_TEXT).fill_null(False))

    @functools.cached_property
    def html_rows(self) -> pa.RecordBatch:
        """The rows, with nothing as the content of plain texts."""
        if not self.is_text.any():
            return self.rows
        content = pc.if_else(pa.array(self.is_text), pa.scalar(b"", pa.large_binary()), self.rows.column("content"))
        return self.rows.set_column(self.rows.schema.get_field_index("content"), "content", content)

    @functools.cached_property
    def content(self) -> pa.LargeBinaryArray:
        """The pages' bytes, their letters as UTF-8; the column itself where nothing had to change.

        Plain text is given as HTML that shows just this text.
        """
        if self._settings.profile == "mail":
            return self.rows.column("content")
        column = self.rows.column("content")
        changed: dict[int, bytes] = {}
        for row, (charset, is_text) in enumerate(
            zip(self.rows.column("content_charset").to_pylist(), self.is_text.tolist(), strict=True)
        ):
            # Most pages are UTF-8: they are not even looked at.
            if is_text or not is_utf8_already(charset):
                before = column[row].as_py()
                after = as_utf8(before, charset)
                if is_text or after is not before:
                    changed[row] = b"<plaintext>" * is_text + after
        return _replaced(column, changed)

    @functools.cached_property
    def markup(self) -> Markup | None:
        """Tags, visible text, titles and links; None for mail."""
        if self._settings.profile == "mail":
            return None
        limits = Limits(
            tokens=self._settings.max_tokens,
            attributes=self._settings.max_attributes,
            value_bytes=self._settings.max_value_bytes,
        )
        return parse_pages(*column_buffers(self.content), limits=limits, attribute_texts=self._settings.attribute_texts)

    @functools.cached_property
    def link_hosts(self) -> NDArray[np.uint64]:
        """A hash of the host of each link; 0 for relative links. Mail has no links."""
        if self.markup is None:
            return np.zeros(0, np.uint64)
        return link_hosts(*column_buffers(self.content), self.markup)

    @property
    def texts(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Visible texts that lie end to end, and where each begins."""
        return (self.markup.text, self.markup.text_offsets) if self.markup else column_buffers(self.content)

    @functools.cached_property
    def prose(self) -> Prose:
        """The running sentences of the texts, without menus, lists and tables."""
        return prose_of(self.markup) if self.markup else prose_of_texts(*self.texts)


def _replaced(column: pa.LargeBinaryArray, changed: dict[int, bytes]) -> pa.LargeBinaryArray:
    """The column with other values in some rows; the column itself if there are none."""
    if not changed:
        return column
    pieces, first = [], 0
    for row, value in changed.items():
        pieces += [column.slice(first, row - first), pa.array([value], column.type)]
        first = row + 1
    return pa.concat_arrays([*pieces, column.slice(first)])
