"""The replica method: near replicas by I-Match with randomised lexicons, as a method of a run."""

import functools
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from samehand.base.buffers import as_binary
from samehand.base.files import copy_whole, file_digest
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.methods.page_batch import PageBatch
from samehand.methods.replica.lexicon import MAIL_RANGE, WEB_RANGE, Blocks, Lexicon
from samehand.methods.replica.signatures import Signer, replica_batch
from samehand.methods.replica.summary import group_replicas
from samehand.store.files import LEXICON
from samehand.store.folder import RunFolder
from samehand.store.tables import REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SHARES, REPLICA_SIGNATURES

SHIPPED_LEXICON = Path(__file__).parents[2] / "data" / "english.lexicon"
"""Words of general English, made by evaluation/english_lexicon.py: enough to begin with."""


READING = "2"
"""Changes with how documents are read: rows of another reading are made anew."""


class ReplicaMethod(Method):
    """Documents with nearly the same words."""

    name = "replica"
    about = "near replicas: documents with nearly the same words (I-Match)"
    changeable = ("replica",)
    command = "replicas"
    page_table = REPLICA_SIGNATURES
    tables = (REPLICA_MEMBERS, REPLICA_GROUPS, REPLICA_SHARES)
    counted: ClassVar = {
        "groups": int,
        "grouped_documents": int,
        "sharing_documents": int,
        "statuses": {str: int},
        "markup_capped": int,
        "leader_cap_hits": int,
    }
    profiles = ("web", "mail")

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Copies the lexicon into the run folder, so that the run needs no other file from then on."""
        source, target = Path(settings.lexicon_path or SHIPPED_LEXICON), folder.path / LEXICON
        if not source.is_file() and target.is_file():
            return  # the file it was copied from is gone
        Lexicon.load(source)  # refuses a file that is no lexicon before anything is replaced
        if file_digest(source) != file_digest(target):
            copy_whole(source, target)

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup and replicas, and the lexicon."""
        return settings.digest("markup", "replica") + file_digest(folder.path / LEXICON) + READING

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Signatures."""
        return _ReplicaStage(folder, settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of replicas and grouping."""
        return settings.digest("replica", "grouping")

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Groups documents whose signatures agree and whose words are nearly the same."""
        return group_replicas(folder, settings, threads=threads)

    def status(self, counts: Counts) -> list[str]:
        """Groups, and what became of the documents."""
        statuses = ", ".join(f"{number:,} {status}" for status, number in counts["statuses"].items()) or "no documents"
        groups, documents = count(counts["groups"], "group"), count(counts["grouped_documents"], "near replica")
        lines = [f"{groups} of {documents}; {statuses}"]
        if counts["sharing_documents"]:
            lines.append(
                f"{count(counts['sharing_documents'], 'document')} share text with another one (replicas --shares)"
            )
        if counts["markup_capped"]:
            lines.append(f"{counts['markup_capped']:,} pages hit a limit of the markup pass (--max-tokens and others)")
        if counts["leader_cap_hits"]:
            lines.append(f"{counts['leader_cap_hits']:,} times a document exceeded --max-leaders")
        return lines


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


class _ReplicaStage:
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


METHOD = ReplicaMethod()
