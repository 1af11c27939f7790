"""Shapes that make careless programs slow, and what they cost: `python -m fuzz.shapes [SHAPE ...]` in tests.

Each shape is doubled four times and scanned with all methods. Beyond what an empty crawl costs, twice the bytes may
cost at most LIMIT times the seconds, at the last doubling, where the seconds are many. Seconds of CPU are measured
here, because kernels cannot count their work; `make test` counts.
"""

import argparse
import contextlib
import os
import shutil
import sys
from collections.abc import Callable

import samehand
from fuzz.parsers import scratch, warc
from samehand.base.settings import Settings

DOUBLINGS = 4
SMALLEST = 1 << 23
"""Bytes. The largest input has 128 MB."""
LIMIT = 2.2


def repeated(piece: bytes) -> Callable[[int], bytes]:
    """A page that is one piece over and over."""
    return lambda size: piece * (size // len(piece) + 1)


def numbered(piece: str) -> Callable[[int], bytes]:
    """A page of pieces with numbers in them."""
    step = len(piece) + 6
    return lambda size: "".join(piece.replace("N", f"{number}") for number in range(size // step)).encode()


PAGES: dict[str, Callable[[int], bytes]] = {
    "less-than": repeated(b"<"),
    "ampersands": repeated(b"&"),
    "open-links": repeated(b"<a href="),
    "open-comments": repeated(b"<!--"),
    "attributes": lambda size: b"<a " + b"x=1 " * (size // 4) + b">",
    "one-value": lambda size: b"<a href='" + b"x" * size + b"'>",
    "divs": repeated(b"<div>"),
    "end-tags": repeated(b"</div>"),
    "unknown-tags": numbered("<xN>"),
    "open-scripts": repeated(b"<script>"),
    "open-titles": repeated(b"<title>a"),
    "quotes": repeated(b'"\'<a b="'),
    "numbers": repeated(b"&#1"),
    "names-of-references": repeated(b"&notin"),
    "formatting": numbered("<font c=N><p>"),
    "links-to-hosts": numbered("<a href=http://hN.example/>x</a>"),
    "one-word": lambda size: b"<p>" + b"a" * size,
    "same-word": repeated(b"word "),
    "distinct-words": numbered("<p>wordN and wordxN, "),
    "nuls": repeated(b"\0<p>"),
    "high-bytes": repeated(b"\xf0\x9f\x8f\xb4\xff<b>"),
}


def one_page(page: bytes) -> bytes:
    """An archive of one page."""
    return warc(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + page)


def record(number: int, body: bytes) -> bytes:
    """A record of another host."""
    return one_page(body).replace(b"http://a.example/", b"http://h%d.example/" % number, 1)


SMALL = b"<html><title>t</title><p class='x'>(a) [b] {c}; some words of a small page</p></html>"
CRAWLS: dict[str, Callable[[int], bytes]] = {
    "tiny-records": lambda size: b"WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 0\r\n\r\n\r\n\r\n" * (size // 60),
    "heads-alone": lambda size: b"WARC/1.0\r\n" * (size // 10),
    "equal-pages": lambda size: b"".join(record(number, SMALL * 8) for number in range(size // 900)),
    "many-labels": lambda size: one_page(SMALL).replace(b"a.example", b"a." * (size // 2) + b"example", 1),
}


def cpu_seconds(content: bytes) -> float:
    """CPU that a scan with all methods takes, its worker included."""
    path, run = scratch() / "shape.warc", scratch() / "run"
    path.write_bytes(content)
    shutil.rmtree(run, ignore_errors=True)
    began = _used()
    with contextlib.suppress(samehand.InputError):  # a file without pages
        samehand.scan(str(path), run, workers=1, signals="all", settings=Settings(max_page_bytes=1 << 28))
    return _used() - began


def _used() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def growth(make: Callable[[int], bytes], start: float) -> tuple[list[float], float]:
    """Seconds for each size beyond those of the start, and by which factor the last doubling raised them."""
    seconds = [cpu_seconds(make(SMALLEST << doubling)) - start for doubling in range(DOUBLINGS + 1)]
    return seconds, seconds[-1] / max(seconds[-2], 0.05)


def main() -> None:
    """Prints a line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shapes", nargs="*", default=[*PAGES, *CRAWLS])
    options = parser.parse_args()
    cpu_seconds(one_page(SMALL))  # compiles and loads
    start = min(cpu_seconds(one_page(SMALL)) for _ in range(3))
    steep = 0
    for name in options.shapes:
        make = CRAWLS[name] if name in CRAWLS else lambda size, name=name: one_page(PAGES[name](size))
        seconds, ratio = growth(make, start)
        steep += ratio > LIMIT
        said = " ".join(f"{each:.2f}" for each in seconds)
        sys.stdout.write(f"{name}: {said} s, last doubling × {ratio:.2f}{' STEEP' if ratio > LIMIT else ''}\n")
        sys.stdout.flush()
    sys.exit(bool(steep))


if __name__ == "__main__":
    main()
