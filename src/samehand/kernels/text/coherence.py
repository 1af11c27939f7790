"""Whether the words of a text have the subject of the words a little before them, word by word.

Text i has the tokens bounds[i]:bounds[i+1]. `topics` has a vector for each of the first words of the vocabulary. The
sums of vectors are integers, so that a word that leaves a range takes away exactly what it added.
"""

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part

NEAR, FAR, BEYOND = 6, 25, 150
"""A word is near from 6 tokens on: before that grammar and set phrases rule. It is far from 25 to 149 tokens."""
FIT_COLUMNS = 3

_SCALE = np.int32(4)
"""Squares are divided by 16: those of 144 words at their largest, in 64 dimensions, then fit into 32 bits."""


@part
def _add(total: NDArray[np.int32], vector: NDArray[np.int8]) -> None:
    for d in range(total.size):
        total[d] += np.int32(vector[d])


@part
def _take(total: NDArray[np.int32], vector: NDArray[np.int8]) -> None:
    for d in range(total.size):
        total[d] -= np.int32(vector[d])


@part
def _cosine(vector: NDArray[np.int8], total: NDArray[np.int32]) -> float:
    """The cosine of two vectors, 0 if one of them is 0."""
    product, own, norm = np.int32(0), np.int32(0), np.int32(0)
    for d in range(total.size):
        there = total[d]
        product += np.int32(vector[d]) * there
        own += np.int32(vector[d]) * np.int32(vector[d])
        norm += (there * there) >> _SCALE
    if own == 0 or norm == 0:
        return 0.0
    return product / math.sqrt(np.float64(own) * np.float64(norm) * (1 << _SCALE))


@nb.njit(cache=True, nogil=True)
def topic_fit(
    ids: NDArray[np.int32], topics: NDArray[np.int8], weights: NDArray[np.float32], bounds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How well the subject of each content word fits the words before it.

    Columns: the weighted sums of the cosines with the sum of the near words, and with that of the far words; the sum of
    the weights. Words without a weight say nothing.
    """
    out = np.zeros((bounds.size - 1, FIT_COLUMNS))
    near, far = np.zeros(topics.shape[1], np.int32), np.zeros(topics.shape[1], np.int32)
    for text in range(bounds.size - 1):
        begin, row = bounds[text], out[text]
        near[:], far[:] = 0, 0
        for i in range(begin, bounds[text + 1]):
            if i - NEAR >= begin and _has_topic(ids[i - NEAR], weights):
                _add(near, topics[ids[i - NEAR]])
            if i - FAR >= begin and _has_topic(ids[i - FAR], weights):
                _take(near, topics[ids[i - FAR]])
                _add(far, topics[ids[i - FAR]])
            if i - BEYOND >= begin and _has_topic(ids[i - BEYOND], weights):
                _take(far, topics[ids[i - BEYOND]])
            if _has_topic(ids[i], weights):
                vector, weight = topics[ids[i]], np.float64(weights[ids[i]])
                row[0] += weight * _cosine(vector, near)
                row[1] += weight * _cosine(vector, far)
                row[2] += weight
    return out


@part
def _has_topic(word: np.int32, weights: NDArray[np.float32]) -> bool:
    return bool(word < weights.size and weights[word] > 0)
