"""HTML bytes to tags, text, titles and links in one pass, as the tokenizer of the HTML standard reads them.

Pages lie end to end: page i is source[offsets[i]:offsets[i+1]], and positions in it are counted from its start. Every
function moves forward only; the column STEPS adds up how far they looked. Below `parse_pages` arrays are pointers (see
page.py for what is kept and written).
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.bits import first_bit
from samehand.kernels.html import attributes, tagnames
from samehand.kernels.html import page as state_of
from samehand.kernels.html.attributes import name_end, read_attributes
from samehand.kernels.html.blocks import BLOCK, copy_block, equal_bits, find_byte
from samehand.kernels.html.entities import References, copy_span, decode_reference, put_line_end
from samehand.kernels.html.hiding import ends_hiding
from samehand.kernels.html.page import (
    ATTRIBUTE_TEXTS,
    ATTRIBUTES_CAPPED,
    BASE_LENGTH,
    BASE_START,
    BLOCK_START,
    EXPANSION,
    FILLED,
    FLAGS,
    HIDDEN_DEPTHS,
    HIDER,
    LINKED,
    NO_BASE,
    PLACES,
    SOFT_AT,
    STEPS,
    TAGS,
    TEMPLATES,
    TEXT,
    TEXT_START,
    TITLED,
    TITLES,
    TOKENS,
    TOKENS_CAPPED,
    VALUE_CAPPED,
    Found,
    Limits,
    Page,
    Tables,
    break_line,
    break_softly,
    end_block,
    hides,
    keep_text,
    put_line,
    put_link,
)
from samehand.kernels.html.rawtext import comment_end, raw_end, script_end
from samehand.kernels.html.tagnames import packed_source, tag_number
from samehand.kernels.pointers import lend, pointer

_HREF_AT, _ALT_AT, _TITLE_AT = state_of.HREF_AT, state_of.ALT_AT, state_of.TITLE_AT
_ZERO, _ONE, _TWO, _THREE = (np.uint64(number) for number in range(4))
_NUL, _RETURN = np.uint8(0), np.uint8(13)
_BANG, _AMPERSAND, _DASH, _SLASH, _LESS, _GREATER = (np.uint8(byte) for byte in b"!&-/<>")
_END = np.uint64(tagnames.END)
_BREAK, _LINK, _BASE, _TEMPLATE, _RAW = tagnames.BREAK, tagnames.LINK, tagnames.BASE, tagnames.TEMPLATE, tagnames.RAW
_VISIBLE, _REFERENCES, _PLAIN, _SCRIPT = tagnames.VISIBLE, tagnames.REFERENCES, tagnames.PLAIN, tagnames.SCRIPT
_SOFT, _NEVER_HIDES = tagnames.SOFT, tagnames.NEVER_HIDES


@nb.njit(cache=True, nogil=True)
def parse_pages(
    source: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    wishes: int,
    tables: Tables,
    limits: Limits,
    found: Found,
    rows: NDArray[np.uint64],
) -> None:
    """Fills `found`, and a row of `rows` for each page; the first row says how far `found` is filled before.

    `source` has BLOCK more bytes after the last page.
    """
    spans = np.zeros(state_of.SPANS, np.uint64)
    for number in range(np.uint64(offsets.size - 1)):
        row = rows[number + _ONE]
        row[:] = _ZERO
        row[:FILLED] = rows[number, :FILLED]
        row[BASE_START] = NO_BASE
        row[TEXT_START] = row[BLOCK_START] = row[SOFT_AT] = row[TEXT]
        content = source[offsets[number] : offsets[number + _ONE]]
        _parse_page(content, np.uint64(wishes), tables, limits, found, row, spans)


@helper
def _parse_page(
    content: NDArray[np.uint8],
    wishes: np.uint64,
    tables: Tables,
    limits: Limits,
    found: Found,
    row: NDArray[np.uint64],
    spans: NDArray[np.uint64],
) -> None:
    """Turns arrays into pointers; the caller keeps the arrays alive."""
    lent = lend(found)
    page = Page(
        pointer(content),
        np.uint64(content.size),
        wishes,
        limits,
        pointer(tables.classes),
        lend(tables.names),
        lend(tables.references),
        lent,
        lent.text,
        pointer(row),
        pointer(spans),
    )
    _read_page(page)


@helper
def _read_page(page: Page) -> None:
    """Reads text and markup by turns, from a page's first byte to its last or to a limit."""
    position = _mark_bytes(page)
    while position < page.stop and not page.state[FLAGS]:
        start = position
        position = _copy_data(page, position)
        if position < page.stop:
            position = _read_markup(page, position)
        page.state[STEPS] += position - start
    end_block(page, _ZERO)


@helper
def _mark_bytes(page: Page) -> np.uint64:
    """Bytes of the byte order mark at the start of a page, which is no text."""
    first, second, third = page.source[0], page.source[1], page.source[2]
    is_mark = page.stop >= _THREE and first == 0xEF and second == 0xBB and third == 0xBF
    return _THREE if is_mark else _ZERO


@part
def _copy_data(page: Page, position: np.uint64) -> np.uint64:
    """Writes text up to the next markup, and returns the position of that. NULs are dropped, as browsers do."""
    source, text, stop = page.source, page.text, page.stop
    length = page.state[TEXT]
    while position < stop:
        copy_block(source, position, text, length)
        bits = equal_bits(source, position, _LESS) | equal_bits(source, position, _AMPERSAND)
        bits |= equal_bits(source, position, _RETURN) | equal_bits(source, position, _NUL)
        size = min(first_bit(bits), np.uint64(BLOCK), stop - position)
        position += size
        length += size
        if not bits or position == stop:
            continue
        byte = source[position]
        if byte == _LESS:
            if _opens_markup(page, position + _ONE):
                break
            text[length] = byte
            position += _ONE
            length += _ONE
        elif byte == _AMPERSAND:
            position, length = decode_reference(source, position, stop, False, page.references, text, length)
        elif byte == _RETURN:
            position, length = put_line_end(source, position, stop, text, length)
        else:
            position += _ONE
    keep_text(page, length)
    return position


@part
def _opens_markup(page: Page, after: np.uint64) -> bool:
    """Whether the `<` before `after` opens markup. A `</` at the very end of a page does not."""
    if after >= page.stop or not page.classes[page.source[after]] & attributes.OPENS:
        return False
    return bool(page.source[after] != _SLASH or after + _ONE < page.stop)


@part
def _read_markup(page: Page, position: np.uint64) -> np.uint64:
    """Reads the tag, comment or declaration that a `<` opens, and its raw text; returns the position after it."""
    source, stop = page.source, page.stop
    if page.state[TOKENS] >= page.limits.tokens:
        page.state[FLAGS] |= np.uint64(TOKENS_CAPPED)
        return position
    page.state[TOKENS] += _ONE
    after = position + _ONE
    byte = source[after]
    end = _ZERO
    if byte == _SLASH:
        after += _ONE
        end = _END
    if page.classes[source[after]] & attributes.LETTER:
        return _read_tag(page, after, end)
    if byte == _BANG:
        after += _ONE
        if after + _ONE < stop and source[after] == _DASH and source[after + _ONE] == _DASH:
            return comment_end(source, after + _TWO, stop)
    return min(find_byte(source, after, stop, _GREATER) + _ONE, stop)


@part
def _read_tag(page: Page, start: np.uint64, end: np.uint64) -> np.uint64:
    """Reads a tag from its name on. A tag that the end of the page cuts off does not count."""
    name_stop = name_end(page.source, start, page.stop, page.classes, attributes.NAME_END)
    packed = packed_source(page.source, start, name_stop - start)
    number = tag_number(packed, page.source, start, name_stop - start, page.names)
    role = page.names.roles[number]
    position, seen = read_attributes(
        page.source,
        name_stop,
        page.stop,
        _ZERO if end else _wanted(page, role),
        page.limits.attributes,
        page.limits.value_bytes,
        page.classes,
        page.spans,
    )
    if seen >= np.uint64(attributes.UNFINISHED):
        page.state[FLAGS] |= _flag(seen)
        return position
    count = page.state[TAGS]
    page.found.tags[count] = np.uint16(number | end)
    if page.wishes & np.uint64(PLACES):
        page.found.places[count] = np.int64(start)
    page.state[TAGS] = count + _ONE
    if page.state[HIDER]:
        _pass_hidden(page, number, role, end != _ZERO)
    if role & _BREAK and not (page.state[HIDER] or page.state[TEMPLATES]):
        _break_text(page, number | end, role)
    if end:
        if role & _TEMPLATE and page.state[TEMPLATES]:
            page.state[TEMPLATES] -= _ONE
        elif role & _LINK:
            page.state[LINKED] = _ZERO
        return position
    return _follow_up(page, position, number, seen, packed, name_stop - start) if role or seen else position


@part
def _break_text(page: Page, tag: np.uint64, role: np.uint16) -> None:
    """Ends the line of text and, but for `<br>`, the block."""
    if role & _SOFT:
        break_softly(page)
    else:
        break_line(page)
        end_block(page, tag)


@helper
def _pass_hidden(page: Page, number: np.uint64, role: np.uint16, is_end: bool) -> None:
    """Looks whether a tag ends the hidden text that it stands in."""
    if ends_hiding(page.state[HIDER], page.state, np.uint64(HIDDEN_DEPTHS), number, role, is_end):
        page.state[HIDER] = _ZERO


@part
def _wanted(page: Page, role: np.uint16) -> np.uint64:
    """The attributes of a start tag that are read."""
    wanted = np.uint64(attributes.STYLE | attributes.HIDDEN)
    if role & (_LINK | _BASE):
        wanted |= np.uint64(attributes.HREF | attributes.REL)
    if page.wishes & np.uint64(ATTRIBUTE_TEXTS):
        wanted |= np.uint64(attributes.ALT | attributes.TITLE)
    return wanted


@part
def _flag(seen: np.uint64) -> np.uint64:
    """The flag of the limit that ended a tag, if one did."""
    if seen == np.uint64(attributes.TOO_MANY):
        return np.uint64(ATTRIBUTES_CAPPED)
    return np.uint64(VALUE_CAPPED) if seen == np.uint64(attributes.TOO_LONG) else _ZERO


@part
def _follow_up(
    page: Page, position: np.uint64, number: np.uint64, seen: np.uint64, name: np.uint64, name_length: np.uint64
) -> np.uint64:
    """Handles the hiding, links, texts, template and raw text of a start tag; returns the position after them."""
    role = page.names.roles[number]
    is_unseen = seen >= np.uint64(attributes.STYLE) and hides(page, seen)
    if is_unseen and not (role & _NEVER_HIDES or page.state[HIDER] or page.state[TEMPLATES]):
        page.state[HIDER] = number
        page.state[HIDDEN_DEPTHS], page.state[HIDDEN_DEPTHS + 1] = _ONE, _ZERO
    if seen & np.uint64(attributes.HREF):
        if role & _LINK:
            put_link(page, (seen & np.uint64(attributes.REL)) != _ZERO)
            page.state[LINKED] = np.uint64((role & _NEVER_HIDES) == 0)
        elif page.state[BASE_START] == NO_BASE and not page.state[TEMPLATES]:
            page.state[BASE_START], page.state[BASE_LENGTH] = page.spans[_HREF_AT], page.spans[_HREF_AT + 1]
    if seen & np.uint64(attributes.ALT) and not is_unseen:
        put_line(page, page.spans[_ALT_AT], page.spans[_ALT_AT + 1])
    if seen & np.uint64(attributes.TITLE) and not is_unseen:
        put_line(page, page.spans[_TITLE_AT], page.spans[_TITLE_AT + 1])
    if role & _TEMPLATE:
        page.state[TEMPLATES] += _ONE
    return _read_raw(page, position, role, name, name_length) if role & _RAW else position


@helper
def _read_raw(page: Page, position: np.uint64, role: np.uint16, name: np.uint64, name_length: np.uint64) -> np.uint64:
    """Reads the raw text behind a start tag; returns the position of the end tag or of the page's end."""
    source, state = page.source, page.state
    end = page.stop
    if role & _SCRIPT:
        end = script_end(source, position, end, page.classes)
    elif not role & _PLAIN:
        end = raw_end(source, position, end, name, name_length, page.classes)
    if state[TEMPLATES]:
        return end
    decoded = (role & _REFERENCES) != 0
    if role & _VISIBLE:
        state[STEPS] += end - position
        keep_text(page, copy_span(source, position, end, decoded, False, page.references, page.text, state[TEXT]))
    elif decoded and not state[TITLED]:
        state[TITLED] = _ONE
        state[STEPS] += end - position
        state[TITLES] = copy_span(source, position, end, True, False, page.references, page.found.titles, state[TITLES])
    return end


@nb.njit(cache=True, nogil=True)
def decode_value(value: NDArray[np.uint8], references: References) -> NDArray[np.uint8]:
    """An attribute's value with references decoded, and line ends and NULs as in text."""
    text = np.empty(EXPANSION * value.size + 1, np.uint8)
    stop, tables = np.uint64(value.size), lend(references)
    return text[: copy_span(pointer(value), _ZERO, stop, True, True, tables, pointer(text), _ZERO)].copy()
