"""Grouping on Spark: what the local engine does among all rows at once, as shuffles of rows between tasks.

1. Pages are read in the executors. Those that may be equal meet; the smallest stands for all that are.
2. Pages that share a bucket meet: first their ids alone, and only where a bucket has two pages their words. Each task
   keeps no more than the forest of the edges it found.
3. Connected components are found by large-star and small-star.
4. Groups are found in one task for each component, many small components at a time, by the functions of the methods.
5. Members and groups get their addresses, are ranked and put into order, and one task writes each table.

The driver holds the numbers of parts and the counts. Every step is written as Parquet below RUN/spark, whole or not at
all, so an executor that dies takes nothing with it. The folder goes at the end. A method without steps of its own is
grouped as the local engine does it, in one task of an executor.
"""

import contextlib
import functools
import json
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from samehand.base.errors import SamehandError
from samehand.base.files import writing
from samehand.base.settings import Settings
from samehand.engine.progress import OnProgress, Progress
from samehand.engine.spark import kinds, stages
from samehand.engine.spark.common import Common
from samehand.engine.spark.components import components, stored
from samehand.engine.spark.remote import ANSWER, answers_of
from samehand.engine.spark.session import check_running, configured, said_by, spark_errors
from samehand.grouping.forest import COUNTED
from samehand.methods.method import Counts, Method
from samehand.store.files import SPARK_SCRATCH
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import PAGES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PARTS_PER_TASK = 8
"""So many parts at least go to a task once every core has one: a part is a second's work."""


@contextlib.contextmanager
def grouping(
    session: "SparkSession", method: Method, folder: RunFolder, settings: Settings, on_progress: OnProgress
) -> Iterator["Steps"]:
    """The steps of a method, with a scratch folder. Errors of Spark become one sentence."""
    scratch = folder.path / SPARK_SCRATCH
    with writing(folder.path), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(scratch)
    try:
        # Spark guesses what is small enough for every task by the length of files, and ours hold more than it seems.
        with configured(session, "spark.sql.autoBroadcastJoinThreshold", -1):
            yield Steps(session, method, folder, settings, on_progress)
    except spark_errors() as error:
        check_running(session, error)
        why = f"Spark cannot group the pages ({said_by(error)}): run the same command again, nothing read is lost."
        raise SamehandError(why) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)  # what an executor still writes goes next time


class Steps:
    """The steps that methods share, each from the files of those before it to its own."""

    def __init__(
        self, session: "SparkSession", method: Method, folder: RunFolder, settings: Settings, on_progress: OnProgress
    ) -> None:
        self.session = session
        self.folder = folder
        self.settings = settings
        self._name = method.name
        self._on_progress = on_progress
        self._common = Common.of(folder, settings)
        self._scratch = folder.path / SPARK_SCRATCH
        self._done = 0
        self.total = 1

    def whole(self) -> Counts:
        """The method's own `group`, in one task."""
        counts = self._in_one_task(stages.group_whole, self._name)
        self._tell()
        return counts

    def pages(self, kind: str) -> "DataFrame":
        """Every page of a kind, as PAGES."""
        read = self.parts(kinds.KINDS[kind].table, stages.read_pages, kinds.PAGES, kind)
        return self.stored(f"{kind}-pages", read)

    def twins(self, kind: str, pages: "DataFrame") -> "DataFrame":
        """The pages that are the same as a smaller one."""
        met = _met(pages.where("identity is not null").select("page_id", "identity"), "identity")
        ready = met.select("page_id").join(pages.drop("buckets"), "page_id").repartition("identity")
        ordered = ready.sortWithinPartitions("identity", "page_id")
        twins = self.mapped(ordered, stages.join_twins, stages.TWINS, kind)
        return self.stored(f"{kind}-twins", twins)

    def edges(self, kind: str, pages: "DataFrame", twins: "DataFrame") -> tuple["DataFrame", list[int]]:
        """Edges between pages that share a bucket and between twins, and what `CheckCounts.add` adds up."""
        from pyspark.sql import functions as sql

        alone = pages.select("page_id", "buckets").join(twins.select("page_id"), "page_id", "left_anti")
        entries = alone.select("page_id", sql.posexplode("buckets").alias("probe", "bucket"))
        met = _met(entries.where("bucket is not null"), "probe", "bucket")
        ready = met.join(pages.drop("buckets", "identity"), "page_id").repartition("probe", "bucket")
        ordered = ready.sortWithinPartitions("probe", "bucket", "page_id")
        checked = self.stored(f"{kind}-checked", self.mapped(ordered, stages.check_met, stages.CHECKED, kind))
        found = [row[0] for row in checked.where("counts is not null").select("counts").collect()]
        same = twins.where("similarity is not null").selectExpr("twin_of as left", "page_id as right", "similarity")
        edges = checked.where("counts is null").select("left", "right", "similarity").union(same)
        return edges, [sum(counts) for counts in zip(*found, strict=True)] or [0] * COUNTED

    def components(self, kind: str, edges: "DataFrame") -> "DataFrame":
        """The component of each page that has an edge: page_id, component."""
        found = components(edges, scratch=self._scratch / f"{kind}-rounds").withColumnRenamed("node", "page_id")
        return self.stored(f"{kind}-components", found)

    def by_component(
        self, name: str, stage: Callable[..., Any], schema: str, edges: "DataFrame", pages: "DataFrame | None" = None
    ) -> "DataFrame":
        """A stage that is given all edges and pages of a component in one task."""
        rows = pages.unionByName(edges, allowMissingColumns=True) if pages else edges
        ordered = rows.repartition("component").sortWithinPartitions("component")
        return self.stored(name, self.mapped(ordered, stage, schema))

    def addresses(self) -> "DataFrame":
        """URLs, hosts and sites of all pages."""
        return self.parts(PAGES, stages.read_addresses, stages.ADDRESSES)

    def parts(self, table: Table, stage: Callable[..., Any], schema: str, *given: Any) -> "DataFrame":
        """A stage that is given places among the parts of a table."""
        numbers = self.folder.part_numbers(table)
        parts = tuple(zip(numbers, self.folder.page_ids.starts.tolist(), strict=False))
        cores = self.session.sparkContext.defaultParallelism
        tasks = max(1, min(len(parts), cores), len(parts) // _PARTS_PER_TASK)
        return self.mapped(self.session.range(0, len(parts), 1, tasks), stage, schema, *given, parts)

    def mapped(self, frame: "DataFrame", stage: Callable[..., Any], schema: str, *given: Any) -> "DataFrame":
        """A stage on the rows of each task."""
        return frame.mapInArrow(functools.partial(stage, self._common, *given), schema)

    def stored(self, name: str, rows: "DataFrame") -> "DataFrame":
        """A step: its rows, written and read back."""
        written = stored(rows, self._scratch / name)
        self._tell()
        return written

    def publish(self, table: Table, rows: "DataFrame", *order: "Column | str") -> int:
        """Writes a table of the run: many tasks put its rows in order, one writes them. Returns how many there are."""
        scratch = self._scratch / table.path
        stored(rows.orderBy(*order), scratch)
        counts = self._in_one_task(stages.write_table, table.name, str(scratch))
        self._tell()
        return int(counts["rows"])

    def published(self, table: Table, *columns: str) -> "DataFrame":
        """Columns of a table that is written."""
        return self.session.read.parquet((self.folder.path / table.path).absolute().as_uri()).select(*columns)

    def _in_one_task(self, stage: Callable[..., Any], *given: Any) -> Counts:
        """What a stage counts that is one task."""
        (answer,) = answers_of(self.mapped(self.session.range(0, 1, 1, 1), stage, ANSWER, *given))
        ended, found = json.loads(answer)
        if ended == "failed":
            raise SamehandError(found)
        return dict(found)

    def _tell(self) -> None:
        self._done += 1
        self._on_progress(Progress("group", done=self._done, total=self.total, method=self._name))


def _met(rows: "DataFrame", *names: str) -> "DataFrame":
    """The rows that share the values of `names` with another."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    size = sql.count("*").over(Window.partitionBy(*names))
    return rows.withColumn("size", size).where("size > 1").drop("size")


def groups_of(
    named: "DataFrame", group: str, figures: list[str], hosts: str, sites: str, *more: "Column"
) -> "DataFrame":
    """One row for each group: its figures, which stand in the row of its medoid, the medoid, hosts and sites."""
    from pyspark.sql import functions as sql

    is_medoid = sql.col(figures[0]).isNotNull()
    found = named.groupBy(group).agg(
        *(sql.max(figure).alias(figure) for figure in figures),
        sql.countDistinct(hosts).alias("hosts"),
        sql.countDistinct(sites).alias("sites"),
        sql.max(sql.when(is_medoid, sql.col("page_id"))).alias("centre_page_id"),
        sql.max(sql.when(is_medoid, sql.col("url"))).alias("centre_url"),
        *more,
    )
    return found.where(sql.col(figures[0]).isNotNull())
