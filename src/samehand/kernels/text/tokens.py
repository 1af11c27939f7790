"""Text to tokens and sentences in one pass; the rules are in `methods/language/tokens.py`.

Text is UTF-8. Text i is data[offsets[i]:offsets[i+1]]. A byte that is not valid UTF-8 is a blank.
`tests/test_kernels_tokens.py` holds the pass equal to a readable reference. The time is linear: a look ahead covers a
few characters and one run of blanks, and each run is looked at from only one mark before it.
"""

from typing import Any, NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper, part
from samehand.kernels.text.token_classes import (
    APOSTROPHE,
    BLANK,
    BREAK,
    CLOSER,
    COMMA,
    DIGIT,
    FULL_STOP,
    HANGING,
    HYPHEN,
    IDEOGRAPH,
    JOIN,
    LINK,
    LONGEST_HINT,
    LOWER,
    NEVER,
    NUMBERED,
    OPENER,
    OTHER,
    PERHAPS,
    PERIOD,
    PUNCTUATION,
    QUOTE,
    RANGE,
    SPLIT,
    STARTER,
    SYMBOL,
    TERMINAL,
    UPPER,
    Tables,
    hint_of,
    kind_before,
    look,
    pass_blanks,
)

LONGEST = 128
"""A token ends after this many bytes."""
NARROW, WIDE = 40, 100
"""Lines of fewer or more characters were not wrapped at a margin."""
MOST_QUOTES = 4
"""The most closing marks behind the end of a sentence, and opening marks before the next."""

_NOTHING, _GLUED = 100, 101
_ATTACHED, _ENDS = 1, 2
_DOT, _COLON, _SLASH, _SMALL = 0x2E, 0x3A, 0x2F, 0x20
_N, _T, _S, _M, _D, _L, _R, _V, _E = 0x6E, 0x74, 0x73, 0x6D, 0x64, 0x6C, 0x72, 0x76, 0x65


class Room(NamedTuple):
    """Arrays for tokens and the ends of sentences."""

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sentences: NDArray[np.int64]


@helper
def _clitic(data: NDArray[np.uint8], place: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """Number of letters of the clitic at `place`, behind an apostrophe (s, m, d, ll, re, ve); 0 if there is none."""
    first = data[place] | _SMALL if place < end else 0
    second = data[place + 1] | _SMALL if place + 1 < end else 0
    size = 0
    if first in (_S, _M, _D):
        size = 1
    elif (first == _L and second == _L) or (first in (_R, _V) and second == _E):
        size = 2
    after, _ = look(data, place + size, end, kinds)
    return 0 if LOWER <= after <= JOIN else size


@helper
def _address_end(data: NDArray[np.uint8], place: int, limit: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """The end of a web address, without the punctuation behind it."""
    good = place
    while place < limit:
        kind, size = look(data, place, end, kinds)
        if kind <= BREAK or kind in (CLOSER, OPENER, QUOTE, FULL_STOP, IDEOGRAPH) or data[place] in (0x3C, 0x3E):
            break
        place += size
        if kind not in (PERIOD, COMMA, TERMINAL, PUNCTUATION, APOSTROPHE):
            good = place
    return good


@helper
def _bytes_joined(data: NDArray[np.uint8], start: int, place: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """Bytes at `place`, which is no letter, that belong to the word begun at `start`; -1 takes its last byte away."""
    kind, size = look(data, place, end, kinds)
    after, _ = look(data, place + size, end, kinds)
    if kind == APOSTROPHE:
        if not LOWER <= after <= OTHER or _clitic(data, place + size, end, kinds):
            return 0
        if place - 1 > start and data[place - 1] | _SMALL == _N and data[place + size] | _SMALL == _T:
            behind, _ = look(data, place + size + 1, end, kinds)
            return size if LOWER <= behind <= JOIN else -1
        return size
    if kind in (PERIOD, HYPHEN, LINK):
        if kind == PERIOD and after == HYPHEN:
            after, _ = look(data, place + 2, end, kinds)  # U.S.-based
        return size if LOWER <= after <= DIGIT else 0
    if kind in (COMMA, RANGE):
        if after == DIGIT and kind_before(data, place, kinds) == DIGIT:
            return size
        if place + 2 < end and data[place] == _COLON and data[place + 1] == _SLASH and data[place + 2] == _SLASH:
            return max(_address_end(data, place + 3, min(end, start + LONGEST), end, kinds) - place, 3)
    return 0


@helper
def _word_end(data: NDArray[np.uint8], start: Any, end: int, tables: Tables) -> Any:
    """The end of the word that begins at `start`."""
    kinds = tables.kinds
    limit = min(end, start + LONGEST)
    place = start
    is_plain = True
    while place < limit:
        byte = data[np.uint64(place)]
        kind, size = np.int64(kinds[byte]), np.int64(1)
        if byte >= 0x80:
            kind, size = look(data, place, end, kinds)
        if LOWER <= kind <= JOIN:
            place += size
            continue
        joined = _bytes_joined(data, start, place, end, kinds) if kind > IDEOGRAPH else 0
        place += joined
        if joined <= 0:
            break
        is_plain = False
    if is_plain and 5 <= place - start <= 6 and data[start + 2] == data[start + 3]:
        return start + 3 if hint_of(data, start, place, tables) & SPLIT else place
    return place


@helper
def _mark_end(data: NDArray[np.uint8], place: int, end: int, tables: Tables, is_free: bool) -> Any:
    """The end of the token at `place`, which begins with neither letter nor digit. `is_free`: no token ends there."""
    kind, size = look(data, place, end, tables.kinds)
    if kind in (PERIOD, HYPHEN):
        after, _ = look(data, place + size, end, tables.kinds)
        if is_free and after == DIGIT:
            return _word_end(data, place + size, end, tables)
    if kind == APOSTROPHE:
        letters = _clitic(data, place + size, end, tables.kinds)
        if letters:
            return place + size + letters
    most = place + LONGEST if kind in (PERIOD, HYPHEN, SYMBOL) else place + 2 * size if kind == APOSTROPHE else place
    after = place + size
    while after < most and after + size <= end and _are_equal(data, place, after, size):
        after += size
    return after


@helper
def _are_equal(data: NDArray[np.uint8], left: int, right: int, size: int) -> bool:
    equal = True
    for step in range(size):
        equal &= data[left + step] == data[right + step]
    return bool(equal)


@nb.njit(cache=True, nogil=True)
def _follow(data: NDArray[np.uint8], place: int, end: int, kinds: NDArray[np.uint8]) -> tuple[int, int, int]:
    """What follows a mark that may end a sentence: the end of its closing marks, then the kind and the position of the
    character behind the blanks and opening marks."""
    kind, size = look(data, place, end, kinds)
    for _ in range(MOST_QUOTES):
        if kind not in (CLOSER, QUOTE, APOSTROPHE):
            break
        place += size
        kind, size = look(data, place, end, kinds)
    if kind > BREAK and kind != JOIN:
        return place, _GLUED, place
    following, breaks = pass_blanks(data, place, end, kinds)
    if following >= end or breaks > 1:
        return place, _NOTHING, following
    kind, size = look(data, following, end, kinds)
    for _ in range(MOST_QUOTES):
        if kind not in (OPENER, QUOTE, APOSTROPHE, HYPHEN, RANGE, BLANK):
            break
        following += size
        kind, size = look(data, following, end, kinds)
    return place, kind, following


@helper
def _letters_apart(data: NDArray[np.uint8], start: int, stop: int, kinds: NDArray[np.uint8]) -> Any:
    """Number of letters of a word of single letters with periods between them; 0 for any other word."""
    letters = 0
    place = start
    while place < stop:
        kind, size = look(data, place, stop, kinds)
        if not LOWER <= kind <= OTHER:
            return 0
        letters += 1
        place += size
        if place < stop:
            if data[place] != _DOT:
                return 0
            place += 1
    return letters


@helper
def _is_starter(data: NDArray[np.uint8], place: int, end: int, tables: Tables) -> bool:
    stop = place
    while stop < end and stop - place <= LONGEST_HINT and 0x61 <= data[stop] | _SMALL <= 0x7A:
        stop += 1
    return bool(hint_of(data, place, stop, tables) & STARTER)


@helper
def _period(
    data: NDArray[np.uint8], start: int, stop: int, end: int, tables: Tables, is_alone: bool
) -> tuple[int, int]:
    """Whether the period behind the word data[start:stop] is part of it, or ends the sentence; and where that ends."""
    place, kind, following = _follow(data, stop + 1, end, tables.kinds)
    letters = _letters_apart(data, start, stop, tables.kinds)
    if kind == _NOTHING:
        return _ENDS | (_ATTACHED if letters > 1 else 0), place
    hint = hint_of(data, start, stop, tables)
    first, _ = look(data, start, end, tables.kinds)
    if is_alone and (letters == 1 or (first == DIGIT and stop - start <= 3)) and kind != _GLUED:
        return _ATTACHED, place
    if hint & NEVER or (hint & NUMBERED and kind == DIGIT):
        return _ATTACHED, place
    if hint & PERHAPS or letters:
        if kind == UPPER and _is_starter(data, following, end, tables):
            return _ENDS | (_ATTACHED if letters > 1 else 0), place
        return _ATTACHED, place
    if kind == LOWER:
        return _ENDS if stop - start >= 4 and place == stop + 1 else 0, place
    return 0 if kind in (_GLUED, COMMA, CLOSER, TERMINAL, PERIOD) else _ENDS, place


@helper
def _mark_ends(data: NDArray[np.uint8], kind: Any, after: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """The end of the sentence, if the mark of `kind` that ends at `after` ends it; -1 if the sentence goes on."""
    following, _ = look(data, after, end, kinds)
    if following in (TERMINAL, PERIOD, FULL_STOP):
        return -1
    place, following, _ = _follow(data, after, end, kinds)
    if kind == FULL_STOP:
        return place
    return -1 if following in (_GLUED, LOWER, COMMA, CLOSER) else place


@helper
def _is_bullet(data: NDArray[np.uint8], place: int, end: int, kinds: NDArray[np.uint8]) -> bool:
    """Whether a symbol or number (`1.`, `2)`) of a list item is at `place`, with a blank behind it."""
    kind, size = look(data, place, end, kinds)
    if kind == DIGIT:
        stop = place
        while stop < min(end, place + 3) and 0x30 <= data[stop] <= 0x39:
            stop += 1
        if stop == place or stop >= end or data[stop] not in (_DOT, 0x29):
            return False
        place, size = stop, 1
    elif kind not in (SYMBOL, HYPHEN, RANGE, PUNCTUATION):
        return False
    behind, _ = look(data, place + size, end, kinds)
    return bool(behind == BLANK)


@helper
def _break_ends(
    data: NDArray[np.uint8], line: int, place: int, following: int, end: int, last: tuple[int, int], tables: Tables
) -> bool:
    """Whether one line break ends the sentence. Before it are the line data[line:place] and the token `last`."""
    kind, _ = look(data, following, end, tables.kinds)
    if kind in (LOWER, COMMA, CLOSER, TERMINAL, FULL_STOP, PERIOD):
        return False
    before, _ = look(data, last[0], end, tables.kinds)
    if data[last[0]] == 0x2C or before in (OPENER, HYPHEN) or hint_of(data, last[0], last[1], tables) & HANGING:
        return False
    if _is_bullet(data, following, end, tables.kinds):
        return True
    characters = 0
    for byte in range(line, place):
        characters += data[byte] & 0xC0 != 0x80
    return characters < NARROW or characters > WIDE


@part
def _plain_end(data: NDArray[np.uint8], start: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """`_word_end` of most words without a call: ASCII words with a blank behind or nearly so; -1 for any other."""
    limit = min(end, start + LONGEST)
    place = start
    byte = data[np.uint64(place)]
    while byte < 0x80 and LOWER <= kinds[byte] <= DIGIT and place + 1 < limit:
        place += 1
        byte = data[np.uint64(place)]
    is_apart = place > start and place + 1 < limit and (byte == 0x20 or (byte < 0x80 and data[place + 1] == 0x20))
    may_split = 5 <= place - start <= 6 and data[start + 2] == data[start + 3]
    return place if is_apart and not may_split else -1


@helper
def _read_text(
    data: NDArray[np.uint8], begin: Any, end: Any, tables: Tables, room: Room, counts: NDArray[np.int64]
) -> None:
    """Appends the tokens and sentences of one text. `counts` are the tokens, sentences, and tokens that were cut."""
    starts, ends, sentences = room
    kinds = tables.kinds
    tokens, first, found = counts[0], counts[0], counts[1]
    place, line, stop = begin, begin, end + 1
    while place < end:
        byte = data[np.uint64(place)]
        if byte == 0x20:
            place += 1
            continue
        kind, size = np.int64(kinds[byte]), np.int64(1)
        if byte >= 0x80:
            kind, size = look(data, place, end, kinds)
        if kind in (BLANK, JOIN):
            place += size
            continue
        if kind == BREAK:
            after, breaks = pass_blanks(data, place, end, tables.kinds)
            if tokens > first:
                last = (starts[tokens - 1], ends[tokens - 1])
                if breaks > 1 or _break_ends(data, line, place, after, end, last, tables):
                    stop = place
            line = after
        elif kind <= DIGIT:
            after = _plain_end(data, place, end, kinds)
            if after < 0:
                after = _word_end(data, place, end, tables)
                counts[2] += after - place >= LONGEST
            starts[tokens], ends[tokens] = place, after
            tokens += 1
            if after < end and data[after] == _DOT and not (after + 1 < end and data[after + 1] == _DOT):
                verdict, closed = _period(data, place, after, end, tables, tokens - 1 == first)
                stop = closed if verdict & _ENDS else stop
                if not verdict & _ATTACHED:
                    starts[tokens] = after
                    tokens += 1
                after += 1
                ends[tokens - 1] = after
        else:
            after = place + size
            if kind in (PERIOD, APOSTROPHE, HYPHEN, SYMBOL):
                after = _mark_end(data, place, end, tables, tokens == first or ends[tokens - 1] < place)
                counts[2] += after - place >= LONGEST
            starts[tokens], ends[tokens] = place, after
            tokens += 1
            if kind in (TERMINAL, FULL_STOP) or (kind == PERIOD and data[after - 1] == _DOT):
                closed = _mark_ends(data, kind, after, end, tables.kinds)
                stop = closed if closed >= 0 else stop
        place = after
        if place >= stop:
            found += 1
            sentences[found] = tokens
            first, stop = tokens, end + 1
    if tokens > first:
        found += 1
        sentences[found] = tokens
    counts[0], counts[1] = tokens, found


@nb.njit(cache=True, nogil=True)
def read_texts(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], tables: Tables, room: Room, texts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Writes tokens and sentences of texts to `room`, and the number of sentences up to text i to texts[i + 1].

    `room` needs space for as many tokens as there are bytes, and for one more sentence end. Returns the numbers of
    tokens, of sentences, and of tokens that were cut.
    """
    counts = np.zeros(3, np.int64)
    room.sentences[0] = 0
    for text in range(offsets.size - 1):
        _read_text(data, offsets[text], offsets[text + 1], tables, room, counts)
        texts[text + 1] = counts[1]
    return counts
