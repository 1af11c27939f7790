"""Features of texts, one pass each: recurrence of words, topic drift, word classes, phrases, sentence lengths.

All arrays are of tokens that lie end to end; text i has the tokens bounds[i]:bounds[i+1]. Every kernel takes linear
time for any tokens: hash tables are probed a bounded number of times, and only near pairs are compared.
"""

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import FNV_BASIS, GOLDEN, absorb
from samehand.kernels.segments import longest_segment

NEAR_FROM, NEAR_TO = 15, 100
"""Distances in tokens at which a word recurs because of the topic, not because of a phrase."""
WINDOWS = (50, 250)
BLOCK = 25
"""Tokens of a block whose topic is measured."""
DELAY = 20
"""A word counts as taken up after this many tokens. Before that it would be the same phrase or sentence."""
RECURRENCE_COLUMNS = 15
TOPIC_COLUMNS = 3
CLASS_COLUMNS = 8
SENTENCE_COLUMNS = 5

_MIXED = 0.3
_PROBES = 32
_TOP = 5
_LONGEST_PHRASE = 6
_MOST_OCCURRENCES = 20
_FAR = (8, 12, 16, 20, 24, 28, 32, 36)


@helper
def slot_of(table: NDArray[np.uint64], used: NDArray[np.bool_], value: np.uint64) -> int:
    """The slot of a value, or a free one for it; -1 if both are too far away."""
    mask = np.uint64(table.size - 1)
    place = (value * GOLDEN) >> np.uint64(20)
    for _ in range(_PROBES):
        slot = np.int64(place & mask)
        if not used[slot] or table[slot] == value:
            return int(slot)
        place += np.uint64(1)
    return -1


@helper
def table_size(bounds: NDArray[np.int64]) -> int:
    """Number of slots for the distinct tokens of any of the texts."""
    size = 16
    while size < 2 * longest_segment(bounds):
        size *= 2
    return size


@nb.njit(cache=True, nogil=True)
def recurrences(
    hashes: NDArray[np.uint64],
    content: NDArray[np.bool_],
    chances: NDArray[np.float32],
    bounds: NDArray[np.int64],
) -> NDArray[np.float64]:
    """How content words recur in each text. `chances` are their probabilities in the language.

    Columns: 0 content words; 1 to 3 those that recur within 50, 250 and any number of tokens; 4 to 6 how many would by
    chance; 7 pairs of the same word 15 to 100 tokens apart; 8 how many there would be in random order; 9 distinct
    words; 10 words that occur once; 11 and 12 occurrences of the most frequent word and of the five most frequent; 13
    sum of the logarithms of gaps, compared with random order; 14 the number of those gaps.
    """
    out = np.zeros((bounds.size - 1, RECURRENCE_COLUMNS))
    size = table_size(bounds)
    table, used = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
    last, count = np.zeros(size, np.int64), np.zeros(size, np.int64)
    room = longest_segment(bounds)
    slots, before = np.empty(room, np.int64), np.empty(room, np.int64)
    harmonic = np.zeros(_MOST_OCCURRENCES + 1)
    for n in range(1, _MOST_OCCURRENCES + 1):
        harmonic[n] = harmonic[n - 1] + 1.0 / n
    for text in range(bounds.size - 1):
        begin, tokens = bounds[text], bounds[text + 1] - bounds[text]
        row = out[text]
        for i in range(tokens):
            slots[i], before[i] = -1, -1
            if not content[begin + i]:
                continue
            row[0] += 1
            chance = chances[begin + i]
            row[4] += 1 - math.exp(-chance * min(WINDOWS[0], i))
            row[5] += 1 - math.exp(-chance * min(WINDOWS[1], i))
            row[6] += 1 - math.exp(-chance * i)
            slot = slot_of(table, used, hashes[begin + i])
            slots[i] = slot
            if slot < 0:
                continue
            if used[slot]:
                _count_return(row, before, i, last[slot])
            used[slot], table[slot], last[slot] = True, hashes[begin + i], i
            count[slot] += 1
        _sum_up_returns(row, slots[:tokens], before, last, count, harmonic)
        for i in range(tokens):
            if slots[i] >= 0:
                used[slots[i]], count[slots[i]] = False, 0
    return out


@helper
def _count_return(row: NDArray[np.float64], before: NDArray[np.int64], place: int, previous: int) -> None:
    """Counts a word at `place` that was last seen at `previous`."""
    before[place] = previous
    gap = place - previous
    if gap > 3:  # "very very" and "step by step" are phrases, not topics
        row[1] += gap <= WINDOWS[0]
        row[2] += gap <= WINDOWS[1]
        row[3] += 1
    steps = 0
    while previous >= 0 and place - previous <= NEAR_TO and steps < 12:
        row[7] += place - previous >= NEAR_FROM
        previous = before[previous]
        steps += 1


@helper
def _sum_up_returns(
    row: NDArray[np.float64],
    slots: NDArray[np.int64],
    before: NDArray[np.int64],
    last: NDArray[np.int64],
    count: NDArray[np.int64],
    harmonic: NDArray[np.float64],
) -> None:
    """Fills the columns that need the whole text: distinct words, the most frequent, gaps against random order."""
    tokens = slots.size
    top = np.zeros(_TOP)
    pairs = 0.0
    for i in range(tokens):
        slot = slots[i]
        if slot < 0:
            continue
        seen = count[slot]
        if before[i] >= 0 and seen <= _MOST_OCCURRENCES and i - before[i] > 3:
            row[13] += math.log((i - before[i]) / tokens) + harmonic[seen]
            row[14] += 1
        if last[slot] != i:
            continue
        row[9] += 1
        row[10] += seen == 1
        if seen <= 200:
            pairs += seen * (seen - 1) / 2.0
        place = _TOP - 1
        if seen > top[place]:
            while place > 0 and top[place - 1] < seen:
                top[place] = top[place - 1]
                place -= 1
            top[place] = seen
    share = 0.0
    for distance in range(NEAR_FROM, min(NEAR_TO, tokens - 1) + 1):
        share += 2.0 * (tokens - distance) / (tokens * (tokens - 1.0))
    row[8] = pairs * share
    row[11], row[12] = top[0], top.sum()


@nb.njit(cache=True, nogil=True)
def words_taken_up(
    stems: NDArray[np.uint64],
    content: NDArray[np.bool_],
    chances: NDArray[np.float32],
    bounds: NDArray[np.int64],
) -> NDArray[np.float64]:
    """How well the content words of a text are predicted by what it said 20 or more tokens before.

    Columns: content words; the sum of log(0.7 + 0.3 q / p), where q is the share of the word's stem in what was said
    and p, in `chances`, its share in the language; words whose stem was said; how many there would be by chance.
    """
    out = np.zeros((bounds.size - 1, 4))
    size = table_size(bounds)
    table, used, count = np.zeros(size, np.uint64), np.zeros(size, np.bool_), np.zeros(size, np.int64)
    slots = np.empty(size, np.int64)
    for text in range(bounds.size - 1):
        row = out[text]
        said, filled = 0, 0
        for i in range(bounds[text], bounds[text + 1]):
            late = i - DELAY
            if late >= bounds[text] and content[late]:
                slot = slot_of(table, used, stems[late])
                if slot >= 0:
                    if not used[slot]:
                        slots[filled] = slot
                        filled += 1
                    used[slot], table[slot] = True, stems[late]
                    count[slot] += 1
                said += 1
            if not content[i]:
                continue
            row[0] += 1
            row[3] += 1 - math.exp(-chances[i] * said)
            slot = slot_of(table, used, stems[i])
            known = count[slot] if slot >= 0 and used[slot] else 0
            row[1] += math.log(1 - _MIXED + _MIXED * known / (max(1, said) * chances[i]))
            row[2] += known > 0
        for place in range(filled):
            used[slots[place]], count[slots[place]] = False, 0
    return out


@nb.njit(cache=True, nogil=True)
def topic_drift(
    ids: NDArray[np.int32], topics: NDArray[np.int8], weights: NDArray[np.float32], bounds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Mean cosine of the topics of blocks of 25 tokens that are near (1 to 3 blocks apart) and far (8 to 36), and
    whether there are far ones. `topics` has a vector for each of the first words of the vocabulary."""
    out = np.zeros((bounds.size - 1, TOPIC_COLUMNS))
    size = topics.shape[1]
    room = longest_segment(bounds) // BLOCK + 1
    sums, norms = np.zeros((room, size), np.float32), np.zeros(room, np.float32)
    for text in range(bounds.size - 1):
        blocks = (bounds[text + 1] - bounds[text]) // BLOCK
        for block in range(blocks):
            total = sums[block]
            total[:] = 0
            begin = bounds[text] + block * BLOCK
            for i in range(begin, begin + BLOCK):
                word = ids[i]
                if word < topics.shape[0] and weights[word] > 0:
                    for d in range(size):
                        total[d] += weights[word] * topics[word, d]
            norm = np.float32(0)
            for d in range(size):
                norm += total[d] * total[d]
            norms[block] = math.sqrt(norm)
        near = _mean_cosine(sums, norms, blocks, (1, 2, 3))
        far = _mean_cosine(sums, norms, blocks, _FAR)
        out[text, 0], out[text, 1], out[text, 2] = near[0], far[0], far[1] > 0
    return out


@helper
def _mean_cosine(
    sums: NDArray[np.float32], norms: NDArray[np.float32], blocks: int, distances: tuple[int, ...]
) -> tuple[float, int]:
    """The mean cosine of blocks that are so far apart, and the number of pairs."""
    total, pairs = 0.0, 0
    for block in range(blocks):
        for distance in distances:
            other = block + distance
            if other >= blocks or norms[block] == 0 or norms[other] == 0:
                continue
            product = np.float32(0)
            for d in range(sums.shape[1]):
                product += sums[block, d] * sums[other, d]
            total += product / (norms[block] * norms[other])
            pairs += 1
    return total / max(1, pairs), pairs


@nb.njit(cache=True, nogil=True)
def class_scores(
    classes: NDArray[np.uint8],
    sentences: NDArray[np.int64],
    texts: NDArray[np.int64],
    logs3: NDArray[np.uint8],
    logs2: NDArray[np.float32],
    logs1: NDArray[np.float32],
    step: float,
    own: int,
) -> NDArray[np.float64]:
    """How well the order of word classes fits the language. Class 0 stands before and behind each sentence.

    Columns: 0 and 1 the sums of -log p(c|ab) and of -log p(c); 2 triples; 3 triples with a gain below -2 over p(c);
    4 and 5 the evidence that the middle word was inserted, log p(c|a) - log p(b|a) - log p(c|ab) + log p(b): its sum,
    and how often it exceeds 2; 6 pairs of frequent words (classes 1 to `own`) that belong together, like "of the";
    7 such pairs with an inserted word between them.
    """
    out = np.zeros((texts.size - 1, CLASS_COLUMNS))
    for text in range(texts.size - 1):
        row = out[text]
        for sentence in range(texts[text], texts[text + 1]):
            a, b = 0, 0
            for i in range(sentences[sentence], sentences[sentence + 1] + 1):
                c = int(classes[i]) if i < sentences[sentence + 1] else 0
                surprise3 = logs3[a, b, c] * step
                row[0] += surprise3
                row[1] -= logs1[c]
                row[2] += 1
                row[3] += surprise3 + logs1[c] > 2
                if i > sentences[sentence]:
                    evidence = logs2[a, c] - logs2[a, b] + surprise3 + logs1[b]
                    row[4] += min(max(evidence, -6.0), 6.0)
                    row[5] += evidence > 2
                    if 0 < a <= own and 0 < c <= own and b > own and logs2[a, c] - logs1[c] > 1:
                        row[7] += evidence > 2
                if 0 < b <= own and 0 < c <= own:
                    row[6] += logs2[b, c] - logs1[c] > 1
                a, b = b, c
    return out


@nb.njit(cache=True, nogil=True)
def repeated_phrases(hashes: NDArray[np.uint64], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of the runs of six tokens that occurred before in the same text."""
    out = np.zeros(bounds.size - 1)
    size = table_size(bounds)
    table, used = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
    slots = np.empty(longest_segment(bounds), np.int64)
    for text in range(bounds.size - 1):
        runs = max(0, bounds[text + 1] - bounds[text] - _LONGEST_PHRASE + 1)
        again = 0
        for run in range(runs):
            value = FNV_BASIS
            for i in range(bounds[text] + run, bounds[text] + run + _LONGEST_PHRASE):
                value = absorb(value, hashes[i], GOLDEN)
            slot = slot_of(table, used, value)
            slots[run] = slot
            if slot >= 0:
                again += used[slot]
                used[slot], table[slot] = True, value
        for run in range(runs):
            if slots[run] >= 0:
                used[slots[run]] = False
        out[text] = again / max(1, runs)
    return out


@nb.njit(cache=True, nogil=True)
def sentence_lengths(sentences: NDArray[np.int64], texts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean, deviation and correlation of neighbours of the logarithms of sentence lengths; shares of sentences with at
    most 3 and at least 60 tokens."""
    out = np.zeros((texts.size - 1, SENTENCE_COLUMNS))
    for text in range(texts.size - 1):
        number = texts[text + 1] - texts[text]
        if number == 0:
            continue
        row = out[text]
        squares = 0.0
        for s in range(texts[text], texts[text + 1]):
            length = sentences[s + 1] - sentences[s]
            row[0] += math.log(max(1, length)) / number
            squares += math.log(max(1, length)) ** 2 / number
            row[3] += (length <= 3) / number
            row[4] += (length >= 60) / number
        spread = max(0.0, squares - row[0] ** 2)
        row[1] = math.sqrt(spread)
        for s in range(texts[text] + 1, texts[text + 1]):
            here = math.log(max(1, sentences[s + 1] - sentences[s])) - row[0]
            there = math.log(max(1, sentences[s] - sentences[s - 1])) - row[0]
            row[2] += here * there / (max(spread, 0.01) * number)
    return out
