"""Why two pages are alike."""

import dataclasses

from samehand.answers.pages import RunPages
from samehand.base.settings import Settings
from samehand.methods.replica.signatures import SharedWords, compare_words
from samehand.methods.style.compare import Comparison, compare


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Two pages of a run: the noise they share (`style`) and the words they share (`words`)."""

    left_url: str
    right_url: str
    style: Comparison
    words: SharedWords


def explain(pages: RunPages, left: int, right: int, settings: Settings) -> Explanation:
    """Compares two rows of a run in full."""
    words = compare_words(pages.text(left).encode(), pages.text(right).encode())
    style = compare(pages.page(left), pages.page(right), settings=settings)
    return Explanation(pages.url(left), pages.url(right), style, words)
