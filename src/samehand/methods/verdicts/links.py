"""The links that a label spreads along: tight links of style, and what people said about pairs of pages.

"Same hand" is a link. "Different hands" cuts the weakest link on the way from one page to the other, so that no label
gets from one to the other. Pages with little noise are no part of any way: a few tags that strangers write alike say
nothing about whose hand it was.
"""

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.methods.verdicts.facts import NONE
from samehand.store.folder import RunFolder
from samehand.store.labels import DIFFERENT, PAIR, SAME, Label
from samehand.store.tables import STYLE_EDGES, STYLE_FINGERPRINTS

TINY_NOISE = 400
"""Bytes of noise. A page with less is a few tags that strangers write alike: the redirects, errors and default pages of
servers (docs/exports.md has the figures)."""


class Reached(NamedTuple):
    """Pages that links lead to: the page itself, the label it comes from (by number), the page before it on the way,
    and the least similarity on the way."""

    row: NDArray[np.int64]
    label: NDArray[np.int64]
    via: NDArray[np.int64]
    similarity: NDArray[np.float32]

    def chosen(self, which: NDArray[np.int64]) -> "Reached":
        """Some of the pages."""
        return Reached(self.row[which], self.label[which], self.via[which], self.similarity[which])


@dataclasses.dataclass(frozen=True, slots=True)
class Links:
    """Links of each page: those at `starts[row]:starts[row + 1]` lead to `end`. A link is there twice, as `number`."""

    starts: NDArray[np.int64]
    end: NDArray[np.int64]
    similarity: NDArray[np.float32]
    number: NDArray[np.int64]
    is_cut: NDArray[np.bool_]

    @classmethod
    def of(
        cls, pages: int, left: NDArray[np.int64], right: NDArray[np.int64], similarity: NDArray[np.float32]
    ) -> "Links":
        """From pairs of rows."""
        begin, end = np.concatenate([left, right]), np.concatenate([right, left])
        order = np.lexsort((end, begin))
        number = np.tile(np.arange(left.size), 2)[order]
        starts = np.searchsorted(begin[order], np.arange(pages + 1))
        return cls(starts, end[order], np.tile(similarity, 2)[order], number, np.zeros(left.size, np.bool_))

    def reached(self, rows: NDArray[np.int64], *, first: NDArray[np.bool_] | None = None) -> Reached:
        """Pages that the links lead to from `rows`, nearest label first. Where two labels are equally near, the one
        marked in `first` counts, then the stronger link."""
        first = np.zeros(rows.size, np.bool_) if first is None else first
        seen = np.zeros(self.starts.size - 1, np.bool_)
        seen[rows] = True
        found = [Reached(rows, np.arange(rows.size), np.full(rows.size, NONE), np.ones(rows.size, np.float32))]
        while found[-1].row.size:
            step = self._step(found[-1], seen)
            order = np.lexsort((step.via, -step.similarity, ~first[step.label], step.row))
            once = order[np.unique(step.row[order], return_index=True)[1]]
            found.append(step.chosen(once))
            seen[found[-1].row] = True
        rows, labels, via = (np.concatenate([one[place] for one in found[1:]]) for place in range(3))
        return Reached(rows, labels, via, np.concatenate([one.similarity for one in found[1:]]))

    def _step(self, here: Reached, seen: NDArray[np.bool_]) -> Reached:
        """All links from some pages to pages that were not seen."""
        counts = self.starts[here.row + 1] - self.starts[here.row]
        place = np.repeat(self.starts[here.row] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        origin = np.repeat(np.arange(here.row.size), counts)
        is_open = ~seen[self.end[place]] & ~self.is_cut[self.number[place]]
        place, origin = place[is_open], origin[is_open]
        weakest = np.minimum(here.similarity[origin], self.similarity[place])
        return Reached(self.end[place], here.label[origin], here.row[origin], weakest)

    def part(self, left: int, right: int) -> None:
        """Cuts the weakest link on the way from one page to the other, until there is no way."""
        while True:
            ways = self.reached(np.array([left]))
            via = dict(zip(ways.row.tolist(), ways.via.tolist(), strict=True))
            if right not in via:
                return
            links, row = [], right
            while row != left:
                links.append(self._link(via[row], row))
                row = via[row]
            self.is_cut[self.number[min(links, key=lambda place: self.similarity[place])]] = True

    def _link(self, row: int, end: int) -> int:
        """The place of the strongest link between two pages that is not cut."""
        places = np.arange(self.starts[row], self.starts[row + 1])
        places = places[(self.end[places] == end) & ~self.is_cut[self.number[places]]]
        return int(places[np.argmax(self.similarity[places])])


def tight_links(folder: RunFolder, cluster: NDArray[np.int32], labels: Iterable[Label]) -> Links:
    """The links within the style cluster of each page, and what labels say about pairs of pages."""
    ids, pages = folder.page_ids, len(folder.page_ids)
    pairs = [label for label in labels if label.unit == PAIR and all(ids.has(page_id) for page_id in label.page_ids)]
    said = {
        answer: ids.rows(np.array([label.page_ids for label in pairs if label.answer == answer], np.int64).ravel())
        for answer in (SAME, DIFFERENT)
    }
    left, right, similarity = _edges(folder, cluster)
    same = said[SAME].reshape(-1, 2)
    links = Links.of(
        pages,
        np.concatenate([left, same[:, 0]]),
        np.concatenate([right, same[:, 1]]),
        np.concatenate([similarity, np.ones(len(same), np.float32)]),
    )
    for one, other in said[DIFFERENT].reshape(-1, 2).tolist():
        links.part(one, other)
    return links


def _edges(
    folder: RunFolder, cluster: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Both rows and the similarity of each tight link between pages of a cluster that have enough noise."""
    if folder.done.get("style") is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
    table = folder.read(STYLE_EDGES, ["left_page_id", "right_page_id", "similarity"])
    similarity = table.column("similarity").to_numpy().astype(np.float32)
    is_tight = similarity >= folder.settings().cluster_threshold
    left, right = (
        folder.page_ids.rows(table.column(name).to_numpy()[is_tight]) for name in ("left_page_id", "right_page_id")
    )
    is_tiny = noise_bytes(folder) < TINY_NOISE
    sound = ~is_tiny[left] & ~is_tiny[right] & (cluster[left] == cluster[right]) & (cluster[left] != NONE)
    return left[sound], right[sound], similarity[is_tight][sound]


def noise_bytes(folder: RunFolder) -> NDArray[np.int64]:
    """Bytes of noise of each page."""
    found = [batch.column("noise_bytes").to_numpy() for batch in folder.iterate(STYLE_FINGERPRINTS, ["noise_bytes"])]
    return np.concatenate([np.zeros(0, np.int64), *found])
