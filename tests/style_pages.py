"""Pages for tests of style."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.grouping.sketches import WIDE, lanes_of, sketch_words
from samehand.kernels import sketches
from samehand.methods.style.channels import estimator_floor
from samehand.methods.style.noise import fingerprint_buffers


def pages_batch(*contents: bytes) -> pa.RecordBatch:
    """Pages without URLs."""
    return pages_to_batch([Page("", content, "x", place) for place, content in enumerate(contents)], 0)


def fingerprint(content: bytes, settings: Settings) -> NDArray[np.uint32]:
    """The fingerprint of one page that does not name its host."""
    data = np.frombuffer(content, np.uint8)
    return fingerprint_buffers(data, np.array([0, data.size]), settings)[0].reshape(-1)


def estimate(left: NDArray[np.uint32], right: NDArray[np.uint32], settings: Settings) -> float:
    """Similarity of two fingerprints of noise, by the estimator of the settings."""
    both = np.stack([left, right])
    lanes = lanes_of(settings.dimensions, bits=WIDE, floor=estimator_floor(settings))
    rows = sketches.SketchRows(sketch_words(both, WIDE), sketches.count_filled(both), lanes)
    return float(sketches.cross_similarities(rows, rows)[0, 1])
