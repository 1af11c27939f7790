"""Character references of values and of short texts, and text that nobody sees.

Only the references that matter here are known by name: punctuation, and characters without ink. Every other one counts
as a letter.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

OTHER = np.uint64(0xFFFF)
"""The code of a reference to a character that is not told apart from others."""

UNSEEN_CODES = (
    *(0xA0, 0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180E, 0x3000, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x2000, 0x2010),
    *range(0x2028, 0x2030),
    *range(0x205F, 0x2070),
)
"""Spaces, joiners, marks of direction: characters without ink."""

_SPELLED = {
    **{"amp": 0x26, "AMP": 0x26, "lt": 0x3C, "LT": 0x3C, "gt": 0x3E, "GT": 0x3E, "quot": 0x22, "QUOT": 0x22},
    **{"apos": 0x27, "sol": 0x2F, "period": 0x2E, "colon": 0x3A, "lowbar": 0x5F, "quest": 0x3F, "num": 0x23},
    **{"equals": 0x3D, "comma": 0x2C, "semi": 0x3B, "excl": 0x21, "dollar": 0x24, "percnt": 0x25, "lpar": 0x28},
    **{"rpar": 0x29, "ast": 0x2A, "plus": 0x2B, "commat": 0x40, "lsqb": 0x5B, "lbrack": 0x5B, "rsqb": 0x5D},
    **{"rbrack": 0x5D, "bsol": 0x5C, "Hat": 0x5E, "grave": 0x60, "lcub": 0x7B, "lbrace": 0x7B, "verbar": 0x7C},
    **{"vert": 0x7C, "rcub": 0x7D, "rbrace": 0x7D, "Tab": 0x09, "NewLine": 0x0A, "nbsp": 0xA0, "shy": 0xAD},
    **{"zwnj": 0x200C, "zwj": 0x200D, "lrm": 0x200E, "rlm": 0x200F, "ensp": 0x2002, "emsp": 0x2003},
    **{"thinsp": 0x2009, "hairsp": 0x200A, "numsp": 0x2007, "puncsp": 0x2008, "NoBreak": 0x2060},
}
_NAMED = np.array([[int.from_bytes(name.encode(), "little"), code] for name, code in _SPELLED.items()], np.uint64)
_UNSEEN = np.array(sorted(UNSEEN_CODES), np.uint64)
_LONGEST_NAME, _PACKED = np.uint64(31), np.uint64(8)
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_HASH_SIGN, _AMPERSAND, _SEMICOLON = (np.uint8(byte) for byte in b"#&;")
_LETTER_X, _BLANK, _HIGH = np.uint8(ord("x")), np.uint8(32), np.uint8(0x80)
_BITS, _TOP_BITS = np.uint8(0x3F), np.uint8(0xC0)


@nb.njit(cache=True, nogil=True)
def read_reference(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The position behind the reference whose `&` is before `position`, and its code.

    An `&` that begins no reference stands for itself.
    """
    if position < end and source[position] == _HASH_SIGN:
        return _read_number(source, position, end)
    packed, size = _ZERO, _ZERO
    while position + size < end and size < _LONGEST_NAME and is_letter(source[position + size]):
        if size < _PACKED:
            packed |= np.uint64(source[position + size]) << (size * np.uint64(8))
        size += _ONE
    after = position + size
    if size == _ZERO or after >= end or source[after] != _SEMICOLON:
        return position, np.uint64(_AMPERSAND)
    for row in range(_NAMED.shape[0]):
        if _NAMED[row, 0] == packed and size <= _PACKED:
            return after + _ONE, _NAMED[row, 1]
    return after + _ONE, OTHER


@nb.njit(cache=True, nogil=True)
def _read_number(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
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
        value = min(value, OTHER)
        after += _ONE
    if after == first:
        return position, np.uint64(_AMPERSAND)
    if after < end and source[after] == _SEMICOLON:
        after += _ONE
    return after, value


@nb.njit(cache=True, nogil=True, forceinline=True)
def peek(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The position behind a character of a value, and its code; 0 at the end of the value."""
    if position >= end:
        return position, _ZERO
    if source[position] == _AMPERSAND:
        return read_reference(source, position + _ONE, end)
    return position + _ONE, np.uint64(source[position])


@nb.njit(cache=True, nogil=True, forceinline=True)
def is_letter(byte: np.uint8) -> bool:
    """Whether a byte is a letter or a digit."""
    lower = byte | np.uint8(32)
    return bool(np.uint8(97) <= lower <= np.uint8(122)) or bool(np.uint8(48) <= byte <= np.uint8(57))


@nb.njit(cache=True, nogil=True)
def has_no_ink(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> bool:
    """Whether a text in UTF-8 is blanks and characters without ink, as bytes or as references."""
    while position < end:
        byte = source[position]
        code = np.uint64(byte)
        if byte == _AMPERSAND:
            position, code = read_reference(source, position + _ONE, end)
        elif byte < _HIGH:
            position += _ONE
        else:
            position, code = _decoded(source, position, end)
        if code > np.uint64(_BLANK):
            place = np.searchsorted(_UNSEEN, code)
            if place == _UNSEEN.size or _UNSEEN[place] != code:
                return False
    return True


@nb.njit(cache=True, nogil=True)
def _decoded(source: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The position behind a character of two or three bytes of UTF-8, and its code; OTHER for anything else."""
    byte = source[position]
    size = _TWO if byte < np.uint8(0xE0) else np.uint64(3)
    if byte < np.uint8(0xC2) or byte >= np.uint8(0xF0) or position + size > end:
        return end, OTHER
    code = np.uint64(byte & np.uint8(0x1F if size == _TWO else 0x0F))
    for place in range(position + _ONE, position + size):
        if source[place] & _TOP_BITS != _HIGH:
            return end, OTHER
        code = (code << np.uint64(6)) | np.uint64(source[place] & _BITS)
    is_short = size == _TWO or code >= np.uint64(0x800)
    return position + size, code if is_short else OTHER
