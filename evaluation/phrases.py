"""Text groups among natural pages: `python -m evaluation.phrases --data FOLDER`.

Pages of generators are planted among about 10,000 natural pages, 20 of each generator on ten sites. Half of the genres
and generators chose the bars (`--choose` prints the choice); the others report. Natural pages stand on the sites of
their owners, and once more each on a site of its own. Prints one report and exits with 1 when a floor is missed.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import samehand
from evaluation.phrases_generators import Maker
from evaluation.phrases_world import WebPage, generators, natural, planted, scattered
from evaluation.style import Floor
from samehand.base.settings import Settings
from samehand.methods.phrases import groups
from samehand.methods.phrases.summary import OWNER

CHOOSING = {"blogs": 1528, "reuters": 2400, "europarl": 1500}
REPORTING = {"imdb": 1235, "webpages": 989, "mail": 2400, "debdoc": 1626}
UNSEEN = {"novels": 3000, "homepages": 4423}
"""Natural pages by genre. The last ones were looked at by nobody before the rules stood."""
CHOSEN_BY = ("grammar.reviews", "spinner.sleep", "slots.doorway", "synonyms.few", "dadadodo.short", "polygen.bio")
CHOSEN_BY += ("polygen.manager", "polygen.reviews")
REPORTED_BY = ("grammar.travel", "spinner.roof", "slots.jobs", "synonyms.many", "dadadodo.long", "polygen.genius")
REPORTED_BY += ("polygen.photoshop", "polygen.artex", "polygen.pythoniser", "polygen.flame")
UNSEEN_BY = ("polygen.thanks", "polygen.sorry", "polygen.nm", "polygen.complaints", "polygen.dplquestion")
PAGES = 20
SIZES = (3, 5, 10, 20, 60)


class Score(NamedTuple):
    """Of the planted pages, how many are in the group of their generator; of the grouped pages, how many belong there.

    `groups` have most of their pages from one generator, `natural` are the other ones, by genre, with their kinds.
    """

    recall: float
    precision: float
    groups: int
    natural: list[str]
    by_maker: dict[str, float]


def main() -> None:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of the corpora")
    parser.add_argument("--choose", action="store_true", help="print how the bars do on the half that chose them")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.choose:
            _choose(arguments.data, Path(folder))
            return
        floors = _report(arguments.data, Path(folder))
    print("\nfloors")
    for floor in floors:
        print(f"{'ok  ' if floor.holds else 'FAIL'}  {floor.name}: {floor.reached:.3f} (floor {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def _choose(data: Path, folder: Path) -> None:
    """The half that chose the bars, around the values that were chosen."""
    pages = [page for genre, most in CHOOSING.items() for page in natural(data, genre, most)]
    pages += planted(generators(data), CHOSEN_BY, 1, PAGES)
    run = _scanned(scattered(pages), folder / "run")
    makers = _makers(pages)
    print("share  phrases  spread  recall  precision  natural groups")
    for share in (0.06, 0.09, 0.12, 0.15, 0.2):
        for phrases, spread in ((3, 3), (5, 3), (3, 4), (5, 4), (7, 4), (5, 5)):
            with _bars(phrases, spread):
                run.compute("phrases", workers=1, min_phrase_share=share + 1e-9 * (10 * phrases + spread))
            found = _score(run, makers, PAGES)
            row = f"{share:5.2f}  {phrases:7}  {spread:6}  {found.recall:6.3f}  {found.precision:9.3f}"
            print(f"{row}  {len(found.natural)}")


@contextmanager
def _bars(phrases: int, spread: int) -> Iterator[None]:
    before = groups.GROUP_PHRASES, groups.LEAST_SPREAD
    groups.GROUP_PHRASES, groups.LEAST_SPREAD = phrases, spread
    try:
        yield
    finally:
        groups.GROUP_PHRASES, groups.LEAST_SPREAD = before


def _report(data: Path, folder: Path) -> list[Floor]:
    """All tables."""
    makers = generators(data)
    everywhere = [page for genre, most in (CHOOSING | REPORTING).items() for page in natural(data, genre, most)]
    left_out = [page for page in everywhere if page.maker in REPORTING]
    unseen = [page for genre, most in UNSEEN.items() for page in natural(data, genre, most)]
    reported = planted(makers, REPORTED_BY, 1, PAGES)
    worlds = {
        "left-out genres, left-out generators": left_out + reported,
        "all genres, left-out generators": everywhere + reported,
        "the same, every natural page on a site of its own": scattered(everywhere + reported),
        "genres and generators that were never looked at": unseen + planted(makers, UNSEEN_BY, 1, PAGES),
    }
    found = {
        name: _measured(name, pages, folder / f"run{number}") for number, (name, pages) in enumerate(worlds.items())
    }
    _print_sizes(makers, everywhere, folder)
    first = found["all genres, left-out generators"]
    return [
        Floor("recall of planted pages, left-out generators", first.recall, 0.95),
        Floor("precision of groups, left-out generators", first.precision, 0.98),
    ]


def _measured(name: str, pages: Sequence[WebPage], place: Path) -> Score:
    """Prints what is found in a world."""
    began = time.process_time()
    run = _scanned(pages, place)
    seconds = time.process_time() - began
    found = _score(run, _makers(pages), PAGES)
    number = sum(not page.is_planted for page in pages)
    print(f"\n{name}: {number:,} natural pages, {len(pages) - number} planted, {seconds:.1f} CPU s")
    print(f"recall {found.recall:.3f}, precision {found.precision:.3f}, {found.groups} groups of generators")
    print("  " + ", ".join(f"{maker} {share:.2f}" for maker, share in sorted(found.by_maker.items())))
    for line in found.natural:
        print(f"  natural: {line}")
    return found


def _print_sizes(makers: dict[str, Maker], pages: Sequence[WebPage], folder: Path) -> None:
    print("\nrecall by the number of pages of a generator")
    for size in SIZES:
        world = [*pages, *planted(makers, REPORTED_BY, 2, size)]
        found = _score(_scanned(world, folder / f"size{size}"), _makers(world), size)
        shares = ", ".join(f"{maker} {share:.2f}" for maker, share in sorted(found.by_maker.items()))
        print(f"{size:4}  {found.recall:.3f}  {shares}")


def _makers(pages: Sequence[WebPage]) -> dict[str, tuple[str, bool]]:
    return {str(number): (page.maker, page.is_planted) for number, page in enumerate(pages)}


def _scanned(pages: Sequence[WebPage], place: Path) -> samehand.Run:
    """A run of pages in an order that says nothing of who made them."""
    order = random.Random(1).sample(range(len(pages)), len(pages))
    source = place.with_suffix(".jsonl")
    with source.open("w", encoding="utf-8") as file:
        for number in order:
            row = {"url": pages[number].url, "html": pages[number].content, "id": str(number)}
            file.write(json.dumps(row) + "\n")
    return samehand.scan(str(source), place, workers=1, signals="phrases", settings=Settings())


def _score(run: samehand.Run, makers: dict[str, tuple[str, bool]], size: int) -> Score:
    members: dict[int, list[str]] = {}
    for row in run.phrase_members():
        members.setdefault(row["text_group_number"], []).append(row["doc_id"])
    wanted = {maker for maker, is_planted in makers.values() if is_planted}
    best: Counter[str] = Counter()
    right = grouped = count = 0
    others = []
    for group in run.phrases():
        inside = Counter(makers[doc_id] for doc_id in members[group["text_group_number"]])
        (maker, is_planted), number = inside.most_common(1)[0]
        if is_planted and 2 * number > group["pages"]:
            best[maker] = max(best[maker], number)
            right, count = right + number, count + 1
        else:
            others.append(f"{maker}, {group['pages']} pages on {group['sites']} sites, {group['group_kind']}")
        grouped += group["pages"] if is_planted or group["group_kind"] != OWNER else 0
    shares = {maker: best[maker] / size for maker in wanted}
    return Score(sum(shares.values()) / len(wanted), right / grouped if grouped else 1.0, count, others, shares)


if __name__ == "__main__":
    main()
