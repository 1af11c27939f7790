"""The phrases method: pages whose texts come from the same phrases, as a method of a run."""

from typing import ClassVar

from samehand.base.settings import Settings
from samehand.base.wording import count
from samehand.methods.method import Counts, Method, OnGroupProgress, Stage
from samehand.store.folder import RunFolder
from samehand.store.tables import PHRASES_GROUPS, PHRASES_MEMBERS, PHRASES_WORDS

MOST_WORDS = 5_000
"""Words of a page that are looked at: its first ones. Pages that have more are counted."""


class PhrasesMethod(Method):
    """Text groups: one generator behind many pages."""

    name = "phrases"
    about = "text groups: pages on several sites whose texts are made from the same phrases"
    changeable = ("phrases",)
    command = "phrases"
    page_table = PHRASES_WORDS
    tables = (PHRASES_MEMBERS, PHRASES_GROUPS)
    counted: ClassVar = {"groups": int, "grouped_pages": int, "kinds": {str: int}, "pages_cut": int}
    profiles = ("web", "mail")

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of markup."""
        return settings.digest("markup")

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """Words."""
        from samehand.methods.phrases.words import WordsStage

        return WordsStage(settings)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The settings of phrases."""
        return settings.digest("phrases")

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Finds the phrases that pages share, and groups the pages that they make up."""
        from samehand.methods.phrases.summary import group_phrases

        return group_phrases(folder, settings)

    def status(self, counts: Counts) -> list[str]:
        """Groups by kind, and pages that were cut."""
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in counts["kinds"].items())
        groups, pages = count(counts["groups"], "text group"), count(counts["grouped_pages"], "page")
        lines = [f"{groups} of {pages}" + (f": {kinds}" if kinds else "")]
        if counts["pages_cut"]:
            lines.append(f"{counts['pages_cut']:,} pages have more than {MOST_WORDS:,} words, and were judged by these")
        return lines


METHOD = PhrasesMethod()
