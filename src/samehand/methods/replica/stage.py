"""The stage of replica: what is computed while pages are read."""

import functools
from pathlib import Path

import numpy as np
import pyarrow as pa

from samehand.base.buffers import as_binary
from samehand.base.settings import Settings
from samehand.methods.page_batch import PageBatch
from samehand.methods.replica.lexicon import MAIL_RANGE, WEB_RANGE, Blocks, Lexicon
from samehand.methods.replica.signatures import Signer, replica_batch
from samehand.store.files import LEXICON
from samehand.store.folder import RunFolder
from samehand.store.tables import REPLICA_SIGNATURES


@functools.lru_cache(maxsize=4)
def signer_of(lexicon: Path, settings: Settings) -> Signer:
    """The lexicon made ready, once per process."""
    loaded = Lexicon.load(lexicon, key=settings.key)
    if settings.nidf_range == "paper":
        loaded = loaded.in_range(*(MAIL_RANGE if settings.profile == "mail" else WEB_RANGE))
    return Signer(
        loaded,
        lexicons=settings.randomised_lexicons,
        keep=settings.lexicon_sample_max,
        keep_least=settings.lexicon_sample_min,
        seed=settings.lexicon_seed,
        min_words=settings.min_words,
        min_overlap=settings.min_overlap,
        min_share=settings.min_overlap_share,
        pairs=settings.word_pairs,
    )


class ReplicaStage:
    """Signatures of the visible text, and the hosts a page links to."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        self._signer = signer_of(folder.path / LEXICON, settings)
        self._schema = REPLICA_SIGNATURES.schema(settings)

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A row for each page."""
        texts = pa.record_batch([pages.page_ids, as_binary(*pages.texts)], names=["page_id", "text"])
        blocks = Blocks.of_pages(pages.markup) if pages.markup else None
        signed = replica_batch(texts, self._signer, blocks)
        flags = pages.markup.flags if pages.markup else np.zeros(len(pages), np.uint8)
        return pa.record_batch([*signed.columns, _link_hosts(pages), pa.array(flags)], schema=self._schema)


def _link_hosts(pages: PageBatch) -> pa.LargeListArray:
    """The different hosts each page links to. Mail has no links."""
    count, found = len(pages), pages.markup
    kind = REPLICA_SIGNATURES.fixed_schema.field("link_hosts").type
    if found is None:
        return pa.array([[]] * count, kind)
    hosts = pages.link_hosts
    rows = np.repeat(np.arange(count), np.diff(found.link_offsets))
    rows, hosts = rows[hosts != 0], hosts[hosts != 0]
    order = np.lexsort((hosts, rows))
    rows, hosts = rows[order], hosts[order]
    first = np.ones(hosts.size, np.bool_)
    first[1:] = (np.diff(rows) != 0) | (np.diff(hosts) != 0)
    bounds = np.searchsorted(rows[first], np.arange(count + 1))
    return pa.LargeListArray.from_arrays(bounds, pa.array(hosts[first]), type=kind)
