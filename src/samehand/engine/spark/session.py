"""A Spark session: how it is got, and what its errors say."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samehand.base.errors import SamehandError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INSTALL = "Install it with: pip install 'samehand[spark]', and a Java 17 runtime (on Debian: openjdk-17-jre-headless)."


def connect(master: str) -> "SparkSession":
    """A Spark session on `master`: local[*], local-cluster[2,1,1024], spark://host:7077, yarn, k8s://..."""
    _check_java()
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise SamehandError(f"The Spark engine needs pyspark, which is not here ({error}). {INSTALL}") from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options: dict[str, Any] = {"spark.sql.execution.arrow.pyspark.enabled": True}
    if master.startswith("local"):
        # Everything is on this machine: nothing to be seen from outside, and the packages of this environment.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
        options["spark.ui.enabled"] = options["spark.ui.showConsoleProgress"] = False
        options["spark.executorEnv.PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        session = SparkSession.builder.master(master).appName("samehand").config(map=options).getOrCreate()
    except spark_errors() as error:
        raise SamehandError(f"Spark does not start on {master!r} ({said_by(error)}): check the master.") from error
    session.sparkContext.setLogLevel("FATAL")  # a task that fails is said in one sentence, not in four stacks
    return session


def _check_java() -> None:
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
    if shutil.which(java) is None:
        raise SamehandError(f"The Spark engine needs Java, which is not here. {INSTALL}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    if found and int(found[1]) < 17:
        raise SamehandError(f"The Spark engine needs Java 17, here is Java {found[1]}. {INSTALL}")


def spark_errors() -> tuple[type[Exception], ...]:
    """What pyspark raises: its own errors, and those of Java that it does not translate."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


def said_by(error: Exception) -> str:
    """The sentence in Spark's report that says what happened last, without the stacks around it."""
    text = str(error)
    causes = re.findall(r"(?:^|: )(?:[\w.]+\.)?\w*(?:Exception|Error): ([^\n]+)", text, re.MULTILINE)
    lost = re.search(r"ExecutorLostFailure \(([^\n]+)", text)
    return (lost[1] if lost else causes[-1] if causes else text.split("\n")[0]).split(". ")[0].strip()[:200]


def check_running(session: "SparkSession", error: Exception) -> None:
    """Raises where it is not what Spark was to do that failed, but Spark."""
    if "No module named 'samehand'" in str(error):
        raise SamehandError("The executors lack samehand: install it in each node's PYSPARK_PYTHON.") from error
    if not is_running(session):
        why = f"Spark stopped ({said_by(error)}): run the same command again, nothing done is lost."
        raise SamehandError(why) from error


def is_running(session: "SparkSession") -> bool:
    """Whether the session can still be used."""
    with contextlib.suppress(AttributeError, *spark_errors()):  # stopped, or its process is gone
        return not session.sparkContext._jsc.sc().isStopped()
    return False


def not_shared(folder: Path, where: str) -> str:
    """What to say where the run folder is another one, or none."""
    return f"{folder} is not the same folder for {where}: choose one with -o that driver and executors share."


@contextlib.contextmanager
def configured(session: "SparkSession", name: str, value: object) -> Iterator[None]:
    """Another value of one of Spark's settings, for as long as it is needed."""
    before = session.conf.get(name, None)
    session.conf.set(name, str(value))
    try:
        yield
    finally:
        if is_running(session):
            session.conf.set(name, before) if before is not None else session.conf.unset(name)
