"""What the replica commands do: learn lexicons, add near replicas to a run, match a stream of mail with prototypes."""

import csv
import io
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from samehand.base.errors import InputError, UsageError
from samehand.base.page import Outcome, Page, Skip
from samehand.base.settings import Settings
from samehand.engine.local import LocalEngine
from samehand.engine.pipeline import add_signal, run_scan
from samehand.engine.tasks import Tell
from samehand.methods.replica.lexicon import Lexicon, WordCounts
from samehand.methods.replica.signal import SHIPPED_LEXICON, signer_of
from samehand.methods.replica.signatures import Prototypes, replica_batch
from samehand.sources import Source
from samehand.sources.mail.messages import read_mailbox, read_stream
from samehand.sources.texts import Text, TextReader, batched
from samehand.store.folder import RunFolder

_LONG_TEXT, _PAGE_OF_TEXT = 64_000, 4_000
"""A text file of so many bytes, such as a book, is cut into documents of about a page."""


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether there is a run folder at `path`."""
    return RunFolder(Path(path)).manifest_path.is_file()


def learn_lexicon(inputs: Sequence[str], *, profile: str, low: float, high: float) -> Lexicon:
    """The lexicon of a run's pages, or of what inputs hold; `profile` says whether that is mail."""
    counts = WordCounts()
    for given in inputs:
        for batch in batched(_texts_of(given, profile)):
            counts.add(pa.array([text for _, text in batch], pa.large_binary()))
    return counts.lexicon(", ".join(inputs), low=low, high=high)


def _texts_of(given: str, profile: str) -> Iterator[Text]:
    if is_run(given):
        yield from _texts_of_run(given)
        return
    reader = TextReader([given], Settings(profile=profile), max_text_bytes=_LONG_TEXT, piece_bytes=_PAGE_OF_TEXT)
    is_empty = True
    for text in reader:
        is_empty = False
        yield text
    if is_empty:
        raise InputError(f"Nothing can be read in {given}: {', '.join(sorted(reader.rejects)) or 'empty'}.")


def _texts_of_run(given: str) -> Iterator[Text]:
    """The texts of a run's pages, read again from the inputs of the run."""
    folder = RunFolder.open(given)
    sources = [Source.from_dict(stored) for stored in folder.manifest()["inputs"]]
    return TextReader([], folder.settings()).pages(sources)


def compute_replicas(
    target: str,
    out: str | None,
    *,
    settings: Settings,
    workers: int | None,
    progress: Tell,
) -> Path:
    """Near replicas of a run, or of other inputs with `out` for a run folder; returns the run folder's path."""
    engine = LocalEngine(workers)
    if is_run(target):
        folder = RunFolder.open(target)
        chosen = {"randomised_lexicons": settings.randomised_lexicons} | (
            {"lexicon_path": settings.lexicon_path} if settings.lexicon_path else {}
        )
        settings = Settings.from_dict(folder.settings().as_dict() | chosen)
        folder.save_manifest(folder.manifest() | {"settings": _public(settings)})
        add_signal(folder, "replica", settings=settings, engine=engine, tell=progress)
        return folder.path
    if out is None:
        raise UsageError(f"{target} is not a run folder. To find replicas in other inputs, name a run folder with -o.")
    run_scan([target], out, settings=settings, engine=engine, tell=progress, force=False, signals=("replica",))
    return Path(out)


def _public(settings: Settings) -> dict[str, Any]:
    return {name: value for name, value in settings.as_dict().items() if name != "key"}


def matched_stream(
    prototypes: str, stream: BinaryIO, *, lexicon: Path | None, settings: Settings, form: str
) -> Iterator[str]:
    """A line for each message of the stream, as soon as its end is seen: its place, and the prototype it matches."""
    signer = signer_of(lexicon or SHIPPED_LEXICON, settings)
    known = [item for item in read_mailbox(prototypes, prototypes, settings) if isinstance(item, Page)]
    if not known:
        raise InputError(f"There is no mail in {prototypes}: give a folder of messages, an mbox or an .eml file.")
    index = Prototypes(
        pa.Table.from_batches([replica_batch(_texts(known), signer)]), signer, min_cosine=settings.replica_cosine
    )
    names = ["message", "status", "prototype", "lexicon", "cosine"]
    if form == "csv":
        yield _csv_line(names)
    for item in read_stream(stream, "stdin", settings):
        row = [item.source_path if isinstance(item, Skip) else item.url, *_matched(item, index, known)]
        yield _csv_line(row) if form == "csv" else json.dumps(dict(zip(names, row, strict=True))) + "\n"


def _texts(mails: Sequence[Page]) -> pa.RecordBatch:
    ids = pa.array(range(len(mails)), pa.int64())
    texts = pa.array([mail.content for mail in mails], pa.large_binary())
    return pa.record_batch([ids, texts], names=["page_id", "text"])


def _matched(item: Outcome, index: Prototypes, known: Sequence[Page]) -> list[Any]:
    """status, prototype, lexicon, cosine; what is unreadable matches nothing, with its reason for a status."""
    if not isinstance(item, Page):
        return [item.reason, None, None, None]
    row = index.match(_texts([item])).to_pylist()[0]
    prototype = known[row["prototype_id"]].url if row["prototype_id"] is not None else None
    cosine = round(row["cosine"], 4) if row["cosine"] is not None else None
    return [row["status"], prototype, row["lexicon"], cosine]


def _csv_line(row: Sequence[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(row)
    return out.getvalue()
