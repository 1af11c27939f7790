"""Mail: every kind of mailbox, what its messages say, and that no message, however made, raises or takes too long."""

import base64
import io
import os
import quopri
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import InputError
from samehand.base.page import Outcome, Page, Reject, Skip, rejects_to_batch
from samehand.base.settings import Settings
from samehand.sources import find_sources, plan_units, read_page, read_unit
from samehand.sources.http.charset import _LABELS
from samehand.sources.mail import mime
from samehand.sources.mail.messages import read_mailbox, read_stream
from samehand.sources.mail.mime import Message, read_message

SETTINGS = Settings()
MAX_DEPTH, MAX_PARTS = SETTINGS.max_mail_depth, SETTINGS.max_mail_parts
MAX_HEAD_BYTES, MAX_ENCODED_WORDS = SETTINGS.max_mail_head_bytes, SETTINGS.max_encoded_words
ONE = b"From a@example.org Thu Aug 22 12:36:23 2002\nSubject: one\n\nfirst text\n"
TWO = b"From b@example.org Thu Aug 22 12:36:24 2002\nSubject: two\n\nsecond text\n"


def html_to_text(html: bytes) -> str:
    return html.decode().replace("<p>", "").replace("</p>", "\n")


def outcomes(path: Path, settings: Settings = SETTINGS) -> list[Outcome]:
    return list(read_mailbox(str(path), path.name, settings, html_to_text=html_to_text))


def streamed(data: bytes, settings: Settings = SETTINGS) -> list[Outcome]:
    return list(read_stream(io.BytesIO(data), "-", settings, html_to_text=html_to_text))


def one_mail(data: bytes) -> Page:
    (found,) = streamed(data)
    assert isinstance(found, Page)
    return found


def read(data: bytes, **limits: int) -> Message:
    return read_message(data, html_to_text, Settings(**limits))


def texts(found: list[Outcome]) -> list[tuple[str, bytes]]:
    """URL and content, empty for what is no message."""
    return [(getattr(each, "url", ""), each.content if isinstance(each, Page) else b"") for each in found]


def multipart(kind: str, *parts: bytes, boundary: str = "bound") -> bytes:
    lines = b"".join(b"--" + boundary.encode() + b"\n" + part + b"\n" for part in parts)
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\nno part of it\n'.encode()
    return head + lines + b"--" + boundary.encode() + b"--\nnor this\n"


def part(text: str, media: str = "text/plain", extra: str = "") -> bytes:
    return f"Content-Type: {media}\n{extra}\n{text}".encode()


def test_a_single_message(tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_bytes(b"Subject: hello\r\nTo: you\r\n\r\nfirst\r\n\r\nFrom here on it is text\r\n")
    assert outcomes(path) == [
        Page(
            url="a.eml",
            content=b"hello\nfirst\n\nFrom here on it is text\n",
            source_path="a.eml",
            warc_record_offset=0,
            warc_record_length=61,
            content_mime_detected="text/plain",
            content_charset="UTF-8",
        )
    ]
    path.write_bytes(ONE + b"\n" + TWO)
    assert [place for place, _ in texts(outcomes(path))] == ["a.eml"]


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_an_mbox(tmp_path: Path, line_end: bytes) -> None:
    path = tmp_path / "inbox"
    first = (ONE + b">From quoted\n>>From twice\n> From not\n\n").replace(b"\n", line_end)
    data = b"\n" + first + TWO.replace(b"\n", line_end)
    path.write_bytes(data)
    found = outcomes(path)
    assert texts(found) == [
        ("inbox#1", b"one\nfirst text\nFrom quoted\n>From twice\n> From not\n\n"),
        ("inbox#2", b"two\nsecond text\n"),
    ]
    places = [(each.source_path, each.warc_record_offset, each.warc_record_length) for each in found]
    assert places == [("inbox", 1, len(first)), ("inbox", 1 + len(first), len(data) - 1 - len(first))]


def test_from_without_a_blank_line_before_it_is_text() -> None:
    assert texts(streamed(ONE + TWO)) == [("-#1", b"one\nfirst text\n" + TWO)]


def test_an_mbox_split_inside_a_body_counts_what_is_no_mail() -> None:
    found = streamed(ONE + b"\nFrom here on,\nall is well\n\n" + TWO)
    assert [place for place, _ in texts(found)] == ["-#1", "-#2", "-#3"]
    assert isinstance(found[1], Reject)
    assert (found[1].reason, found[1].warc_record_offset, found[1].damaged) == ("not_mail", len(ONE) + 1, False)


def test_empty_and_blank_inputs(tmp_path: Path) -> None:
    assert streamed(b"") == []
    path = tmp_path / "inbox"
    for data, reason in (
        (b"", "empty_file"),
        (b"\n\n", "not_mail"),
        (b"From a\n\n", "not_mail"),
        (b"To: a\n\n \n", "empty_body"),
    ):
        path.write_bytes(data)
        (found,) = outcomes(path)
        assert isinstance(found, Reject)
        assert found.reason == reason
    (tmp_path / "empty").mkdir()
    assert outcomes(tmp_path / "empty") == []


def test_a_maildir(tmp_path: Path) -> None:
    folder = tmp_path / "Mail"
    for name in ("cur/2:2,S", "new/1", "tmp/3", ".Sent/cur/4:2,", ".Sent/new/5"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(f"Subject: {name}\n\n".encode())
    (folder / ".Sent" / "cur" / "6").write_bytes(ONE + b"\n" + TWO)
    places = [place for place, _ in texts(outcomes(folder))]
    assert places == [f"Mail/{name}" for name in (".Sent/cur/4:2,", ".Sent/cur/6", ".Sent/new/5", "cur/2:2,S", "new/1")]


def test_a_folder_of_files(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    (folder / "spam").mkdir(parents=True)
    (folder / "spam" / "00001.7848dde101aa985090474a91ec93fcf0").write_bytes(ONE)
    (folder / "ham.eml").write_bytes(b"Subject: ham\n\n")
    (folder / "cmds").write_bytes(b"mv 1 00001\nmv 2 00002\n")
    (folder / "table.json").write_bytes(b'{"url":"http://example.org/"}\n')
    (folder / "loop").symlink_to("..")
    (folder / "link.eml").symlink_to("ham.eml")
    os.mkfifo(folder / "pipe")
    found = outcomes(folder)
    assert texts(found)[-1] == ("corpus/table.json", b"")
    rejects = [each for each in found if isinstance(each, Reject)]
    assert {each.source_path: each.reason for each in rejects} == {
        "corpus/cmds": "not_mail",
        "corpus/pipe": "unreadable_file",
        "corpus/table.json": "not_mail",
    }
    skips = [each for each in found if isinstance(each, Skip)]
    assert skips == [Skip("corpus/link.eml", 0, "symlink"), Skip("corpus/loop", 0, "symlink")]
    mails = [each.url for each in found if isinstance(each, Page)]
    assert mails == ["corpus/ham.eml", "corpus/spam/00001.7848dde101aa985090474a91ec93fcf0#1"]
    assert rejects_to_batch(rejects).num_rows == 3


def test_messages_are_found_again(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "inbox").write_bytes(ONE + b"\nFrom here on\n\n" + TWO)
    (folder / "a.eml").write_bytes(b"Subject: a\n\n")
    (source,), _ = find_sources([str(folder)], profile="mail")
    (unit,) = plan_units([source], 1)
    pages = [item for item in read_unit(unit, SETTINGS) if isinstance(item, Page)]
    assert [page.url for page in pages] == [f"{folder}/{name}" for name in ("a.eml", "inbox#1", "inbox#3")]
    for page in pages:
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page
    for path, offset, why in (
        (f"{folder}/inbox", len(ONE) + 1, "not_mail"),
        (f"{folder}/inbox", 5, "nothing starts there"),
        (f"{folder}/gone", 0, "nothing starts there"),
        (f"{folder}/../corpus/a.eml", 0, "nothing starts there"),
    ):
        with pytest.raises(InputError, match=why):
            read_page(source, path, offset, SETTINGS)


def test_what_the_user_names_may_be_a_link_or_be_missing(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(ONE)
    (tmp_path / "link").symlink_to("real")
    assert texts(outcomes(tmp_path / "link")) == [("link#1", b"one\nfirst text\n")]
    (found,) = outcomes(tmp_path / "missing")
    assert isinstance(found, Reject)
    assert (found.reason, found.damaged) == ("unreadable_file", True)


def test_names_that_are_not_unicode(tmp_path: Path) -> None:
    with open(os.path.join(os.fsencode(tmp_path), b"\xff.eml"), "wb") as file:
        file.write(ONE)
    ((place, _),) = texts(outcomes(tmp_path))
    assert place == f"{tmp_path.name}/\ufffd.eml"


def test_a_stream_gives_each_message_when_the_next_starts() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as stream, open(writing, "wb", buffering=0) as pipe:
        found = read_stream(stream, "-", SETTINGS, html_to_text=html_to_text)
        pipe.write(ONE + b"\n" + TWO[:60])
        first = next(found)
        pipe.write(TWO[60:])
        pipe.close()
        assert texts([first, *found]) == [("-#1", b"one\nfirst text\n\n"), ("-#2", b"two\nsecond text\n")]


class Endless(io.RawIOBase):
    """A long message that is never in memory as a whole."""

    def __init__(self, head: bytes, size: int, filling: bytes) -> None:
        self.left = size
        self.head = head
        self.filling = filling

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = (self.head or self.filling * (len(view) // len(self.filling)))[: min(len(view), self.left)]
        self.head = self.head[len(data) :]
        self.left -= len(data)
        view[: len(data)] = data
        return len(data)


@pytest.mark.parametrize("filling", [b"x", b"\n", b"abc \n"])
def test_a_long_message_is_cut_and_takes_little_memory(filling: bytes) -> None:
    size = 1_000_000
    stream = io.BufferedReader(Endless(b"Subject: long\n\nstart ", size, filling))
    tracemalloc.start()
    found = list(read_stream(stream, "-", Settings(max_page_bytes=10_000), html_to_text=html_to_text))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < size / 2
    (cut,) = found
    assert isinstance(cut, Page)
    assert (cut.warc_record_length, cut.content_truncated) == (size, "length")
    assert cut.content.startswith(b"long\nstart ")
    assert len(cut.content) <= 10_000


def test_text_that_grows_is_cut_between_letters() -> None:
    data = b"Content-Type: text/plain; charset=iso-8859-1\n\n" + b"\xe9" * 950
    (found,) = streamed(data, Settings(max_page_bytes=1_000))
    assert isinstance(found, Page)
    assert found.content_truncated == "length"
    assert found.content.decode() == "\n" + "é" * 499


@pytest.mark.parametrize(
    ("coding", "encode"),
    [
        ("7bit", bytes),
        ("8BIT", bytes),
        ("unheard-of", bytes),
        ("Quoted-Printable", quopri.encodestring),
        (" base64 ", base64.encodebytes),
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", '"KOI8-R"', "windows-1251", "utf-16", "iso-8859-5"])
def test_transfer_encodings_and_charsets(coding: str, encode: Callable[[bytes], bytes], charset: str) -> None:
    text = "Дорогой друг, this is a long line = of text " * 4
    head = f"Subject: s\nContent-Type: text/plain;\n\tcharset={charset}\nContent-Transfer-Encoding: {coding}\n\n"
    found = read(head.encode() + encode(text.encode(charset.strip('"'))))
    assert found.body.strip() == text.strip()
    assert found.notes == frozenset()


PYTHON_NAMES = {"macintosh": "mac_roman", "windows-874": "cp874", "x-mac-cyrillic": "mac_cyrillic", "HZ-GB-2312": "hz"}


@pytest.mark.parametrize("name", [name for name in _LABELS if name not in ("x-user-defined", "ISO-8859-8-I")])
def test_every_charset_of_the_list_is_read(name: str) -> None:
    codec = PYTHON_NAMES.get(name, name)
    letters = bytes(range(0xC0, 0x100)).decode(codec, "ignore") if "8859" in name or "windows" in name else ""
    letters += next((word for word in ("é", "日", "가", "я", "ก") if _can_encode(word, codec)), "")
    content = ("plain words " + letters).encode(codec)
    assert letters
    assert mime._decode(content, _LABELS[name].split()[0]) == "plain words " + letters


def _can_encode(word: str, codec: str) -> bool:
    try:
        return bool(word.encode(codec))
    except UnicodeEncodeError:
        return False


@pytest.mark.parametrize("label", ["unicode_escape", "idna", "zip", "rot13", "hex", "x" * 500, "utf-7", "\0", "mbcs"])
def test_labels_never_reach_the_codecs_of_python(label: str) -> None:
    head = f"Subject: =?{label[:70]}?q?=5Cx41?=\nContent-Type: text/plain; charset={label}\n\n"
    found = read(head.encode() + "\\x41 é".encode())
    assert (found.subject, found.body) == ("\\x41", "\\x41 é")


def test_html_gets_its_charset_from_the_header_or_itself() -> None:
    labelled = "Subject: s\nContent-Type: text/html; charset=iso-8859-1\n\n<p>café</p>".encode("iso-8859-1")
    assert read(labelled).body == "café\n"
    unlabelled = 'Content-Type: text/html\n\n<meta charset="windows-1251"><p>друг</p>'.encode("windows-1251")
    assert "друг" in read(unlabelled).body
    assert [each.content for each in read_stream(io.BytesIO(labelled), "-", SETTINGS) if isinstance(each, Page)] == [
        "s\ncafé\n".encode()
    ]


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (multipart("alternative", part("plain"), part("<p>rich</p>", "text/html")), "plain\n\nrich\n\n"),
        (multipart("alternative", part("<p>rich</p>", "text/html"), part("plain")), "rich\n\n\nplain\n"),
        (multipart("alternative", part(" \n"), part("<p>rich</p>", "TEXT/HTML")), "rich\n\n"),
        (multipart("alternative", part(" \n"), part("x", "image/png")), ""),
        (multipart("mixed", part("a"), part("b"), part("c", "image/png"), b"\nd", b""), "a\n\nb\n\nd\n"),
        (multipart("mixed", part("a"), part("b", extra="Content-Disposition: Attachment; filename=b\n")), "a\n"),
        (
            multipart(
                "mixed",
                multipart(
                    "alternative",
                    part(""),
                    multipart("related", part("<p>rich</p>", "text/html"), part("foot"), boundary="bound-2"),
                    boundary="bound-1",
                ),
                part("end"),
            ),
            "rich\n\n\nfoot\n\nend\n",
        ),
    ],
)
def test_multiparts(message: bytes, body: str) -> None:
    for data in (message, message.replace(b"\n", b"\r\n")):
        assert read(data) == Message("", body, frozenset(), True)


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (b"=?utf-8?B?" + base64.b64encode("Дорогой".encode()) + b"?=\n =?UTF-8?q?_=D0=B4?= plain", "Дорогой д plain"),
        (b"=?iso-8859-1*en?Q?caf=E9_au lait?=", "café au lait"),
        (b"=?nonsense?q?caf=C3=A9?= =?utf-8?x?no?=", "café =?utf-8?x?no?="),
        (b"=?utf-8?b?!!?= =?utf-8?b?QUJ?=", "AB"),
        ("широкий".encode(), "широкий"),
        (b"two\r\n\tlines\r\n of it", "two lines of it"),
    ],
)
def test_subjects(subject: bytes, text: str) -> None:
    assert read(b"X: y\nSubject: " + subject + b"\nSubject: second\n\n").subject == text


def test_a_subject_of_bare_bytes_is_in_the_charset_of_the_text() -> None:
    data = "Subject: 광고\nContent-Type: text/html; charset=ks_c_5601-1987\n\n<p>광고</p>".encode("cp949")
    assert (read(data).subject, read(data).body) == ("광고", "광고\n")
    assert read(b"Subject: \xff\xfe\n\n").subject == "\ufffd\ufffd"


@pytest.mark.parametrize(
    ("message", "body", "note"),
    [
        (b"Content-Type: multipart/mixed\n\nall of it", "all of it", "broken_mime"),
        (b"Content-Type: multipart/mixed; boundary=b\n\nall of it\n--c\n", "all of it\n--c\n", "broken_mime"),
        (b"Content-Type: multipart/mixed; boundary=b\n\n--b--\n", "--b--\n", "broken_mime"),
        (b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo", "one\n\ntwo", "broken_mime"),
        (b"To: a\nno blank line", "no blank line", "broken_mime"),
        (b"Content-Transfer-Encoding: base64\n\nQUJD\nREVG\nR", "ABCDEF", "bad_base64"),
        (b"Content-Transfer-Encoding: base64\n\nQU*JD", "ABC", "bad_base64"),
        (b"Content-Transfer-Encoding: base64\n\nQUI=\n-- \nthe list", "AB", "bad_base64"),
        (b"Content-Transfer-Encoding: quoted-printable\n\na=ZZ=", "a=ZZ", ""),
        (b"To: a\n\nz\0ero", "z\0ero", ""),
        (b"Content-Type: text\n\nplain", "plain", ""),
    ],
)
def test_broken_messages_are_read_and_noted(message: bytes, body: str, note: str) -> None:
    found = one_mail(b"Subject: s\n" + message)
    assert (found.content.decode(), found.content_truncated) == ("s\n" + body, None)
    assert ",".join(read(b"Subject: s\n" + message).notes) == note


class Counted(bytes):
    """Bytes that count how many of them were searched."""

    searched = 0

    def find(self, wanted: Any, start: Any = 0, end: Any = None) -> int:
        found = super().find(wanted, start, end)
        Counted.searched += (found if found >= 0 else end) - start
        return found


def nested(depth: int) -> bytes:
    return b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (level, level) for level in range(depth)
    )


HOSTILE = {
    "nested": nested(5_000) + b"\ntext",
    "nested with one boundary": b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * 5_000,
    "nested in base64": b"Content-Transfer-Encoding: base64\n"
    + nested(MAX_DEPTH + 5)
    + base64.b64encode(bytes(99_999)),
    "many parts": b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 100_000,
    "parts in parts": b"Content-Type: multipart/mixed; boundary=b\n\n"
    + b"--b\nContent-Type: multipart/mixed; boundary=bb\n\n--bb\n\nx\n" * 1_000,
    "nearly delimiters": nested(MAX_DEPTH) + b"--b0 x\n--b1" * 50_000,
    "parentheses": b"From: " + b"(" * 5_000 + b"\nSubject: s\n\n",
    "addresses": b"To: " + b"a@example.org, " * 20_000 + b"\nSubject: s\n\n",
    "encoded words": b"Subject: " + b"=?utf-8?q?a?= " * 20_000 + b"\n\n",
    "open encoded words": b"Subject: " + b"=?utf-8?q?" * 20_000 + b"\n\n",
    "long subject": b"Subject: " + b"x" * 10_000_000 + b"\n\nbody",
    "folded subject": b"Subject: x" + b"\n x" * 1_000_000 + b"\n\nbody",
    "many fields": b"Subject: s\n" * 500_000 + b"\nbody",
    "boundaries": b"Content-Type: multipart/mixed; " + b"boundary   " * 5_000 + b"\n\nbody",
    "blanks": b"Subject" + b" " * 1_000_000,
    "NULs": b"Subject: \0\n\n" + bytes(1_000_000),
    "line feeds": b"\n" * 1_000_000 + b"Subject: s\n\nbody",
}
WITHIN_LIMITS = {"nearly delimiters", "blanks", "parentheses", "boundaries", "NULs", "line feeds"}


def counting(monkeypatch: pytest.MonkeyPatch, name: str) -> list[str]:
    """A list that grows by one with each call of a function of the MIME reader."""
    calls: list[str] = []
    function = getattr(mime, name)

    def counted(*args: Any) -> Any:
        calls.append(name)
        return function(*args)

    monkeypatch.setattr(mime, name, counted)
    return calls


@pytest.mark.parametrize("name", HOSTILE)
def test_attacks_end_within_bounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = HOSTILE[name]
    heads, decoded = counting(monkeypatch, "_read_head"), counting(monkeypatch, "_decode")
    monkeypatch.setattr(Counted, "searched", 0)
    found = read(Counted(data))
    assert Counted.searched <= 2 * (MAX_DEPTH + 1) * len(data)
    assert len(heads) <= MAX_PARTS
    assert len(decoded) <= MAX_PARTS + MAX_ENCODED_WORDS
    assert len(found.subject) <= MAX_HEAD_BYTES
    assert ("over_limits" in found.notes) == (name not in WITHIN_LIMITS)
    (outcome,) = streamed(data)
    if isinstance(outcome, Page):
        assert outcome.content_truncated == (None if name in WITHIN_LIMITS else "length")
    else:
        assert outcome.reason in ("empty_body", "not_mail")


def test_limits_are_reached_but_not_passed() -> None:
    within = multipart("mixed", *[b"\nx"] * (MAX_PARTS - 1))
    assert read(within) == Message("", "\n".join(["x\n"] * (MAX_PARTS - 1)), frozenset(), True)
    assert read(multipart("mixed", *[b"\nx"] * MAX_PARTS)).notes == {"over_limits"}
    assert read(b"Subject: " + b"=?utf-8?q?a?= " * MAX_ENCODED_WORDS + b"\n\n").subject == "a" * MAX_ENCODED_WORDS
    assert read(nested(MAX_DEPTH) + b"\ndeep").body == "deep"
    assert read(nested(MAX_DEPTH + 1) + b"\ndeep").body == ""
    assert read(b"Subject: long\nX: " + b"x" * MAX_HEAD_BYTES + b"\nSubject: y\n\nbody").body == "body"


def test_limits_are_settings() -> None:
    assert read(multipart("mixed", *[b"\nx"] * 5), max_mail_parts=5).notes == {"over_limits"}
    assert read(b"Subject: " + b"=?utf-8?q?a?= " * 300 + b"\n\n", max_encoded_words=300).subject == "a" * 300
    assert read(nested(30) + b"\ndeep", max_mail_depth=30).body == "deep"
    assert read(b"X: " + b"x" * 100_000 + b"\nSubject: y\n\nbody", max_mail_head_bytes=200_000).subject == "y"


def test_an_error_in_the_html_reader_is_counted() -> None:
    def broken(html: bytes) -> str:
        raise RecursionError("too deep")

    data = b"Subject: s\nContent-Type: text/html\n\n<p>"
    (found,) = read_stream(io.BytesIO(data), "-", SETTINGS, html_to_text=broken)
    assert isinstance(found, Reject)
    assert (found.reason, found.detail, found.bytes) == ("reader_error", "RecursionError: too deep", len(data))


def test_a_stream_that_fails_is_counted() -> None:
    class Failing(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            return super().readline(size) or self.fail()

        def fail(self) -> bytes:
            raise OSError("gone")

    found = list(read_stream(Failing(ONE + b"\n" + TWO), "-", SETTINGS, html_to_text=html_to_text))
    assert [each.reason for each in found if isinstance(each, Reject)] == ["unreadable_file"]


PIECES = (
    b"From a\n", b"\n", b"\r\n", b"--b\n", b"--b--\n", b"Subject: ", b"=?utf-8?b?", b"?=", b"\0", b"\xff", b"x: y\n",
    b"Content-Type: multipart/alternative; boundary=b\n", b"Content-Type: text/html; charset=utf-16\n", b"Q", b"=\n",
    b"Content-Transfer-Encoding: base64\n", b"Content-Transfer-Encoding: quoted-printable\n", b">From ", b"<p>",
)  # fmt: skip


@given(st.one_of(st.binary(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join)))
def test_any_bytes_end_as_mail_or_reject(data: bytes) -> None:
    def lenient(html: bytes) -> str:
        return html.decode("utf-8", "replace")

    def check(found: Iterator[Outcome]) -> int:
        position = 0
        for each in found:
            assert each.warc_record_offset >= position
            if isinstance(each, Page):
                position = each.warc_record_offset + each.warc_record_length
                assert each.content.decode().strip()
            else:
                assert isinstance(each, Reject)
                position = each.warc_record_offset + each.bytes
                assert each.reason in ("not_mail", "empty_body")
        return position

    assert check(read_stream(io.BytesIO(data), "-", SETTINGS, html_to_text=lenient)) == len(data)
    read_message(data, lenient, SETTINGS)
