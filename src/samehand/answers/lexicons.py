"""Lexicons learned from a collection: the pages of a run, or whatever else holds text."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from samehand.base.errors import InputError
from samehand.base.settings import Settings
from samehand.engine.stored_pages import run_texts
from samehand.methods.replica.lexicon import Lexicon, WordCounts
from samehand.sources.texts import Text, TextReader, batched
from samehand.store.folder import RunFolder

_LONG_TEXT, _PAGE_OF_TEXT = 64_000, 4_000
"""A text file of so many bytes, such as a book, is cut into documents of about a page."""


def learn_lexicon(inputs: Sequence[str], *, profile: str, low: float, high: float) -> Lexicon:
    """The lexicon of the texts of inputs, which may be run folders; `profile` says whether others are mail."""
    counts = WordCounts()
    for given in inputs:
        for batch in batched(_texts_of(given, profile)):
            counts.add(pa.array([text for _, text in batch], pa.large_binary()))
    return counts.lexicon(", ".join(inputs), low=low, high=high)


def _texts_of(given: str, profile: str) -> Iterator[Text]:
    if RunFolder(Path(given)).exists:
        yield from run_texts(RunFolder.open(given))
        return
    reader = TextReader([given], Settings(profile=profile), max_text_bytes=_LONG_TEXT, piece_bytes=_PAGE_OF_TEXT)
    is_empty = True
    for text in reader:
        is_empty = False
        yield text
    if is_empty:
        raise InputError(f"Nothing can be read in {given}: {', '.join(sorted(reader.rejects)) or 'empty'}.")
