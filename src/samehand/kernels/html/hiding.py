"""Text that a page holds and does not show: by a hidden attribute, or by a style attribute.

A style attribute hides text if it says `display: none`, `visibility: hidden`, or that text is fully transparent, has no
size, is scaled or clipped to nothing, or stands far outside of the window. Style sheets are not read. Without a tree, a
hidden element ends at its end tag, at the end tag of an element around it, or, if its end tag may be left out, where
its next sibling begins.
"""

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.html import tagnames
from samehand.kernels.html.blocks import first_word

FAR = 500
"""Text that begins so many units (pixels, mostly) before the window is off screen."""

_CONTAINER, _OPTIONAL = tagnames.CONTAINER, tagnames.OPTIONAL
_PARAGRAPH = np.uint64(tagnames.NAMES.index("p"))
_ZERO, _ONE, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(8)
_COLON, _SEMICOLON, _BLANK, _DOT, _MINUS = (np.uint8(byte) for byte in b":; .-")
_SHRUNK, _CLIPPED, _TAKEN_OUT, _AWAY, _GONE = 1, 2, 4, 8, 16
"""What declarations say: no width or height to speak of, overflow hidden, position absolute, far off screen or clipped
to nothing, not shown at all."""


def _name(spelling: bytes) -> tuple[np.uint64, np.uint64]:
    """The first eight bytes of a name as a number, and its length."""
    return np.uint64(int.from_bytes(spelling[:8], "little")), np.uint64(len(spelling))


_DISPLAY, _VISIBILITY, _OPACITY, _FONT_SIZE = (
    _name(name) for name in (b"display", b"visibility", b"opacity", b"font-size")
)
_WIDTH, _HEIGHT, _MAX_WIDTH, _MAX_HEIGHT = (_name(name) for name in (b"width", b"height", b"max-width", b"max-height"))
_OVERFLOW, _POSITION, _TEXT_INDENT, _CLIP, _TRANSFORM = (
    _name(name) for name in (b"overflow", b"position", b"text-indent", b"clip", b"transform")
)
_LEFT, _TOP, _MARGIN_LEFT, _MARGIN_TOP = (_name(name) for name in (b"left", b"top", b"margin-left", b"margin-top"))
_NONE, _HIDDEN, _COLLAPSE, _ABSOLUTE, _FIXED, _SCALED_AWAY, _RECTANGLE = (
    _name(value)[0] for value in (b"none", b"hidden", b"collapse", b"absolute", b"fixed", b"scale(0)", b"rect(0")
)
_ONE_PIXEL = _name(b"1px")[0]
_SIX_BYTES = np.uint64(0xFFFFFFFFFFFF)


@helper
def hides_text(style: NDArray[np.uint8], position: np.uint64, stop: np.uint64) -> bool:
    """Whether the decoded value of a style attribute, style[position:stop], hides the text of its element."""
    said = _said(style, position, stop)
    is_shrunk = said & _SHRUNK and said & _CLIPPED
    is_away = said & _TAKEN_OUT and said & _AWAY
    return bool(said & _GONE or is_shrunk or is_away)


@helper
def may_hide(style: NDArray[np.uint8], position: np.uint64, stop: np.uint64) -> bool:
    """Whether a style attribute hides its element, or would together with a style sheet."""
    return bool(_said(style, position, stop) & (_GONE | _SHRUNK | _AWAY))


@helper
def _said(style: NDArray[np.uint8], position: np.uint64, stop: np.uint64) -> int:
    """What the declarations of a style attribute say."""
    said = 0
    while position < stop:
        colon = _find(style, position, stop, _COLON)
        name_start, name_stop = _trimmed(style, position, colon)
        position = _find(style, colon, stop, _SEMICOLON)
        value_start, value_stop = _trimmed(style, min(colon + _ONE, position), position)
        if name_stop > name_start and value_stop > value_start:
            said |= _declared(style, name_start, name_stop - name_start, value_start, value_stop)
        position += _ONE
    return said


@helper
def _find(style: NDArray[np.uint8], position: np.uint64, stop: np.uint64, byte: np.uint8) -> np.uint64:
    """The position of `byte` or of the end of the declaration."""
    while position < stop and style[position] != byte and style[position] != _SEMICOLON:
        position += _ONE
    return position


@helper
def _trimmed(style: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> tuple[np.uint64, np.uint64]:
    while start < stop and style[start] <= _BLANK:
        start += _ONE
    while start < stop and style[stop - _ONE] <= _BLANK:
        stop -= _ONE
    return start, stop


@helper
def _declared(style: NDArray[np.uint8], name: np.uint64, length: np.uint64, start: np.uint64, stop: np.uint64) -> int:
    """What one declaration says. The value is style[start:stop]; an `!important` behind it does not matter."""
    key = (first_word(style, name, length), length)
    end = start
    while end < stop and style[end] > _BLANK and style[end] != np.uint8(0x21):
        end += _ONE
    word = first_word(style, start, end - start)
    if key == _DISPLAY:
        return _GONE if word == _NONE else 0
    if key == _VISIBILITY:
        return _GONE if word in (_HIDDEN, _COLLAPSE) else 0
    if key == _OVERFLOW:
        return _CLIPPED if word == _HIDDEN else 0
    if key == _POSITION:
        return _TAKEN_OUT if word in (_ABSOLUTE, _FIXED) else 0
    if key in (_OPACITY, _FONT_SIZE):
        return _GONE if _is_zero(style, start, end) else 0
    if key in (_WIDTH, _HEIGHT, _MAX_WIDTH, _MAX_HEIGHT):
        return _SHRUNK if _is_zero(style, start, end) or _is_pixel(style, start, end) else 0
    if key == _CLIP:
        return _AWAY if word & _SIX_BYTES == _RECTANGLE else 0
    if key == _TRANSFORM:
        return _GONE if word == _SCALED_AWAY else 0
    if key == _TEXT_INDENT:
        return _GONE if _is_far(style, start, end) else 0
    if key in (_LEFT, _TOP, _MARGIN_LEFT, _MARGIN_TOP):
        return _AWAY if _is_far(style, start, end) else 0
    return 0


@helper
def _is_zero(style: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> bool:
    """Whether a number, with any unit behind it, is 0."""
    digits = 0
    while start < stop and (style[start] == np.uint8(0x30) or style[start] == _DOT):
        digits += style[start] != _DOT
        start += _ONE
    is_over = start == stop or not np.uint8(0x31) <= style[start] <= np.uint8(0x39)
    return bool(digits > 0 and is_over)


@helper
def _is_pixel(style: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> bool:
    """Whether a length is one pixel."""
    return bool(stop - start == np.uint64(3) and first_word(style, start, np.uint64(3)) == _ONE_PIXEL)


@helper
def _is_far(style: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> bool:
    """Whether a number, with any unit behind it, is at most -FAR."""
    if style[start] != _MINUS:
        return False
    start += _ONE
    value = 0
    while start < stop and np.uint8(0x30) <= style[start] <= np.uint8(0x39) and value < FAR:
        value = 10 * value + int(style[start]) - 0x30
        start += _ONE
    return value >= FAR


@helper
def ends_hiding(
    hider: np.uint64, depths: NDArray[np.uint64], at: np.uint64, number: np.uint64, role: np.uint16, is_end: bool
) -> bool:
    """Whether the tag `number` ends the hidden element `hider`.

    depths[at] is how many elements of that name are open within, itself included; depths[at + 1] how many others that
    contain blocks. Both are kept up to date here.
    """
    same, around = at, at + _ONE
    if is_end:
        if number == hider:
            depths[same] -= _ONE
            return bool(depths[same] == _ZERO)
        if role & _CONTAINER:
            if depths[around] == _ZERO:
                return True
            depths[around] -= _ONE
        return False
    if number == hider:
        if role & _OPTIONAL and depths[around] == _ZERO:
            return True
        depths[same] += _ONE
    elif role & _CONTAINER:
        if hider == _PARAGRAPH:
            return True
        depths[around] += _ONE
    return False


@helper
def count_words(text: NDArray[np.uint8], start: np.uint64, stop: np.uint64) -> np.uint64:
    """How many runs of bytes without blanks there are in text[start:stop]."""
    words = _ZERO
    is_blank = True
    for place in range(start, stop):
        was_blank, is_blank = is_blank, text[place] <= _BLANK
        words += np.uint64(was_blank and not is_blank)
    return words
