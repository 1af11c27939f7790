"""Character references to UTF-8, as browsers read them: `&amp;`, `&eacute` without its semicolon, `&#8364;`, `&#x80;`.

All names that browsers know are in a hash table with linear probing. No name is longer than LONGEST, and names that
need no semicolon have at most LONGEST_BARE letters: so the work for one `&` is bounded.
"""

import html.entities
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import FNV_BASIS, FNV_PRIME, GOLDEN
from samehand.kernels.utf8 import put_character

LONGEST = 31
LONGEST_BARE = 6

_SLOT_BITS = 13
_SLOT_SHIFT = np.uint64(64 - _SLOT_BITS)
_LAST_SLOT = np.uint64((1 << _SLOT_BITS) - 1)
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_OUT_OF_RANGE = np.uint64(0x110000)

_NUL, _NEWLINE, _RETURN = np.uint8(0), np.uint8(10), np.uint8(13)
_HASH_SIGN, _AMPERSAND, _SEMICOLON, _EQUALS, _LETTER_X = (np.uint8(byte) for byte in b"#&;=x")

_DIGIT, _HEX_LETTER, _LETTER = 1, 2, 4

# A row: the length of the name, whether it needs no semicolon, the length of the value, the value, the name.
_BARE, _VALUE_LENGTH, _VALUE, _NAME, _ROW_BYTES = 1, 2, 3, 9, 40


class References(NamedTuple):
    """Lookup tables of character references: a hash table of rows, the meaning of 0x80 to 0x9F, and kinds of bytes."""

    slots: NDArray[np.uint16]
    rows: NDArray[np.uint8]
    controls: NDArray[np.uint16]
    kinds: NDArray[np.uint8]


def reference_tables() -> References:
    """The tables of the names that the HTML standard lists."""
    known = html.entities.html5
    names = sorted(name[:-1] for name in known if name.endswith(";"))
    slots = np.zeros(1 << _SLOT_BITS, np.uint16)
    rows = bytearray(_ROW_BYTES)  # no name has number 0
    for number, name in enumerate(names, start=1):
        value = known[name + ";"].encode()
        row = bytes([len(name), name in known, len(value)]) + value.ljust(_NAME - _VALUE, b"\0") + name.encode()
        rows += row.ljust(_ROW_BYTES, b"\0")
        slot = _slot_of(name)
        while slots[slot]:
            slot = (slot + 1) & int(_LAST_SLOT)
        slots[slot] = number
    kinds = np.zeros(256, np.uint8)
    kinds[list(b"0123456789")] = _DIGIT
    kinds[list(b"ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ")] = _LETTER
    kinds[list(b"abcdefABCDEF")] = _LETTER | _HEX_LETTER
    return References(slots, np.frombuffer(bytes(rows), np.uint8), _controls(), kinds)


def _controls() -> NDArray[np.uint16]:
    """The characters that 0x80 to 0x9F stand for: those of windows-1252, where it has one."""
    characters = (bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0xA0))
    return np.array([ord(character) for character in characters], np.uint16)


def _slot_of(name: str) -> int:
    hashed = int(FNV_BASIS)
    for byte in name.encode():
        hashed = (hashed ^ byte) * int(FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return (hashed * int(GOLDEN) & 0xFFFFFFFFFFFFFFFF) >> int(_SLOT_SHIFT)


@helper
def decode_reference(
    source: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    in_attribute: bool,
    tables: References,
    out: NDArray[np.uint8],
    length: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Decodes the reference that the `&` at `position` begins to out[length:]; returns the next position and length.

    An `&` that begins no reference stands for itself. In an attribute, a name without semicolon is no reference if a
    letter, digit or `=` follows: `?a=1&copy=2` is an address.
    """
    first = position + _ONE
    if first < stop and source[first] == _HASH_SIGN:
        return _decode_number(source, position, stop, tables, out, length)
    last = min(stop, first + np.uint64(LONGEST + 1))
    name_stop = first
    while name_stop < last and tables.kinds[source[name_stop]]:
        name_stop += _ONE
    if name_stop < stop and source[name_stop] == _SEMICOLON:
        row = _find(source, first, name_stop, tables)
        if row:
            return name_stop + _ONE, _put_value(tables.rows, row, out, length)
    bare_stop, row = _find_bare(source, first, name_stop, tables)
    if row and not (in_attribute and bare_stop < stop and _joins_on(source[bare_stop], tables)):
        return bare_stop, _put_value(tables.rows, row, out, length)
    out[length] = _AMPERSAND
    return first, length + _ONE


@helper
def _joins_on(byte: np.uint8, tables: References) -> bool:
    return bool(tables.kinds[byte] != 0 or byte == _EQUALS)


@helper
def _find_bare(
    source: NDArray[np.uint8], start: np.uint64, stop: np.uint64, tables: References
) -> tuple[np.uint64, np.uint64]:
    """The end and the row of the longest name at `start` that needs no semicolon; row 0 if there is none."""
    name_stop = min(stop, start + np.uint64(LONGEST_BARE))
    while name_stop > start:
        row = _find(source, start, name_stop, tables)
        if row and tables.rows[row + np.uint64(_BARE)]:
            return name_stop, row
        name_stop -= _ONE
    return start, _ZERO


@helper
def _find(source: NDArray[np.uint8], start: np.uint64, stop: np.uint64, tables: References) -> np.uint64:
    """The start of the row of the name source[start:stop]; 0 if it is no name."""
    hashed = FNV_BASIS
    size = stop - start
    for position in range(start, stop):
        hashed = (hashed ^ np.uint64(source[position])) * FNV_PRIME
    slot = (hashed * GOLDEN) >> _SLOT_SHIFT
    while tables.slots[slot]:
        row = np.uint64(tables.slots[slot]) * np.uint64(_ROW_BYTES)
        if tables.rows[row] == size:
            place = _ZERO
            while place < size and source[start + place] == tables.rows[row + np.uint64(_NAME) + place]:
                place += _ONE
            if place == size:
                return row
        slot = (slot + _ONE) & _LAST_SLOT
    return _ZERO


@helper
def _put_value(rows: NDArray[np.uint8], row: np.uint64, out: NDArray[np.uint8], length: np.uint64) -> np.uint64:
    size = np.uint64(rows[row + np.uint64(_VALUE_LENGTH)])
    for place in range(size):
        out[length + place] = rows[row + np.uint64(_VALUE) + place]
    return length + size


@helper
def _decode_number(
    source: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    tables: References,
    out: NDArray[np.uint8],
    length: np.uint64,
) -> tuple[np.uint64, np.uint64]:
    """Decodes a reference by number, decimal or hexadecimal; `&#` without digits stands for itself."""
    first = position + _TWO
    base, wanted = np.uint64(10), np.uint8(_DIGIT)
    if first < stop and (source[first] | np.uint8(32)) == _LETTER_X:
        first += _ONE
        base, wanted = np.uint64(16), np.uint8(_DIGIT | _HEX_LETTER)
    after = first
    value = _ZERO
    while after < stop and tables.kinds[source[after]] & wanted:
        byte = np.uint64(source[after])
        # The low four bits of a digit are its value; those of a letter are its value minus nine.
        value = value * base + (byte & np.uint64(15)) + np.uint64(9) * (byte >> np.uint64(6))
        value = min(value, _OUT_OF_RANGE)
        after += _ONE
    if after == first:
        out[length] = _AMPERSAND
        return position + _ONE, length + _ONE
    if after < stop and source[after] == _SEMICOLON:
        after += _ONE
    if np.uint64(0x80) <= value <= np.uint64(0x9F):
        value = np.uint64(tables.controls[value - np.uint64(0x80)])
    return after, put_character(value, out, length)


@helper
def put_line_end(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, out: NDArray[np.uint8], length: np.uint64
) -> tuple[np.uint64, np.uint64]:
    """Writes a line feed for the carriage return at `position`, and the line feed after it if there is one."""
    out[length] = _NEWLINE
    position += _ONE
    if position < stop and source[position] == _NEWLINE:
        position += _ONE
    return position, length + _ONE


@helper
def copy_span(
    source: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    with_references: bool,
    in_attribute: bool,
    tables: References,
    out: NDArray[np.uint8],
    length: np.uint64,
) -> np.uint64:
    """Writes raw text or an attribute's value to out[length:]; returns the new length. NUL becomes U+FFFD."""
    while position < stop:
        byte = source[position]
        if byte == _AMPERSAND and with_references:
            position, length = decode_reference(source, position, stop, in_attribute, tables, out, length)
        elif byte == _RETURN:
            position, length = put_line_end(source, position, stop, out, length)
        elif byte == _NUL:
            position, length = position + _ONE, put_character(_ZERO, out, length)
        else:
            out[length] = byte
            position += _ONE
            length += _ONE
    return length
