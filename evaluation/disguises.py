"""Disguises of copied text: what a spammer can do to ten thousand copies by program.

Each takes the words of a text (as they stand, with their marks), a strength from 0 to 1 and a generator of its own, and
gives a copy that a reader takes for the same text, or for the same text and more.
"""

import itertools
import random
from collections.abc import Callable, Sequence

Words = list[str]
Disguise = Callable[[Words, float, random.Random, Sequence[str]], Words]
"""Words, strength, generator, and a vocabulary or strange sentences to draw from."""

NARROW = dict(zip("aeopcxyijs", "аеорсхуіјѕ", strict=True))
WIDE = {
    "a": "аɑαａ𝐚",
    "b": "Ьｂ𝒃ƀ",
    "c": "сϲｃⅽ",
    "d": "ԁｄⅾ",
    "e": "еҽｅé",
    "g": "ɡցｇ",
    "h": "һհｈ",
    "i": "іıιｉí",
    "j": "јϳ",
    "k": "кκｋ",
    "l": "ӏⅼｌł",
    "m": "мｍⅿ",
    "n": "ոｎñ",
    "o": "оοօσｏø",
    "p": "рρｐ",
    "q": "ԛզ",
    "r": "гｒꭇ",
    "s": "ѕꜱｓ",
    "t": "тτｔ",
    "u": "υսʋｕ",
    "v": "νѵｖ",
    "w": "ԝѡա",
    "x": "хχⅹ",
    "y": "уγүｙ",
    "z": "ᴢｚ",
}
LEET = dict(zip("oieast", "013457", strict=True))


def _some(words: Words, share: float, draw: random.Random, change: Callable[[str], str], longest: int = 3) -> Words:
    """A share of the words changed, among those of at least so many letters."""
    places = [place for place, word in enumerate(words) if len(word) >= longest]
    chosen = set(draw.sample(places, min(len(places), round(share * len(words)))))
    return [change(word) if place in chosen else word for place, word in enumerate(words)]


def look_alikes(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Cyrillic letters that look like Latin ones, every one in the word that has one."""
    return _some(words, share, draw, lambda word: "".join(NARROW.get(letter, letter) for letter in word))


def wide_look_alikes(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """One to three letters of a word replaced from many scripts."""

    def change(word: str) -> str:
        places = [place for place, letter in enumerate(word) if letter in WIDE]
        chosen = set(draw.sample(places, min(len(places), draw.randint(1, 3))))
        return "".join(draw.choice(WIDE[one]) if place in chosen else one for place, one in enumerate(word))

    return _some(words, share, draw, change)


def _inside(inserted: str) -> Disguise:
    def disguise(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
        def change(word: str) -> str:
            place = draw.randint(1, len(word) - 1)
            return word[:place] + draw.choice(inserted) + word[place:]

        return _some(words, share, draw, change)

    return disguise


zero_width = _inside("\u200b")
joiners = _inside("\u200c\u200d\u2060\u00ad\ufeff")
marks = _inside("\u0301\u0308\u0323\u0330\u20dd")


def replaced(words: Words, share: float, draw: random.Random, vocabulary: Sequence[str]) -> Words:
    """Words exchanged for others."""
    chosen = set(draw.sample(range(len(words)), round(share * len(words))))
    return [draw.choice(vocabulary) if place in chosen else word for place, word in enumerate(words)]


def deleted(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Words left out."""
    chosen = set(draw.sample(range(len(words)), round(share * len(words))))
    return [word for place, word in enumerate(words) if place not in chosen]


def inserted(words: Words, share: float, draw: random.Random, vocabulary: Sequence[str]) -> Words:
    """Other words put between."""
    copy = list(words)
    for _ in range(round(share * len(words))):
        copy.insert(draw.randint(0, len(copy)), draw.choice(vocabulary))
    return copy


def swapped(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Neighbours exchanged."""
    copy = list(words)
    for place in draw.sample(range(len(copy) - 1), round(share * len(copy) / 2)):
        copy[place], copy[place + 1] = copy[place + 1], copy[place]
    return copy


def salad(words: Words, share: float, draw: random.Random, vocabulary: Sequence[str]) -> Words:
    """Random words behind the text."""
    return words + draw.choices(vocabulary, k=round(share * len(words)))


def shuffled(words: Words, _: float, draw: random.Random, __: Sequence[str]) -> Words:
    """Sentences in another order."""
    sentences: list[Words] = [[]]
    for word in words:
        sentences[-1].append(word)
        if word.endswith((".", "!", "?")):
            sentences.append([])
    draw.shuffle(sentences)
    return list(itertools.chain(*sentences))


def leet(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Digits in place of letters."""
    return _some(words, share, draw, lambda word: "".join(LEET.get(letter, letter) for letter in word))


def spaced_out(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Blanks between the letters of a word."""
    return _some(words, share, draw, " ".join)


def joined(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Two words without the blank between them."""
    chosen = set(draw.sample(range(len(words)), round(share * len(words) / 2)))
    text = "".join(word + ("" if place in chosen else " ") for place, word in enumerate(words))
    return text.split(" ")


def hyphenated(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """A hyphen inside of words."""
    return _some(words, share, draw, lambda word: f"{word[: len(word) // 2]}-{word[len(word) // 2 :]}", 4)


def transposed(words: Words, share: float, draw: random.Random, _: Sequence[str]) -> Words:
    """Two letters exchanged."""

    def change(word: str) -> str:
        place = draw.randrange(len(word) - 1)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

    return _some(words, share, draw, change)


def everything(words: Words, _: float, draw: random.Random, vocabulary: Sequence[str]) -> Words:
    """10 % replaced, look-alikes and zero-width spaces in 20 %, shuffled, 25 % salad."""
    words = look_alikes(replaced(words, 0.1, draw, vocabulary), 0.2, draw, vocabulary)
    return salad(shuffled(zero_width(words, 0.2, draw, vocabulary), 0, draw, vocabulary), 0.25, draw, vocabulary)


DISGUISES: tuple[tuple[str, Disguise, tuple[float, ...]], ...] = (
    ("none", lambda words, *_: words, (0,)),
    ("look-alikes", look_alikes, (0.1, 0.2, 0.3, 1.0)),
    ("look-alikes of many scripts", wide_look_alikes, (0.1, 0.2, 0.3, 1.0)),
    ("zero-width spaces", zero_width, (0.1, 0.2, 0.3, 1.0)),
    ("joiners and soft hyphens", joiners, (0.2, 1.0)),
    ("combining marks", marks, (0.2, 1.0)),
    ("words replaced", replaced, (0.05, 0.1, 0.2, 0.3)),
    ("words deleted", deleted, (0.1, 0.2, 0.3)),
    ("words inserted", inserted, (0.1, 0.2, 0.3)),
    ("neighbours swapped", swapped, (0.1, 0.3)),
    ("sentences shuffled", shuffled, (0,)),
    ("salad appended", salad, (0.25, 0.5, 1.0, 2.0)),
    ("leet digits", leet, (0.1, 0.2, 0.3)),
    ("letters spaced out", spaced_out, (0.1, 0.2)),
    ("words joined", joined, (0.1, 0.2)),
    ("words hyphenated", hyphenated, (0.1, 0.2)),
    ("letters transposed", transposed, (0.1, 0.2)),
    ("all at once", everything, (0,)),
)
