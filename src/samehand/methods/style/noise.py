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

import numpy as np
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.kernels import noise
from samehand.kernels.compaction import BLOCK


@dataclasses.dataclass(frozen=True, slots=True)
class HashTables:
    """What the kernels look up: the value of a byte in the rolling hash, and a mask for each dimension."""

    entering: NDArray[np.uint64]
    leaving: NDArray[np.uint64]
    masks: NDArray[np.uint64]


@functools.lru_cache(maxsize=8)
def hash_tables(key: str, shingle_bytes: int, dimensions: int) -> HashTables:
    """The tables of a key."""
    drawn = hashlib.shake_256(b"samehand style 1\0" + key.encode()).digest(8 * (256 + dimensions))
    numbers = np.frombuffer(drawn, "<u8").astype(np.uint64)
    entering, masks = numbers[:256], numbers[256:]
    # A byte that entered shingle_bytes steps ago has been rotated that often: this takes it out again.
    leaving = (entering << np.uint64(shingle_bytes)) | (entering >> np.uint64(64 - shingle_bytes))
    return HashTables(entering.copy(), leaving, masks.copy())


@functools.lru_cache(maxsize=8)
def shuffle_tables(key: str, dimensions: int) -> NDArray[np.uint64]:
    """Masks of the swaps that shuffle the bits of a hash, for each dimension; see `kernels.noise`."""
    steps = len(noise.SWAP_DISTANCES)
    drawn = hashlib.shake_256(b"samehand shuffle 1\0" + key.encode()).digest(8 * dimensions * steps)
    masks = np.frombuffer(drawn, "<u8").astype(np.uint64).reshape(dimensions, steps)
    return masks & np.array([_lower_halves(distance) for distance in noise.SWAP_DISTANCES], np.uint64)


def _lower_halves(distance: int) -> int:
    """The lower `distance` bits of each stretch of twice as many."""
    return sum(1 << bit for bit in range(64) if not bit & distance)


def tables_of(settings: Settings) -> HashTables:
    """The tables of the noise of these settings."""
    return hash_tables(settings.key, settings.shingle_bytes, settings.dimensions)


def fingerprint_buffers(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: Settings
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Fingerprints and noise lengths of pages that lie end to end."""
    tables = tables_of(settings)
    return noise.fingerprint_pages(
        data,
        offsets,
        settings.fold_spaces,
        tables.entering,
        tables.leaving,
        tables.masks,
        shuffle_tables(settings.key, settings.dimensions if settings.shuffle_bits else 0),
        settings.shingle_bytes,
    )


def noise_of(content: bytes, settings: Settings) -> bytes:
    """The noise of one page."""
    page, kept = np.zeros((2, len(content) + BLOCK), np.uint8)
    page[: len(content)] = np.frombuffer(content, np.uint8)
    length = noise.extract_noise(page[: len(content)], settings.fold_spaces, kept)
    return kept[:length].tobytes()
