"""Hands that the labelled pages do not have: made by us (evaluation/hands), or out of packages of real software.

A made hand is a page with gaps: `{{domain}}`, `{{name}}` (its first label; both also with a capital), `{{keyword}}`,
`{{keyword+}}` (for a query), `{{number}}`, `{{token}}`, `{{host}}` (one a page), and `{{#N}}…{{/}}` for a block that
stands about N times. Each hand is filled for three domains. A page in an old charset is written in it: once declared,
once undeclared, once as UTF-8.

Half of the first hands, by a hash of their name, were read while rules were written; the other half, and all hands that
were made when the rules stood, are for the report alone. One of us made hands and rules: strangers' hands are harder.
"""

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.sites_truth import Home

MADE = Path(__file__).parent / "hands"
DOMAINS = 3
LATE = "-late"
"""How names of hands end that were made after the rules, and are for the report alone."""
_WORDS = (
    "cheap",
    "auto",
    "travel",
    "credit",
    "online",
    "best",
    "insurance",
    "loans",
    "hotel",
    "flights",
    "shoes",
    "degree",
    "software",
    "repair",
    "dental",
    "garden",
    "kitchen",
    "wedding",
    "phone",
    "camera",
    "music",
    "fitness",
    "pet",
    "solar",
    "roof",
    "window",
    "mortgage",
    "tax",
    "legal",
    "storage",
    "moving",
    "school",
    "games",
)
_SUFFIXES = ("com", "net", "org", "info", "de", "co.uk", "io", "xyz")
_REPEATED = re.compile(r"\{\{#(\d+)\}\}(.*?)\{\{/\}\}", re.DOTALL)
_GAP = re.compile(r"\{\{(\w+\+?)\}\}")
_CHARSET = re.compile(r'<meta charset="([\w-]+)">')


def is_reported(hand: str) -> bool:
    """Whether a hand is for the report alone: half of those that were there before the rules, and all later ones."""
    return hand.endswith(LATE) or hashlib.blake2b(hand.encode(), digest_size=1).digest()[0] % 2 == 1


def made_hands(folder: Path = MADE) -> list[Home]:
    """The pages of all made hands: FOLDER/kind/hand.html."""
    return [page for path in sorted(folder.glob("*/*.html")) for page in _filled(path)]


def packaged_hands(folder: Path) -> list[Home]:
    """Pages of real software, as its packages ship them: FOLDER/kind/hand/*.html."""
    return [
        Home(f"{path.parent.name}-site.example", path.read_bytes(), path.parent.parent.name, path.parent.name)
        for path in sorted(folder.glob("*/*/*.html"))
    ]


def _filled(path: Path) -> Iterator[Home]:
    template = path.read_text(encoding="utf-8")
    for number in range(DOMAINS):
        rng = random.Random(f"{path.stem} {number}")
        name = "".join(rng.sample(_WORDS, 2))
        domain = f"{name}.{rng.choice(_SUFFIXES)}"
        yield Home(domain, _encoded(_fill(template, domain, rng), number), path.parent.name, path.stem)


def _fill(template: str, domain: str, rng: random.Random) -> str:
    """The template with its gaps filled."""
    name = domain.partition(".")[0]
    fixed = {"domain": domain, "Domain": domain.capitalize(), "name": name, "Name": name.capitalize()}
    fixed["host"] = f"{rng.getrandbits(40):010x}"

    def value(gap: re.Match[str]) -> str:
        if gap[1] in fixed:
            return fixed[gap[1]]
        if gap[1].startswith("keyword"):
            return ("+" if gap[1].endswith("+") else " ").join(rng.sample(_WORDS, 2))
        return str(rng.randint(100, 999)) if gap[1] == "number" else f"{rng.getrandbits(48):012x}"

    def repeated(block: re.Match[str]) -> str:
        return block[2] * max(1, int(block[1]) + rng.randint(-2, 2))

    return _GAP.sub(value, _REPEATED.sub(repeated, template))


def _encoded(page: str, number: int) -> bytes:
    declared = _CHARSET.search(page)
    if declared is None or declared[1] == "utf-8" or number == 2:
        return _CHARSET.sub('<meta charset="utf-8">', page).encode()
    return (page if number == 0 else _CHARSET.sub("", page)).encode(declared[1], "replace")


def by_hand(pages: Sequence[Home]) -> dict[tuple[str, str], list[Home]]:
    """The pages of each kind and hand."""
    found: dict[tuple[str, str], list[Home]] = {}
    for page in pages:
        found.setdefault((page.kind, page.hand), []).append(page)
    return found
