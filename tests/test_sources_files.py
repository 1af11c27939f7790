"""Folders and single HTML files: what is a page, what its URL is, and that nothing leads out of the folder."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from samehand.base.errors import InputError
from samehand.base.page import Page, Reject, Skip, rejects_to_batch
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.sources import Outcome, Source, Unit, find_sources, plan_units, read_page, read_unit

SETTINGS = Settings()
DEPTH = 1_500


def fill(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def source_of(path: Path | str) -> Source:
    (source,), rejects = find_sources([str(path)])
    assert rejects == []
    return source


def outcomes_of(source: Source, settings: Settings = SETTINGS) -> list[Outcome]:
    return [outcome for unit in plan_units([source], 1_000) for outcome in read_unit(unit, settings)]


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("pages/example.org/index.html", "http://example.org/index.html"),
        ("backup/2018/Shop.example.co.uk/a/b.html", "http://Shop.example.co.uk/a/b.html"),
        ("example.org/other.org/b.html", "http://example.org/other.org/b.html"),
        ("docs/v1.2/co.uk/a.html", "http://docs/v1.2/co.uk/a.html"),
        ("host.test/a.com", "http://host.test/a.com"),
    ],
)
def test_the_first_folder_named_like_a_host_is_the_host(tmp_path: Path, path: str, url: str) -> None:
    folder = fill(tmp_path / "mirror", {path: b"<html>page"})
    (page,) = outcomes_of(source_of(folder))
    assert isinstance(page, Page)
    assert page.url == url


def test_a_mirror_as_wget_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "example.org/index.html": b"<html>start",
        "example.org/a/b.html?x=1": b"<!doctype html>query",
        "example.org/a/no-ending": b"<html>sniffed",
        "example.org/a/text.HTM": b"only by its name",
        "example.org/logo.png": b"\x89PNG\r\n\x1a\n",
        "example.org/robots.txt": b"User-agent: *",
        "example.org/empty.html": b"",
        "other.example/utf16.html": "<html>wide".encode("utf-16"),
        "top.html": b"<html>no host",
        "crawl.warc": b"WARC/1.0\r\n",
    }
    fill(tmp_path / "mirror", files)
    monkeypatch.chdir(tmp_path)
    source = source_of("mirror/")
    assert (source.kind, source.size) == ("folder", 0)
    found = {outcome.source_path: outcome for outcome in outcomes_of(source)}
    assert list(found) == ["mirror/" + name for name in sorted(files)]
    pages = {name: page for name, page in found.items() if isinstance(page, Page)}
    assert {name: page.url for name, page in pages.items()} == {
        "mirror/example.org/a/b.html?x=1": "http://example.org/a/b.html?x=1",
        "mirror/example.org/a/no-ending": "http://example.org/a/no-ending",
        "mirror/example.org/a/text.HTM": "http://example.org/a/text.HTM",
        "mirror/example.org/index.html": "http://example.org/index.html",
        "mirror/other.example/utf16.html": "http://other.example/utf16.html",
        "mirror/top.html": "",
    }
    assert pages["mirror/other.example/utf16.html"].content == b"<html>wide"
    assert {(page.warc_filename, page.doc_id) for page in pages.values()} == {(None, None)}
    reasons = {name: reject.reason for name, reject in found.items() if isinstance(reject, Reject)}
    assert reasons.pop("mirror/example.org/empty.html") == "empty_body"
    assert set(reasons.values()) == {"not_html"}
    assert "archive" in found["mirror/crawl.warc"].detail
    for page in pages.values():
        assert read_page(source, page.source_path, page.warc_record_offset, SETTINGS) == page


def test_links_are_never_followed(tmp_path: Path) -> None:
    secret = fill(tmp_path / "secret", {"page.html": b"<html>secret"})
    folder = fill(tmp_path / "mirror", {"host/page.html": b"<html>public"})
    (folder / "host" / "loop").symlink_to("..")
    (folder / "host" / "out").symlink_to(secret)
    (folder / "host" / "file.html").symlink_to(secret / "page.html")
    (folder / "gone.html").symlink_to("nowhere")
    source = source_of(folder)
    outcomes = outcomes_of(source)
    assert [item.content for item in outcomes if isinstance(item, Page)] == [b"<html>public"]
    names = [f"{source.name}/{name}" for name in ("gone.html", "host/file.html", "host/loop", "host/out")]
    assert [item for item in outcomes if not isinstance(item, Page)] == [Skip(name, 0, "symlink") for name in names]
    for name in ("host/out/page.html", "host/file.html", "../secret/page.html", "host/loop/host/page.html"):
        with pytest.raises(InputError):
            read_page(source, f"{source.name}/{name}", 0, SETTINGS)


def test_a_link_that_the_user_names_is_read(tmp_path: Path) -> None:
    fill(tmp_path, {"real/host/page.html": b"<html>"})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "page.html").symlink_to("real/host/page.html")
    for name in ("link", "page.html"):
        assert [type(outcome) for outcome in outcomes_of(source_of(tmp_path / name))] == [Page]


def test_what_cannot_be_read_is_a_reject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill(tmp_path / "mirror", {"a/page.html": b"<html>", "a/secret.html": b"<html>", "b/page.html": b"<html>"})
    os.mkfifo(folder / "a" / "pipe.html")
    real_open, real_listdir = open, os.listdir

    def guarded_open(path: str, *rest: str) -> object:
        if str(path).endswith("secret.html"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *rest)

    def guarded_listdir(path: str) -> list[str]:
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied")
        return real_listdir(path)

    source = source_of(folder)
    monkeypatch.setattr("builtins.open", guarded_open)
    monkeypatch.setattr(os, "listdir", guarded_listdir)
    outcomes = outcomes_of(source)
    monkeypatch.undo()
    assert [getattr(outcome, "reason", "") for outcome in outcomes] == ["", *["unreadable_file"] * 3]
    assert [outcome.url for outcome in outcomes[1:]] == ["http://a/pipe.html", "http://a/secret.html", ""]


def test_names_that_are_not_unicode(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "mirror")
    os.makedirs(folder + b"/h\xffst")
    for name in (b"/h\xffst/\xfe.html", b"/h\xffst/\xc3\xa9.html", b"/h\xffst/\xfd.png"):
        with open(folder + name, "wb") as file:
            file.write(b"<html>" + name.hex().encode() if name.endswith(b"html") else b"png")
    source = source_of(tmp_path / "mirror")
    outcomes = outcomes_of(source)
    pages = [outcome for outcome in outcomes if isinstance(outcome, Page)]
    assert [page.url for page in pages] == ["http://h\ufffdst/é.html", "http://h\ufffdst/\ufffd.html"]
    assert pages_to_batch(pages, 0).num_rows == 2
    assert rejects_to_batch([outcome for outcome in outcomes if isinstance(outcome, Reject)]).num_rows == 1
    for page in pages:
        assert read_page(source, page.source_path, 0, SETTINGS) == page
    assert Source.from_dict(source.as_dict()) == source


def test_a_source_whose_own_name_is_not_unicode(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff.html"
    with open(path, "wb") as file:
        file.write(b"<html>")
    source = source_of(os.fsdecode(path))
    (page,) = outcomes_of(source)
    assert page.source_path.endswith("/\ufffd.html")
    assert read_page(source, page.source_path, 0, SETTINGS) == page


def test_folders_are_split_by_entries_and_walked_in_order(tmp_path: Path) -> None:
    folder = fill(
        tmp_path / "mirror", {f"h{number:03}.example/{name}.html": b"<html>" for number in range(300) for name in "ba"}
    )
    source = source_of(folder)
    units = plan_units([source], 1)
    assert [(unit.start, unit.end) for unit in units] == [(0, 256), (256, 300)]
    readings = [read_unit(unit, SETTINGS) for unit in units]
    urls = [page.url for reading in readings for page in reading]
    assert urls == sorted(urls)
    assert len(urls) == 600
    assert readings[0].stop == readings[1].first == 256
    assert readings[1].stop == 300


@pytest.fixture
def deep_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder deeper than Python can recurse, and so deep that only this fixture can take it away again."""
    before = Path.cwd()
    folder = tmp_path / "mirror"
    folder.mkdir()
    os.chdir(folder)
    for _ in range(DEPTH):
        os.mkdir("d")
        os.chdir("d")
    Path("page.html").write_bytes(b"<html>")
    yield folder
    Path("page.html").unlink()
    for _ in range(DEPTH):
        os.chdir("..")
        os.rmdir("d")
    os.chdir(before)


def test_very_deep_folders(deep_folder: Path) -> None:
    started = time.perf_counter()
    (outcome,) = outcomes_of(source_of(deep_folder))
    assert outcome.url == "http://d/" + "d/" * (DEPTH - 1) + "page.html"
    assert time.perf_counter() - started < 5


def test_single_html_files(tmp_path: Path) -> None:
    fill(
        tmp_path,
        {"a.html": b"plain words", "b": b"<!DOCTYPE html>b", "c.html": b"%PDF-1.4", "d.txt": b"words", "e.htm": b""},
    )
    sources, rejects = find_sources([str(tmp_path / name) for name in ("a.html", "b", "c.html", "d.txt", "e.htm")])
    assert [source.kind for source in sources] == ["html"] * 3
    assert [(reject.reason, reject.damaged) for reject in rejects] == [("unknown_format", True), ("empty_file", True)]
    outcomes = [outcome for source in sources for outcome in outcomes_of(source)]
    assert [getattr(outcome, "reason", "") for outcome in outcomes] == ["", "", "not_html"]
    assert {outcome.url for outcome in outcomes} == {""}
    assert read_page(sources[0], sources[0].name, 0, SETTINGS) == outcomes[0]


def test_long_files_are_cut(tmp_path: Path) -> None:
    fill(tmp_path, {"a.html": b"<html>" + b"x" * 5_000, "b.html": b"\xff\xfe" + "漢".encode("utf-16-le") * 450})
    settings = Settings(max_page_bytes=1_000)
    for name in ("a.html", "b.html"):
        (page,) = outcomes_of(source_of(tmp_path / name), settings)
        assert (len(page.content), page.content_truncated) == (1_000, "length")


def test_a_file_that_goes_away(tmp_path: Path) -> None:
    source = source_of(fill(tmp_path, {"a.html": b"<html>"}) / "a.html")
    (tmp_path / "a.html").unlink()
    (outcome,) = read_unit(Unit(0, source, 0, source.size), SETTINGS)
    assert (outcome.reason, outcome.damaged) == ("unreadable_file", True)
    with pytest.raises(InputError, match="unreadable_file"):
        read_page(source, source.name, 0, SETTINGS)
