"""The word kernels equal their readable references: words of any script, signatures, cosines, buckets, matches."""

import hashlib
import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import reference
from samehand.kernels import buckets
from samehand.kernels.text import signing, wordsets
from samehand.kernels.text import words as kernel
from samehand.kernels.text.wordsets import SetRows
from samehand.methods.replica.folding import folded
from samehand.methods.replica.lexicon import WordReader

MASK = reference.MASK
PIECES = [
    "word",
    "Ünïcode",
    "a",
    "ab1",
    "abc1",
    "ab12cd",
    "ΟΔΟΣ",
    "οδος",
    "İstanbul",
    "हिन्दी",
    "слово",
    "五六七八",
    "e\u0301a",
    "ВАNК",
    "wоrld",
    "Видеo",
    "кapтa",
    "ⓐⓑⓒd",
    "ＡＢＣＤ",
    "ไทยไทย",
    "καιρον",
    "й",
    "ї",
    "Łódź",
]
MARKS = [
    " ",
    "-",
    "\n",
    "_",
    "\u00ad",
    "\u200b",
    "\u200d",
    "\ufe0f",
    "\u0301",
    "\u3164",
    "²",
    "½",
    "٣",
    "\x00",
    "\ufffd",
]
TEXTS = st.one_of(
    st.binary(max_size=120),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
    st.lists(st.sampled_from(PIECES + MARKS), max_size=40).map(lambda parts: "".join(parts).encode()),
    st.lists(
        st.sampled_from([b"word", b"\xc3", b"\xa9", b"\xe2\x82", b"\xf0\x9f", b"\xed\xa0\x80", b"\xc0\xaf"]),
        max_size=20,
    ).map(b"".join),
)


def words_of(text: bytes, min_characters: int = 4, max_digits: int = 1) -> list[str]:
    """The words of a text in order, folded, repeats included."""
    return [word for word, digits in runs_of(text) if len(word) >= min_characters and digits <= max_digits]


def runs_of(text: bytes) -> list[tuple[str, int]]:
    """Every run of characters of a text, folded, and how many digits it has."""
    found, run = [], []
    for character in [*text.decode("utf-8", "replace"), " "]:
        kind, code, letter = folded(character)
        before = [one for one, _, _ in run if one != kernel.MARK][-1:]
        if kind == kernel.SEPARATOR or (kind == kernel.ZERO_WIDTH and before == [kernel.UNSPACED]):
            if run:
                found.append((read_run(run), sum(one == kernel.DIGIT for one, _, _ in run)))
            run = []
        elif kind < kernel.MARK or (kind == kernel.MARK and run):
            run.append((kind, code, letter))
    return found


def read_run(run: list[tuple[int, int, int]]) -> str:
    """As a Latin word if it holds Latin letters and all others look Latin; as it is otherwise."""
    kinds = [kind for kind, _, _ in run]
    latin, alike, weak = (kinds.count(kind) for kind in (kernel.LATIN, kernel.ALIKE, kernel.WEAK))
    is_strange = {kernel.OTHER, kernel.UNSPACED, kernel.MARK} & set(kinds)
    if latin and alike + weak and not is_strange and (not weak or latin >= alike + weak):
        return "".join(chr(96 + letter) if letter else chr(code) for _, code, letter in run)
    return "".join(chr(code) for _, code, _ in run)


def mix(value: int) -> int:
    value = ((value ^ (value >> 32)) * 0xFF51AFD7ED558CCD) & MASK
    value = ((value ^ (value >> 29)) * 0x9E3779B97F4A7C15) & MASK
    return value ^ (value >> 32)


def word_hash(word: str, key: str = "samehand") -> int:
    drawn = hashlib.shake_256(b"samehand words 1\0" + key.encode()).digest(16)
    state, multiplier = int.from_bytes(drawn[:8], "little"), int.from_bytes(drawn[8:], "little") | 1
    for character in word:
        state = ((state ^ ord(character)) * multiplier) & MASK
        state ^= state >> 32
    return max(mix(state), 1)


def buffers(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)]).astype(np.int64)


def rows(starts: NDArray[np.int64], values: NDArray[np.uint64]) -> list[list[int]]:
    return [values[a:b].tolist() for a, b in itertools.pairwise(starts)]


@given(
    st.lists(TEXTS, max_size=5), st.sampled_from([1, 3, 4, 7]), st.integers(0, 2), st.sampled_from(["samehand", "x"])
)
@example([b"", b"word", b"wor", b"word word WORD"], 4, 1, "samehand")
def test_word_sets_equal_reference(texts: list[bytes], least: int, digits: int, key: str) -> None:
    found = WordReader(key, least, digits).word_sets(*buffers(texts))
    expected = [sorted({word_hash(word, key) for word in words_of(text, least, digits)}) for text in texts]
    assert rows(*found) == expected


@given(st.characters(), st.characters(min_codepoint=0x80))
def test_every_character_is_what_python_says(first: str, second: str) -> None:
    text = f"{first}{second}xyz{second}{first}".encode("utf-8", "replace")
    found = rows(*WordReader(min_characters=1).word_sets(*buffers([text])))[0]
    assert found == sorted({word_hash(word) for word in words_of(text, 1)})


def same(*texts: str) -> bool:
    found = rows(*WordReader(min_characters=1).word_sets(*buffers([text.encode() for text in texts])))
    return all(one == found[0] for one in found)


@pytest.mark.parametrize(
    "texts",
    [
        ("password", "pass\u00adword", "pass\ufe0fword", "pass\u200bword", "pass\u2060word", "pa\u0301ssword"),
        ("bank", "ВАNК", "ＢＡＮＫ", "𝐛𝐚𝐧𝐤", "ⓑⓐⓝⓚ", "ʙᴀɴᴋ", "bânk", "🅱🅐🄽ᴋ"),
        ("world", "wоrld", "wοrld", "ԝоrӏd", "wørłd"),
        ("market", "mаrкеt", "маrkеt"),
        ("видео", "Видеo", "ВИДЕО"),
        ("вес", "Вес", "ВЕС"),
        ("карта", "кaрта", "кaртa"),
        ("αρχική", "ΑΡΧΙΚΗ", "αρχικη"),
        ("οδος", "ΟΔΟΣ"),
        ("istanbul", "İstanbul", "ISTANBUL", "ıstanbul"),
        ("ёлка", "елка"),
    ],
)
def test_what_a_reader_does_not_see_is_folded(texts: tuple[str, ...]) -> None:
    assert same(*texts)


@pytest.mark.parametrize(
    "texts",
    [
        ("приложении", "приложений"),
        ("їжак", "іжак"),
        ("вес", "bec"),
        ("кот", "kot"),
        ("ไทย\u200bไทย", "ไทยไทย"),
        ("中文\u200b中文", "中文中文"),
        ("wurden", "werden"),
        ("का", "कि"),
    ],
)
def test_what_a_reader_sees_stays_apart(texts: tuple[str, ...]) -> None:
    assert not same(*texts)


def test_words_of_other_scripts_stay_words() -> None:
    for text in ("हिन्दी", "слово", "ελληνική", "فارسی", "ภาษาไทย", "می\u200cخواهم", "한국어로"):
        assert len(words_of(text.encode())) == 1
        assert len(rows(*WordReader().word_sets(*buffers([text.encode()])))[0]) == 1


def test_folding_leaves_lower_case_ascii_as_it_is() -> None:
    for character in map(chr, range(128)):
        kind, code, letter = folded(character)
        assert (kind in (kernel.LATIN, kernel.DIGIT)) == character.isalnum()
        assert letter == 0
        assert code == (ord(character.lower()) if character.isalnum() else 0)


@given(TEXTS, TEXTS)
def test_texts_of_words_are_their_lower_case_and_hash_the_same(left: bytes, right: bytes) -> None:
    reader, where = WordReader(), buffers([left, right])
    wanted = np.unique(reader.word_sets(*where)[1])
    texts = reader.texts_of(wanted, *where).to_pylist()
    assert set(texts) == {word for text in (left, right) for word in words_of(text)}
    assert [word_hash(text) for text in texts] == wanted.tolist()
    assert reader.texts_of(wanted, *buffers([b""])).null_count == wanted.size


@pytest.mark.parametrize("size", [0, 1, 2, 23, 24, 25, 26, 255, 256, 257, 1023, 1024, 1025, 5000])
def test_sorting_equals_numpy_on_any_values(size: int) -> None:
    draw = np.random.default_rng(size)
    even = draw.integers(0, 1 << 64, size, np.uint64)
    for values in (even, even >> np.uint64(50), even & np.uint64(0xFF), np.sort(even)[::-1], even | np.uint64(7 << 61)):
        row = np.ascontiguousarray(values)
        kernel.sort_hashes(row, np.empty(size, np.uint64))
        assert row.tolist() == sorted(values.tolist())


def test_words_at_the_edges_of_a_document_and_a_batch() -> None:
    for length in (0, 1, 3, 4, 5, 63, 64, 65, 4095, 4096, 4097):
        texts = [b"x" * length, b" " + b"y" * length, b"z" * length + b" ", b"word " * (length // 5)]
        expected = [sorted({word_hash(word) for word in words_of(text)}) for text in texts]
        assert rows(*WordReader().word_sets(*buffers(texts))) == expected


def kept_by(word: int, seed: int, limit: int) -> bool:
    return mix(word ^ seed) >> 32 < limit


LIMIT = (1 << 33) // 3
VOCABULARY = [word_hash(f"word{letter}") for letter in "abcdefghijklmnopqrst"]
SEEDS = [mix(number) for number in (11, 12, 13)]


def signatures_of(
    words: Sequence[int], ranks: Sequence[int], least: int, share: float
) -> tuple[list[int | None], int, int]:
    """Section 3 and 4 of the paper for one set of words; None is refused."""
    rank = {word: number for number, word in enumerate(VOCABULARY)}
    primary = [word for word in words if word in rank and ranks[0] <= rank[word] < ranks[1]]
    secondary = sorted((word for word in words if word in rank and ranks[2] <= rank[word] < ranks[3]), key=rank.get)
    missing = max(0, max(least, math.ceil(share * len(words))) - len(primary))
    chosen = primary + secondary[:missing]
    kept = [chosen, *([word for word in chosen if kept_by(word, seed, LIMIT)] for seed in SEEDS)]
    hashes = []
    for lexicon, own in enumerate(kept):
        salt = ((len(own) << 8 | lexicon) * 0x9E3779B97F4A7C15) & MASK
        hashes.append(max(1, mix((sum(own) & MASK) ^ salt)) if len(own) >= least else None)
    return hashes, len(chosen), len(chosen) - len(primary)


SETS = st.lists(st.sets(st.sampled_from([*VOCABULARY, *range(1, 9)]), max_size=28), max_size=6)


def flat(sets: Sequence[set[int]], kind: type[np.unsignedinteger] = np.uint64) -> tuple[NDArray[np.int64], NDArray]:
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return starts, np.array([word for one in sets for word in sorted(one)], kind)


@given(
    SETS,
    st.sampled_from([(5, 12, 12, 20), (5, 12, 0, 5), (0, 20, 20, 20), (0, 0, 0, 20)]),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_signatures_equal_the_paper(sets: list[set[int]], ranks: tuple[int, ...], least: int, share: float) -> None:
    slots = signing.lexicon_slots(
        np.array(VOCABULARY, np.uint64), np.array(SEEDS, np.uint64), np.full(3, LIMIT, np.uint64)
    )
    found = signing.sign_documents(*flat(sets), slots, np.array(ranks), 4, least, share)
    for row, one in enumerate(sets):
        signatures, overlap, added = signatures_of(sorted(one), ranks, least, share)
        assert found[0][row].tolist() == [value or 0 for value in signatures]
        assert (found[1][row], found[2][row]) == (overlap, added)


def test_lexicons_keep_their_share_independently() -> None:
    words = np.random.default_rng(1).integers(1, 1 << 63, 30_000, np.uint64)
    limits = (np.array([2 / 3, 1 / 2, 1 / 32]) * (1 << 32)).astype(np.uint64)
    slots = signing.lexicon_slots(words, np.array(SEEDS, np.uint64), limits)
    masks = slots[slots[:, 0] != 0, 1] & np.uint64(0xF)
    kept = [(masks >> np.uint64(bit)) & np.uint64(1) for bit in range(4)]
    assert kept[0].all()
    assert [bits.mean() for bits in kept[1:]] == pytest.approx([2 / 3, 1 / 2, 1 / 32], abs=0.01)
    assert (kept[1] & kept[2]).mean() == pytest.approx(1 / 3, abs=0.01)


def cosine(left: set[int], right: set[int]) -> float:
    return len(left & right) / math.sqrt(len(left) * len(right)) if left & right else 0.0


SMALL_SETS = st.lists(st.sets(st.integers(0, 12), max_size=10), min_size=1, max_size=14)

HASHES = [*range(60), *range((1 << 32) - 30, 1 << 32)]
SETS = st.builds(lambda seed, size: set(random.Random(seed).sample(HASHES, size)), st.integers(), st.integers(0, 80))
"""Sets of more and less than the blocks of 16 words that are compared at once."""


@given(st.lists(SETS, min_size=1, max_size=5) | SMALL_SETS)
def test_cosines_equal_set_arithmetic(sets: list[set[int]]) -> None:
    pairs = np.array(list(itertools.product(range(len(sets)), repeat=2)))
    left, right = pairs.T.astype(np.int32).copy()
    found = buckets.similarities_of_pairs(SetRows(*flat(sets, np.uint32)), left, right)
    assert found.tolist() == pytest.approx([cosine(sets[a], sets[b]) for a, b in pairs])


@given(SMALL_SETS, SMALL_SETS)
def test_digests_are_equal_just_when_the_sets_are(left: list[set[int]], right: list[set[int]]) -> None:
    sets = left + right
    digests = wordsets.digest_sets(*flat(sets)).tolist()
    for (a, one), (b, other) in itertools.combinations(enumerate(sets), 2):
        assert (digests[a] == digests[b]) == (one == other)


def checked(
    sets: list[set[int]], keys: list[int], threshold: float, exhaustive_bucket_size: int, max_leaders: int
) -> tuple[list[list[int]], NDArray[np.float32], NDArray[np.int64]]:
    """All edges: those of any similarity."""
    column = np.array(keys, np.uint64)
    sorted_keys = np.sort((column << np.uint64(32) | np.arange(len(keys), dtype=np.uint64))[column != 0])
    limits = np.float32(0), np.float32(threshold), exhaustive_bucket_size, max_leaders
    known = buckets.nothing_known(len(sets))
    pairs, cosines, counts = buckets.check_buckets(SetRows(*flat(sets, np.uint32)), sorted_keys, *limits, known)
    assert counts[4] == counts[2]  # nothing was known
    return [[pair >> 32, pair & 0xFFFFFFFF] for pair in pairs.tolist()], cosines, counts[:4]


@given(SMALL_SETS, st.data())
def test_small_buckets_have_the_components_of_all_pairs_at_every_cut(sets: list[set[int]], data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.integers(0, 3), min_size=len(sets), max_size=len(sets)))
    pairs, cosines, counts = checked(sets, keys, 0.8, 64, 4)
    same = [(a, b) for a, b in itertools.combinations(range(len(sets)), 2) if keys[a] == keys[b] != 0]
    assert counts[2] == len(same)
    assert all(left < right for left, right in pairs)
    for limit in (0.0, 0.3, 0.5, 0.8, 1.0):
        limit = float(np.float32(limit))
        found = reference.components([tuple(p) for p, c in zip(pairs, cosines, strict=True) if c >= limit], len(sets))
        wanted = [(a, b) for a, b in same if np.float32(cosine(sets[a], sets[b])) >= limit]
        assert found == reference.components(wanted, len(sets))


@given(SMALL_SETS, st.sampled_from([0.5, 0.9]), st.integers(1, 3))
def test_large_buckets_follow_the_leader_rule(sets: list[set[int]], threshold: float, max_leaders: int) -> None:
    pairs, cosines, counts = checked(sets, [1] * len(sets), threshold, 1, max_leaders)
    leaders: list[int] = []
    expected, refused, checks = [], 0, 0
    for row in range(len(sets)):
        best = max(((np.float32(cosine(sets[leader], sets[row])), -leader) for leader in leaders), default=(-1.0, 1))
        checks += len(leaders)
        if best[1] <= 0:
            expected.append((-best[1], row, pytest.approx(best[0])))
        if best[0] < threshold and len(leaders) < max_leaders:
            leaders.append(row)
        elif best[0] < threshold:
            refused += 1
    assert [(*pair, value) for pair, value in zip(pairs, cosines.tolist(), strict=True)] == expected
    assert counts.tolist() == [len(sets) > 1, len(sets) > 1, checks, refused]


@given(st.lists(SMALL_SETS, min_size=1, max_size=3), st.sampled_from([2, 64]))
def test_medoids_are_nearest_to_all(groups: list[list[set[int]]], sample: int) -> None:
    sets = [one for group in groups for one in group]
    bounds = np.cumsum([0, *map(len, groups)]).astype(np.int64)
    members = np.arange(len(sets), dtype=np.int32)
    found = buckets.find_medoids(SetRows(*flat(sets, np.uint32)), bounds, members, sample)
    for (first, last), medoid in zip(itertools.pairwise(bounds.tolist()), found.tolist(), strict=True):
        members = range(first, min(last, first + sample))
        sums = {a: sum(float(np.float32(cosine(sets[a], sets[b]))) for b in members if b != a) for a in members}
        assert sums[medoid] == pytest.approx(max(sums.values()))


@given(SMALL_SETS, SMALL_SETS, st.data())
def test_matching_equals_looking_at_every_prototype(
    stream: list[set[int]], known: list[set[int]], data: st.DataObject
) -> None:
    column = st.lists(st.integers(0, 2), min_size=2, max_size=2)  # columns are salted apart below
    signed, own = (
        np.array(
            [[value and value * 10 + place for place, value in enumerate(data.draw(column))] for _ in sets], np.uint64
        )
        for sets in (stream, known)
    )
    entries = sorted((int(key), row) for row, keys in enumerate(own) for key in keys if key)
    index = np.array([key for key, _ in entries], np.uint64), np.array([row for _, row in entries], np.int64)
    found = wordsets.match_prototypes(
        signed, SetRows(*flat(stream, np.uint32)), *index, SetRows(*flat(known, np.uint32))
    )
    for place, words in enumerate(stream):
        agreeing = [row for row in range(len(known)) if ((own[row] == signed[place]) & (signed[place] != 0)).any()]
        best = max((cosine(words, known[row]) for row in agreeing), default=None)
        assert (found[0][place] >= 0) == bool(agreeing)
        if best is not None:
            row, chosen = found[0][place], found[1][place]
            assert cosine(words, known[row]) == pytest.approx(best)
            assert found[2][place] == pytest.approx(best)
            assert signed[place, chosen] == own[row, chosen]
