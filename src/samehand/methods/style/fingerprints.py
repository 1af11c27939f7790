"""The stage of style: a row per page with both fingerprints, and what grouping reads of it."""

import dataclasses
import hashlib
import re
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.buffers import column_buffers, end_to_end, fixed_rows
from samehand.base.settings import Settings
from samehand.kernels import sketches
from samehand.kernels.noise import WHITE_SPACE
from samehand.methods.style.markup import markup_fingerprints
from samehand.methods.style.noise import fingerprint_buffers, noise_of
from samehand.methods.style.own_hosts import mask_own_hosts
from samehand.store.tables import STYLE_FINGERPRINTS

_FILLED = ("filled", "values_filled", "skeleton_filled")
STORED_COLUMNS = ("page_id", "exact_match_key", "fingerprint", "markup_fingerprint", *_FILLED)
_Value = TypeVar("_Value", np.uint32, np.uint64)
_TAG_NAME = re.compile(rb"</?[A-Za-z][A-Za-z0-9]*")


def style_batch(pages: pa.RecordBatch, settings: Settings) -> pa.RecordBatch:
    """The stage function of style: a batch of pages with content in, a row of STYLE_FINGERPRINTS for each out.

    Every fingerprint is made here, those of a scan as well as that of a page someone asks about.
    """
    data, offsets = column_buffers(pages.column("content"))
    values, lengths = fingerprint_buffers(data, offsets, settings)
    markup = markup_fingerprints(data, offsets, settings)
    masked = mask_own_hosts(pages, settings.host_mask_max_page_bytes)
    if masked:
        rows, again = list(masked), end_to_end(masked.values())
        values[rows], lengths[rows] = fingerprint_buffers(*again, settings)
        markup[rows] = markup_fingerprints(*again, settings)
    filled = sketches.count_filled(values)
    keys = np.zeros(filled.size, np.uint64)
    for row in np.flatnonzero(filled < settings.min_filled).tolist():
        content = masked.get(row)
        keys[row] = _exact_match_key(pages.column("content")[row].as_py() if content is None else content, settings)
    columns = [
        pages.column("page_id"),
        *map(pa.array, (lengths, keys, filled)),
        _fixed(values),
        *(pa.array(sketches.count_filled(half)) for half in halves(markup)),
        _fixed(markup),
    ]
    return pa.record_batch(columns, schema=STYLE_FINGERPRINTS.schema(settings))


def halves(markup: NDArray[_Value]) -> tuple[NDArray[_Value], NDArray[_Value]]:
    """The fingerprints of the values and of the skeleton, wide or narrow."""
    middle = markup.shape[1] // 2
    return np.ascontiguousarray(markup[:, :middle]), np.ascontiguousarray(markup[:, middle:])


def _fixed(values: NDArray[np.uint32]) -> pa.Array:
    """Fingerprints as a column; those without dimensions as empty bytes, because Parquet has no type of width 0."""
    if not values.shape[1]:
        return pa.array([b""] * len(values), pa.binary())
    buffers = [None, pa.py_buffer(np.ascontiguousarray(values, "<u4"))]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(4 * values.shape[1]), len(values), buffers)


def _exact_match_key(content: bytes, settings: Settings) -> int:
    """What must be equal for two pages to be grouped that are too small to compare; 0 is equal to nothing.

    The noise and the tag names, or all bytes where the noise is next to nothing but the brackets of tags. Strangers
    write the same few tags: `<html><head><title>` says little, punctuation and attributes say more.
    """
    kept = noise_of(content, settings)
    if not kept:
        return 0
    if len(kept.translate(None, b"<>/" + WHITE_SPACE)) >= settings.min_noise_bytes:
        content = kept + b"\0" + b"".join(_TAG_NAME.findall(content)).lower()
    digest = hashlib.blake2b(content, digest_size=8, key=settings.key.encode()[:64]).digest()
    return int.from_bytes(digest, "little")


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """Stored fingerprints as grouping needs them: wide values, which rows can be compared, keys of the others."""

    page_ids: NDArray[np.int64]
    values: NDArray[np.uint32]
    filled: NDArray[np.int16]
    markup: NDArray[np.uint32]
    values_filled: NDArray[np.int16]
    skeleton_filled: NDArray[np.int16]
    comparable: NDArray[np.bool_]
    small: NDArray[np.uint64]

    @classmethod
    def of(cls, batch: pa.RecordBatch, settings: Settings) -> "Stored":
        """From a batch of STORED_COLUMNS. Rows too small to compare are the same where their keys are."""
        values = fixed_rows(batch.column("fingerprint"), np.uint32)
        markup = np.zeros((len(batch), 0), np.uint32)
        if settings.markup_dimensions:
            markup = fixed_rows(batch.column("markup_fingerprint"), np.uint32)
        filled, in_values, in_skeleton = (batch.column(name).to_numpy() for name in _FILLED)
        is_paper = settings.estimator == "paper"
        comparable = filled >= (1 if is_paper else max(1, settings.min_filled))
        small = np.zeros(len(batch), np.uint64) if is_paper else batch.column("exact_match_key").to_numpy()
        page_ids = batch.column("page_id").to_numpy()
        return cls(page_ids, values, filled, markup, in_values, in_skeleton, comparable, small)

    @property
    def identity(self) -> NDArray[np.uint64]:
        """What rows that are the same share; 0 for a row that is the same as no other."""
        return self.identity_by(sketches.hash_rows(self.values), sketches.hash_rows(self.markup))

    def identity_by(self, noise: NDArray[np.uint64], markup: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The same from hashes of both fingerprints."""
        return np.where(self.comparable, np.maximum(noise ^ (markup >> np.uint64(1)), np.uint64(1)), self.small)
