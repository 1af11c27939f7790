"""The replica signal: signatures of the pages' words, and the hosts they link to."""

import functools
import hashlib
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers
from samehand.base.settings import Settings
from samehand.kernels.html.links import link_hosts
from samehand.methods.method import Stage
from samehand.methods.page_batch import PageBatch
from samehand.methods.replica.lexicon import Lexicon
from samehand.methods.replica.signatures import Signer, replica_batch, replica_schema
from samehand.store.folder import RunFolder, writing

LEXICON = "replica/lexicon.parquet"
SHIPPED_LEXICON = Path(__file__).parents[2] / "data" / "english.lexicon"
"""Words of general English, made by evaluation/english_lexicon.py: enough to begin with."""


class ReplicaSignal:
    """Near replicas by their words, and the hosts a page links to."""

    table = "replica/signatures"

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Copies the lexicon into the run folder, so that the run needs no other file from then on."""
        is_there = (folder.path / LEXICON).is_file()
        if not is_there or Path(settings.lexicon_path or SHIPPED_LEXICON).is_file():
            _copy_lexicon(Path(settings.lexicon_path or SHIPPED_LEXICON), folder)

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """The replica settings and the lexicon."""
        return settings.digest("markup", "replica") + _file_digest(folder.path / LEXICON)

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
        lexicons=settings.randomised_lexicons,
        keep=settings.lexicon_sample_max,
        keep_least=settings.lexicon_sample_min,
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
    """Pages to signatures of their visible text, with the hosts they link to."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        self._signer = signer_of(folder.path / LEXICON, settings)
        self.schema = replica_schema(settings.randomised_lexicons)
        for field in LINK_FIELDS:
            self.schema = self.schema.append(field)

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """Signatures."""
        texts = pa.record_batch([pages.page_ids, _as_binary(*pages.texts)], names=["page_id", "text"])
        signed = replica_batch(texts, self._signer)
        flags = pages.markup.flags if pages.markup else np.zeros(len(pages), np.uint8)
        return pa.record_batch([*signed.columns, _link_lists(pages), pa.array(flags)], schema=self.schema)


def _as_binary(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> pa.LargeBinaryArray:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), offsets.size - 1, buffers)


def _link_lists(pages: PageBatch) -> pa.LargeListArray:
    """The different hosts each page links to."""
    count, found = len(pages), pages.markup
    if found is None:
        return pa.array([[]] * count, LINK_FIELDS[0].type)
    data, offsets = column_buffers(pages.content)
    hosts = link_hosts(data, offsets[:-1], found.link_offsets, found.link_starts, found.link_lengths)
    rows = np.repeat(np.arange(count), np.diff(found.link_offsets))
    rows, hosts = rows[hosts != 0], hosts[hosts != 0]
    order = np.lexsort((hosts, rows))
    rows, hosts = rows[order], hosts[order]
    first = np.ones(hosts.size, np.bool_)
    first[1:] = (np.diff(rows) != 0) | (np.diff(hosts) != 0)
    bounds = np.searchsorted(rows[first], np.arange(count + 1))
    return pa.LargeListArray.from_arrays(bounds, pa.array(hosts[first]), type=LINK_FIELDS[0].type)
