"""A real Spark of several processes for the tests: two executors, each with its own Java and Python workers."""

import importlib.util
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"
OPTIONS = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1024m",
    # Short jobs on a small machine: compiling them well costs more than it gives.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.task.maxFailures": "2",  # what fails twice in these tests fails always
    "spark.sql.warehouse.dir": "{tmp}/warehouse",
    "spark.local.dir": "{tmp}/local",
    # A second file system: what is at file:{tmp}/crawls is at viewfs://test/crawls too.
    "spark.hadoop.fs.viewfs.mounttable.test.link./crawls": "file:{tmp}/crawls",
}
QUIET = """rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %m%n
logger.spark.name = org.apache.spark
logger.spark.level = off
"""


def missing_for_spark() -> str:
    """What the Spark engine lacks here; nothing when it can run."""
    missing = [name for name in ("pyspark", "pandas") if importlib.util.find_spec(name) is None]
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        missing.append("Java 17 (openjdk-17-jre-headless)")
    return " and ".join(missing)


@pytest.fixture(scope="session")
def spark_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark keeps everything of its own; crawls/ in it is also viewfs://test/crawls."""
    folder = tmp_path_factory.mktemp("spark")
    for name in ("conf", "home", "local", "crawls"):
        (folder / name).mkdir()
    return folder


@pytest.fixture(scope="session")
def spark(spark_folder: Path) -> Iterator["SparkSession"]:
    """A session with two executors in processes of their own, stopped at the end."""
    if missing := missing_for_spark():
        pytest.skip(f"the Spark engine is not tested: {missing} is missing")
    from samehand.engine.spark import connect

    _write_home(spark_folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_HOME", str(spark_folder / "home"))
        patch.setenv("SPARK_CONF_DIR", str(spark_folder / "conf"))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.delenv("PYSPARK_PYTHON", raising=False)
        session = connect(MASTER)
        session.sparkContext.setLogLevel("OFF")  # a killed executor makes a noise
        yield session
        session.stop()


def _write_home(folder: Path) -> None:
    """Spark's home and settings, for workers keep their logs in the former and defaults are read from the latter."""
    import pyspark

    for entry in Path(pyspark.__file__).parent.iterdir():
        (folder / "home" / entry.name).symlink_to(entry)
    lines = [f"{name} {value.format(tmp=folder)}\n" for name, value in OPTIONS.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("".join(lines))
    (folder / "conf" / "log4j2.properties").write_text(QUIET)


def executors_of(session: "SparkSession") -> list[int]:
    """Process ids of the executors of this session and no other."""
    wanted = session.sparkContext.applicationId.encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue  # ended since
        if wanted in words and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
            found.append(int(entry.name))
    return sorted(found)


def kill_one_executor(session: "SparkSession") -> int:
    """Ends one executor as an out-of-memory killer does; Spark starts another. Its process id."""
    victim = executors_of(session)[0]
    os.kill(victim, signal.SIGKILL)
    return victim
