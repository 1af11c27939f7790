"""Connected components as DataFrame operations: alternating large-star and small-star.

After Kiveris, Lattanzi, Mirrokni, Rastogi and Vassilvitskii, "Connected Components in MapReduce and Beyond" (2014).
A link leads from a node to a smaller one. Large-star hangs a node on the smallest neighbour of what it hung on,
small-star brings together what hung on by one node, until the links are stars around the smallest node of each
component. Half of a chain goes in each round, so rounds grow with the logarithm of its length.

Before the first round each task makes stars of the links it has: what hangs together within a task needs no rounds,
and a graph that one task can hold needs none at all.
"""

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import distinct
from samehand.base.errors import SamehandError
from samehand.kernels import graph

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW_LINKS = 1 << 21
"""So many links are given to one task: 100 MB of memory, and less time than a round takes."""

LINK = "node long, to long"
MOST_ROUNDS = 200
"""Far more than any graph needs: a chain of 2 to the power of 100 nodes takes half of them."""


def components(edges: "DataFrame", *, scratch: Path) -> "DataFrame":
    """The component of each node of `edges(left, right)`, as `node, component`: the smallest node of the component.

    A node without neighbours is named by a loop (left = right). Rounds are written as Parquet below `scratch`, a
    folder that driver and executors share: so plans do not grow, and an executor that dies takes nothing with it. The
    answer is read from there, and what is there is the caller's to remove once the answer is used up.
    """
    return components_and_rounds(edges, scratch=scratch)[0]


def components_and_rounds(edges: "DataFrame", *, scratch: Path) -> tuple["DataFrame", int]:
    """The components, and in how many rounds of large-star and small-star they were found."""
    from pyspark.sql import functions as sql

    given = edges.select(sql.col("left").cast("long"), sql.col("right").cast("long"))
    ends = given.select(sql.explode(sql.array("left", "right")).alias("node"))
    nodes = stored(ends.distinct(), scratch / "nodes")
    # Loops say nothing about who hangs together, and there are two ways to say the same edge.
    downward = given.select(sql.greatest("left", "right").alias("node"), sql.least("left", "right").alias("to"))
    links = stored(downward.where("node > to").mapInArrow(make_stars, LINK), scratch / "links")
    is_few = links.count() <= FEW_LINKS
    links = stored(links.coalesce(1).mapInArrow(make_stars, LINK) if is_few else links.distinct(), scratch / "round-0")
    for finished in range(MOST_ROUNDS):
        if is_few or _are_stars(links):
            found = nodes.join(links, "node", "left")
            return found.select("node", sql.coalesce("to", "node").alias("component")), finished
        later = _small_star(_large_star(links))
        links = stored(later, scratch / f"round-{finished + 1}")
        shutil.rmtree(scratch / f"round-{finished}", ignore_errors=True)
    raise SamehandError(f"Components were not found in {MOST_ROUNDS} rounds: please report this graph.")


def _large_star(links: "DataFrame") -> "DataFrame":
    """Each link (v, u) becomes (v, the smallest neighbour of u, or u itself where all are larger).

    Where one node holds a large share of all links, Spark splits the skewed side of the join by itself.
    """
    from pyspark.sql import functions as sql

    smallest = links.groupBy(sql.col("node").alias("to")).agg(sql.min("to").alias("smallest"))
    joined = links.join(smallest, "to", "left")
    return joined.select("node", sql.coalesce("smallest", "to").alias("to")).distinct()


def _small_star(links: "DataFrame") -> "DataFrame":
    """A node and all that it hangs on now hang on the smallest of these."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sql

    smallest = sql.min("to").over(Window.partitionBy("node"))
    hung = links.select(sql.array("node", "to").alias("nodes"), smallest.alias("to"))
    return hung.select(sql.explode("nodes").alias("node"), "to").where("node > to").distinct()


def _are_stars(links: "DataFrame") -> bool:
    """Whether each node hangs on one other, which itself hangs on none."""
    from pyspark.sql import functions as sql

    ends = sql.array(
        sql.struct(sql.col("node").alias("end"), sql.lit(1).alias("hangs"), sql.lit(0).alias("holds")),
        sql.struct(sql.col("to").alias("end"), sql.lit(0).alias("hangs"), sql.lit(1).alias("holds")),
    )
    counted = links.select(sql.inline(ends)).groupBy("end").agg(sql.sum("hangs").alias("hangs"), sql.max("holds"))
    return counted.where("hangs > 1 or (hangs > 0 and `max(holds)` > 0)").isEmpty()


def stored(rows: "DataFrame", place: Path) -> "DataFrame":
    """Rows written and read back. A plain path would mean the cluster's own file system, so the scheme is said."""
    where = place.absolute().as_uri()
    rows.write.mode("overwrite").parquet(where)
    return rows.sparkSession.read.schema(rows.schema).parquet(where)


def make_stars(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in the executors: the links of a task as stars around the smallest node of each component they make."""
    none = np.zeros(0, np.int64)
    node, to = none, none
    waiting: list[pa.RecordBatch] = []
    wanted = FEW_LINKS
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) > wanted:
            node, to = _stars(node, to, waiting)
            waiting, wanted = [], max(FEW_LINKS, len(node))
    node, to = _stars(node, to, waiting)
    yield pa.record_batch({"node": node, "to": to})


def _stars(
    node: NDArray[np.int64], to: NDArray[np.int64], more: list[pa.RecordBatch]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Stars of the links that are stars already and more of them."""
    node = np.concatenate([node, *(batch.column(0).to_numpy() for batch in more)])
    to = np.concatenate([to, *(batch.column(1).to_numpy() for batch in more)])
    names = distinct(np.concatenate([node, to]))
    low, high = (np.searchsorted(names, side).astype(np.uint64) for side in (to, node))
    smallest = graph.components((low << np.uint64(32)) | high, len(names))
    hanging = np.flatnonzero(smallest != np.arange(len(names)))
    return names[hanging], names[smallest[hanging]]
