"""Clusters against hands on real home pages: python -m evaluation.style_homepages --data FOLDER.

Pages of `homepages2018` whose labels say who made them. Redirects, errors, challenges, empty pages and stock pages of
servers are left out: they are nobody's. Pages of one owner with different templates count as strangers. Beside that,
pages of `webpages`, which are all of different sites and hands, show what vendors' scripts merge. Exits with 1 when a
floor is missed.
"""

import argparse
import csv
import sys
import tarfile
from collections import Counter
from pathlib import Path

from evaluation.corpora import PairScore, pair_score
from evaluation.style_groups import style_groups
from samehand import Settings
from samehand.base.page import Page, host_of

KEYS = ("samehand", "one", "two", "three", "four", "five", "six", "seven")
LEFT_OUT = ("redirect", "error", "challenge", "empty")
PRECISION, RECALL = 0.998, 0.95


def main() -> None:
    """Prints both tables; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    pages, hands = labelled_pages(data)
    print(f"{len(pages)} home pages, worst of {len(KEYS)} keys: clusters against hands, precision / recall")
    noise, both = (_worst(pages, hands, dimensions) for dimensions in (0, Settings().markup_dimensions))
    for name, score in (("noise alone", noise), ("noise and markup", both)):
        print(f"  {name:20} {score.precision:.4f} / {score.recall:.3f}")
    _print_merges(web_pages(data))
    print(f"floors: precision {PRECISION}, recall {RECALL}")
    sys.exit(both.precision < PRECISION or both.recall < RECALL)


def _worst(pages: list[Page], hands: list[str], dimensions: int) -> PairScore:
    scores = []
    for key in KEYS:
        _, clusters = style_groups(pages, Settings(key=key, markup_dimensions=dimensions))
        scores.append(pair_score(clusters, hands))
    return PairScore(*(min(column) for column in zip(*scores, strict=True)))


def _print_merges(pages: list[Page]) -> None:
    """Clusters of pages of several sites, where every page has its own hand."""
    sites = [host_of(page.url).private_domain or page.url for page in pages]
    print(f"{len(pages)} pages of {len(set(sites))} sites, all of different hands: pairs of two sites in one cluster")
    for name, dimensions in (("noise alone", 0), ("noise and markup", Settings().markup_dimensions)):
        _, clusters = style_groups(pages, Settings(markup_dimensions=dimensions))
        together, inside = Counter(clusters), Counter(zip(clusters, sites, strict=True))
        pairs = sum(_pairs(size) for size in together.values()) - sum(_pairs(size) for size in inside.values())
        print(f"  {name:20} {pairs}")


def _pairs(size: int) -> int:
    return size * (size - 1) // 2


def labelled_pages(data: Path) -> tuple[list[Page], list[str]]:
    """Home pages and their hands; a page whose hand is not known has a hand of its own."""
    with (data / "homepages2018_labels.tsv").open() as file:
        labels = {row["domain"]: row for row in csv.DictReader(file, delimiter="\t")}
    pages: list[Page] = []
    hands: list[str] = []
    for name, content in _members(data / "homepages2018.tar.xz"):
        domain = Path(name).parent.name if Path(name).parent.name in labels else Path(name).name
        label = labels.get(domain)
        hand = (label["hand"] or "") if label else "stock:"
        if label is None or label["kind"] in LEFT_OUT or hand.startswith("stock:"):
            continue
        pages.append(Page(f"http://{domain}/", content, "homepages2018", len(pages)))
        hands.append(hand if hand and not hand.startswith("owner:") else domain)
    return pages, hands


def web_pages(data: Path) -> list[Page]:
    """The pages of `webpages` with their URLs."""
    contents = {Path(name).name: content for name, content in _members(data / "webpages.tar.xz")}
    rows = csv.reader(contents.pop("manifest.tsv").decode().splitlines()[1:], delimiter="\t")
    return [Page(row[1], contents[Path(row[0]).name], "webpages", place) for place, row in enumerate(rows)]


def _members(archive: Path) -> list[tuple[str, bytes]]:
    if not archive.is_file():
        sys.exit(f"{archive} is not there: this evaluation needs it. Say where it is with --data FOLDER.")
    with tarfile.open(archive) as tar:
        return [
            (member.name, handle.read()) for member in tar if member.isfile() and (handle := tar.extractfile(member))
        ]


if __name__ == "__main__":
    main()
