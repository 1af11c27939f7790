"""The table of input formats. A new format is one module that makes a Reader, and one entry here."""

from typing import Final

from samehand.sources.archive.wacz import WACZ_READER
from samehand.sources.archive.warc import ARC_READER, WARC_READER
from samehand.sources.delimited import CSV_READER
from samehand.sources.files import FOLDER_READER, HTML_READER
from samehand.sources.jsonl import JSONL_READER
from samehand.sources.mail.messages import MAIL_READER
from samehand.sources.parquet import PARQUET_READER
from samehand.sources.reader import Look, Reader

READERS: Final = (
    WARC_READER,
    ARC_READER,
    WACZ_READER,
    PARQUET_READER,
    JSONL_READER,
    CSV_READER,
    FOLDER_READER,
    HTML_READER,
    MAIL_READER,
)
"""All formats. The first one that recognises an input reads it."""

READER_OF: Final = {reader.kind: reader for reader in READERS}


def recognised(look: Look, profile: str) -> Reader | None:
    """The reader of an input, or None if no format of the profile fits."""
    readers = [reader for reader in READERS if reader.profile == profile]
    found = (reader for reader in readers if reader.recognises(look))
    damaged = (reader for reader in readers if reader.recognises_damaged(look))
    return next(found, None) or next(damaged, None)


def _listed(profile: str) -> str:
    *names, last = [reader.inputs for reader in READERS if reader.profile == profile]
    return f"{', '.join(names)} or {last}" if names else last


FORMATS: Final = {profile: _listed(profile) for profile in dict.fromkeys(reader.profile for reader in READERS)}
"""For each profile the inputs that it reads, as part of a sentence."""
