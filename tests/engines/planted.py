"""Runs that hold rows of methods and no content, planted so that grouping has all its work to do."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.kernels.noise import EMPTY
from samehand.kernels.sketches import count_filled
from samehand.kernels.text.wordsets import digest_sets
from samehand.methods.replica.signatures import FEW_WORDS, SIGNED
from samehand.methods.style.fingerprints import halves
from samehand.sources import Source, Unit
from samehand.store.done import part_name
from samehand.store.folder import MADE_WITH, RunFolder
from samehand.store.tables import PAGES, REPLICA_SIGNATURES, STYLE_FINGERPRINTS

SETTINGS = Settings()
LEXICONS = SETTINGS.randomised_lexicons + 1


def planted(seed: int, *, crowd: int, worm: int) -> NDArray[np.uint32]:
    """Near-identical pages that fill buckets, a worm, families, equal pages, small ones, strangers: in no order."""
    rng = np.random.default_rng(seed)
    dimensions = SETTINGS.dimensions

    def strangers(count: int) -> NDArray[np.uint32]:
        return rng.integers(0, 1 << 32, (count, dimensions), dtype=np.uint32)

    def near(rows: NDArray[np.uint32], share: float) -> NDArray[np.uint32]:
        return np.where(rng.random(rows.shape) < share, strangers(len(rows)), rows)

    chain = [strangers(1)[0]]
    for step in range(worm):
        chain.append(chain[-1].copy())
        chain[-1][(16 * step + np.arange(16)) % dimensions] = strangers(1)[0, :16]
    centres = near(np.repeat(strangers(6), 6, axis=0), 0.62)
    values = [
        near(np.repeat(strangers(1), crowd, axis=0), 0.02),
        near(np.repeat(strangers(1), crowd // 8, axis=0), 0.7),
        np.array(chain),
        near(np.repeat(centres, 12, axis=0), 0.08),
        np.repeat(strangers(20), 5, axis=0),
        strangers(100),
    ]
    small = np.repeat(strangers(8), 4, axis=0)
    small[:, SETTINGS.min_filled // 2 :] = EMPTY
    half = near(np.repeat(strangers(4), 10, axis=0), 0.2)
    half[rng.random(half.shape) < 0.4] = EMPTY
    return rng.permutation(np.concatenate([*values, small, half]).astype(np.uint32))


def fingerprint_rows(values: NDArray[np.uint32]) -> pa.Table:
    """Fingerprints as a part holds them, without page ids."""
    filled = count_filled(values)
    # Pages too small to compare are the same where this key is; some are the same as nothing.
    keys = np.where(filled < SETTINGS.min_filled, values[:, 0].astype(np.uint64) * (values[:, 0] % 3 != 0), 0)
    columns = {
        "noise_bytes": np.zeros(len(values), np.int64),
        "exact_match_key": keys.astype(np.uint64),
        "filled": filled,
        "fingerprint": pa.array([row.tobytes() for row in values], pa.binary(4 * SETTINGS.dimensions)),
    }
    markup = markup_of(values)
    columns["values_filled"], columns["skeleton_filled"] = map(count_filled, halves(markup))
    columns["markup_fingerprint"] = pa.array([row.tobytes() for row in markup], pa.binary(4 * markup.shape[1]))
    return pa.table(columns)


def markup_of(values: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Fingerprints of markup: like the noise, unlike it on some pages, and next to nothing on others."""
    rng = np.random.default_rng(len(values))
    turned = np.where(values == EMPTY, EMPTY, values ^ np.uint32(1))
    markup = np.tile(turned, (1, SETTINGS.markup_dimensions // SETTINGS.dimensions)).astype(np.uint32)
    kind = rng.random(len(values))
    markup[kind < 0.1] = rng.integers(0, 1 << 32, (int(np.sum(kind < 0.1)), markup.shape[1]), dtype=np.uint32)
    markup[kind > 0.9, 40:] = EMPTY
    return markup


def signature_rows(seed: int, count: int) -> pa.Table:
    """Documents as a part holds them: a crowd, chains, equal sets, sets that only a hash calls equal, strangers."""
    rng = np.random.default_rng(seed)
    documents: list[tuple[NDArray[np.uint32], NDArray[np.uint64]]] = []

    def signatures(kept: NDArray[np.uint64] | None = None, share: float = 0.0) -> NDArray[np.uint64]:
        new = rng.integers(1, 1 << 63, LEXICONS, dtype=np.uint64)
        return new if kept is None else np.where(rng.random(LEXICONS) < share, kept, new)

    def words(size: int) -> NDArray[np.uint32]:
        return rng.choice(1 << 32, size, replace=False).astype(np.uint32)

    def add(found: NDArray[np.uint32], signed: NDArray[np.uint64]) -> None:
        documents.append((np.unique(found), signed))

    base, common = words(60), signatures()
    for _ in range(300):  # near each other and in one bucket
        signed = signatures(common, 0.5)
        signed[0] = common[0]
        add(np.where(rng.random(60) < 0.04, words(60), base), signed)
    for _ in range(80):  # in one bucket and not near each other
        add(words(60), np.concatenate([common[1:2], signatures()[1:]]))
    link, signed = words(50), signatures()
    for step in range(60):
        signed = signatures(signed, 0.6)
        link = link.copy()
        link[3 * step % 50 : 3 * step % 50 + 3] = words(3)[: len(link[3 * step % 50 : 3 * step % 50 + 3])]
        add(link, signed)
    for _ in range(30):
        same, signed = words(40), signatures()
        for _ in range(4):
            add(same, signed)
    refused = np.zeros(LEXICONS, np.uint64)
    for _ in range(5):
        same = words(9)
        add(same, refused)
        add(same, refused)
    few = len(documents)
    for _ in range(20):
        add(words(2), refused)
    liars = len(documents)
    for _ in range(2):
        add(words(40), signatures())
    while len(documents) < count:
        add(words(30), signatures())
    starts = np.concatenate([[0], np.cumsum([len(found) for found, _ in documents])])
    digests = digest_sets(starts, np.concatenate([found for found, _ in documents]).astype(np.uint64))
    digests[few : few + 20] = 0
    digests[liars + 1] = digests[liars]
    statuses = np.where(digests == 0, FEW_WORDS, SIGNED)
    order = rng.permutation(len(documents))
    zeros = np.zeros(len(documents), np.int64)
    columns = {
        "distinct_words": np.diff(starts),
        "overlap": zeros,
        "overlap_secondary": zeros,
        "status": pa.array(statuses),
        "words_digest": digests,
        "signatures": pa.array([signed.tobytes() for _, signed in documents], pa.binary(8 * LEXICONS)),
        **sketch_columns(rng, len(documents)),
        "word_set": pa.array([found for found, _ in documents], pa.large_list(pa.uint32())),
        "link_hosts": pa.array([[]] * len(documents), pa.large_list(pa.uint64())),
        "markup_flags": pa.array((np.arange(len(documents)) % 50 == 0).astype(np.uint8)),
    }
    return pa.table(columns).take(pa.array(order))


def sketch_columns(rng: np.random.Generator, count: int) -> dict[str, Any]:
    """Sketches of neighbouring words: a crowd, a chain, near and equal ones, some that share text, strangers."""

    def strangers(rows: int) -> NDArray[np.uint8]:
        return rng.integers(0, 1 << 8, (rows, 128)).astype(np.uint8)

    def near(rows: NDArray[np.uint8], share: float) -> NDArray[np.uint8]:
        return np.where(rng.random(rows.shape) < share, strangers(len(rows)), rows)

    chain = [strangers(1)[0]]
    for step in range(60):
        chain.append(chain[-1].copy())
        chain[-1][(40 * step + np.arange(40)) % 128] = strangers(1)[0, :40]
    sketches = [
        near(np.repeat(strangers(1), 200, axis=0), 0.2),
        near(np.repeat(strangers(20), 8, axis=0), 0.3),
        near(np.repeat(strangers(20), 5, axis=0), 0.5),
        np.array(chain),
        np.repeat(strangers(10), 3, axis=0),
    ]
    found = np.concatenate(sketches)
    found = np.concatenate([found, strangers(max(0, count - len(found)))])[:count].astype(np.uint8)
    pairs = (20 + 50 * (found[:, 0].astype(np.int32) % 7)).astype(np.int32)
    pairs[::17] = 0
    pairs[::19] *= -1
    found[::17] = 0
    return {"pairs": pairs, "pair_sketch": pa.array([row.tobytes() for row in found], pa.binary(128))}


def page_rows(count: int, seed: int = 0) -> pa.Table:
    """Pages on a few hundred hosts; some have no private domain, some no host at all."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 300, count).tolist()
    columns = {
        "url": [f"http://h{number}.s{number % 90}.com/{row}" for row, number in enumerate(numbers)],
        "doc_id": [f"doc-{row}" if row % 3 else None for row in range(count)],
        "url_kind": ["domain"] * count,
        "url_host_name": [f"h{number}.s{number % 90}.com" if number % 50 else None for number in numbers],
        "url_host_private_domain": [f"s{number % 90}.com" if number % 10 else None for number in numbers],
        "source_path": ["planted"] * count,
    }
    for field in PAGES.fixed_schema:
        if field.name not in columns and field.name != "page_id":
            none = pa.nulls(count, field.type)
            columns[field.name] = none if field.nullable else none.fill_null(0)
    return pa.table(columns)


def read_record(number: int, pages: int) -> dict[str, Any]:
    """What the record of a unit says that was read."""
    unit = Unit(number, Source(name="planted", path="planted", kind="warc", size=0, digest=""), 0, 0)
    counts = {"pages": pages, "without_url": 0, "damaged": 0, "content_bytes": 0, "seconds": 0.0}
    bounds = {"first": 0, "stop": 0, "settings": "", "rejected": {}, "skipped": {}}
    return {"unit": unit.as_dict(), **counts, **bounds}


def write_run(path: Path, values: NDArray[np.uint32], bounds: tuple[int, ...] = ()) -> RunFolder:
    """A run of pages with fingerprints and signatures, cut into parts at `bounds`. One part has no pages."""
    folder = RunFolder(path)
    sizes = np.diff([0, *bounds, len(values), len(values)])
    manifest = {
        "settings": {},
        "read_settings": SETTINGS.digest(*MADE_WITH),
        "key": "public",
        "stages": {},
        "state": "reading",
    }
    lists = {"inputs": [], "unreadable": [], "failures": [], "methods": ["style", "replica"]}
    folder.save_manifest({**manifest, **lists, "units": len(sizes)})
    rows = {
        PAGES: page_rows(len(values)),
        STYLE_FINGERPRINTS: fingerprint_rows(values),
        REPLICA_SIGNATURES: signature_rows(1, len(values)).slice(0, len(values)),
    }
    first = 0
    for place, size in enumerate(sizes.tolist()):
        unit = 3 * place + 1
        for table, stored in rows.items():
            ids = pa.array((unit << 32) + np.arange(size))
            with folder.writer(table, SETTINGS, unit) as writer:
                writer.write(stored.slice(first, size).append_column("page_id", ids))
        folder.done.set(part_name(PAGES.name, unit), read_record(unit, size))
        first += size
    return folder
