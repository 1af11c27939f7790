"""Pages that a spinner and a template make, and pages that share nothing, as rows of JSONL."""

import json
import random
import re
from pathlib import Path

SPUN = """{The old|A small} kitchen needs {a sharp knife|some clean bowls} before the {guests arrive|winter comes}.
You should keep the {salt|butter|pepper} in a dry {jar|place} because it {saves time|spoils quickly}. When the oven
is {hot enough|really warm}, put in the {bread|pie|cake} and wait for {half an hour|forty minutes}. {Never open|Do not
touch} the {door|lid} before that time, or all of your {work|dough} will {fall together|be lost} in a moment."""
WORDS = [
    f"{begin}{end}" for begin in ("ba", "ko", "lu", "mi", "ne") for end in ("rat", "sol", "ten", "vik", "dor", "gan")
]
FILLED = """We are glad to welcome you in {0} today. {1} Our office in {0} opens at nine in the morning. {1} Please call
the number of {0} that stands below this text. {1} All our guests in {0} receive a small present. {1} We look forward to
your visit in {0} next week."""


def spun(template: str, draw: random.Random) -> str:
    return re.sub(r"\{(.*?)\}", lambda braces: draw.choice(braces[1].split("|")), " ".join(template.split()))


def own_words(draw: random.Random, count: int) -> str:
    """Sentences that nobody else writes."""
    words = [f"{draw.choice(WORDS)}{draw.choice(WORDS)}" for _ in range(count)]
    return " ".join(f"the {word} of" if at % 3 else f"{word}." for at, word in enumerate(words))


def filled(draw: random.Random) -> str:
    return re.sub(r"\{(\d)\}", lambda slot: draw.choice(WORDS) if slot[1] == "0" else own_words(draw, 8), FILLED)


def rows_of(count: int, make: str, seed: int = 1, sites: int = 5) -> list[dict[str, str]]:
    """Pages of one kind on several sites, as rows of JSONL."""
    rows = []
    for number in range(count):
        draw = random.Random(f"{seed} {make} {number}")
        text = {"spun": spun(SPUN, draw), "filled": filled(draw), "own": own_words(draw, 90)}[make]
        url = f"https://{make}{number % sites}.example/{number}"
        rows.append({"url": url, "html": f"<p>{text}</p>", "id": f"{make}-{number}"})
    return rows


def written(path: Path, rows: list[dict[str, str]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


MIXED = [*rows_of(16, "spun"), *rows_of(12, "filled"), *rows_of(30, "own")]
"""A spinner, a template with slots, and pages of their own."""
