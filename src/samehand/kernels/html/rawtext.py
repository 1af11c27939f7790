"""Where comments, scripts and other raw text end, by the rules of the HTML standard.

All functions look forward once. An element that is never closed reaches to the end of the page.
"""

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.html.attributes import NAME_END
from samehand.kernels.html.blocks import find_byte, first_word

_ZERO, _ONE, _TWO, _THREE, _EIGHT = (np.uint64(number) for number in (0, 1, 2, 3, 8))
_BANG, _DASH, _SLASH, _LESS, _GREATER = (np.uint8(byte) for byte in b"!-/<>")
_SCRIPT = np.uint64(int.from_bytes(b"script", "little"))
_SCRIPT_BYTES = np.uint64(6)

# The states of a script: not escaped, escaped by <!--, escaped twice by <!-- <script>.
_OPEN, _ESCAPED, _TWICE = 0, 1, 2


@helper
def comment_end(source: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> np.uint64:
    """The position after a comment whose text begins at `start`.

    It ends at `-->` or `--!>`, or at a `>` or `->` right after its `<!--`.
    """
    position = find_byte(source, start, stop, _GREATER)
    while position < stop:
        size = position - start
        if size == _ZERO or (size == _ONE and source[start] == _DASH):
            break
        last = position - _ONE
        if size > _TWO and source[last] == _BANG:
            last -= _ONE
        if size >= _TWO and source[last] == _DASH and source[last - _ONE] == _DASH:
            break
        position = find_byte(source, position + _ONE, stop, _GREATER)
    return min(position + _ONE, stop)


@helper
def raw_end(
    source: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    name: np.uint64,
    length: np.uint64,
    classes: NDArray[np.uint8],
) -> np.uint64:
    """The position of the end tag of a raw text element. The names of such elements have at most nine bytes."""
    position = find_byte(source, position, stop, _LESS)
    while position < stop:
        is_end = source[position + _ONE] == _SLASH
        if is_end and _is_named(source, position + _TWO, stop, name, length, classes):
            break
        position = find_byte(source, position + _ONE, stop, _LESS)
    return position


@helper
def _is_named(
    source: NDArray[np.uint8],
    start: np.uint64,
    stop: np.uint64,
    name: np.uint64,
    length: np.uint64,
    classes: NDArray[np.uint8],
) -> bool:
    """Whether the tag name at `start` is `name` and ends there."""
    after = start + length
    is_name = after < stop and first_word(source, start, length) == name
    return bool(is_name and classes[source[after]] & NAME_END)


@helper
def script_end(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8]
) -> np.uint64:
    """The position of the end tag of a script.

    `<!--` escapes the script, and `<script` after it escapes a second time. Then `</script>` only undoes the second
    escape, and `-->` undoes both.
    """
    escape = _OPEN
    dashes = _ZERO
    while position < stop:
        byte = source[position]
        if byte == _LESS:
            dashes = _ZERO
            is_end = source[position + _ONE] == _SLASH
            if is_end and _is_named(source, position + _TWO, stop, _SCRIPT, _SCRIPT_BYTES, classes):
                if escape != _TWICE:
                    return position
                escape = _ESCAPED
                position += _EIGHT
            elif escape == _OPEN and _opens_comment(source, position, stop):
                escape = _ESCAPED
                dashes = _TWO
                position += _THREE
            elif escape == _ESCAPED and _is_named(source, position + _ONE, stop, _SCRIPT, _SCRIPT_BYTES, classes):
                escape = _TWICE
                position += _SCRIPT_BYTES + _ONE
        elif byte == _GREATER and dashes >= _TWO:
            escape = _OPEN
            dashes = _ZERO
        else:
            dashes = dashes + _ONE if byte == _DASH else _ZERO
        position += _ONE
        if escape == _OPEN:
            position = find_byte(source, position, stop, _LESS)
    return stop


@helper
def _opens_comment(source: NDArray[np.uint8], position: np.uint64, stop: np.uint64) -> bool:
    if position + _THREE >= stop:
        return False
    first, second, third = source[position + _ONE], source[position + _TWO], source[position + _THREE]
    return bool(first == _BANG and second == _DASH and third == _DASH)
