"""The words of a page's prose, in order: what phrases are found in."""

import functools
import hashlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.base.settings import Settings
from samehand.kernels.phrases.words import LETTERS, page_words
from samehand.methods.page_batch import PageBatch
from samehand.methods.phrases.method import MOST_WORDS
from samehand.store.tables import PHRASES_WORDS


class PageWords(NamedTuple):
    """The first words of texts: the hash and the place (begin, end) of each, where those of a text begin, and how many
    words each text has in all.
    """

    hashes: NDArray[np.uint32]
    places: NDArray[np.int64]
    bounds: NDArray[np.int64]
    totals: NDArray[np.int32]


def words_of(data: NDArray[np.uint8], offsets: NDArray[np.int64], settings: Settings) -> PageWords:
    """The first words of texts that lie end to end."""
    return PageWords(*page_words(data, offsets, LETTERS, _seed(settings.key), MOST_WORDS))


@functools.lru_cache(maxsize=4)
def _seed(key: str) -> np.uint64:
    drawn = hashlib.shake_256(b"samehand phrases 1\0" + key.encode()).digest(8)
    return np.uint64(int.from_bytes(drawn, "little"))


class WordsStage:
    """Words of the prose."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def batch(self, pages: PageBatch) -> pa.RecordBatch:
        """A row for each page."""
        words = words_of(pages.prose.text, pages.prose.offsets, self._settings)
        kind = PHRASES_WORDS.fixed_schema.field("word_hashes").type
        lists = pa.LargeListArray.from_arrays(words.bounds, pa.array(words.hashes), type=kind)
        has_more = words.totals > np.diff(words.bounds)
        return pa.record_batch([pages.page_ids, lists, pa.array(has_more)], schema=PHRASES_WORDS.fixed_schema)
