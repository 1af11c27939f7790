"""Whether the words that a text repeats look inserted: keywords come back at places where no word is missing.

Text i has the sentences texts[i]:texts[i+1], sentence i the tokens sentences[i]:sentences[i+1].
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.text.features import slot_of, table_size

MOST_EVIDENCE = 6.0
"""No place counts for more than this: one strange word is not a proof."""


class ClassLogs(NamedTuple):
    """Logarithms of probabilities of word classes: -log p(c|ab) in units of `step`, log p(b|a) and log p(a)."""

    logs3: NDArray[np.uint8]
    logs2: NDArray[np.float32]
    logs1: NDArray[np.float32]
    step: float


@nb.njit(cache=True, nogil=True, inline="always")
def _evidence(a: int, b: int, c: int, logs: ClassLogs) -> float:
    """The evidence that class b was inserted between a and c: log p(c|a) - log p(b|a) - log p(c|ab) + log p(b)."""
    found = logs.logs2[a, c] - logs.logs2[a, b] + logs.logs3[a, b, c] * logs.step + logs.logs1[b]
    return float(min(max(found, -MOST_EVIDENCE), MOST_EVIDENCE))


@nb.njit(cache=True, nogil=True)
def repeated_insertions(
    classes: NDArray[np.uint8],
    hashes: NDArray[np.uint64],
    content: NDArray[np.bool_],
    sentences: NDArray[np.int64],
    texts: NDArray[np.int64],
    logs: ClassLogs,
) -> NDArray[np.float64]:
    """Of each text: occurrences of content words that occur again, and the sum of the evidence for their insertion."""
    out = np.zeros((texts.size - 1, 2))
    size = table_size(sentences[texts])
    table, used = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
    count, total, slots = np.zeros(size, np.int64), np.zeros(size), np.empty(size, np.int64)
    for text in range(texts.size - 1):
        filled = 0
        for sentence in range(texts[text], texts[text + 1]):
            first, last = sentences[sentence], sentences[sentence + 1]
            for i in range(first, last):
                slot = slot_of(table, used, hashes[i]) if content[i] else -1
                if slot < 0:
                    continue
                if not used[slot]:
                    slots[filled] = slot
                    filled += 1
                    used[slot], table[slot], count[slot], total[slot] = True, hashes[i], 0, 0.0
                before = int(classes[i - 1]) if i > first else 0
                behind = int(classes[i + 1]) if i + 1 < last else 0
                count[slot] += 1
                total[slot] += _evidence(before, int(classes[i]), behind, logs)
        for place in range(filled):
            slot = slots[place]
            used[slot] = False
            if count[slot] > 1:
                out[text, 0] += count[slot]
                out[text, 1] += total[slot]
    return out
