"""Tables of the tokenizer: kinds of characters, and words that say where sentences end.

Kinds follow the Unicode version of Python. Hints are for English.
"""

import itertools
import unicodedata
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.utf8 import wide_character

BLANK, BREAK = 0, 1
LOWER, UPPER, OTHER, DIGIT, JOIN = 2, 3, 4, 5, 6
"""Kinds that make words. OTHER is a letter without case. JOIN (marks, invisible) continues a word but begins none."""
IDEOGRAPH, SYMBOL, PUNCTUATION, PERIOD, APOSTROPHE, HYPHEN, RANGE, COMMA, LINK = 7, 8, 9, 10, 11, 12, 13, 14, 15
TERMINAL, FULL_STOP, CLOSER, OPENER, QUOTE = 16, 17, 18, 19, 20
"""TERMINAL ends a sentence before a blank; FULL_STOP (of scripts without blanks) ends one anywhere."""

NEVER, PERHAPS, NUMBERED, STARTER, HANGING, SPLIT = 1, 2, 4, 8, 16, 32
"""Hints about a word. A period behind it is no end; is no end unless a STARTER follows; is no end before a number. It
begins sentences; no sentence ends with it at a line break; it is two words."""

LONGEST_HINT = 8
"""Bytes of the longest word that can have a hint: they fit into 64 bits."""

_ASSIGNED = (range(0x40000), range(0xE0000, 0xE0200))
_IDEOGRAPHS = (
    *(range(0x3005, 0x3008), range(0x3041, 0x30A0), range(0x3400, 0x4DC0), range(0x4E00, 0xA000)),
    *(range(0xF900, 0xFB00), range(0x20000, 0x40000)),
)
_KINDS = {
    BREAK: "\n\r\x0b\x0c\x85\u2028\u2029",
    BLANK: "\u200b\ufffd",
    JOIN: "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0",
    PERIOD: ".",
    APOSTROPHE: "'\u2019\u02bc",
    HYPHEN: "-\u2010\u2011",
    RANGE: "\u2012\u2013",
    COMMA: ",:",
    LINK: "/_@",
    TERMINAL: "!?\u2026\u0589\u061f\u06d4\u0964\u0965\u1362\u1367\u203c\u203d\u2047\u2048\u2049",
    FULL_STOP: "\u3002\uff01\uff0e\uff1f\uff61",
    QUOTE: '"',
    PUNCTUATION: ";$%&<>",
    SYMBOL: "#*\u2014\u2015",
}
_CATEGORIES = {
    **{"Ll": LOWER, "Lu": UPPER, "Lt": UPPER, "Lo": OTHER, "Lm": OTHER},
    **{"Nd": DIGIT, "Nl": DIGIT, "No": DIGIT, "Mn": JOIN, "Mc": JOIN, "Me": JOIN, "Cf": JOIN},
    **{"Ps": OPENER, "Pe": CLOSER, "Pi": OPENER, "Pf": CLOSER},
    **{"Po": PUNCTUATION, "Pd": PUNCTUATION, "Pc": SYMBOL, "Sm": SYMBOL, "Sc": PUNCTUATION, "Sk": SYMBOL, "So": SYMBOL},
}
_HINTS = {
    NEVER: "mr mrs ms messrs mme mlle dr drs prof rev fr hon gen adm col maj capt cpt cmdr lt sgt cpl pvt sen rep reps "
    "gov pres supt insp st sts ste mt ft vs viz cf ca approx e.g i.e eg ie al incl excl resp esp dept univ asst assoc",
    PERHAPS: "inc corp co cos ltd plc bros llc jr sr esq etc ave blvd rd hwy bldg jan feb mar apr jun jul aug sep sept "
    "oct nov dec mon tue tues wed thu thur thurs fri sat sun ph.d m.d b.a m.a a.m p.m u.s u.k u.n u.s.a d.c a.d b.c "
    "min max est ext tel misc temp govt intl natl mfg hrs hr lbs lb oz ed eds trans repr calif mass conn penn ariz fla "
    "ill ind kan mich minn miss mo neb nev okla ore tenn tex va vt wash wis wyo ala ark colo del ga ky la md",
    NUMBERED: "no nos nr fig figs vol vols p pp art arts sec secs ch chap eq eqs para ref refs tab app pt ver v n ibid",
    STARTER: "the a an he she it they we i you this that these those there here his her its their our my your in on at "
    "by for from with to of as if when while where after before since although though because but and or so yet nor "
    "however moreover then thus also still now today once until unless under over during between both each every all "
    "some many most more no not only one two first what who why how which is are was were do does did has have had "
    "can could will would should may might must let mr mrs ms dr such another other others",
    HANGING: "the an of to in and or for with by from on at is are was were be been that which who as than its his "
    "her their our your my this these those into under over between but if not has have had will would can may",
    SPLIT: "cannot gonna gotta wanna gimme lemme",
}


def packed(word: bytes) -> int:
    """The lower-case bytes of a word as one number, the key of a word with a hint."""
    return int.from_bytes(word.lower(), "big")


def character_kinds() -> NDArray[np.uint8]:
    """The kind of each code point, by its Unicode category and the exceptions above."""
    kinds = np.zeros(0x110000, np.uint8)
    for code in itertools.chain(*_ASSIGNED):
        kinds[code] = _CATEGORIES.get(unicodedata.category(chr(code)), BLANK)
    for block in _IDEOGRAPHS:
        letters = np.isin(kinds[block.start : block.stop], (OTHER, DIGIT))
        kinds[block.start : block.stop][letters] = IDEOGRAPH
    for kind, characters in _KINDS.items():
        kinds[[ord(character) for character in characters]] = kind
    return kinds


def word_hints() -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """The words that have hints, packed and sorted, and their hints."""
    hints: dict[int, int] = {}
    for hint, words in _HINTS.items():
        for word in words.split():
            key = packed(word.encode())
            hints[key] = hints.get(key, 0) | hint
    keys = sorted(hints)
    return np.array(keys, np.uint64), np.array([hints[key] for key in keys], np.uint8)


class Tables(NamedTuple):
    """The kinds of all code points, and the words with hints."""

    kinds: NDArray[np.uint8]
    words: NDArray[np.uint64]
    hints: NDArray[np.uint8]


@helper
def look(data: NDArray[np.uint8], place: int, end: int, kinds: NDArray[np.uint8]) -> tuple[Any, Any]:
    """Kind and number of bytes of the character at `place`; a blank of 0 bytes behind the end."""
    if place >= end:
        return BLANK, 0
    byte = data[np.uint64(place)]
    if byte < 0x80:
        return np.int64(kinds[byte]), 1
    code, size = wide_character(data, np.uint64(place), np.uint64(end))
    return np.int64(kinds[code]), np.int64(size)


@helper
def pass_blanks(data: NDArray[np.uint8], place: int, end: int, kinds: NDArray[np.uint8]) -> tuple[int, int]:
    """The end of a run of blanks, and the number of line breaks in it. CR LF is one."""
    breaks = 0
    while place < end:
        kind, size = look(data, place, end, kinds)
        if kind > BREAK and kind != JOIN:
            break
        if kind == BREAK and not (data[place] == 0x0D and place + 1 < end and data[place + 1] == 0x0A):
            breaks += 1
        place += size
    return place, breaks


@helper
def hint_of(data: NDArray[np.uint8], start: int, stop: int, tables: Tables) -> Any:
    """The hints of the word data[start:stop]; 0 for most words."""
    if stop - start > LONGEST_HINT:
        return 0
    key = np.uint64(0)
    for place in range(start, stop):
        byte = data[place]
        small = byte | 0x20 if 0x41 <= byte <= 0x5A else byte
        key = (key << np.uint64(8)) | np.uint64(small)
    rank = np.searchsorted(tables.words, key)
    return np.int64(tables.hints[rank]) if rank < tables.words.size and tables.words[rank] == key else 0


@helper
def kind_before(data: NDArray[np.uint8], place: int, kinds: NDArray[np.uint8]) -> Any:
    """The kind of the character that ends at `place`."""
    start = place - 1
    while data[start] & 0xC0 == 0x80:
        start -= 1
    kind, _ = look(data, start, place, kinds)
    return kind
