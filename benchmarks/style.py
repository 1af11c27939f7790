"""Raw HTML to fingerprints: `make bench`, or python -m benchmarks.style. Scans are in benchmarks.reading.

Every number is a ratio against a peer measured in the same run on the same pages, because machines differ and are
shared. Peers get the noise and the parts they need within their time: that is what a user of theirs has to do.
"""

import argparse
import os
import re
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.crawls import CORPORA, pages_of
from samehand import Settings
from samehand.base.buffers import end_to_end
from samehand.methods.style.markup import markup_fingerprints
from samehand.methods.style.noise import fingerprint_buffers

os.environ.setdefault("RAYON_NUM_THREADS", "1")
_CONTENT = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
_SPACES = re.compile(rb"[ \t\r\n\f\v]+")


def best_time(action: Callable[[], object], repeats: int) -> float:
    """CPU seconds of the median run; the first one, which compiles and warms caches, is left out."""
    action()
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return statistics.median(times)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    for corpus in chosen.corpora:
        pages = list(pages_of(corpus, chosen.data).values())
        print(f"{corpus}: {len(pages)} real pages, {sum(map(len, pages)) / 1e6:.1f} MB of HTML, one thread")
        _fingerprints(pages, chosen.repeats)


def _fingerprints(pages: list[bytes], repeats: int) -> None:
    """Rates of raw HTML to 128-slot fingerprints, noise and shingles included."""
    data, offsets = end_to_end(pages)
    few = pages[::40]
    for name, settings in (("the paper's shingles", Settings.preset("paper")), ("our defaults", Settings())):
        noise = best_time(partial(fingerprint_buffers, data, offsets, settings), repeats)
        print(f"  noise, {name}: {data.size / 1e6 / noise:.0f} MB/s")
        for peer, action in (("rensa", _rensa), ("datasketch", _datasketch)):
            spent = best_time(partial(_peer, action, few, settings), 1)
            rate = sum(map(len, few)) / 1e6 / spent
            print(f"    {peer:12} {rate:7.2f} MB/s: we are {data.size / 1e6 / noise / rate:.0f} times as fast")
        if settings.markup_dimensions:
            both = noise + best_time(partial(markup_fingerprints, data, offsets, settings), repeats)
            print(f"  noise and canonical markup, {name}: {data.size / 1e6 / both:.0f} MB/s", flush=True)


def _peer(action: Callable[[list[list[bytes]]], None], pages: list[bytes], settings: Settings) -> None:
    action([_parts(page, settings) for page in pages])


def _parts(page: bytes, settings: Settings) -> list[bytes]:
    """The set of parts of a page, by what Python does fastest."""
    noise = _CONTENT.sub(b"", page)
    if settings.fold_spaces:
        noise = _SPACES.sub(b" ", noise)
    width = settings.shingle_bytes
    return list({noise[start : start + width] for start in range(len(noise) - width + 1)})


def _rensa(part_sets: list[list[bytes]]) -> None:
    from rensa import RMinHash

    sets = [[part.decode("ascii") for part in parts] for parts in part_sets]
    RMinHash.digest_matrix_from_token_sets(sets, num_perm=128, seed=42)


def _datasketch(part_sets: list[list[bytes]]) -> None:
    from datasketch import MinHash

    for parts in part_sets:
        MinHash(num_perm=128).update_batch(parts)


if __name__ == "__main__":
    main()
