"""A crawl written by an adversary, scanned whole: no crash, no silence, every record accounted for."""

import gzip
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import samehand
from samehand.base.errors import UsageError
from samehand.cli import main as command_line
from samehand.cli.start import TOO_FEW_ADDRESSES, is_out_of_memory
from samehand.store.tables import STYLE_MEMBERS

GOOD = b"<!doctype html>\n<title>good</title>\n" + b"<div class='row'><a href='/x?a=b&c=d'>it</a>;</div>\n" * 30


def write_warc(path: Path, *bodies: tuple[bytes, dict[str, str]]) -> None:
    """One gzip member per record, by hand: whatever the body is, nobody checks it."""
    with path.open("wb") as handle:
        for number, (body, headers) in enumerate(bodies):
            fields = {"Content-Type": "text/html", **headers}
            http = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
            block = http.encode() + body
            head = (
                f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://h{number}.example/\r\n"
                "WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http\r\n"
                f"Content-Length: {len(block)}\r\n\r\n"
            )
            handle.write(gzip.compress(head.encode() + block + b"\r\n\r\n", 1, mtime=0))


HOSTILE_BODIES: dict[str, tuple[bytes, dict[str, str]]] = {
    "divs": (b"<div>" * 2_000_000, {}),
    "divs beyond the cap": (b"<div>" * 2_100_000, {}),
    "bomb": (gzip.compress(b"A" * 100_000_000, 9), {"Content-Encoding": "gzip"}),
    "bomb in a bomb": (gzip.compress(gzip.compress(b"<" * 50_000_000)), {"Content-Encoding": "gzip, gzip"}),
    "not gzip at all": (b"\x00\x01\x02\x03", {"Content-Encoding": "gzip"}),
    "chunked without chunks": (GOOD, {"Transfer-Encoding": "chunked"}),
    "no noise": (b"words" * 1000, {}),
    "nothing": (b"", {}),
    "white space": (b" \n" * 5000, {}),
    "UTF-16": (b"\xff\xfe" + GOOD.decode().encode("utf-16-le"), {}),
    "UTF-16 without a mark": (GOOD.decode().encode("utf-16-be"), {}),
    "NULs": (b"\0" * 100_000, {}),
    "one long comment": (b"<!--" * 250_000, {}),
    "attributes": (b"<a " + b"x=1 " * 200_000 + b">", {}),
    "escapes": (b"<title>\x1b[2J\x1b]0;x\x07</title>" + GOOD, {}),
    "every byte": (bytes(range(256)) * 100 + GOOD, {}),
    "charset of the devil": (GOOD, {"Content-Type": "text/html; charset=unicode_escape"}),
    "a picture": (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, {}),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    folder = tmp_path_factory.mktemp("hostile")
    pairs = [record for body in HOSTILE_BODIES.values() for record in (body, (GOOD, {}))]
    write_warc(folder / "hostile.warc.gz", *pairs)
    return samehand.scan(str(folder / "hostile.warc.gz"), folder / "run", workers=1, signals="style")


def test_every_hostile_record_is_a_page_or_a_reject(hostile: samehand.Run) -> None:
    read = hostile.manifest["stages"]["read"]
    assert read["pages"] + sum(read["rejected"].values()) == 2 * len(HOSTILE_BODIES)
    assert read["rejected"]["decompression_bomb"] == 2


def test_every_good_page_behind_a_hostile_one_is_found_and_grouped(hostile: samehand.Run) -> None:
    urls = {f"http://h{number}.example/" for number in range(1, 2 * len(HOSTILE_BODIES), 2)}
    best = hostile.clusters().table.to_pylist()[0]
    members = set(hostile.members(best["cluster_number"]).table.column("url").to_pylist())
    assert urls <= members


def test_a_page_in_utf_16_is_one_of_its_kind(hostile: samehand.Run) -> None:
    names = list(HOSTILE_BODIES)
    best = hostile.clusters().table.to_pylist()[0]
    members = set(hostile.members(best["cluster_number"]).table.column("url").to_pylist())
    for name in ("UTF-16", "UTF-16 without a mark", "charset of the devil", "chunked without chunks"):
        assert f"http://h{2 * names.index(name)}.example/" in members, name


def test_pages_without_noise_are_in_no_cluster(hostile: samehand.Run) -> None:
    url = f"http://h{2 * list(HOSTILE_BODIES).index('no noise')}.example/"
    assert url in hostile.pages(["url"]).table.column("url").to_pylist()
    assert url not in hostile.folder.read(STYLE_MEMBERS).column("url").to_pylist()


def test_a_cut_page_says_so(hostile: samehand.Run) -> None:
    cut = Counter(hostile.pages(["content_truncated"]).table.column("content_truncated").to_pylist())
    assert cut["length"] == 1


def test_damage_anywhere_in_the_file_loses_only_what_it_hits(tmp_path: Path) -> None:
    """Bits flipped, bytes cut out, garbage put in, the end torn off: seeded, many times."""
    write_warc(tmp_path / "good.warc.gz", *((GOOD * n, {}) for n in range(1, 13)))
    whole = (tmp_path / "good.warc.gz").read_bytes()
    draw = random.Random(3)
    for attempt in range(40):
        data = bytearray(whole)
        at = draw.randrange(len(data))
        kind = attempt % 4
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del data[at : at + draw.randrange(1, 400)]
        elif kind == 2:
            data[at:at] = draw.randbytes(draw.randrange(1, 400))
        else:
            del data[at:]
        path = tmp_path / f"damaged-{attempt}.warc.gz"
        path.write_bytes(data)
        try:
            run = samehand.scan(str(path), tmp_path / f"run-{attempt}", workers=1, signals="style")
        except samehand.InputError:
            assert kind == 3  # torn off within the first record: nothing is left
            continue
        read = run.manifest["stages"]["read"]
        assert run.pages().table.num_rows == read["pages"]
        assert run.rejects().table.num_rows == sum(read["rejected"].values())
        if kind < 3:
            assert read["pages"] >= 9
            assert read["pages"] + sum(read["rejected"].values()) >= 11


def test_folder_with_loops_links_and_odd_names(tmp_path: Path) -> None:
    site = tmp_path / "crawl" / "site.example"
    site.mkdir(parents=True)
    for number in range(3):
        (site / f"{number}.html").write_bytes(GOOD)
    (site / "loop").symlink_to(tmp_path / "crawl")
    (site / "secret.html").symlink_to("/etc/passwd")
    (site / "empty.html").write_bytes(b"")
    (site / "pic.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "crawl" / "stray.html").write_bytes(GOOD)
    with open(bytes(site) + b"/\xff\x1b[2J.html", "wb") as odd:
        odd.write(GOOD)
    run = samehand.scan(str(tmp_path / "crawl"), tmp_path / "run", workers=1, signals="style")
    read = run.manifest["stages"]["read"]
    assert (read["pages"], sum(read["rejected"].values()), read["skipped"]) == (5, 2, {"symlink": 2})
    for url in run.pages(["url"]).table.column("url").to_pylist():
        assert run.content(url) == GOOD


def test_several_inputs_of_all_kinds_and_one_that_is_nothing(tmp_path: Path) -> None:
    write_warc(tmp_path / "a.warc.gz", (GOOD, {}))
    (tmp_path / "b.jsonl").write_text('{"url": "http://b.example/", "html": "<p>(x) [y] {z}</p>"}\nnot json\n')
    (tmp_path / "empty.warc").write_bytes(b"")
    (tmp_path / "random.bin").write_bytes(random.Random(1).randbytes(5000))
    names = ["a.warc.gz", "b.jsonl", "empty.warc", "random.bin"]
    run = samehand.scan([str(tmp_path / name) for name in names], tmp_path / "run", workers=2, signals="style")
    read = run.manifest["stages"]["read"]
    assert read["pages"] == 2
    assert read["damaged"] == 3
    assert {"bad_json", "empty_file", "unknown_format"} <= set(read["rejected"])


def test_a_lack_of_memory_is_not_blamed_on_the_file_that_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_threads(**_options: object) -> None:
        cause = OSError("Failed to launch worker thread: Resource temporarily unavailable")
        raise UsageError("a.lexicon is not a whole lexicon") from cause

    monkeypatch.setattr(command_line.cli, "main", no_threads)
    with pytest.raises(UsageError) as raised:
        command_line.main()
    assert is_out_of_memory(raised.value.__cause__)


@pytest.mark.parametrize(("arguments", "code"), [("clusters nowhere", 2), ("--version", 0)])
def test_a_limit_below_what_libraries_reserve_is_refused_at_once(arguments: str, code: int) -> None:
    line = f'ulimit -v 635000; exec "$0" -m samehand.cli.start {arguments}'
    done = subprocess.run(["bash", "-c", line, sys.executable], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (code, f"{TOO_FEW_ADDRESSES}\n" if code else "")
