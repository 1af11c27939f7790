"""Questions about style: clusters at any threshold, one page against all, pages of the same hand as known ones."""

import dataclasses
import functools
import itertools
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.grouping.edges import Edges
from samehand.grouping.medoids import Groups
from samehand.grouping.sketches import Sketches
from samehand.methods.style.channels import by_channel, sketches_of
from samehand.methods.style.clusters import (
    Grouped,
    PageFacts,
    cluster_labels,
    family_labels,
    find_grouped,
    read_forest,
    summarise,
)
from samehand.methods.style.fingerprints import Stored, style_batch
from samehand.methods.style.links import weakest_edge
from samehand.methods.style.own_hosts import hosts_named_in, mask_host
from samehand.methods.style.sketches import open_sketches
from samehand.store.folder import RunFolder
from samehand.store.page_ids import UNIT_BITS
from samehand.store.page_list import PageList
from samehand.store.tables import PAGES, STYLE_FINGERPRINTS

LIKE_LEAST = 0.06
"""Least similarity one-to-all lists: below it, 8 bits of each value agree by chance now and then."""
_LIKE_AT_ONCE = 256

Found = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Rows and their similarities, most similar first."""


@dataclasses.dataclass(frozen=True, slots=True)
class WeakestLink:
    """The weakest of some links.

    Attributes:
        similarity: Similarity of the two pages.
        left_url: URL of one page.
        right_url: URL of the other.
        noise: Similarity of their noise alone.
        markup: Similarity of their canonical markup alone; None with the preset "paper", which has none.
    """

    similarity: float
    left_url: str
    right_url: str
    noise: float
    markup: float | None


class StyleAnswers:
    """The style of a finished run."""

    def __init__(self, folder: RunFolder, settings: Settings) -> None:
        self._folder = folder
        self._settings = settings

    def clusters(self, *, cut: float | None = None, families: bool = False) -> pa.Table:
        """Clusters at another threshold, or families, by rank."""
        labels = self._labels(cut, families)
        grouped = Grouped(self._page_ids, self._forest, self._families, labels, self._grouped(labels))
        return summarise(PageFacts.of(self._folder, grouped.clusters.medoids), grouped)

    def members(self, cluster_id: int, *, cut: float | None = None, families: bool = False) -> pa.Table:
        """The members of one of these clusters, unordered."""
        labels = self._labels(cut, families)
        groups = self._grouped(labels)
        chosen = np.flatnonzero(self._page_ids[labels[groups.members]] == cluster_id)
        return self._pages.listed(groups.members[chosen], groups.similarities[chosen])

    def weakest_link(self, page_ids: NDArray[np.int64]) -> WeakestLink | None:
        """The weakest of the links that hold these pages together; None when no link joins them directly."""
        found = weakest_edge(self._folder, page_ids)
        if found is None:
            return None
        similarity, *ids = found
        left, right = self._folder.page_ids.rows(np.array(ids)).tolist()
        channels = by_channel(self._sketches, left, right)
        return WeakestLink(similarity, self._pages.url(left), self._pages.url(right), *channels)

    # One to all.

    def like_row(self, row: int) -> pa.Table:
        """Every page that shares something with a page of the run, most similar first (section 4.1)."""
        return self._pages.listed(*self._like_row(row))

    def like_page(self, page: Page) -> pa.Table:
        """Every page that shares something with any page, most similar first.

        A page without a URL that the run holds, byte for byte, is taken for that page. Any other is compared with each
        page of the run as if it stood on that page's host.
        """
        return self._pages.listed(*self._like(page, top=None))

    def _like_row(self, row: int) -> Found:
        page_id = int(self._folder.page_ids.ids(np.array([row]))[0])
        part = self._folder.read_part(STYLE_FINGERPRINTS, page_id >> UNIT_BITS)
        place = page_id & ((1 << UNIT_BITS) - 1)
        stored = Stored.of(part.slice(place, 1).combine_chunks().to_batches()[0], self._settings)
        ((rows, similarities),) = self._nearest(stored, top=None)
        return _with_equal(rows, similarities, np.append(self._equal_rows(stored), row))

    def like_each(self, pages: Iterable[tuple[str, Page]], *, top: int) -> Iterator[pa.Table]:
        """The `top` most similar pages of each of many pages, which are given with their names."""
        waiting = iter(pages)
        while chunk := list(itertools.islice(waiting, _LIKE_AT_ONCE)):
            found = self._like_many([page for _, page in chunk], top)
            rows, similarities = (np.concatenate(column) for column in zip(*found, strict=True))
            sizes = [len(rows) for rows, _ in found]
            names = np.repeat(np.array([name for name, _ in chunk], object), sizes)
            ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
            table = self._pages.listed(rows, similarities).add_column(0, "rank", pa.array(ranks, pa.int64()))
            yield table.add_column(0, "query", pa.array(names, pa.string()))

    def _like_many(self, pages: Sequence[Page], top: int) -> list[Found]:
        """Those with a URL in one pass over the run; the others one by one, for each may stand on several hosts."""
        placed = [page for page in pages if page.url]
        near = iter(self._nearest(self._stored(placed), top=top)) if placed else iter(())
        found = []
        for page in pages:
            rows, similarities = next(near) if page.url else self._like(page, top=top)
            rows, similarities = _with_equal(rows, similarities, self._rows_with(page.content))
            found.append((rows[:top], similarities[:top]))
        return found

    def _like(self, page: Page, *, top: int | None) -> Found:
        same = self._rows_with(page.content)
        if page.url:
            found = self._like_fingerprint(page)
        else:
            found = self._like_row(int(same[0])) if same.size else self._like_on_any_host(page)
        rows, similarities = _with_equal(*found, same)
        return rows[:top], similarities[:top]

    def _like_fingerprint(self, page: Page) -> Found:
        stored = self._stored([page])
        ((rows, similarities),) = self._nearest(stored, top=None)
        return _with_equal(rows, similarities, self._equal_rows(stored))

    def _like_on_any_host(self, page: Page) -> Found:
        """Each page of the run by similarity to a page that is taken to stand on its host."""
        rows, similarities = self._like_fingerprint(page)
        for host, site in self._hosts_named_in(page.content):
            masked = dataclasses.replace(page, content=mask_host(page.content, host, site))
            near, likeness = self._like_fingerprint(masked)
            here = self._rows_of_host(host)
            kept, on_host = ~np.isin(rows, here), np.isin(near, here)
            rows = np.concatenate([rows[kept], near[on_host]])
            similarities = np.concatenate([similarities[kept], likeness[on_host]])
        return rows, similarities

    def _stored(self, pages: Sequence[Page]) -> Stored:
        """Fingerprints, made as a scan makes them."""
        return Stored.of(style_batch(pages_to_batch(pages, 0), self._settings), self._settings)

    def _nearest(self, stored: Stored, *, top: int | None) -> list[Found]:
        return self._sketches.nearest(sketches_of(stored, self._settings).rows, least=LIKE_LEAST, top=top)

    def _equal_rows(self, stored: Stored) -> NDArray[np.int64]:
        """Rows equal in noise and tags to a page that is too small to compare: these are as similar as can be."""
        found, first = [np.zeros(0, np.int64)], 0
        if not stored.comparable[0] and stored.identity[0]:
            for batch in self._folder.iterate(STYLE_FINGERPRINTS, ["exact_match_key"]):
                keys = batch.column("exact_match_key").to_numpy()
                found.append(first + np.flatnonzero(keys == stored.identity[0]))
                first += len(batch)
        return np.concatenate(found)

    def _rows_with(self, content: bytes) -> NDArray[np.int64]:
        """The rows of pages with just this content, whatever their hosts."""
        return np.flatnonzero(self._content_keys == np.uint64(len(content) << 32 | zlib.crc32(content)))

    def _hosts_named_in(self, content: bytes) -> list[tuple[str | None, str | None]]:
        """Hosts of the run that a small page names: on them it would have another fingerprint."""
        if len(content) > self._settings.host_mask_max_page_bytes:
            return []
        hosts, sites = (self._pages.table.column(name) for name in ("host", "site"))
        named = hosts_named_in(content, hosts, sites)
        return list(zip(named.column("host").to_pylist(), named.column("site").to_pylist(), strict=True))

    def _rows_of_host(self, host: str | None) -> NDArray[np.int64]:
        return self._pages.named("host", pa.array([host], pa.string()))

    # Spread.

    def spread(self, seeds: Sequence[str], *, cut: float | None = None) -> pa.Table:
        """From known bad URLs, hosts or sites to the pages of the same hand, each with the path that leads there.

        A page is reached when it is in a cluster with a seed. The path goes along the forest, so each of its steps is
        the strongest there is. `weakest` is the least similarity on the path.
        """
        threshold = self._at(cut)
        start = self._seed_rows(seeds)
        if not start.size:
            raise UsageError(
                f"None of the {len(seeds)} seeds is in {self._folder.path}: give URLs, hosts or sites of the crawl."
            )
        labels = cluster_labels(self._sketches, len(self._page_ids), self._forest, threshold, self._settings)
        paths = _paths_from(start, self._forest, threshold)
        wanted = np.isin(labels, labels[start])
        reached = [row for row in paths if wanted[row]]
        return self._spread_table(reached, paths, set(start.tolist()))

    def _seed_rows(self, seeds: Sequence[str]) -> NDArray[np.int64]:
        """Pages named by the seeds: a URL names one page, a host or a site all its pages."""
        wanted = pa.array(sorted({seed.strip() for seed in seeds if seed.strip()}), pa.string())
        found = [self._pages.named(column, wanted) for column in ("url", "host", "site")]
        return np.unique(np.concatenate(found))

    def _spread_table(self, rows: Sequence[int], paths: dict[int, "_Step"], seeds: set[int]) -> pa.Table:
        trails = [_trail(row, paths) for row in rows]
        table = self._pages.listed(np.array(rows, np.int64))
        table = table.append_column("is_seed", pa.array([row in seeds for row in rows], pa.bool_()))
        table = table.append_column("weakest", pa.array([paths[row].weakest for row in rows], pa.float32()))
        table = table.append_column("steps", pa.array([len(trail) - 1 for trail in trails], pa.int64()))
        path_urls = [[self._pages.url(row) for row in trail] for trail in trails]
        table = table.append_column("path", pa.array(path_urls, pa.list_(pa.string())))
        order = [("is_seed", "descending"), ("steps", "ascending"), ("weakest", "descending"), ("page_id", "ascending")]
        return table.sort_by(order)

    # What is stored.

    def _labels(self, threshold: float | None, families: bool) -> NDArray[np.int32]:
        if families and threshold is None:
            return self._families
        find = family_labels if families else cluster_labels
        return find(self._sketches, len(self._page_ids), self._forest, self._at(threshold), self._settings)

    def _grouped(self, labels: NDArray[np.int32]) -> Groups:
        return find_grouped(self._sketches, labels)

    def _at(self, threshold: float | None) -> float:
        """A threshold the stored forest can answer."""
        threshold = self._settings.cluster_threshold if threshold is None else threshold
        if not self._settings.family_threshold <= threshold <= 1:
            raise UsageError(
                f"The threshold {threshold} is not between {self._settings.family_threshold} "
                "(the family threshold of this run) and 1."
            )
        return threshold

    @functools.cached_property
    def _pages(self) -> PageList:
        return PageList(self._folder)

    @functools.cached_property
    def _page_ids(self) -> NDArray[np.int64]:
        return self._folder.page_ids.ids()

    @functools.cached_property
    def _content_keys(self) -> NDArray[np.uint64]:
        """Length and checksum of each page."""
        keys = np.empty(len(self._page_ids), np.uint64)
        first = 0
        for batch in self._folder.iterate(PAGES, ["content_length", "content_crc32"]):
            lengths, sums = (batch.column(name).to_numpy() for name in ("content_length", "content_crc32"))
            keys[first : first + len(batch)] = lengths.astype(np.uint64) << np.uint64(32) | sums
            first += len(batch)
        return keys

    @functools.cached_property
    def _sketches(self) -> Sketches:
        return open_sketches(self._folder, self._settings)

    @functools.cached_property
    def _forest(self) -> Edges:
        return read_forest(self._folder)

    @functools.cached_property
    def _families(self) -> NDArray[np.int32]:
        return family_labels(
            self._sketches, len(self._page_ids), self._forest, self._settings.family_threshold, self._settings
        )


def _with_equal(rows: NDArray[np.int64], similarities: NDArray[np.float32], equal: NDArray[np.int64]) -> Found:
    """Rows that are equal to the page come first, at similarity 1."""
    equal = np.unique(equal)
    kept = ~np.isin(rows, equal)
    rows, similarities = rows[kept], similarities[kept]
    ones = np.ones(equal.size, np.float32)
    rows, similarities = np.concatenate([equal, rows]), np.concatenate([ones, similarities])
    order = np.lexsort((rows, -similarities))
    return rows[order], similarities[order]


@dataclasses.dataclass(frozen=True, slots=True)
class _Step:
    """How a row was reached: from which row (itself for a seed), and the weakest link on the whole path."""

    before: int
    weakest: float


def _paths_from(seeds: NDArray[np.int64], forest: Edges, threshold: float) -> dict[int, _Step]:
    """Breadth first along the forest's links above the threshold, from all seeds at once."""
    strong = forest.similarities >= np.float32(threshold)
    neighbours: dict[int, list[tuple[int, float]]] = {}
    for (left, right), similarity in zip(
        forest.pairs[strong].tolist(), forest.similarities[strong].tolist(), strict=True
    ):
        neighbours.setdefault(left, []).append((right, similarity))
        neighbours.setdefault(right, []).append((left, similarity))
    paths = {row: _Step(row, 1.0) for row in seeds.tolist()}
    waiting = deque(paths)
    while waiting:
        row = waiting.popleft()
        for other, similarity in sorted(neighbours.get(row, [])):
            if other not in paths:
                paths[other] = _Step(row, min(paths[row].weakest, similarity))
                waiting.append(other)
    return paths


def _trail(row: int, paths: dict[int, _Step]) -> list[int]:
    """Rows from the seed to `row`."""
    trail = [row]
    while paths[trail[-1]].before != trail[-1]:
        trail.append(paths[trail[-1]].before)
    return trail[::-1]
