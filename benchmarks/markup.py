"""Tags, text and links of real pages beside turbohtml's tokenizer, and hostile pages: python -m benchmarks.markup.

Ratios count, because machines differ and are shared: both sides are measured by turns in the same run. The peer gets
its pages as str, decoded before the clock starts, and its tokens are counted but not looked at; so its time is the
least that anything built on it would need.
"""

import argparse
import functools
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import turbohtml
from evaluation.corpora import debian_pages

from samehand import html as markup

HOSTILE = {
    "<div>": b"<div>",
    "attributes": b" a=1",
    "<select><option>": b"<select><option>",
    "<font c=12><p>": b"<font c=12><p>",
    "<ul><li>": b"<ul><li>",
    "<b><i></b>": b"<b><i></b>",
    "<!--": b"<!--",
    "<": b"<",
    "references": b"&amp;&notit;&#x80;",
    "<svg>": b"<svg>",
    "<template>": b"<template>",
    "<title><p>": b"<title><p>",
    "<a><table>": b"<a><table>",
    "<b><p>": b"<b><p>",
    "<script><!--<script>": b"<script><!--<script></script",
    "open quotes": b"<a href=\"'",
    "&": b"&",
    "almost an end": b"<title></titl</titlex>",
}


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=9)
    chosen = parser.parse_args()
    _real_pages([page.content for page in debian_pages(chosen.data)], chosen.repeats)
    _hostile_pages(chosen.repeats)


def _real_pages(pages: list[bytes], repeats: int) -> None:
    megabytes = sum(map(len, pages)) / 1e6
    texts = [page.decode("utf-8", "replace") for page in pages]
    data, offsets = np.frombuffer(b"".join(pages), np.uint8), np.cumsum([0, *map(len, pages)])
    ours, names_only, whole = _by_turns(
        [
            lambda: markup.parse_pages(data, offsets),
            lambda: _count_tokens(texts, with_attributes=False),
            lambda: _count_tokens(texts, with_attributes=True),
        ],
        repeats,
    )
    print(f"{len(pages)} real pages, {megabytes:.1f} MB of HTML, one thread             MB/s   we are faster by")
    print(f"  samehand: tags, text, titles, links                      {megabytes / ours:7.1f}")
    print(
        f"  turbohtml.tokenize                                       {megabytes / whole:7.1f}   {whole / ours:7.1f} x"
    )
    print(f"  turbohtml.tokenize without attributes                    {megabytes / names_only:7.1f}   ", end="")
    print(f"{names_only / ours:7.1f} x\n")


def _count_tokens(texts: list[str], *, with_attributes: bool) -> int:
    return sum(1 for text in texts for _ in turbohtml.tokenize(text, capture_attributes=with_attributes))


def _hostile_pages(repeats: int) -> None:
    print("hostile pages, repeated patterns                 250 KB, ms     2 MB, ms   steps a byte")
    limits = markup.Limits(tokens=1 << 40, attributes=1 << 40, value_bytes=1 << 40)
    for name, pattern in HOSTILE.items():
        milliseconds = []
        for size in (250_000, 2_000_000):
            page = (b"<p" if name == "attributes" else b"") + pattern * (size // len(pattern))
            data, offsets = np.frombuffer(page, np.uint8), np.array([0, len(page)])
            action = functools.partial(markup.parse_pages, data, offsets, limits=limits)
            milliseconds.append(1e3 * _by_turns([action], repeats)[0])
        steps = int(action().steps[0]) / len(page)
        print(f"  {name:44} {milliseconds[0]:12.2f} {milliseconds[1]:12.2f} {steps:14.2f}")


def _by_turns(actions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each action, measured by turns: whatever else the machine does falls on all of them."""
    times: list[list[float]] = [[] for _ in actions]
    for turn in range(repeats + 1):
        for action, seconds in zip(actions, times, strict=True):
            began = time.perf_counter()
            action()
            if turn:  # the first turn compiles and warms caches
                seconds.append(time.perf_counter() - began)
    return [statistics.median(seconds) for seconds in times]


if __name__ == "__main__":
    main()
