"""Grouping on Spark: what the local engine does among all rows at once, as shuffles of rows between tasks.

1. Fingerprints are read in the executors, and pages that are equal meet: the smallest stands for them all.
2. Pages that share a bucket meet: first their numbers alone, and only where a bucket has two pages their words. Each
   task keeps no more than the forest of the edges it found.
3. Components of the loose cut, by large-star and small-star; the forest of each is made in one task, without words.
   Components of the tight cut likewise, from the forest.
4. Clusters are found in one task for each component of the tight cut, families for each of the loose one, many small
   components at a time, by the functions of `samehand.grouping`.
5. The driver puts together what was found. It compares nothing, and needs some 100 bytes for each page.

Every step is written as Parquet below RUN/style/spark, whole or not at all, so an executor that dies takes nothing
with it; the folder goes at the end.
"""

import contextlib
import dataclasses
import functools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from samehand.base.errors import SamehandError
from samehand.base.files import writing
from samehand.base.settings import Settings
from samehand.engine.progress import OnProgress, Progress
from samehand.engine.spark import stages
from samehand.engine.spark.components import components, stored
from samehand.engine.spark.session import check_running, configured, said_by, spark_errors
from samehand.grouping.comparable import shuffle_keys
from samehand.grouping.cuts import SUPPORT_SAMPLE
from samehand.grouping.edges import Edges, spanning_forest
from samehand.grouping.forest import CheckCounts
from samehand.methods.method import Counts
from samehand.methods.style.clusters import Grouped, find_grouped, write_grouped
from samehand.methods.style.method import miss_counts
from samehand.methods.style.sketches import probe_plan
from samehand.store.folder import RunFolder
from samehand.store.tables import SPARK_SCRATCH, STYLE_FINGERPRINTS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOST_PAGES = (1 << 31) - 1
"""Rows are numbered by int32."""

_STEPS = 7
_UNITS_PER_TASK = 8
"""So many parts at least go to a task once every core has one: a part is a second's work."""


def group_on_spark(
    session: "SparkSession", folder: RunFolder, *, settings: Settings, on_progress: OnProgress
) -> Counts:
    """Families and clusters of the fingerprints of a run, just as the local engine finds them."""
    scratch = folder.path / SPARK_SCRATCH
    page_ids = _page_ids(folder)
    with writing(scratch.parent), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(scratch)
    try:
        # Spark guesses what is small enough for every task by the length of files, and ours hold more than it seems.
        with _said(session), configured(session, "spark.sql.autoBroadcastJoinThreshold", -1):
            search = _Search(session, folder, settings=settings, on_progress=on_progress)
            search.run()
        written = write_grouped(folder, _grouped(page_ids, scratch), settings)
        return {**dataclasses.asdict(search.counts), **written, **miss_counts(settings)}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)  # what an executor still writes goes next time


@contextlib.contextmanager
def _said(session: "SparkSession") -> Iterator[None]:
    """Turns errors of Spark into one sentence."""
    try:
        yield
    except spark_errors() as error:
        check_running(session, error)
        why = f"Spark cannot group the pages ({said_by(error)}): run the same command again, nothing read is lost."
        raise SamehandError(why) from error


class _Search:
    """The steps that run on Spark, each from the files of those before it to its own."""

    def __init__(
        self, session: "SparkSession", folder: RunFolder, *, settings: Settings, on_progress: OnProgress
    ) -> None:
        self._session = session
        self._folder = folder
        self._settings = settings
        self._on_progress = on_progress
        self._steps = 0
        self._common = stages.Common.of(folder, settings)
        self.scratch = folder.path / SPARK_SCRATCH
        self.counts = CheckCounts(probes=len(probe_plan(settings)))

    def run(self) -> None:
        """All steps. What is found is in the folders "forest", "clusters" and "families"."""
        pages = self._pages()
        edges = self._edges(pages)
        loose = self._stored("of_loose", components(edges, scratch=self.scratch / "loose"), "node long, component long")
        forest = self._forest(edges, loose)
        tight_edges = forest.where(_reaches("similarity", self._settings.cluster_threshold))
        tight = self._stored(
            "of_tight", components(tight_edges, scratch=self.scratch / "tight"), "node long, component long"
        )
        self._clusters(pages, tight_edges, tight)
        self._families(pages, forest, loose, tight)

    def _stored(self, name: str, rows: "DataFrame", schema: str) -> "DataFrame":
        written = stored(rows, self.scratch / name, schema)
        self._steps += 1
        self._on_progress(Progress("group", done=self._steps, total=_STEPS, method="style"))
        return written

    def _pages(self) -> "DataFrame":
        """Every page, ready to be compared, and what it is a twin of."""
        from pyspark.sql import functions as sql

        units = tuple(self._folder.part_numbers(STYLE_FINGERPRINTS))
        cores = self._session.sparkContext.defaultParallelism
        tasks = max(min(len(units), cores), len(units) // _UNITS_PER_TASK)
        read = self._session.range(0, len(units), 1, tasks).mapInArrow(
            functools.partial(stages.read_parts, self._common, units), stages.READ
        )
        met = read.repartition("meeting").sortWithinPartitions("identity", "page_id")
        joined = met.mapInArrow(functools.partial(stages.join_twins, self._common), stages.PAGES)
        pages = self._stored("pages", joined, stages.PAGES)
        small = sql.sum(sql.expr("cast(not comparable as long)"))
        counted = pages.agg(sql.count("*"), sql.coalesce(small, sql.lit(0)), sql.count("similarity")).collect()[0]
        self.counts.rows, self.counts.too_small, self.counts.equal = counted
        return pages

    def _edges(self, pages: "DataFrame") -> "DataFrame":
        """Edges between pages that share a bucket, and between twins."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        alone = pages.where("twin_of < 0")
        entries = alone.select("page_id", sql.posexplode("buckets").alias("probe", "bucket"))
        size = sql.count("*").over(Window.partitionBy("probe", "bucket"))
        met = entries.where(f"bucket <> {stages.EMPTY_BUCKET}").withColumn("size", size).where("size > 1").drop("size")
        checked = self._stored(
            "checked",
            met.join(alone.select("page_id", "filled", "words"), "page_id")
            .repartition("probe", "bucket")
            .sortWithinPartitions("probe", "bucket", "page_id")
            .mapInArrow(functools.partial(stages.check_met, self._common), stages.CHECKED),
            stages.CHECKED,
        )
        for row in checked.where("counts is not null").select("counts").collect():
            self.counts.add(np.array(row[0], np.int64))
        twins = pages.where("similarity is not null").select(
            sql.col("twin_of").alias("left"), sql.col("page_id").alias("right"), "similarity"
        )
        return checked.where("counts is null").select("left", "right", "similarity").union(twins)

    def _forest(self, edges: "DataFrame", loose: "DataFrame") -> "DataFrame":
        """The spanning forest of all edges, made a component at a time."""
        inside = edges.join(loose.withColumnRenamed("node", "left"), "left")
        whole = inside.select("component", "left", "right", "similarity").repartition("component")
        forest = whole.sortWithinPartitions("component").mapInArrow(stages.make_forests, stages.EDGES)
        return self._stored("forest", forest, stages.EDGES)

    def _clusters(self, pages: "DataFrame", edges: "DataFrame", tight: "DataFrame") -> None:
        from pyspark.sql import functions as sql

        members = pages.join(tight.withColumnRenamed("node", "page_id"), "page_id")
        inside = edges.drop("component").join(tight.withColumnRenamed("node", "left"), "left")
        rows = _page_rows(members.withColumn("label", sql.col("component"))).union(_edge_rows(inside))
        self._stored("clusters", _whole(rows, stages.find_clusters, self._common, stages.CLUSTERS), stages.CLUSTERS)

    def _families(self, pages: "DataFrame", forest: "DataFrame", loose: "DataFrame", tight: "DataFrame") -> None:
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        weak = forest.where(~_reaches("similarity", self._settings.weak_link_below))
        ends = weak.select(sql.explode(sql.array("left", "right")).alias("page_id")).distinct()
        of_tight = tight.select(sql.col("node").alias("page_id"), sql.col("component").alias("label"))
        labelled = ends.join(of_tight, "page_id", "left").withColumn("label", sql.coalesce("label", "page_id"))
        # A page that is an end speaks for its group too, drawn or not: `supported` takes those drawn first.
        drawn = sql.row_number().over(Window.partitionBy("label").orderBy("draw", "page_id"))
        members = pages.select("page_id", "draw").join(of_tight, "page_id")
        asked = members.join(labelled.select("label").distinct(), "label").withColumn("place", drawn)
        sample = asked.where(sql.col("place") <= SUPPORT_SAMPLE).select("page_id", "label")
        speaking = labelled.select("page_id", "label").union(sample).distinct()
        placed = speaking.join(loose.withColumnRenamed("node", "page_id"), "page_id")
        rows = _page_rows(pages.join(placed, "page_id")).union(_edge_rows(forest))
        self._stored("families", _whole(rows, stages.find_families, self._common, stages.FAMILIES), stages.FAMILIES)


def _reaches(name: str, threshold: float) -> "Column":
    """Whether similarities reach a threshold, as `grouping` sees it: in single precision."""
    from pyspark.sql import functions as sql

    return sql.col(name) >= sql.lit(float(np.float32(threshold)))


def _page_rows(pages: "DataFrame") -> "DataFrame":
    return pages.selectExpr(
        "component",
        "false as is_edge",
        "page_id as left",
        "cast(null as long) as right",
        "cast(null as float) as similarity",
        "label",
        "comparable",
        "filled",
        "words",
    )


def _edge_rows(edges: "DataFrame") -> "DataFrame":
    return edges.selectExpr(
        "component",
        "true as is_edge",
        "left",
        "right",
        "similarity",
        "cast(null as long) as label",
        "cast(null as boolean) as comparable",
        "cast(null as short) as filled",
        "cast(null as binary) as words",
    )


def _whole(rows: "DataFrame", stage: Any, common: stages.Common, schema: str) -> "DataFrame":
    """A stage that is given all rows of a component in one task."""
    ordered = rows.repartition("component").sortWithinPartitions("component")
    return ordered.mapInArrow(functools.partial(stage, common), schema)


def _grouped(page_ids: NDArray[np.int64], scratch: Path) -> Grouped:
    """What the steps found, in terms of rows."""

    def rows_of(found: pa.Table, name: str) -> NDArray[np.int32]:
        ids: NDArray[np.int64] = found.column(name).to_numpy()
        return np.searchsorted(page_ids, ids).astype(np.int32)

    forest, clusters, families = (ds.dataset(scratch / name).to_table() for name in ("forest", "clusters", "families"))
    edges = Edges.of(rows_of(forest, "left"), rows_of(forest, "right"), forest.column("similarity").to_numpy())
    of_family = np.arange(len(page_ids), dtype=np.int32)
    of_family[rows_of(families, "page_id")] = rows_of(families, "family")
    members = rows_of(clusters, "page_id")
    labels = np.arange(len(page_ids), dtype=np.int32)
    labels[members] = rows_of(clusters, "label")
    known = _Known(page_ids, np.ones(len(page_ids), np.float32), np.zeros(len(page_ids), np.bool_))
    known.to_centre[members] = clusters.column("similarity").to_numpy()
    known.is_centre[members] = clusters.column("is_centre").to_numpy()
    ordered = spanning_forest([edges], len(page_ids))
    return Grouped(page_ids, ordered, of_family, labels, find_grouped(known, labels))


def _page_ids(folder: RunFolder) -> NDArray[np.int64]:
    """The ids of all pages."""
    folder.part_numbers(STYLE_FINGERPRINTS)
    if len(folder.page_ids) > MOST_PAGES:
        raise SamehandError(f"A run groups {MOST_PAGES:,} pages at most: make several runs.")
    return folder.page_ids.ids()


class _Known:
    """Rows whose centres and similarities to them are known already: nothing is compared to put groups together."""

    def __init__(
        self, page_ids: NDArray[np.int64], to_centre: NDArray[np.float32], is_centre: NDArray[np.bool_]
    ) -> None:
        self._page_ids = page_ids
        self.to_centre = to_centre
        self.is_centre = is_centre

    def similarities(self, left: NDArray[np.int32], right: NDArray[np.int32]) -> NDArray[np.float32]:
        """Similarities of members to their centres."""
        return self.to_centre[right]

    def medoids(self, members: NDArray[np.int32], starts: NDArray[np.int64], sample: int) -> NDArray[np.int32]:
        """The medoid of each group."""
        return members[self.is_centre[members]]

    def shuffle_keys(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """As those of `Sketches`."""
        return shuffle_keys(self._page_ids[rows])

    def release(self) -> None:
        """There is nothing to hand back."""
