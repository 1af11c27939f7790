"""Inputs on any file system Spark reads: files are fetched whole, by the executors, to be looked at and to be read."""

import contextlib
import dataclasses
import functools
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import pyarrow as pa

from samehand.base.errors import InputError, UsageError
from samehand.base.page import Reject
from samehand.base.settings import Settings
from samehand.engine.spark.session import configured, said_by, spark_errors
from samehand.sources import Source, Unit, find_sources, plan_units
from samehand.sources.reasons import UNREADABLE_FILE, reject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FETCH_LIMIT = 2_000_000_000
"""Longest file that Spark's binaryFile source hands over whole: a Java array holds no more."""

ANSWER = "answer string"
"""Schema of what the executors answer: JSON."""


def is_remote(path: str) -> bool:
    """Whether a path names its file system: hdfs://, s3a://, file:/..."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None


def remote_inputs(
    session: "SparkSession", inputs: Sequence[str], *, settings: Settings
) -> tuple[list[Source], list[Unit], list[Reject]]:
    """The sources that URIs (files, folders, patterns) name on any file system Spark reads, their units, and rejects.

    Every file is a source of its own, and split as a local one would be; a file behind a folder's name too. Spark
    cannot read a piece of a file, so each is fetched here to be looked at, and once more to be read.
    """
    listed = {path: size for given in inputs for path, size in _listed(session, given)}
    fit = [path for path, size in listed.items() if size <= FETCH_LIMIT]
    plan = functools.partial(_plan_remote, json.dumps(settings.as_dict()))
    with one_file_a_batch(session):
        try:
            answers = answers_of(binary_files(session, fit).mapInArrow(plan, ANSWER)) if fit else []
        except spark_errors() as error:
            raise InputError(f"The inputs cannot be fetched ({said_by(error)}): see that all can be read.") from error
    planned = {answer["path"]: answer for answer in map(json.loads, answers)}
    sources: list[Source] = []
    units: list[Unit] = []
    rejects: list[Reject] = []
    for path, size in listed.items():
        if path not in planned:
            why = f"longer than the {FETCH_LIMIT:,} bytes that Spark hands over at once: split it"
            rejects.append(reject(path, 0, reason=UNREADABLE_FILE, size=size, detail=why))
            continue
        rejects += [Reject(**stored) for stored in planned[path]["rejects"]]
        sources += [Source.from_dict(source) for source in planned[path]["sources"]]
        units += [Unit(len(units) + place, sources[-1], *span) for place, span in enumerate(planned[path]["spans"])]
    return sources, units, rejects


def _listed(session: "SparkSession", given: str) -> list[tuple[str, int]]:
    """Paths and sizes of the files that a URI stands for, sorted."""
    files = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        rows = files.load(given).select("path", "length").collect()
    except spark_errors() as error:
        raise UsageError(f"Spark finds nothing at {given!r} ({said_by(error)}): check the path.") from error
    return sorted((row["path"], row["length"]) for row in rows)


def binary_files(session: "SparkSession", paths: Sequence[str]) -> "DataFrame":
    """Files with their content, by their exact paths: what is special in a pattern is not meant."""
    exact = [re.sub(r"([][{}*?\\])", r"\\\1", path) for path in paths]
    return session.read.format("binaryFile").load(exact).select("path", "content")


def one_file_a_batch(session: "SparkSession") -> AbstractContextManager[None]:
    """Arrow batches of one row, since that row is a whole file."""
    return configured(session, "spark.sql.execution.arrow.maxRecordsPerBatch", 1)


def answers_of(asked: "DataFrame") -> list[str]:
    return [row[0] for row in asked.collect()]


# What follows runs in the executors.


def batch_of(answer: object) -> pa.RecordBatch:
    return pa.record_batch({"answer": [json.dumps(answer)]})


@contextlib.contextmanager
def spooled(batch: pa.RecordBatch, row: int) -> Iterator[str]:
    """A fetched file on the executor's own disk, under its own name, while it is needed."""
    with tempfile.TemporaryDirectory(prefix="samehand-") as spool:
        path = os.path.join(spool, batch.column("path")[row].as_py().rpartition("/")[2])
        with open(path, "wb") as copy:
            copy.write(batch.column("content")[row].as_buffer())
        yield path


def _plan_remote(settings: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files to what they are, and where they are split: found in a copy as in any file."""
    wanted = Settings.from_dict(json.loads(settings))
    for batch in batches:
        for row in range(batch.num_rows):
            uri = batch.column("path")[row].as_py()
            with spooled(batch, row) as path:
                sources, rejects = find_sources([path], profile=wanted.profile)
                spans = [(unit.start, unit.end) for unit in plan_units(sources, wanted.split_bytes)]
            found = [dataclasses.replace(source, name=uri, path=uri).as_dict() for source in sources]
            refused = [dataclasses.asdict(dataclasses.replace(item, source_path=uri)) for item in rejects]
            yield batch_of({"path": uri, "sources": found, "rejects": refused, "spans": spans})
