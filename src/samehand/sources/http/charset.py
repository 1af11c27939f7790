"""Makes pages ASCII compatible, because the kernels take every byte below 0x80 for ASCII.

That is wrong in UTF-16 and UTF-32, and in the multi-byte encodings whose second byte may be an ASCII one (Shift_JIS,
GBK, Big5, ISO-2022, ...): half a letter would pass as punctuation. Such pages are transcoded to UTF-8. All others stay
as they are. A label is only looked up in the list of the WHATWG encoding standard and never passed to Python, which has
codecs (unicode_escape, idna, rot13, zip) that no page should reach.
"""

import re
from typing import Final

from samehand.sources.http.charset_guess import guess_charset

PRESCAN_BYTES = 1024
"""How far browsers look for a `<meta charset>`."""

MIN_NUL_SHARE = 0.15
"""A page without a label is UTF-16 only if this share of it is NUL. A few at its start are easy to plant."""

_LABELS: Final = {
    "UTF-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "IBM866": "866 cp866 csibm866 ibm866",
    "ISO-8859-2": "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2",
    "ISO-8859-3": "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3",
    "ISO-8859-4": "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4",
    "ISO-8859-5": "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988",
    "ISO-8859-6": "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e "
    "iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987",
    "ISO-8859-7": "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
    "iso_8859-7:1987 sun_eu_greek",
    "ISO-8859-8": "csiso88598e csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
    "iso_8859-8 iso_8859-8:1988 visual",
    "ISO-8859-8-I": "csiso88598i iso-8859-8-i logical",
    "ISO-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "ISO-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "ISO-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "ISO-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "ISO-8859-16": "iso-8859-16",
    "KOI8-R": "cskoi8r koi koi8 koi8-r koi8_r",
    "KOI8-U": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1252": "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 iso88591 "
    "iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5 latin5 "
    "windows-1254 x-cp1254",
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "GBK": "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk",
    "gb18030": "gb18030",
    "Big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "EUC-JP": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "ISO-2022-JP": "csiso2022jp iso-2022-jp",
    "Shift_JIS": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "EUC-KR": "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
    "windows-949",
    "UTF-16BE": "unicodefffe utf-16be",
    "UTF-16LE": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
    # The standard refuses to decode these, but crawls hold them.
    "HZ-GB-2312": "hz-gb-2312 hz",
    "ISO-2022-KR": "csiso2022kr iso-2022-kr",
    "Johab": "johab cp1361",
    "UTF-32BE": "utf-32be",
    "UTF-32LE": "utf-32 utf-32le",
}
_NAME_OF_LABEL: Final = {label: name for name, labels in _LABELS.items() for label in labels.split()}

_TRANSCODED: Final = {
    "GBK": "gb18030",
    "gb18030": "gb18030",
    "Big5": "big5hkscs",
    "ISO-2022-JP": "iso2022_jp",
    "Shift_JIS": "cp932",
    "EUC-KR": "cp949",
    "HZ-GB-2312": "hz",
    "ISO-2022-KR": "iso2022_kr",
    "Johab": "johab",
}
# Charsets that `to_ascii_compatible` leaves as they are. All others are UTF-8 afterwards.
_SAME_IN_PYTHON: Final = (
    "IBM866 KOI8-R KOI8-U EUC-JP ISO-8859-2 ISO-8859-3 ISO-8859-4 ISO-8859-5 ISO-8859-6 ISO-8859-7 ISO-8859-8 "
    "ISO-8859-10 ISO-8859-13 ISO-8859-14 ISO-8859-15 ISO-8859-16 windows-1250 windows-1251 windows-1252 windows-1253 "
    "windows-1254 windows-1255 windows-1256 windows-1257 windows-1258"
)
SINGLE_BYTE_CODECS: Final = {
    **{name: name.lower() for name in _SAME_IN_PYTHON.split()},
    "ISO-8859-8-I": "iso-8859-8",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-user-defined": "iso-8859-1",
}

_WIDE: Final = {"UTF-16LE": "utf-16-le", "UTF-16BE": "utf-16-be", "UTF-32LE": "utf-32-le", "UTF-32BE": "utf-32-be"}

PLAIN_LABELS: Final = {
    "utf-8": "UTF-8",
    **{label: name for label, name in _NAME_OF_LABEL.items() if name not in _TRANSCODED and name not in _WIDE},
}
"""Names of the charsets that stay as they are, by their labels; UTF-8 comes first."""

# UTF-32LE comes before UTF-16LE, because its mark starts with that of UTF-16LE.
_BYTE_ORDER_MARKS: Final = (
    (b"\xef\xbb\xbf", "UTF-8"),
    (b"\xff\xfe\x00\x00", "UTF-32LE"),
    (b"\x00\x00\xfe\xff", "UTF-32BE"),
    (b"\xff\xfe", "UTF-16LE"),
    (b"\xfe\xff", "UTF-16BE"),
)
_MARK_FIRST_BYTES: Final = (b"\xef", b"\xff", b"\xfe", b"\x00")
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META_CHARSET: Final = re.compile(rb"<meta[\s/][^>]{0,500}?charset\s{0,20}=\s{0,20}[\"']?\s{0,20}([\w.:-]{1,40})", re.I)


def to_ascii_compatible(content: bytes, declared: str | None) -> tuple[bytes, str | None]:
    """`content` with every byte below 0x80 an ASCII character, and the charset it came in (None if unknown).

    `declared` is the charset label of the HTTP header. As in browsers, a byte order mark wins, then `declared`, then a
    `<meta charset>`. The charset of a page that names none and is not UTF-8 is guessed. Never raises: bytes that the
    encoding does not allow become U+FFFD.
    """
    if content.startswith(_MARK_FIRST_BYTES):
        for mark, marked in _BYTE_ORDER_MARKS:
            if content.startswith(mark):
                return (content if marked == "UTF-8" else _transcode(content[len(mark) :], _WIDE[marked])), marked
    name = charset_name(declared) if declared else None
    if name is None:
        name = _prescan(content)
    if name is None or name in _WIDE:
        # A page without NULs between its ASCII letters is not what such a label says. It is kept as it is.
        wide = _wide_by_pattern(content)
        if wide:
            return _transcode(content, _WIDE[wide]), wide
        name = None if _is_utf8(content) else guess_charset(content)
    codec = _TRANSCODED.get(name or "")
    return (_transcode(content, codec) if codec else content), name


def as_utf8(content: bytes, name: str | None) -> bytes:
    """An ASCII compatible page as UTF-8. `name` is its charset, if known.

    A page that names none and is not valid UTF-8 is windows-1252, as in browsers.
    """
    if content.isascii():
        return content
    codec = SINGLE_BYTE_CODECS.get(name or "")
    if codec is None and name is None and not _is_utf8(content):
        codec = "windows-1252"
    return content.decode(codec, "replace").encode("utf-8", "replace") if codec else content


def _is_utf8(content: bytes) -> bool:
    if content.isascii():
        return True
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_utf8_already(name: str | None) -> bool:
    """Whether `as_utf8` leaves every page of this charset as it is."""
    return name is not None and name not in SINGLE_BYTE_CODECS


def charset_name(label: str) -> str | None:
    """The standard's name for a charset label, None for an unknown label."""
    return _NAME_OF_LABEL.get(label.strip(" \t\r\n\f\"'").lower())


def _prescan(content: bytes) -> str | None:
    """The charset that a `<meta>` in the first bytes names. UTF-16 cannot be right there: it was read as ASCII."""
    start = content[:PRESCAN_BYTES]
    if b"charset" not in start.lower():
        return None
    if b"<!--" in start:
        start = _COMMENT.sub(b"", start)
    for found in _META_CHARSET.finditer(start):
        name = charset_name(found[1].decode("ascii", "replace"))
        if name is not None:
            return "UTF-8" if name in _WIDE else name
    return None


def _wide_by_pattern(content: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, recognised by the places of the NULs."""
    start = content[:256]
    if b"\0" not in start or content.count(b"\0") < MIN_NUL_SHARE * len(content):
        return None
    zeros = [start[place::4].count(0) for place in range(4)]
    quarter = len(start) // 4
    if zeros[1] + zeros[2] + zeros[3] >= 2.5 * quarter:
        return "UTF-32LE"
    if zeros[0] + zeros[1] + zeros[2] >= 2.5 * quarter:
        return "UTF-32BE"
    even, odd = zeros[0] + zeros[2], zeros[1] + zeros[3]
    if max(even, odd) < 4 * min(even, odd) + 2:
        return None
    return "UTF-16LE" if odd > even else "UTF-16BE"


def _transcode(content: bytes, codec: str) -> bytes:
    return content.decode(codec, "replace").encode("utf-8", "replace")
