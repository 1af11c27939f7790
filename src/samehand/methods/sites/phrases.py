"""The wording of kinds of sites (data/site_phrases.txt), compiled to one automaton for all classes and languages."""

import dataclasses
import functools
import importlib.resources
import unicodedata
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.kernels.text.phrases import BLANK, DROPPED, NO_PHRASE, Automaton, find_phrases, fold_texts

SOURCE = "source-"
"""How classes begin that are looked for in the source of a page."""
_TABLED = (range(0x2100), range(0x3000, 0x3001), range(0xFE00, 0x10000))
"""Characters that folding may change: those of alphabets, and wide forms of ASCII."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """Phrases, and the automaton that finds them. `classes` are the names of the columns of what is found."""

    phrases: tuple[str, ...]
    classes: tuple[str, ...]
    automaton: Automaton

    def find(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, most: int) -> "Found":
        """What the first `most` bytes of texts hold. Texts are folded before; sources are read as they are."""
        shape = (offsets.size - 1, len(self.classes))
        found = Found(np.zeros(shape, np.uint8), np.full(shape, NO_PHRASE, np.int32), np.zeros(shape, np.int32))
        find_phrases(data, offsets, most, self.automaton, found.counts, found.first, found.longest)
        return found


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Different phrases by text (row) and class (column): how many, the first one, and the bytes of the longest."""

    counts: NDArray[np.uint8]
    first: NDArray[np.int32]
    longest: NDArray[np.int32]


def fold_character(code: int) -> int:
    """The folded form of a character: lower case, without accents, wide forms as ASCII; DROPPED if nothing is left.

    Characters that would become longer in UTF-8 stay as they are.
    """
    character = chr(code)
    if character.isspace() or code == 0xA0:
        return BLANK
    if unicodedata.category(character) in ("Cf", "Cc", "Co", "Cs") or 0x300 <= code < 0x370 or code >= 0xFFF0:
        return DROPPED
    if character in "‘’ʼ`´":  # the apostrophes of different keyboards
        return ord("'")
    if code >= 0x80 and character != "…" and unicodedata.category(character).startswith("P"):  # a word begins behind it
        return BLANK
    folded = unicodedata.normalize("NFKD", character.lower())[:1].lower()
    if code == 0x131:  # the dotless i of Turkish
        folded = "i"
    return ord(folded) if len(folded.encode()) <= len(character.encode()) else code


@functools.cache
def folding_table() -> NDArray[np.uint16]:
    """`fold_character` of the Basic Multilingual Plane; scripts without case are left as they are."""
    table = np.arange(1 << 16, dtype=np.uint16)
    for codes in _TABLED:
        table[codes.start : codes.stop] = [fold_character(code) for code in codes]
    return table


def folded(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as `Phrases.find` and the words of sites want them."""
    texts: tuple[NDArray[np.uint8], NDArray[np.int64]] = fold_texts(data, offsets, folding_table(), most)
    return texts


def fold(text: str) -> str:
    """One text, folded."""
    data = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
    return folded(data, np.array([0, data.size]), data.size)[0].tobytes().decode()


def read_phrases(text: str) -> Iterator[tuple[str, str]]:
    """Class and phrase, in the order of the file."""
    name = ""
    for line in text.splitlines():
        if line.startswith("["):
            name = line.strip("[] ")
        elif line and not line.startswith("#"):
            for phrase in line.partition(": ")[2].split(";"):
                yield name, phrase.strip()


def shipped_phrases() -> list[tuple[str, str]]:
    """Class and phrase of all phrases of data/site_phrases.txt."""
    data = importlib.resources.files("samehand") / "data" / "site_phrases.txt"
    return list(read_phrases(data.read_text(encoding="utf-8")))


@functools.cache
def wording() -> Phrases:
    """What titles and texts say."""
    return compile_phrases([pair for pair in shipped_phrases() if not pair[0].startswith(SOURCE)])


@functools.cache
def source_signs() -> Phrases:
    """What sources show. An automaton of its own, because it is small enough to stay in the cache over long sources."""
    return compile_phrases([pair for pair in shipped_phrases() if pair[0].startswith(SOURCE)])


def compile_phrases(named: Collection[tuple[str, str]]) -> Phrases:
    """Phrases by class. Phrases of sources are folded in their ASCII letters alone, as the source is."""
    classes = tuple(dict.fromkeys(name for name, _ in named))
    masks: dict[str, int] = {}
    for name, phrase in named:
        key = phrase.lower() if name.startswith(SOURCE) else fold(phrase)
        masks[key] = masks.get(key, 0) | 1 << classes.index(name)
    phrases = tuple(masks)
    return Phrases(phrases, classes, _automaton([phrase.encode() for phrase in phrases], list(masks.values())))


def _automaton(phrases: list[bytes], masks: list[int]) -> Automaton:
    """The automaton of different phrases: a trie, whose missing moves lead where the longest suffix would go."""
    columns = _columns(phrases)
    width = int(columns.max()) + 1
    children: list[dict[int, int]] = [{}]
    ends = [NO_PHRASE]
    for number, phrase in enumerate(phrases):
        state = 0
        for column in columns[list(phrase)].tolist():
            if column not in children[state]:
                children[state][column] = len(children)
                children.append({})
                ends.append(NO_PHRASE)
            state = children[state][column]
        ends[state] = number
    if len(children) > 1 << 16:
        raise ValueError("The phrases need more states than 16 bits can number.")
    moves, shorter = np.zeros((len(children), width), np.uint16), np.zeros(len(children), np.uint16)
    suffixes = [0] * len(children)
    waiting = [0]
    for state in waiting:  # grows while it is read: breadth first
        if state:
            moves[state] = moves[suffixes[state]]
            suffix = suffixes[state]
            shorter[state] = suffix if ends[suffix] != NO_PHRASE else shorter[suffix]
        for column, child in children[state].items():
            suffixes[child] = int(moves[suffixes[state], column]) if state else 0
            waiting.append(child)
        for column, child in children[state].items():
            moves[state, column] = child
    return Automaton(
        columns,
        moves.reshape(-1),
        np.where(np.array(ends) != NO_PHRASE, np.arange(len(ends)), shorter).astype(np.uint16),
        shorter,
        np.array(ends, np.int32),
        np.array([len(phrase) for phrase in phrases], np.int32),
        np.array([_begins_word(phrase) for phrase in phrases], np.bool_),
        np.array(masks, np.uint64),
    )


def _columns(phrases: list[bytes]) -> NDArray[np.uint8]:
    """A column for each byte that phrases hold; 0 for all others. Case and the kind of blank do not count."""
    columns = np.zeros(256, np.uint8)
    used = sorted(set(b"".join(phrases)))
    columns[used] = np.arange(1, len(used) + 1)
    for small in range(ord("a"), ord("z") + 1):
        columns[small - 32] = columns[small]
    columns[[9, 10, 13]] = columns[32]
    return columns


def _begins_word(phrase: bytes) -> bool:
    """Whether a phrase must begin a word: if it begins with a letter or digit of ASCII, Latin, Greek or Cyrillic."""
    first = phrase.decode()[0]
    return first.isalnum() and ord(first) < 0x530


@functools.cache
def parking_hosts() -> frozenset[str]:
    """Hosts and name servers that serve parked domains and nothing else."""
    return frozenset(phrase for name, phrase in shipped_phrases() if name == f"{SOURCE}parking-host")
