"""The value of an attribute: where it is, whether it hides an element, and what is kept of it.

Kept are the first few bytes of its punctuation. References are decoded, because `&#46;` is a dot. A "./" or a second
slash that changes nothing is dropped, and a `%` that spells a letter. Of an address the path alone counts, because it
can be written with or without the host. What follows a `?` or `#` is content: everybody can add a query or a fragment
of their own to every address.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.bits import first_bit
from samehand.kernels.canonical.references import OTHER, is_letter, peek, read_reference
from samehand.kernels.compaction import BLOCK, blank_bits, byte_bits, noise_bits
from samehand.kernels.html.attributes import SPACE
from samehand.kernels.html.blocks import find_byte, first_word
from samehand.kernels.html.hiding import may_hide

MOST_BYTES = 8
TINY = np.uint64(3)
"""A width or height of so many pixels is hardly seen."""

_MOST = np.uint64(MOST_BYTES)
_LONGEST_SCHEME = np.uint64(16)
_ZERO, _ONE, _TWO, _BLOCK = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(BLOCK)
_HASH_SIGN, _AMPERSAND, _DOT, _SLASH, _QUERY, _PERCENT, _COLON = (np.uint8(byte) for byte in b"#&./?%:")
_QUOTE, _APOSTROPHE, _EQUALS, _GREATER = (np.uint8(byte) for byte in b"\"'=>")
_UNRESERVED = tuple(np.uint64(byte) for byte in b"-._~")
_HIDDEN_TYPE = np.uint64(int.from_bytes(b"hidden", "little"))


@nb.njit(cache=True, nogil=True, forceinline=True)
def value_span(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8]
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The position behind the value of an attribute, and the start and end of the value."""
    while position < stop and classes[source[position]] & SPACE:
        position += _ONE
    if position >= stop or source[position] != _EQUALS:
        return position, position, position
    position += _ONE
    while position < stop and classes[source[position]] & SPACE:
        position += _ONE
    if position >= stop:
        return stop, stop, stop
    quote = source[position]
    if quote in (_QUOTE, _APOSTROPHE):
        end = find_byte(source, position + _ONE, stop, quote)
        return end + _ONE, position + _ONE, end
    start = position
    while position < stop and source[position] != _GREATER and not classes[source[position]] & SPACE:
        position += _ONE
    return position, start, position


@nb.njit(cache=True, nogil=True, forceinline=True)
def put_value(
    source: NDArray[np.uint8], start: np.uint64, end: np.uint64, out: NDArray[np.uint8], length: np.uint64
) -> np.uint64:
    """Writes what is kept of the value source[start:end] to out[length:]; returns the new length.

    `out` has room for BLOCK more bytes.
    """
    most = length + _MOST
    position = start
    while position < end and length < most:
        plain = min(first_bit(_odd_bits(source, position)), end - position)
        kept = noise_bits(source, position) & ~blank_bits(source, position)
        if plain < _BLOCK:
            kept &= (_ONE << plain) - _ONE
        while kept and length < most:
            out[length] = source[position + first_bit(kept)]
            length += _ONE
            kept &= kept - _ONE
        position += plain
        if position < end and plain < _BLOCK and length < most:
            position, length = _put_odd(source, start, position, end, out, length)
    return length


@nb.njit(cache=True, nogil=True, forceinline=True)
def _odd_bits(source: NDArray[np.uint8], position: np.uint64) -> np.uint64:
    """Bytes of a block that need a look: where a value may stop, a reference, a "./", "//" or "%61" begins."""
    slashes = byte_bits(source, position, _SLASH)
    followed = (slashes >> _ONE) | (_ONE << np.uint64(63))  # what follows the block is not known
    odd: np.uint64 = (byte_bits(source, position, _DOT) | slashes) & followed
    for byte in (_QUERY, _HASH_SIGN, _AMPERSAND, _PERCENT):
        odd |= byte_bits(source, position, byte)
    return odd


@nb.njit(cache=True, nogil=True)
def _put_odd(
    source: NDArray[np.uint8],
    start: np.uint64,
    position: np.uint64,
    end: np.uint64,
    out: NDArray[np.uint8],
    length: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Writes what is kept of a byte that needs a look; returns the position behind it and the new length."""
    byte = source[position]
    code, after = np.uint64(byte), position + _ONE
    is_followed = after < end and source[after] == _SLASH
    if byte == _DOT:
        if is_followed and (position == start or source[position - _ONE] == _SLASH):
            return after + _ONE, length
    elif byte == _SLASH:
        if is_followed:
            return after, length
    elif byte == _PERCENT:
        after, code = _read_percent(source, after, end)
    elif byte == _AMPERSAND:
        after, code = read_reference(source, after, end)
        if code in (np.uint64(_QUERY), np.uint64(_HASH_SIGN)):
            return end, length
    else:
        after = end
        if byte == _QUERY or position > start:
            return end, length
    if not _is_kept(code):
        return after, length
    out[length] = np.uint8(code)
    return after, length + _ONE


@nb.njit(cache=True, nogil=True)
def _is_kept(code: np.uint64) -> bool:
    is_space = code == np.uint64(32) or np.uint64(9) <= code <= np.uint64(13)
    return bool(code < np.uint64(128) and not is_space and not is_letter(np.uint8(code)))


@nb.njit(cache=True, nogil=True)
def _read_percent(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The position behind the percent-encoded byte whose `%` is before `position`, and that byte.

    A byte that no address needs to encode is itself; any other one counts as a letter.
    """
    if position + _ONE >= end or not is_letter(source[position]):
        return position, np.uint64(_PERCENT)
    high, low = _hex_digit(source[position]), _hex_digit(source[position + _ONE])
    byte = high * np.uint64(16) + low
    is_plain = high < np.uint64(16) and low < np.uint64(16) and byte in _UNRESERVED
    return position + (_TWO if is_plain else _ZERO), byte if is_plain else OTHER


@nb.njit(cache=True, nogil=True)
def _hex_digit(byte: np.uint8) -> np.uint64:
    digit, lower = np.uint64(byte) - np.uint64(48), np.uint64(byte | np.uint8(32)) - np.uint64(97)
    if digit < np.uint64(10):
        return digit
    return lower + np.uint64(10) if lower < np.uint64(6) else np.uint64(16)


@nb.njit(cache=True, nogil=True)
def path_start(source: NDArray[np.uint8], start: np.uint64, end: np.uint64) -> np.uint64:
    """Where the path of an address begins: behind its scheme and host, and behind leading dots and slashes.

    An address that has a fragment and no path has nothing to be kept; one that is a fragment alone is kept.
    """
    while start < end and source[start] <= np.uint8(32):
        start += _ONE
    began = start
    after, code = peek(source, start, end)
    left = _LONGEST_SCHEME
    while left and code < np.uint64(128) and is_letter(np.uint8(code)):
        after, code = peek(source, after, end)
        left -= _ONE
    if code == np.uint64(_COLON):
        after, code = peek(source, after, end)
    elif left < _LONGEST_SCHEME:
        return start
    following, second = peek(source, after, end)
    if code == np.uint64(_SLASH) and second == np.uint64(_SLASH):
        start = _host_end(source, following, end)
    elif left < _LONGEST_SCHEME:
        return start
    after, code = peek(source, start, end)
    while code in (np.uint64(_DOT), np.uint64(_SLASH)):
        start = after
        after, code = peek(source, start, end)
    return end if code == np.uint64(_HASH_SIGN) and start > began else start


@nb.njit(cache=True, nogil=True)
def _host_end(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> np.uint64:
    after, code = peek(source, position, end)
    while position < end and code not in (np.uint64(_SLASH), np.uint64(_QUERY), np.uint64(_HASH_SIGN)):
        position = after
        after, code = peek(source, position, end)
    return position


@nb.njit(cache=True, nogil=True)
def is_tiny(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> bool:
    """Whether a width or height is a few pixels, which nobody sees."""
    after, code = peek(source, position, end)
    digits, value = 0, _ZERO
    while np.uint64(48) <= code < np.uint64(58) and digits < 4:
        value = value * np.uint64(10) + code - np.uint64(48)
        digits += 1
        after, code = peek(source, after, end)
    return bool(digits and value <= TINY and code != np.uint64(_PERCENT))


@nb.njit(cache=True, nogil=True)
def style_hides(
    source: NDArray[np.uint8], start: np.uint64, end: np.uint64, out: NDArray[np.uint8], length: np.uint64
) -> bool:
    """Whether a style attribute hides its element. References are decoded to out[length:], which has the room."""
    if find_byte(source, start, end, _AMPERSAND) == end:
        return may_hide(source, start, end)
    stop = length
    while start < end:
        start, code = peek(source, start, end)
        out[stop] = np.uint8(min(code, np.uint64(0xFF)))
        stop += _ONE
    return may_hide(out, length, stop)


@nb.njit(cache=True, nogil=True)
def is_hidden_type(source: NDArray[np.uint8], start: np.uint64, end: np.uint64) -> bool:
    return bool(end - start == np.uint64(6) and first_word(source, start, np.uint64(6)) == _HIDDEN_TYPE)
