"""A stream of mail matched with known prototypes, message by message (section 5.2 of the I-Match paper)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from samehand.base.errors import InputError
from samehand.base.neutral import csv_line, json_line
from samehand.base.page import Outcome, Page, Skip
from samehand.base.settings import Settings
from samehand.methods.replica.method import SHIPPED_LEXICON
from samehand.methods.replica.signatures import Prototypes, replica_batch
from samehand.methods.replica.stage import signer_of
from samehand.sources.mail.messages import read_mailbox, read_stream


def matched_stream(
    prototypes: str, stream: BinaryIO, *, lexicon: Path | None, settings: Settings, form: str
) -> Iterator[str]:
    """A line for each message of the stream, as soon as its end is seen: its place, and the prototype it matches."""
    signer = signer_of(lexicon or SHIPPED_LEXICON, settings)
    known = [item for item in read_mailbox(prototypes, prototypes, settings) if isinstance(item, Page)]
    if not known:
        raise InputError(f"There is no mail in {prototypes}: give a folder of messages, an mbox or an .eml file.")
    index = Prototypes(
        pa.Table.from_batches([replica_batch(_texts(known), signer)]),
        signer,
        min_cosine=settings.replica_cosine,
        min_jaccard=settings.replica_jaccard,
    )
    names = ["message", "status", "prototype", "lexicon", "cosine", "jaccard"]
    if form == "csv":
        yield csv_line(names)
    for item in read_stream(stream, "stdin", settings):
        row = [item.source_path if isinstance(item, Skip) else item.url, *_matched(item, index, known)]
        yield csv_line(row) if form == "csv" else json_line(dict(zip(names, row, strict=True))) + "\n"


def _texts(mails: Sequence[Page]) -> pa.RecordBatch:
    ids = pa.array(range(len(mails)), pa.int64())
    texts = pa.array([mail.content for mail in mails], pa.large_binary())
    return pa.record_batch([ids, texts], names=["page_id", "text"])


def _matched(item: Outcome, index: Prototypes, known: Sequence[Page]) -> list[Any]:
    """status, prototype, lexicon, cosine, jaccard; what is unreadable matches nothing, with its reason for a status."""
    if not isinstance(item, Page):
        return [item.reason, None, None, None, None]
    row = index.match(_texts([item])).to_pylist()[0]
    prototype = known[row["prototype_id"]].url if row["prototype_id"] is not None else None
    cosine, jaccard = (None if row[name] is None else round(row[name], 4) for name in ("cosine", "jaccard"))
    return [row["status"], prototype, row["lexicon"], cosine, jaccard]
