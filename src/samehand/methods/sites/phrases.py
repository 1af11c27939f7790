"""The wording of kinds of sites (data/site_phrases.txt), compiled for one search of all classes and languages."""

import dataclasses
import functools
import importlib.resources
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import read_only
from samehand.kernels.hashing import GOLDEN
from samehand.kernels.text.folding import BLANK, DROPPED, fold_texts
from samehand.kernels.text.phrases import (
    ANCHOR_BYTES,
    BUCKET_BITS,
    CONTEXT_BITS,
    CONTEXT_FACTOR,
    NO_PHRASE,
    SAMPLE_BYTES,
    Anchors,
    Found,
    find_phrases,
)

SOURCE = "source-"
"""How classes begin that are looked for in the source of a page."""
FEWEST_BYTES = 3
_COMMON = b'-./"=hmupdclrsnioate '
"""The bytes that are most common in pages, the commonest last."""
_ANY = tuple(byte for byte in range(256) if byte & 0x20)
_BLANKS, _FOLDED_BLANKS = (0x20, 0x20 | 9, 0x20 | 10, 0x20 | 13), (0x20, 0x20 | 10)
_BLANK_BYTE = 0x20
_MARKS_EACH, _MOST_MARK_BITS = 64, 19
"""Bits for each anchor, so that few other windows share one; but all of them together stay in the cache."""
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
    blanks = _BLANKS if any(name.startswith(SOURCE) for name in classes) else _FOLDED_BLANKS
    return Phrases(phrases, classes, _anchors([phrase.encode() for phrase in phrases], list(masks.values()), blanks))


def _anchors(phrases: list[bytes], masks: list[int], blanks: tuple[int, ...]) -> Anchors:
    """What the kernel finds different phrases by. `blanks` are what a blank may be, with the bit 0x20 set."""
    if min(map(len, phrases), default=FEWEST_BYTES) < FEWEST_BYTES:
        raise ValueError(f"A phrase needs {FEWEST_BYTES} bytes.")
    threes = Counter(phrase[place : place + 3] for phrase in phrases for place in range(len(phrase) - 2))
    places = [_anchor_places(phrase, threes) for phrase in phrases]
    rows = [
        (window, number, distance % (1 << 32), context)
        for number, phrase in enumerate(phrases)
        for distance in places[number]
        for context in (_context(phrase, distance, blanks),)
        for window in _windows(phrase, distance, blanks)
    ]
    columns = _columns(phrases)
    sampled, samples, counting = zip(*map(_sample, phrases, places), strict=True)
    windows, owners, distances, contexts = (np.array(column, np.uint64) for column in zip(*rows, strict=True))
    hashes = windows * GOLDEN
    order = np.argsort(hashes, kind="stable")
    mark_bits = min(_MOST_MARK_BITS, (_MARKS_EACH * windows.size).bit_length())
    marks = np.zeros(1 << mark_bits, np.uint8)
    marks[hashes >> np.uint64(64 - mark_bits)] = 1
    behind = np.zeros(1 << CONTEXT_BITS, np.uint64)
    np.bitwise_or.at(behind, hashes >> np.uint64(64 - CONTEXT_BITS), contexts)
    buckets = np.searchsorted(hashes[order] >> np.uint64(64 - BUCKET_BITS), np.arange((1 << BUCKET_BITS) + 1))
    return Anchors(
        columns,
        np.packbits(marks, bitorder="little"),
        np.uint64(64 - mark_bits),
        behind,
        buckets.astype(np.int32),
        windows[order].astype(np.uint32),
        owners[order].astype(np.int32),
        distances[order].astype(np.int32),
        np.array(sampled, np.int32),
        np.array(samples, np.uint64),
        np.array(counting, np.uint64),
        columns[np.frombuffer(b"".join(phrases), np.uint8)],
        np.cumsum([0, *map(len, phrases)]).astype(np.int32),
        np.array([_begins_word(phrase) for phrase in phrases], np.uint8),
        np.array(masks, np.uint64),
    )


def _anchor_places(phrase: bytes, threes: Counter[bytes]) -> tuple[int, int]:
    """Where the two anchors of a phrase begin: one after the other, at the bytes that are least common in pages.

    What is common in pages is common in phrases, too: `threes` counts runs of three bytes there. Two bytes of the
    phrase are left behind the anchors, if it is long enough. The anchors of a short phrase reach over its ends.
    """
    if len(phrase) <= ANCHOR_BYTES:
        return -1, 0

    def cost(place: int) -> float:
        single = sum(_COMMON.find(byte) + 1 for byte in phrase[place : place + ANCHOR_BYTES + 1])
        return 0.1 * single + sum(math.log(threes[phrase[at : at + 3]]) for at in range(place, place + 3))

    first = min(range(max(1, len(phrase) - ANCHOR_BYTES - 2)), key=cost)
    return first, first + 1


def _sample(phrase: bytes, places: tuple[int, int]) -> tuple[int, int, int]:
    """Eight bytes of a phrase that tell it from others with the same anchor: where they begin, the bytes with the bit
    0x20 set, and a mask of those that count. Blanks do not, as there are several.
    """
    begin = 0 if places[0] >= SAMPLE_BYTES // 2 else max(0, min(places[1] + ANCHOR_BYTES, len(phrase) - SAMPLE_BYTES))
    sample = phrase[begin : begin + SAMPLE_BYTES]
    mask = bytes(0 if byte == _BLANK_BYTE else 0xFF for byte in sample)
    return begin, int.from_bytes(bytes(byte | 0x20 for byte in sample), "little"), int.from_bytes(mask, "little")


def _choices(phrase: bytes, place: int, blanks: tuple[int, ...]) -> tuple[int, ...]:
    """The bytes that may stand at a place of a phrase or beside it, each with the bit 0x20 set."""
    if not 0 <= place < len(phrase):
        return _ANY
    return blanks if phrase[place] == _BLANK_BYTE else (phrase[place] | 0x20,)


def _windows(phrase: bytes, first: int, blanks: tuple[int, ...]) -> Iterator[int]:
    """The bytes that may stand where an anchor stands, as a number."""
    for chosen in itertools.product(*(_choices(phrase, first + place, blanks) for place in range(ANCHOR_BYTES))):
        yield int.from_bytes(bytes(chosen), "little")


def _context(phrase: bytes, first: int, blanks: tuple[int, ...]) -> int:
    """A bit for each pair of the two bytes that may stand behind an anchor."""
    sides = [
        {byte * CONTEXT_FACTOR >> 3 & 7 for byte in _choices(phrase, first + ANCHOR_BYTES + place, blanks)}
        for place in range(2)
    ]
    return sum(1 << (8 * one + other) for one, other in itertools.product(*sides))


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
