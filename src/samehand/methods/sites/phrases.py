"""The wording of kinds of sites (data/site_phrases.txt), compiled for one search of all classes and languages."""

import dataclasses
import functools
import importlib.resources
import itertools
import re
import unicodedata
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import read_only
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.text.phrases import (
    ANCHOR_BYTES,
    BLANK,
    BUCKET_BITS,
    DROPPED,
    MARK_BITS,
    NO_PHRASE,
    Anchors,
    Found,
    find_phrases,
    fold_texts,
)

SOURCE = "source-"
"""How classes begin that are looked for in the source of a page."""
FEWEST_BYTES = 3
_COMMON = b'-./"=hmupdclrsnioate '
"""The bytes that are most common in pages, the commonest last."""
_ANY = tuple(byte for byte in range(256) if byte & 0x20)
_BLANKS = (0x20, 0x20 | 9, 0x20 | 10, 0x20 | 13)
_PLAIN = re.compile(r"[a-z0-9._-]*")
"""Folding leaves such text as it is: nearly all names of hosts."""
_TABLED = (range(0x2100), range(0x3000, 0x3001), range(0xFE00, 0x10000))
"""Characters that folding may change: those of alphabets, and wide forms of ASCII."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Phrases:
    """Phrases, and what they are found by. `classes` are the names of the columns of what is found."""

    phrases: tuple[str, ...]
    classes: tuple[str, ...]
    anchors: Anchors

    def find(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, most: int) -> Found:
        """What the first `most` bytes of texts hold. Texts are folded before; sources are read as they are."""
        shape = (offsets.size - 1, len(self.classes))
        found = Found(np.zeros(shape, np.uint8), np.full(shape, NO_PHRASE, np.int32), np.zeros(shape, np.int32))
        find_phrases(data, offsets, most, self.anchors, found)
        return found


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
    texts: tuple[NDArray[np.uint8], NDArray[np.int64]] = fold_texts(
        read_only(data), read_only(offsets), folding_table(), most
    )
    return texts


def fold(text: str) -> str:
    """One text, folded."""
    if _PLAIN.fullmatch(text):
        return text
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
    """What sources show. They are looked for apart, because few phrases are found faster in long sources."""
    return compile_phrases([pair for pair in shipped_phrases() if pair[0].startswith(SOURCE)])


def compile_phrases(named: Collection[tuple[str, str]]) -> Phrases:
    """Phrases by class. Phrases of sources are folded in their ASCII letters alone, as the source is."""
    classes = tuple(dict.fromkeys(name for name, _ in named))
    masks: dict[str, int] = {}
    for name, phrase in named:
        key = phrase.lower() if name.startswith(SOURCE) else fold(phrase)
        masks[key] = masks.get(key, 0) | 1 << classes.index(name)
    phrases = tuple(masks)
    return Phrases(phrases, classes, _anchors([phrase.encode() for phrase in phrases], list(masks.values())))


def _anchors(phrases: list[bytes], masks: list[int]) -> Anchors:
    """What the kernel finds different phrases by."""
    if min(map(len, phrases), default=FEWEST_BYTES) < FEWEST_BYTES:
        raise ValueError(f"A phrase needs {FEWEST_BYTES} bytes.")
    columns = _columns(phrases)
    rows = [
        (window, number, distance)
        for number, phrase in enumerate(phrases)
        for distance in _anchor_places(phrase)
        for window in _windows(phrase, distance)
    ]
    windows, owners, distances = (np.array(column) for column in zip(*rows, strict=True))
    hashes = windows.astype(np.uint64) * GOLDEN
    order = np.argsort(hashes, kind="stable")
    marks = np.zeros(1 << MARK_BITS, np.uint8)
    marks[hashes >> np.uint64(64 - MARK_BITS)] = 1
    buckets = np.searchsorted(hashes[order] >> np.uint64(64 - BUCKET_BITS), np.arange((1 << BUCKET_BITS) + 1))
    return Anchors(
        columns,
        np.packbits(marks, bitorder="little"),
        buckets.astype(np.int32),
        windows[order].astype(np.uint32),
        owners[order].astype(np.int32),
        distances[order].astype(np.int32),
        columns[np.frombuffer(b"".join(phrases), np.uint8)],
        np.cumsum([0, *map(len, phrases)]).astype(np.int32),
        np.array([_begins_word(phrase) for phrase in phrases], np.uint8),
        np.array(masks, np.uint64),
    )


def _anchor_places(phrase: bytes) -> tuple[int, int]:
    """Where the two anchors of a phrase begin: one after the other, at the bytes that are least common in pages.

    The anchors of a short phrase reach over its ends.
    """
    if len(phrase) <= ANCHOR_BYTES:
        return (0, 1) if len(phrase) == ANCHOR_BYTES else (-1, 0)

    def cost(place: int) -> int:
        return sum(_COMMON.find(byte) + 1 for byte in phrase[place : place + ANCHOR_BYTES + 1])

    first = min(range(len(phrase) - ANCHOR_BYTES), key=cost)
    return first, first + 1


def _windows(phrase: bytes, first: int) -> Iterator[int]:
    """The bytes that may stand where an anchor stands, each with the bit 0x20 set, as a number."""
    choices = []
    for place in range(first, first + ANCHOR_BYTES):
        if not 0 <= place < len(phrase):
            choices.append(_ANY)
        else:
            choices.append(_BLANKS if phrase[place] == _BLANKS[0] else (phrase[place] | 0x20,))
    for chosen in itertools.product(*choices):
        yield int.from_bytes(bytes(chosen), "little")


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
