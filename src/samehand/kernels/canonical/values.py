"""The value of an attribute: where it is, whether it hides an element, and what is kept of it.

Kept are the first few bytes of its punctuation. References are decoded, because `&#46;` is a dot. A "./" that changes
nothing is dropped, and a `%` that spells a letter of an address. What follows a `?` or `#` is content: everybody can
add a query or a fragment of their own to every address.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.bits import first_bit, ones
from samehand.kernels.compaction import BLOCK, blank_bits, byte_bits, compact_block, noise_bits
from samehand.kernels.html.attributes import SPACE
from samehand.kernels.html.blocks import find_byte, first_word

MOST_BYTES = 8
_MOST = np.uint64(MOST_BYTES)
_LONGEST_NAME = np.uint64(31)
_ZERO, _ONE, _BLOCK = np.uint64(0), np.uint64(1), np.uint64(BLOCK)
_HASH_SIGN, _AMPERSAND, _DOT, _SLASH, _SEMICOLON, _QUERY, _PERCENT = (np.uint8(byte) for byte in b"#&./;?%")
_QUOTE, _APOSTROPHE, _EQUALS, _GREATER = (np.uint8(byte) for byte in b"\"'=>")
_HIDES = np.frombuffer(b"display:none", np.uint8)
_HIDDEN_TYPE = np.uint64(int.from_bytes(b"hidden", "little"))
_LETTER_X = np.uint8(ord("x"))
_NAMED = np.array(
    [
        [int.from_bytes(name, "little"), ord(value)]
        for name, value in ((b"amp", "&"), (b"lt", "<"), (b"gt", ">"), (b"quot", '"'), (b"apos", "'"))
    ],
    np.uint64,
)


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
        compact_block(source, position, kept, _ZERO, out, length)
        length = min(length + ones(kept), most)
        position += plain
        if position < end and plain < _BLOCK and length < most:
            position, length = _put_odd(source, start, position, end, out, length)
    return length


@nb.njit(cache=True, nogil=True, forceinline=True)
def _odd_bits(source: NDArray[np.uint8], position: np.uint64) -> np.uint64:
    """Bytes of a block that need a look: where a value may stop, a reference, a "./" or a "%61" begins."""
    slashes = byte_bits(source, position, _SLASH)
    followed = (slashes >> _ONE) | (_ONE << np.uint64(63))  # what follows the block is not known
    odd: np.uint64 = byte_bits(source, position, _DOT) & followed
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
    after = position + _ONE
    if byte == _DOT:
        is_start = position == start or source[position - _ONE] == _SLASH
        if is_start and after < end and source[after] == _SLASH:
            return after + _ONE, length
    elif byte == _AMPERSAND:
        after, byte = read_reference(source, after, end)
        if byte in (_QUERY, _HASH_SIGN):
            return end, length
        if not _is_kept(byte):
            return after, length
    elif byte == _PERCENT:
        if after < end and _is_letter(source[after]):
            return after, length
    else:
        after = end
        if byte == _QUERY or position > start:
            return end, length
    out[length] = byte
    return after, length + _ONE


@nb.njit(cache=True, nogil=True)
def read_reference(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint8]:
    """The position after the reference whose `&` is before `position`, and its byte; 0 for any but ASCII characters.

    An `&` that begins no reference stands for itself.
    """
    if position < end and source[position] == _HASH_SIGN:
        return _read_number(source, position, end)
    packed, size = np.uint64(0), _ZERO
    while position + size < end and size < _LONGEST_NAME and _is_letter(source[position + size]):
        if size < np.uint64(8):
            packed |= np.uint64(source[position + size]) << (size * np.uint64(8))
        size += _ONE
    after = position + size
    if size == _ZERO or after >= end or source[after] != _SEMICOLON:
        return position, _AMPERSAND
    for row in range(_NAMED.shape[0]):
        if _NAMED[row, 0] == packed:
            return after + _ONE, np.uint8(_NAMED[row, 1])
    return after + _ONE, np.uint8(0xFF)


@nb.njit(cache=True, nogil=True)
def _is_kept(byte: np.uint8) -> bool:
    is_space = byte == np.uint8(32) or np.uint8(9) <= byte <= np.uint8(13)
    return bool(byte < np.uint8(128) and not is_space and not _is_letter(byte))


@nb.njit(cache=True, nogil=True)
def _is_letter(byte: np.uint8) -> bool:
    lower = byte | np.uint8(32)
    return bool(np.uint8(97) <= lower <= np.uint8(122)) or bool(np.uint8(48) <= byte <= np.uint8(57))


@nb.njit(cache=True, nogil=True)
def _read_number(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint8]:
    """The same for a reference by number, whose `#` is at `position`."""
    after = position + _ONE
    is_hex = after < end and (source[after] | np.uint8(32)) == _LETTER_X
    first = after + _ONE if is_hex else after
    value = _ZERO
    after = first
    while after < end:
        byte = source[after]
        digit = np.uint64(byte) - np.uint64(48)
        lower = np.uint64(byte | np.uint8(32)) - np.uint64(97)
        if digit < np.uint64(10):
            value = value * (np.uint64(16) if is_hex else np.uint64(10)) + digit
        elif is_hex and lower < np.uint64(6):
            value = value * np.uint64(16) + lower + np.uint64(10)
        else:
            break
        value = min(value, np.uint64(0xFF))
        after += _ONE
    if after == first:
        return position, _AMPERSAND
    if after < end and source[after] == _SEMICOLON:
        after += _ONE
    return after, np.uint8(value)


@nb.njit(cache=True, nogil=True)
def hides(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> bool:
    """Whether a style attribute says display:none, blanks aside."""
    matched = 0
    while position < end:
        byte = source[position]
        if byte > np.uint8(32):
            lower = byte | np.uint8(32)
            matched = matched + 1 if lower == _HIDES[matched] else int(lower == _HIDES[0])
            if matched == _HIDES.size:
                return True
        position += _ONE
    return False


@nb.njit(cache=True, nogil=True)
def is_hidden_type(source: NDArray[np.uint8], start: np.uint64, end: np.uint64) -> bool:
    return bool(end - start == np.uint64(6) and first_word(source, start, np.uint64(6)) == _HIDDEN_TYPE)
