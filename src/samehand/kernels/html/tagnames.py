"""Tag names to numbers of 16 bits, the same on every machine and in every run.

Names of the HTML standard, of its past, of SVG and of MathML have fixed numbers below UNKNOWN. The number of any other
name has the name's length, at most LONGEST, in the bits from UNKNOWN up, and a hash in the bits below. Two such names
of the same length share a number in 1 case of 1,024. END marks end tags.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.html.blocks import first_word

END = 0x8000
UNKNOWN = 0x0400
LONGEST = 31
"""Longer names count as this long."""

ALL_ROLES = tuple(1 << place for place in range(13))
BREAK, LINK, BASE, TEMPLATE, RAW, VISIBLE, REFERENCES, PLAIN, SCRIPT, SOFT, CONTAINER, OPTIONAL, NEVER_HIDES = ALL_ROLES
"""What an element does (`Names.roles`): it begins a line; it is a link; it is `<base>`; it hides its content; it has
raw text, which is visible, has character references, never ends, or ends by the rules of scripts; it breaks a line
within its block; it contains blocks and has an end tag; its end tag may be left out; it cannot hide text."""

# Numbers are places in this list: only ever append.
_SPELLINGS = (
    "html head title base link meta style body article section nav aside h1 h2 h3 h4 h5 h6 hgroup header footer address"
    " p hr pre blockquote ol ul menu li dl dt dd figure figcaption main search div a em strong small s cite q dfn abbr"
    " ruby rt rp data time code var samp kbd sub sup i b u mark bdi bdo span br wbr ins del picture source img iframe"
    " embed object video audio track map area table caption colgroup col tbody thead tfoot tr td th form label input"
    " button select datalist optgroup option textarea output progress meter fieldset legend selectedcontent details"
    " summary dialog script noscript template slot canvas"
    # of the past, or never in the standard
    " acronym applet basefont bgsound big blink center command content dir discard element fencedframe font frame"
    " frameset ilayer image isindex keygen layer listing marquee menuitem multicol nextid nobr noembed noframes nolayer"
    " param plaintext portal rb rbc rtc server shadow spacer strike tt xml xmp"
    # SVG
    " svg altglyph altglyphdef altglyphitem animate animatecolor animatemotion animatetransform circle clippath"
    " color-profile cursor defs desc ellipse feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix"
    " fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr"
    " fegaussianblur feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight"
    " fetile feturbulence filter font-face font-face-format font-face-name font-face-src font-face-uri foreignobject g"
    " glyph glyphref hatch hatchpath hkern line lineargradient marker mask mesh meshgradient meshpatch meshrow metadata"
    " missing-glyph mpath path pattern polygon polyline radialgradient rect set solidcolor stop switch symbol text"
    " textpath tref tspan unknown use view vkern"
    # MathML
    " math abs annotation annotation-xml maction maligngroup malignmark menclose merror mfenced mfrac mglyph mi"
    " mlabeledtr mlongdiv mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mscarries mscarry"
    " msgroup msline mspace msqrt msrow mstack mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none"
    " semantics"
)
NAMES = ("", *_SPELLINGS.split())
"""The name of each number below UNKNOWN; 0 is not used."""

_BREAKING = (
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt fieldset figcaption"
    " figure footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main marquee menu nav"
    " ol optgroup option p plaintext pre search section select summary table tbody td textarea tfoot th thead tr ul xmp"
)
_ROLES = {
    BREAK: _BREAKING,
    LINK: "a area",
    BASE: "base",
    TEMPLATE: "template",
    RAW: "title textarea style xmp iframe noembed noframes noscript script plaintext",
    VISIBLE: "textarea xmp plaintext",
    REFERENCES: "title textarea",
    PLAIN: "plaintext",
    SCRIPT: "script",
    SOFT: "br",
    CONTAINER: (
        "address article aside blockquote body center details dialog dir div dl fieldset figure footer form h1 h2 h3 h4"
        " h5 h6 header hgroup html main menu nav ol pre search section select table ul"
    ),
    OPTIONAL: "dd dt li optgroup option p td th tr",
    NEVER_HIDES: (
        "html body area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr"
        " plaintext"
    ),
}

_SLOT_BITS = 10
_SLOT_SHIFT = np.uint64(64 - _SLOT_BITS)
_LAST_SLOT = np.uint64((1 << _SLOT_BITS) - 1)
_SPELLING_BYTES = 32
_WIDTH = np.uint64(_SPELLING_BYTES)
_ONE, _EIGHT = np.uint64(1), np.uint64(8)


class Names(NamedTuple):
    """Lookup tables of tag names: a hash table with linear probing, and arrays by number."""

    slots: NDArray[np.uint16]
    keys: NDArray[np.uint64]
    lengths: NDArray[np.uint8]
    spellings: NDArray[np.uint8]
    roles: NDArray[np.uint16]


def name_tables() -> Names:
    """The lookup tables of NAMES."""
    slots = np.zeros(1 << _SLOT_BITS, np.uint16)
    keys = np.zeros(len(NAMES), np.uint64)
    for number, name in enumerate(NAMES[1:], start=1):
        keys[number] = packed = packed_name(name)
        slot = (packed * int(GOLDEN) & 0xFFFFFFFFFFFFFFFF) >> int(_SLOT_SHIFT)
        while slots[slot]:
            slot = (slot + 1) & int(_LAST_SLOT)
        slots[slot] = number
    spellings = np.frombuffer("".join(name.ljust(_SPELLING_BYTES, "\0") for name in NAMES).encode(), np.uint8)
    roles = np.zeros(END, np.uint16)
    for role, names in _ROLES.items():
        roles[[NAMES.index(name) for name in names.split()]] |= role
    return Names(slots, keys, np.array([len(name) for name in NAMES], np.uint8), spellings, roles)


def packed_name(name: str) -> int:
    """A name in 64 bits: the XOR of its pieces of eight bytes, the first byte in the lowest bits."""
    spelling = name.encode()
    packed = 0
    for start in range(0, len(spelling), 8):
        packed ^= int.from_bytes(spelling[start : start + 8], "little")
    return packed


@helper
def packed_source(source: NDArray[np.uint8], start: np.uint64, length: np.uint64) -> np.uint64:
    """`packed_name` of a name in the source, in lower case."""
    packed = first_word(source, start, length)
    for place in range(_EIGHT, length, _EIGHT):
        packed ^= first_word(source, start + place, length - place)
    return packed


@helper
def tag_number(
    packed: np.uint64, source: NDArray[np.uint8], start: np.uint64, length: np.uint64, names: Names
) -> np.uint64:
    """The number of the name at source[start], in any case. `packed` is its `packed_source`."""
    hashed = packed * GOLDEN
    slot = hashed >> _SLOT_SHIFT
    while names.slots[slot]:
        number = np.uint64(names.slots[slot])
        is_alike = names.keys[number] == packed and names.lengths[number] == length
        if is_alike and (length <= _EIGHT or _spells(source, start, length, names.spellings, number * _WIDTH)):
            return number
        slot = (slot + _ONE) & _LAST_SLOT
    return min(length, np.uint64(LONGEST)) * np.uint64(UNKNOWN) + (hashed >> np.uint64(54))


@helper
def _spells(
    source: NDArray[np.uint8], start: np.uint64, length: np.uint64, spellings: NDArray[np.uint8], row: np.uint64
) -> bool:
    """Whether a name is spelt so, in any case. Packed names of more than eight bytes can collide."""
    for place in range(length):
        byte = source[start + place]
        is_upper = np.uint8(65) <= byte <= np.uint8(90)
        if (byte | np.uint8(32) if is_upper else byte) != spellings[row + place]:
            return False
    return True
