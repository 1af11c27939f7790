"""The children of a trie in one hash table with linear probing: from (node, word) to the child in one lookup.

A pair is a number of `key` bits, mixed by steps that can be undone. The upper bits of the mixed pair are its home slot.
A slot of 64 bits has the child, the lower bits of the mixed pair, and the distance from the home slot: so it identifies
the pair exactly. Zero is an empty slot. The table has room behind its end for the longest distance.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part
from samehand.kernels.hashing import GOLDEN

FARTHEST = 128
_DISTANCE_BITS = np.uint64(7)
_CHILD_BITS = np.uint64(32)
_CHILD = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_SECOND_FACTOR = np.uint64(0xD1342543DE82EF95)


class Index(NamedTuple):
    """The table: its slots, the bits of a word, of a pair and of the slots, and how many words and nodes there are.

    Nodes below `inner` may have children.
    """

    slots: NDArray[np.uint64]
    bits: NDArray[np.uint64]
    words: int
    inner: int
    nodes: int


def index_bits(words: int, inner: int, total: int) -> tuple[int, int, int]:
    """Bits of a word, of a (node, word) pair, and of the slots of a table that is at most two thirds full."""
    word = max(1, (words - 1).bit_length())
    key = word + max(1, (inner - 1).bit_length())
    return word, key, min(key, max(4, (total + total // 2).bit_length()))


@part
def mixed_pair(pair: np.uint64, key_bits: np.uint64) -> np.uint64:
    """A pair as a number whose upper bits are spread evenly. Different pairs have different numbers."""
    mask = (np.uint64(1) << key_bits) - np.uint64(1)
    pair = (pair * GOLDEN) & mask
    pair ^= pair >> (key_bits >> np.uint64(1))
    pair = (pair * _SECOND_FACTOR) & mask
    return pair


@nb.njit(cache=True, nogil=True)
def find_children(
    index: Index,
    histories: NDArray[np.int64],
    words: NDArray[np.int64],
    children: NDArray[np.int64],
    room: NDArray[np.uint64],
) -> None:
    """Sets children[i] to the child of node histories[i] by words[i], or -1. A history of -1 has no children.

    The home slots of all pairs are read before any is compared. Pairs that have to probe farther do so together, round
    by round. So many reads run at the same time, and few branches are mispredicted.
    """
    slots, bits, nodes = index.slots, index.bits, index.nodes
    word_bits, key_bits, rest_bits = bits[0], bits[1], bits[1] - bits[2]
    rest = (_ONE << rest_bits) - _ONE
    mixed, heads, waiting = room[0], room[1], room[2]
    for row in range(np.uint64(words.size)):
        node = np.uint64(histories[row]) if histories[row] >= 0 else np.uint64(0)
        mixed[row] = mixed_pair((node << word_bits) | np.uint64(words[row]), key_bits)
        heads[row] = slots[mixed[row] >> rest_bits]
    left = np.uint64(0)
    for row in range(np.uint64(words.size)):
        slot, tag = heads[row], (mixed[row] & rest) << _DISTANCE_BITS
        hit = slot >> _CHILD_BITS == tag
        asked = histories[row] >= 0
        children[row] = np.int64(slot & _CHILD) if hit & asked & (slot != 0) & (slot & _CHILD < nodes) else np.int64(-1)
        waiting[left] = row
        left += np.uint64(asked & (not hit) & (slot != 0))
    distance = _ONE
    while left > 0 and distance < np.uint64(FARTHEST):
        still = np.uint64(0)
        for place in range(left):
            row = waiting[place]
            slot = slots[(mixed[row] >> rest_bits) + distance]
            hit = slot >> _CHILD_BITS == ((mixed[row] & rest) << _DISTANCE_BITS) | distance
            if hit and slot & _CHILD < nodes:
                children[row] = np.int64(slot & _CHILD)
            waiting[still] = row
            still += np.uint64((not hit) & (slot != 0))
        left = still
        distance += _ONE


@nb.njit(cache=True, nogil=True)
def fill(
    words: NDArray[np.uint32],
    first: NDArray[np.uint32],
    shift: int,
    bits: NDArray[np.uint64],
    slots: NDArray[np.uint64],
) -> bool:
    """Enters all children into the empty table; False if one would be too far from its home slot."""
    word_bits, key_bits, rest_bits = bits[0], bits[1], bits[1] - bits[2]
    for node in range(first.size - 1):
        for child in range(first[node], first[node + 1]):
            mixed = mixed_pair((np.uint64(node) << word_bits) | np.uint64(words[child - shift]), key_bits)
            home = mixed >> rest_bits
            distance = np.uint64(0)
            while slots[home + distance] != 0:
                distance += np.uint64(1)
                if distance >= np.uint64(FARTHEST):
                    return False
            tag = (mixed & ((np.uint64(1) << rest_bits) - np.uint64(1))) << _DISTANCE_BITS
            slots[home + distance] = ((tag | distance) << _CHILD_BITS) | np.uint64(child)
    return True
