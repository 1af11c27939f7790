"""What is computed of each page while it is read: a signal is a table of the run and a stage that fills it.

A stage is made once per unit of work and maps batches of pages with their content to batches of rows.
"""

import functools
import hashlib
import shutil
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.kernels.links import link_hosts
from samehand.lexicon import Lexicon
from samehand.markup import Limits, Markup, parse_pages
from samehand.replica import Signer, replica_batch, replica_schema
from samehand.run import RunFolder, writing
from samehand.settings import Settings
from samehand.sources.charset import as_utf8
from samehand.style import page_buffers, style_batch, style_schema

LEXICON = "replica/lexicon.parquet"
SHIPPED_LEXICON = Path(__file__).parent / "data" / "english.lexicon"
"""Words of general English, made by evaluation/english_lexicon.py: enough to begin with."""


class Stage(Protocol):
    """Fills one table of the run."""

    schema: pa.Schema

    def batch(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """A row for each page."""


class Signal(Protocol):
    """One kind of evidence: where its rows stand, and what they depend on."""

    table: str

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Puts into the run folder what every worker needs."""

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """Digest of everything but the pages that the rows depend on."""

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """The stage that computes the rows."""


class StyleSignal:
    """Hidden style similarity."""

    table = "style/fingerprints"

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Nothing to prepare."""

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """The style settings."""
        return settings.digest("style")

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Fingerprints."""
        return StyleStage(settings)


class StyleStage:
    """Pages to fingerprints."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.schema = style_schema(settings)

    def batch(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Fingerprints."""
        return style_batch(pages, self._settings)


class ReplicaSignal:
    """Near replicas by their words, and the hosts a page links to."""

    table = "replica/signatures"

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Copies the lexicon into the run folder, so that the run needs no other file from then on."""
        is_there = (folder.path / LEXICON).is_file()
        if not is_there or Path(settings.lexicon or SHIPPED_LEXICON).is_file():
            _copy_lexicon(Path(settings.lexicon or SHIPPED_LEXICON), folder)

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """The replica settings and the lexicon."""
        return settings.digest("replica") + _file_digest(folder.path / LEXICON)

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Signatures."""
        return ReplicaStage(folder, settings)


def _copy_lexicon(path: Path, folder: RunFolder) -> None:
    Lexicon.load(path)  # a file that is none is refused before anything is replaced
    target = folder.path / LEXICON
    with writing(folder.path):
        if target.is_file() and target.read_bytes() == path.read_bytes():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@functools.lru_cache(maxsize=4)
def signer_of(lexicon: Path, settings: Settings) -> Signer:
    """The lexicon made ready, once per process."""
    return Signer(
        Lexicon.load(lexicon, key=settings.key),
        lexicons=settings.lexicons,
        keep=settings.lexicon_keep,
        keep_least=settings.lexicon_keep_least,
        seed=settings.lexicon_seed,
        min_words=settings.min_words,
        min_overlap=settings.min_overlap,
        min_share=settings.min_overlap_share,
    )


LINK_FIELDS = (
    pa.field("link_hosts", pa.large_list(pa.field("item", pa.uint64(), nullable=False)), nullable=False),
    pa.field("markup_flags", pa.uint8(), nullable=False),
)


class ReplicaStage:
    """Pages to signatures of their visible text, with the hosts they link to. Mail is text already."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        self._signer = signer_of(folder.path / LEXICON, settings)
        self._is_text = settings.profile == "mail"
        self._attribute_texts = settings.attribute_texts
        self._limits = Limits(
            tokens=settings.max_tokens, attributes=settings.max_attributes, value_bytes=settings.max_value_bytes
        )
        self.schema = replica_schema(settings.lexicons)
        for field in LINK_FIELDS:
            self.schema = self.schema.append(field)

    def batch(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Signatures."""
        content = pages.column("content") if self._is_text else _in_utf8(pages)
        data, offsets = page_buffers(content)
        found = None if self._is_text else self._parsed(data, offsets)
        text = content if found is None else _as_binary(found.text, found.text_offsets)
        texts = pa.record_batch([pages.column("page_id"), text], names=["page_id", "text"])
        signed = replica_batch(texts, self._signer)
        flags = np.zeros(pages.num_rows, np.uint8) if found is None else found.flags
        links = _link_lists(data, offsets, found)
        return pa.record_batch([*signed.columns, links, pa.array(flags)], schema=self.schema)

    def _parsed(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Markup:
        return parse_pages(data, offsets, limits=self._limits, attribute_texts=self._attribute_texts)


def _in_utf8(pages: pa.RecordBatch) -> pa.LargeBinaryArray:
    """The pages' content with their letters as UTF-8; the column itself where nothing had to change."""
    contents = pages.column("content").to_pylist()
    changed = [as_utf8(*page) for page in zip(contents, pages.column("content_charset").to_pylist(), strict=True)]
    if all(after is before for after, before in zip(changed, contents, strict=True)):
        return pages.column("content")
    return pa.array(changed, pa.large_binary())


def _as_binary(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), offsets.size - 1, buffers)


def _link_lists(data: NDArray[np.uint8], offsets: NDArray[np.int64], found: Markup | None) -> pa.LargeListArray:
    """The different hosts each page links to."""
    count = offsets.size - 1
    if found is None:
        return pa.array([[]] * count, LINK_FIELDS[0].type)
    hosts = link_hosts(data, offsets[:-1], found.link_offsets, found.link_starts, found.link_lengths)
    pages = np.repeat(np.arange(count), np.diff(found.link_offsets))
    pages, hosts = pages[hosts != 0], hosts[hosts != 0]
    order = np.lexsort((hosts, pages))
    pages, hosts = pages[order], hosts[order]
    first = np.ones(hosts.size, np.bool_)
    first[1:] = (np.diff(pages) != 0) | (np.diff(hosts) != 0)
    bounds = np.searchsorted(pages[first], np.arange(count + 1))
    return pa.LargeListArray.from_arrays(bounds, pa.array(hosts[first]), type=LINK_FIELDS[0].type)


SIGNALS: dict[str, Signal] = {"style": StyleSignal(), "replica": ReplicaSignal()}
