"""Machines that make text by rules, as spammers use them: grammars, spinners, word chains, templates with slots.

A rule is written as spinners write it: `{a|b|c}` stands for one of its alternatives, which may hold others, and
`<name>` for what the rule of that name makes. `<number>` is a random number. The rules are in phrases_rules.toml.
"""

import functools
import random
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

POLYGEN, DADADODO = Path("/usr/games/polygen"), Path("/usr/bin/dadadodo")
THESAURUS = Path("/usr/share/mythes/th_en_US_v2.dat")
PACKAGES = {POLYGEN: "polygen", DADADODO: "dadadodo", THESAURUS: "mythes-en-us"}
"""What the generators need of Debian, and the package that has it."""
RULES = tomllib.loads(Path(__file__).with_name("phrases_rules.toml").read_text(encoding="utf-8"))
_GRAMMARS = Path("/usr/share/polygen/eng")
_TAG, _BRACED, _NAMED, _WORD = (
    re.compile(pattern) for pattern in (r"<[^>]*>", r"\{([^{}]*)\}", r"<(\w+)>", r"[A-Za-z]+")
)
Maker = Callable[[random.Random], str]
"""Makes a text."""


def expanded(rule: str, rules: Mapping[str, str], draw: random.Random) -> str:
    """A text that a rule makes."""
    text, found = rule, _NAMED.search(rule)
    while found:
        name = found.group(1)
        made = str(draw.randint(2, 999)) if name == "number" else f"{{{rules[name]}}}"
        text = text[: found.start()] + _spun(made, draw) + text[found.end() :]
        found = _NAMED.search(text)
    return _spun(text, draw)


def _spun(text: str, draw: random.Random) -> str:
    """Every `{a|b}` replaced by one of its alternatives, the inner ones first."""
    while "{" in text:
        text = _BRACED.sub(lambda braced: draw.choice(braced.group(1).split("|")), text)
    return text


def grammar(name: str) -> Maker:
    """One of our own grammars."""
    return lambda draw: " ".join(expanded("<page>", RULES["grammars"][name], draw).split())


def spinner(name: str) -> Maker:
    """An article written for a spinner."""
    return lambda draw: " ".join(_spun(RULES["spins"][name], draw).split())


@functools.cache
def _thesaurus() -> dict[str, list[str]]:
    """Single words that stand for a word, by Debian's thesaurus: those of its first meaning."""
    found: dict[str, list[str]] = {}
    lines = iter(THESAURUS.read_text(encoding="utf-8").splitlines()[1:])
    for line in lines:
        word, _, meanings = line.partition("|")
        listed = [next(lines) for _ in range(int(meanings))]
        others = [other.split(" (")[0] for other in listed[0].split("|")[1:]]
        found[word] = [other for other in others if other.isalpha() and other != word]
    return found


def synonyms(article: str, share: float) -> Maker:
    """An article in which a share of the words of four letters and more is replaced by synonyms, word for word."""

    def make(draw: random.Random) -> str:
        def replaced(word: re.Match[str]) -> str:
            known = _thesaurus().get(word.group().lower()) if len(word.group()) > 3 else None
            return draw.choice(known) if known and draw.random() < share else word.group()

        return _WORD.sub(replaced, article)

    return make


def slots(name: str, fillers: Sequence[str]) -> Maker:
    """A doorway page: fixed sentences, a city and a trade, and sentences that were taken from elsewhere."""

    def make(draw: random.Random) -> str:
        values = {
            "city": draw.choice(RULES["cities"].split()),
            "trade": draw.choice(RULES["trades"].split("|")),
            "number": str(draw.randint(100, 999)),
        }

        def filled(named: re.Match[str]) -> str:
            return values.get(named.group(1)) or " ".join(draw.sample(fillers, 2))

        return " ".join(_NAMED.sub(filled, RULES["templates"][name]).split())

    return make


def polygen(name: str, words: int = 300) -> Maker:
    """A grammar of Debian's package polygen-data, run until a page is full."""

    def make(draw: random.Random) -> str:
        text = ""
        while len(text.split()) < words:
            command = [str(POLYGEN), "-seed", str(draw.randrange(1 << 30)), "-X", "8", str(_GRAMMARS / f"{name}.grm")]
            text += " " + _TAG.sub(" ", subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return " ".join(text.split()[: 2 * words])

    return make


def dadadodo(source: str, sentences: int = 20) -> Maker:
    """Debian's dadadodo: a chain of words learnt from one small source. It draws its own numbers: no seed."""

    def make(_: random.Random) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(source)
            file.flush()
            command = [str(DADADODO), "-p", "0", "-c", str(sentences), file.name]
            return " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    return make
