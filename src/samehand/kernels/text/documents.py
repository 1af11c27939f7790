"""Documents compared by both channels: the cosine of their sets of words, and the sketches of neighbouring words.

`tests/test_kernels_pairs.py` holds each function equal to a readable reference.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.buckets import similarity_of
from samehand.kernels.text.pairs import PairRows, jaccard, weighed
from samehand.kernels.text.wordsets import SetRows, row_cosine


class DocumentRows(NamedTuple):
    """Sets of words and sketches of the same documents, and the cosine and Jaccard that make near replicas."""

    starts: NDArray[np.int64]
    words: NDArray[np.uint32]
    sketches: NDArray[np.uint64]
    sizes: NDArray[np.int32]
    cosine: float
    jaccard: float


@helper
def on_one_scale(cosine: float, least: float, jaccard_least: float) -> float:
    """A cosine on the scale of the Jaccard similarity: `least` is as near as `jaccard_least`; 0 below it."""
    if cosine < least:
        return 0.0
    return jaccard_least + (1.0 - jaccard_least) * (cosine - least) / max(1.0 - least, 1e-9)


@similarity_of(DocumentRows)
@helper
def document_closeness(rows: DocumentRows, left: int, right: int) -> np.float32:
    """The weighed Jaccard similarity of the sketches, or the cosine on its scale where that says more.

    Sketches of pages without enough prose say nothing here.
    """
    one, other = np.uint64(left), np.uint64(right)
    pairs = PairRows(rows.sketches, rows.sizes, 0.0)
    found = weighed(jaccard(pairs, one, pairs, other), rows.sizes[one], rows.sizes[other])
    if rows.sizes[one] < 0 or rows.sizes[other] < 0:
        found = 0.0
    cosine = np.float64(row_cosine(SetRows(rows.starts, rows.words), left, right))
    return np.float32(max(found, on_one_scale(cosine, rows.cosine, rows.jaccard)))
