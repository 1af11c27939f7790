"""A finished run and the questions one can ask it: clusters, members, one to all, spread.

Answers are Arrow tables or small frozen records; `samehand.cli.render` prints them. Nothing here changes the run.
"""

import dataclasses
import functools
import itertools
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from samehand.base.errors import UsageError
from samehand.base.settings import Settings
from samehand.grouping.edges import Edges
from samehand.grouping.sketches import Sketches, sketch_words
from samehand.html import visible_text
from samehand.kernels.sketches import count_filled
from samehand.methods.replica.signatures import SharedWords, compare_words
from samehand.methods.replica.summary import REPLICA_GROUPS, REPLICA_MEMBERS
from samehand.methods.style.clusters import (
    CLUSTERS,
    EDGES,
    MEMBERS,
    Grouped,
    PageFacts,
    cluster_labels,
    edges_from_table,
    family_labels,
    find_grouped,
    summarise,
)
from samehand.methods.style.gaps import Gap, find_gaps
from samehand.methods.style.noise import fingerprint
from samehand.methods.style.sketches import FINGERPRINTS, open_sketches
from samehand.sources import Source, read_page
from samehand.sources.http.charset import as_utf8, to_ascii_compatible
from samehand.store.folder import RunFolder

LIKE_LEAST = 0.06
"""Least similarity one-to-all lists: below it, 8 bits of each value agree by chance now and then."""
_LIKE_AT_ONCE = 256
_MEMBER_PAGE_COLUMNS = ["page_id", "url", "url_host_name", "url_host_private_domain"]


@dataclasses.dataclass(frozen=True, slots=True)
class Likeness:
    """One page against all: every page with a similarity above 0, most similar first, and the gaps in that curve."""

    pages: pa.Table
    gaps: tuple[Gap, ...]
    compared: int


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """Two pages and their similarity."""

    similarity: float
    left_url: str
    right_url: str


class Run:
    """A finished run. Opened by `samehand.open_run`, returned by `samehand.scan`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = RunFolder.open(path)
        self.settings: Settings = self.folder.settings()

    def __repr__(self) -> str:
        read = self.manifest["stages"].get("read", {})
        return f"<samehand.Run {str(self.folder.path)!r}: {read.get('pages', 0)} pages>"

    @property
    def manifest(self) -> dict[str, Any]:
        """run.json: settings, inputs, counts and times of each stage."""
        return self.folder.manifest()

    def pages(self, columns: Sequence[str] | None = None) -> pa.Table:
        """All pages, in page_id order."""
        return self.folder.read_parts("pages", columns)

    def rejects(self) -> pa.Table:
        """All records that did not become a page, with their reasons."""
        return self.folder.read_parts("rejects")

    def clusters(self, *, cut: float | None = None, families: bool = False) -> pa.Table:
        """Clusters by rank (the paper's table 1); at another threshold with `cut`, the loose level with `families`."""
        if cut is None and not families:
            return self.folder.read_table(CLUSTERS)
        labels = self._labels(cut, families)
        clusters = find_grouped(self._sketches, labels)
        facts = PageFacts.of(self.folder, len(self._page_ids))
        return summarise(facts, Grouped(self._page_ids, self._forest, self._families, labels, clusters))

    def members(self, cluster_id: int, *, cut: float | None = None, families: bool = False) -> pa.Table:
        """Members of one cluster by similarity to its centre (the paper's table 2)."""
        if cut is None and not families:
            found = self._stored_members(cluster_id)
        else:
            found = self._members_at(cluster_id, self._labels(cut, families))
        if not found.num_rows:
            raise UsageError(
                f"There is no cluster {cluster_id} in {self.folder.path}. See: samehand clusters {self.folder.path}"
            )
        return found.sort_by([("similarity", "descending"), ("page_id", "ascending")])

    def _stored_members(self, cluster_id: int) -> pa.Table:
        members = self.folder.read_table(MEMBERS)
        found = members.filter(pc.equal(members.column("cluster_id"), cluster_id))
        rows = pa.array(np.searchsorted(self._page_ids, found.column("page_id").to_numpy()))
        return _with_hosts(self._pages.take(rows), found.column("similarity"))

    def _members_at(self, cluster_id: int, labels: NDArray[np.int32]) -> pa.Table:
        groups = find_grouped(self._sketches, labels)
        chosen = np.flatnonzero(self._page_ids[labels[groups.members]] == cluster_id)
        return _with_hosts(self._pages.take(pa.array(groups.members[chosen])), pa.array(groups.similarities[chosen]))

    def replicas(self) -> pa.Table:
        """Groups of near replicas, largest first."""
        return self.folder.read_table(REPLICA_GROUPS)

    def replica_members(self, group_id: int | None = None) -> pa.Table:
        """Documents in groups of near replicas, with the evidence; of one group by cosine to its centre."""
        members = self.folder.read_table(REPLICA_MEMBERS)
        if group_id is None:
            return members
        found = members.filter(pc.equal(members.column("group_id"), group_id))
        if not found.num_rows:
            raise UsageError(f"There is no group {group_id}. See: samehand replicas {self.folder.path}")
        return found.sort_by([("cosine", "descending"), ("page_id", "ascending")])

    def shared_words(self, members: pa.Table) -> SharedWords:
        """The words that the nearest and the farthest of a group's members have in common, and those they do not."""
        first, last = (self._text(members.column("page_id")[row].as_py()) for row in (0, members.num_rows - 1))
        return compare_words(first, last)

    def _text(self, page_id: int) -> bytes:
        content = self.content(page_id)
        if self.settings.profile == "mail":
            return content
        charset = self.pages(["content_charset"]).column("content_charset")[self.row_of(page_id)].as_py()
        return visible_text(as_utf8(content, charset)).encode()

    def weakest_link(self, page_ids: NDArray[np.int64]) -> Link | None:
        """The weakest of the links that hold these pages together; None when no link joins them directly."""
        rows = np.zeros(len(self._page_ids), np.bool_)
        rows[np.searchsorted(self._page_ids, page_ids)] = True
        inside = np.flatnonzero(rows[self._forest.pairs].all(axis=1))
        if not inside.size:
            return None
        weakest = inside[np.argmin(self._forest.similarities[inside])]
        left, right = (self._pages.column("url")[int(row)].as_py() for row in self._forest.pairs[weakest])
        return Link(float(self._forest.similarities[weakest]), left, right)

    def like(self, page: bytes | str | int) -> Likeness:
        """One to all (section 4.1): every page by similarity to one: a page id or URL of the run, or any HTML."""
        ((rows, similarities),) = self._nearest([page], top=None)
        table = _with_hosts(self._pages.take(pa.array(rows)), pa.array(similarities))
        return Likeness(table, find_gaps(similarities), len(self._sketches))

    def like_each(self, pages: Iterable[tuple[str, bytes]], *, top: int = 10) -> Iterator[pa.Table]:
        """One to all for many pages, given with their names: tables of the `top` most similar pages of each.

        Pages are compared many at a time, in one pass over the run for all of them.
        """
        waiting = iter(pages)
        while chunk := list(itertools.islice(waiting, _LIKE_AT_ONCE)):
            found = self._nearest([content for _, content in chunk], top=top)
            rows = np.concatenate([rows for rows, _ in found])
            table = _with_hosts(self._pages.take(pa.array(rows)), pa.array(np.concatenate([s for _, s in found])))
            sizes = [len(rows) for rows, _ in found]
            names = np.repeat(np.array([name for name, _ in chunk], object), sizes)
            ranks = np.concatenate([np.arange(1, size + 1) for size in sizes])
            table = table.add_column(0, "rank", pa.array(ranks, pa.int64()))
            yield table.add_column(0, "query", pa.array(names, pa.string()))

    def _nearest(
        self, pages: Sequence[bytes | str | int], *, top: int | None
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        values = np.stack([self._values_of(page) for page in pages])
        words = sketch_words(values, self.settings.sketch_bits)
        return self._sketches.nearest(words, count_filled(values), least=LIKE_LEAST, top=top)

    def _values_of(self, page: bytes | str | int) -> NDArray[np.uint32]:
        if isinstance(page, str) and "<" in page:
            page = page.encode("utf-8", errors="replace")
        if isinstance(page, bytes):
            return fingerprint(to_ascii_compatible(page, None)[0], self.settings)
        page_id = int(self._page_ids[self.row_of(page)])
        part = self.folder.part_path(FINGERPRINTS, page_id >> 32)
        stored = pq.read_table(part, columns=["page_id", "fingerprint"], filters=[("page_id", "=", page_id)])
        return np.frombuffer(stored.column("fingerprint")[0].as_py(), "<u4")

    def row_of(self, page: str | int) -> int:
        """The row of a page id or URL."""
        if isinstance(page, int):
            found = np.flatnonzero(self._page_ids == page)
        else:
            found = np.flatnonzero(pc.equal(self._pages.column("url"), page).to_numpy())
        if not found.size:
            raise UsageError(f"There is no page {page} in {self.folder.path}: give a URL or a page_id of the run.")
        return int(found[0])

    def content(self, page: str | int) -> bytes:
        """The bytes of a page, from the run folder if it keeps pages, else from the input they came from."""
        row = self.row_of(page)
        page_id = int(self._page_ids[row])
        part = self.folder.part_path("content", page_id >> 32)
        if part.is_file():
            kept: bytes = pq.read_table(part, filters=[("page_id", "=", page_id)]).column("content")[0].as_py()
            return kept
        place = self.pages(["warc_filename", "warc_record_offset"]).slice(row, 1).to_pylist()[0]
        source = self._source_of(place["warc_filename"])
        return read_page(source, place["warc_filename"], place["warc_record_offset"], self.settings).content

    def _source_of(self, warc_filename: str) -> Source:
        sources = [Source.from_dict(stored) for stored in self.manifest["inputs"]]
        # A page's place begins with its input's name; what follows is a member, a file or the number of a message.
        named = [source for source in sources if warc_filename.startswith(source.name.rstrip("/"))]
        if not named:
            raise UsageError(f"{warc_filename} is none of the inputs of {self.folder.path}.")
        return max(named, key=lambda source: len(source.name))

    def spread(self, seeds: Sequence[str], *, cut: float | None = None) -> pa.Table:
        """From known bad URLs or hosts to the pages of the same hand, each with the path that leads there.

        A page is reached when it is in a cluster with a seed; the path goes along the forest, so each of its steps
        is the strongest there is. `weakest` is the least similarity on the path.
        """
        threshold = self._at(cut)
        start = self._seed_rows(seeds)
        if not start.size:
            raise UsageError(
                f"None of the {len(seeds)} seeds is in {self.folder.path}: give URLs or hosts that were crawled."
            )
        labels = cluster_labels(self._sketches, len(self._page_ids), self._forest, threshold, self.settings)
        paths = _paths_from(start, self._forest, threshold)
        wanted = np.isin(labels, labels[start])
        reached = [row for row in paths if wanted[row]]
        return self._spread_table(reached, paths, set(start.tolist()))

    def _seed_rows(self, seeds: Sequence[str]) -> NDArray[np.int64]:
        """Pages named by the seeds: a URL names one page, a host or a domain all its pages."""
        wanted = pa.array(sorted({seed.strip() for seed in seeds if seed.strip()}), pa.string())
        named = pc.is_in(self._pages.column("url"), wanted)
        for column in ("url_host_name", "url_host_private_domain"):
            named = pc.or_(named, pc.is_in(self._pages.column(column), wanted))
        return np.flatnonzero(named.to_numpy())

    def _spread_table(self, rows: Sequence[int], paths: dict[int, "_Step"], seeds: set[int]) -> pa.Table:
        urls = self._pages.column("url")
        trails = [_trail(row, paths) for row in rows]
        table = _with_hosts(self._pages.take(pa.array(rows, pa.int64())), None)
        table = table.append_column("is_seed", pa.array([row in seeds for row in rows], pa.bool_()))
        table = table.append_column("weakest", pa.array([paths[row].weakest for row in rows], pa.float32()))
        table = table.append_column("steps", pa.array([len(trail) - 1 for trail in trails], pa.int64()))
        path_urls = [[urls[row].as_py() for row in trail] for trail in trails]
        table = table.append_column("path", pa.array(path_urls, pa.list_(pa.string())))
        order = [("is_seed", "descending"), ("steps", "ascending"), ("weakest", "descending"), ("page_id", "ascending")]
        return table.sort_by(order)

    def _labels(self, threshold: float | None, families: bool) -> NDArray[np.int32]:
        if families:
            if threshold is None:
                return self._families
            return family_labels(self._sketches, len(self._page_ids), self._forest, self._at(threshold), self.settings)
        return cluster_labels(self._sketches, len(self._page_ids), self._forest, self._at(threshold), self.settings)

    def _at(self, threshold: float | None) -> float:
        """A threshold the stored forest can answer."""
        threshold = self.settings.cluster_threshold if threshold is None else threshold
        if not self.settings.family_threshold <= threshold <= 1:
            raise UsageError(
                f"The cut {threshold} is not between {self.settings.family_threshold} "
                "(the family threshold of this run) and 1."
            )
        return threshold

    @functools.cached_property
    def _pages(self) -> pa.Table:
        return self.pages(_MEMBER_PAGE_COLUMNS).combine_chunks()

    @functools.cached_property
    def _page_ids(self) -> NDArray[np.int64]:
        ids: NDArray[np.int64] = self._pages.column("page_id").to_numpy()
        return ids

    @functools.cached_property
    def _sketches(self) -> Sketches:
        return open_sketches(self.folder, self.settings)

    @functools.cached_property
    def _forest(self) -> Edges:
        return edges_from_table(self.folder.read_table(EDGES), self._page_ids)

    @functools.cached_property
    def _families(self) -> NDArray[np.int32]:
        return family_labels(
            self._sketches, len(self._page_ids), self._forest, self.settings.family_threshold, self.settings
        )


def _with_hosts(pages: pa.Table, similarity: pa.Array | pa.ChunkedArray | None) -> pa.Table:
    """The columns every list of pages has."""
    columns = {
        "url": pages.column("url"),
        "page_id": pages.column("page_id"),
        "host": pages.column("url_host_name"),
        "domain": pc.coalesce(pages.column("url_host_private_domain"), pages.column("url_host_name")),
    }
    return pa.table(columns if similarity is None else {"similarity": similarity, **columns})


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
