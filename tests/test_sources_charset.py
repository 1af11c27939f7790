"""Charsets: pages come out ASCII compatible, labels are looked up and never trusted, and most pages cost nothing."""

import codecs
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.sources.http.charset import charset_name, to_ascii_compatible

TEXT = "<html><title>Ünïcode 漢字 кириллица</title><p class='x'>text</p>"
JAPANESE = "<p>表示ソース能力</p>"  # in Shift_JIS these letters end in 0x5C, a backslash
CHINESE = "<p>中文網頁功能許蓋</p>"


@pytest.mark.parametrize("codec", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_wins_over_every_label(codec: str) -> None:
    content, charset = to_ascii_compatible(TEXT.encode(codec), "windows-1252")
    assert content.decode().lstrip("\ufeff") == TEXT
    assert charset in ("UTF-16LE", "UTF-32LE", "UTF-8")


@pytest.mark.parametrize(
    ("codec", "mark", "name"),
    [("utf-16-be", codecs.BOM_UTF16_BE, "UTF-16BE"), ("utf-32-be", codecs.BOM_UTF32_BE, "UTF-32BE")],
)
def test_big_endian_marks(codec: str, mark: bytes, name: str) -> None:
    assert to_ascii_compatible(mark + TEXT.encode(codec), None) == (TEXT.encode(), name)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("label", [None, "utf-16", "utf-16be", "utf-32"])
def test_wide_pages_without_a_mark_are_seen_by_their_nuls(codec: str, label: str | None) -> None:
    content, charset = to_ascii_compatible(TEXT.encode(codec), label)
    assert content == TEXT.encode()
    assert charset == codec.upper().replace("-LE", "LE").replace("-BE", "BE")


@pytest.mark.parametrize("label", ["utf-16", "utf-16le", "utf-32"])
def test_a_label_cannot_make_a_plain_page_wide(label: str) -> None:
    page = TEXT.encode()
    assert to_ascii_compatible(page, label) == (page, None)
    assert to_ascii_compatible(b"<meta charset=" + label.encode() + b">" + page, None)[1] == "UTF-8"


def test_some_nuls_at_the_start_do_not_make_a_page_wide() -> None:
    page = "<!-- -->".encode("utf-16-le") * 8 + b"<p>plain</p>" * 200
    assert to_ascii_compatible(page, None) == (page, None)
    assert to_ascii_compatible(TEXT.encode("utf-16-le"), "utf-8")[1] == "UTF-8"


@pytest.mark.parametrize(
    ("text", "label", "codec", "name"),
    [
        (JAPANESE, "Shift_JIS", "cp932", "Shift_JIS"),
        (JAPANESE, "x-sjis", "cp932", "Shift_JIS"),
        (JAPANESE, "iso-2022-jp", "iso2022_jp", "ISO-2022-JP"),
        (CHINESE, "gb2312", "gbk", "GBK"),
        (CHINESE, "gb18030", "gb18030", "gb18030"),
        (CHINESE, "BIG5", "big5", "Big5"),
        ("<p>中文", "hz-gb-2312", "hz", "HZ-GB-2312"),
        ("<p>한국어 똠방각하", "ks_c_5601-1987", "cp949", "EUC-KR"),
        ("<p>한국어", "iso-2022-kr", "iso2022_kr", "ISO-2022-KR"),
        ("<p>한국어", "johab", "johab", "Johab"),
    ],
)
@pytest.mark.parametrize("place", ["header", "meta", "http-equiv"])
def test_letters_that_end_like_punctuation(text: str, label: str, codec: str, name: str, place: str) -> None:
    start = {
        "header": "",
        "meta": f"<meta charset='{label}'>",
        "http-equiv": f'<META http-equiv=Content-Type content="text/html; charset={label}">',
    }[place]
    content, charset = to_ascii_compatible((start + text).encode(codec), label if place == "header" else None)
    assert content.decode() == start + text
    assert charset == name


@pytest.mark.parametrize(
    "label", ["utf-8", "ISO-8859-1", '"windows-1251"', " koi8-r ", "euc-jp", "us-ascii", "x-user-defined"]
)
def test_other_charsets_are_left_as_they_are(label: str) -> None:
    page = bytes(range(1, 256))
    content, charset = to_ascii_compatible(page, label)
    assert content is page
    assert charset == charset_name(label)
    assert charset


@pytest.mark.parametrize(
    "label",
    ["unicode_escape", "raw_unicode_escape", "idna", "punycode", "zip", "rot13", "hex", "base64", "utf-7", "utf_7",
     "mbcs", "undefined", "cp037", "utf-8\0", "", " ", "x" * 10_000, "\ud800", "../../etc/passwd"],
)  # fmt: skip
def test_hostile_labels_are_no_labels(label: str) -> None:
    page = rb"<p>\x41\u0041 +ADw-script+AD4-</p>"
    assert to_ascii_compatible(page, label) == (page, None)
    assert charset_name(label) is None


def test_meta_is_believed_only_where_browsers_look() -> None:
    page = CHINESE.encode("gbk")
    meta = b"<meta charset=big5>"
    assert to_ascii_compatible(meta + page, None)[1] == "Big5"
    assert to_ascii_compatible(b" " * 1024 + meta + page, None)[1] == "GBK"
    assert to_ascii_compatible(b"<!-- " + meta + b" -->" + page, None)[1] == "GBK"
    assert to_ascii_compatible(b"<p title='charset=big5'>" + page, None)[1] == "GBK"
    assert to_ascii_compatible(b"<meta charset=nonsense>" + meta + page, None)[1] == "Big5"
    assert to_ascii_compatible(meta + page, "utf-8")[1] == "UTF-8"


def test_what_a_charset_does_not_allow_is_replaced() -> None:
    content, _ = to_ascii_compatible(b"\xff\xfe" + "a\ud800<".encode("utf-16-le", "surrogatepass") + b"x", None)
    assert content.decode() == "a\ufffd<\ufffd"


LABELS = st.one_of(st.none(), st.text(max_size=20), st.sampled_from(["gbk", "big5", "shift_jis", "iso-2022-jp", "hz",
    "iso-2022-kr", "johab", "euc-kr", "gb18030", "utf-16", "utf-32be"]))  # fmt: skip


@given(
    content=st.binary(max_size=400),
    label=LABELS,
    start=st.sampled_from([b"", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"]),
)
def test_never_raises(content: bytes, label: str | None, start: bytes) -> None:
    made, charset = to_ascii_compatible(start + content, label)
    assert isinstance(made, bytes)
    assert charset is None or charset.isascii()


@given(
    st.text(st.characters(codec="ascii"), max_size=200),
    st.sampled_from(["gbk", "big5", "shift_jis", "euc-kr", "gb18030"]),
)
def test_ascii_stays_ascii(text: str, label: str) -> None:
    """A false label cannot hide the markup of a page."""
    assert to_ascii_compatible(b"x" + text.encode(), label)[0] == b"x" + text.encode()


def test_most_pages_cost_next_to_nothing() -> None:
    page = b"<!doctype html><html><head><meta charset=utf-8>" + b"<p>some text</p>" * 20_000
    for label in ("utf-8", "windows-1252", None):
        seconds = min(timeit.repeat(lambda label=label: to_ascii_compatible(page, label), number=1000, repeat=5)) / 1000
        assert seconds < 50e-6
