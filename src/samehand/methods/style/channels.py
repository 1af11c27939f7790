"""Both fingerprints of pages together: their probes, and their sketches with one similarity of both."""

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.memory import release
from samehand.grouping.probes import ProbePlan, plan_probes
from samehand.grouping.sketches import NARROW, NARROWEST, Sketches, lanes_of, rows_are_equal, sketch_words
from samehand.kernels import channels
from samehand.kernels import sketches as kernel
from samehand.kernels.buckets import similarities_of_pairs
from samehand.kernels.channels import KNOTS, StyleRows
from samehand.kernels.noise import EMPTY
from samehand.kernels.sketches import Lanes, SketchRows
from samehand.methods.style.fingerprints import Stored, halves
from samehand.methods.style.markup import poor_below


@dataclasses.dataclass(frozen=True, slots=True)
class Probes:
    """The probes of both fingerprints. A pair of a family has noise or markup in common; a probe of either finds it."""

    noise: ProbePlan
    markup: ProbePlan | None
    poor: int

    def __len__(self) -> int:
        return len(self.noise) + (len(self.markup) if self.markup else 0)

    def columns(self, stored: Stored) -> list[NDArray[np.uint32]]:
        """The buckets of fingerprints, a row for each probe. Pages with next to no markup are in no bucket of it."""
        return self._joined(stored, *(kernel.bucket_columns(*given) for given in self._given(stored)))

    def reduced(self, stored: Stored, settings: Settings) -> "Reduced":
        """All that grouping needs of fingerprints, in one pass over them."""
        (noise, noise_hashes, noise_columns), (markup, markup_hashes, markup_columns) = (
            kernel.reduced(values, bits, subsets)
            for bits, (values, subsets) in zip((NARROW, NARROWEST), self._given(stored), strict=True)
        )
        is_narrow = settings.sketch_bits == NARROW
        words = noise.view(np.uint64) if is_narrow else sketch_words(stored.values, settings.sketch_bits)
        return Reduced(
            (words, *halves(markup.view(np.uint64))),
            stored.identity_by(noise_hashes, markup_hashes),
            self._joined(stored, noise_columns, markup_columns),
        )

    def _given(self, stored: Stored) -> list[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
        """Both fingerprints, and the dimensions of their probes."""
        no_probes = np.zeros((0, 1), np.int64)
        subsets = self.markup.subsets if self.markup else no_probes
        return [(stored.values, self.noise.subsets), (stored.markup, subsets)]

    def _joined(
        self, stored: Stored, noise: NDArray[np.uint32], markup: NDArray[np.uint32]
    ) -> list[NDArray[np.uint32]]:
        markup[:, stored.values_filled + stored.skeleton_filled < self.poor] = EMPTY
        return [*noise, *markup]


class Reduced(NamedTuple):
    """Narrow sketches of noise, values and skeleton, which rows are the same, and the buckets in each probe."""

    words: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]
    identity: NDArray[np.uint64]
    columns: list[NDArray[np.uint32]]


def probe_plan(settings: Settings) -> Probes:
    """The probes these settings ask for."""
    noise = plan_probes(
        settings.dimensions,
        settings.family_threshold,
        miss=settings.miss_probability,
        probes=settings.probes,
        probe_dimensions=settings.probe_dimensions,
    )
    markup = None
    if settings.markup_dimensions:
        least = markup_worth(settings.family_threshold)
        markup = plan_probes(settings.markup_dimensions, least, miss=settings.miss_probability)
    return Probes(noise, markup, poor_below(settings))


def markup_worth(similarity: float) -> float:
    """The similarity of markup that is worth this similarity without noise."""
    knots = np.array(KNOTS)
    return float(np.interp(similarity, knots[:, 1], knots[:, 0]))


_full_tables = functools.lru_cache(maxsize=8)(channels.full_tables)


@dataclasses.dataclass(frozen=True, slots=True)
class StyleSketches(Sketches):
    """Sketches of noise and markup, compared by `kernels.channels`."""

    values_words: NDArray[np.uint64]
    values_filled: NDArray[np.int16]
    skeleton_words: NDArray[np.uint64]
    skeleton_filled: NDArray[np.int16]
    markup_lanes: Lanes
    poor: int

    def block(self, block: slice) -> StyleRows:
        """What the kernels compare, of some rows."""
        return StyleRows(
            self.words[block],
            self.filled[block],
            self.lanes,
            self.values_words[block],
            self.values_filled[block],
            self.skeleton_words[block],
            self.skeleton_filled[block],
            self.markup_lanes,
            self.poor,
            *_full_tables(self.lanes, self.markup_lanes, self.poor),
        )

    @property
    def width(self) -> int:
        """Bytes of all three sketches of a page."""
        return sum(words.itemsize * words.shape[1] for words in (self.words, self.values_words, self.skeleton_words))

    def cross(self, block: slice, queries: Any) -> NDArray[np.float32]:
        """Similarities of queries to a block of rows."""
        return channels.cross_similarities(self.block(block), queries)

    def are_same(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Whether the sketches are equal."""
        same = rows_are_equal(self.words, left, right) & rows_are_equal(self.values_words, left, right)
        return same & rows_are_equal(self.skeleton_words, left, right) | ~self.comparable[right]

    def release(self) -> None:
        """Gives mapped memory back."""
        for words in (self.words, self.values_words, self.skeleton_words):
            release(words)


def by_channel(sketches: Sketches, left: int, right: int) -> tuple[float, float | None]:
    """The similarities of two rows by noise and by markup, each alone. That of markup is the mean of its streams."""
    ends = np.array([left], np.int32), np.array([right], np.int32)
    noise = similarities_of_pairs(SketchRows(sketches.words, sketches.filled, sketches.lanes), *ends)
    if not isinstance(sketches, StyleSketches):
        return float(noise[0]), None
    lanes = sketches.markup_lanes
    values = similarities_of_pairs(SketchRows(sketches.values_words, sketches.values_filled, lanes), *ends)
    skeleton = similarities_of_pairs(SketchRows(sketches.skeleton_words, sketches.skeleton_filled, lanes), *ends)
    return float(noise[0]), float(values[0] + skeleton[0]) / 2


def sketches_of(stored: Stored, settings: Settings) -> Sketches:
    """Stored fingerprints, ready to be compared."""
    return sketches_from(
        settings,
        stored.page_ids,
        stored.comparable,
        *stored_words(stored, settings),
        stored.filled,
        stored.values_filled,
        stored.skeleton_filled,
    )


def stored_words(
    stored: Stored, settings: Settings
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """The narrow sketches of noise, values and skeleton. Those of both halves of the markup are made at once."""
    noise = sketch_words(np.ascontiguousarray(stored.values), settings.sketch_bits)
    return noise, *halves(sketch_words(np.ascontiguousarray(stored.markup), NARROWEST))


def sketches_from(
    settings: Settings,
    page_ids: NDArray[np.int64],
    comparable: NDArray[np.bool_],
    words: NDArray[np.uint64],
    values_words: NDArray[np.uint64],
    skeleton_words: NDArray[np.uint64],
    filled: NDArray[np.int16],
    values_filled: NDArray[np.int16],
    skeleton_filled: NDArray[np.int16],
) -> Sketches:
    """Narrow sketches as these settings compare them: both channels, or noise alone."""
    lanes = lanes_of(settings.dimensions, bits=settings.sketch_bits, floor=estimator_floor(settings))
    if not settings.markup_dimensions:
        return Sketches(words, filled, lanes, page_ids, comparable)
    return StyleSketches(
        words,
        filled,
        lanes,
        page_ids,
        comparable,
        values_words,
        values_filled,
        skeleton_words,
        skeleton_filled,
        lanes_of(settings.markup_dimensions // 2, bits=NARROWEST),
        poor_below(settings),
    )


def estimator_floor(settings: Settings) -> int:
    """The least the matches are divided by: m for the paper's estimator, 1 for ours."""
    return settings.dimensions if settings.estimator == "paper" else 1
