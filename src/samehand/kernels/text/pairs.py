"""Sketches of neighbouring words: which pairs of words stand side by side in a document.

A pair is hashed to 64 bits. Its upper 7 bits choose one of 128 slots, and the smallest hash of each slot wins
(one-permutation hashing). 8 bits of it are kept. An empty slot takes the value of another one, drawn by its own number
(Shrivastava's densification). The share of equal slots estimates the Jaccard similarity of two sets of pairs.
`tests/test_kernels_pairs.py` holds each function equal to a readable reference.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import equal_bytes
from samehand.kernels.buckets import similarity_of
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.noise import EMPTY
from samehand.kernels.pointers import lend
from samehand.kernels.text.words import IS_LONG, copy_distinct, gather_words, keep_words, mix, most_runs, sort_hashes

SLOTS = 128
WORDS = SLOTS // 8
"""64-bit words of a sketch: 8 slots each."""

SHORT = 64
"""A text of fewer different pairs is short."""

_SHORT_COUNTS = 2 / 3
_SLOT_SHIFT = np.uint64(57)
_CHANCE = 1 / 256
_EMPTY = np.uint32(EMPTY)


class PairRows(NamedTuple):
    """Sketches end to end, and the number of different pairs of each document, 0 if it has no sketch.

    The number is negative for a page without enough prose, whose whole text is sketched: menus and footers are most of
    it, so it may share text with other pages, and is never a near replica by that. `shared` is the Jaccard similarity
    from which on two documents share text.
    """

    sketches: NDArray[np.uint64]
    sizes: NDArray[np.int32]
    shared: float


@nb.njit(cache=True, nogil=True)
def read_documents(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    blocks: NDArray[np.int64],
    is_text: NDArray[np.bool_],
    block_offsets: NDArray[np.int64],
    characters: NDArray[np.uint32],
    key: NDArray[np.uint64],
    rule: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int32]]:
    """The set of words (starts, words), the sketch of pairs and the number of pairs of each document, in one reading.

    `blocks` are the ends of the blocks of each document, from block_offsets[i] to block_offsets[i+1]; those that are no
    menus are `is_text`. `rule` is that of `gather_words`, then the fewest words of a block of text whose pairs count,
    the fewest words of such blocks (all blocks of a document that has fewer count, and its number of pairs is
    negative), and the fewest different pairs that make a sketch.
    """
    documents = offsets.size - 1
    room = most_runs(offsets)
    row, spare, facts = np.empty(room, np.uint64), np.empty(room, np.uint64), np.empty((room, 3), np.int32)
    pairs = np.empty(room, np.uint64)
    words = np.empty((offsets[documents] - offsets[0]) // (rule[0] + 1) + documents, np.uint64)
    starts = np.zeros(documents + 1, np.int64)
    sketches = np.zeros((documents, SLOTS), np.uint8)
    sizes = np.zeros(documents, np.int32)
    for document in range(documents):
        text = data[offsets[document] : offsets[document + 1]]
        count = gather_words(text, characters, key, rule, row, facts)
        first, last = block_offsets[document], block_offsets[document + 1]
        own, counts = blocks[first:last], is_text[first:last]
        has_prose = _words_in_blocks(facts, count, own, counts, rule[2]) >= rule[3]
        found = pairs[: _gather_pairs(row[:count], facts, own, counts, rule[2] if has_prose else 0, pairs)]
        sort_hashes(found, spare)
        size = copy_distinct(found, found)
        if size >= rule[4]:
            _fill_sketch(found[:size], sketches[document])
            sizes[document] = size if has_prose else -size
        starts[document + 1] = starts[document] + keep_words(row[:count], facts, spare, words[starts[document] :])
    return starts, words[: starts[documents]].copy(), sketches, sizes


@helper
def _words_in_blocks(
    facts: NDArray[np.int32], runs: np.int64, blocks: NDArray[np.int64], is_text: NDArray[np.bool_], least: int
) -> int:
    """Runs of characters in the blocks of text that have at least so many."""
    found = first = 0
    for block in range(blocks.size + 1):
        last = _end_of_block(facts, int(runs), blocks, block, first)
        found += last - first if last - first >= least and (block == blocks.size or is_text[block]) else 0
        first = last
    return found


@helper
def _gather_pairs(
    row: NDArray[np.uint64],
    facts: NDArray[np.int32],
    blocks: NDArray[np.int64],
    is_text: NDArray[np.bool_],
    least: int,
    pairs: NDArray[np.uint64],
) -> int:
    """Writes the hashes of neighbours of which one is long, in blocks of enough words; returns their number.

    If no number of words is asked for, all blocks count.
    """
    count, before, first = 0, -1, 0
    for block in range(blocks.size + 1):
        last = _end_of_block(facts, row.size, blocks, block, first)
        if least == 0 or (last - first >= least and (block == blocks.size or is_text[block])):
            for run in range(first, last):
                if before >= 0 and (facts[before, 2] | facts[run, 2]) & IS_LONG:
                    pairs[count] = max(mix((row[before] * GOLDEN) ^ row[run]), np.uint64(1))
                    count += 1
                before = run
        first = last
    return count


@helper
def _end_of_block(facts: NDArray[np.int32], runs: int, blocks: NDArray[np.int64], block: int, first: int) -> int:
    """The first run, from `first` on, that begins behind the end of a block. The last block ends with the text."""
    if block == blocks.size:
        return runs
    while first < runs and facts[first, 0] < blocks[block]:
        first += 1
    return first


@helper
def _fill_sketch(pairs: NDArray[np.uint64], sketch: NDArray[np.uint8]) -> None:
    """Fills a sketch from sorted hashes: the first hash with the upper bits of a slot is its smallest."""
    filled = np.zeros(SLOTS, np.bool_)
    for value in pairs:
        slot = value >> _SLOT_SHIFT
        if not filled[slot]:
            filled[slot] = True
            sketch[slot] = np.uint8(value & np.uint64(0xFF))
    for slot in range(SLOTS):
        other, draw = np.uint64(slot), np.uint64(0)
        while not filled[other]:
            draw += np.uint64(1)
            other = mix((np.uint64(slot) << np.uint64(32)) | draw) >> _SLOT_SHIFT
        sketch[slot] = sketch[other]


@nb.njit(cache=True, nogil=True)
def bucket_columns(
    sketches: NDArray[np.uint8], sizes: NDArray[np.int32], subsets: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """The bucket of each document in the probe of each subset of slots (rows); EMPTY where it has no sketch."""
    columns = np.empty((subsets.shape[0], sizes.size), np.uint32)
    for document in range(sizes.size):
        for probe in range(subsets.shape[0]):
            key = np.uint64(0)
            for slot in subsets[probe]:
                key = (key << np.uint64(8)) | np.uint64(sketches[document, slot])
            bucket = min(mix(key) >> np.uint64(32), np.uint64(EMPTY - 1))
            columns[probe, document] = _EMPTY if sizes[document] == 0 else np.uint32(bucket)
    return columns


@nb.njit(cache=True, nogil=True)
def jaccard(rows: PairRows, row: np.uint64, others: PairRows, other: np.uint64) -> float:
    """Estimated Jaccard similarity of two sets of pairs; 0 if one has no sketch. Matches by chance are taken off."""
    if rows.sizes[row] == 0 or others.sizes[other] == 0:
        return 0.0
    first, second = row * np.uint64(WORDS), other * np.uint64(WORDS)
    equal = np.uint64(0)
    for place in range(np.uint64(0), np.uint64(WORDS), np.uint64(8)):
        equal += equal_bytes(rows.sketches, first + place, others.sketches, second + place, 0xFF)
    share = np.float64(equal) / SLOTS
    return max(0.0, (share - _CHANCE) / (1.0 - _CHANCE))


@nb.njit(cache=True, nogil=True)
def containment(found: float, left: np.int32, right: np.int32) -> float:
    """The share of the smaller set that is in the larger one, from the Jaccard similarity and both sizes."""
    smaller = min(abs(left), abs(right))
    total = np.float64(abs(left)) + np.float64(abs(right))
    return min(1.0, found / (1.0 + found) * total / smaller) if smaller > 0 else 0.0


@nb.njit(cache=True, nogil=True)
def weighed(found: float, left: np.int32, right: np.int32) -> float:
    """The Jaccard similarity, of which two thirds count if one of the texts is short: a footer may be half of it."""
    return found * _SHORT_COUNTS if min(abs(left), abs(right)) < SHORT else found


@similarity_of(PairRows)
@nb.njit(cache=True, nogil=True)
def closeness(rows: PairRows, left: int, right: int) -> np.float32:
    """Estimated Jaccard similarity, weighed; at least `shared` where half of the smaller text is in the larger one.

    At most `shared` where a page without enough prose is compared.
    """
    one, other = np.uint64(left), np.uint64(right)
    found = jaccard(rows, one, rows, other)
    held = rows.shared * min(1.0, 2.0 * containment(found, rows.sizes[one], rows.sizes[other]))
    found = weighed(found, rows.sizes[one], rows.sizes[other])
    return np.float32(max(found, held) if rows.sizes[one] > 0 and rows.sizes[other] > 0 else min(found, rows.shared))


@nb.njit(cache=True, nogil=True)
def jaccards_and_containments(
    rows: PairRows, left: NDArray[np.int32], right: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Both estimates for row left[i] and row right[i]."""
    lent = lend(rows)
    found, held = np.empty(left.size, np.float32), np.empty(left.size, np.float32)
    for place in range(left.size):
        one, other = np.uint64(left[place]), np.uint64(right[place])
        value = jaccard(lent, one, lent, other)
        found[place], held[place] = value, containment(value, rows.sizes[one], rows.sizes[other])
    return found, held


@nb.njit(cache=True, nogil=True)
def nearest_sketches(documents: PairRows, prototypes: PairRows) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The prototype with the most similar sketch for each document: row and Jaccard similarity; -1 for none."""
    count = documents.sizes.size
    rows, found = np.full(count, -1, np.int64), np.zeros(count, np.float32)
    asked, known = lend(documents), lend(prototypes)
    for document in range(count):
        for row in range(prototypes.sizes.size):
            value = np.float32(jaccard(asked, np.uint64(document), known, np.uint64(row)))
            if value > found[document]:
                rows[document], found[document] = row, value
    return rows, found


@nb.njit(cache=True, nogil=True)
def jaccards_across(documents: PairRows, prototypes: PairRows, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Estimated Jaccard similarity of each document and the prototype rows[i]; 0 where that is -1."""
    found = np.zeros(rows.size, np.float32)
    asked, known = lend(documents), lend(prototypes)
    for document in range(rows.size):
        if rows[document] >= 0:
            found[document] = jaccard(asked, np.uint64(document), known, np.uint64(rows[document]))
    return found
