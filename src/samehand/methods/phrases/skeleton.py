"""The skeleton of a text group: what its pages share, and the alternatives that stand between.

It follows one page of the group. Words in 5-grams that three pages of the group share are shown; a slot is what stands
between two words on each side that other pages have too, with something else between them; what is left is `…`.
"""

import dataclasses
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from samehand.methods.phrases.candidates import LEAST_PAGES, PHRASE
from samehand.methods.phrases.method import MOST_WORDS

CONTEXT = 2
"""Words on each side of a slot."""
MOST_IN_SLOT = 6
"""Words in a slot."""
FIXED = 0.75
"""Part of the pages that hold what is no alternative."""
MOST_PHRASES, MOST_ALTERNATIVES = 8, 6
"""Of each, so many are told."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

Gram = tuple[str, ...]
Fillers = dict[tuple[Gram, Gram], Counter[str]]
"""What stands between the same words on both sides, and on how many pages."""


@dataclasses.dataclass(frozen=True, slots=True)
class Skeleton:
    """What the pages of a text group share.

    Attributes:
        phrases: The phrases that most pages hold, each with the number of pages.
        text: One page with its slots: `{one|another|third}` for alternatives, `…` for text of its own.
        pages: How many pages were read for it.
    """

    phrases: tuple[tuple[str, int], ...]
    text: str
    pages: int


@dataclasses.dataclass(frozen=True, slots=True)
class _Text:
    """A page's text, its words in lower case, and where each stands."""

    text: str
    words: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> "_Text":
        found = [match for match, _ in zip(_WORD.finditer(text), range(MOST_WORDS), strict=False)]
        return cls(text, tuple(match.group().lower() for match in found), tuple(match.span() for match in found))

    def said(self, begin: int, end: int) -> str:
        """The text from one word to another, as it was written."""
        return " ".join(self.text[self.places[begin][0] : self.places[end - 1][1]].split())

    def grams(self) -> Iterator[Gram]:
        return (self.words[place : place + PHRASE] for place in range(len(self.words) - PHRASE + 1))


def make_skeleton(texts: Sequence[str]) -> Skeleton:
    """The skeleton of texts of one group. It follows the first of them."""
    pages = [_Text.of(text) for text in texts]
    holders = Counter(gram for page in pages for gram in set(page.grams()))
    typical = pages[0]
    return Skeleton(_phrases(typical, holders), _skeleton(typical, holders, _fillers(pages), len(pages)), len(pages))


def _phrases(page: _Text, holders: Counter[Gram]) -> tuple[tuple[str, int], ...]:
    """The phrases of a page that most pages hold, none of which overlap."""
    grams = list(page.grams())
    first = {gram: place for place, gram in reversed(list(enumerate(grams)))}
    order = sorted(first.values(), key=lambda place: (-holders[grams[place]], place))
    taken: set[int] = set()
    chosen: dict[int, int] = {}
    for place in order:
        words = range(place, place + PHRASE)
        if len(chosen) < MOST_PHRASES and holders[grams[place]] >= LEAST_PAGES and taken.isdisjoint(words):
            taken.update(words)
            chosen[place] = holders[grams[place]]
    return tuple((page.said(place, place + PHRASE), number) for place, number in chosen.items())


def _fillers(pages: Sequence[_Text]) -> Fillers:
    """What stands between the same words, where it differs."""
    found: dict[tuple[Gram, Gram], Counter[str]] = defaultdict(Counter)
    for page in pages:
        own = {
            (page.words[begin - CONTEXT : begin], page.words[end : end + CONTEXT], " ".join(page.words[begin:end]))
            for begin in range(CONTEXT, len(page.words) - CONTEXT)
            for end in range(begin + 1, min(begin + MOST_IN_SLOT, len(page.words) - CONTEXT) + 1)
        }
        for left, right, filler in own:
            found[left, right][filler] += 1
    return {sides: fillers for sides, fillers in found.items() if _is_slot(fillers)}


def _is_slot(fillers: Counter[str]) -> bool:
    """Whether several things stand between the same words, and differ from their first words to their last.

    Longer ones have to recur, or they are text of each page's own.
    """
    words = [filler.split() for filler in fillers]
    ends = {filler[0] for filler in words}, {filler[-1] for filler in words}
    recurs = max(fillers.values()) > 1 or max(map(len, words)) <= CONTEXT
    return fillers.total() >= LEAST_PAGES and recurs and all(len(different) > 1 for different in ends)


def _skeleton(page: _Text, holders: Counter[Gram], fillers: Fillers, pages: int) -> str:
    """A page with its slots."""
    is_shared, is_fixed = (_covered(page, holders, least) for least in (LEAST_PAGES, max(LEAST_PAGES, FIXED * pages)))
    pieces: list[str] = []
    word = 0
    while word < len(page.words):
        slot = _slot(page, word, is_fixed, fillers)
        end = slot[0] if slot else word + 1
        piece = slot[1] if slot else page.said(word, end) if is_shared[word] else "…"
        if piece != "…" or pieces[-1:] != ["…"]:
            pieces.append(piece)
        word = end
    return " ".join(pieces)


def _covered(page: _Text, holders: Counter[Gram], least: float) -> list[bool]:
    """The words of a page that stand in phrases of so many pages."""
    found = [False] * len(page.words)
    for place, gram in enumerate(page.grams()):
        if holders[gram] >= least:
            found[place : place + PHRASE] = [True] * PHRASE
    return found


def _slot(page: _Text, begin: int, is_fixed: Sequence[bool], fillers: Fillers) -> tuple[int, str] | None:
    """The slot that begins at a word, if any: its end, and `{what|may|stand}` there. The one that most pages have.

    What most pages share is in no slot.
    """
    last = min(begin + MOST_IN_SLOT, len(page.words) - CONTEXT)
    ends = itertools.takewhile(lambda end: not is_fixed[end - 1], range(begin + 1, last + 1))
    left = page.words[max(0, begin - CONTEXT) : begin]
    found = {end: fillers[sides] for end in ends if (sides := (left, page.words[end : end + CONTEXT])) in fillers}
    if not found:
        return None
    end = max(found, key=lambda end: (found[end].total(), -end))
    ordered = sorted(found[end], key=lambda filler: (-found[end][filler], filler))
    more = ["…"] if len(ordered) > MOST_ALTERNATIVES else []
    return end, "{" + "|".join([*ordered[:MOST_ALTERNATIVES], *more]) + "}"
