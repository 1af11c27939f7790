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

from samehand.kernels import helper, part
from samehand.kernels.ngrams.index import Index, find_children
from samehand.kernels.ngrams.tries import END, LARGEST_ORDER, START, UNKNOWN
from samehand.kernels.pointers import lend, pointer

_BLOCK = 512
_ONE, _WIDTH = np.uint64(1), np.uint64(_BLOCK + 1)
_FAR = 1 << 30
"""Words since an unknown one, where there was none."""

LOG_1, LOG_3, LOG_4, GAIN_3, GAIN_4, HARD, MATCHED = range(7)
PENALTY, KNOWN, SUM_COLUMNS = 10, 12, 14
"""Columns of `text_sums`: log10 of the probabilities from n-grams of up to 1, 3 and 4 words; differences of the second
to the first and of the third to the second; words that are ten times rarer after the words before them; from MATCHED
on, words that end a known n-gram of 1, 2, 3 and 4 words; penalties of orders 3 and 4; known histories of both."""


class Scored(NamedTuple):
    """What the nodes of a trie are worth: see methods/language/model.py. Nodes below `inner` may have children.

    `counts` and `peaks` are empty, and `tokens` is 0, if the model has no counts.
    """

    logs: NDArray[np.float32]
    backoffs: NDArray[np.float32]
    first: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    peaks: NDArray[np.float32]
    inner: int
    tokens: float


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


@helper
def _first_block(sentences: NDArray[np.int64]) -> _Block:
    nodes = np.full((LARGEST_ORDER, _BLOCK + 1), -1, np.int64)
    words, histories = np.zeros(_BLOCK + 1, np.int64), np.empty(_BLOCK, np.int64)
    return _Block(words, nodes, histories, np.empty((3, _BLOCK + 1), np.uint64), np.array([0, sentences[0] - 1, 0]))


@helper
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


@helper
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


@part
def _log_probability(nodes: NDArray[np.int64], column: np.uint64, order: np.uint64, scored: Scored) -> np.float32:
    """log10 of the probability of one word, as in `log_probabilities`."""
    length = order
    while length > _ONE and nodes[(length - _ONE) * _WIDTH + column] < 0:
        length -= _ONE
    score: np.float32 = scored.logs[nodes[(length - _ONE) * _WIDTH + column]]
    for row in range(length - _ONE, order - _ONE):
        history = nodes[row * _WIDTH + column - _ONE]
        if history < 0 or history >= scored.inner:
            break
        score += scored.backoffs[history]
    return score


@part
def _add_penalty(
    nodes: NDArray[np.int64],
    column: np.uint64,
    order: np.uint64,
    is_known: bool,
    scored: Scored,
    row: NDArray[np.float64],
) -> None:
    """Adds the penalty of the n-gram of `order` words that ends here, as `penalties` has it.

    `is_known` says that its last word is known. Its history has no unknown word.
    """
    long, short = (order - _ONE) * _WIDTH + column, (order - _ONE - _ONE) * _WIDTH + column
    history, short_history = nodes[short - _ONE], nodes[short - _WIDTH - _ONE]
    if history < 0 or history >= scored.inner or scored.first[history] >= scored.first[history + 1]:
        return
    kind = order - np.uint64(3)
    row[np.uint64(KNOWN) + kind] += 1
    penalty = scored.peaks[history]
    node, shorter = nodes[long], nodes[short]
    if node >= 0 and shorter >= 0 and is_known:
        counts = scored.counts
        below = scored.tokens if short_history < 0 else np.float64(counts[short_history])
        own = pointwise_divergence(
            np.float64(counts[node]), np.float64(counts[history]), np.float64(counts[shorter]), below
        )
        penalty = np.float32(penalty - own)
    row[np.uint64(PENALTY) + kind] += penalty


@part
def _add_word(
    nodes: NDArray[np.int64], column: np.uint64, order: np.uint64, scored: Scored, row: NDArray[np.float64]
) -> None:
    """Adds what the trie says of one word to the sums of its text."""
    log_1 = scored.logs[nodes[column]]
    log_3 = _log_probability(nodes, column, min(np.uint64(3), order), scored)
    log_4 = _log_probability(nodes, column, order, scored)
    row[LOG_1] += log_1
    row[LOG_3] += log_3
    row[LOG_4] += log_4
    row[GAIN_3] += log_3 - log_1
    row[GAIN_4] += log_4 - log_3
    row[HARD] += log_3 - log_1 < -1
    length = order
    while length > _ONE and nodes[(length - _ONE) * _WIDTH + column] < 0:
        length -= _ONE
    for matched in range(length):
        row[np.uint64(MATCHED) + matched] += 1


@helper
def _add_block(
    words: NDArray[np.int64],
    filled: int,
    nodes: NDArray[np.int64],
    order: int,
    scored: Scored,
    row: NDArray[np.float64],
    since: NDArray[np.int64],
) -> None:
    """Adds the words words[1:filled + 1], which are of one text, to its sums.

    `since` counts the words since the start of the sentence, and since the last unknown word.
    """
    for column in range(_ONE, np.uint64(filled + 1)):
        word = words[column]
        if word == START:
            since[0], since[1] = 0, _FAR
            continue
        since[0] += 1
        _add_word(nodes, np.uint64(column), np.uint64(order), scored, row)
        for length in range(3, order + 1 if scored.tokens else 0):
            if since[0] >= length - 1 and since[1] >= length:
                _add_penalty(nodes, np.uint64(column), np.uint64(length), word != UNKNOWN, scored, row)
        since[1] = 1 if word == UNKNOWN else since[1] + 1


@nb.njit(cache=True, nogil=True)
def text_sums(
    ids: NDArray[np.int32],
    sentences: NDArray[np.int64],
    texts: NDArray[np.int64],
    order: int,
    index: Index,
    scored: Scored,
) -> NDArray[np.float64]:
    """Sums over the words of each text, SUM_COLUMNS of them, in one walk through the trie.

    Text i has the sentences texts[i]:texts[i+1]. `order` is at most 4. What a model of a lower order, or one without
    counts, cannot say is 0.
    """
    sums, since = np.zeros((texts.size - 1, SUM_COLUMNS)), np.zeros(2, np.int64)
    lent = lend(scored)
    for text in range(texts.size - 1):
        own = sentences[texts[text] : texts[text + 1] + 1]
        block = _first_block(own)
        filled = _read_block(ids, own, order, index, block)
        while filled:
            nodes, row = pointer(block.nodes), pointer(sums[text])
            _add_block(pointer(block.words), filled, nodes, order, lent, row, pointer(since))
            filled = _read_block(ids, own, order, index, block)
    return sums


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


@helper
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
