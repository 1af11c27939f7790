"""Clusters of pages by structure, beside the paper's table 1 and beside all pairs: python -m benchmarks.structure.

The world is made on the spot, provider by provider: parking providers (templates with slight variations, many pages
equal), and others (themes of a CMS, sites of their own, default pages). Pages are put together from pieces of real
tag sequences, where the data are there, and of made ones; lengths are as on the web. Making them is not in the time.
Peers are measured in processor time of one thread, because machines are shared.
"""

import argparse
import dataclasses
import resource
import time
from pathlib import Path

import numpy as np
from evaluation.corpora import debian_pages
from numpy.typing import NDArray

from samehand.html import END, TAG_NAMES, parse_pages
from samehand.kernels import tags as kernel
from samehand.methods.sites.centres import Calls, cluster_figures, k_centres
from samehand.methods.sites.tags import MAX_TAGS, TagSequences, distances_from, pages_of

PROVIDERS, PARKING = 93, 16
PARKED_SHARE = 0.147
MEDIAN_TAGS, SPREAD = 480, 0.95
"""Of the tags of home pages: log-normal."""
DELTA = 0.25
"""Pages of clusters with a smaller mean distance to the centre are close, which makes them spam in the paper."""
PAPER = "18:16:21 on 12 cores for 1,076,079 pages: 60.0 % R, 12.9 % F, 27.1 % D of 42.62 M calls"

_USUAL = ("div", "a", "span", "li", "p", "img", "ul", "h2", "h3", "td", "tr", "i", "b", "input", "script", "br", "em")

Numbers = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Short runs of tags that lie end to end; pages are lists of them."""

    tags: NDArray[np.uint16]
    starts: Numbers
    lengths: Numbers

    def pages(self, lists: list[Numbers]) -> TagSequences:
        """Pages from lists of pieces."""
        counts = np.array([self.lengths[pieces].sum() for pieces in lists])
        offsets = np.concatenate([[0], np.cumsum(np.minimum(counts, MAX_TAGS))])
        tags = np.empty(offsets[-1], np.uint16)
        for first in range(0, len(lists), 1000):  # the places of all tags at once would take too much memory
            flat = np.concatenate(lists[first : first + 1000])
            ends = np.cumsum(self.lengths[flat])
            places = np.arange(ends[-1]) + np.repeat(self.starts[flat] - ends + self.lengths[flat], self.lengths[flat])
            made, bounds = self.tags[places], np.concatenate([[0], np.cumsum(counts[first : first + 1000])])
            for page in range(bounds.size - 1):
                begin, end = offsets[first + page], offsets[first + page + 1]
                tags[begin:end] = made[bounds[page] : bounds[page] + end - begin]
        return TagSequences(tags, offsets, counts.astype(np.int32))


def make_pieces(real: list[NDArray[np.uint16]], random: np.random.Generator) -> Pieces:
    """Pieces of 2 to 40 tags: half of them cut from real pages, half of them made, elements opened and closed."""
    cut = [page[place : place + random.integers(2, 40)] for page in real for place in range(0, page.size, 60)]
    names = [TAG_NAMES.index(name) for name in _USUAL]
    weights = 1 / np.arange(1, len(names) + 1)
    made = []
    for _ in range(max(3000, len(cut))):
        opened = random.choice(names, random.integers(1, 9), p=weights / weights.sum())
        made.append(np.concatenate([opened, opened[::-1] | END] * random.integers(1, 3)).astype(np.uint16))
    both = cut + made
    lengths = np.array([piece.size for piece in both])
    return Pieces(np.concatenate(both), np.cumsum(lengths) - lengths, lengths)


def own_site(pieces: Pieces, random: np.random.Generator) -> Numbers:
    """A site of its own: some pieces, each repeated as in lists and tables, until it is as long as it should be."""
    wanted = MEDIAN_TAGS * np.exp(SPREAD * random.standard_normal())
    kinds = random.integers(0, pieces.starts.size, random.integers(4, 25))
    runs = np.repeat(kinds[random.integers(0, kinds.size, 200)], random.geometric(0.25, 200))
    grown = np.tile(runs, 1 + int(wanted / pieces.lengths[runs].sum()))
    return grown[: 1 + int(np.searchsorted(np.cumsum(pieces.lengths[grown]), wanted))]


def varied(template: Numbers, random: np.random.Generator, *, body: Numbers, most: int) -> Numbers:
    """A page of a template: entries of its list, and at times a block more or less."""
    middle = template.size // 2
    entries = np.repeat(body, random.integers(0, most, body.size))
    kept = template[random.random(template.size) > 0.02]
    return np.concatenate([kept[:middle], entries, kept[middle:]])


def provider(number: int, count: int, pieces: Pieces, random: np.random.Generator) -> TagSequences:
    """The home pages of one provider; the first PARKING ones park."""
    templates = [own_site(pieces, random)[:60] for _ in range(random.integers(3, 9) if number < PARKING else 12)]
    bodies = [random.integers(0, pieces.starts.size, 3) for _ in templates]
    default = [random.integers(0, pieces.starts.size, 2) for _ in range(4)]
    kinds = (0.95, 0.0, 0.03) if number < PARKING else (0.04, 0.35, 0.06)
    lists = []
    for _ in range(count):
        kind, which = random.random(), int(random.integers(len(templates)))
        if kind < kinds[0]:
            is_equal = random.random() < 0.4
            one = templates[which]
            lists.append(one if is_equal else varied(one, random, body=bodies[which], most=4))
        elif kind < sum(kinds[:2]):
            body = random.integers(0, pieces.starts.size, random.integers(1, 12))
            lists.append(varied(templates[which][:30], random, body=body, most=20))
        elif kind < sum(kinds):
            lists.append(default[int(random.integers(4))])
        else:
            lists.append(own_site(pieces, random))
    return pieces.pages(lists)


def provider_sizes(pages: int) -> list[int]:
    """Pages of each provider: few large ones and many small ones, among both kinds."""
    sizes = []
    for kinds, share in ((PARKING, PARKED_SHARE), (PROVIDERS - PARKING, 1 - PARKED_SHARE)):
        weights = 1 / np.arange(1, kinds + 1)
        sizes += [max(1, round(pages * share * weight / weights.sum())) for weight in weights]
    return sizes


def real_sequences(data: Path) -> list[NDArray[np.uint16]]:
    """Tag sequences of real pages; none if the data are not there."""
    if not (data / "debdoc_shared.tar.xz").is_file():
        print(f"{data}/debdoc_shared.tar.xz is not there: all pieces are made.")
        return []
    contents = [page.content for page in debian_pages(data)]
    found = parse_pages(np.frombuffer(b"".join(contents), np.uint8), np.cumsum([0, *map(len, contents)]))
    return np.split(found.tags, found.tag_offsets[1:-1])


@dataclasses.dataclass
class Line:
    """A line of the table: one class of providers."""

    calls: Calls = dataclasses.field(default_factory=Calls)
    seconds: float = 0.0
    processor: float = 0.0
    pages: int = 0
    close: int = 0

    def cluster(self, sequences: TagSequences, k: int) -> int:
        """Clusters a provider. Returns how many different pages it has."""
        began, used = time.perf_counter(), time.process_time()
        found = k_centres(sequences, np.arange(sequences.counts.size), k=k)
        figures = cluster_figures(found)
        self.seconds += time.perf_counter() - began
        self.processor += time.process_time() - used
        self.calls += found.calls
        self.pages += sequences.counts.size
        self.close += int(figures.sizes[figures.means < DELTA].sum())
        return found.distinct

    def show(self, name: str) -> None:
        """Prints it."""
        parts = [self.calls.r, self.calls.f, self.calls.b, self.calls.d]
        shares = " ".join(f"{100 * part / sum(parts):6.2f}" for part in parts)
        counts = f"{sum(parts) / 1e6:9.2f} {self.calls.skipped / 1e6:10.2f}"
        close = 100 * self.close / self.pages
        print(f"{name:14} {shares} {counts} {self.seconds:7.1f} {self.processor:7.1f} {close:7.1f}")


def cluster_all(pages: int, pieces: Pieces, k: int) -> None:
    """Clusters each provider and prints a table as table 1."""
    lines = {kind: Line() for kind in ("ISP", "SPAM")}
    lengths: list[Numbers] = []
    distinct = 0
    for number, count in enumerate(provider_sizes(pages)):
        sequences = provider(number, count, pieces, np.random.Generator(np.random.PCG64([7, number])))
        distinct += lines["SPAM" if number < PARKING else "ISP"].cluster(sequences, k)
        lengths.append(np.diff(sequences.offsets))
    every = np.concatenate(lengths)
    print(f"\n{every.size:,} pages, {every.mean():.0f} tags each (median {np.median(every):.0f}, 99 % below", end=" ")
    print(f"{np.percentile(every, 99):.0f}), {distinct:,} of them different; k = {k}")
    print("                  R %    F %    B %    D %  calls, M skipped, M       s   CPU s close %")
    for kind, line in lines.items():
        line.show(kind)
    seconds, used = sum(line.seconds for line in lines.values()), sum(line.processor for line in lines.values())
    print(f"together {seconds:.1f} s, {used:.1f} s of processor time")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB, the world included; the paper: {PAPER}")


def all_pairs(count: int, pieces: Pieces) -> None:
    """Every pair of `count` sites: rapidfuzz's cdist and our kernel, one thread each, no bounds, no cut-off."""
    sequences = provider(PROVIDERS, count, pieces, np.random.Generator(np.random.PCG64(1)))
    everyone = np.arange(count)
    pages = pages_of(sequences, everyone)
    distances_from(kernel.make_centre(pages, 0), pages, everyone)
    began = time.process_time()
    ours = np.array([distances_from(kernel.make_centre(pages, row), pages, everyone) for row in range(count)])
    own = (time.process_time() - began) / count**2
    print(f"\nall {count}² pairs, one thread, D in full: ours {1e6 * own:.2f} µs a pair")
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import LCSseq
    except ImportError:
        print("  rapidfuzz is not installed: not compared")
        return
    texts = [as_text(page) for page in np.split(sequences.tags, sequences.offsets[1:-1])]
    began = time.process_time()
    theirs = process.cdist(texts, texts[: count // 4], scorer=LCSseq.normalized_distance, workers=1, dtype=np.float64)
    took = (time.process_time() - began) / theirs.size
    same = np.abs(ours[:, : count // 4] - theirs).max() < 1e-9
    print(f"  rapidfuzz cdist {1e6 * took:.2f} µs: we are {took / own:.2f} times as fast; equal distances: {same}")
    began = time.process_time()
    k_centres(sequences, everyone, threads=1)
    clustered = time.process_time() - began
    every = took * count * (count - 1) / 2
    print(f"  16 clusters of them: {clustered:.3f} s; all pairs by cdist: {every:.1f} s")


def as_text(page: NDArray[np.uint16]) -> str:
    """A sequence as a text of as many letters, without surrogates."""
    letters = page.astype("<u4")
    return np.where(letters < 0xD800, letters, letters + np.uint32(0x800)).tobytes().decode("utf-32-le")


def html_similarity(count: int, real: list[NDArray[np.uint16]]) -> None:
    """Time of one distance by html-similarity, from HTML of the same tags, and of ours from the same HTML."""
    try:
        from html_similarity import structural_similarity
    except ImportError:
        print("html-similarity is not installed: not compared (pip install html-similarity 'cssselect<1.3')")
        return
    from samehand.methods.sites.tags import compare_structure

    chosen = [page for page in real if 200 < page.size < 800][: 2 * count]
    pages = ["".join(f"<{'/' * (tag >= END)}{TAG_NAMES[tag & (END - 1)]}>" for tag in page.tolist()) for page in chosen]
    pairs = list(zip(pages[::2], pages[1::2], strict=True))
    structural_similarity(*pairs[0])
    compare_structure(*(page.encode() for page in pairs[0]))
    began = time.process_time()
    for left, right in pairs:
        structural_similarity(left, right)
    theirs = (time.process_time() - began) / len(pairs)
    began = time.process_time()
    for left, right in pairs:
        compare_structure(left.encode(), right.encode())
    ours = (time.process_time() - began) / len(pairs)
    mean = np.mean([page.size for page in chosen])
    print(f"one distance from HTML, pages of {mean:.0f} tags: html-similarity {1e3 * theirs:.2f} ms,", end=" ")
    print(f"ours with the alignment {1e3 * ours:.2f} ms: {theirs / ours:.0f} times as fast")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--pairs", type=int, default=800, help="pages of which all pairs are compared")
    parser.add_argument("-k", type=int, default=16)
    chosen = parser.parse_args()
    real = real_sequences(chosen.data)
    pieces = make_pieces(real, np.random.Generator(np.random.PCG64(3)))
    all_pairs(chosen.pairs, pieces)
    html_similarity(30, real or np.split(pieces.tags[:20_000], 40))
    for pages in chosen.pages:
        cluster_all(pages, pieces, chosen.k)


if __name__ == "__main__":
    main()
