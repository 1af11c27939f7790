"""What the replica commands do: learn lexicons, add near replicas to a run, match a stream of mail with prototypes."""

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from samehand.base.errors import InputError, UsageError
from samehand.base.page import Page, Reject
from samehand.base.settings import Settings
from samehand.engine.local import LocalEngine
from samehand.engine.pipeline import add_signal, run_scan
from samehand.engine.tasks import Tell
from samehand.html import visible_text
from samehand.methods.replica.lexicon import Lexicon, WordCounts
from samehand.methods.replica.signal import SHIPPED_LEXICON, signer_of
from samehand.methods.replica.signatures import Prototypes, replica_batch
from samehand.sources import Source, Unit, find_sources, plan_units, read_unit
from samehand.sources.http.charset import as_utf8
from samehand.sources.mail.messages import Mail, read_mailbox, read_stream
from samehand.store.folder import RunFolder

_BATCH = 500
_LONG_TEXT, _PAGE_OF_TEXT = 64_000, 4_000


def is_run(path: str | os.PathLike[str]) -> bool:
    """Whether there is a run folder at `path`."""
    return RunFolder(Path(path)).manifest_path.is_file()


def learn_lexicon(inputs: Sequence[str], *, profile: str, low: float, high: float) -> Lexicon:
    """The lexicon of a run's pages, or of what inputs hold; `profile` says whether that is mail."""
    counts = WordCounts()
    for texts in _in_batches(_texts_of(inputs, profile)):
        counts.add(pa.array(texts, pa.large_binary()))
    return counts.lexicon(", ".join(inputs), low=low, high=high)


def _texts_of(inputs: Sequence[str], profile: str) -> Iterator[bytes]:
    others = []
    for given in inputs:
        if given.lower().endswith(".txt") and Path(given).is_file():
            yield from _documents_in(Path(given))
        else:
            others.append(given)
    for unit, settings in _units_of(others, profile):
        for item in read_unit(unit, settings):
            if isinstance(item, Page):
                page = item.content if settings.profile == "mail" else as_utf8(item.content, item.content_charset)
                yield page if settings.profile == "mail" else visible_text(page).encode()


def _documents_in(path: Path) -> Iterator[bytes]:
    """A text file is one document; a long one, such as a book, is cut into documents of about a page."""
    with path.open("rb") as file:
        first = file.read(_LONG_TEXT)
        if len(first) < _LONG_TEXT:
            yield first
            return
        file.seek(0)
        while piece := file.read(_PAGE_OF_TEXT):
            yield piece


def _units_of(inputs: Sequence[str], profile: str) -> Iterator[tuple[Unit, Settings]]:
    """The units of work behind inputs; a run folder stands for the inputs it was made from."""
    for given in inputs:
        if is_run(given):
            folder = RunFolder.open(given)
            settings = folder.settings()
            sources = [Source.from_dict(stored) for stored in folder.manifest()["inputs"]]
        else:
            settings = Settings(profile=profile)
            sources, unreadable = find_sources([given], profile=profile)
            if not sources:
                raise InputError(f"Nothing can be read in {given}: {unreadable[0].reason if unreadable else 'empty'}.")
        yield from ((unit, settings) for unit in plan_units(sources, settings.split_bytes))


def _in_batches(items: Iterable[bytes]) -> Iterator[list[bytes]]:
    waiting = iter(items)
    while batch := list(islice(waiting, _BATCH)):
        yield batch


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
    known = [item for item in read_mailbox(prototypes, prototypes, settings) if isinstance(item, Mail)]
    if not known:
        raise InputError(f"There is no mail in {prototypes}: give a folder of messages, an mbox or an .eml file.")
    index = Prototypes(
        pa.Table.from_batches([replica_batch(_texts(known), signer)]), signer, min_cosine=settings.replica_cosine
    )
    names = ["message", "status", "prototype", "lexicon", "cosine"]
    if form == "csv":
        yield _csv_line(names)
    for item in read_stream(stream, "stdin", settings):
        row = [item.place if isinstance(item, Mail) else item.warc_filename, *_matched(item, index, known)]
        yield _csv_line(row) if form == "csv" else json.dumps(dict(zip(names, row, strict=True))) + "\n"


def _texts(mails: Sequence[Mail]) -> pa.RecordBatch:
    ids = pa.array(range(len(mails)), pa.int64())
    return pa.record_batch([ids, pa.array([mail.text for mail in mails], pa.large_binary())], names=["page_id", "text"])


def _matched(item: Mail | Reject, index: Prototypes, known: Sequence[Mail]) -> list[Any]:
    """status, prototype, lexicon, cosine; what is unreadable matches nothing, with its reason for a status."""
    if isinstance(item, Reject):
        return [item.reason, None, None, None]
    row = index.match(_texts([item])).to_pylist()[0]
    prototype = known[row["prototype_id"]].place if row["prototype_id"] is not None else None
    cosine = round(row["cosine"], 4) if row["cosine"] is not None else None
    return [row["status"], prototype, row["lexicon"], cosine]


def _csv_line(row: Sequence[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(row)
    return out.getvalue()
