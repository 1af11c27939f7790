"""Texts out of files of every kind, and what is counted when there is none."""

import gzip
import json
import lzma
from pathlib import Path

import pytest

from samehand.base.errors import UsageError
from samehand.base.settings import Settings
from samehand.sources import find_sources
from samehand.sources.texts import TextReader, batched

PAGE = b"<html><head><title>no</title></head><body><p>Hello there.</p><p>Bye</p></body></html>"


def texts(*inputs: Path, **options: int) -> list[tuple[str, bytes]]:
    return list(TextReader([str(path) for path in inputs], **options))


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_text_file_is_one_text(tmp_path: Path, ending: str, pack: type[bytes]) -> None:
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(pack(b"One.\nTwo.\n"))
    assert texts(path) == [(str(path), b"One.\nTwo.\n")]


def test_zstd_text_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.zst"
    path.write_bytes(pytest.importorskip("zstandard", reason="zstandard is not installed").compress(b"One."))
    assert texts(path) == [(str(path), b"One.")]


def test_a_long_text_is_cut_at_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(100)))
    found = texts(path, max_text_bytes=100)
    assert b"".join(text for _, text in found) == path.read_bytes()
    assert all(text.endswith(b"\n") and len(text) <= 100 for _, text in found)
    assert [name for name, _ in found] == [f"{path}#{number}" for number in range(len(found))]


def test_a_long_text_is_cut_into_shorter_pieces(tmp_path: Path) -> None:
    """A book becomes documents of a page, but a text of some pages stays one document."""
    path = tmp_path / "a.txt"
    for data, count in ((b"word " * 20, 1), (b"word " * 40, 20), (b"x" * 200, 16), (b"\n" + b"x" * 198 + b"\n", 17)):
        path.write_bytes(data)
        found = texts(path, max_text_bytes=150, piece_bytes=13)
        assert b"".join(text for _, text in found) == data
        assert len(found) == count
        assert count == 1 or max(len(text) for _, text in found) <= 13


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("naïve café".encode(), "naïve café".encode()),
        ("naïve café".encode("cp1252"), "naïve café".encode()),
        ("naïve café".encode("utf-16"), "naïve café".encode()),
        ("naïve café".encode() + b"\xff", "naïve café".encode() + b"\xff"),
    ],
)
def test_other_encodings_become_utf8(tmp_path: Path, written: bytes, wanted: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(written)
    assert [text for _, text in texts(tmp_path / "a.txt")] == [wanted]


def test_jsonl_gives_text_or_what_its_pages_show(tmp_path: Path) -> None:
    rows = [{"text": "Plain <b>."}, {"url": "http://a/", "html": PAGE.decode()}, {"other": 1}, ["text"]]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n{broken\n\n", encoding="utf-8")
    reader = TextReader([str(path)])
    assert list(reader) == [(f"{path}#0", b"Plain <b>."), ("http://a/", b"Hello there.\nBye\n")]
    assert reader.rejects == {"missing_column": 1, "bad_json": 2}


def test_a_line_too_long_to_hold_is_counted_and_passed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": text}) for text in ("x" * 1_100_000, "short")]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reader = TextReader([str(path)], Settings(max_page_bytes=1_000))
    assert [text for _, text in reader] == [b"short"]
    assert reader.rejects == {"bad_json": 1}


def test_a_folder_gives_its_texts_then_its_pages(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"B")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt.gz").write_bytes(gzip.compress(b"A"))
    (tmp_path / "page.html").write_bytes(PAGE)
    (tmp_path / "rows.jsonl").write_bytes(b'{"text": "J"}\n')
    (tmp_path / "none.bin").write_bytes(b"\x00\x01")
    reader = TextReader([str(tmp_path)])
    assert [text.strip() for _, text in reader] == [b"B", b"J", b"A", b"Hello there.\nBye"]
    assert sum(reader.rejects.values()) == 1


def test_damaged_and_empty_files_are_counted(tmp_path: Path) -> None:
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(bytes(range(256)) * 50)[:-30])
    (tmp_path / "cut.txt.xz").write_bytes(lzma.compress(bytes(range(256)) * 50)[:-30])
    (tmp_path / "bad.txt.xz").write_bytes(b"no xz at all")
    (tmp_path / "empty.txt").write_bytes(b" \n")
    names = ("cut.txt.gz", "cut.txt.xz", "bad.txt.xz", "empty.txt")
    reader = TextReader([str(tmp_path / name) for name in names])
    assert not list(reader)
    assert reader.rejects == {"damaged_record": 3, "empty_body": 1}


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        texts(tmp_path / "none.txt")


def test_a_folder_of_mail_is_a_mailbox(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Subject: hello\n\nthere\n")
    (tmp_path / "b.eml").write_bytes(b"Subject: bye\n\nnow\n")
    reader = TextReader([str(tmp_path)], Settings(profile="mail"))
    assert list(reader) == [(f"{tmp_path}/a.txt", b"hello\nthere\n"), (f"{tmp_path}/b.eml", b"bye\nnow\n")]


def test_pages_of_sources(tmp_path: Path) -> None:
    """Links are skipped without a count."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"words": "not read"}) + "\n" + json.dumps({"html": PAGE.decode()}))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / "a.html").write_bytes(PAGE)
    (tmp_path / "mirror" / "b.html").symlink_to("a.html")
    sources, _ = find_sources([str(tmp_path / "a.jsonl"), str(tmp_path / "mirror")])
    reader = TextReader([])
    assert [text for _, text in reader.pages(sources)] == [b"Hello there.\nBye\n"] * 2
    assert reader.rejects == {"missing_column": 1}


def test_batches_hold_about_so_many_bytes() -> None:
    found = [(str(number), b"x" * number) for number in range(10)]
    batches = list(batched(found, 10))
    assert [text for batch in batches for text in batch] == found
    assert [sum(len(text) for _, text in batch) for batch in batches] == [10, 5, 6, 7, 8, 9]
    assert list(batched([])) == []
