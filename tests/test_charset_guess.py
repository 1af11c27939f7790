"""Charsets of pages that name none: found by common letters; western and damaged UTF-8 pages stay what they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.sources.http import charset_guess
from samehand.sources.http.charset import as_utf8, to_ascii_compatible
from samehand.sources.http.charset_guess import SAMPLE_BYTES, guess_charset

TEXTS = {
    "GBK": ("gb18030", "本域名正在出售，如果您有意购买，请与我们联系。欢迎访问我们的网站"),
    "Big5": ("big5hkscs", "本網站建置中，歡迎您的光臨，請稍後再來，我們的新網站即將上線"),
    "EUC-KR": ("cp949", "이 도메인은 판매 중입니다. 구매를 원하시면 연락해 주시기 바랍니다"),
    "Shift_JIS": ("cp932", "このドメインは販売中です。お問い合わせはこちらからお願いします"),
    "EUC-JP": ("euc_jp", "このページはただいま準備中です。しばらくお待ちください"),
    "windows-1251": ("cp1251", "Домен продаётся. Если вы хотите купить этот домен, напишите нам"),
    "KOI8-R": ("koi8_r", "Сайт находится в разработке, заходите к нам позже, мы скоро откроемся"),
    "windows-1253": ("cp1253", "Ο ιστότοπος είναι υπό κατασκευή και θα είναι σύντομα διαθέσιμος"),
    "windows-1255": ("cp1255", "האתר בבנייה ויעלה לאוויר בקרוב, אנא חזרו אלינו מאוחר יותר"),
    "windows-1256": ("cp1256", "هذا الموقع تحت الإنشاء وسوف يكون متاحا قريبا إن شاء الله"),
    "windows-874": ("cp874", "เว็บไซต์นี้กำลังอยู่ระหว่างการปรับปรุง กรุณากลับมาใหม่อีกครั้ง"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_page_that_names_no_charset_is_read_all_the_same(name: str) -> None:
    codec, text = TEXTS[name]
    page = f"<html><title>example.com</title><body class='x'><p>{text}</p>"
    content, found = to_ascii_compatible(page.encode(codec), None)
    assert found == name
    assert as_utf8(content, found).decode() == page


@pytest.mark.parametrize("name", TEXTS)
def test_a_charset_that_is_named_wins(name: str) -> None:
    page = TEXTS[name][1].encode(TEXTS[name][0])
    assert to_ascii_compatible(page, "windows-1252") == (page, "windows-1252")


@pytest.mark.parametrize(
    "text", ["Über uns: größere Möbel für kleine Räume, überall", "Le café est déjà fermé, désolé"]
)
def test_western_pages_are_windows_1252(text: str) -> None:
    content, found = to_ascii_compatible(text.encode("cp1252"), None)
    assert found is None
    assert as_utf8(content, found).decode() == text


def test_a_cut_letter_does_not_change_the_charset_of_a_page() -> None:
    page = (TEXTS["GBK"][1] * 4).encode()[:-1]
    assert to_ascii_compatible(page, None) == (page, "UTF-8")


def test_the_letters_of_a_long_page_are_read_only_so_far() -> None:
    words = TEXTS["windows-1251"][1].encode("cp1251")
    assert guess_charset(words * 200) == guess_charset((words * 200)[: 2 * SAMPLE_BYTES]) == "windows-1251"


@given(st.binary())
def test_no_bytes_break_it(content: bytes) -> None:
    found, name = to_ascii_compatible(content, None)
    as_utf8(found, name).decode("utf-8", "replace")


def expected_fit(text: str, common: frozenset[str], share: float) -> float:
    """Common letters, and half of those whose small form is common, by plain counting."""
    letters = [char for char in text if ord(char) >= charset_guess.FIRST_LETTER]
    if not letters or letters.count("\ufffd") > charset_guess.MAX_INVALID * len(letters):
        return 0.0
    weights = (2 if char in common else int(char.lower() in common) for char in letters)
    return sum(weights) / 2 / len(letters) / share


@pytest.mark.parametrize("script", charset_guess._SCRIPTS, ids=lambda script: next(iter(script.charsets)))
def test_weights_of_letters_equal_plain_counting(script: charset_guess._Script) -> None:
    everything = "".join(map(chr, (*range(0xD800), *range(0xE000, 0xFFFD), 0xFFFE, 0x1F600)))
    for text in (everything, *(text for _, text in TEXTS.values()), TEXTS["KOI8-R"][1].upper(), "\ufffd" * 9 + "я"):
        assert charset_guess._fit(text, script) == expected_fit(text, script.common, script.share)
