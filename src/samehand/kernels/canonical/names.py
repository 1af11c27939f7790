"""What canonical markup keeps of elements and attributes, as lookup tables.

Elements go by their numbers (`kernels.html.tagnames`). Left out is what a browser shows nothing for (`source`,
`template`), and what anybody can put anywhere without a trace: phrases (`b`, `font`, `br`), images, parts of tables,
boxes (`div`, `span`) without attributes. Attributes are found by a hash of their names; those that do nothing to their
element are left out.
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html import attributes, tagnames
from samehand.kernels.html.tagnames import NAMES, Names, packed_name

(KEPT, BOX, OPTIONAL_END, VOID, STANDS, CELL, HEAD_ONLY, ONCE, UNSEEN, ADDRESSED, SIZED, PICTURE, RAW, SCRIPT) = (
    1 << place for place in range(14)
)
"""Traits of an element: it is in the streams; it is a box, which is never in the skeleton, and in the stream of values
only with attributes; its end tag may be missing; it has no end tag; it is there even where it is empty; it is there if
its table is; it counts before `<body>` only; it counts once; nobody sees its content; it counts with an address only;
it does not count if it is tiny; it leaves no trace but fills what is around it; its content is skipped, by the rules of
raw text or of scripts."""

EMPTIED, STYLE, HIDDEN, TYPE, ADDRESS, SIZE = (1 << place for place in range(6))
"""Traits of an attribute: its value does not count; it is `style`, `hidden`, `type`; an address; a width or height."""

START, CLOSE, END = 0x80, 0x81, 0x82
"""Bytes of both streams: a start tag opens, a start tag closes, an end tag. VALUE and QUOTE are of the first alone."""
VALUE, QUOTE = 0x83, 0x84
FIRST_SYMBOL = 0x85
"""Symbols of elements are bytes from here on. Symbols of attributes are letters and digits, which no value keeps."""

_CONTAINERS = (
    "div span section article main header footer nav aside figure figcaption hgroup address center details summary"
    " dialog search form"
)
_SKELETON = (
    "html head body h1 h2 h3 h4 h5 h6 p hr pre blockquote ul li dl dt dd a iframe embed object video table caption tr"
    " td th input button select optgroup option textarea progress meter fieldset legend frame frameset applet marquee"
)
_SAME = {"ol": "ul", "dir": "ul", "menu": "ul"}
_TRAITS = {
    OPTIONAL_END: "li p td tr th dt dd option body html head optgroup caption",
    VOID: "input hr embed frame img br wbr link meta source area base col param track",
    STANDS: "iframe button select textarea video object embed applet input hr",
    CELL: "td th",
    HEAD_ONLY: "frameset frame",
    ONCE: "html head body",
    UNSEEN: "audio canvas datalist dialog video object",
    ADDRESSED: "a img",
    SIZED: "iframe embed object video input img",
    PICTURE: "img",
    RAW: "title textarea style xmp iframe noembed noframes noscript script template plaintext",
    SCRIPT: "script",
}
_INSIDE = {"table": "caption tr td th", "dl": "dt dd", "select": "option optgroup", "fieldset": "legend"}
"""Elements that count inside others only: elsewhere browsers ignore them, or show them as boxes."""
_ATTRIBUTES = (
    "href src rel type name content property http-equiv charset action method value for colspan rowspan media"
    " target checked selected placeholder maxlength async defer sizes srcset usemap coords shape width height border"
    " cellpadding cellspacing align valign bgcolor"
)
_OF_ELEMENT = {
    "a": "href",
    "iframe": "src width height",
    "embed": "src type width height",
    "object": "type width height",
    "video": "src width height",
    "frame": "src name",
    "input": "type name value placeholder",
    "button": "type name value",
    "select": "name",
    "option": "value",
    "textarea": "name placeholder",
    "table": "width border cellpadding cellspacing align bgcolor",
    "td": "colspan rowspan width height align valign bgcolor",
    "th": "colspan rowspan width height align valign bgcolor",
}
"""The attributes that do something to an element. Any others can be added without a trace."""
_ALPHABET = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SYMBOL_OF = dict(zip(_ATTRIBUTES.split(), _ALPHABET, strict=False))
_ATTRIBUTE_TRAITS = {
    **{"class": EMPTIED, "id": EMPTIED, "style": STYLE, "hidden": HIDDEN, "popover": HIDDEN, "type": TYPE},
    **{"href": ADDRESS, "src": ADDRESS, "action": ADDRESS, "width": SIZE, "height": SIZE},
}

_SLOT_BITS = 8
_SLOT_SHIFT = np.uint64(64 - _SLOT_BITS)
_LAST_SLOT = np.uint64((1 << _SLOT_BITS) - 1)
_ONE = np.uint64(1)


class Canon(NamedTuple):
    """Lookup tables: classes of bytes; traits and symbols of elements by number, the element that each must be inside
    of, and a bit for each attribute that does something to it; traits, symbols and bits of attributes by their place in
    `attribute_keys`."""

    classes: NDArray[np.uint8]
    traits: NDArray[np.uint16]
    symbols: NDArray[np.uint8]
    inside: NDArray[np.uint16]
    owned: NDArray[np.uint64]
    attribute_keys: NDArray[np.uint64]
    attribute_traits: NDArray[np.uint8]
    attribute_symbols: NDArray[np.uint8]
    attribute_bits: NDArray[np.uint64]


class Tables(NamedTuple):
    """All lookup tables."""

    canon: Canon
    names: Names


def canon_tables() -> Tables:
    """The tables."""
    traits, symbols = _element_tables()
    inside, owned = _relation_tables()
    keys = np.zeros(1 << _SLOT_BITS, np.uint64)
    attribute_traits, attribute_symbols = np.zeros(keys.size, np.uint8), np.zeros(keys.size, np.uint8)
    attribute_bits = np.zeros(keys.size, np.uint64)
    for name in {**SYMBOL_OF, **dict.fromkeys(_ATTRIBUTE_TRAITS)}:
        key = ((packed_name(name) ^ len(name)) * int(GOLDEN)) & 0xFFFFFFFFFFFFFFFF
        slot = key >> int(_SLOT_SHIFT)
        while keys[slot]:
            slot = (slot + 1) & int(_LAST_SLOT)
        keys[slot] = key
        attribute_traits[slot] = _ATTRIBUTE_TRAITS.get(name, 0)
        attribute_symbols[slot] = SYMBOL_OF.get(name, 0)
        attribute_bits[slot] = _bits(name) if name in SYMBOL_OF else 0
    classes = attributes.byte_classes()
    found = Canon(classes, traits, symbols, inside, owned, keys, attribute_traits, attribute_symbols, attribute_bits)
    return Tables(found, tagnames.name_tables())


def _relation_tables() -> tuple[NDArray[np.uint16], NDArray[np.uint64]]:
    inside, owned = np.zeros(tagnames.END, np.uint16), np.zeros(tagnames.END, np.uint64)
    for parent, children in _INSIDE.items():
        for name in children.split():
            inside[NAMES.index(name)] = NAMES.index(parent)
    for name, members in _OF_ELEMENT.items():
        owned[NAMES.index(name)] = _bits(members)
    return inside, owned


def _bits(names: str) -> int:
    """A bit for each attribute."""
    order = list(SYMBOL_OF)
    return sum(1 << order.index(name) for name in names.split())


def _element_tables() -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    traits, symbols = np.zeros(tagnames.END, np.uint16), np.zeros(tagnames.END, np.uint8)
    skeleton = _SKELETON.split()
    for name in skeleton + _CONTAINERS.split() + list(_SAME):
        traits[NAMES.index(name)] |= KEPT
    for place, name in enumerate(skeleton):
        symbols[NAMES.index(name)] = FIRST_SYMBOL + place
    for name, other in _SAME.items():
        symbols[NAMES.index(name)] = FIRST_SYMBOL + skeleton.index(other)
    for name in _CONTAINERS.split():
        traits[NAMES.index(name)] |= BOX
    for trait, members in _TRAITS.items():
        for name in members.split():
            traits[NAMES.index(name)] |= trait
    return traits, symbols


@nb.njit(cache=True, nogil=True)
def attribute_slot(key: np.uint64, keys: NDArray[np.uint64]) -> np.uint64:
    """The place of an attribute in the tables; an empty place for one that is not there."""
    slot = key >> _SLOT_SHIFT
    while keys[slot] and keys[slot] != key:
        slot = (slot + _ONE) & _LAST_SLOT
    return slot
