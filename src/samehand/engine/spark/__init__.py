"""The Spark engine: the same stage functions as the local engine's, in the executors of a Spark cluster.

Executors and driver share the run folder (one machine, NFS or the like). Whatever a task writes is there whole or not
at all, so Spark may run a task again, or twice at once, and nothing changes. Inputs may be on other file systems
(hdfs://, s3a:// and whatever else Spark reads).
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from samehand.base.errors import UsageError
from samehand.base.settings import Settings
from samehand.engine.engine import Plan, plan_inputs
from samehand.engine.progress import OnProgress
from samehand.engine.spark.grouping import Steps, grouping
from samehand.engine.spark.reading import read_tasks
from samehand.engine.spark.remote import is_remote, remote_inputs
from samehand.engine.spark.replica import group_replicas
from samehand.engine.spark.session import connect
from samehand.engine.spark.style import group_style
from samehand.engine.tasks import Task, TaskOutcome
from samehand.methods.method import Counts, Method
from samehand.store.folder import RunFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkEngine", "connect"]

_SHUFFLED = {"style": group_style, "replica": group_replicas}
"""Methods that one task would not get done. Any other method is grouped whole, by its own `group`."""


class SparkEngine:
    """Runs the stages in the executors of a Spark cluster. Needs pyspark and Java: `pip install 'samehand[spark]'`.

    Args:
        session: A Spark session, or the master of one to start, such as "local[*]" or "spark://host:7077".

    Raises:
        SamehandError: pyspark or Java is missing, or Spark does not start.
    """

    def __init__(self, session: "SparkSession | str") -> None:
        self.session = connect(session) if isinstance(session, str) else session
        if not hasattr(self.session, "sparkContext"):
            raise UsageError(f"session is {session!r}: give a Spark session, or its master, such as 'local[*]'.")

    def plan(self, inputs: Sequence[str], spool: Path, settings: Settings) -> Plan:
        """Finds what the inputs are and cuts it into units of work: paths as everywhere, or URIs of any file system."""
        far = [given for given in inputs if is_remote(given)]
        if not far:
            return plan_inputs(inputs, spool, settings)
        if len(far) < len(inputs):
            near = next(given for given in inputs if not is_remote(given))
            raise UsageError(f"{far[0]} is a URI and {near} a path: give all inputs as URIs (file:///...), or none.")
        return Plan(*remote_inputs(self.session, inputs, settings=settings))

    def read(
        self, folder: RunFolder, tasks: Sequence[Task], settings: Settings, on_progress: OnProgress
    ) -> Iterator[TaskOutcome]:
        """Runs `process_task` on each task, the largest first."""
        return read_tasks(self.session, folder, tasks, settings=settings, on_progress=on_progress)

    def group(self, method: Method, folder: RunFolder, settings: Settings, on_progress: OnProgress) -> Counts:
        """Groups in the executors: by shuffles, a component at a time, or the whole method in one task."""
        with grouping(self.session, method, folder, settings, on_progress) as steps:
            return _SHUFFLED.get(method.name, Steps.whole)(steps)
