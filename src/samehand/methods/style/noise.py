"""Hidden style similarity (Urvoy, Lavergne, Filoche: Tracking Web Spam with Hidden Style Similarity, AIRWeb 2006).

A page's noise is what is left of its source when letters and digits are dropped (section 3.1). Its shingles are
overlapping windows of the noise, hashed under a key. Two pages of the same template share many shingles, whatever
their words. A fingerprint keeps one minimum per dimension (section 3.3), so that similarity can be estimated from
512 bytes a page.

Four things differ from the paper, each explained in docs/style.md; the preset "paper" switches them off. The
estimate divides by the dimensions filled in either page: the paper divides by m, so that small pages look different
even from themselves. White space is folded, which takes a cheap disguise away. Shingles are 16 bytes, not 32. Small
pages leave out the dots and hyphens of their own host name.
"""

import dataclasses
import functools
import hashlib
import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers, end_to_end, fixed_rows
from samehand.base.settings import Settings
from samehand.grouping.sketches import WIDE, lanes_of, sketch_words
from samehand.kernels import noise, sketches
from samehand.methods.style.own_hosts import mask_own_hosts
from samehand.store.tables import STYLE_FINGERPRINTS

_LETTERS_AND_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WHITE_SPACE = b" \t\n\r\f\v"
_TAG_NAME = re.compile(rb"</?[A-Za-z][A-Za-z0-9]*")


@dataclasses.dataclass(frozen=True, slots=True)
class HashTables:
    """What the kernels look up: what becomes of a byte, its value in the rolling hash, a mask for each dimension."""

    kept: NDArray[np.uint16]
    entering: NDArray[np.uint64]
    leaving: NDArray[np.uint64]
    masks: NDArray[np.uint64]


@functools.lru_cache(maxsize=8)
def _tables(key: str, shingle_bytes: int, dimensions: int, fold_spaces: bool) -> HashTables:
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
    return HashTables(kept, entering.copy(), leaving, masks.copy())


def tables_of(settings: Settings) -> HashTables:
    """The tables of these settings."""
    return _tables(settings.key, settings.shingle_bytes, settings.dimensions, settings.fold_spaces)


def style_batch(pages: pa.RecordBatch, settings: Settings) -> pa.RecordBatch:
    """The stage function of style: a batch of pages with content in, a row of STYLE_FINGERPRINTS for each out.

    Every fingerprint is made here, those of a scan as well as that of a page someone asks about.
    """
    data, offsets = column_buffers(pages.column("content"))
    values, lengths, digests = fingerprint_buffers(data, offsets, settings)
    masked = mask_own_hosts(pages, settings.host_mask_max_page_bytes)
    if masked:
        rows = list(masked)
        again = fingerprint_buffers(*end_to_end(masked.values()), settings)
        values[rows], lengths[rows], digests[rows] = again
    filled = sketches.count_filled(values)
    keys = np.zeros(filled.size, np.uint64)
    for row in np.flatnonzero(filled < settings.min_filled).tolist():
        content = masked.get(row)
        keys[row] = _exact_match_key(pages.column("content")[row].as_py() if content is None else content, settings)
    fingerprints = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(4 * settings.dimensions), len(values), [None, pa.py_buffer(np.ascontiguousarray(values, "<u4"))]
    )
    columns = [pages.column("page_id"), *map(pa.array, (lengths, digests, keys, filled)), fingerprints]
    return pa.record_batch(columns, schema=STYLE_FINGERPRINTS.schema(settings))


def fingerprint_buffers(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: Settings
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint64]]:
    """Fingerprints, noise lengths and noise digests of pages that lie end to end."""
    tables = tables_of(settings)
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


def _exact_match_key(content: bytes, settings: Settings) -> int:
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


def noise_of(content: bytes, settings: Settings) -> bytes:
    """The noise of one page."""
    page = np.frombuffer(content, np.uint8)
    kept = np.empty(page.size + 1, np.uint8)
    length = noise.extract_noise(page, tables_of(settings).kept, settings.fold_spaces, kept)
    return kept[:length].tobytes()


def estimate(left: NDArray[np.uint32], right: NDArray[np.uint32], settings: Settings) -> float:
    """Similarity of two fingerprints, by the estimator of the settings."""
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
        """From a batch of STORED_COLUMNS. Rows too small to compare are the same where their keys are."""
        values = fixed_rows(batch.column("fingerprint"), np.uint32)
        filled = batch.column("filled").to_numpy()
        is_paper = settings.estimator == "paper"
        comparable = filled >= (1 if is_paper else max(1, settings.min_filled))
        small = np.zeros(len(batch), np.uint64) if is_paper else batch.column("exact_match_key").to_numpy()
        identity = np.where(comparable, sketches.hash_rows(values), small)
        return cls(batch.column("page_id").to_numpy(), values, filled, comparable, identity)


STORED_COLUMNS = ("page_id", "exact_match_key", "filled", "fingerprint")
