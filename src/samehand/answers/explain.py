"""Why two pages are alike."""

import dataclasses

from samehand.answers.pages import RunPages
from samehand.base.neutral import neutral
from samehand.base.settings import Settings
from samehand.methods.replica.signatures import SharedWords, compare_words
from samehand.methods.style.compare import Comparison, compare

_SHOWN_WORDS = 12


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why two pages of a run are alike: the answer of `Run.explain`.

    Attributes:
        left_url: URL of one page.
        right_url: URL of the other.
        style: The noise that both share, as a `Comparison`; None for plain text, which has no style.
        words: The words that both share: `cosine`, and the words themselves in `shared`, `left_only`, `right_only`.
    """

    left_url: str
    right_url: str
    style: Comparison | None
    words: SharedWords

    def __repr__(self) -> str:
        words = self.words
        lines = [
            f"left   {neutral(self.left_url)}",
            f"right  {neutral(self.right_url)}",
            f"words  cosine {words.cosine:.2f}: {len(words.shared):,} shared, {len(words.left_only):,} only left, "
            f"{len(words.right_only):,} only right",
        ]
        sides = {"shared": words.shared, "only left": words.left_only, "only right": words.right_only}
        for name, side in sides.items():
            if side:
                more = " …" if len(side) > _SHOWN_WORDS else ""
                lines.append(f"  {name}: {neutral(' '.join(side[:_SHOWN_WORDS]))}{more}")
        if self.style is not None:
            lines.insert(2, f"style  {self.style}")
        return "\n".join(lines)


def explain(pages: RunPages, left: int, right: int, settings: Settings) -> Explanation:
    """Compares two rows of a run in full."""
    words = compare_words(pages.text(left).encode(), pages.text(right).encode())
    is_text = pages.is_text(left) or pages.is_text(right)
    style = None if is_text else compare(pages.page(left), pages.page(right), settings=settings)
    return Explanation(pages.url(left), pages.url(right), style, words)
