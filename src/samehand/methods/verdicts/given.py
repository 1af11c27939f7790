"""Labels of units as columns, and how units got them. Who only reads answers needs no more of labels than this."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.store.labels import UNWANTED, WANTED
from samehand.store.page_ids import PageIds

NONE = -1
"""No page."""
HOW = ("", "asked", "site", "cluster", "identical", "group", "path")
"""How a unit got its label: a person named it, its site or its cluster; or the label spread to it."""
ASKED, OF_SITE, OF_CLUSTER, IDENTICAL, BY_GROUP, BY_PATH = range(1, len(HOW))
DECIDING = (ASKED, OF_SITE, OF_CLUSTER)
"""A person looked at what these labels name."""
ANSWERS = ("", UNWANTED, WANTED)
BAD, GOOD = 1, 2


class Given(NamedTuple):
    """Labels of some units by number. `source` is the row of the labelled page, `via` that of the page before."""

    unit: NDArray[np.int64]
    answer: NDArray[np.int8]
    how: NDArray[np.int8]
    source: NDArray[np.int64]
    via: NDArray[np.int64]
    similarity: NDArray[np.float32]

    @classmethod
    def made(
        cls,
        unit: NDArray[np.integer],
        answer: NDArray[np.int8] | int,
        how: int,
        source: NDArray[np.int64] | int = NONE,
        via: NDArray[np.int64] | int = NONE,
        similarity: NDArray[np.float32] | float = 1.0,
    ) -> "Given":
        """Columns, of which all but the first may be one value."""
        types = (np.int64, np.int8, np.int8, np.int64, np.int64, np.float32)
        columns = (unit, answer, how, source, via, similarity)
        return cls(
            *(np.broadcast_to(np.asarray(one, kind), len(unit)) for one, kind in zip(columns, types, strict=True))
        )

    @classmethod
    def merged(cls, parts: Sequence["Given"]) -> "Given":
        """By unit. Where several parts have a unit, the first counts."""
        filled = [part for part in parts if part.unit.size]
        if len(filled) == 1 and (np.diff(filled[0].unit) > 0).all():
            return filled[0]
        joined = cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return joined.chosen(np.unique(joined.unit, return_index=True)[1])

    def chosen(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> "Given":
        """Some of the labels."""
        columns: list[NDArray[Any]] = [column[which] for column in self]
        return Given(*columns)

    def all_of(self, first: int, stop: int) -> "Given":
        """One row for each unit from `first` on, without an answer where there is none."""
        start, end = np.searchsorted(self.unit, [first, stop])
        whole = Given.made(np.arange(first, stop), 0, 0, similarity=0.0)
        place = self.unit[start:end] - first
        columns: list[NDArray[Any]] = [np.array(column) for column in whole]
        for column, mine in zip(columns, self, strict=True):
            column[place] = np.asarray(mine)[start:end]
        return Given(*columns)

    def columns(self, page_ids: PageIds) -> dict[str, pa.Array]:
        """As columns of a table of verdicts."""
        nothing, by_path = self.answer == 0, self.how == BY_PATH
        no_source, no_via = self.source == NONE, self.via == NONE
        source, via = (page_ids.ids(np.maximum(rows, 0)) for rows in (self.source, self.via))
        return {
            "label": pa.array(np.array(ANSWERS, object)[self.answer], pa.string(), mask=nothing),
            "label_how": pa.array(np.array(HOW, object)[self.how], pa.string(), mask=nothing),
            "label_page_id": pa.array(source, pa.int64(), mask=no_source),
            "label_via_page_id": pa.array(via, pa.int64(), mask=no_via),
            "label_similarity": pa.array(self.similarity, pa.float32(), mask=~by_path),
        }
