"""The review server on millions of pages: CPU to start, and CPU for each answer with the next card.

`make bench`, or python -m benchmarks.review [--pages 5000000] [--answers 200]. The run is made up: tables of the size
that a real run has, without pages behind them. The peer is what a server would do that reads whole tables: the members
of one cluster, filtered out of the table of all members.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import samehand
from benchmarks.planted import PART_ROWS
from benchmarks.scale import peak_memory
from samehand.base.page import PAGE_SCHEMA
from samehand.base.settings import Settings
from samehand.review.review import Review
from samehand.store.done import part_name
from samehand.store.folder import MADE_WITH, RunFolder
from samehand.store.manifest import DONE
from samehand.store.tables import (
    PAGES,
    STYLE_CLUSTERS,
    STYLE_EDGES,
    STYLE_MEMBERS,
    VERDICT_CLUSTERS,
    VERDICT_PAGES,
    VERDICT_PROVIDERS,
    VERDICT_SITES,
)

_SOURCE = {"name": "made up", "path": "made up", "kind": "jsonl", "size": 0, "digest": ""}
_READ = {"rejected": {}, "skipped": {}, "without_url": 0, "damaged": 0, "content_bytes": 0}
_EVIDENCE = [{"symbol": "SHARED_TEMPLATE", "group": "sameness", "value": 1.0, "log_odds": 0.25}]
_STRETCH = 1 << 17


def make_run(path: Path, pages: int, *, sizes: Sequence[int] = (), seed: int = 1) -> RunFolder:
    """A run folder of clusters of these sizes, or of all sizes; the other pages are alone."""
    draw = np.random.Generator(np.random.PCG64(seed))
    chosen = np.array(sizes, np.int64) if sizes else _sizes(draw, pages)
    labels = np.full(pages, -1, np.int64)
    labels[: chosen.sum()] = np.repeat(np.arange(chosen.size), chosen)
    draw.shuffle(labels)
    rows = np.arange(pages)
    ids = ((rows // PART_ROWS) << 32) + rows % PART_ROWS
    folder = RunFolder(path)
    _write_pages(folder, ids)
    _write_manifest(folder, pages, chosen)
    _write_clusters(folder, draw, labels, ids, chosen)
    _write_units(folder, draw, labels, ids)
    return folder


def _sizes(draw: np.random.Generator, pages: int) -> NDArray[np.int64]:
    """The largest has an eighth of the pages; three pages of ten are in none."""
    sizes = np.minimum((2 * draw.random(pages // 4) ** -0.9).astype(np.int64), pages // 8)
    sizes[0] = pages // 8
    return np.sort(sizes[: np.searchsorted(np.cumsum(sizes), 0.7 * pages)])[::-1]


def _write_manifest(folder: RunFolder, pages: int, sizes: NDArray[np.int64]) -> None:
    settings = Settings()
    actions: dict[str, Any] = {
        name: {"keep": pages} for name in ("page_actions", "page_kinds", "site_actions", "site_kinds")
    }
    actions |= {"labels": 0, "unknown_labels": 0, "label_digest": 0}
    style = {"clusters": int(sizes.size), "clustered_pages": int(sizes.sum()), "families": int(sizes.size)}
    counts = ("buckets", "checks", "equal", "leader_cap_hits", "markup_capped", "own_names")
    style |= dict.fromkeys(counts, 0) | {"cluster_miss_probability": 0.0, "family_miss_probability": 0.0}
    for name, found in (("style", style), ("verdicts", actions)):
        folder.done.set(name, {"source": "", "counts": found, "seconds": 0.0})
    for number in range(-(-pages // PART_ROWS)):
        unit = {"number": number, "start": 0, "end": 0, "exact": True, "source": _SOURCE}
        rows = min(PART_ROWS, pages - number * PART_ROWS)
        rest = {"settings": "", "first": 0, "stop": 0, "seconds": 0.0}
        folder.done.set(part_name("pages", number), {**_READ, **rest, "unit": unit, "pages": rows})
    folder.save_manifest(
        {
            "settings": {},
            "read_settings": settings.digest(*MADE_WITH),
            "key": "public",
            "inputs": [_SOURCE],
            "unreadable": [],
            "failures": [],
            "methods": ["style"],
            "stages": {"read": {**_READ, "pages": pages, "worker_seconds": 0.0}, "style": style, "verdicts": actions},
            "units": -(-pages // PART_ROWS),
            "state": DONE,
        }
    )


def _write_pages(folder: RunFolder, ids: NDArray[np.int64]) -> None:
    for number, first in enumerate(range(0, ids.size, PART_ROWS)):
        part = ids[first : first + PART_ROWS]
        hosts = pa.array([f"host-{row // 3}.example" for row in range(first, first + part.size)])
        columns = {"page_id": pa.array(part), "url": _urls(first, part.size), "url_host_private_domain": hosts}
        with folder.writer(PAGES, Settings(), number) as writer:
            writer.write(_filled(PAGE_SCHEMA, columns, part.size))


def _urls(first: int, rows: int) -> pa.Array:
    return pa.array([f"http://host-{row // 3}.example/some/path/{row}.html" for row in range(first, first + rows)])


def _filled(schema: pa.Schema, columns: dict[str, Any], rows: int) -> pa.Table:
    """A table in which columns that are not given are null, empty or 0."""
    made = []
    for field in schema:
        if field.name in columns:
            made.append(
                pa.array(columns[field.name]) if not isinstance(columns[field.name], pa.Array) else columns[field.name]
            )
        elif field.nullable:
            made.append(pa.nulls(rows, field.type))
        elif field.name == "evidence":
            made.append(pa.array([_EVIDENCE] * rows, field.type))
        elif pa.types.is_string(field.type):
            made.append(pa.array(["keep"] * rows))
        elif pa.types.is_list(field.type):
            made.append(pa.array([[]] * rows, field.type))
        else:
            made.append(
                pa.array(np.zeros(rows), field.type)
                if not pa.types.is_boolean(field.type)
                else pa.array([False] * rows)
            )
    return pa.table([column.cast(field.type) for column, field in zip(made, schema, strict=True)], schema=schema)


def _write_clusters(
    folder: RunFolder,
    draw: np.random.Generator,
    labels: NDArray[np.int64],
    ids: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> None:
    settings, count = Settings(), sizes.size
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(count))
    centres = ids[order[np.where(sizes > 0, starts, 0)]]  # a page that is alone, for a cluster of none
    common = {
        "cluster_number": np.arange(1, count + 1),
        "style_cluster_id": centres,
        "pages": sizes,
        "sites": (sizes + 2) // 3,
    }
    more = {"style_family_id": centres, "hosts": sizes, "centre_page_id": centres, "centre_url": _urls(0, count)}
    folder.write(STYLE_CLUSTERS, _filled(STYLE_CLUSTERS.fixed_schema, {**common, **more}, count))
    folder.write(
        VERDICT_CLUSTERS, _filled(VERDICT_CLUSTERS.fixed_schema, {**common, "probability": draw.random(count)}, count)
    )
    clustered = np.flatnonzero(labels >= 0)
    with folder.writer(STYLE_MEMBERS, settings) as writer:
        for first in range(0, clustered.size, _STRETCH):
            rows = clustered[first : first + _STRETCH]
            columns = {
                "page_id": ids[rows],
                "url": pa.array([f"http://host-{row // 3}.example/some/path/{row}.html" for row in rows.tolist()]),
                "cluster_number": labels[rows] + 1,
                "style_cluster_id": centres[labels[rows]],
                "style_family_id": centres[labels[rows]],
                "similarity": draw.random(rows.size).astype(np.float32),
            }
            writer.write(_filled(STYLE_MEMBERS.fixed_schema, columns, rows.size))
    chained = np.flatnonzero(labels[order][1:] == labels[order][:-1])
    chained = chained[labels[order][chained] >= 0]
    links = {"left_page_id": ids[order[chained]], "right_page_id": ids[order[chained + 1]]}
    folder.write(STYLE_EDGES, _filled(STYLE_EDGES.fixed_schema, links, chained.size))


def _write_units(
    folder: RunFolder, draw: np.random.Generator, labels: NDArray[np.int64], ids: NDArray[np.int64]
) -> None:
    settings = Settings()
    with folder.writer(VERDICT_PAGES, settings) as writer:
        for first in range(0, ids.size, _STRETCH):
            part = ids[first : first + _STRETCH]
            sites = pa.array([f"host-{row // 3}.example" for row in range(first, first + part.size)])
            columns = {"page_id": part, "url": _urls(first, part.size), "site": sites}
            writer.write(_filled(VERDICT_PAGES.fixed_schema, columns, part.size))
    homes = ids[::3]
    columns = {"site": pa.array([f"host-{row}.example" for row in range(homes.size)]), "page_id": homes}
    with folder.writer(VERDICT_SITES, settings) as writer:
        writer.write(_filled(VERDICT_SITES.fixed_schema, columns, homes.size))
    folder.write(VERDICT_PROVIDERS, VERDICT_PROVIDERS.fixed_schema.empty_table())


def measure(path: Path, answers: int) -> None:
    """Starts a review, answers cards, and prints CPU milliseconds."""
    began = time.process_time()
    review = Review(samehand.open_run(path))
    print(f"start            {time.process_time() - began:8.2f} CPU s, {peak_memory() / 1e6:,.0f} MB in all")
    times: dict[str, list[float]] = {"answer": [], "next card": [], "cluster screen": []}
    for number in range(answers):
        card = review.progress()["cards"][0]
        for name, work in (
            (
                "answer",
                lambda c=card: review.answer(
                    {"unit": "cluster", "name": c["cluster"]["style_cluster_id"], "answer": "wanted"}
                ),
            ),
            ("next card", review.progress),
            ("cluster screen", lambda n=number: _cluster_screen(review, n + 1)),
        ):
            began = time.process_time()
            work()
            times[name].append(1000 * (time.process_time() - began))
    for name, found in times.items():
        print(f"{name:16} {statistics.median(found):8.1f} CPU ms (median), {max(found):.1f} at most, of {len(found)}")
    began = time.process_time()
    members = review.run.folder.read(STYLE_MEMBERS, ["page_id", "url", "cluster_number"])
    members.filter(pc.equal(members.column("cluster_number"), 7)).slice(0, 1).to_pylist()
    whole = 1000 * (time.process_time() - began)
    print(
        f"whole table      {whole:8.1f} CPU ms: {whole / statistics.median(times['next card']):.0f} times the next card"
    )


def _cluster_screen(review: Review, number: int) -> None:
    from samehand.review.screens import cluster

    cluster(review, number, 0)


def main() -> None:
    """Makes the run and measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5_000_000)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--run", type=Path, help="Where the run is made, or is already.")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.run or Path(folder) / "run"
        if not path.exists():
            made = make_run(path, chosen.pages)
            print(f"{chosen.pages:,} pages, {made.manifest()['stages']['style']['clusters']:,} clusters")
        measure(path, chosen.answers)


if __name__ == "__main__":
    main()
