"""Pages for tests of style."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.methods.style.noise import fingerprint_buffers


def pages_batch(*contents: bytes) -> pa.RecordBatch:
    """Pages without URLs."""
    return pages_to_batch([Page("", content, "x", place) for place, content in enumerate(contents)], 0)


def fingerprint(content: bytes, settings: Settings) -> NDArray[np.uint32]:
    """The fingerprint of one page that does not name its host."""
    data = np.frombuffer(content, np.uint8)
    return fingerprint_buffers(data, np.array([0, data.size]), settings)[0].reshape(-1)
