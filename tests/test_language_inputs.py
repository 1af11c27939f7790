"""Texts out of files of every kind, and what is counted when there is none."""

import gzip
import json
import lzma
from pathlib import Path

import pytest

from samehand.base.errors import UsageError
from samehand.sources.texts import TextReader

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
    assert list(reader) == [(f"{path}#1", b"Plain <b>."), ("http://a/", b"Hello there.\nBye\n")]
    assert reader.rejects == {"missing_column": 2, "bad_json": 1}


def test_a_line_too_long_to_hold_is_counted_and_passed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "x" * 5000}) + "\n" + json.dumps({"text": "short"}) + "\n", encoding="utf-8")
    reader = TextReader([str(path)], max_text_bytes=100)
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
