"""Scores of texts under an n-gram model: many texts at once, a block of words at a time.

Each sentence has <s> before it and </s> behind it. The words of a block are looked up level by level: the node of the
n-gram that ends at a word is the child, by that word, of the node of the (n - 1)-gram that ends one word before. The
lookups of a level do not depend on each other, which makes them fast (`index.find_children`). Results are in the order
of the predicted words (all but <s>).
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.ngrams.index import Index, find_children
from samehand.kernels.ngrams.tries import END, LARGEST_ORDER, START, UNKNOWN

_BLOCK = 512


class _Block(NamedTuple):
    """The current words, from column 1 on. Column 0 is the last column of the block before.

    Row n - 1 of `nodes` has the node of the n-gram that ends at each word, or -1. `cursor` is the next sentence, the
    next place in it, and the last column.
    """

    words: NDArray[np.int64]
    nodes: NDArray[np.int64]
    histories: NDArray[np.int64]
    room: NDArray[np.uint64]
    cursor: NDArray[np.int64]


@nb.njit(cache=True, nogil=True)
def _first_block(sentences: NDArray[np.int64]) -> _Block:
    nodes = np.full((LARGEST_ORDER, _BLOCK + 1), -1, np.int64)
    words, histories = np.zeros(_BLOCK + 1, np.int64), np.empty(_BLOCK, np.int64)
    return _Block(words, nodes, histories, np.empty((3, _BLOCK + 1), np.uint64), np.array([0, sentences[0] - 1, 0]))


@nb.njit(cache=True, nogil=True)
def _read_block(ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int, index: Index, block: _Block) -> int:
    """Fills the block with the next words and their nodes; returns how many words there are."""
    words, nodes, histories, room, cursor = block
    nodes[:, 0] = nodes[:, cursor[2]]
    filled = _next_words(ids, sentences, index.words, cursor, words)
    nodes[0, 1 : filled + 1] = words[1 : filled + 1]
    for row in range(1, order):
        for column in range(filled):
            history = nodes[row - 1, column]
            histories[column] = history if history < index.inner and words[column + 1] != START else np.int64(-1)
        find_children(index, histories, words[1 : filled + 1], nodes[row, 1 : filled + 1], room)
    return filled


@nb.njit(cache=True, nogil=True)
def _next_words(
    ids: NDArray[np.int32],
    sentences: NDArray[np.int64],
    vocabulary: int,
    cursor: NDArray[np.int64],
    words: NDArray[np.int64],
) -> int:
    """Fills words[1:] with the next words; returns how many there are."""
    sentence, place = cursor[0], cursor[1]
    filled = 0
    while sentence < sentences.size - 1 and filled < words.size - 1:
        begin, end = sentences[sentence], sentences[sentence + 1]
        if place < begin:
            word = np.int64(START)
        elif place == end:
            word = np.int64(END)
        else:
            word = np.int64(ids[place])
            if word < 0 or word >= vocabulary or word in (START, END):
                word = np.int64(UNKNOWN)
        filled += 1
        words[filled] = word
        place += 1
        if place > end:
            sentence += 1
            place = end - 1
    cursor[0], cursor[1], cursor[2] = sentence, place, filled
    return filled


@nb.njit(cache=True, nogil=True)
def log_probabilities(
    ids: NDArray[np.int32],
    sentences: NDArray[np.int64],
    order: int,
    index: Index,
    logs: NDArray[np.float32],
    backoffs: NDArray[np.float32],
    lengths: NDArray[np.int8],
) -> NDArray[np.float32]:
    """log10 of the probability of each word and sentence end. `lengths`, if not empty, gets the matched lengths."""
    result = np.empty(sentences[-1] - sentences[0] + sentences.size - 1, np.float32)
    block = _first_block(sentences)
    words, nodes = block.words, block.nodes
    out = 0
    while True:
        filled = _read_block(ids, sentences, order, index, block)
        if filled == 0:
            return result
        for column in range(np.uint64(1), np.uint64(filled + 1)):
            if words[column] == START:
                continue
            length = np.uint64(order)
            while length > 1 and nodes[length - np.uint64(1), column] < 0:
                length -= np.uint64(1)
            score = logs[np.uint64(nodes[length - np.uint64(1), column])]
            for row in range(length - np.uint64(1), np.uint64(order - 1)):
                history = nodes[row, column - np.uint64(1)]
                if history < 0 or history >= backoffs.size:
                    break
                score += backoffs[np.uint64(history)]
            result[out] = score
            if lengths.size:
                lengths[out] = length
            out += 1


@nb.njit(cache=True, nogil=True)
def ngram_nodes(ids: NDArray[np.int32], sentences: NDArray[np.int64], order: int, index: Index) -> NDArray[np.int64]:
    """Four nodes for each n-gram of length `order`: its own, that of its suffix (without the first word), and those of
    the histories of both.

    The n-grams are those of the sentences with one <s> before and </s> behind; for order 1 without <s>. A node that is
    not in the trie is -1. So is a history with an unknown word in it.
    """
    size = 0
    for sentence in range(sentences.size - 1):
        size += max(0, sentences[sentence + 1] - sentences[sentence] + 1 - max(0, order - 2))
    found = np.full((4, size), -1, np.int64)
    block = _first_block(sentences)
    words, nodes = block.words, block.nodes
    out, since_start, since_unknown = 0, 0, order
    while True:
        filled = _read_block(ids, sentences, order, index, block)
        if filled == 0:
            return found
        for column in range(1, filled + 1):
            # since_start: words before this one in the sentence, with <s>; since_unknown: distance to an unknown word
            if words[column] == START:
                since_start, since_unknown = 0, order
                continue
            since_start += 1
            if since_start >= order - 1:
                found[0, out] = nodes[order - 1, column]
                if order > 1:
                    found[1, out] = nodes[order - 2, column]
                    if since_unknown >= order:
                        found[2, out] = nodes[order - 2, column - 1]
                        if order > 2:
                            found[3, out] = nodes[order - 3, column - 1]
                out += 1
            since_unknown = 1 if words[column] == UNKNOWN else since_unknown + 1


@nb.njit(cache=True, nogil=True)
def penalties(
    found: NDArray[np.int64],
    first: NDArray[np.uint32],
    counts: NDArray[np.uint32],
    tokens: float,
    peaks: NDArray[np.float32],
    unknown_last: NDArray[np.bool_],
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """S(h, w) of formula 5 for the n-grams of `ngram_nodes`, and whether their history is known, with successors."""
    result = np.zeros(found.shape[1], np.float32)
    known = np.zeros(found.shape[1], np.bool_)
    for row in range(found.shape[1]):
        node, shorter, history, short_history = found[0, row], found[1, row], found[2, row], found[3, row]
        if history < 0 or history >= peaks.size or first[history] >= first[history + 1]:
            continue
        known[row] = True
        result[row] = peaks[history]
        if node >= 0 and shorter >= 0 and not unknown_last[row]:
            below = tokens if short_history < 0 else np.float64(counts[short_history])
            result[row] = peaks[history] - pointwise_divergence(
                np.float64(counts[node]), np.float64(counts[history]), np.float64(counts[shorter]), below
            )
    return result, known


@nb.njit(cache=True, nogil=True)
def pointwise_divergence(joint: float, history: float, short_joint: float, short_history: float) -> float:
    """PKL(h, w) of formula 4 in natural logarithms, from the counts of hw, h, h'w and h'; 0 where hw was not seen."""
    if joint <= 0 or history <= 0 or short_joint <= 0 or short_history <= 0:
        return 0.0
    return float(joint / history * np.log(joint * short_history / (history * short_joint)))


@nb.njit(cache=True, nogil=True)
def divergences(
    parents: NDArray[np.int64],
    suffixes: NDArray[np.int64],
    last_words: NDArray[np.uint32],
    counts: NDArray[Any],
    tokens: float,
) -> NDArray[np.float64]:
    """PKL of each n-gram of a trie; 0 for single words and if the last word is unknown."""
    result = np.zeros(parents.size)
    for node in range(parents.size):
        history, short = parents[node], suffixes[node]
        if history < 0 or short < 0 or last_words[node] == UNKNOWN:
            continue
        below = tokens if suffixes[history] < 0 else np.float64(counts[suffixes[history]])
        result[node] = pointwise_divergence(
            np.float64(counts[node]), np.float64(counts[history]), np.float64(counts[short]), below
        )
    return result
