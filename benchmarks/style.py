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
from pathlib import Path

import pyarrow as pa
from evaluation.corpora import debian_pages

from samehand import Settings
from samehand.methods.style import noise as style

os.environ.setdefault("RAYON_NUM_THREADS", "1")
_CONTENT = re.compile(rb"[0-9A-Za-z\x80-\xff]+")
_SPACES = re.compile(rb"[ \t\r\n\f\v]+")


def best_time(action: Callable[[], object], repeats: int) -> float:
    """Seconds of the median run; the first one, which compiles and warms caches, is left out."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    pages = [page.content for page in debian_pages(chosen.data)]
    megabytes = sum(map(len, pages)) / 1e6
    print(f"{len(pages)} real pages, {megabytes:.1f} MB of HTML, one thread\n")
    _fingerprints(pages, megabytes, chosen.repeats)


def _fingerprints(pages: list[bytes], megabytes: float, repeats: int) -> None:
    data, offsets = style.column_buffers(pa.array(pages, pa.large_binary()))
    few = pages[::20]
    share = sum(map(len, few)) / 1e6
    for name, settings in (("the paper's parts", Settings.preset("paper")), ("our defaults", Settings())):
        ours = megabytes / best_time(lambda: style.fingerprint_buffers(data, offsets, settings), repeats)  # noqa: B023
        print(f"raw HTML to a 128-slot fingerprint, noise and parts included; {name}: {ours:.0f} MB/s")
        for peer, action in (("rensa", _rensa), ("datasketch", _datasketch)):
            rate = share / best_time(lambda: action([_parts(page, settings) for page in few]), 1)  # noqa: B023
            print(f"  {peer:12} {rate:7.2f} MB/s: we are {ours / rate:.0f} times as fast")
    print()


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
