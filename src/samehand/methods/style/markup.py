"""Canonical markup: the second channel of style, beside the noise (docs/style.md).

A comment of random punctuation, another kind of quotes or a script hide a template from the noise. They leave no trace
in canonical markup: tags as the HTML standard reads them, without comments, scripts, quotes, blanks, names of classes,
and without what a browser does not show. Its fingerprint has a half for each of two streams: the punctuation of
attributes' values, and the skeleton of elements and attributes.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.kernels.canonical import fingerprints, names
from samehand.kernels.noise import EMPTY
from samehand.methods.style.noise import hash_tables

POOR_SHARE = 0.375
"""A stream that fills a smaller share of its dimensions is too short to be compared."""


@functools.cache
def canon_tables() -> names.Tables:
    """The lookup tables of the kernels."""
    return names.canon_tables()


def markup_fingerprints(data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: Settings) -> NDArray[np.uint32]:
    """Fingerprints of the canonical markup of pages that lie end to end; of no dimensions where it is switched off."""
    if not settings.markup_dimensions:
        return np.full((offsets.size - 1, 0), EMPTY, np.uint32)
    hashed = hash_tables(settings.key, fingerprints.SHINGLE_BYTES, settings.markup_dimensions)
    return fingerprints.fingerprint_markup(data, offsets, canon_tables(), hashed.entering, hashed.leaving, hashed.masks)


def poor_below(settings: Settings) -> int:
    """Filled dimensions that a stream needs to be compared; a page needs twice as many in both streams together."""
    return int(POOR_SHARE * settings.markup_dimensions / 2)
