"""Start tags that were read before.

A page says the same tags again and again, and so do pages of one site. What a tag leaves in the streams depends on its
own bytes alone, unless it begins raw text or is hidden. So those of up to BLOCK bytes are remembered, each in a slot
that its first bytes, last bytes and length choose, until another one takes the slot.

All arrays are pointers (see pointers.py).
"""

import numba as nb
import numpy as np

from samehand.kernels.canonical.room import SKELETON, SLOT_BITS, SLOTS, TAG_COLUMNS, VALUES, Page, Tag
from samehand.kernels.compaction import BLOCK, copy_bytes, same_bits
from samehand.kernels.hashing import GOLDEN, MURMUR
from samehand.kernels.html.blocks import word_at

NO_SLOT = np.uint64(SLOTS)

_ONE, _TWO, _THREE, _EIGHT, _BLOCK, _COLUMNS = (np.uint64(number) for number in (1, 2, 3, 8, BLOCK, TAG_COLUMNS))
_ALL_BITS, _SLOT_SHIFT = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(64 - SLOT_BITS)


@nb.njit(cache=True, nogil=True, forceinline=True)
def slot_of(page: Page, start: np.uint64, length: np.uint64) -> np.uint64:
    """The slot of a tag: a hash of its first and last eight bytes."""
    size = min(length, _EIGHT)
    bits = _ALL_BITS >> (_EIGHT * (_EIGHT - size))
    first, last = word_at(page.source, start) & bits, word_at(page.source, start + length - size) & bits
    slot: np.uint64 = ((first * GOLDEN) ^ (last * MURMUR) ^ length) * GOLDEN >> _SLOT_SHIFT
    return slot


@nb.njit(cache=True, nogil=True, forceinline=True)
def is_known(page: Page, start: np.uint64, length: np.uint64, slot: np.uint64) -> bool:
    """Whether the tag at `start` is the one in the slot. Both end with their first `>`, so their lengths agree, too."""
    differ = ~same_bits(page.source, start, page.tags.texts, slot * _BLOCK)
    return bool((differ << (_BLOCK - length)) == 0)


@nb.njit(cache=True, nogil=True, forceinline=True)
def remember(page: Page, start: np.uint64, slot: np.uint64, tag: Tag) -> None:
    """Keeps the tag at `start`, and what it wrote behind both streams, in a slot."""
    tags, state, place, row = page.tags, page.state, slot * _BLOCK, slot * _COLUMNS
    copy_bytes(page.source, start, tags.texts, place)
    copy_bytes(page.values, state[VALUES], tags.values, place)
    copy_bytes(page.skeleton, state[SKELETON], tags.skeleton, place)
    tags.columns[row], tags.columns[row + _ONE] = tag.element, tag.shows
    tags.columns[row + _TWO], tags.columns[row + _THREE] = tag.values, tag.skeleton


@nb.njit(cache=True, nogil=True, forceinline=True)
def recall(page: Page, slot: np.uint64) -> Tag:
    """The tag of a slot. What it writes is written behind both streams."""
    tags, state, place, row = page.tags, page.state, slot * _BLOCK, slot * _COLUMNS
    copy_bytes(tags.values, place, page.values, state[VALUES])
    copy_bytes(tags.skeleton, place, page.skeleton, state[SKELETON])
    columns = tags.columns
    return Tag(columns[row], columns[row + _ONE], columns[row + _TWO], columns[row + _THREE])
