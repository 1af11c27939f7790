"""Farms that are planted among real pages, and groups of honest sites that look like farms.

Farms: one template on ten sites with spun text, with the text of a grammar, of a chain of words, with keywords, or with
the same articles and links to each other. Honest: papers of one publisher that link to each other, blogs with one
theme, mirrors of a manual, a franchise with the same text in each town. The 989 other pages are real.
"""

import itertools
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import samehand
from evaluation.phrases_generators import grammar, spinner
from evaluation.sites_truth import other_pages
from evaluation.style import Floor
from evaluation.texts import blogs, documentation, written_news
from samehand.methods.sites.verdicts import FARM
from samehand.sources.http.charset import as_utf8, to_ascii_compatible
from samehand.store.tables import SITES

SITES_OF_A_HAND, PAGES_OF_A_SITE, CHAIN_WORDS, KEYWORDS = 10, 4, 600, 300
_TOWNS = ("Ash", "Birch", "Cedar", "Dale", "Elm", "Fern", "Glen", "Heath", "Ivy", "Juniper")
_LABELS = ("amber", "bronze", "copper", "denim", "ember", "flint", "garnet", "hazel", "indigo", "jade")
Text = Callable[[int, int, random.Random], str]
"""The text of page j of site i."""


def print_farms(data: Path) -> tuple[list[Floor], list[bool]]:
    """Prints which planted farms are found, and which honest sites are called farms.

    Returns the floors, and for each hand that is called a farm whether it is one.
    """
    said = _said(data)
    found: dict[str, list[bool]] = {}
    for site, kind in said.items():
        _, is_planted, hand = site.removesuffix(".example").partition("-")
        name = hand if is_planted and hand.startswith(("bad-", "good-")) else "real pages"
        found.setdefault(name, []).append(kind == FARM)
    print("\nfarms planted among real pages: sites called farm, of all")
    for name, calls in sorted(found.items()):
        print(f"  {name:24} {sum(calls):4} of {len(calls)}")
    farms = [calls for name, calls in found.items() if name.startswith("bad-")]
    honest = [call for name, calls in found.items() if not name.startswith("bad-") for call in calls]
    hands = sum(2 * sum(calls) >= len(calls) for calls in farms) / len(farms)
    voices = [name.startswith("bad-") for name, calls in found.items() if any(calls)]
    floors = [
        Floor("farms: planted hands found", hands, 0.8),
        Floor("farms: honest sites not called farm", 1 - sum(honest) / len(honest), 1.0),
    ]
    return floors, voices


def _said(data: Path) -> dict[str, str]:
    """The kind of each site after a scan with all methods."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "pages.jsonl"
        with table.open("w") as file:
            for url, html in _world(data):
                file.write(json.dumps({"url": url, "html": html}) + "\n")
        run = samehand.scan(str(table), Path(folder) / "run", signals="all", workers=1)
        rows = run.folder.read(SITES, ["site", "kind"]).to_pylist()
    return {row["site"]: row["kind"] for row in rows}


def _world(data: Path) -> Iterator[tuple[str, str]]:
    for number, page in enumerate(other_pages(data)):
        content = as_utf8(*to_ascii_compatible(page.content, None)).decode("utf-8", "replace")
        yield f"http://{page.domain}/{number}", content
    news = [text.decode("utf-8", "replace") for text in written_news(data)]
    posts = [text.decode("utf-8", "replace") for text in blogs(data) if len(text) > 1500]
    manual = [text.decode("utf-8", "replace") for text in documentation(data)[:PAGES_OF_A_SITE]]
    words = " ".join(news[:60]).split()
    franchise = " ".join(news[200].split()[:120])
    hands: dict[str, tuple[Text, bool]] = {
        "bad-spun": (lambda i, j, draw: spinner("sleep")(draw), False),
        "bad-grammar": (lambda i, j, draw: grammar("travel")(draw), False),
        "bad-chain": (lambda i, j, draw: _chain(words, draw), False),
        "bad-keywords": (lambda i, j, draw: " ".join(draw.choices(words, k=KEYWORDS)), False),
        "bad-copied": (lambda i, j, draw: " ".join(news[100 + j].split()[:40]), True),
        "good-papers": (lambda i, j, draw: news[300 + PAGES_OF_A_SITE * i + j], True),
        "good-blogs": (lambda i, j, draw: posts[PAGES_OF_A_SITE * i + j], False),
        "good-mirrors": (lambda i, j, draw: manual[j], False),
        "good-franchise": (lambda i, j, draw: f"{_TOWNS[i]}. {franchise} Visit us in {_TOWNS[i]}.", True),
    }
    for name, (text, is_linked) in hands.items():
        yield from _sites(name, text, is_linked=is_linked)


def _sites(hand: str, text: Text, *, is_linked: bool) -> Iterator[tuple[str, str]]:
    """The pages of a hand: its template, drawn once, and the texts."""
    draw = random.Random(hand)
    names = [f"{label}-{hand}.example" for label in draw.sample(_LABELS, SITES_OF_A_HAND)]
    head, foot = _template(draw)
    for i, site in enumerate(names):
        for j in range(PAGES_OF_A_SITE):
            paragraphs = "".join(f"<p>{part}</p>\n" for part in _parts(text(i, j, draw)))
            others = names if is_linked else []
            links = "".join(f'<li><a href="http://{other}/">{other}</a></li>' for other in others if other != site)
            html = (
                f"<!DOCTYPE html><html><head><title>{site} {j}</title></head><body>{head}<main>{paragraphs}</main>"
                f"<ul>{links}</ul>{foot}</body></html>"
            )
            yield f"http://{site}/p{j}.html" if j else f"http://{site}/", html


def _template(draw: random.Random) -> tuple[str, str]:
    """What stands before and behind the text on all pages of a hand: blocks with words of their own, as themes have."""
    tags, blocks = ("div", "section", "aside", "header", "ul", "table", "nav", "h2", "h3", "p", "form", "footer"), []
    for number in range(60):
        tag, name, other = draw.choice(tags), f"{draw.getrandbits(20):05x}", f"{draw.getrandbits(16):04x}"
        label = f"{draw.choice(_LABELS)} {draw.choice(_TOWNS)} {draw.choice(_LABELS)}"
        inside = draw.choice(
            (
                f'<a href="/{name}" rel="{other}">{label}</a>',
                f'<img src="/i/{name}.png" alt="{label}">',
                f"<b>{label}</b>",
            )
        )
        blocks.append(f'<{tag} class="{name} x-{other}" id="{other}_{number}">{inside}</{tag}>\n')
    return "".join(blocks[:30]), "".join(blocks[30:])


def _parts(text: str) -> Iterator[str]:
    """Paragraphs of about 80 words."""
    words = text.replace("<", " ").replace("&", " ").split()
    for start in range(0, len(words), 80):
        yield " ".join(words[start : start + 80])


def _chain(words: list[str], draw: random.Random) -> str:
    """A chain in which each word follows the one before as in the source."""
    after: dict[str, list[str]] = {}
    for word, following in itertools.pairwise(words):
        after.setdefault(word, []).append(following)
    made = [draw.choice(words)]
    while len(made) < CHAIN_WORDS:
        made.append(draw.choice(after.get(made[-1]) or words))
    return " ".join(made)
