"""The charset of a page that names none and is not UTF-8, by the letters that it would be made of.

Browsers take such a page for windows-1252. Many are in GBK, EUC-KR, Shift_JIS or windows-1251, and their text would be
lost. A text in the right charset is made of the commonest letters of its language, and next to none of it is invalid.
Western text is told by its letters beyond ASCII: they stand alone.
"""

import functools
import itertools
import re
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

SAMPLE_BYTES = 1 << 12
"""So many bytes of words with letters beyond ASCII are looked at."""
FEWEST = 8
"""Fewer bytes beyond ASCII say nothing."""
TOGETHER = 0.6
"""From this share on of bytes beyond ASCII that stand next to each other, a text is not in the Latin alphabet."""
MAX_INVALID = 0.02
"""Share of invalid letters in a charset that may still be right: pages are cut, or pasted together."""
MIN_FIT = 0.5
"""Common letters that a text must have, in parts of what texts of the language have."""
NEARLY = 0.85
"""A charset that fits nearly as well as the best one is taken if it is commoner."""
FIRST_LETTER = 0xC0
"""Characters before this are signs, not letters."""


class _Script(NamedTuple):
    """The charsets of a language, its commonest letters, and their share of the letters of its texts."""

    charsets: dict[str, str]
    common: frozenset[str]
    share: float


_KANA: Final = frozenset(chr(code) for code in itertools.chain(range(0x3041, 0x3094), range(0x30A1, 0x30FD)))
# Counted on home pages, each page one voice.
_SIMPLIFIED: Final = frozenset(
    "的中学网大年国文新一人用公业作游有客务全教电日品生家服分小动发更机多行信系我方在名程关理会能号上工是下语版时高美月本开天数了站科"
    "体安技视地心不件合成个市资和手查于区解最术海南子商第专器联司北出京计图可备经通西法化师院注为题设们台点广字码车情案源州载前微部"
    "物加录户与入单明线频英实平自报使产育主论金来者交事集流智校度统之建知管进东制告首询以招重请江快问页证要代提看考息活到装播片表后"
    "创据展及研场么目定面简万限外回无推复所影现际内运好二记门三支女如乐云道登间员费特应这你山验助热城读式力收长册起域级清测闻布友书"
    "售价购买卖欢迎访问"
)
_TRADITIONAL: Final = frozenset(
    "的新台日網本中分站大遊國美一月電卡人最會版文報享器市動年有作品明用上出生區機發北資車公告高小與點行活家成法商訊專購多聯個園子前"
    "門在花館旅時我關廣地不頁面到名重結東灣以自式下港連好請外入訂食於續使看向選海手更開全物路南閱情約繼理影信登平金務記絡加師免山合"
    "星律歡來運圖送片是學要服價消可部城查者都元優心單權能員說表光設格交們定供題程址場政息惠迎或間為經詢系直書讀內事案安聞提章三店展"
    "應後即主限轉款節租縣如線統助景際回第術話費代計正條道件同投數推意水工域賣售"
)
_HANGUL: Final = frozenset(
    "이기시스자지로다사보정인리의트하원는전가제한용아서수고일대비에드니관을구내주호회장어라게세년신안요소업상미를법모도여성개연화은단"
    "번운나공문임교마간해동과오터으유국금행노디료영페경티우바무실등송재체판부그청만레입산저중방표배발면록프브계위선"
)
# The commonest first.
_SCRIPTS: Final = (
    _Script({"GBK": "gb18030"}, _SIMPLIFIED, 0.6),
    _Script({"Big5": "big5hkscs"}, _TRADITIONAL, 0.6),
    _Script({"EUC-KR": "cp949"}, _HANGUL, 0.65),
    _Script({"Shift_JIS": "cp932", "EUC-JP": "euc_jp"}, _KANA, 0.5),
    _Script({"windows-1251": "cp1251", "KOI8-R": "koi8_r"}, frozenset("оаеинтрсвлкдмпу"), 0.75),
    _Script({"windows-1253": "cp1253"}, frozenset("αοιτενρσηςκμπλυ"), 0.67),
    _Script({"windows-1255": "cp1255"}, frozenset("יורתאלםהנבדמ"), 0.75),
    _Script({"windows-1256": "cp1256"}, frozenset("اريملونتدبهسةع"), 0.7),
    _Script({"windows-874": "cp874"}, frozenset("านรอ่มเกัิ้งดยส"), 0.6),
)
# Every second byte of these charsets is 0x40 or more, so such a stretch holds whole letters.
_WORDS: Final = re.compile(rb"[\x80-\xff][\x40-\xff]*")
_HIGH_RUNS: Final = re.compile(rb"[\x80-\xff]+")
_INVALID: Final = "\ufffd"
_BASIC: Final = 0xFFFF


def guess_charset(content: bytes) -> str | None:
    """The standard's name of the charset that fits an ASCII compatible page; None for windows-1252.

    UTF-8 fits a page of which only some letters are damaged.
    """
    sample = _sample(content)
    runs = [len(run) for run in _HIGH_RUNS.findall(sample)]
    high = sum(runs)
    if high < FEWEST:
        return None
    if _invalid(sample.decode("utf-8", "replace")) <= MAX_INVALID:
        return "UTF-8"
    if sum(run for run in runs if run > 1) < TOGETHER * high:
        return None
    fits = {
        name: _fit(sample.decode(codec, "replace"), script)
        for script in _SCRIPTS
        for name, codec in script.charsets.items()
    }
    least = max(MIN_FIT, NEARLY * max(fits.values()))
    return next((name for name, fit in fits.items() if fit >= least), None)


def _sample(content: bytes) -> bytes:
    """Words with letters beyond ASCII, up to SAMPLE_BYTES of them."""
    found, size = [], 0
    for word in _WORDS.finditer(content):
        found.append(word[0][: SAMPLE_BYTES - size])
        size += len(found[-1]) + 1
        if size >= SAMPLE_BYTES:
            break
    return b" ".join(found)


def _invalid(text: str) -> float:
    """Invalid letters, as a share of those beyond ASCII."""
    return text.count(_INVALID) / max(1, len(text) - len(text.encode("ascii", "ignore")))


def _fit(text: str, script: _Script) -> float:
    """How much of the text is common letters, in parts of what is usual; capitals count half."""
    if text.count(_INVALID) > MAX_INVALID * len(text):  # then it is too much of the letters in any case
        return 0.0
    codes = np.minimum(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4"), _BASIC)
    total = np.count_nonzero(codes >= FIRST_LETTER)
    if not total or text.count(_INVALID) > MAX_INVALID * total:
        return 0.0
    return float(_weights(script.common)[codes].sum()) / 2 / total / script.share


@functools.cache
def _weights(common: frozenset[str]) -> NDArray[np.uint8]:
    """The weight of each character of the Basic Multilingual Plane: two for a common letter, one for its capital."""
    weights = np.zeros(_BASIC + 1, np.uint8)
    weights[[ord(char.upper()) for char in common if len(char.upper()) == 1]] = 1
    weights[[ord(char) for char in common]] = 2
    return weights
