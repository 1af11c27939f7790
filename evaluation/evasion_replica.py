"""Copied text in disguise: `python -m evaluation.evasion_replica --data FOLDER`.

Texts of five kinds, three copies of each, every copy disguised with a seed of its own, among natural texts of others.
Told: pair recall and precision of the groups, and of groups and shared text together. Then the same article inside
another page's template, and what is found among natural texts, where nobody copied on purpose. Exits with 1 when a
floor is missed.
"""

import argparse
import itertools
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluation.disguises import DISGUISES, Disguise
from evaluation.style import Floor
from evaluation.texts import HAM, blogs, human_news, mails, real_pages, reuters, reviews
from samehand.base.buffers import column_buffers
from samehand.base.settings import Settings
from samehand.html import visible_text
from samehand.methods.replica.groups import Replicas, find_replicas
from samehand.methods.replica.lexicon import Blocks
from samehand.methods.replica.method import SHIPPED_LEXICON, signer_of

TEXTS, COPIES, NATURAL = 30, 3, 1000
"""Texts of each kind, copies of each text, and natural texts around them."""

WORDS = (100, 400)
ARTICLE_LINE, ARTICLE_LINES = 20, 5
"""A page has an article if it has so many lines of so many words; the article is from the first to the last of them."""

FLOORS = {
    ("look-alikes", 0.2): 0.93,
    ("look-alikes of many scripts", 0.2): 0.93,
    ("zero-width spaces", 0.2): 0.93,
    ("salad appended", 0.25): 0.93,
    ("words replaced", 0.1): 0.93,
}
Pairs = set[tuple[int, int]]
_WORD = re.compile(r"[^\W_]+")


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    collections = {
        "blogs": blogs(data),
        "reviews": reviews(data),
        "Reuters": reuters(data),
        "written news": human_news(data),
        "mail": [text for folder in HAM for text in mails(data)[folder]],
    }
    floors = [*_print_disguises(collections), *_print_templates(real_pages(data))]
    _print_natural(collections, real_pages(data))
    print("\nfloors")
    for floor in floors:
        print(f"  {'ok  ' if floor.holds else 'MISS'} {floor.name:66} {floor.reached:8.3f} (at least {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def grouped(texts: Sequence[bytes], *, are_pages: bool = False) -> Replicas:
    """What the product finds among texts, with its defaults."""
    settings = Settings()
    data, offsets = column_buffers(pa.array(texts, pa.large_binary()))
    blocks = Blocks.lines(data, offsets) if are_pages else None
    signed = signer_of(SHIPPED_LEXICON, settings).sign(data, offsets, blocks)
    return find_replicas(np.arange(len(texts)), signed, settings, threads=1)


def grouped_pairs(found: Replicas) -> Pairs:
    """Pairs of documents in one group."""
    groups = defaultdict(list)
    for row in found.members.select(["page_id", "replica_group_id"]).to_pylist():
        groups[row["replica_group_id"]].append(row["page_id"])
    return _inner_pairs(groups.values())


def sharing_pairs(found: Replicas) -> Pairs:
    """Pairs of documents in one group, or told to share text with the same document or with each other."""
    group = {row["page_id"]: row["replica_group_id"] for row in found.members.to_pylist()}
    stars = defaultdict(set)
    for row in found.shares.to_pylist():
        stars[row["with_page_id"]] |= {row["page_id"], row["with_page_id"]}
    for centre, star in stars.items():
        star |= {page for page, own in group.items() if own == group.get(centre)}
    return grouped_pairs(found) | _inner_pairs(stars.values())


def _inner_pairs(groups: Iterable[Iterable[int]]) -> Pairs:
    return {pair for group in groups for pair in itertools.combinations(sorted(group), 2)}


def _print_disguises(collections: dict[str, list[bytes]]) -> list[Floor]:
    sources, natural, vocabulary = _sample(collections)
    print(f"{len(sources)} texts, {COPIES} copies each, among {len(natural)} natural texts: pair recall and precision")
    print(f"  {'disguise':34} strength    in groups       in groups or sharing text")
    floors = []
    for name, disguise, strengths in DISGUISES:
        for strength in strengths:
            in_groups, in_all = _scores(sources, natural, vocabulary, disguise, strength)
            cells = "      ".join(f"{recall:.3f} {precision:.3f}" for recall, precision in (in_groups, in_all))
            print(f"  {name:34} {f'{strength:.0%}' if strength else '':>8}   {cells}", flush=True)
            if (name, strength) in FLOORS:
                floors += [
                    Floor(f"{name} {strength:.0%}: recall in groups", in_groups[0], FLOORS[name, strength]),
                    Floor(f"{name} {strength:.0%}: recall in groups or sharing text", in_all[0], 0.99),
                    Floor(f"{name} {strength:.0%}: precision of groups", in_groups[1], 0.99),
                ]
    return [*floors, *_print_hidden(sources, natural, vocabulary)]


def _sample(collections: dict[str, list[bytes]]) -> tuple[list[list[str]], list[bytes], list[str]]:
    """Texts to copy as words, natural texts of others, and a vocabulary to draw words from."""
    draw = random.Random(17)
    sources, natural = [], []
    for texts in collections.values():
        usable = [words for text in texts if len(words := text.decode("utf-8", "replace").split()) >= WORDS[0]]
        chosen = draw.sample(usable, TEXTS + NATURAL // len(collections))
        sources += [words[: draw.randint(*WORDS)] for words in chosen[:TEXTS]]
        natural += [" ".join(words).encode() for words in chosen[TEXTS:]]
    vocabulary = sorted({word for text in natural for word in text.decode().split() if word.isalpha()})
    return sources, natural, vocabulary


def _scores(
    sources: list[list[str]], natural: list[bytes], vocabulary: list[str], disguise: Disguise, strength: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Recall and precision of the groups, and of groups and shared text."""
    copies = [
        " ".join(disguise(list(words), strength, random.Random(f"{number} {copy}"), vocabulary)).encode()
        for number, words in enumerate(sources)
        for copy in range(COPIES)
    ]
    found = grouped([*copies, *natural])
    return _score(grouped_pairs(found), len(sources)), _score(sharing_pairs(found), len(sources))


def _score(pairs: Pairs, sources: int) -> tuple[float, float]:
    """Copies of one text belong together; a pair of two natural texts is neither right nor wrong here."""
    known = sources * COPIES
    right = sum(right < known and left // COPIES == right // COPIES for left, right in pairs)
    wrong = sum(left < known for left, _ in pairs) - right
    return right / (sources * COPIES * (COPIES - 1) / 2), right / max(right + wrong, 1)


def _print_hidden(sources: list[list[str]], natural: list[bytes], vocabulary: list[str]) -> list[Floor]:
    """As much hidden salad as text, in pages."""
    pages = []
    for number, words in enumerate(sources):
        for copy in range(COPIES):
            added = random.Random(f"{number} {copy}").choices(vocabulary, k=len(words))
            hidden = f'<div style="display:none">{" ".join(added)}</div>'
            pages.append(visible_text(f"<body><p>{' '.join(words)}</p>{hidden}</body>".encode()).encode())
    found = grouped([*pages, *natural], are_pages=True)
    score = _score(grouped_pairs(found), len(sources))
    print(f"  {'hidden salad, display:none':34} {'100%':>8}   {score[0]:.3f} {score[1]:.3f}")
    return [Floor("hidden salad 100%: recall in groups", score[0], 0.93)]


def _print_templates(pages: dict[str, bytes]) -> list[Floor]:
    """The same article in another page's template, and another article in the same template."""
    parted = [parts for page in pages.values() if (parts := _parted(visible_text(page)))]
    draw = random.Random(5)
    others = draw.sample(range(len(parted)), len(parted))
    right = wrong = 0
    right_shared = wrong_shared = 0
    texts = []
    for own, other in enumerate(others):
        before, _, after = parted[other]
        texts.append("\n".join([*before, *parted[own][1], *after]).encode())
    originals = ["\n".join(itertools.chain(*parts)).encode() for parts in parted]
    found = grouped([*originals, *texts], are_pages=True)
    in_groups, in_all = grouped_pairs(found), sharing_pairs(found)
    count, moved = 0, len(parted)
    for own, other in enumerate(others):
        if own != other:
            count += 1
            right += (own, moved + own) in in_groups
            wrong += (other, moved + own) in in_groups
            right_shared += (own, moved + own) in in_all
            wrong_shared += (other, moved + own) in in_all
    print(f"\nthe same article in another page's template ({count} real pages with an article)")
    print(f"  {'':40} in groups   in groups or sharing text")
    print(f"  {'same article, other template':40} {right / count:9.3f}   {right_shared / count:9.3f}")
    print(f"  {'same template, other article (wrong)':40} {wrong / count:9.3f}   {wrong_shared / count:9.3f}")
    return [
        Floor("same article in another template: recall in groups", right / count, 0.80),
        Floor("- same template, other article: share in groups", -wrong / count, -0.10),
    ]


def _parted(text: str) -> tuple[list[str], list[str], list[str]] | None:
    """Lines before the article, of the article, behind it; None for a page without one."""
    lines = [line for line in text.split("\n") if line.strip()]
    long = [place for place, line in enumerate(lines) if len(_WORD.findall(line)) >= ARTICLE_LINE]
    if len(long) < ARTICLE_LINES:
        return None
    return lines[: long[0]], lines[long[0] : long[-1] + 1], lines[long[-1] + 1 :]


def _print_natural(collections: dict[str, list[bytes]], pages: dict[str, bytes]) -> None:
    """Pairs found where nobody copied on purpose, and how much text they share."""
    print(
        "\nnatural texts: pairs in groups, and sharing text; of these with a word 5-gram Jaccard of at least 0.5 / 0.1"
    )
    print("(for shared text: word 4-grams of the shorter text in the longer one, at least 0.3)")
    chosen = {name: texts[:600] for name, texts in collections.items()}
    chosen["pages"] = [visible_text(page).encode() for page in pages.values()]
    for name, texts in chosen.items():
        found = grouped(texts, are_pages=name == "pages")
        in_groups = grouped_pairs(found)
        shared = sharing_pairs(found) - in_groups
        likeness = [_jaccard(texts[a], texts[b]) for a, b in in_groups]
        held = [_containment(texts[a], texts[b]) for a, b in shared]
        print(
            f"  {name:14} {len(texts):5} texts   groups {len(in_groups):4}: {sum(v >= 0.5 for v in likeness):4} / "
            f"{sum(v >= 0.1 for v in likeness):4}   sharing {len(shared):5}: {sum(v >= 0.3 for v in held):5}"
        )


def _grams(text: bytes, size: int) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.decode("utf-8", "replace").lower())
    return {tuple(words[place : place + size]) for place in range(len(words) - size + 1)}


def _jaccard(left: bytes, right: bytes) -> float:
    one, other = _grams(left, 5), _grams(right, 5)
    return len(one & other) / max(1, len(one | other))


def _containment(left: bytes, right: bytes) -> float:
    one, other = _grams(left, 4), _grams(right, 4)
    return len(one & other) / max(1, min(len(one), len(other)))


if __name__ == "__main__":
    main()
