"""Copied text in disguise: `python -m evaluation.evasion_replica --data FOLDER`.

Texts of five kinds, three copies of each, every copy disguised with a seed of its own, among natural texts of others.
Told: pair recall and precision of the groups, and of groups and shared text together. Then the same article inside
another page's template, and what is found among natural texts, where nobody copied on purpose. Exits with 1 when a
floor is missed.

Texts and pages are split in two by a hash. Rules are chosen with one half (`--half chosen`); the report is about the
other half.
"""

import argparse
import dataclasses
import html
import itertools
import random
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evaluation.corpora import HALVES, half_of
from evaluation.disguises import DISGUISES, Disguise
from evaluation.replica_benchmark import Pairs, gram_containment, gram_jaccard, grouped_pairs, sharing_pairs, word_grams
from evaluation.style import Floor
from evaluation.texts import HAM, blogs, human_news, mails, real_pages, reuters, reviews
from samehand.base.buffers import column_buffers
from samehand.base.settings import Settings
from samehand.html import parse_pages, visible_text
from samehand.methods.replica.groups import Replicas, find_replicas
from samehand.methods.replica.lexicon import Blocks
from samehand.methods.replica.method import SHIPPED_LEXICON
from samehand.methods.replica.stage import signer_of

TEXTS, COPIES, NATURAL = 30, 3, 1000
"""Texts of each kind, copies of each text, and natural texts around them."""

WORDS = (100, 400)
PROSE_BLOCK = 12
ARTICLE_BLOCK, ARTICLE_BLOCKS, MOST_BETWEEN = 20, 5, 6
"""A block of an article has so many words, an article so many blocks, and gaps of fewer short ones between them."""

SHARING = 0.3
"""Copied texts whose originals share so many word 4-grams are natural relatives: finding them is neither right nor
wrong."""

FLOORS = {
    ("look-alikes", 0.2): 0.93,
    ("look-alikes of many scripts", 0.2): 0.93,
    ("zero-width spaces", 0.2): 0.93,
    ("salad appended", 0.25): 0.93,
    ("words replaced", 0.1): 0.93,
}
_WORD = re.compile(r"[^\W_]+")


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--half", choices=HALVES, default="reported", help="texts that rules were chosen by, or not")
    chosen = parser.parse_args()
    data = chosen.data
    collections = {
        "blogs": blogs(data),
        "reviews": reviews(data),
        "Reuters": reuters(data),
        "written news": human_news(data),
        "mail": [text for folder in HAM for text in mails(data)[folder]],
    }
    collections = {
        name: [text for text in texts if half_of(text) == chosen.half] for name, texts in collections.items()
    }
    pages = {name: page for name, page in real_pages(data).items() if half_of(page) == chosen.half}
    floors = [*_print_disguises(collections), *_print_templates(pages)]
    _print_natural(collections, pages)
    print("\nfloors")
    for floor in floors:
        print(f"  {'ok  ' if floor.holds else 'MISS'} {floor.name:66} {floor.reached:8.3f} (at least {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def grouped(texts: Sequence[bytes], *, are_pages: bool = False) -> Replicas:
    """What the product finds among texts or HTML pages, with its defaults."""
    settings = Settings()
    data, offsets = column_buffers(pa.array(texts, pa.large_binary()))
    blocks = None
    if are_pages:
        found = parse_pages(data, offsets)
        data, offsets, blocks = found.text, found.text_offsets, Blocks.of_pages(found)
    signed = signer_of(SHIPPED_LEXICON, settings).sign(data, offsets, blocks)
    return find_replicas(np.arange(len(texts)), signed, settings, threads=1)


def _print_disguises(collections: dict[str, list[bytes]]) -> list[Floor]:
    sources, natural, vocabulary = _sample(collections)
    relatives = _relatives([" ".join(words).encode() for words in sources], natural)
    print(f"{len(sources)} texts, {COPIES} copies each, among {len(natural)} natural texts: pair recall and precision")
    print(f"  {'disguise':34} strength    in groups       in groups or sharing text")
    floors = []
    for name, disguise, strengths in DISGUISES:
        for strength in strengths:
            in_groups, in_all = _scores(sources, natural, vocabulary, relatives, disguise, strength)
            cells = "      ".join(f"{recall:.3f} {precision:.3f}" for recall, precision in (in_groups, in_all))
            print(f"  {name:34} {f'{strength:.0%}' if strength else '':>8}   {cells}", flush=True)
            if (name, strength) in FLOORS:
                floors += [
                    Floor(f"{name} {strength:.0%}: recall in groups", in_groups[0], FLOORS[name, strength]),
                    Floor(f"{name} {strength:.0%}: recall in groups or sharing text", in_all[0], 0.99),
                    Floor(f"{name} {strength:.0%}: precision of groups", in_groups[1], 0.99),
                ]
    return [*floors, *_print_hidden(sources, natural, vocabulary, relatives)]


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
    sources: list[list[str]],
    natural: list[bytes],
    vocabulary: list[str],
    relatives: Pairs,
    disguise: Disguise,
    strength: float,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Recall and precision of the groups, and of groups and shared text."""
    copies = [
        " ".join(disguise(list(words), strength, random.Random(f"{number} {copy}"), vocabulary)).encode()
        for number, words in enumerate(sources)
        for copy in range(COPIES)
    ]
    found = grouped([*copies, *natural])
    counted = len(sources), relatives
    return _score(grouped_pairs(found), *counted), _score(sharing_pairs(found), *counted)


def _score(pairs: Pairs, sources: int, relatives: Pairs) -> tuple[float, float]:
    """Copies of one text belong together; pairs of natural texts and of relatives are neither right nor wrong."""
    known = sources * COPIES
    origins = [tuple(page // COPIES if page < known else sources + page - known for page in pair) for pair in pairs]
    right = sum(left == other for left, other in origins)
    wrong = sum(left < sources and left != other and (left, other) not in relatives for left, other in origins)
    return right / (sources * COPIES * (COPIES - 1) / 2), right / max(right + wrong, 1)


def _relatives(sources: list[bytes], natural: list[bytes]) -> Pairs:
    """Different texts that share text by nature: cross-posts, quotes, news written from one release."""
    texts = [*sources, *natural]
    places = defaultdict(list)
    for number, text in enumerate(texts):
        for gram in word_grams(text, 4):
            places[gram].append(number)
    common = defaultdict(int)
    for numbers in places.values():
        for pair in itertools.combinations(numbers, 2) if len(numbers) < 50 else ():
            common[pair] += 1
    sizes = [max(1, len(word_grams(text, 4))) for text in texts]
    return {pair for pair, shared in common.items() if shared / min(sizes[pair[0]], sizes[pair[1]]) >= SHARING}


def _print_hidden(
    sources: list[list[str]], natural: list[bytes], vocabulary: list[str], relatives: Pairs
) -> list[Floor]:
    """As much hidden salad as text, in pages."""
    pages = []
    for number, words in enumerate(sources):
        for copy in range(COPIES):
            added = random.Random(f"{number} {copy}").choices(vocabulary, k=len(words))
            hidden = f'<div style="display:none">{" ".join(added)}</div>'
            pages.append(f"<body><p>{html.escape(' '.join(words))}</p>{hidden}</body>".encode())
    others = [f"<p>{html.escape(text.decode())}</p>".encode() for text in natural]
    found = grouped([*pages, *others], are_pages=True)
    score = _score(grouped_pairs(found), len(sources), relatives)
    print(f"  {'hidden salad, display:none':34} {'100%':>8}   {score[0]:.3f} {score[1]:.3f}")
    return [Floor("hidden salad 100%: recall in groups", score[0], 0.93)]


def _print_templates(pages: dict[str, bytes]) -> list[Floor]:
    """The same article in another page's template, and another article in the same template."""
    parted = [parts for page in pages.values() if (parts := _parted(blocks_of(page)))]
    others = random.Random(5).sample(range(len(parted)), len(parted))
    moved_pages = [_page_of(parted[other][0], parted[own][1], parted[other][2]) for own, other in enumerate(others)]
    found = grouped([*(_page_of(*parts) for parts in parted), *moved_pages], are_pages=True)
    right = wrong = right_shared = wrong_shared = in_parts = 0
    in_groups, in_all = grouped_pairs(found), sharing_pairs(found)
    count, moved = 0, len(parted)
    for own, other in enumerate(others):
        if own != other:
            count += 1
            right += (own, moved + own) in in_groups
            is_wrong = (other, moved + own) in in_groups
            wrong += is_wrong
            in_parts += is_wrong and 2 * _running(parted[other]) > _words(parted[other][1])
            right_shared += (own, moved + own) in in_all
            wrong_shared += (other, moved + own) in in_all
    outside = [1 - _words(parts[1]) / _words(list(itertools.chain(*parts))) for parts in parted]
    print(f"\nthe same article in another page's template ({count} real pages with an article)")
    shares = f"{np.median(outside):.0%} of the words, {np.quantile(outside, 0.9):.0%} in the worst tenth"
    print(f"(outside of the article: {shares})")
    print(f"  {'':40} in groups   in groups or sharing text")
    print(f"  {'same article, other template':40} {right / count:9.3f}   {right_shared / count:9.3f}")
    print(f"  {'same template, other article (wrong)':40} {wrong / count:9.3f}   {wrong_shared / count:9.3f}")
    print(f"    {in_parts} of {wrong} groups: the template holds half as much running text as the article,")
    print("    so the text of the page goes on elsewhere, and both pages share it")
    return [
        Floor("same article in another template: recall in groups", right / count, 0.80),
        Floor("- same template, other article, no text in common: share in groups", (in_parts - wrong) / count, -0.01),
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A block of visible text, and whether at least half of it is links."""

    text: str
    is_menu: bool

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(_WORD.findall(self.text))

    def html(self) -> str:
        """The block as a paragraph."""
        text = html.escape(self.text)
        return f"<p><a href=x>{text}</a></p>" if self.is_menu else f"<p>{text}</p>"


def _words(blocks: Sequence[Block]) -> int:
    return sum(block.words for block in blocks)


def _running(parts: Sequence[Sequence[Block]]) -> int:
    """Words of running text outside of the article."""
    return _words([block for block in (*parts[0], *parts[2]) if block.words >= PROSE_BLOCK and not block.is_menu])


def blocks_of(page: bytes) -> list[Block]:
    """The blocks of the visible text of a page."""
    found = parse_pages(np.frombuffer(page, np.uint8), np.array([0, len(page)]))
    text, bounds = found.text.tobytes(), itertools.pairwise([0, *found.block_ends.tolist()])
    read = (
        Block(" ".join(text[start:end].decode("utf-8", "replace").split()), 2 * links >= end - start)
        for (start, end), links in zip(bounds, found.block_links.tolist(), strict=True)
    )
    return [block for block in read if block.text]


def _parted(blocks: list[Block]) -> list[list[Block]] | None:
    """Blocks before the article, of the article, behind it; None for a page without one.

    The article is the stretch with most words in long blocks, without a gap of MOST_BETWEEN short ones.
    """
    long = [place for place, block in enumerate(blocks) if block.words >= ARTICLE_BLOCK and not block.is_menu]
    stretches: list[list[int]] = []
    for place in long:
        if stretches and place - stretches[-1][-1] <= MOST_BETWEEN:
            stretches[-1].append(place)
        else:
            stretches.append([place])
    best = max(stretches, key=lambda own: sum(blocks[place].words for place in own), default=[])
    if len(best) < ARTICLE_BLOCKS:
        return None
    return [blocks[: best[0]], blocks[best[0] : best[-1] + 1], blocks[best[-1] + 1 :]]


def _page_of(*parts: list[Block]) -> bytes:
    return "".join(block.html() for block in itertools.chain(*parts)).encode()


def _print_natural(collections: dict[str, list[bytes]], pages: dict[str, bytes]) -> None:
    """Pairs found where nobody copied on purpose, and how much text they share."""
    print(
        "\nnatural texts: pairs in groups, and sharing text; of these with a word 5-gram Jaccard of at least 0.5 / 0.1"
    )
    print("(for shared text: word 4-grams of the shorter text in the longer one, at least 0.3)")
    chosen = {name: texts[:600] for name, texts in collections.items()}
    chosen["pages"] = list(pages.values())
    for name, texts in chosen.items():
        found = grouped(texts, are_pages=name == "pages")
        in_groups = grouped_pairs(found)
        shared = sharing_pairs(found) - in_groups
        if name == "pages":
            texts = [visible_text(page).encode() for page in texts]
        likeness = [gram_jaccard(texts[a], texts[b]) for a, b in in_groups]
        held = [gram_containment(texts[a], texts[b]) for a, b in shared]
        print(
            f"  {name:14} {len(texts):5} texts   groups {len(in_groups):4}: {sum(v >= 0.5 for v in likeness):4} / "
            f"{sum(v >= 0.1 for v in likeness):4}   sharing {len(shared):5}: {sum(v >= 0.3 for v in held):5}"
        )


if __name__ == "__main__":
    main()
