"""Style against disguises: python -m evaluation.evasion --data FOLDER.

Five templates, real pages of `homepages2018` and `webpages`, are copied with texts of their own. Each disguise is put
on all copies, each copy with its own seed. Pairs of one template should be in one cluster, pairs of two templates in no
family. Bridges are pages that hold two templates. Prints one report and exits with 1 when a floor is missed.

Pages are split in two by a hash of their bytes. Rules are chosen with the templates of one half (`--half chosen`); the
report is about the other half.
"""

import argparse
import random
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation import later_disguises as later
from evaluation import page_disguises as disguises
from evaluation import unseen_disguises as unseen
from evaluation.corpora import HALVES, PairScore, half_of, pair_score
from evaluation.style_groups import style_groups
from samehand import Settings
from samehand.base.page import Page

TEMPLATES, COPIES = 5, 20
KEYS = ("samehand", "two", "seven")
CHEAP_RECALL, FAMILY_RECALL, PRECISION = 0.95, 0.99, 1.0
SIZES = range(8_000, 60_000)
LEAST_TAGS = 75
BRIDGES_APART = 0.8


@dataclass(frozen=True, slots=True)
class Row:
    """A disguise: bytes that it adds, and the worst of all keys of clusters by noise alone, clusters and families."""

    name: str
    bytes_added: float
    noise: PairScore
    clusters: PairScore
    families: PairScore


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--half", choices=HALVES, default="reported", help="templates that rules were chosen by, or not"
    )
    chosen = parser.parse_args()
    templates = draw_templates(chosen.data, chosen.seed, chosen.half)
    pages, truth = copied(templates)
    cheap = [*report("cheap: nobody sees it", {**disguises.CHEAP, **later.LATER}, pages, truth)]
    new = [*report("cheap, written after the rules were fixed", unseen.UNSEEN, pages, truth)]
    [*report("at most 5 % more bytes, seen or hidden by a style sheet", later.SHOWN, pages, truth)]
    [*report("dear: it takes a style sheet, other addresses or another order", disguises.DEAR, pages, truth)]
    joined = bridges(pages, truth)
    worst = min(cheap, key=lambda row: row.clusters.recall)
    floors = {
        f"cheap disguises: cluster recall (worst: {worst.name})": (worst.clusters.recall, CHEAP_RECALL),
        "cheap disguises: cluster precision": (min(row.clusters.precision for row in cheap), PRECISION),
        "cheap disguises: family precision": (min(row.families.precision for row in cheap), PRECISION),
        "cheap disguises: family recall": (min(row.families.recall for row in cheap), FAMILY_RECALL),
        "unseen disguises: cluster recall, mean": (sum(row.clusters.recall for row in new) / len(new), CHEAP_RECALL),
        "unseen disguises: cluster precision": (min(row.clusters.precision for row in new), PRECISION),
        "bridges of up to 20 pages: families kept apart": (1 - joined, BRIDGES_APART),
    }
    print("\nfloors")
    for name, (reached, floor) in floors.items():
        print(f"  {'ok  ' if reached >= floor else 'MISS'} {name:80} {reached:.4f} (at least {floor})")
    sys.exit(any(reached < floor for reached, floor in floors.values()))


def draw_templates(data: Path, seed: int, half: str) -> list[bytes]:
    """Real pages with enough markup, of one half of two corpora."""
    draw = random.Random(seed)
    shares = {"homepages2018": TEMPLATES - TEMPLATES // 2, "webpages": TEMPLATES // 2}
    usable = {name: [*_usable(data / f"{name}.tar.xz", half)] for name in shares}
    return [page for name, count in shares.items() for page in draw.sample(usable[name], count)]


def _usable(archive: Path, half: str) -> Iterator[bytes]:
    if not archive.is_file():
        sys.exit(f"{archive} is not there: this evaluation needs it. Say where it is with --data FOLDER.")
    with tarfile.open(archive) as tar:
        for member in tar:
            handle = tar.extractfile(member) if member.isfile() and member.size in SIZES else None
            content = handle.read() if handle else b""
            is_rich = b"</head>" in content.lower() and content.count(b"<") > 2 * LEAST_TAGS
            if is_rich and half_of(content) == half:
                yield content


def copied(templates: Iterable[bytes]) -> tuple[list[bytes], list[int]]:
    """Copies of each template with texts of their own, and which template each is of."""
    pages: list[bytes] = []
    truth: list[int] = []
    for number, template in enumerate(templates):
        pages += disguises.copies(template, COPIES, random.Random(number))
        truth += [number] * COPIES
    return pages, truth


def report(
    title: str, chosen: dict[str, disguises.Disguise], pages: Sequence[bytes], truth: Sequence[int]
) -> Iterator[Row]:
    """Prints a row for each disguise."""
    print(f"{title:66} bytes  by noise alone  clusters P / R   families P / R")
    for name, disguise in chosen.items():
        row = _row(name, disguise, pages, truth)
        print(
            f"  {name:62} {row.bytes_added:+7.0%}  {row.noise.recall:12.2f}   {row.clusters.precision:.3f} / "
            f"{row.clusters.recall:.2f}   {row.families.precision:.3f} / {row.families.recall:.2f}",
            flush=True,
        )
        yield row
    print()


def _row(name: str, disguise: disguises.Disguise, pages: Sequence[bytes], truth: Sequence[int]) -> Row:
    made = [disguise(page, random.Random(zlib.crc32(name.encode()) + place)) for place, page in enumerate(pages)]
    added = sum(map(len, made)) / sum(map(len, pages)) - 1
    both = [style_groups(placed(made), Settings(key=key)) for key in KEYS]
    noise = [style_groups(placed(made), Settings(key=key, markup_dimensions=0))[1] for key in KEYS]
    return Row(
        name,
        added,
        _worst([pair_score(labels, truth) for labels in noise]),
        _worst([pair_score(labels, truth) for _, labels in both]),
        _worst([pair_score(labels, truth) for labels, _ in both]),
    )


def placed(contents: Iterable[bytes]) -> list[Page]:
    """Pages on hosts of their own."""
    return [Page(f"http://site{place}.example/", content, "made", place) for place, content in enumerate(contents)]


def _worst(scores: Sequence[PairScore]) -> PairScore:
    return PairScore(*(min(column) for column in zip(*scores, strict=True)))


def bridges(pages: Sequence[bytes], truth: Sequence[int]) -> float:
    """Pages that hold two templates: the worst share of pairs of templates, and keys, whose families they join.

    Gradients and 60 pages do not count: they are told alone.
    """
    sides = [[page for page, label in zip(pages, truth, strict=True) if label == number] for number in range(TEMPLATES)]
    pairs = [(sides[number], sides[(number + 1) % TEMPLATES]) for number in range(TEMPLATES)]
    worst = 0.0
    print(
        f"pages that hold two templates, A and B, beside {COPIES} of each: of pairs of templates and keys, how many are"
    )
    print(f"  {'':62} one family   one cluster")
    for name in bridge_pages(*pairs[0]):
        found = [_are_one(*pair, bridge_pages(*pair)[name], key) for pair in pairs for key in KEYS]
        families, clusters = (sum(column) for column in zip(*found, strict=True))
        print(f"  {name:62} {families:3} of {len(found)}    {clusters:3} of {len(found)}", flush=True)
        is_counted = not name.startswith(("gradient", "60"))
        worst = max(worst, is_counted * families / len(found))
    return worst


def bridge_pages(first: Sequence[bytes], second: Sequence[bytes]) -> dict[str, list[bytes]]:
    """One page, or many, of A and then B; and gradients from A to B, whose every step is a small one."""
    made = {
        "one page A + B": [first[0] + second[0]],
        "5 pages A + B": [left + right for left, right in zip(first[:5], second, strict=False)],
        "20 pages A + B": [left + right for left, right in zip(first, second, strict=True)],
        "60 pages A + B": [left + right for left in first[:8] for right in second[:8]][:60],
    }
    for steps in (2, 3, 5, 10, 20):
        shares = [step / (steps + 1) for step in range(1, steps + 1)]
        made[f"gradient of {steps} pages"] = [_mixed(first[0], second[0], share) for share in shares]
    return made


def _mixed(first: bytes, second: bytes, share: float) -> bytes:
    return first[: int(len(first) * (1 - share))] + second[int(len(second) * (1 - share)) :]


def _are_one(first: Sequence[bytes], second: Sequence[bytes], extra: Sequence[bytes], key: str) -> tuple[bool, bool]:
    """Whether a family, and whether a cluster, holds pages of both templates."""
    found = style_groups(placed([*first, *second, *extra]), Settings(key=key))
    middle, end = len(first), len(first) + len(second)
    families, clusters = (bool(set(labels[:middle]) & set(labels[middle:end])) for labels in found)
    return families, clusters


if __name__ == "__main__":
    main()
