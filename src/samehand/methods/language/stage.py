"""The stage of language: what is computed while pages are read."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.files import file_digest
from samehand.base.settings import Settings
from samehand.methods.language.detector import DetectorRule, Judgement
from samehand.methods.language.reference import Judge, open_judge
from samehand.methods.language.verdicts import NATURAL
from samehand.methods.page_batch import PageBatch
from samehand.store.files import MODEL
from samehand.store.folder import RunFolder
from samehand.store.tables import LANGUAGE_PAGES

_PLACE = ("url", "doc_id", "page_id", "host", "site")
JUDGEMENT_FIELDS = tuple(
    field for field in LANGUAGE_PAGES.fixed_schema if field.name not in (*_PLACE, "is_cut", "hidden_words")
)
"""What is known of a judged text. `fake_probability` is null where the verdict is neither fake nor natural."""


@functools.lru_cache(maxsize=2)
def _judge_of(path: Path, words: int, threshold: float, _: str) -> Judge:
    """A model made ready, once per process."""
    return open_judge(path, rule=DetectorRule(fewest_words=words, threshold=threshold))


class LanguageStage:
    """Judgements of the prose."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        path = folder.path / MODEL
        self._judge = _judge_of(path, settings.min_judged_words, settings.fake_threshold, file_digest(path))
        self._most = settings.max_text_bytes

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A row for each page."""
        prose = pages.prose
        data, offsets, is_cut = _shortened(prose.text, prose.offsets, self._most)
        judged = judgement_arrays(self._judge.judge(data, offsets, all_words=prose.all_words))
        host = pages.rows.column("url_host_name")
        site = pc.coalesce(pages.rows.column("url_host_private_domain"), host)
        place = [pages.rows.column("url"), pages.rows.column("doc_id"), pages.page_ids, host, site]
        hidden = pages.markup.hidden_words if pages.markup else np.zeros(len(pages), np.int64)
        columns = [*place, *judged, pa.array(is_cut), pa.array(hidden)]
        return pa.record_batch(columns, schema=LANGUAGE_PAGES.fixed_schema)


def judgement_arrays(judgements: Sequence[Judgement]) -> list[pa.Array]:
    """The columns JUDGEMENT_FIELDS. A natural text keeps only its first reason."""
    columns: dict[str, list[Any]] = {
        field.name: [getattr(judgement, field.name) for judgement in judgements] for field in JUDGEMENT_FIELDS
    }
    columns["reasons"] = [
        list(judgement.reasons[:1] if judgement.verdict == NATURAL else judgement.reasons) for judgement in judgements
    ]
    return [pa.array(columns[field.name], field.type) for field in JUDGEMENT_FIELDS]


def _shortened(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
    """Texts cut after their first `most` bytes, and which of them were longer."""
    sizes = np.diff(offsets)
    is_cut = sizes > most
    if not is_cut.any():
        return data, offsets, is_cut
    kept = np.minimum(sizes, most)
    pieces = [data[begin : begin + size] for begin, size in zip(offsets[:-1].tolist(), kept.tolist(), strict=True)]
    return np.concatenate(pieces), np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)]), is_cut
