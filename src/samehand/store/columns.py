"""Columns of pages, and those that several tables have: one name, one type, one meaning."""

import pyarrow as pa

from samehand.base.page import PAGE_SCHEMA, REJECT_SCHEMA
from samehand.store.table import Column

TEXT, WHOLE, REAL, SHARE, FLAG = pa.string(), pa.int64(), pa.float64(), pa.float32(), pa.bool_()
HASH = pa.uint64()


def list_of(kind: pa.DataType) -> pa.DataType:
    """A list without nulls."""
    return pa.list_(pa.field("item", kind, nullable=False))


EVIDENCE = pa.struct([pa.field("name", TEXT, nullable=False), pa.field("value", TEXT, nullable=False)])
"""A named item of evidence."""


def large_list_of(kind: pa.DataType) -> pa.DataType:
    """A list without nulls, of which a part may have more than 2³¹ values."""
    return pa.large_list(pa.field("item", kind, nullable=False))


PAGE_ID = Column("page_id", WHOLE, "Id of the page: number of its unit of work << 32, plus its place within the unit.")
URL = Column("url", TEXT, "URL; of a page without one `source_path#offset`.")
DOC_ID = Column(
    "doc_id", TEXT, "The user's own id: column doc_id or id of JSONL, Parquet and CSV, or --id-column.", required=False
)
CLUSTER_NUMBER = Column("cluster_number", WHOLE, "Rank of the style cluster, from 1; null for a page alone in its own.")
STYLE_CLUSTER_ID = Column("style_cluster_id", WHOLE, "Stable id of the style cluster.")
STYLE_FAMILY_ID = Column("style_family_id", WHOLE, "Stable id of the style family.")
GROUP_NUMBER = Column("group_number", WHOLE, "Rank of the group of near replicas, from 1.")
REPLICA_GROUP_ID = Column("replica_group_id", WHOLE, "Stable id of the group of near replicas.")
SIMILARITY = Column(
    "similarity", SHARE, "Estimated Jaccard similarity of two pages; of a member to the medoid of its cluster."
)
PAGES_COUNT = Column("pages", WHOLE, "Pages.")
HOSTS_COUNT = Column("hosts", WHOLE, "Different host names.")
SITES_COUNT = Column("sites", WHOLE, "Different sites.")
CENTRE_PAGE_ID = Column("centre_page_id", WHOLE, "The medoid.")
CENTRE_URL = Column("centre_url", TEXT, "URL of the medoid.")
HOST = Column("host", TEXT, "Host name.", required=False)
SITE = Column("site", TEXT, "The site.")
MARKUP_FLAGS = Column("markup_flags", pa.uint8(), "Limits of the markup pass that the page hit, as bits; 0 for none.")
TITLE = Column("title", TEXT, "Title of the page.")
WORDS = Column("words", pa.int32(), "Words of the visible text.")
LINKS = Column("links", pa.int32(), "Links.")
PROSE = Column("prose", pa.int32(), "Words of running text.")
KIND = Column("kind", TEXT, "Kind of site (docs/sites.md).")
SITE_CLUSTER_ID = Column("site_cluster_id", WHOLE, "Stable id of the cluster of sites; null for none.")
PROVIDER = Column(
    "provider", TEXT, "Registered domain of the name servers; `(unknown)` or `(others)` for sites that have none alone."
)
VERDICT = Column("verdict", TEXT, "parked, ok or unknown.")
REASON = Column("reason", TEXT, "Why.")

_OF_PAGES = {
    "page_id": PAGE_ID.about,
    "doc_id": DOC_ID.about,
    "url": URL.about,
    "url_kind": "What the URL is: domain, ip, suffix (a bare public suffix such as localhost), broken or missing.",
    "url_host_name": "Host name.",
    "url_host_registered_domain": "Registered domain (blogspot.com).",
    "url_host_private_domain": "Private domain (foo.blogspot.com): the site.",
    "fetch_time": "When the page was fetched.",
    "fetch_status": "HTTP status.",
    "content_digest": "SHA-1 of the content in base 32; as the WARC file says, where it does.",
    "content_mime_detected": "Media type.",
    "content_charset": "Declared or detected charset.",
    "content_truncated": "Why the content is cut, if it is.",
    "content_length": "Bytes of the content, decoded.",
    "content_crc32": "CRC-32 of the content, decoded: an input that is read again must hold the same pages.",
    "source_path": "Where the record was read: the input, and the member or file inside it.",
    "warc_filename": "The same for WARC, ARC and WACZ; null for other inputs.",
    "warc_record_offset": "Offset of the record: bytes, or the row or line of a table.",
    "warc_record_length": "Stored bytes of the record.",
}
_OF_REJECTS = {
    "doc_id": DOC_ID.about,
    "url": URL.about,
    "reason": "Why the record did not become a page.",
    "detail": "What exactly was wrong.",
    "damaged": "Whether the input itself is broken.",
    "bytes": "Bytes of the record.",
    "source_path": _OF_PAGES["source_path"],
    "warc_record_offset": _OF_PAGES["warc_record_offset"],
}


def _columns_of(schema: pa.Schema, about: dict[str, str]) -> tuple[Column, ...]:
    return tuple(Column(field.name, field.type, about[field.name], not field.nullable) for field in schema)


PAGE_COLUMNS = _columns_of(PAGE_SCHEMA, _OF_PAGES)
REJECT_COLUMNS = _columns_of(REJECT_SCHEMA, _OF_REJECTS)
