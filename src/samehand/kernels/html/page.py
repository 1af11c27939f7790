"""The page that is being read: what the pass over it keeps in mind, and how it writes what it found.

Arrays are pointers here (see pointers.py). The size of a page bounds what it can make us write, so the caller makes
room once. Functions that run for every tag are inlined: to pass a `Page` on costs as much as to read a tag.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.html import attributes
from samehand.kernels.html.attributes import rel_words
from samehand.kernels.html.entities import References, copy_span
from samehand.kernels.html.hiding import count_words, hides_text
from samehand.kernels.html.tagnames import Names

TOKENS_CAPPED, ATTRIBUTES_CAPPED, VALUE_CAPPED = 1, 2, 4
"""Bits of a page's flags: the limit that ended its pass."""
INERT, UNSEEN = 8, 16
"""Bits of a link's flags, beside those of its rel words: the link is in a template; it is in hidden text."""
ATTRIBUTE_TEXTS, PLACES = 1, 2
"""Bits of `wishes`: the texts of alt and title attributes; the position of each tag's name."""
EXPANSION = 3
"""Text grows by this factor at most: a NUL becomes U+FFFD."""
SHORTEST_TAG, SHORTEST_LINK = 3, 8
"""Bytes of `<a>` and of `<a href>`."""

# Columns of `rows`. The first five say how far the outputs are filled. The others describe one page.
TAGS, TEXT, TITLES, LINKS, BLOCKS, FLAGS, STEPS, BASE_START, BASE_LENGTH, HIDDEN_WORDS = range(10)
TOKENS, TEMPLATES, TEXT_START, TITLED, BLOCK_START, OPENER, LINKED, LINK_BYTES, SOFT_AT = range(10, 19)
HIDER, HIDDEN_DEPTHS = 19, 20
FILLED, COLUMNS = 5, 22
NO_BASE = np.uint64(0xFFFFFFFFFFFFFFFF)

# Where read_attributes puts the start of a value; the length is next to it.
HREF_AT, REL_AT, ALT_AT, TITLE_AT, STYLE_AT, HIDDEN_AT, SPANS = 0, 2, 4, 6, 8, 10, 12

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_NEWLINE, _BLANK = np.uint8(10), np.uint8(32)


class Tables(NamedTuple):
    """Lookup tables."""

    classes: NDArray[np.uint8]
    names: Names
    references: References


class Limits(NamedTuple):
    """Limits at which the pass over a page ends, with a flag."""

    tokens: np.uint64
    attributes: np.uint64
    value_bytes: np.uint64


class Found(NamedTuple):
    """What the pass writes. n bytes of pages need room for n ÷ SHORTEST_TAG + 1 tags and, if wished for, places;
    EXPANSION × n + BLOCK bytes of text and of titles; n ÷ SHORTEST_LINK + 1 links; n + 1 blocks.

    The end of a block is one in the page's text, `block_links` are the bytes of link text in it, and `block_openers`
    the tag that began it.
    """

    tags: NDArray[np.uint16]
    places: NDArray[np.int64]
    text: NDArray[np.uint8]
    titles: NDArray[np.uint8]
    link_starts: NDArray[np.int64]
    link_lengths: NDArray[np.int64]
    link_flags: NDArray[np.uint8]
    block_ends: NDArray[np.int64]
    block_links: NDArray[np.int64]
    block_openers: NDArray[np.uint16]


class Page(NamedTuple):
    """The current page: its bytes up to `stop`, its row as `state`, and all of the above. All arrays are pointers."""

    source: NDArray[np.uint8]
    stop: np.uint64
    wishes: np.uint64
    limits: Limits
    classes: NDArray[np.uint8]
    names: Names
    references: References
    found: Found
    text: NDArray[np.uint8]
    state: NDArray[np.uint64]
    spans: NDArray[np.uint64]


@part
def keep_text(page: Page, length: np.uint64) -> None:
    """Keeps the text that was written up to `length`; of hidden text only the number of words."""
    state = page.state
    if state[TEMPLATES]:
        return
    if state[HIDER]:
        state[HIDDEN_WORDS] += count_words(page.text, state[TEXT], length)
        return
    if state[LINKED]:
        state[LINK_BYTES] += length - state[TEXT]
    state[TEXT] = length


@part
def break_line(page: Page) -> None:
    """Ends the line of text, unless it is empty."""
    length = page.state[TEXT]
    if length > page.state[TEXT_START] and page.text[length - _ONE] != _NEWLINE:
        page.text[length] = _NEWLINE
        page.state[TEXT] = length + _ONE


@part
def end_block(page: Page, opener: np.uint64) -> None:
    """Ends the block of text, unless it is empty. `opener` is the tag that begins the next one."""
    state = page.state
    if state[TEXT] > state[BLOCK_START]:
        place = state[BLOCKS]
        page.found.block_ends[place] = np.int64(state[TEXT] - state[TEXT_START])
        page.found.block_links[place] = np.int64(state[LINK_BYTES])
        page.found.block_openers[place] = np.uint16(state[OPENER])
        state[BLOCKS] = place + _ONE
        state[BLOCK_START] = state[TEXT]
        state[LINK_BYTES] = _ZERO
    state[OPENER] = opener


@helper
def break_softly(page: Page) -> None:
    """Ends the line as `<br>` does. Two of them with nothing between end the block."""
    state = page.state
    place = max(state[SOFT_AT], state[BLOCK_START])
    while place < state[TEXT] and page.text[place] <= _BLANK:
        place += _ONE
    is_second = place == state[TEXT] and state[SOFT_AT] > state[BLOCK_START]
    break_line(page)
    if is_second:
        end_block(page, state[OPENER])
    state[SOFT_AT] = state[TEXT]


@nb.njit(cache=True, nogil=True)
def hides(page: Page, seen: np.uint64) -> bool:
    """Whether the attributes of a start tag hide its text. A style is decoded into the room behind the text."""
    if seen & np.uint64(attributes.HIDDEN):
        return True
    if not seen & np.uint64(attributes.STYLE):
        return False
    start, size = page.spans[STYLE_AT], page.spans[STYLE_AT + 1]
    behind = page.state[TEXT]
    stop = copy_span(page.source, start, start + size, True, True, page.references, page.text, behind)
    page.state[STEPS] += size
    return hides_text(page.text, behind, stop)


@helper
def put_link(page: Page, has_rel: bool) -> None:
    """Writes a link. Its rel value is decoded into the unused room behind the text."""
    flags = np.uint64(INERT) if page.state[TEMPLATES] else _ZERO
    if page.state[HIDER]:
        flags |= np.uint64(UNSEEN)
    if has_rel:
        start, size = page.spans[REL_AT], page.spans[REL_AT + 1]
        behind = page.state[TEXT]
        stop = copy_span(page.source, start, start + size, True, True, page.references, page.text, behind)
        flags |= rel_words(page.text, behind, stop, page.classes)
        page.state[STEPS] += size
    place = page.state[LINKS]
    page.found.link_starts[place] = np.int64(page.spans[HREF_AT])
    page.found.link_lengths[place] = np.int64(page.spans[HREF_AT + 1])
    page.found.link_flags[place] = np.uint8(flags)
    page.state[LINKS] = place + _ONE


@helper
def put_line(page: Page, start: np.uint64, size: np.uint64) -> None:
    """Writes the value of an attribute as a line and a block of its own."""
    state = page.state
    if state[TEMPLATES] or state[HIDER]:
        return
    opener = state[OPENER]
    break_line(page)
    end_block(page, _ZERO)
    state[TEXT] = copy_span(page.source, start, start + size, True, True, page.references, page.text, state[TEXT])
    state[STEPS] += size
    break_line(page)
    end_block(page, opener)
