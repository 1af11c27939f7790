"""Whether the words that a text repeats look inserted: keywords come back at places where no word is missing.

Text i has the sentences texts[i]:texts[i+1], sentence i the tokens sentences[i]:sentences[i+1].
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part
from samehand.kernels.text.features import slot_of, table_size

MOST_EVIDENCE = 6.0
"""No place counts for more than this: one strange word is not a proof."""
FITS_NOWHERE, FITS_BADLY = 1.0, 2.0
"""Evidence for an insertion from which on a word fits nowhere in a text, on average, and from which on it does not fit
at one place."""
OTHER, UNKNOWN_CONTENT, KNOWN_CONTENT = range(3)
"""What a token is."""
COLUMNS = 8


class ClassLogs(NamedTuple):
    """Logarithms of probabilities of word classes: -log p(c|ab) in units of `step`, log p(b|a) and log p(a)."""

    logs3: NDArray[np.uint8]
    logs2: NDArray[np.float32]
    logs1: NDArray[np.float32]
    step: float


@part
def _evidence(a: int, b: int, c: int, logs: ClassLogs) -> float:
    """The evidence that class b was inserted between a and c: log p(c|a) - log p(b|a) - log p(c|ab) + log p(b)."""
    found = logs.logs2[a, c] - logs.logs2[a, b] + logs.logs3[a, b, c] * logs.step + logs.logs1[b]
    return float(min(max(found, -MOST_EVIDENCE), MOST_EVIDENCE))


@nb.njit(cache=True, nogil=True)
def insertions(
    classes: NDArray[np.uint8],
    hashes: NDArray[np.uint64],
    content: NDArray[np.uint8],
    sentences: NDArray[np.int64],
    texts: NDArray[np.int64],
    logs: ClassLogs,
) -> NDArray[np.float64]:
    """Evidence that the content words of each text were inserted.

    Columns: 0 and 1 occurrences of words that occur again and the sum of their evidence; 2 and 3 the same of words that
    occur once; 4 occurrences of repeated words that fit nowhere; 5 the sum over repeated words of e * e / n, for n
    occurrences with evidence e in all, if that is positive; 6 occurrences of known words; 7 those that fit badly.
    """
    out = np.zeros((texts.size - 1, COLUMNS))
    size = table_size(sentences[texts])
    table, used = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
    count, total, slots = np.zeros(size, np.int64), np.zeros(size), np.empty(size, np.int64)
    for text in range(texts.size - 1):
        filled = 0
        for sentence in range(texts[text], texts[text + 1]):
            first, last = sentences[sentence], sentences[sentence + 1]
            for i in range(first, last):
                slot = slot_of(table, used, hashes[i]) if content[i] != OTHER else -1
                if slot < 0:
                    continue
                if not used[slot]:
                    slots[filled] = slot
                    filled += 1
                    used[slot], table[slot], count[slot], total[slot] = True, hashes[i], 0, 0.0
                before = int(classes[i - 1]) if i > first else 0
                behind = int(classes[i + 1]) if i + 1 < last else 0
                found = _evidence(before, int(classes[i]), behind, logs)
                count[slot] += 1
                total[slot] += found
                out[text, 6] += content[i] == KNOWN_CONTENT
                out[text, 7] += content[i] == KNOWN_CONTENT and found > FITS_BADLY
        for place in range(filled):
            used[slots[place]] = False
            _add_word(out[text], count[slots[place]], total[slots[place]])
    return out


@part
def _add_word(row: NDArray[np.float64], number: int, total: float) -> None:
    """Adds a word with all its occurrences to the columns of its text."""
    first = 2 if number == 1 else 0
    row[first] += number
    row[first + 1] += total
    if number > 1:
        row[4] += number if total > FITS_NOWHERE * number else 0
        row[5] += max(total, 0.0) ** 2 / number
