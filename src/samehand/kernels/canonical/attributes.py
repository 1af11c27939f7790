"""The attributes of a tag: those that do something to its element, and what they say of it.

All arrays are pointers (see pointers.py).
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.canonical import names as canon
from samehand.kernels.canonical.names import attribute_slot
from samehand.kernels.canonical.room import (
    COUNT,
    FACTS,
    HAS_ADDRESS,
    HIDDEN,
    HIDDEN_INPUT,
    MOST_ATTRIBUTES,
    TINY,
    VALUES,
    Page,
)
from samehand.kernels.canonical.values import is_hidden_type, is_tiny, style_hides, value_span
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html import attributes
from samehand.kernels.html.attributes import name_end
from samehand.kernels.html.tagnames import packed_source

_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(number) for number in range(5))
_GREATER = np.uint8(ord(">"))


@nb.njit(cache=True, nogil=True, forceinline=True)
def read_attributes(page: Page, position: np.uint64, owned: np.uint64) -> np.uint64:
    """Reads attributes up to a tag's `>`, sorted by the hashes of their names; returns the position behind it.

    Kept are those of `owned`, and classes and ids. Of attributes of one name the first counts. A tag without end gives
    a position beyond the page.
    """
    source, stop, classes = page.source, page.stop, page.canon.classes
    while position < stop:
        byte = source[position]
        if byte == _GREATER:
            return position + _ONE
        if classes[byte] & attributes.NAME_END:
            position += _ONE
            continue
        start = position
        position = name_end(source, start + _ONE, stop, classes, attributes.ATTRIBUTE_END)
        length = position - start
        key = (packed_source(source, start, length) ^ length) * GOLDEN
        position, value_start, value_end = value_span(source, position, stop, classes)
        _enter(page, key, value_start, value_end, owned)
    return stop + _ONE


@nb.njit(cache=True, nogil=True, forceinline=True)
def _enter(page: Page, key: np.uint64, start: np.uint64, end: np.uint64, owned: np.uint64) -> None:
    """Notes an attribute of the current tag in its place."""
    state, found = page.state, page.found
    slot = attribute_slot(key, page.canon.attribute_keys)
    if page.canon.attribute_keys[slot] != key:
        return  # anybody can add attributes that do nothing
    trait = page.canon.attribute_traits[slot]
    if trait:
        _note(page, trait, start, end)
    if not page.canon.attribute_bits[slot] & owned and not trait & canon.EMPTIED:
        return
    count = state[COUNT]
    if count == np.uint64(MOST_ATTRIBUTES):
        return
    place = _FOUR * count
    while place and found[place - _FOUR] >= key:
        if found[place - _FOUR] == key:
            _move_back(found, place, _FOUR * count)
            return
        found[place], found[place + _ONE] = found[place - _FOUR], found[place - _THREE]
        found[place + _TWO], found[place + _THREE] = found[place - _TWO], found[place - _ONE]
        place -= _FOUR
    found[place], found[place + _ONE], found[place + _TWO], found[place + _THREE] = key, start, end, slot
    state[COUNT] = count + _ONE


@nb.njit(cache=True, nogil=True, forceinline=True)
def _note(page: Page, trait: np.uint8, start: np.uint64, end: np.uint64) -> None:
    """Notes what an attribute says of its element: that it is hidden, tiny, or leads somewhere."""
    source, fact = page.source, _ZERO
    if trait & canon.HIDDEN:
        fact = HIDDEN
    elif trait & canon.STYLE:
        fact = HIDDEN * np.uint64(style_hides(source, start, end, page.values, page.state[VALUES]))
    elif trait & canon.TYPE:
        fact = HIDDEN_INPUT * np.uint64(is_hidden_type(source, start, end))
    elif trait & canon.ADDRESS:
        fact = HAS_ADDRESS
    elif trait & canon.SIZE:
        fact = TINY * np.uint64(is_tiny(source, start, end))
    page.state[FACTS] |= fact


@nb.njit(cache=True, nogil=True)
def _move_back(found: NDArray[np.uint64], place: np.uint64, end: np.uint64) -> None:
    """Undoes what `_enter` moved up to make room at `place`."""
    while place < end:
        for column in range(_FOUR):
            found[place + column] = found[place + _FOUR + column]
        place += _FOUR
