"""Hidden style similarity (Urvoy, Lavergne, Filoche: Tracking Web Spam with Hidden Style Similarity, AIRWeb 2006).

A page's noise is what is left of its source when letters and digits are dropped (section 3.1). Its parts are the
overlapping windows of the noise, hashed under a key. Two pages of the same template share many parts, whatever
their words. A fingerprint keeps one minimum per dimension (section 3.3), so that similarity can be estimated from
512 bytes a page.

Four things differ from the paper, each explained in docs/style.md; the preset "paper" switches them off. The
estimate divides by the dimensions filled in either page: the paper divides by m, so that small pages look different
even from themselves. White space is folded, which takes a cheap disguise away. Parts are 16 bytes, not 32. Small
pages leave out the dots and hyphens of their own host name.
"""

import dataclasses
import functools
import hashlib
import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.grouping.sketches import WIDE, lanes_of, sketch_words
from samehand.kernels import noise, sketches

_LETTERS_AND_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WHITE_SPACE = b" \t\n\r\f\v"
_NAME_COLUMNS = ("url_host_name", "url_host_private_domain")
_TAG_NAME = re.compile(rb"</?[A-Za-z][A-Za-z0-9]*")


@dataclasses.dataclass(frozen=True, slots=True)
class _Tables:
    """What the kernels look up: what becomes of a byte, its value in the rolling hash, a mask for each dimension."""

    kept: NDArray[np.uint16]
    entering: NDArray[np.uint64]
    leaving: NDArray[np.uint64]
    masks: NDArray[np.uint64]


@functools.lru_cache(maxsize=8)
def _tables(key: str, shingle_bytes: int, dimensions: int, fold_spaces: bool) -> _Tables:
    kept = np.arange(256, dtype=np.uint16) | np.uint16(noise.NOISE)
    kept[list(_LETTERS_AND_DIGITS)] = 0
    kept[128:] = 0  # letters of other scripts are content too
    if fold_spaces:
        kept[list(_WHITE_SPACE)] = noise.NOISE | ord(" ")
    drawn = hashlib.shake_256(b"samehand style 1\0" + key.encode()).digest(8 * (256 + dimensions))
    numbers = np.frombuffer(drawn, "<u8").astype(np.uint64)
    entering, masks = numbers[:256], numbers[256:]
    # A byte that entered shingle_bytes steps ago has been rotated that often: this takes it out again.
    leaving = (entering << np.uint64(shingle_bytes)) | (entering >> np.uint64(64 - shingle_bytes))
    return _Tables(kept, entering.copy(), leaving, masks.copy())


def _tables_of(settings: Settings) -> _Tables:
    return _tables(settings.key, settings.shingle_bytes, settings.dimensions, settings.fold_spaces)


def style_schema(settings: Settings) -> pa.Schema:
    """Columns of style/fingerprints: what the style signal says of each page."""
    return pa.schema(
        [
            pa.field("page_id", pa.int64(), nullable=False),
            pa.field("noise_bytes", pa.int64(), nullable=False),
            pa.field("noise_digest", pa.uint64(), nullable=False),
            pa.field("equality", pa.uint64(), nullable=False),
            pa.field("filled", pa.int16(), nullable=False),
            pa.field("fingerprint", pa.binary(4 * settings.dimensions), nullable=False),
        ]
    )


def style_batch(pages: pa.RecordBatch, settings: Settings) -> pa.RecordBatch:
    """The stage function of the style signal: a batch of pages with content in, their fingerprints out."""
    data, offsets = page_buffers(pages.column("content"))
    values, lengths, digests = fingerprint_buffers(data, offsets, settings)
    renamed = _without_own_names(pages, settings)
    if renamed:
        rows = list(renamed)
        again = fingerprint_buffers(*page_buffers(pa.array(renamed.values(), pa.large_binary())), settings)
        values[rows], lengths[rows], digests[rows] = again
    filled = sketches.count_filled(values)
    equality = np.zeros(filled.size, np.uint64)
    for row in np.flatnonzero(filled < settings.min_filled).tolist():
        content = renamed.get(row)
        equality[row] = _equality_key(pages.column("content")[row].as_py() if content is None else content, settings)
    columns = [
        pages.column("page_id"),
        pa.array(lengths),
        pa.array(digests),
        pa.array(equality),
        pa.array(filled),
        pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(4 * settings.dimensions), len(values), [None, pa.py_buffer(np.ascontiguousarray(values, "<u4"))]
        ),
    ]
    return pa.record_batch(columns, schema=style_schema(settings))


def _without_own_names(pages: pa.RecordBatch, settings: Settings) -> dict[int, bytes]:
    """Small pages that name their own host, by row, with the dots and hyphens of that name left out.

    A parked page shows its domain again and again. That name is content: on a page of a few hundred bytes of noise
    the dots of one under co.uk would make another template of it.
    """
    sizes = np.diff(page_buffers(pages.column("content"))[1])
    small = np.flatnonzero((sizes > 0) & (sizes <= settings.host_mask_max_page_bytes))
    if not small.size or "url_host_name" not in pages.schema.names:
        return {}
    contents = pages.column("content").take(pa.array(small)).to_pylist()
    hosts, domains = (pages.column(name).take(pa.array(small)).to_pylist() for name in _NAME_COLUMNS)
    found = {}
    for row, content, host, domain in zip(small.tolist(), contents, hosts, domains, strict=True):
        renamed = _without_names(content, host, domain)
        if renamed is not content:
            found[row] = renamed
    return found


def _without_names(content: bytes, host: str | None, domain: str | None) -> bytes:
    """One search for each name. Its first letter is left out of it, because that may be a capital."""
    for name in {(host or "").removeprefix("www."): None, domain or "": None}:
        tail = name[1:].encode("ascii", "ignore")
        if tail and tail in content:
            content = content.replace(tail, tail.translate(None, b".-"))
    return content


def page_buffers(content: pa.LargeBinaryArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The column's bytes and offsets as they lie in memory: nothing is copied."""
    _, offsets, data = content.buffers()
    bounds = np.frombuffer(offsets, np.int64, len(content) + 1, 8 * content.offset)
    return np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8), bounds


def fingerprint_buffers(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: Settings
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint64]]:
    """Fingerprints, noise lengths and noise digests of pages that lie end to end."""
    tables = _tables_of(settings)
    return noise.fingerprint_pages(
        data,
        offsets,
        tables.kept,
        settings.fold_spaces,
        tables.entering,
        tables.leaving,
        tables.masks,
        settings.shingle_bytes,
    )


def _equality_key(content: bytes, settings: Settings) -> int:
    """What must be equal for two pages to be grouped that are too small to compare; 0 is equal to nothing.

    The noise and the tag names, or all bytes where the noise is next to nothing but the brackets of tags. Strangers
    write the same few tags: `<html><head><title>` says little, punctuation and attributes say more.
    """
    kept = noise_of(content, settings)
    if not kept:
        return 0
    if len(kept.translate(None, b"<>/" + _WHITE_SPACE)) >= settings.min_noise_bytes:
        content = kept + b"\0" + b"".join(_TAG_NAME.findall(content)).lower()
    digest = hashlib.blake2b(content, digest_size=8, key=settings.key.encode()[:64]).digest()
    return int.from_bytes(digest, "little")


def fingerprint(content: bytes, settings: Settings | None = None) -> NDArray[np.uint32]:
    """The fingerprint of one page."""
    data = np.frombuffer(content, np.uint8)
    values, _, _ = fingerprint_buffers(data, np.array([0, data.size]), settings or Settings())
    return values.reshape(-1)


def noise_of(content: bytes, settings: Settings | None = None) -> bytes:
    """The noise of one page."""
    settings = settings or Settings()
    page = np.frombuffer(content, np.uint8)
    kept = np.empty(page.size + 1, np.uint8)
    length = noise.extract_noise(page, _tables_of(settings).kept, settings.fold_spaces, kept)
    return kept[:length].tobytes()


def part_set(content: bytes, settings: Settings | None = None) -> NDArray[np.uint64]:
    """The hashes of a page's parts, each once."""
    return np.unique(_Side.of(content, settings or Settings()).parts)


def estimate(left: NDArray[np.uint32], right: NDArray[np.uint32], settings: Settings | None = None) -> float:
    """Similarity of two fingerprints, by the estimator of the settings."""
    settings = settings or Settings()
    rows = sketch_words(np.stack([left, right]), WIDE)
    lanes = lanes_of(settings.dimensions, bits=WIDE, floor=estimator_floor(settings))
    both = sketches.SketchRows(rows, sketches.count_filled(np.stack([left, right])), lanes)
    return float(sketches.cross_similarities(both, both)[0, 1])


def estimator_floor(settings: Settings) -> int:
    """The least the matches are divided by: m for the paper's estimator, 1 for ours."""
    return settings.dimensions if settings.estimator == "paper" else 1


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """Stored fingerprints as grouping needs them: wide values, which rows can be compared, which are the same."""

    page_ids: NDArray[np.int64]
    values: NDArray[np.uint32]
    filled: NDArray[np.int16]
    comparable: NDArray[np.bool_]
    identity: NDArray[np.uint64]

    @classmethod
    def of(cls, batch: pa.RecordBatch, settings: Settings) -> "Stored":
        """From a batch of STORED_COLUMNS. Rows too small to compare are the same where their keys of equality are."""
        column = batch.column("fingerprint")
        values = np.frombuffer(column.buffers()[1], "<u4").reshape(-1, settings.dimensions)
        values = values[column.offset : column.offset + len(column)]
        filled = batch.column("filled").to_numpy()
        is_paper = settings.estimator == "paper"
        comparable = filled >= (1 if is_paper else max(1, settings.min_filled))
        small = np.zeros(len(batch), np.uint64) if is_paper else batch.column("equality").to_numpy()
        identity = np.where(comparable, sketches.hash_rows(values), small)
        return cls(batch.column("page_id").to_numpy(), values, filled, comparable, identity)


STORED_COLUMNS = ("page_id", "equality", "filled", "fingerprint")


@dataclasses.dataclass(frozen=True, slots=True)
class SharedRun:
    """A stretch of noise that both pages have, and the bytes of each source it stands in."""

    noise: bytes
    left: tuple[int, int]
    right: tuple[int, int]
    parts: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two pages compared in full: exact similarities, the estimate, and what they share."""

    jaccard: float
    dice: float
    estimate: float
    left_parts: int
    right_parts: int
    shared_parts: int
    same_noise: bool
    runs: tuple[SharedRun, ...]


def compare(left: bytes | str, right: bytes | str, *, settings: Settings | None = None) -> Comparison:
    """Compares two pages part by part (section 2.1), and maps the shared noise back to both sources.

    Pages are HTML, as bytes or as text; places are byte offsets, of the UTF-8 form of a text.
    """
    settings = settings or Settings()
    left, right = (page.encode("utf-8", "replace") if isinstance(page, str) else page for page in (left, right))
    sides = _Side.of(left, settings), _Side.of(right, settings)
    sets = np.unique(sides[0].parts), np.unique(sides[1].parts)
    shared = np.intersect1d(sets[0], sets[1], assume_unique=True).size
    total = sets[0].size + sets[1].size
    same_noise = sides[0].noise == sides[1].noise
    if total:
        jaccard, dice = shared / (total - shared), 2 * shared / total
    else:  # no part in either: only equality can say anything
        jaccard = dice = float(same_noise)
    return Comparison(
        jaccard=jaccard,
        dice=dice,
        estimate=estimate(fingerprint(left, settings), fingerprint(right, settings), settings),
        left_parts=sets[0].size,
        right_parts=sets[1].size,
        shared_parts=shared,
        same_noise=same_noise,
        runs=_shared_runs(*sides, settings.shingle_bytes),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Side:
    noise: bytes
    positions: NDArray[np.int64]
    parts: NDArray[np.uint64]

    @classmethod
    def of(cls, content: bytes, settings: Settings) -> "_Side":
        tables = _tables_of(settings)
        kept = noise_of(content, settings)
        positions = noise.noise_positions(np.frombuffer(content, np.uint8), tables.kept, settings.fold_spaces)
        parts = noise.hash_shingles(
            np.frombuffer(kept, np.uint8), tables.entering, tables.leaving, settings.shingle_bytes
        )
        return cls(kept, positions, parts)

    def source(self, start: int, length: int) -> tuple[int, int]:
        """The bytes of the source that hold noise[start:start + length]."""
        return int(self.positions[start]), int(self.positions[start + length - 1]) + 1


def _shared_runs(left: _Side, right: _Side, shingle_bytes: int) -> tuple[SharedRun, ...]:
    """Maximal stretches of parts in the same order on both sides, longest first."""
    found = []
    for start, other, parts in noise.shared_runs(left.parts, right.parts):
        length = int(parts) + shingle_bytes - 1
        text = left.noise[start : start + length]
        found.append(SharedRun(text, left.source(start, length), right.source(other, length), int(parts)))
    return tuple(sorted(found, key=lambda run: (-run.parts, run.left)))
