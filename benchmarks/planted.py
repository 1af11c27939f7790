"""Planted fingerprints: a run folder of as many pages as wanted, whose clusters are known.

Sizes of clusters follow a power law, the largest holds an eighth of all pages (the paper's largest farm had 626,900 of
5 million); three pages of ten are alone. A page of a cluster has each value of its template with a probability that is
the cluster's own, 0.85 to 1: two of its pages are 0.57 to 1 similar.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.page import PAGE_SCHEMA
from samehand.base.settings import Settings
from samehand.store.done import part_name
from samehand.store.folder import MADE_WITH, RunFolder
from samehand.store.manifest import READING
from samehand.store.tables import PAGES, STYLE_FINGERPRINTS

PART_ROWS = 50_000
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SOURCE = {"name": "planted", "path": "planted", "kind": "jsonl", "size": 0, "digest": ""}
_READ = {"settings": "", "rejected": {}, "skipped": {}, "without_url": 0, "damaged": 0, "content_bytes": 0}
_READ |= {"first": 0, "stop": 0, "seconds": 0.0}


@dataclasses.dataclass(frozen=True, slots=True)
class Planted:
    """A run folder and the cluster of each of its pages; -1 for a page that is alone."""

    folder: RunFolder
    labels: NDArray[np.int64]


def plant(path: Path, rows: int, *, seed: int = 1, settings: Settings | None = None) -> Planted:
    """Writes fingerprints and pages below `path`."""
    settings = settings or Settings()
    draw = np.random.Generator(np.random.PCG64(seed))
    labels = _labels(draw, rows)
    kept = 0.85 + 0.15 * draw.random(int(labels.max(initial=0)) + 1)
    folder = RunFolder(path)
    for number, first in enumerate(range(0, rows, PART_ROWS)):
        part = labels[first : first + PART_ROWS]
        values = planted_values(draw, part, kept, settings.dimensions + settings.markup_dimensions)
        _write_part(folder, number, part, values, settings)
        unit = {"number": number, "start": 0, "end": 0, "exact": True, "source": _SOURCE}
        folder.done.set(part_name("style", number), {"unit": unit, "source": ""})
        folder.done.set(part_name("pages", number), {**_READ, "unit": unit, "pages": len(part)})
    folder.save_manifest(
        {
            "settings": settings.changed(),
            "read_settings": settings.digest(*MADE_WITH),
            "key": "public",
            "inputs": [],
            "unreadable": [],
            "failures": [],
            "methods": ["style"],
            "stages": {},
            "units": -(-rows // PART_ROWS),
            "state": READING,
        }
    )
    return Planted(folder, labels)


def _labels(draw: np.random.Generator, rows: int) -> NDArray[np.int64]:
    sizes = [rows // 8]
    while sum(sizes) < 0.7 * rows:
        sizes.append(min(max(2, int(2 * draw.random() ** (-1 / 1.1))), rows // 8))
    labels = np.full(rows, -1, np.int64)
    clustered = np.repeat(np.arange(len(sizes)), sizes)[:rows]
    labels[: clustered.size] = clustered
    draw.shuffle(labels)
    return labels


def planted_values(
    draw: np.random.Generator, labels: NDArray[np.int64], kept: NDArray[np.float64], dimensions: int
) -> NDArray[np.uint32]:
    """Fingerprints of pages of these clusters. Least values of many are small: the third power makes them so."""
    values = (draw.random((labels.size, dimensions)) ** 3 * (1 << 30)).astype(np.uint32)
    template = (
        labels[:, None].astype(np.uint64) * np.uint64(dimensions) + np.arange(dimensions, dtype=np.uint64)
    ) * _MIX
    template ^= template >> np.uint64(29)
    template *= np.uint64(0xBF58476D1CE4E5B9)
    has = (labels[:, None] >= 0) & (draw.random(values.shape) < kept[np.maximum(labels, 0)][:, None])
    values[has] = (template[has] >> np.uint64(34)).astype(np.uint32)
    return values


def _write_part(
    folder: RunFolder, number: int, labels: NDArray[np.int64], values: NDArray[np.uint32], settings: Settings
) -> None:
    rows = len(labels)
    page_ids = pa.array((np.int64(number) << 32) + np.arange(rows))
    zeros = np.zeros(rows, np.uint64)
    noise, markup = values[:, : settings.dimensions], values[:, settings.dimensions :]
    half = np.full(rows, settings.markup_dimensions // 2, np.int16)
    fingerprints = [*_fingerprints(noise), half, half, _fingerprints(markup)[1]]
    table = pa.table([page_ids, np.full(rows, 5_000), zeros, *fingerprints], STYLE_FINGERPRINTS.schema(settings))
    hosts = [
        f"{label if label >= 0 else 'x'}-{number}-{row % 997}.example" for row, label in enumerate(labels.tolist())
    ]
    columns = {
        "page_id": page_ids,
        "url": [f"http://{host}/{row}.html" for row, host in enumerate(hosts)],
        "url_host_name": hosts,
        "url_host_registered_domain": hosts,
        "url_host_private_domain": hosts,
    }
    nothing = {field.name: _default(field, rows) for field in PAGE_SCHEMA if field.name not in columns}
    pages = pa.table({**columns, **nothing}).select(PAGE_SCHEMA.names).cast(PAGE_SCHEMA)
    for name, part in ((STYLE_FINGERPRINTS, table), (PAGES, pages)):
        with folder.writer(name, settings, number) as writer:
            writer.write(part)


def _fingerprints(values: NDArray[np.uint32]) -> list[Any]:
    """Filled dimensions and fingerprints as columns."""
    rows, dimensions = values.shape
    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * dimensions), rows, buffers)
    return [np.full(rows, dimensions, np.int16), fixed]


def _default(field: pa.Field, rows: int) -> pa.Array:
    if field.nullable:
        return pa.nulls(rows, field.type)
    if pa.types.is_string(field.type):
        return pa.array([""] * rows)
    if pa.types.is_boolean(field.type):
        return pa.array([False] * rows)
    return pa.array(np.zeros(rows, np.int64)).cast(field.type)
