"""Pages, rejects and kept contents."""

from samehand.base.page import CONTENT_FIELD
from samehand.store.columns import (
    PAGE_COLUMNS,
    PAGE_ID,
    REJECT_COLUMNS,
)
from samehand.store.table import Column, Table

PAGES = Table("pages", "One row per page.", PAGE_COLUMNS, in_parts=True)
REJECTS = Table(
    "rejects",
    "One row per record that could have been a page and is not.",
    REJECT_COLUMNS,
    in_parts=True,
)
CONTENT = Table(
    "content",
    "The content of the pages, only with --keep-pages.",
    (PAGE_ID, Column(CONTENT_FIELD.name, CONTENT_FIELD.type, "The bytes of the page, decoded.")),
    in_parts=True,
)
