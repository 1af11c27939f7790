"""What each character is to a word, after folding what a reader does not see.

Every code point has an entry in one table, which `kernels.text.words` looks up: its kind, the code point that is hashed
for it, and the Latin letter that it looks like, if any.

* Always folded: capitals, accents, compatibility forms (full width, mathematical, circled), Latin letters with a stroke
  and small capitals, and letters of other scripts whose small and capital forms both look like one Latin letter
  (ALWAYS_ALIKE). This holds for all text alike, so Russian and Greek words stay words, and й and ї stay letters.
* Folded only in words that also hold Latin letters, and where every letter looks Latin: the other look-alikes. WEAK
  ones look alike at a glance; they are folded only where at least half of the letters are Latin.
* Passed over: combining marks of the Latin, Greek and Cyrillic scripts, and invisible characters. The zero width space
  separates words only after a letter of a script that is written without blanks.
"""

import functools
import itertools
import re
import sys
import unicodedata

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.text import words as kernel

ALWAYS_ALIKE = {
    **dict(zip("аеорсхуіјѕһԛԝ", "aeopcxyijshqw", strict=True)),
    **dict(zip("АЕОРСХУІЈЅҺԚԜ", "aeopcxyijshqw", strict=True)),
    **dict(zip("αικορτχ", "aikoptx", strict=True)),
    **dict(zip("ΑΙΚΟΡΤΧ", "aikoptx", strict=True)),
}
LATIN_VARIANTS = {
    **dict(zip("øłđħŧıȷɑɡɩɪʋɯɣƽⱥƀȼɇɉɍɏƶ", "oldhtijagiiuwysabcejryz", strict=True)),
    **dict(zip("ØŁĐĦŦⱭⱤ", "oldhtar", strict=True)),
    **dict(zip("ᴀʙᴄᴅᴇɢʜᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdeghjklmnoprstuvwyz", strict=True)),
}
_CASE_SPECIFIC = {
    "a": "ᎪꓮᗅⲀ",
    "b": "ВΒЬᏴꓐᗷƄⲂ",
    "c": "ϲϹᏟꓚⲥⲤ",
    "d": "ԁᎠᏧꓓꓒᗞᑯ",
    "e": "ΕҽᎬꓰⴹⲈ",
    "f": "ꓝϜքᖴ",
    "g": "ցᏀᏳꓖԌ",
    "h": "НΗհᎻᏂꓧⲎᕼ",
    "i": "ᎥꙇᏆꓲⲒ",
    "j": "ϳͿᎫꓙ",
    "k": "КᏦꓗⲔᛕ",
    "l": "ӀӏᏞꓡⳐᒪǀ",
    "m": "МΜϺᎷꓟⲘᗰ",
    "n": "ΝոռꓠⲚ",
    "o": "օՕဝⲟⲞዐꓳⵔഠଠ",
    "p": "ⲣⲢᏢꓑᑭ",
    "q": "զգⵕ",
    "r": "ᴦᎡᏒꓣᖇⲅ",
    "s": "ՏᏕᏚꓢ",
    "t": "ТᎢꓔⲦ",
    "u": "սՍꓴሀᑌ",
    "v": "ѵѴᏙꓦⴸᐯ",
    "w": "ѡաᎳᏔꓪ",
    "x": "ᕽꓫⲭⲬⵝᚷ",
    "y": "үҮΥყᎩᎽꓬⲨ",
    "z": "ΖᏃꓜⲌ",
}
_WEAK = dict(zip("вкмнтгьшνυσηγω", "bkmhtrbwvuonyw", strict=True))
"""Small letters that resemble a Latin one, and are frequent in words of their own script."""

_STAYS = "йїЙЇ"
"""Letters that their mark makes another letter: without it Russian forms of one word are the same."""

_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_PASSED_MARKS = re.compile("[\u0300-\u036f\u0483-\u0487\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_LATIN = re.compile(
    "[A-Za-zªº\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f\ua722-\ua7ff]"
)
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u2e80-\u312f\u3190-\ua4cf"
    "\ua980-\ua9ff\uaa60-\uaadf\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
"""Scripts without blanks: Thai, Lao, Tibetan, Burmese, Khmer, Tai, Javanese, Balinese, Chinese, Japanese, Yi."""

_ENCLOSED = (0x1F130, 0x1F150, 0x1F170)
"""Where the squared and the negative circled and squared capitals begin, A to Z each."""

_ASSIGNED = (range(0x40000), range(0xE0000, 0xE0200))
"""Outside of these ranges there are no characters, private ones aside."""


def _look_alikes() -> dict[str, tuple[int, str]]:
    """Kind and Latin letter of each look-alike of another script."""
    found = {alike: (kernel.ALIKE, letter) for letter, alikes in _CASE_SPECIFIC.items() for alike in alikes}
    found |= {alike: (kernel.ALIKE, letter) for alike, letter in ALWAYS_ALIKE.items()}
    return found | {alike: (kernel.WEAK, letter) for alike, letter in _WEAK.items()}


def base_of(character: str) -> str:
    """The one letter or digit that a character is a form of, or the character itself."""
    if character in _STAYS or character in ALWAYS_ALIKE:
        return character
    for first in _ENCLOSED:
        if first <= ord(character) < first + 26:
            return chr(ord("A") + ord(character) - first)
    base = _PASSED_MARKS.sub("", unicodedata.normalize("NFKD", character))
    return base if len(base) == 1 and base.isalnum() else character


def folded(character: str) -> tuple[int, int, int]:
    """Kind, code point to hash, and the place in the alphabet of the Latin letter it looks like (0: none)."""
    category = unicodedata.category(character)
    if character == "\u200b":
        return kernel.ZERO_WIDTH, 0, 0
    if category == "Cf" or _INVISIBLE.match(character) or _PASSED_MARKS.match(character):
        return kernel.HIDDEN, 0, 0
    base = base_of(character)
    if base.isdigit():
        return kernel.DIGIT, ord(base), 0
    if not base.isalnum():
        return (kernel.MARK, ord(character), 0) if category.startswith("M") else (kernel.SEPARATOR, 0, 0)
    if base in LATIN_VARIANTS or _LATIN.match(base):
        return kernel.LATIN, ord(LATIN_VARIANTS.get(base, base.lower()[0])), 0
    lower = ord("σ") if base == "ς" else ord(ALWAYS_ALIKE.get(base, base.lower()[0]))
    kind, letter = _ALIKE.get(base, (kernel.UNSPACED if _UNSPACED.match(base) else kernel.OTHER, "`"))
    return kind, lower, ord(letter) - ord("`")


_ALIKE = _look_alikes()


@functools.cache
def characters() -> NDArray[np.uint32]:
    """The entry of each code point: see `kernels.text.words`.

    Lower-casing is by single characters; where Python gives two, the first is taken. The sigma at the end of a word is
    the same letter as any other, because capitals do not tell them apart.
    """
    table = np.zeros(sys.maxunicode + 1, np.uint32)
    for code in itertools.chain(*_ASSIGNED):
        kind, lower, letter = folded(chr(code))
        table[code] = kind << kernel.KIND_SHIFT | letter << kernel.LETTER_SHIFT | lower
    return table
