"""The language method: how each page's text reads to a model of the language, and whether a machine made it."""

import functools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.files import copy_whole, file_digest
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.language.detector import NATURAL, SHIPPED_MODEL, DetectorRule, Judgement
from samehand.methods.language.reference import Judge, open_judge
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.methods.page_batch import PageBatch
from samehand.store.files import DETECTOR, MODEL
from samehand.store.folder import RunFolder
from samehand.store.tables import LANGUAGE_PAGES

_PLACE = ("url", "doc_id", "page_id", "host", "site")
JUDGEMENT_FIELDS = tuple(
    field for field in LANGUAGE_PAGES.fixed_schema if field.name not in (*_PLACE, "is_cut", "hidden_words")
)
"""What is known of a judged text. `fake_probability` is null where the verdict is neither fake nor natural."""


class LanguageMethod(Method):
    """Text that no person wrote."""

    name = "language"
    about = "machine-made text: word salad, patchwork and Markov chains"
    changeable = ("language",)
    command = "fake"
    page_table = LANGUAGE_PAGES
    tables = ()
    counted: ClassVar = {"verdicts": {str: int}, "pages": int, "texts_cut": int}
    profiles = ("web", "mail")

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Copies the model and its detector into the run folder, so that the run needs no other file from then on."""
        source = Path(settings.language_model or SHIPPED_MODEL)
        if source.is_file() or not (folder.path / MODEL).is_file():
            open_judge(source)  # refuses a file that is no model before anything is replaced
            _copy(source, folder.path / MODEL)
            _copy(source.with_suffix(".detector"), folder.path / DETECTOR)

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup and language, the model and its detector."""
        digests = "".join(file_digest(folder.path / name) for name in (MODEL, DETECTOR))
        return settings.digest("markup", "language") + digests

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Judgements."""
        return _LanguageStage(folder, settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """Nothing beside the judgements."""
        return ""

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Counts how often each verdict was given."""
        verdicts: Counter[str] = Counter()
        cut = 0
        for batch in folder.iterate(LANGUAGE_PAGES, ["verdict", "is_cut"]):
            verdicts.update(batch.column("verdict").to_pylist())
            cut += pc.sum(batch.column("is_cut")).as_py() or 0
        return {"verdicts": dict(sorted(verdicts.items())), "pages": verdicts.total(), "texts_cut": cut}

    def status(self, counts: Counts) -> list[str]:
        """Verdicts on texts."""
        verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in counts["verdicts"].items())
        cut = f"; {counts['texts_cut']:,} texts were cut (--max-text-bytes)" if counts["texts_cut"] else ""
        return [f"text of {count(counts['pages'], 'page')} judged: {verdicts or 'none'}{cut}"]


def _copy(source: Path, target: Path) -> None:
    """Makes `target` equal to `source`, which may not be there. A target that is equal already stays as it is."""
    if not source.is_file():
        target.unlink(missing_ok=True)
    elif file_digest(source) != file_digest(target):
        copy_whole(source, target)


@functools.lru_cache(maxsize=2)
def _judge_of(path: Path, words: int, threshold: float, _: str) -> Judge:
    """A model made ready, once per process."""
    return open_judge(path, rule=DetectorRule(fewest_words=words, threshold=threshold))


class _LanguageStage:
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


METHOD = LanguageMethod()
