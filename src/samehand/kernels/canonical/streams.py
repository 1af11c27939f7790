"""Canonical markup: a page's markup as two streams of bytes that cheap disguises do not change.

One pass reads tags as the tokenizer of the HTML standard does. It drops comments, scripts, text, and what a browser
shows nothing for. The first stream has, for each element, the punctuation of its attributes' values; the second is the
skeleton: names of elements, and the attributes that do something. Quotes, blanks, case, the order of attributes,
references, names of classes and wrappers leave no trace. docs/style.md lists the rules.

Every function moves forward only, but for two looks ahead of at most HIDDEN_BYTES and 32 bytes. Below `canonical_page`
arrays are pointers (see pointers.py); `source` has BLOCK more bytes behind the page.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import part
from samehand.kernels.bits import first_bit
from samehand.kernels.canonical import names as canon
from samehand.kernels.canonical.attributes import read_attributes
from samehand.kernels.canonical.known_tags import NO_SLOT, is_known, recall, remember, slot_of
from samehand.kernels.canonical.names import Tables
from samehand.kernels.canonical.references import has_no_ink
from samehand.kernels.canonical.room import (
    COUNT,
    EMPTY,
    FACTS,
    HAS_ADDRESS,
    HIDDEN,
    HIDDEN_INPUT,
    IN_BODY,
    MOST_EMPTY,
    SKELETON,
    TINY,
    VALUES,
    Page,
    Streams,
    Tag,
)
from samehand.kernels.canonical.values import path_start, put_value
from samehand.kernels.compaction import BLOCK, byte_bits, space_bits
from samehand.kernels.html import attributes
from samehand.kernels.html.attributes import name_end
from samehand.kernels.html.blocks import copy_block, find_byte, first_word
from samehand.kernels.html.rawtext import comment_end, raw_end, script_end
from samehand.kernels.html.tagnames import NAMES, UNKNOWN, packed_source, tag_number
from samehand.kernels.pointers import lend, pointer

HIDDEN_BYTES = 256

_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(number) for number in range(5))
_EIGHT, _BLOCK, _UNKNOWN = np.uint64(8), np.uint64(BLOCK), np.uint64(UNKNOWN)
_BANG, _DASH, _SLASH, _LESS, _GREATER, _QUERY, _AMPERSAND = (np.uint8(byte) for byte in b"!-/<>?&")
_HIGH = np.uint8(0xC2)
_START, _CLOSE, _END, _VALUE, _VALUE_END = (
    np.uint8(byte) for byte in (canon.START, canon.CLOSE, canon.END, canon.VALUE, canon.QUOTE)
)
_BODY, _INPUT = (np.uint64(NAMES.index(name)) for name in ("body", "input"))


@nb.njit(cache=True, nogil=True)
def canonical_page(content: NDArray[np.uint8], tables: Tables, room: Streams) -> None:
    """Fills both streams of `room`; room.state holds their lengths."""
    room.state[:] = _ZERO
    room.opened[:] = np.uint32(0)
    lent, known = lend(room), lend(tables)
    page = Page(
        pointer(content),
        np.uint64(content.size),
        known.canon,
        known.names,
        lent.values,
        lent.skeleton,
        lent.state,
        lent.opened,
        lent.empty,
        lent.found,
        lent.tags,
    )
    _read_page(page)


@part
def _read_page(page: Page) -> None:
    source, stop = page.source, page.stop
    position = _ZERO
    while position < stop:
        bracket = find_byte(source, position, stop, _LESS)
        if page.state[EMPTY] and position < bracket:
            _fill(page, position, bracket)
        position = bracket + _ONE
        if position < stop:
            position = _read_markup(page, position)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _fill(page: Page, start: np.uint64, end: np.uint64) -> None:
    """Text that somebody sees fills the elements that are open. One of a few bytes may be blanks in other spellings."""
    source = page.source
    while end - start >= _BLOCK:
        if ~space_bits(source, start):
            page.state[EMPTY] = _ZERO
            return
        start += _BLOCK
    text = ~space_bits(source, start) & ((_ONE << (end - start)) - _ONE)
    if text:
        start += first_bit(text)
        is_plain = source[start] != _AMPERSAND and source[start] < _HIGH
        if is_plain or not has_no_ink(source, start, end):
            page.state[EMPTY] = _ZERO


@part
def _read_markup(page: Page, after: np.uint64) -> np.uint64:
    """Reads what the `<` before `after` opens; returns the position behind it."""
    source, stop = page.source, page.stop
    byte = source[after]
    if page.canon.classes[byte] & attributes.LETTER:
        return _read_start(page, after)
    if byte == _SLASH:
        after += _ONE
        if after < stop and page.canon.classes[source[after]] & attributes.LETTER:
            return _read_end(page, after)
    elif byte == _BANG:
        after += _ONE
        if after + _ONE < stop and source[after] == _DASH and source[after + _ONE] == _DASH:
            return comment_end(source, after + _TWO, stop)
    elif byte != _QUERY:
        page.state[EMPTY] = _ZERO  # a lone `<` is text
        return after
    return min(find_byte(source, after, stop, _GREATER) + _ONE, stop)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _read_end(page: Page, start: np.uint64) -> np.uint64:
    """Reads an end tag. One that closes nothing leaves no trace, as in a browser."""
    source = page.source
    length: np.uint64 = first_bit(byte_bits(source, start, _GREATER))
    if length <= _EIGHT and start + length < page.stop:
        number = tag_number(first_word(source, start, length), source, start, length, page.names)
        if number < _UNKNOWN:
            _close(page, number)
            return start + length + _ONE
    return _read_odd_end(page, start)


@nb.njit(cache=True, nogil=True)
def _read_odd_end(page: Page, start: np.uint64) -> np.uint64:
    """Reads an end tag with a long or unknown name, or with more than a name."""
    source, stop = page.source, page.stop
    name_stop = name_end(source, start, stop, page.canon.classes, attributes.NAME_END)
    packed = packed_source(source, start, name_stop - start)
    number = tag_number(packed, source, start, name_stop - start, page.names)
    position = name_stop
    if position < stop and source[position] != _GREATER:
        position = read_attributes(page, position, _ZERO) - _ONE
    _close(page, number)
    return min(position + _ONE, stop)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _close(page: Page, number: np.uint64) -> None:
    trait = page.canon.traits[number]
    if not trait & canon.KEPT or trait & (canon.VOID | canon.ONCE) or page.opened[number] == 0:
        return
    page.opened[number] -= np.uint32(1)
    if _take_back(page, number):
        return
    if trait & (canon.BOX | canon.OPTIONAL_END):
        return
    state = page.state
    state[EMPTY] = _ZERO
    length = state[VALUES]
    page.values[length], page.values[length + _ONE], page.values[length + _TWO] = _START, _END, _CLOSE
    state[VALUES] = length + _THREE
    length = state[SKELETON]
    page.skeleton[length], page.skeleton[length + _ONE] = _END, page.canon.symbols[number]
    state[SKELETON] = length + _TWO


@nb.njit(cache=True, nogil=True, forceinline=True)
def _take_back(page: Page, number: np.uint64) -> bool:
    """Takes an element back, with what is in it, if that is nothing that shows."""
    state = page.state
    open_now = state[EMPTY]
    while open_now:
        open_now -= _ONE
        place = _THREE * open_now
        if page.empty[place] == number:
            state[EMPTY] = open_now
            state[VALUES], state[SKELETON] = page.empty[place + _ONE], page.empty[place + _TWO]
            return True
    return False


@part
def _read_start(page: Page, start: np.uint64) -> np.uint64:
    """Reads a start tag and the raw text behind it."""
    end: np.uint64 = start + first_bit(byte_bits(page.source, start, _GREATER)) + _ONE
    slot = NO_SLOT
    if end - start <= _BLOCK and end <= page.stop:
        slot = slot_of(page, start, end - start)
        if is_known(page, start, end - start, slot):
            _place(page, recall(page, slot))
            return end
    return _read_new(page, start, end, slot)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _read_new(page: Page, start: np.uint64, end: np.uint64, slot: np.uint64) -> np.uint64:
    """Reads a start tag that is not known. If it has a slot and ends at `end`, it is kept there.

    A tag that the end of the page cuts off does not count.
    """
    source, stop, state = page.source, page.stop, page.state
    name_stop = name_end(source, start, stop, page.canon.classes, attributes.NAME_END)
    packed = packed_source(source, start, name_stop - start)
    number = tag_number(packed, source, start, name_stop - start, page.names)
    trait = page.canon.traits[number]
    state[COUNT] = state[FACTS] = _ZERO
    position = name_stop + _ONE
    if name_stop < stop and source[name_stop] != _GREATER:
        position = read_attributes(page, name_stop, page.canon.owned[number])
    if position > stop:
        return stop
    after, is_hidden = position, state[FACTS] & HIDDEN or trait & canon.UNSEEN
    if trait & canon.SCRIPT:
        after = script_end(source, position, stop, page.canon.classes)
    elif trait & canon.RAW:
        after = raw_end(source, position, stop, packed, name_stop - start, page.canon.classes)
    elif is_hidden and not trait & canon.VOID:
        after = _hidden_end(page, position, packed, name_stop - start)
        if after > position:
            return after
    tag = _write(page, number, trait)
    if slot != NO_SLOT and position == end and not trait & canon.RAW and not is_hidden:
        remember(page, start, slot, tag)
    _place(page, tag)
    return after


@nb.njit(cache=True, nogil=True, forceinline=True)
def _place(page: Page, tag: Tag) -> None:
    """Makes what a start tag wrote a part of both streams, if a browser shows it where it stands."""
    trait = page.canon.traits[tag.element]
    if tag.shows and _fits(page, tag.element, trait):
        if trait & canon.PICTURE:
            page.state[EMPTY] = _ZERO
        else:
            _open(page, tag, trait)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _shows(number: np.uint64, trait: np.uint16, facts: np.uint64) -> bool:
    """Whether an element is kept and its attributes let a browser show it."""
    if not trait & (canon.KEPT | canon.PICTURE) or facts & HIDDEN:
        return False
    if trait & canon.SIZED and facts & TINY:
        return False
    if trait & canon.ADDRESSED and not facts & HAS_ADDRESS:
        return False
    return bool(number != _INPUT or not facts & HIDDEN_INPUT)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _fits(page: Page, number: np.uint64, trait: np.uint16) -> bool:
    """Whether a browser makes an element of a start tag where it stands."""
    if trait & canon.HEAD_ONLY:
        return bool(page.state[IN_BODY] == 0)
    if trait & canon.ONCE:
        return bool(page.opened[number] == 0)
    outside = page.canon.inside[number]
    return bool(outside == 0 or page.opened[outside] > 0)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _open(page: Page, tag: Tag, trait: np.uint16) -> None:
    """Makes what a start tag wrote a part of both streams."""
    state = page.state
    if tag.element == _BODY:
        state[IN_BODY] = _ONE
    page.opened[tag.element] += np.uint32(1)
    if trait & (canon.VOID | canon.STANDS) or state[EMPTY] == np.uint64(MOST_EMPTY):
        state[EMPTY] = _ZERO
    elif not trait & canon.CELL and tag.values:
        place = _THREE * state[EMPTY]
        page.empty[place] = tag.element
        page.empty[place + _ONE], page.empty[place + _TWO] = state[VALUES], state[SKELETON]
        state[EMPTY] += _ONE
    state[VALUES] += tag.values
    state[SKELETON] += tag.skeleton


@nb.njit(cache=True, nogil=True, forceinline=True)
def _write(page: Page, number: np.uint64, trait: np.uint16) -> Tag:
    """Writes the current tag behind both streams. A box without attributes writes nothing."""
    values, skeleton, found, is_box = page.values, page.skeleton, page.found, (trait & canon.BOX) != 0
    before, shape = page.state[VALUES], page.state[SKELETON]
    length, shaped = before, shape
    shows = _shows(number, trait, page.state[FACTS])
    if trait & canon.KEPT and (page.state[COUNT] or not is_box):
        values[length] = _START
        length += _ONE
        if not is_box:
            skeleton[shaped], skeleton[shaped + _ONE] = _START, page.canon.symbols[number]
            shaped += _TWO
        for place in range(_ZERO, _FOUR * page.state[COUNT], _FOUR):
            slot = found[place + _THREE]
            values[length] = _VALUE
            length += _ONE
            noise = length
            trait = page.canon.attribute_traits[slot]
            if not trait & canon.EMPTIED:
                start, end = found[place + _ONE], found[place + _TWO]
                if trait & canon.ADDRESS:
                    start = path_start(page.source, start, end)
                length = put_value(page.source, start, end, values, length)
                skeleton[shaped] = page.canon.attribute_symbols[slot]
                shaped += _ONE
                copy_block(values, noise, skeleton, shaped)
                shaped += length - noise
            values[length] = _VALUE_END
            length += _ONE
        values[length] = _CLOSE
        length += _ONE
        if not is_box:
            skeleton[shaped] = _CLOSE
            shaped += _ONE
    return Tag(number, np.uint64(shows), length - before, shaped - shape)


@nb.njit(cache=True, nogil=True)
def _hidden_end(page: Page, position: np.uint64, name: np.uint64, length: np.uint64) -> np.uint64:
    """The position behind the end tag of a hidden element, if that is near; else `position`."""
    stop = min(page.stop, position + np.uint64(HIDDEN_BYTES))
    end = raw_end(page.source, position, stop, name, length, page.canon.classes)
    if end >= stop:
        return position
    return min(find_byte(page.source, end, page.stop, _GREATER) + _ONE, page.stop)
