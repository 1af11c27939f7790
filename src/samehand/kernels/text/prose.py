"""Which paragraphs of a text are prose: running sentences, not menus, lists, tables, prices or code.

Text i is data[offsets[i]:offsets[i+1]]. The ends of its blocks are counted from its start. A block is one paragraph. A
preformatted one has a paragraph up to every line without a letter or digit, up to every line that is too wide to be a
wrapped one, and up to where lines begin or cease to be quoted by ">". Quoted lines are not prose of the text itself.

A paragraph is prose if it has MIN_WORDS words, is not mostly link text or titles, has few symbols of code, and
* enough function words of any language (`function_words`), and the end of a sentence if it is short; or
* words of a script that the list of function words does not have, and the end of a sentence; or
* the form of sentences alone: they end, begin with a capital and have a usual length, with few other capitals, commas
  and numbers. Such text without function words is what a machine makes of a list of words.

A short paragraph that ends in an ellipsis is a teaser, cut off somewhere: what follows does not go on from it.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html.blocks import lower_word
from samehand.kernels.pointers import lend, pointer
from samehand.kernels.text.function_words import LONGEST, SLOT_BITS

PREFORMATTED, LISTED, NEVER = 1, 2, 4
"""Kinds of blocks: lines are as in the source; an item of a list or a cell, which needs the end of a sentence; a part
of a form or menu, which is never prose."""
SEPARATOR = 2
"""Line feeds behind each paragraph of prose."""
MIN_WORDS, FUNCTION_SHARE, LINK_SHARE, SYMBOL_SHARE, CAPITAL_SHARE = 10, 0.15, 0.5, 0.2, 0.5
SHORT_WORDS, TEASER_WORDS = 25, 60
"""A paragraph of fewer words needs the end of a sentence; one of fewer words may be a teaser."""
SALAD_WORDS, SHORTEST_SENTENCE, LONGEST_SENTENCE = 20, 4, 40
"""Fewest words of a paragraph that is prose by the form of its sentences alone, and their mean lengths."""
WIDE = 120
"""Bytes of a line of plain text that was not wrapped: such a line is a paragraph."""
QUOTE_MARKS = 4
"""A line is quoted if one of so many marks before its first word is `>` or `]`."""
LONG_RUN, RUN_WORD = 24, 9
"""A run of more bytes in a script without blanks counts as a word for each RUN_WORD bytes, which are three letters."""

WORDS, FUNCTION, UNLISTED, ENDS, CAPITALS, COMMAS, NUMBERS, SYMBOLS, FACTS = range(9)
"""What is counted of a paragraph: words, function words, words of scripts that the list does not have, ends of
sentences, words with a capital at their begin alone, commas, numbers, symbols of code."""

_SHIFT, _MASK = np.uint64(64 - SLOT_BITS), np.uint64((1 << SLOT_BITS) - 1)
_ONE, _TWO, _EIGHT = np.uint64(1), np.uint64(2), np.uint64(8)


class Blocks(NamedTuple):
    """The blocks of texts: their ends, bytes of link text and kinds, and where those of each text begin."""

    ends: NDArray[np.int64]
    links: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    offsets: NDArray[np.int64]


class Tables(NamedTuple):
    """The class of each byte, CLASSES, and the slots of function words."""

    classes: NDArray[np.uint8]
    slots: NDArray[np.uint64]


_WORD, _MARK, _STOP, _COMMA, _CODE = (1 << place for place in range(5))
"""Classes of bytes: part of a word; first byte of a wide character that may be punctuation or a symbol; end of a
sentence; comma; symbol of code."""


def _byte_classes() -> NDArray[np.uint8]:
    """What each byte is to a paragraph: bits of _WORD to _CODE."""
    classes = np.zeros(256, np.uint8)
    classes[0x80:] = _WORD
    for byte in range(0x80):
        classes[byte] = _WORD * chr(byte).isalnum()
    classes[[0xC2, 0xE2, 0xE3, 0xEF]] |= _MARK
    classes[list(b".!?")] |= _STOP
    classes[list(b",;|")] |= _COMMA
    classes[list(b"{}[]=+*\\|_$#^~;")] |= _CODE
    return classes


CLASSES = _byte_classes()


@helper
def _is_mark(data: NDArray[np.uint8], place: np.uint64, end: np.uint64) -> bool:
    """Whether the wide character at `place`, whose first byte may be that of a mark, is punctuation or a symbol."""
    byte = data[place]
    if byte == 0xC2 or byte == 0xE2:
        return True
    behind = data[place + _ONE] if place + _ONE < end else np.uint8(0)
    return bool((byte == 0xE3 and behind == 0x80) or (byte == 0xEF and behind >= 0xBC))


@helper
def _is_function_word(data: NDArray[np.uint8], place: np.uint64, length: np.uint64, slots: NDArray[np.uint64]) -> bool:
    """Whether a word, of at most LONGEST bytes, is one of the list."""
    key = np.uint64(0)
    for byte in range(length):
        key |= np.uint64(data[place + byte]) << (_EIGHT * byte)
    key = lower_word(key)
    slot = (key * GOLDEN) >> _SHIFT
    while slots[slot] != 0:
        if slots[slot] == key:
            return True
        slot = (slot + _ONE) & _MASK
    return False


@helper
def _read_word(
    data: NDArray[np.uint8], place: np.uint64, end: np.uint64, tables: Tables, facts: NDArray[np.int64]
) -> np.uint64:
    """Counts the word that begins at `place`; returns its end."""
    first, start = data[place], place
    while place < end:
        kind = tables.classes[data[place]]
        if not kind & _WORD or (kind & _MARK and _is_mark(data, place, end)):
            break
        place += _ONE
    length = place - start
    words = np.int64(length // np.uint64(RUN_WORD)) if length > np.uint64(LONG_RUN) else np.int64(1)
    facts[WORDS] += words if first >= 0x80 else np.int64(1)
    if first >= 0xD6:
        facts[UNLISTED] += words
    elif length <= np.uint64(LONGEST):
        facts[FUNCTION] += _is_function_word(data, start, length, tables.slots)
    is_capital = np.uint8(65) <= first <= np.uint8(90)
    facts[CAPITALS] += is_capital and (length == _ONE or not np.uint8(65) <= data[start + _ONE] <= np.uint8(90))
    facts[NUMBERS] += np.uint8(48) <= first <= np.uint8(57)
    return place


@helper
def _ends_sentence(data: NDArray[np.uint8], place: np.uint64, end: np.uint64) -> bool:
    """Whether a full stop, question or exclamation mark has a blank, a closing mark or nothing behind it."""
    if place + _ONE >= end:
        return True
    behind = data[place + _ONE]
    return bool(behind <= 32 or behind in (0x22, 0x27, 0x29, 0x5D) or behind == 0xE2 or behind == 0xC2)


@helper
def _count_facts(
    data: NDArray[np.uint8], place: np.uint64, end: np.uint64, tables: Tables, facts: NDArray[np.int64]
) -> None:
    """Counts what there is in the paragraph data[place:end]."""
    for fact in range(FACTS):
        facts[fact] = 0
    while place < end:
        byte = data[place]
        kind = tables.classes[byte]
        if kind == 0:
            place += _ONE
        elif kind & _MARK and _is_mark(data, place, end):
            last = data[place + _TWO] if place + _TWO < end else np.uint8(0)
            facts[ENDS] += (byte == 0xE3 and last == 0x82) or (byte == 0xEF and last == 0x81)
            place += _TWO if byte == 0xC2 else np.uint64(3)
        elif kind & _WORD:
            place = _read_word(data, place, end, tables, facts)
        else:
            if kind & _STOP:
                facts[ENDS] += place > 0 and data[place - _ONE] > 32 and _ends_sentence(data, place, end)
            facts[COMMAS] += kind & _COMMA > 0
            facts[SYMBOLS] += kind & _CODE > 0
            place += _ONE


@nb.njit(cache=True, nogil=True)
def count_facts(data: NDArray[np.uint8], tables: Tables) -> NDArray[np.int64]:
    """What there is in a paragraph."""
    facts = np.zeros(FACTS, np.int64)
    _count_facts(pointer(data), np.uint64(0), np.uint64(data.size), lend(tables), pointer(facts))
    return facts


@helper
def _is_prose(facts: NDArray[np.int64], kind: np.int64, link_share: float) -> bool:
    """Whether a paragraph is prose, from what was counted of it."""
    words, ends = facts[WORDS], facts[ENDS]
    if words < MIN_WORDS or link_share > LINK_SHARE or kind & NEVER or facts[SYMBOLS] > SYMBOL_SHARE * words:
        return False
    if ((kind & LISTED or words < SHORT_WORDS) and not ends) or facts[CAPITALS] > CAPITAL_SHARE * words:
        return False
    if facts[FUNCTION] >= FUNCTION_SHARE * words:
        return True
    if 2 * facts[UNLISTED] >= words:
        return bool(ends > 0)
    is_long = words >= SALAD_WORDS and SHORTEST_SENTENCE * ends <= words <= LONGEST_SENTENCE * ends
    few = words // 10
    has_form = 2 * facts[CAPITALS] >= ends and facts[CAPITALS] <= ends + few and facts[COMMAS] <= few
    return bool(is_long and has_form and facts[NUMBERS] <= few)


@helper
def _is_quoted(data: NDArray[np.uint8], place: np.uint64, end: np.uint64) -> bool:
    """Whether the line at `place` begins with the mark of a quote, as in mails: `>`, but also `) >`, `&>` and `--]`."""
    marks = 0
    while place < end and data[place] != 10 and not CLASSES[data[place]] & _WORD and marks < QUOTE_MARKS:
        if data[place] in (0x3E, 0x5D):
            return True
        marks += data[place] > 32
        place += _ONE
    return False


@helper
def is_cut_off(data: NDArray[np.uint8], place: np.uint64, end: np.uint64) -> bool:
    """Whether data[place:end] ends in an ellipsis, which may be in brackets."""
    while end > place and (data[end - _ONE] <= 32 or data[end - _ONE] in (0x29, 0x5D)):
        end -= _ONE
    if end < place + np.uint64(3):
        return False
    a, b, c = data[end - np.uint64(3)], data[end - np.uint64(2)], data[end - _ONE]
    return bool((a == 0x2E and b == 0x2E and c == 0x2E) or (a == 0xE2 and b == 0x80 and c == 0xA6))


@helper
def _paragraph_end(data: NDArray[np.uint8], place: np.uint64, end: np.uint64, classes: NDArray[np.uint8]) -> np.uint64:
    """The end of the paragraph of preformatted text that begins at `place`."""
    line = place
    is_quoted = _is_quoted(data, place, end)
    while line < end:
        if _is_quoted(data, line, end) != is_quoted:
            return line
        stop = line
        has_words = False
        while stop < end and data[stop] != 10:
            has_words |= classes[data[stop]] & _WORD > 0
            stop += _ONE
        if not has_words and line > place:
            return line
        if not has_words or stop - line > WIDE:
            return min(stop + _ONE, end)
        line = stop + _ONE
    return end


@helper
def _put_paragraph(
    data: NDArray[np.uint8],
    place: np.uint64,
    end: np.uint64,
    has_lines: np.int64,
    prose: NDArray[np.uint8],
    length: np.uint64,
) -> np.uint64:
    """Copies a paragraph and ends it by an empty line; returns the new length of the prose.

    Unless the paragraph `has_lines` of its own, line feeds are blanks, as browsers show them.
    """
    while place < end and data[place] <= 32:
        place += _ONE
    while end > place and data[end - _ONE] <= 32:
        end -= _ONE
    while place < end:
        prose[length] = np.uint8(32) if data[place] == 10 and not has_lines else data[place]
        length += _ONE
        place += _ONE
    for _ in range(SEPARATOR):
        prose[length] = 10
        length += _ONE
    return length


@nb.njit(cache=True, nogil=True)
def find_prose(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    blocks: Blocks,
    tables: Tables,
    prose: NDArray[np.uint8],
    found: NDArray[np.int64],
) -> None:
    """Writes the prose of each text to `prose`; to `found` its length so far, and the words of the text and the prose.

    `prose` needs room for the text and SEPARATOR more bytes for each MIN_WORDS of its bytes.
    """
    ends, links, kinds, bounds = blocks
    facts = np.zeros(FACTS, np.int64)
    source, target, known, counted = pointer(data), pointer(prose), lend(tables), pointer(facts)
    length = np.uint64(0)
    for text in range(offsets.size - 1):
        begin = np.uint64(offsets[text])
        place = begin
        for block in range(bounds[text], bounds[text + 1]):
            end, kind = begin + np.uint64(ends[block]), np.int64(kinds[block])
            share = links[block] / max(1, end - place)
            while place < end:
                stop = _paragraph_end(source, place, end, known.classes) if kind & PREFORMATTED else end
                _count_facts(source, place, stop, known, counted)
                found[text, 1] += facts[WORDS]
                is_foreign = kind & PREFORMATTED and _is_quoted(source, place, stop)
                is_teaser = facts[WORDS] < TEASER_WORDS and is_cut_off(source, place, stop)
                if not is_foreign and not is_teaser and _is_prose(counted, kind, share):
                    length = _put_paragraph(source, place, stop, kind & PREFORMATTED, target, length)
                    found[text, 2] += facts[WORDS]
                place = stop
        found[text, 0] = length
