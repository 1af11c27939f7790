"""Two pages compared in full (section 2.1 of the paper): exact similarities, and the noise and markup both share."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.base.page import Page, host_of
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.kernels import noise as kernel
from samehand.methods.style.channels import sketches_of
from samehand.methods.style.fingerprints import Stored, style_batch
from samehand.methods.style.noise import noise_of, tables_of
from samehand.methods.style.own_hosts import kept_places, mask_host
from samehand.methods.style.skeleton import MarkupComparison, compare_markup


@dataclasses.dataclass(frozen=True, slots=True)
class SharedRun:
    """A stretch of noise that both pages have.

    Attributes:
        noise: The noise itself.
        left: The bytes of the left source that it stands in, as (start, end).
        right: The same of the right source.
        shingles: How many shingles long it is.
    """

    noise: bytes
    left: tuple[int, int]
    right: tuple[int, int]
    shingles: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Two pages compared in full: the answer of `samehand.compare`.

    Attributes:
        jaccard: Exact Jaccard similarity of the sets of shingles.
        dice: Exact Dice similarity.
        estimate: The similarity that a run stores: noise and canonical markup together, from the fingerprints.
        left_shingles: Distinct shingles of the left page.
        right_shingles: Distinct shingles of the right page.
        shared_shingles: Distinct shingles of both.
        same_noise: Whether the noise of both is the same.
        runs: The stretches of noise that both share, longest first.
        markup: The canonical markup of both compared; None with the preset "paper", which has none.
    """

    jaccard: float
    dice: float
    estimate: float
    left_shingles: int
    right_shingles: int
    shared_shingles: int
    same_noise: bool
    runs: tuple[SharedRun, ...]
    markup: MarkupComparison | None

    def __repr__(self) -> str:
        markup = f"markup {self.markup.jaccard:.2f}, " if self.markup else ""
        return (
            f"Jaccard {self.jaccard:.2f}, Dice {self.dice:.2f}, {markup}estimate {self.estimate:.2f}: "
            f"{self.shared_shingles:,} shingles shared, of {self.left_shingles:,} and {self.right_shingles:,}, "
            f"in {len(self.runs):,} stretches"
        )


def compare(left: Page, right: Page, *, settings: Settings) -> Comparison:
    """Compares two pages shingle by shingle, and maps the shared noise back to both sources.

    The pages are taken as a scan takes them: the estimate is what a run that holds both stores.
    """
    sides = _Side.of(left, settings), _Side.of(right, settings)
    sets = distinct(sides[0].shingles), distinct(sides[1].shingles)
    shared = np.intersect1d(sets[0], sets[1], assume_unique=True).size
    total = sets[0].size + sets[1].size
    same_noise = sides[0].noise == sides[1].noise
    if total:
        jaccard, dice = shared / (total - shared), 2 * shared / total
    else:  # no shingle in either: only equality can say anything
        jaccard = dice = float(same_noise)
    return Comparison(
        jaccard=jaccard,
        dice=dice,
        estimate=_estimate(left, right, settings),
        left_shingles=sets[0].size,
        right_shingles=sets[1].size,
        shared_shingles=shared,
        same_noise=same_noise,
        runs=_shared_runs(*sides, settings.shingle_bytes),
        markup=compare_markup(sides[0].content, sides[1].content, settings) if settings.markup_dimensions else None,
    )


def _estimate(left: Page, right: Page, settings: Settings) -> float:
    stored = Stored.of(style_batch(pages_to_batch([left, right], 0), settings), settings)
    is_same = stored.identity[0] == stored.identity[1] != 0 or left.content == right.content
    if is_same and not stored.comparable.all():
        return 1.0  # too small to compare, and equal
    both = sketches_of(stored, settings)
    return float(both.cross(slice(0, 1), both.rows)[1, 0])


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    content: bytes
    noise: bytes
    positions: NDArray[np.int64]
    shingles: NDArray[np.uint64]

    @classmethod
    def of(cls, page: Page, settings: Settings) -> "_Side":
        content, places = page.content, None
        if len(content) <= settings.host_mask_max_page_bytes:
            host = host_of(page.url)
            places = kept_places(content, host.name, host.private_domain)
            content = mask_host(content, host.name, host.private_domain)
        tables = tables_of(settings)
        kept = noise_of(content, settings)
        positions = kernel.noise_positions(np.frombuffer(content, np.uint8), settings.fold_spaces)
        shingles = kernel.hash_shingles(
            np.frombuffer(kept, np.uint8), tables.entering, tables.leaving, settings.shingle_bytes
        )
        return cls(content, kept, positions if places is None else places[positions], shingles)

    def source(self, start: int, length: int) -> tuple[int, int]:
        """The bytes of the source that hold noise[start:start + length]."""
        return int(self.positions[start]), int(self.positions[start + length - 1]) + 1


def _shared_runs(left: _Side, right: _Side, shingle_bytes: int) -> tuple[SharedRun, ...]:
    """Maximal stretches of shingles in the same order on both sides, longest first."""
    found = []
    for start, other, shingles in kernel.shared_runs(left.shingles, right.shingles):
        length = int(shingles) + shingle_bytes - 1
        text = left.noise[start : start + length]
        found.append(SharedRun(text, left.source(start, length), right.source(other, length), int(shingles)))
    return tuple(sorted(found, key=lambda run: (-run.shingles, run.left)))
