"""A run folder from a stranger: whatever it holds, a command answers as if it were sound, or says one sentence.

Each case changes one thing in a sound run and names the commands that must refuse it. All other commands must refuse
it too or give the answer of the sound run: no traceback, no signal, no other answer. The commands run in a process of
their own, since a kernel that is handed something wrong would end it.
"""

import io
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import samehand
from crawls import page, small_crawl, write_warc
from samehand.base.settings import Settings
from samehand.store.done import digest_of

DATA = Path(samehand.__file__).parent / "data"
COMMANDS: dict[str, list[str]] = {
    "status": ["status", "run"],
    "clusters": ["clusters", "run"],
    "cut": ["clusters", "run", "--cut", "0.8"],
    "families": ["clusters", "run", "--families"],
    "show": ["show", "run", "1"],
    "like": ["like", "run", "http://shop10.example/", "--format", "csv"],
    "like file": ["like", "run", "page.html", "--format", "csv"],
    "compare": ["compare", "http://shop10.example/", "http://page15.example/", "--run", "run"],
    "spread": ["spread", "run", "--seeds", "seeds.txt", "--format", "csv"],
    "replicas": ["replicas", "run", "--format", "csv"],
    "group": ["replicas", "run", "--group", "1"],
    "signed anew": ["-q", "replicas", "run", "-K", "3", "--workers", "1"],
    "fake": ["fake", "run", "--format", "csv"],
    "hosts": ["fake", "run", "--hosts"],
    "phrases": ["phrases", "run", "--format", "csv"],
    "sites": ["sites", "run", "--format", "csv"],
    "verdicts": ["verdicts", "run", "--format", "csv"],
    "judged anew": ["-q", "sites", "run", "--min-sites", "9", "--format", "csv"],
    "label": ["label", "run"],
    "add": ["-q", "add", "run", "more.warc", "--workers", "1", "--format", "csv"],
    "grouped anew": ["-q", "add", "run", "CRAWL", "--workers", "1", "--format", "csv"],
}
LOCKING = {"signed anew", "judged anew", "add", "grouped anew"}
WRITING = LOCKING | {"label"}
EVERY = set(COMMANDS)
SLOW = {"add", "signed anew", "grouped anew"}
SKETCHED = {"cut", "families", "like", "like file", "spread"}


class Case(NamedTuple):
    """A change of a run folder, the commands that must refuse it, and some of all others."""

    change: Callable[[Path], None]
    refused: set[str]
    others: set[str]
    may_differ: bool = False
    """Whether other answers are possible: what was changed is data that only the stranger can know."""


CASES: dict[str, Case] = {}


def case(
    name: str,
    refused: set[str],
    change: Callable[[Path], None],
    *,
    also: set[str] | None = None,
    may_differ: bool = False,
) -> None:
    """Adds a case. Of many commands that must refuse it, and of those that need not, a few are run."""
    assert name not in CASES, name
    draw = random.Random(name)
    chosen = refused if len(refused) < 8 else set(draw.sample(sorted(refused), 5))
    others = set(draw.sample(sorted(EVERY - refused - SLOW), 2)) if len(refused) < len(EVERY) - len(SLOW) else set()
    CASES[name] = Case(change, chosen, others | (also or set()), may_differ)


def text(name: str, content: str | bytes) -> Callable[[Path], None]:
    """Replaces a file."""
    data = content.encode() if isinstance(content, str) else content

    def change(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        (run / name).write_bytes(data)

    return change


def edited(name: str, *path: Any, to: Any = None, missing: bool = False) -> Callable[[Path], None]:
    """Replaces or removes one value of a JSON file. A stranger knows how to make the digest of a record."""

    def change(run: Path) -> None:
        stored = json.loads((run / name).read_text())
        is_record = name.startswith("done/")
        inner = stored["record"] if is_record else stored
        for step in path[:-1]:
            inner = inner[step]
        if missing:
            del inner[path[-1]]
        else:
            inner[path[-1]] = to
        if is_record:
            stored["digest"] = digest_of(stored["record"])
        (run / name).write_text(json.dumps(stored))

    return change


def undone(method: str, change: Callable[[Path], None]) -> Callable[[Path], None]:
    """The change, in a run whose answers of a method are to be made anew from its rows."""
    return lambda run: (run / "done" / f"{method}.json").unlink() or change(run)


def table(name: str, make: Callable[[pa.Table], pa.Table]) -> Callable[[Path], None]:
    """Replaces a Parquet file by another."""

    def change(run: Path) -> None:
        pq.write_table(make(pq.read_table(run / name, partitioning=None)), run / name)

    return change


def column(name: str, values: Callable[[pa.ChunkedArray], Any], kind: pa.DataType | None = None) -> Any:
    """Replaces one column of a table, whose type stays unless given."""

    def make(rows: pa.Table) -> pa.Table:
        place = rows.column_names.index(name)
        made = values(rows.column(name))
        array = made if isinstance(made, pa.Array | pa.ChunkedArray) else pa.array(made, kind or rows.field(name).type)
        return rows.set_column(place, pa.field(name, array.type), array)

    return make


def first_is(value: Any) -> Callable[[pa.ChunkedArray], list[Any]]:
    """The values of a column, the first of them replaced."""
    return lambda values: [value, *values.to_pylist()[1:]]


def same(change: Callable[[Path], None]) -> Callable[[Path], None]:
    """The change alone."""
    return change


def damaged(name: str, refused: set[str], wrap: Callable[..., Callable[[Path], None]] = same) -> None:
    """Whatever can be wrong with a file as a file."""
    half = wrap(lambda run: os.truncate(run / name, (run / name).stat().st_size // 2))
    case(f"{name}: truncated", refused, half)
    case(f"{name}: garbage", refused, wrap(text(name, random.Random(name).randbytes(3000))))
    # What is not there is made anew, if it can be.
    gone = refused - {"grouped anew", "judged anew"}
    case(f"{name}: missing", gone, wrap(lambda run: (run / name).unlink()), also=refused - gone)
    pipe = wrap(lambda run: (run / name).unlink() or os.mkfifo(run / name))
    case(f"{name}: a pipe", gone, pipe, also=refused - gone)


def columns_are_wrong(
    name: str,
    refused: set[str],
    column_name: str,
    wrap: Callable[..., Callable[[Path], None]] = same,
    nulls: Callable[[list[Any]], list[Any]] = first_is(None),  # noqa: B008
) -> None:
    """A column is missing, there twice, of another type, or not all there.

    Commands that read single rows must refuse a null only in those: `nulls` says which are null.
    """
    case(f"{name}: no {column_name}", refused, wrap(table(name, lambda rows: rows.drop_columns([column_name]))))
    twice = table(name, lambda rows: rows.append_column(column_name, rows.column(column_name)))
    case(f"{name}: two {column_name}", refused, wrap(twice))
    other = table(name, column(column_name, lambda values: [b"x"] * len(values), pa.binary()))
    case(f"{name}: {column_name} of another type", refused, wrap(other))
    case(f"{name}: {column_name} is null", refused, wrap(table(name, column(column_name, nulls))))


# run.json.

for given in ("", "[]", "{}", "null", "3", '"run"', "[" * 100_000, "[" * 10_000_000, '{"format": 4', b"\xff\xfe{}"):
    case(f"run.json: {given[:12]!r} ({len(given)})", EVERY, text("run.json", given))
for name, wrong in {
    "settings": [5, [], {"dimensions": "128"}, {"dimensions": 127}, {"nonsense": 1}, {"max_tags": 10**99}],
    "read_settings": [5, "another"],
    "key": [5, "secret"],
    "inputs": [{}, [5], [{}], ["crawl.warc"]],
    "unreadable": [{}, [5], [{}], [{"reason": "x"}]],
    "failures": [{}, [5], [{}]],
    "units": ["2", -1, True, 1 << 70, 1.5],
    "state": [5, "finished"],
    "methods": ["style", [5], ["nonsense"], ["read"]],
    "stages": [[], {}, {"read": 5}, {"nonsense": {}}],
    "growth": [5, {"grew": "many"}],
    "format": [3, "4", None, 5],
}.items():
    for value in [*wrong, None]:
        if (name, value) != ("growth", None) and not (name == "format" and value is None):
            shown = json.dumps(value)[:40]
            case(f"run.json: {name} is {shown}", EVERY, edited("run.json", name, to=value))
    if name != "growth":
        case(f"run.json: no {name}", EVERY, edited("run.json", name, missing=True))
for value in (True, float("nan"), [16], {}, -1):
    case(f"run.json: probes is {value}", EVERY, edited("run.json", "settings", to={"probes": value}))
case("run.json: shingles of 20 bytes", EVERY, edited("run.json", "settings", to={"shingle_bytes": 20}))
for name, value in {"size": "9", "path": 5, "digest": None, "kind": True, "name": []}.items():
    case(f"run.json: an input with {name} {value!r}", EVERY, edited("run.json", "inputs", 0, name, to=value))
    case(f"run.json: an input without {name}", EVERY, edited("run.json", "inputs", 0, name, missing=True))
case("run.json: an input with more", EVERY, edited("run.json", "inputs", 0, "more", to=1))
case("run.json: an input with a NUL", EVERY, edited("run.json", "inputs", 0, "path", to="/tmp/\0x"))
case("run.json: no pages counted", EVERY, edited("run.json", "stages", "read", "pages", missing=True))
case("run.json: pages that are none", EVERY, edited("run.json", "stages", "read", "pages", to="36"))
for method, count in {
    "style": "checks",
    "replica": "statuses",
    "language": "pages",
    "phrases": "kinds",
    "sites": "sites",
}.items():
    case(f"run.json: {count} of {method} is text", EVERY, edited("run.json", "stages", method, count, to="x"))
    case(f"run.json: no {count} of {method}", {"status"}, edited("run.json", "stages", method, count, missing=True))
no_kinds = edited("run.json", "stages", "verdicts", "site_kinds", missing=True)
case("run.json: no site_kinds of verdicts", {"verdicts"}, no_kinds)
case("run.json: missing", EVERY, lambda run: (run / "run.json").unlink())

# Records of what is done.

PAGES_DONE = "done/pages-000001.json"
for given in ("", "[]", "null", "5", "{}", "[" * 100_000, b"\xff"):
    case(f"{PAGES_DONE}: {given[:9]!r}", EVERY, text(PAGES_DONE, given))
for name, value in {
    "unit": 5,
    "settings": None,
    "pages": "18",
    "rejected": [],
    "skipped": {"x": "y"},
    "damaged": True,
    "content_bytes": -1,
    "first": None,
    "stop": 1 << 80,
    "seconds": "long",
}.items():
    case(f"{PAGES_DONE}: {name} is {value!r}", EVERY, edited(PAGES_DONE, name, to=value))
    case(f"{PAGES_DONE}: no {name}", EVERY, edited(PAGES_DONE, name, missing=True))
for value in (17, 0, 1 << 40):
    case(f"{PAGES_DONE}: {value} pages", EVERY, edited(PAGES_DONE, "pages", to=value))
for value in (0, 7, -1):
    case(f"{PAGES_DONE}: unit {value}", EVERY, edited(PAGES_DONE, "unit", "number", to=value))
case(f"{PAGES_DONE}: a unit without a source", EVERY, edited(PAGES_DONE, "unit", "source", missing=True))
case(f"{PAGES_DONE}: a unit with more", EVERY, edited(PAGES_DONE, "unit", "more", to=1))
case(f"{PAGES_DONE}: missing", EVERY - {"status"}, lambda run: (run / PAGES_DONE).unlink())
ninth = "done/pages-000009.json"
case("done: one unit too many", EVERY, lambda run: shutil.copy(run / PAGES_DONE, run / ninth) and None)
for given in ("[]", "{}", '{"source": 5}', '{"source": "x", "unit": {}}'):
    case(
        f"done/style-000001.json: {given}",
        {"status", "cut", "like", "grouped anew"},
        text("done/style-000001.json", given),
    )
OF_METHOD = {
    "style": {"clusters", "show", "like", "cut", "spread"},
    "replica": {"replicas", "group", "signed anew"},
    "language": {"fake", "hosts"},
    "phrases": {"phrases"},
    "sites": {"sites", "label", "judged anew"},
}
for method, commands in OF_METHOD.items():
    for given in (
        "[]",
        "{}",
        '{"source": "x", "counts": 5, "seconds": 1}',
        '{"source": 5, "counts": {}, "seconds": 1}',
    ):
        case(f"done/{method}.json: {given}", commands, text(f"done/{method}.json", given))
case("done/sketches.json: {}", SKETCHED, text("done/sketches.json", "{}"))

# Pages and their content.

PAGES_PART = "pages/part-000001.parquet"
ASK_PAGES = {"show", "like", "like file", "spread", "signed anew"}
damaged(PAGES_PART, EVERY)
columns_are_wrong(PAGES_PART, ASK_PAGES, "url")
columns_are_wrong(PAGES_PART, {"signed anew", "show"}, "page_id")
case(f"{PAGES_PART}: fewer rows", EVERY, table(PAGES_PART, lambda rows: rows.slice(0, 10)))
case(f"{PAGES_PART}: no rows", EVERY, table(PAGES_PART, lambda rows: rows.slice(0, 0)))
case(f"{PAGES_PART}: more rows", EVERY, table(PAGES_PART, lambda rows: pa.concat_tables([rows, rows])))
mixed = table(PAGES_PART, lambda rows: rows.take([*range(1, 9), 0, *range(9, len(rows))]))
case(f"{PAGES_PART}: rows in another order", {"show", "like", "spread"}, mixed)
for value in (1 << 62, -1, 0):
    wrong_id = table(PAGES_PART, column("page_id", first_is(value)))
    case(f"{PAGES_PART}: page_id {value}", {"show", "like", "spread"}, wrong_id)


def not_unicode(run: Path) -> None:
    """Bytes that are no UTF-8 in a column of text."""

    def make(values: pa.ChunkedArray) -> pa.Array:
        encoded = [b"\xff\xfe\x80", *(value.encode() for value in values.to_pylist()[1:])]
        whole = pa.array(encoded, pa.binary())
        return pa.StringArray.from_buffers(len(whole), *whole.buffers()[1:])

    table(PAGES_PART, column("url", make))(run)


case(f"{PAGES_PART}: a URL that is no text", ASK_PAGES, not_unicode)


def lies(run: Path) -> None:
    """The footer of one file behind the data of another."""
    one, other = ((run / f"pages/part-00000{number}.parquet").read_bytes() for number in (0, 1))
    sizes = [int.from_bytes(data[-8:-4], "little") + 8 for data in (one, other)]
    (run / PAGES_PART).write_bytes(one[: -sizes[0]] + other[-sizes[1] :])


case(f"{PAGES_PART}: the footer lies", {"show", "like", "spread"}, lies)

CONTENT_PART = "content/part-000001.parquet"
READ_CONTENT = {"signed anew", "compare"}
case(f"{CONTENT_PART}: truncated", READ_CONTENT, lambda run: os.truncate(run / CONTENT_PART, 900))
columns_are_wrong(CONTENT_PART, READ_CONTENT, "content", nulls=lambda values: [None] * len(values))
case(f"{CONTENT_PART}: fewer rows", READ_CONTENT, table(CONTENT_PART, lambda rows: rows.slice(0, 5)))
turned = column("content", lambda values: values.to_pylist()[::-1])
case(f"{CONTENT_PART}: other pages", READ_CONTENT, table(CONTENT_PART, turned))

# Style.

EDGES = "style/edges.parquet"
FORESTED = {"cut", "families", "show", "spread"}
damaged(EDGES, FORESTED)
columns_are_wrong(EDGES, FORESTED, "right_page_id")
columns_are_wrong(EDGES, FORESTED, "similarity")
for value in (1 << 62, -1, -(1 << 63), 1 << 40, 99, (1 << 32) + 18):
    for end in ("left_page_id", "right_page_id"):
        case(f"{EDGES}: {end} {value}", FORESTED, table(EDGES, column(end, first_is(value))))

MEMBERS, CLUSTERS, CLASSES = "style/members.parquet", "style/clusters.parquet", "classes/clusters.parquet"
damaged(MEMBERS, {"show"})
columns_are_wrong(MEMBERS, {"show"}, "style_cluster_id")
for name in ("page_id", "style_cluster_id"):
    for value in (1 << 62, -1, 99):
        case(f"{MEMBERS}: {name} {value}", {"show"}, table(MEMBERS, column(name, first_is(value))))
case(f"{MEMBERS}: no rows", {"show"}, table(MEMBERS, lambda rows: rows.slice(0, 0)))
damaged(CLUSTERS, {"clusters", "show"})
columns_are_wrong(CLUSTERS, {"clusters", "show"}, "style_cluster_id")
columns_are_wrong(CLUSTERS, {"clusters"}, "centre_url")
for name in ("style_cluster_id", "style_family_id", "centre_page_id"):
    for value in (1 << 62, -1, 99):
        case(f"{CLUSTERS}: {name} {value}", {"clusters"}, table(CLUSTERS, column(name, first_is(value))))
for value in (0, 2, -1, 1 << 62):
    numbers = table(CLUSTERS, column("cluster_number", first_is(value)))
    case(f"{CLUSTERS}: cluster_number {value}", {"clusters", "show"}, numbers)
damaged(CLASSES, {"clusters", "show"})
columns_are_wrong(CLASSES, {"clusters"}, "class")
columns_are_wrong(CLASSES, {"clusters"}, "same_text")
case(f"{CLASSES}: one row", {"clusters"}, table(CLASSES, lambda rows: rows.slice(0, 1)))
case(f"{CLASSES}: another cluster", {"clusters"}, table(CLASSES, column("style_cluster_id", first_is(5))))

FINGERPRINTS, AGAIN = "style/fingerprints/part-000000.parquet", {"grouped anew"}


def style_undone(change: Callable[[Path], None]) -> Callable[[Path], None]:
    return undone("style", change)


case(f"{FINGERPRINTS}: read by like", {"like"}, table(FINGERPRINTS, lambda rows: rows.slice(0, 3)))
damaged(FINGERPRINTS, AGAIN, style_undone)
columns_are_wrong(FINGERPRINTS, AGAIN, "fingerprint", style_undone)
columns_are_wrong(FINGERPRINTS, AGAIN, "filled", style_undone)
columns_are_wrong(FINGERPRINTS, AGAIN, "markup_fingerprint", style_undone)
columns_are_wrong(FINGERPRINTS, AGAIN, "skeleton_filled", style_undone)
for name, width in itertools.product(("fingerprint", "markup_fingerprint"), (4, 508, 516, 1020, 1028)):
    wide = column(name, lambda values, width=width: [bytes(width)] * len(values), pa.binary(width))
    case(f"{FINGERPRINTS}: {name} {width} bytes wide", AGAIN, style_undone(table(FINGERPRINTS, wide)))
case(f"{FINGERPRINTS}: fewer rows", AGAIN, style_undone(table(FINGERPRINTS, lambda rows: rows.slice(0, 3))))
case(f"{FINGERPRINTS}: page_id 7", AGAIN, style_undone(table(FINGERPRINTS, column("page_id", first_is(7)))))


def array(name: str, make: Callable[[np.ndarray], Any]) -> Callable[[Path], None]:
    """Replaces an array of the sketches."""

    def change(run: Path) -> None:
        path = run / "style" / "sketches" / f"{name}.npy"
        np.save(path, make(np.load(path)), allow_pickle=True)

    return change


def declared(shape: str) -> Callable[[Path], None]:
    """An array that says that it has another shape."""

    def change(run: Path) -> None:
        path = run / "style" / "sketches" / "words.npy"
        data = path.read_bytes()
        head = ("{'descr': '<u8', 'fortran_order': False, 'shape': " + shape + ", }").ljust(117) + "\n"
        path.write_bytes(data[:8] + len(head).to_bytes(2, "little") + head.encode() + data[128:])

    return change


NOTHING: set[str] = set()
for name, make in {
    "words: three rows": array("words", lambda rows: rows[:3]),
    "words: one column": array("words", lambda rows: np.ascontiguousarray(rows[:, :1])),
    "words: turned": array("words", lambda rows: np.ascontiguousarray(rows.T)),
    "words: by columns": array("words", np.asfortranarray),
    "words: signed": array("words", lambda rows: rows.astype(np.int64)),
    "words: big-endian": array("words", lambda rows: rows.astype(">u8")),
    "words: objects": array("words", lambda rows: rows.astype(object)),
    "words: no rows": array("words", lambda rows: rows[:0]),
    "words: a huge shape": declared("(1000000000, 16)"),
    "words: an impossible shape": declared("(-5, 16)"),
    "words: a shape of text": declared("'x'"),
    "words: a shape that is none": declared("((((((((((1, 16)"),
    "words: a NaN of a shape": declared("(1e99, 16)"),
    "values_words: three rows": array("values_words", lambda rows: rows[:3]),
    "values_words: one column": array("values_words", lambda rows: np.ascontiguousarray(rows[:, :1])),
    "skeleton_filled: two rows": array("skeleton_filled", lambda rows: np.stack([rows, rows])),
    "skeleton_filled: wide": array("skeleton_filled", lambda rows: rows.astype(np.int32)),
    "filled: two rows": array("filled", lambda rows: np.stack([rows, rows])),
    "filled: wide": array("filled", lambda rows: rows.astype(np.int32)),
    "filled: short": array("filled", lambda rows: rows[:-1]),
    "filled: half": array("filled", lambda rows: rows // 2),
    "words: one bit": array("words", lambda rows: rows ^ (np.arange(rows.size).reshape(rows.shape) == 5).astype("u8")),
    "words: two rows swapped": array("words", lambda rows: rows[[1, 0, *range(2, len(rows))]]),
    "comparable: none": array("comparable", np.zeros_like),
    "comparable: numbers": array("comparable", lambda rows: rows.astype(np.uint16)),
    "page_ids: others": array("page_ids", lambda rows: rows + (1 << 62)),
    "page_ids: real": array("page_ids", lambda rows: rows.astype(np.float64)),
}.items():
    case(f"style/sketches/{name}", NOTHING, make)
for name in ("words", "filled", "comparable", "page_ids"):
    path = f"style/sketches/{name}.npy"
    case(f"{path}: truncated", NOTHING, lambda run, path=path: os.truncate(run / path, 200))
    case(f"{path}: garbage", NOTHING, text(path, b"\x93NUMPY\x01\x00" + random.Random(name).randbytes(4000)))
    case(f"{path}: missing", NOTHING, lambda run, path=path: (run / path).unlink())
    case(f"{path}: a pipe", NOTHING, lambda run, path=path: (run / path).unlink() or os.mkfifo(run / path))


def archived(run: Path) -> None:
    """A .npz under the name of a .npy."""
    packed = io.BytesIO()
    np.savez(packed, words=np.zeros(3))
    (run / "style/sketches/words.npy").write_bytes(packed.getvalue())


case("style/sketches/words.npy: an archive", NOTHING, archived)

# Text groups. tests/test_phrases.py has a run with some.

damaged("phrases/groups.parquet", {"phrases"})

# Near replicas.

SIGNATURES = "replica/signatures/part-000001.parquet"


def replica_undone(change: Callable[[Path], None]) -> Callable[[Path], None]:
    return undone("replica", change)


damaged(SIGNATURES, AGAIN, replica_undone)
for name in ("signatures", "word_set", "words_digest"):
    columns_are_wrong(SIGNATURES, AGAIN, name, replica_undone)
columns_are_wrong(SIGNATURES, AGAIN, "link_hosts", lambda change: undone("classes", change))
for width in (8, 80, 96):
    wide = column("signatures", lambda values, width=width: [bytes(width)] * len(values), pa.binary(width))
    case(f"{SIGNATURES}: {width} bytes wide", AGAIN, replica_undone(table(SIGNATURES, wide)))
for kind in (pa.int64(), pa.uint64(), pa.string()):
    listed = column("word_set", lambda values, kind=kind: [[]] * len(values), pa.large_list(kind))
    case(f"{SIGNATURES}: words of {kind}", AGAIN, replica_undone(table(SIGNATURES, listed)))
case(f"{SIGNATURES}: fewer rows", AGAIN, replica_undone(table(SIGNATURES, lambda rows: rows.slice(0, 3))))
GROUPS, GROUPED = "replica/groups.parquet", "replica/members.parquet"
damaged(GROUPS, {"replicas", "group"})
damaged(GROUPED, {"group"})
columns_are_wrong(GROUPS, {"replicas"}, "documents")
columns_are_wrong(GROUPED, {"group"}, "linked_page_id")
for name in ("replica_group_id", "centre_page_id"):
    for value in (1 << 62, -1, 99):
        case(f"{GROUPS}: {name} {value}", {"replicas"}, table(GROUPS, column(name, first_is(value))))
for name in ("page_id", "replica_group_id", "linked_page_id"):
    for value in (1 << 62, -1, 99):
        case(f"{GROUPED}: {name} {value}", {"group"}, table(GROUPED, column(name, first_is(value))))
for value in (0, 2, -1):
    numbers = table(GROUPS, column("group_number", first_is(value)))
    case(f"{GROUPS}: group_number {value}", {"replicas", "group"}, numbers)
case(f"{GROUPED}: no rows", {"group"}, table(GROUPED, lambda rows: rows.slice(0, 0)))
case("replica/lexicon.parquet: garbage", NOTHING, text("replica/lexicon.parquet", b"garbage" * 99), also={"add"})
case("replica/lexicon.parquet: missing", NOTHING, lambda run: (run / "replica/lexicon.parquet").unlink(), also={"add"})

# Language.

JUDGED = "language/pages/part-000000.parquet"
damaged(JUDGED, {"fake", "hosts"})
columns_are_wrong(JUDGED, {"fake"}, "verdict")
columns_are_wrong(JUDGED, {"fake"}, "known_words")
columns_are_wrong(JUDGED, {"fake", "hosts"}, "page_id")
case(f"{JUDGED}: fewer rows", {"fake", "hosts"}, table(JUDGED, lambda rows: rows.slice(0, 3)))
for name in ("language/model.lm", "language/model.detector"):
    case(f"{name}: garbage", NOTHING, text(name, random.Random(name).randbytes(5000)), also={"add"})
    case(f"{name}: of another file", NOTHING, text(name, (DATA / "english.lexicon").read_bytes()))
    case(f"{name}: missing", NOTHING, lambda run, name=name: (run / name).unlink())

# Sites.

TAGS = "sites/pages/part-000000.parquet"
damaged(TAGS, {"judged anew"})
for name in ("tags", "text_sketch", "targets", "words", "kind"):
    columns_are_wrong(TAGS, {"judged anew"}, name)
wide = column("text_sketch", lambda values: [bytes(128)] * len(values), pa.binary(128))
case(f"{TAGS}: sketches of 128 bytes", {"judged anew"}, table(TAGS, wide))
for what, packed in {
    "half an escape": b"\x7f",
    "an escape and a byte": b"\x01\x02\x7f\x03",
    "escapes alone": b"\x7f" * 1000,
    "every tag": bytes(range(256)) * 20,
    "nothing": b"",
    "a million tags": b"\x05\x86" * 500_000,
}.items():
    made = table(TAGS, column("tags", lambda values, packed=packed: [packed] * len(values)))
    case(f"{TAGS}: {what}", NOTHING, made, may_differ=True)
for name, value in {"tag_count": -5, "words": -1, "links": -(1 << 31), "title_key": (1 << 64) - 1}.items():
    case(f"{TAGS}: {name} {value}", NOTHING, table(TAGS, column(name, first_is(value))), may_differ=True)
uneven = table(TAGS, column("target_links", lambda values: [[1, 2, 3]] * len(values)))
case(f"{TAGS}: links to other hosts than there are", NOTHING, uneven, may_differ=True)
SITES, SITE_CLUSTERS, PROVIDERS = "sites/sites.parquet", "sites/clusters.parquet", "sites/providers.parquet"
damaged(SITES, {"sites", "label"})
damaged(SITE_CLUSTERS, {"sites"})
damaged(PROVIDERS, {"sites"})
columns_are_wrong(SITES, {"sites", "label"}, "page_id")
columns_are_wrong(SITES, {"sites"}, "kind")
columns_are_wrong(SITES, {"sites"}, "probability")
columns_are_wrong(PROVIDERS, {"sites"}, "sites")
for name in ("page_id", "site_cluster_id"):
    for value in (1 << 62, -1, 99):
        case(f"{SITES}: {name} {value}", {"sites", "label"}, table(SITES, column(name, first_is(value))))
case("labels.jsonl: a pipe", {"label", "judged anew"}, lambda run: os.mkfifo(run / "labels.jsonl"))
case("labels.jsonl: a folder", {"label", "judged anew"}, lambda run: (run / "labels.jsonl").mkdir())
case("labels.jsonl: garbage", {"label", "judged anew"}, text("labels.jsonl", "page_id,url,label\n99,x,y\n"))
NAMESERVERS = "sites/nameservers.parquet"
case(f"{NAMESERVERS}: garbage", {"judged anew"}, text(NAMESERVERS, b"garbage"))
case(
    f"{NAMESERVERS}: numbers",
    {"judged anew"},
    lambda run: pq.write_table(pa.table({"domain": [1, 2], "ns": [3, 4]}), run / NAMESERVERS),
)

# The lock.

case("lock: a link", LOCKING, lambda run: (run / "lock").unlink() or (run / "lock").symlink_to("../victim"))
case("lock: a pipe", LOCKING, lambda run: (run / "lock").unlink() or os.mkfifo(run / "lock"))
case("lock: a folder", LOCKING, lambda run: (run / "lock").unlink() or (run / "lock").mkdir())


def linked(name: str) -> Callable[[Path], None]:
    """Puts a link to a file of the user in the place of a file that samehand writes."""

    def change(run: Path) -> None:
        (run / name).unlink(missing_ok=True)
        (run / name).symlink_to(os.path.relpath(run.parent / "victim", (run / name).parent))

    return change


for name in ("style/sketches/words.npy", "style/sketches/filled.npy"):
    case(f"{name}: a link", NOTHING, linked(name))
case("labels.jsonl: a link", {"label", "judged anew"}, linked("labels.jsonl"))
case("run.json: a link", EVERY, linked("run.json"))

VICTIM = "page_id,url,label\n"
"""Looks like a file that samehand could append to."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sound run of all methods that keeps its pages, and what the commands need."""
    folder = tmp_path_factory.mktemp("crafted")
    file = write_warc(folder / "crawl.warc", small_crawl())
    write_warc(folder / "more.warc", small_crawl(seed=2))
    settings = Settings(keep_pages=True, split_bytes=file.stat().st_size // 2 + 1000)
    (folder / "ns.csv").write_text("domain,ns\n" + "".join(f"shop1{n}.example,ns1.host.example\n" for n in range(6)))
    run = samehand.scan(file, folder / "run", signals="all", settings=settings, workers=1)
    run.sites(nameservers=folder / "ns.csv")
    run.verdicts()
    assert sorted(run.folder.done.parts("pages")) == [0, 1]
    assert len(run.clusters()) >= 2
    assert len(run.replicas()) >= 2
    (folder / "page.html").write_bytes(page(0, "other.example", 5))
    (folder / "seeds.txt").write_text("shop10.example\n")
    (folder / "victim").write_text(VICTIM)
    return folder


class Outcome(NamedTuple):
    """How a command ended; a code of None for an exception, below 0 for a signal."""

    code: int | None
    out: str
    err: str


def outcomes_of(jobs: list[tuple[Path, list[str]]]) -> Iterator[Outcome]:
    """How each job ended. A process that dies has done one job wrong; another goes on with the next."""
    while jobs:
        lines = "".join(json.dumps([str(folder), arguments]) + "\n" for folder, arguments in jobs)
        script = Path(__file__).with_name("crafted.py")
        process = subprocess.run(
            [sys.executable, str(script)], input=lines, capture_output=True, text=True, check=False, timeout=600
        )
        done = [Outcome(*json.loads(line)) for line in process.stdout.splitlines()]
        yield from done
        jobs = jobs[len(done) :]
        if jobs:
            yield Outcome(process.returncode or -1, "", process.stderr)
            jobs = jobs[1:]


def jobs_for(place: Path, target: Path, commands: set[str], change: Callable[[Path], None]) -> Iterator[Any]:
    """A job for each command: those that read share a copy of the run, those that write have their own."""
    for command in sorted(commands):
        folder = target / (command if command in WRITING else "reading")
        if not folder.exists():
            shutil.copytree(place, folder, copy_function=copied)
            change(folder / "run")
        yield folder, [str(place / "crawl.warc") if word == "CRAWL" else word for word in COMMANDS[command]]


def copied(source: str, target: str) -> None:
    """Large files are linked: a case that changes one has to replace it."""
    (os.link if os.stat(source).st_size > 1_000_000 else shutil.copyfile)(source, target)


@pytest.fixture(scope="module")
def outcomes(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Outcome]]:
    """How the commands ended on the sound run ("") and in each case. Victims must be as they were."""
    target = tmp_path_factory.mktemp("copies")
    sound = Case(lambda _: None, EVERY, set())
    jobs, names = [], []
    for number, (name, found) in enumerate([("", sound), *CASES.items()]):
        commands = found.refused | found.others
        names += [(name, command) for command in sorted(commands)]
        jobs += list(jobs_for(place, target / str(number), commands, found.change))
    ended: dict[str, dict[str, Outcome]] = {}
    for (name, command), outcome in zip(names, outcomes_of(jobs), strict=True):
        ended.setdefault(name, {})[command] = outcome
    for victim in target.rglob("victim"):
        assert victim.read_text() == VICTIM, victim
    return ended


def test_the_sound_run_answers_every_command(outcomes: dict[str, dict[str, Outcome]]) -> None:
    assert {command: found.code for command, found in outcomes[""].items()} == dict.fromkeys(COMMANDS, 0), outcomes[""]
    assert all(found.out for found in outcomes[""].values())


@pytest.mark.parametrize("name", CASES)
def test_a_crafted_run_is_refused_or_answers_as_the_sound_one(
    outcomes: dict[str, dict[str, Outcome]], name: str
) -> None:
    for command, found in outcomes[name].items():
        told = f"{command}: {found}"
        assert "Traceback" not in found.err, told
        if found.code == 2 or command in CASES[name].refused:
            assert (found.code, found.out) == (2, ""), told
            assert found.err.startswith("Error: "), told
            assert found.err.count("\n") == 1, told
            assert found.err.rstrip().endswith((".", "?", "NEW_FOLDER", "-o run")), told
        elif not CASES[name].may_differ:
            assert (found.code, found.out) == (0, outcomes[""][command].out), told
        else:
            assert found.code == 0, told
