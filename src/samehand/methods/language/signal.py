"""The language signal: how each page's text reads to a model of the language, and whether it looks made up."""

import functools
import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.methods.language.detector import NATURAL, SHIPPED_MODEL, DetectorRule, Judgement
from samehand.methods.language.reference import Judge, open_judge
from samehand.methods.method import Stage
from samehand.methods.page_batch import PageBatch
from samehand.store.folder import RunFolder, writing

MODEL, DETECTOR = "language/model.lm", "language/model.detector"

JUDGEMENT_FIELDS = (
    pa.field("tokens", pa.int64(), nullable=False),
    pa.field("fake_probability", pa.float32()),
    pa.field("verdict", pa.string(), nullable=False),
    pa.field("fake_kind", pa.string()),
    pa.field("perplexity3", pa.float32()),
    pa.field("perplexity4", pa.float32()),
    pa.field("relative_entropy3", pa.float32()),
    pa.field("relative_entropy4", pa.float32()),
    pa.field("known_histories3", pa.float32(), nullable=False),
    pa.field("known_histories4", pa.float32(), nullable=False),
    pa.field("known_words", pa.float32(), nullable=False),
    pa.field("reasons", pa.list_(pa.string()), nullable=False),
)
"""The fields of `Judgement`. `fake_probability` is null where the verdict is neither fake nor natural."""
LANGUAGE_SCHEMA = pa.schema(
    [
        pa.field("page_id", pa.int64(), nullable=False),
        *JUDGEMENT_FIELDS,
        pa.field("is_cut", pa.bool_(), nullable=False),
    ]
)


class LanguageSignal:
    """Text that no person wrote."""

    table = "language/pages"

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Copies the model and its detector into the run folder, so that the run needs no other file from then on."""
        source = Path(settings.language_model or SHIPPED_MODEL)
        if source.is_file() or not (folder.path / MODEL).is_file():
            open_judge(source)  # a file that is none is refused before anything is replaced
            _copy(source, folder.path / MODEL, folder)
            _copy(source.with_suffix(".detector"), folder.path / DETECTOR, folder)

    def made_with(self, folder: RunFolder, settings: Settings) -> str:
        """The settings, the model and the detector."""
        digests = "".join(_file_digest(folder.path / name) for name in (MODEL, DETECTOR))
        return settings.digest("markup", "language") + digests

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Judgements."""
        return LanguageStage(folder, settings)


def _copy(source: Path, target: Path, folder: RunFolder) -> None:
    """Makes `target` equal to `source`, which may not be there; untouched where it is so already."""
    with writing(folder.path):
        if not source.is_file():
            target.unlink(missing_ok=True)
        elif not target.is_file() or _file_digest(source) != _file_digest(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_name(target.name + ".part")
            shutil.copyfile(source, part)
            os.replace(part, target)  # a worker may have the old one mapped


def _file_digest(path: Path) -> str:
    if not path.is_file():
        return ""
    found = path.stat()
    return _digest(path, found.st_size, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=16)
def _digest(path: Path, *_: int) -> str:
    """Digest of a file, computed once for a file that does not change: every part asks for it."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()[:16]


@functools.lru_cache(maxsize=2)
def _judge_of(path: Path, words: int, threshold: float, _: str) -> Judge:
    """A model made ready, once per process."""
    return open_judge(path, rule=DetectorRule(fewest_words=words, threshold=threshold))


class LanguageStage:
    """Pages to judgements of their visible text."""

    schema = LANGUAGE_SCHEMA

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        path = folder.path / MODEL
        self._judge = _judge_of(path, settings.min_judged_words, settings.fake_threshold, _file_digest(path))
        self._most = settings.max_text_bytes

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """Judgements."""
        data, offsets, is_cut = _shortened(*pages.texts, self._most)
        judged = judgement_arrays(self._judge.judge(data, offsets))
        return pa.record_batch([pages.page_ids, *judged, pa.array(is_cut)], schema=self.schema)


def judgement_arrays(judgements: Sequence[Judgement]) -> list[pa.Array]:
    """The columns JUDGEMENT_FIELDS. Of what spoke for natural text the first reason is enough."""
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
    """Texts without what is behind their first `most` bytes, and which of them had more."""
    sizes = np.diff(offsets)
    is_cut = sizes > most
    if not is_cut.any():
        return data, offsets, is_cut
    kept = np.minimum(sizes, most)
    pieces = [data[begin : begin + size] for begin, size in zip(offsets[:-1].tolist(), kept.tolist(), strict=True)]
    return np.concatenate(pieces), np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)]), is_cut
