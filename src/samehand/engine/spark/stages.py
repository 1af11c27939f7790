"""What the executors do when pages are grouped: the functions of `samehand.grouping` on the rows of a task.

Spark brings together what belongs together (equal pages, a bucket, a component) and puts rows into page_id order. A
task numbers its rows in that order, so ties are decided as they are among all rows at once. Tasks see their rows a
batch at a time and put whole buckets and components together to chunks of CHUNK_ROWS rows and more; what is larger
than that alone is in memory alone.
"""

import dataclasses
import json
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand import __version__
from samehand.base.errors import RunWriteError, SamehandError
from samehand.base.settings import Settings
from samehand.engine.spark.session import not_shared
from samehand.grouping.comparable import shuffle_keys
from samehand.grouping.cuts import supported
from samehand.grouping.edges import Edges, cut, spanning_forest
from samehand.grouping.forest import CheckRule, check_buckets, join_equal
from samehand.grouping.sketches import Sketches, sketch_words
from samehand.kernels.noise import EMPTY
from samehand.methods.style.clusters import cluster_labels, find_grouped
from samehand.methods.style.sketches import check_rule, probe_plan, sketch_lanes, stored_fingerprints
from samehand.store.folder import RunFolder

CHUNK_ROWS = 1 << 17
READ = """page_id long, identity long, meeting long, draw long, comparable boolean, filled short, words binary,
    buckets array<int>"""
PAGES = """page_id long, twin_of long, similarity float, draw long, comparable boolean, filled short, words binary,
    buckets array<int>"""
CHECKED = "left long, right long, similarity float, counts array<long>"
EDGES = "component long, left long, right long, similarity float"
ROWS = """component long, is_edge boolean, left long, right long, similarity float, label long, comparable boolean,
    filled short, words binary"""
CLUSTERS = "page_id long, label long, similarity float, is_centre boolean"
FAMILIES = "page_id long, family long"
Batches = Iterator[pa.RecordBatch]
EMPTY_BUCKET = int(np.uint32(EMPTY).view(np.int32))


@dataclasses.dataclass(frozen=True, slots=True)
class Common:
    """What all tasks of a run know, as text: nothing else of ours goes to the executors but the names of functions."""

    folder: str
    settings: str
    version: str

    @classmethod
    def of(cls, folder: RunFolder, settings: Settings) -> "Common":
        """From what the driver has."""
        return cls(str(folder.path.absolute()), json.dumps(settings.as_dict()), __version__)

    def unpacked(self) -> tuple[RunFolder, Settings]:
        """What the driver has, where this executor is fit for it."""
        if self.version != __version__:
            raise SamehandError(f"An executor has samehand {__version__}, not {self.version}: install one")
        if not os.path.isdir(self.folder):
            raise RunWriteError(not_shared(Path(self.folder), socket.gethostname()))
        return RunFolder(Path(self.folder)), Settings.from_dict(json.loads(self.settings))


# Reading, and pages that are equal.


def read_parts(common: Common, units: tuple[int, ...], batches: Iterable[pa.RecordBatch]) -> Batches:
    """Places in `units` to the fingerprints of these units, made ready for grouping: READ."""
    folder, settings = common.unpacked()
    plan = probe_plan(settings)
    for batch in batches:
        for place in batch.column(0).to_pylist():
            for stored in stored_fingerprints(folder, units[place], settings):
                identity = stored.identity.view(np.int64)
                columns = plan.columns(stored.values).T
                columns[~stored.comparable] = EMPTY
                yield pa.record_batch(
                    {
                        "page_id": stored.page_ids,
                        "identity": identity,
                        # Pages that are the same as nothing must not all come to one task.
                        "meeting": np.where(identity == 0, stored.page_ids, identity),
                        "draw": _draws(stored.page_ids),
                        "comparable": stored.comparable,
                        "filled": stored.filled,
                        "words": _binary(sketch_words(stored.values, settings.sketch_bits)),
                        "buckets": _lists(columns),
                    }
                )


def join_twins(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """READ by identity and page_id to PAGES: a page that is the same as smaller ones is a twin of the smallest.

    A twin (twin_of >= 0) is not searched for. Where even the same pages do not reach the loose threshold, its
    similarity is null, and there is no edge.
    """
    _, settings = common.unpacked()
    first: pa.RecordBatch | None = None
    for batch in filter(len, batches):
        rows = pa.concat_batches([first, batch]) if first else batch
        sketches = _sketches(rows, settings)
        identity = rows.column("identity").to_numpy().view(np.uint64)
        joined, is_alone = join_equal(sketches, identity, settings.family_threshold)
        starts = np.flatnonzero(np.append(True, identity[1:] != identity[:-1]))
        smallest = np.repeat(starts, np.diff(np.append(starts, len(rows))))
        similarities = np.full(len(rows), np.nan, np.float32)
        similarities[joined.pairs[:, 1]] = joined.similarities
        yield pa.record_batch(
            {
                "page_id": rows.column("page_id"),
                "twin_of": np.where(is_alone, -1, sketches.page_ids[smallest]),
                "similarity": pa.array(similarities, mask=np.isnan(similarities)),
                **{name: rows.column(name) for name in ("draw", "comparable", "filled", "words", "buckets")},
            }
        ).slice(1 if first else 0)
        first = rows.slice(smallest[-1], 1)


# Edges: pages that share a bucket, and their forest.


def check_met(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """Rows (probe, bucket, page_id, filled, words) in that order to CHECKED: a forest of edges, and then the counts.

    A bucket is checked whole: 140 bytes for each of its pages.
    """
    _, settings = common.unpacked()
    rule = check_rule(settings)
    gathered = _Gathered()
    counts = np.zeros(4, np.int64)
    for rows, starts in whole_groups(batches, ["probe", "bucket"], width=_width(settings)):
        edges, found = _check(_sketches(rows, settings), starts, rule)
        page_ids = rows.column("page_id").to_numpy()
        gathered.add(page_ids[edges.pairs[:, 0]], page_ids[edges.pairs[:, 1]], edges.similarities)
        counts += found
    left, right, similarities = gathered.forest()
    nothing = pa.nulls(len(left), pa.list_(pa.int64()))
    yield pa.record_batch({"left": left, "right": right, "similarity": similarities, "counts": nothing})
    last = {"left": [-1], "right": [-1], "similarity": pa.array([0.0], pa.float32()), "counts": [counts.tolist()]}
    yield pa.record_batch(last)


def _check(sketches: Sketches, starts: NDArray[np.int64], rule: CheckRule) -> tuple[Edges, NDArray[np.int64]]:
    """Checks buckets that stand one after the other: the rows of a bucket are in page_id order, which decides ties."""
    buckets = np.repeat(np.arange(len(starts), dtype=np.uint64), np.diff(np.append(starts, len(sketches))))
    keys = (buckets << np.uint64(32)) | np.arange(len(sketches), dtype=np.uint64)
    return check_buckets(sketches, keys, rule)


class _Gathered:
    """Edges between page_ids, folded into their forest when there are many more than it has."""

    def __init__(self) -> None:
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]] = []
        self._limit = 1 << 20

    def add(self, left: NDArray[np.int64], right: NDArray[np.int64], similarities: NDArray[np.float32]) -> None:
        self._parts.append((left, right, similarities))
        if sum(len(part[0]) for part in self._parts) > self._limit:
            self._limit = max(1 << 20, 2 * len(self.forest()[0]))

    def forest(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        if not self._parts:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
        page_ids, edges = numbered(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))
        forest = spanning_forest([edges], len(page_ids))
        self._parts = [(page_ids[forest.pairs[:, 0]], page_ids[forest.pairs[:, 1]], forest.similarities)]
        return self._parts[0]


def make_forests(batches: Iterable[pa.RecordBatch]) -> Batches:
    """EDGES of whole components to the forest of each. Memory: some 50 bytes for each edge of a component."""
    for rows, _ in whole_groups(batches, ["component"]):
        page_ids, edges = _edges(rows)
        components = rows.column("component").to_numpy()
        of_page = np.empty(len(page_ids), np.int64)
        of_page[edges.pairs[:, 0]] = components
        forest = spanning_forest([edges], len(page_ids))
        left, right = forest.pairs[:, 0], forest.pairs[:, 1]
        yield pa.record_batch(
            {
                "component": of_page[left],
                "left": page_ids[left],
                "right": page_ids[right],
                "similarity": forest.similarities,
            }
        )


# Clusters within the components of the tight cut, families within those of the loose one.


def find_clusters(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """ROWS of whole tight components, all pages and then the forest of each, to CLUSTERS. 200 bytes for each page."""
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"], width=_width(settings)):
        sketches, forest, _ = _things(rows, settings)
        labels = cluster_labels(sketches, len(sketches), forest, settings.cluster_threshold, settings)
        groups = find_grouped(sketches, labels)
        similarities = np.ones(len(sketches), np.float32)
        similarities[groups.members] = groups.similarities
        is_centre = np.zeros(len(sketches), np.bool_)
        is_centre[groups.medoids] = True
        found = {"page_id": sketches.page_ids, "label": sketches.page_ids[labels]}
        yield pa.record_batch({**found, "similarity": similarities, "is_centre": is_centre})


def find_families(common: Common, batches: Iterable[pa.RecordBatch]) -> Batches:
    """ROWS of whole loose components to FAMILIES: the forest of each, and pages that speak for its weak links.

    The pages are the ends of weak links and the first few, as they are drawn, of the tight components at the ends:
    `supported` looks at no others. Memory: some 50 bytes for each page of a component, 200 for those.
    """
    _, settings = common.unpacked()
    for rows, _ in whole_groups(batches, ["component"], width=_width(settings)):
        is_edge = rows.column("is_edge").to_numpy(zero_copy_only=False)
        page_ids, forest = _edges(rows.filter(pa.array(is_edge)))
        is_weak = forest.similarities < np.float32(settings.weak_link_below)
        sketches, weak, labels = _things(rows.filter(pa.array(~is_edge | _among(rows, is_edge, is_weak))), settings)
        kept = supported(
            sketches, weak, labels, weak_below=settings.weak_link_below, min_support=settings.weak_link_support
        )
        places = np.searchsorted(page_ids, sketches.page_ids).astype(np.int32)
        speaking = Edges.of(places[kept.pairs[:, 0]], places[kept.pairs[:, 1]], kept.similarities)
        firm = forest[~is_weak]
        stood = Edges(
            np.concatenate([firm.packed, speaking.packed]), np.concatenate([firm.similarities, speaking.similarities])
        )
        yield pa.record_batch(
            {"page_id": page_ids, "family": page_ids[cut(stood, len(page_ids), settings.family_threshold)]}
        )


def _among(rows: pa.RecordBatch, is_edge: NDArray[np.bool_], is_chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which rows are those edges that are chosen."""
    among = np.zeros(len(rows), np.bool_)
    among[np.flatnonzero(is_edge)[is_chosen]] = True
    return among


# Rows of Arrow to arrays and back.


def whole_groups(
    batches: Iterable[pa.RecordBatch], names: list[str], *, width: int = 0
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """Sorted rows in chunks of whole groups, those of equal `names`, and where in a chunk each group starts.

    `width` is that of words in bytes, where rows have any.
    """
    waiting: list[pa.RecordBatch] = []
    wanted = CHUNK_ROWS
    for batch in batches:
        waiting.append(_fixed_words(batch, width))
        if sum(map(len, waiting)) < wanted:
            continue
        rows = pa.concat_batches(waiting)
        starts = _starts(rows, names)
        waiting = [rows.slice(starts[-1])]
        wanted = max(CHUNK_ROWS, 2 * len(waiting[0]))  # a giant group is not copied with each of its batches
        if len(starts) > 1:
            yield rows.slice(0, starts[-1]), starts[:-1]
    if sum(map(len, waiting)):
        rows = pa.concat_batches(waiting)
        yield rows, _starts(rows, names)


def _fixed_words(batch: pa.RecordBatch, width: int) -> pa.RecordBatch:
    """Words as rows of one width: of binaries of any length Arrow holds no more than 2 GB together."""
    place = batch.schema.get_field_index("words")
    return batch.set_column(place, "words", batch.column(place).cast(pa.binary(width))) if place >= 0 else batch


def _starts(rows: pa.RecordBatch, names: list[str]) -> NDArray[np.int64]:
    is_first = np.zeros(len(rows), np.bool_)
    is_first[0] = True
    for name in names:
        values = rows.column(name).to_numpy()
        is_first[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(is_first)


def numbered(
    left: NDArray[np.int64], right: NDArray[np.int64], similarities: NDArray[np.float32]
) -> tuple[NDArray[np.int64], Edges]:
    """The page_ids that edges join, sorted, and the edges between places among them."""
    page_ids = np.unique(np.concatenate([left, right]))
    first, second = (np.searchsorted(page_ids, side).astype(np.int32) for side in (left, right))
    return page_ids, Edges.of(first, second, similarities)


def _edges(rows: pa.RecordBatch) -> tuple[NDArray[np.int64], Edges]:
    left, right, similarities = (rows.column(name).to_numpy() for name in ("left", "right", "similarity"))
    return numbered(left, right, similarities)


def _things(rows: pa.RecordBatch, settings: Settings) -> tuple[Sketches, Edges, NDArray[np.int32]]:
    """Pages in page_id order, the edges between them, and the groups they are said to be in."""
    is_edge = rows.column("is_edge").to_numpy(zero_copy_only=False)
    pages = rows.filter(pa.array(~is_edge))
    pages = pages.take(pc.sort_indices(pages.column("left")))
    sketches = _sketches(pages, settings, "left")
    links = rows.filter(pa.array(is_edge))
    left, right = (np.searchsorted(sketches.page_ids, links.column(name).to_numpy()) for name in ("left", "right"))
    forest = Edges.of(left, right, links.column("similarity").to_numpy())
    _, labels = np.unique(pages.column("label").to_numpy(), return_inverse=True)
    return sketches, forest, labels.astype(np.int32)


def _sketches(rows: pa.RecordBatch, settings: Settings, page_id: str = "page_id") -> Sketches:
    is_said = "comparable" in rows.schema.names
    comparable = rows.column("comparable").to_numpy(zero_copy_only=False) if is_said else np.ones(len(rows), np.bool_)
    return Sketches(
        _words(rows.column("words"), _width(settings)),
        rows.column("filled").to_numpy(),
        sketch_lanes(settings),
        rows.column(page_id).to_numpy(),
        comparable,
    )


def _width(settings: Settings) -> int:
    """Bytes of the words of a page."""
    return settings.dimensions * settings.sketch_bits // 8


def _words(column: pa.Array, width: int) -> NDArray[np.uint64]:
    """Rows of words. Copied, because kernels are compiled for arrays that may be written to."""
    if not len(column):
        return np.zeros((0, width // 8), np.uint64)
    fixed = column.cast(pa.binary(width))
    words = np.frombuffer(fixed.buffers()[1], "<u8").reshape(-1, width // 8)
    return words[fixed.offset : fixed.offset + len(fixed)].copy()


def _binary(words: NDArray[np.uint64]) -> pa.BinaryArray:
    fixed = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(8 * words.shape[1]), len(words), [None, pa.py_buffer(np.ascontiguousarray(words))]
    )
    return fixed.cast(pa.binary())


def _lists(rows: NDArray[np.uint32]) -> pa.ListArray:
    values = np.ascontiguousarray(rows).view(np.int32).ravel()
    return pa.ListArray.from_arrays(np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1], values)


def _draws(page_ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """What decides which members of a group are its sample: see `grouping.medoids.by_group`."""
    return (shuffle_keys(page_ids) >> np.uint64(32)).astype(np.int64)
