"""The language method: how each page's text reads to a model of the language, and whether a machine made it."""

from collections import Counter
from pathlib import Path
from typing import ClassVar

import pyarrow.compute as pc

from samehand.base.files import copy_whole, file_digest
from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.store.files import DETECTOR, MODEL
from samehand.store.folder import RunFolder
from samehand.store.tables import LANGUAGE_PAGES


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
        from samehand.methods.language.detector import SHIPPED_MODEL
        from samehand.methods.language.reference import open_judge

        source = Path(settings.language_model or SHIPPED_MODEL)
        if source.is_file() or not (folder.path / MODEL).is_file():
            if source != SHIPPED_MODEL:
                open_judge(source)  # refuses a file that is no model before anything is replaced
            _copy(source, folder.path / MODEL)
            _copy(source.with_suffix(".detector"), folder.path / DETECTOR)

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup and language, the model and its detector."""
        digests = "".join(file_digest(folder.path / name) for name in (MODEL, DETECTOR))
        return settings.digest("markup", "language") + digests

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Judgements."""
        from samehand.methods.language.stage import LanguageStage

        return LanguageStage(folder, settings)

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


METHOD = LanguageMethod()
