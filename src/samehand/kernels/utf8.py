"""Characters from UTF-8 and to UTF-8, one at a time."""

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper

_ONE = np.uint64(1)
_REPLACEMENT = np.uint64(0xFFFD)


@helper
def wide_character(data: NDArray[np.uint8], position: np.uint64, end: np.uint64) -> tuple[np.uint32, np.uint64]:
    """Code point and length of the character that begins with a byte >= 0x80; (0, 1) if it is not valid UTF-8."""
    lead = np.uint32(data[position])
    length = np.uint64(2) + np.uint64(lead >= 0xE0) + np.uint64(lead >= 0xF0)
    if lead < 0xC2 or lead > 0xF4 or position + length > end:
        return np.uint32(0), _ONE
    code = lead & (np.uint32(0x7F) >> np.uint32(length))
    for step in range(_ONE, length):
        byte = np.uint32(data[position + step])
        if byte & np.uint32(0xC0) != 0x80:
            return np.uint32(0), _ONE
        code = (code << np.uint32(6)) | (byte & np.uint32(0x3F))
    too_long = (length == 3 and code < 0x800) or (length == 4 and code < 0x10000)
    if too_long or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return np.uint32(0), _ONE
    return code, length


@helper
def put_character(value: np.uint64, out: NDArray[np.uint8], length: np.uint64) -> np.uint64:
    """Writes a code point as UTF-8, or U+FFFD for one that is not allowed in text; returns the new length."""
    if value == np.uint64(0) or value > np.uint64(0x10FFFF) or np.uint64(0xD800) <= value <= np.uint64(0xDFFF):
        value = _REPLACEMENT
    if value < np.uint64(0x80):
        out[length] = np.uint8(value)
        return length + _ONE
    more = _ONE + np.uint64(value >= np.uint64(0x800)) + np.uint64(value >= np.uint64(0x10000))
    lead = (np.uint64(0xF0) << (np.uint64(3) - more)) & np.uint64(0xFF)  # 110, 1110 or 11110 in the high bits
    out[length] = np.uint8(lead | (value >> (np.uint64(6) * more)))
    for place in range(_ONE, more + _ONE):
        bits = (value >> (np.uint64(6) * (more - place))) & np.uint64(0x3F)
        out[length + place] = np.uint8(np.uint64(0x80) | bits)
    return length + more + _ONE
