"""One page against all."""

import dataclasses
from typing import Self

import pyarrow as pa

from samehand.answers.result import Result
from samehand.methods.style.gaps import Gap, find_gaps


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Likeness:
    """One page against all: the answer of `Run.like`.

    Attributes:
        pages: The pages that share something with it, most similar first: similarity, url, doc_id, page_id, host, site.
        gaps: The gaps in the curve of similarities, from the top. Pages above the first are mostly of the same hand.
        compared: How many pages it was compared with.
    """

    pages: Result
    gaps: tuple[Gap, ...]
    compared: int

    @classmethod
    def of(cls, pages: pa.Table, compared: int) -> Self:
        """From the pages by similarity."""
        return cls(Result(pages), find_gaps(pages.column("similarity").to_numpy()), compared)

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), repr(self.pages)])

    def _repr_html_(self) -> str:
        """The same for notebooks. Everything crawled is escaped."""
        return "".join(f"<p>{line}</p>" for line in self._lines()) + self.pages._repr_html_()

    def _lines(self) -> list[str]:
        """The curve in a few lines. They hold numbers and nothing that was crawled."""
        lines = [f"{len(self.pages):,} of {self.compared:,} pages share something with it."]
        for gap in self.gaps:
            lines.append(f"{gap.name}: from {gap.above:.2f} down to {gap.below:.2f}, below the first {gap.pages:,}.")
        return lines
