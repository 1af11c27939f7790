"""The attributes of a tag, up to its end: the values of a few are kept.

Names and values are delimited as the tokenizer of the HTML standard does it: a `>` in a quoted value does not end the
tag, but one in an unquoted value does. Values are spans of the source; their references are not decoded.
"""

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import first_bit
from samehand.kernels.html.blocks import BLOCK, at_most_bits, equal_bits, find_byte, first_word

HREF, REL, ALT, TITLE, STYLE, HIDDEN = 1, 2, 4, 8, 16, 32
"""Attributes of a tag, as bits. If a name occurs twice, the first one counts."""
UNFINISHED, TOO_MANY, TOO_LONG = 64, 128, 256
"""Why a tag has no end: the page ended, or a limit was hit."""
NOFOLLOW, UGC, SPONSORED = 1, 2, 4
"""Words of a rel attribute."""

SPACE, NAME_END, ATTRIBUTE_END, LETTER, OPENS = 1, 2, 4, 8, 16
"""Byte classes."""

_ZERO, _ONE, _TWO, _EIGHT = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(8)
_BLANK, _QUOTE, _APOSTROPHE, _SLASH, _EQUALS, _GREATER = (np.uint8(byte) for byte in b" \"'/=>")
_HREF_NAME, _REL_NAME, _ALT_NAME, _TITLE_NAME, _STYLE_NAME, _HIDDEN_NAME = (
    np.uint64(int.from_bytes(name, "little")) for name in (b"href", b"rel", b"alt", b"title", b"style", b"hidden")
)
_NOFOLLOW_WORD, _UGC_WORD, _SPONSORED_WORD = (
    np.uint64(int.from_bytes(word, "little")) for word in (b"nofollow", b"ugc", b"sponsore")
)


def byte_classes() -> NDArray[np.uint8]:
    """The classes of each byte."""
    classes = np.zeros(256, np.uint8)
    letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for kind, members in (
        (SPACE, b" \t\n\f\r"),
        (NAME_END, b" \t\n\f\r/>"),
        (ATTRIBUTE_END, b" \t\n\f\r/>="),
        (LETTER, letters),
        (OPENS, letters + b"!/?"),
    ):
        classes[list(members)] |= kind
    return classes


@helper
def name_end(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8], kind: int
) -> np.uint64:
    """The first position of a byte of class `kind`, which is NAME_END or ATTRIBUTE_END."""
    while position < stop:
        bits = at_most_bits(source, position, _BLANK) | equal_bits(source, position, _SLASH)
        bits |= equal_bits(source, position, _GREATER) | equal_bits(source, position, _EQUALS)
        if not bits:
            position += np.uint64(BLOCK)
            continue
        position += first_bit(bits)
        if position < stop and classes[source[position]] & kind:
            return position
        position += _ONE  # a control character, or a = that ends nothing
    return stop


@helper
def read_attributes(
    source: NDArray[np.uint8],
    position: np.uint64,
    stop: np.uint64,
    wanted: np.uint64,
    most: np.uint64,
    longest: np.uint64,
    classes: NDArray[np.uint8],
    spans: NDArray[np.uint64],
) -> tuple[np.uint64, np.uint64]:
    """Reads from a tag's name to its `>`: the position after it and which of `wanted` were seen, or why it has no end.

    The value of the attribute with bit i begins at spans[2 i] and has spans[2 i + 1] bytes.
    """
    seen = _ZERO
    count = _ZERO
    while position < stop:
        byte = source[position]
        if byte == _GREATER:
            return position + _ONE, seen
        if classes[byte] & NAME_END:
            position += _ONE
            continue
        count += _ONE
        if count > most:
            return position, np.uint64(TOO_MANY)
        start = position
        position = name_end(source, start + _ONE, stop, classes, ATTRIBUTE_END)
        length = position - start
        position, value_start, value_length = _read_value(source, position, stop, classes)
        if value_length > longest:
            return position, np.uint64(TOO_LONG)
        if wanted:
            place = _wanted_place(first_word(source, start, length), length)
            bit = (_ONE << place) & wanted & ~seen
            if bit:
                spans[_TWO * place] = value_start
                spans[_TWO * place + _ONE] = value_length
                seen |= bit
    return stop, np.uint64(UNFINISHED)


@helper
def _wanted_place(word: np.uint64, length: np.uint64) -> np.uint64:
    """The position of a name's bit; one that is never wanted for any other name."""
    if word == _HREF_NAME and length == np.uint64(4):
        return np.uint64(0)
    if word == _REL_NAME and length == np.uint64(3):
        return np.uint64(1)
    if word == _ALT_NAME and length == np.uint64(3):
        return np.uint64(2)
    if word == _TITLE_NAME and length == np.uint64(5):
        return np.uint64(3)
    if word == _STYLE_NAME and length == np.uint64(5):
        return np.uint64(4)
    if word == _HIDDEN_NAME and length == np.uint64(6):
        return np.uint64(5)
    return np.uint64(63)


@helper
def _read_value(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8]
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """The position after the value of an attribute, the start of the value, and its length."""
    position = _skip_spaces(source, position, stop, classes)
    if position >= stop or source[position] != _EQUALS:
        return position, position, _ZERO
    start = _skip_spaces(source, position + _ONE, stop, classes)
    if start >= stop:
        return stop, stop, _ZERO
    quote = source[start]
    if quote in (_QUOTE, _APOSTROPHE):
        start += _ONE
        end = find_byte(source, start, stop, quote)
        return end + _ONE, start, end - start
    end = _unquoted_end(source, start, stop, classes)
    return end, start, end - start


@helper
def _skip_spaces(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8]
) -> np.uint64:
    while position < stop and classes[source[position]] & SPACE:
        position += _ONE
    return position


@helper
def _unquoted_end(
    source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8]
) -> np.uint64:
    while position < stop and source[position] != _GREATER and not classes[source[position]] & SPACE:
        position += _ONE
    return position


@helper
def rel_words(text: NDArray[np.uint8], position: np.uint64, stop: np.uint64, classes: NDArray[np.uint8]) -> np.uint64:
    """Which of nofollow, ugc and sponsored are in a decoded rel value."""
    words = _ZERO
    while position < stop:
        start = _skip_spaces(text, position, stop, classes)
        position = start
        while position < stop and not classes[text[position]] & SPACE:
            position += _ONE
        length = position - start
        word = first_word(text, start, length)
        if word == _NOFOLLOW_WORD and length == _EIGHT:
            words |= np.uint64(NOFOLLOW)
        elif word == _UGC_WORD and length == np.uint64(3):
            words |= np.uint64(UGC)
        elif word == _SPONSORED_WORD and length == np.uint64(9) and (text[start + _EIGHT] | np.uint8(32)) == 100:
            words |= np.uint64(SPONSORED)
    return words
