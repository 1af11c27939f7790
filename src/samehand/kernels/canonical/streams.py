"""Canonical markup: a page's markup as two streams of bytes that cheap disguises do not change.

One pass reads tags as the tokenizer of the HTML standard does. It drops comments, scripts, text, and what a browser
shows nothing for. The first stream has, for each element, the punctuation of its attributes' values; the second is the
skeleton: names of elements, and the attributes that do something. Quotes, blanks, case, the order of attributes,
references, names of classes and wrappers leave no trace. docs/style.md lists the rules.

Every function moves forward only, but for two looks ahead of at most HIDDEN_BYTES and 32 bytes. Below `canonical_page`
arrays are pointers (see pointers.py); `source` has BLOCK more bytes behind the page.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.bits import first_bit
from samehand.kernels.canonical import names as canon
from samehand.kernels.canonical.names import Canon, Tables, attribute_slot
from samehand.kernels.canonical.references import has_no_ink
from samehand.kernels.canonical.values import (
    is_hidden_type,
    is_tiny,
    path_start,
    put_value,
    style_hides,
    value_span,
)
from samehand.kernels.compaction import BLOCK, byte_bits, space_bits
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html import attributes
from samehand.kernels.html.attributes import name_end
from samehand.kernels.html.blocks import copy_block, find_byte
from samehand.kernels.html.rawtext import comment_end, raw_end, script_end
from samehand.kernels.html.tagnames import NAMES, Names, packed_source, tag_number
from samehand.kernels.pointers import lend, pointer

MOST_ATTRIBUTES = 32
MOST_EMPTY = 16
HIDDEN_BYTES = 256

# Places in `state`: lengths of both streams, elements that are empty so far, whether <body> was seen; what is known of
# the current tag: its attributes, whether it is hidden, an input of type hidden, has an address, is tiny.
VALUES, SKELETON, _EMPTY, _IN_BODY, _COUNT, _IS_HIDDEN, _HIDDEN_INPUT, _HAS_ADDRESS, _IS_TINY, _STATES = range(10)

_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(number) for number in range(5))
_BLOCK = np.uint64(BLOCK)
_BANG, _DASH, _SLASH, _LESS, _GREATER, _QUERY, _AMPERSAND = (np.uint8(byte) for byte in b"!-/<>?&")
_HIGH = np.uint8(0xC2)
_START, _CLOSE, _END, _VALUE, _VALUE_END = (
    np.uint8(byte) for byte in (canon.START, canon.CLOSE, canon.END, canon.VALUE, canon.QUOTE)
)
_BODY, _INPUT = (np.uint64(NAMES.index(name)) for name in ("body", "input"))
_NAMES_SIZE = len(NAMES)


class Streams(NamedTuple):
    """Room for both streams of a page, and for what the pass remembers of it."""

    values: NDArray[np.uint8]
    skeleton: NDArray[np.uint8]
    state: NDArray[np.uint64]
    opened: NDArray[np.uint32]
    empty: NDArray[np.uint64]
    found: NDArray[np.uint64]


class _Page(NamedTuple):
    """The current page: its bytes up to `stop`, lookup tables, and Streams. All arrays are pointers."""

    source: NDArray[np.uint8]
    stop: np.uint64
    canon: Canon
    names: Names
    values: NDArray[np.uint8]
    skeleton: NDArray[np.uint8]
    state: NDArray[np.uint64]
    opened: NDArray[np.uint32]
    empty: NDArray[np.uint64]
    found: NDArray[np.uint64]


@nb.njit(cache=True, nogil=True)
def room_for(size: np.int64) -> Streams:
    """Room for the streams of a page of `size` bytes: neither is longer than the page."""
    return Streams(
        np.empty(size + 2 * BLOCK, np.uint8),
        np.empty(size + 2 * BLOCK, np.uint8),
        np.zeros(_STATES, np.uint64),
        np.zeros(_NAMES_SIZE, np.uint32),
        np.zeros(3 * MOST_EMPTY, np.uint64),
        np.zeros(4 * MOST_ATTRIBUTES, np.uint64),
    )


@nb.njit(cache=True, nogil=True)
def canonical_page(content: NDArray[np.uint8], tables: Tables, room: Streams) -> None:
    """Fills both streams of `room`; room.state holds their lengths."""
    room.state[:] = _ZERO
    room.opened[:] = np.uint32(0)
    lent = lend(room)
    page = _Page(
        pointer(content),
        np.uint64(content.size),
        lend(tables.canon),
        lend(tables.names),
        lent.values,
        lent.skeleton,
        lent.state,
        lent.opened,
        lent.empty,
        lent.found,
    )
    _read_page(page)


@nb.njit(cache=True, nogil=True)
def _read_page(page: _Page) -> None:
    position = _ZERO
    while position < page.stop:
        position = _skip_text(page, position)
        if position + _ONE < page.stop:
            position = _read_markup(page, position + _ONE)
        else:
            break


@nb.njit(cache=True, nogil=True, forceinline=True)
def _skip_text(page: _Page, position: np.uint64) -> np.uint64:
    """The next `<`, or a position behind the page. Text that somebody sees fills the elements that are open."""
    source, stop, state = page.source, page.stop, page.state
    while position < stop:
        bits = byte_bits(source, position, _LESS)
        text = ~(bits | space_bits(source, position))
        if bits:
            text &= bits ^ (bits - _ONE)
            end = position + first_bit(bits)
            if text and state[_EMPTY]:
                _fill(page, position + first_bit(text), end)
            position = end
            break
        if text:
            state[_EMPTY] = _ZERO
        position += _BLOCK
    return position


@nb.njit(cache=True, nogil=True, forceinline=True)
def _fill(page: _Page, start: np.uint64, end: np.uint64) -> None:
    """Text of a few bytes: it may be blanks in another spelling."""
    first = page.source[start]
    is_plain = first != _AMPERSAND and first < _HIGH
    if is_plain or not has_no_ink(page.source, start, min(end, page.stop)):
        page.state[_EMPTY] = _ZERO


@nb.njit(cache=True, nogil=True, forceinline=True)
def _read_markup(page: _Page, after: np.uint64) -> np.uint64:
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
        page.state[_EMPTY] = _ZERO  # a lone `<` is text
        return after
    return min(find_byte(source, after, stop, _GREATER) + _ONE, stop)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _read_end(page: _Page, start: np.uint64) -> np.uint64:
    """Reads an end tag. One that closes nothing leaves no trace, as in a browser."""
    source, stop = page.source, page.stop
    name_stop = name_end(source, start, stop, page.canon.classes, attributes.NAME_END)
    packed = packed_source(source, start, name_stop - start)
    number = tag_number(packed, source, start, name_stop - start, page.names)
    position = name_stop
    if position < stop and source[position] != _GREATER:
        position = _read_attributes(page, position, _ZERO) - _ONE
    trait = page.canon.traits[number]
    if trait & canon.KEPT and not trait & canon.VOID:
        _close(page, number, trait)
    return min(position + _ONE, stop)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _close(page: _Page, number: np.uint64, trait: np.uint16) -> None:
    if page.opened[number] == 0 or trait & canon.ONCE:
        return
    page.opened[number] -= np.uint32(1)
    if _take_back(page, number):
        return
    if trait & (canon.BOX | canon.OPTIONAL_END):
        return
    state = page.state
    state[_EMPTY] = _ZERO
    length = state[VALUES]
    page.values[length], page.values[length + _ONE], page.values[length + _TWO] = _START, _END, _CLOSE
    state[VALUES] = length + _THREE
    length = state[SKELETON]
    page.skeleton[length], page.skeleton[length + _ONE] = _END, page.canon.symbols[number]
    state[SKELETON] = length + _TWO


@nb.njit(cache=True, nogil=True, forceinline=True)
def _take_back(page: _Page, number: np.uint64) -> bool:
    """Takes an element back, with what is in it, if that is nothing that shows."""
    state = page.state
    open_now = state[_EMPTY]
    while open_now:
        open_now -= _ONE
        place = _THREE * open_now
        if page.empty[place] == number:
            state[_EMPTY] = open_now
            state[VALUES], state[SKELETON] = page.empty[place + _ONE], page.empty[place + _TWO]
            return True
    return False


@nb.njit(cache=True, nogil=True, forceinline=True)
def _read_start(page: _Page, start: np.uint64) -> np.uint64:
    """Reads a start tag and the raw text behind it. A tag that the end of the page cuts off does not count."""
    source, stop, state = page.source, page.stop, page.state
    name_stop = name_end(source, start, stop, page.canon.classes, attributes.NAME_END)
    packed = packed_source(source, start, name_stop - start)
    number = tag_number(packed, source, start, name_stop - start, page.names)
    trait = page.canon.traits[number]
    state[_COUNT] = state[_IS_HIDDEN] = state[_HIDDEN_INPUT] = state[_HAS_ADDRESS] = state[_IS_TINY] = _ZERO
    position = name_stop + _ONE
    if name_stop < stop and source[name_stop] != _GREATER:
        position = _read_attributes(page, name_stop, page.canon.owned[number])
    if position > stop:
        return stop
    if trait & canon.RAW:
        if trait & canon.KEPT and _counts(page, number, trait):
            _open(page, number, trait)
        if trait & canon.SCRIPT:
            return script_end(source, position, stop, page.canon.classes)
        return raw_end(source, position, stop, packed, name_stop - start, page.canon.classes)
    after = position
    if (state[_IS_HIDDEN] or trait & canon.UNSEEN) and not trait & canon.VOID:
        after = _hidden_end(page, position, packed, name_stop - start)
    if after == position and trait & (canon.KEPT | canon.PICTURE) and _counts(page, number, trait):
        if trait & canon.PICTURE:
            state[_EMPTY] = _ZERO
        else:
            _open(page, number, trait)
    return after


@nb.njit(cache=True, nogil=True, forceinline=True)
def _counts(page: _Page, number: np.uint64, trait: np.uint16) -> bool:
    """Whether a browser makes an element of a start tag where it stands, and shows it."""
    state = page.state
    if state[_IS_HIDDEN]:
        return False
    if trait & canon.HEAD_ONLY:
        return bool(state[_IN_BODY] == 0)
    if trait & canon.ONCE:
        return bool(page.opened[number] == 0)
    if trait & canon.SIZED and state[_IS_TINY]:
        return False
    if trait & canon.ADDRESSED:
        return bool(state[_HAS_ADDRESS])
    if page.canon.inside[number]:
        return bool(page.opened[page.canon.inside[number]] > 0)
    return bool(number != _INPUT or state[_HIDDEN_INPUT] == 0)


@nb.njit(cache=True, nogil=True, forceinline=True)
def _open(page: _Page, number: np.uint64, trait: np.uint16) -> None:
    """Writes a start tag to both streams."""
    state = page.state
    if number == _BODY:
        state[_IN_BODY] = _ONE
    page.opened[number] += np.uint32(1)
    before, shaped = state[VALUES], state[SKELETON]
    is_box = (trait & canon.BOX) != 0
    if state[_COUNT] or not is_box:
        _write(page, page.canon.symbols[number], is_box)
    if trait & (canon.VOID | canon.STANDS) or state[_EMPTY] == np.uint64(MOST_EMPTY):
        state[_EMPTY] = _ZERO
    elif state[_COUNT] or not is_box:
        place = _THREE * state[_EMPTY]
        page.empty[place], page.empty[place + _ONE], page.empty[place + _TWO] = number, before, shaped
        state[_EMPTY] += _ONE


@nb.njit(cache=True, nogil=True, forceinline=True)
def _write(page: _Page, symbol: np.uint8, is_box: bool) -> None:
    values, skeleton, found = page.values, page.skeleton, page.found
    length, shaped = page.state[VALUES], page.state[SKELETON]
    values[length] = _START
    length += _ONE
    if not is_box:
        skeleton[shaped], skeleton[shaped + _ONE] = _START, symbol
        shaped += _TWO
    for place in range(_ZERO, _FOUR * page.state[_COUNT], _FOUR):
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
    page.state[VALUES] = length + _ONE
    if not is_box:
        skeleton[shaped] = _CLOSE
        page.state[SKELETON] = shaped + _ONE


@nb.njit(cache=True, nogil=True, forceinline=True)
def _read_attributes(page: _Page, position: np.uint64, owned: np.uint64) -> np.uint64:
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
def _enter(page: _Page, key: np.uint64, start: np.uint64, end: np.uint64, owned: np.uint64) -> None:
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
    count = state[_COUNT]
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
    state[_COUNT] = count + _ONE


@nb.njit(cache=True, nogil=True, forceinline=True)
def _note(page: _Page, trait: np.uint8, start: np.uint64, end: np.uint64) -> None:
    """Notes what an attribute says of its element: that it is hidden, tiny, or leads somewhere."""
    state = page.state
    if trait & canon.HIDDEN:
        state[_IS_HIDDEN] = _ONE
    elif trait & canon.STYLE:
        if style_hides(page.source, start, end, page.values, state[VALUES]):
            state[_IS_HIDDEN] = _ONE
    elif trait & canon.TYPE:
        if is_hidden_type(page.source, start, end):
            state[_HIDDEN_INPUT] = _ONE
    elif trait & canon.ADDRESS:
        state[_HAS_ADDRESS] = _ONE
    elif trait & canon.SIZE and is_tiny(page.source, start, end):
        state[_IS_TINY] = _ONE


@nb.njit(cache=True, nogil=True)
def _move_back(found: NDArray[np.uint64], place: np.uint64, end: np.uint64) -> None:
    """Undoes what `_enter` moved up to make room at `place`."""
    while place < end:
        for column in range(_FOUR):
            found[place + column] = found[place + _FOUR + column]
        place += _FOUR


@nb.njit(cache=True, nogil=True)
def _hidden_end(page: _Page, position: np.uint64, name: np.uint64, length: np.uint64) -> np.uint64:
    """The position behind the end tag of a hidden element, if that is near; else `position`."""
    stop = min(page.stop, position + np.uint64(HIDDEN_BYTES))
    end = raw_end(page.source, position, stop, name, length, page.canon.classes)
    if end >= stop:
        return position
    return min(find_byte(page.source, end, page.stop, _GREATER) + _ONE, page.stop)
